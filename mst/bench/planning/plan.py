"""The runs of an experiment, each with the path of its measurement or the reason why it cannot run."""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from mst import registry
from mst.bench.launch import find_launcher
from mst.bench.planning.experiment import Block, Experiment, Measure, option_sets, widths_of
from mst.bench.planning.site import Machine
from mst.bench.records.store import Run, measurement_files, proof_path, run_fingerprint
from mst.facts import Facts
from mst.units import counted


@dataclass(frozen=True)
class GraphState:
    """A graph as the plan sees it: its facts once it is on disk, or why it is unavailable."""

    name: str
    status: str
    facts: Facts | None = None
    digest: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Planned:
    """One row of the plan; without a `run` if nothing will run.

    Its status is ``planned``, ``done`` (its measurement is on disk), ``unsupported``, ``unavailable`` or ``waiting``
    (its graph, and so its path, is not known yet). The reason says why it cannot run, or is measured again.
    """

    machine: str
    graph: str
    algorithm: str
    paradigm: str
    options: str
    width: int
    status: str
    reason: str = ""
    layout: str = ""
    run: Run | None = None
    measure: Measure | None = None
    oversubscribe: bool = False
    seconds: float | None = None

    @property
    def is_missing(self) -> bool:
        """Whether it is to be measured, now or once its graph is there."""
        return self.status in ("planned", "waiting")

    @property
    def expected_seconds(self) -> float:
        """Seconds that it will take: as many as before, or else its budget and one for starting."""
        if self.seconds is not None or self.measure is None:
            return self.seconds or 0.0
        return self.measure.budget + 1.0

    def row(self) -> dict[str, Any]:
        """Return the row as plain values, which only change with the plan."""
        keys = ("machine", "graph", "algorithm", "paradigm", "options", "width", "layout", "status", "reason")
        row = {key: getattr(self, key) for key in keys}
        stable = {"status": "planned", "reason": ""} if self.run else {}
        return {**row, **stable, "fingerprint": self.run.fingerprint if self.run else None}


def plan(
    experiment: Experiment, graphs: Mapping[str, GraphState], *, machines: Iterable[Machine], records: Path
) -> list[Planned]:
    """Return every run of an experiment on each of the machines, once each, in its order.

    Runs of graphs absent from `graphs` are ``waiting``; algorithms that a machine does not run are omitted.
    The folder `records` shows which runs are done, and how long they took.
    """
    return [row for machine in machines for row in _plan_on(machine, experiment, graphs, records)]


def _plan_on(
    machine: Machine, experiment: Experiment, graphs: Mapping[str, GraphState], records: Path
) -> list[Planned]:
    rows: dict[tuple, Planned] = {}
    for block in experiment.runs:
        for wanted in _wanted(experiment, block, machine):
            state = graphs.get(wanted.graph, GraphState(wanted.graph, "waiting"))
            if wanted.graph in experiment.left_out:
                state = GraphState(wanted.graph, "left-out", reason=experiment.left_out[wanted.graph])
            row = _planned(wanted, state, machine, records)
            rows.setdefault((row.graph, row.algorithm, row.options, row.width), row)
    if experiment.within is None:
        return list(rows.values())
    runs = sum(row.status in ("planned", "done", "waiting") for row in rows.values())
    share = experiment.within / max(runs, 1)
    return [replace(row, measure=_limited(row.measure, share)) if row.measure else row for row in rows.values()]


@functools.cache
def _limited(measure: Measure, share: float) -> Measure:
    """Return the `Measure` for a run's share of the total seconds of the experiment's runs."""
    return measure.model_copy(update={"budget": round(min(measure.budget, share), 3)})


class _Wanted(NamedTuple):
    """A run requested by a block; for an absent program, only its name."""

    block: Block
    measure: Measure
    graph: str
    algorithm: registry.Algorithm | str
    options: Mapping[str, Any] = MappingProxyType({})
    width: int = 1


def _wanted(experiment: Experiment, block: Block, machine: Machine) -> Iterator[_Wanted]:
    measure, absent = block.measure or experiment.measure, block.absent
    names = registry.algorithms() if block.algorithms == "all" else block.algorithms
    algorithms = [registry.get(name) for name in names if name not in absent]
    for graph in filter(block.covers, (*experiment.graphs, *experiment.left_out)):
        yield from (_Wanted(block, measure, graph, name) for name in absent)
        for algorithm in filter(machine.takes, filter(block.takes, algorithms)):
            cores = machine.cores(algorithm.paradigm)
            for options in option_sets(block, algorithm):
                for width in widths_of(block, algorithm.paradigm, cores, experiment.machine):
                    yield _Wanted(block, measure, graph, algorithm, options, width)


def _planned(wanted: _Wanted, state: GraphState, machine: Machine, records: Path) -> Planned:
    """Return the row of a requested run, with its path or the reason why it cannot run."""
    algorithm, width = wanted.algorithm, wanted.width
    if isinstance(algorithm, str):
        reason = state.reason or _absence(algorithm, wanted.block)
        return Planned(machine.name, state.name, algorithm, "peer", "default", width, "unsupported", reason)
    status, reason = _status(wanted, algorithm, state, machine)
    slug, layout = algorithm.options_slug(wanted.options), machine.layout(algorithm.paradigm, width)
    columns = (machine.name, state.name, algorithm.id, algorithm.paradigm, slug, width, status, reason, layout)
    row = Planned(*columns, measure=wanted.measure, oversubscribe=wanted.block.oversubscribe)
    if status != "planned":
        return row
    fingerprint = run_fingerprint(algorithm.source_fingerprint(), state.digest)
    run = Run(machine.name, state.name, algorithm.id, slug, width, fingerprint, layout)
    if not (record := records / run.path).parent.is_dir():  # true of most runs of a large plan
        return replace(row, run=run)
    seconds, measured = _seconds_before(record.parent), record.is_file()
    if measured and proof_path(record).is_file():
        return replace(row, status="done", run=run, seconds=seconds)
    reason = "its forest is not proved" if measured else "its code or its graph has changed"
    return replace(row, run=run, seconds=seconds, reason=reason if seconds else "")


def _absence(name: str, block: Block) -> str:
    if name in registry.algorithms():
        return f"{name} is configured without the option {', '.join(block.options)}"
    program = name.removeprefix("command-")
    remedy = f": describe {program} under programs: to run it" if program != name else ""
    return f"{name} is not configured{remedy}"


def _status(
    wanted: _Wanted, algorithm: registry.Algorithm, state: GraphState, machine: Machine
) -> tuple[str, str]:
    """Return the status of a run, and the reason if it cannot run."""
    block, width = wanted.block, wanted.width
    if state.status == "unavailable":
        return "unavailable", state.reason
    left_out = state.reason if state.status == "left-out" else block.left_out
    absent = left_out or hardware_reason(algorithm.paradigm, width, machine, block) or algorithm.missing()
    if absent:
        return "unsupported", absent
    if state.facts is None:
        return "waiting", state.reason or "its graph has not been made yet"
    if reason := algorithm.skip(state.facts, width=width, options=wanted.options):
        return "unsupported", reason
    return "planned", ""


def hardware_reason(paradigm: str, width: int, machine: Machine, block: Block) -> str:
    """Return why a paradigm cannot run at this width on this machine, or an empty string."""
    gpus, cores = len(machine.hardware.gpus), machine.cores(paradigm)
    if paradigm == "cuda" and width > gpus:
        return f"needs {counted(width, 'CUDA device')}, but this machine has {gpus or 'none'}"
    most, unit = cores, "cores"
    if block.hyperthreads and paradigm == "threads":
        most, unit = max(cores, machine.hardware.hardware_threads), "hardware threads"
    if paradigm in ("threads", "mpi") and width > most and not block.oversubscribe:
        return f"width {width} is above the {most} {unit} of this machine"
    if paradigm == "mpi" and width > 1 and machine.node is None and find_launcher() is None:
        return "needs mpiexec, which is neither next to Python nor on PATH; name it in $MST_MPIEXEC"
    if paradigm == "mpi" and machine.node is not None and not machine.node.layout(width):
        return f"{width} ranks do not spread evenly over nodes of {machine.node.cores} cores"
    return ""


def _seconds_before(folder: Path) -> float | None:
    """Return the seconds of a run's newest measurement, by any version of its code, in its folder."""
    found = map(Path, measurement_files(str(folder), depth=0))
    with contextlib.suppress(ValueError, AttributeError):  # no measurement, or a damaged one
        return json.loads(max(found, key=lambda p: p.stat().st_mtime).read_bytes()).get("seconds")
    return None
