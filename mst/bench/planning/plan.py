"""From an experiment and what is known of its graphs to the list of runs, each with its path or its reason."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mst import registry
from mst.bench.launch import find_launcher
from mst.bench.planning.experiment import Block, Experiment, Measure, option_sets, widths_of
from mst.bench.planning.site import Place
from mst.bench.records.store import Run, ids_path, proof_path, read_measurement, run_fingerprint
from mst.facts import Facts


@dataclass(frozen=True)
class GraphState:
    """A graph as the plan sees it: its facts once it is there, or why it is not to be had."""

    name: str
    status: str
    facts: Facts | None = None
    digest: str = ""
    reason: str = ""
    bytes: int = 0


@dataclass(frozen=True)
class Planned:
    """One row of the plan.

    Attributes
    ----------
    status : str
        ``planned``, ``done`` (its measurement is on disk), ``unsupported``, ``unavailable`` or ``waiting``
        (its graph is not there yet, so neither is the path).
    run : Run or None
        None when nothing will be run.
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

    def row(self) -> dict[str, Any]:
        """Return the row as plain values that stay the same until something else is planned."""
        return {
            "machine": self.machine,
            "graph": self.graph,
            "algorithm": self.algorithm,
            "paradigm": self.paradigm,
            "options": self.options,
            "width": self.width,
            "layout": self.layout,
            "status": "planned" if self.status == "done" else self.status,
            "reason": self.reason,
            "fingerprint": self.run.fingerprint if self.run else None,
        }


def plan(
    experiments: Iterable[Experiment],
    graphs: Mapping[str, GraphState],
    *,
    place: Place,
    records: Path,
) -> list[Planned]:
    """Return every run that the experiments ask for, once each, in their order.

    Parameters
    ----------
    experiments : iterable of Experiment
    graphs : mapping of str to GraphState
        What is known of each graph; absent ones are ``waiting``.
    place : Place
        The machine that the runs will be measured on; algorithms that it does not take are left out.
    records : Path
        Folder of records, to see what is done and how long it took.
    """
    seen: dict[tuple, Planned] = {}
    for experiment in experiments:
        asked: dict[tuple, Planned] = {}
        for block in experiment.runs:
            for graph, algorithm, options, width in _asked(experiment, block, place):
                state = _state_of(graph, experiment, graphs)
                planned = _planned(experiment, block, state, algorithm, options, width, place, records)
                key = (planned.graph, planned.algorithm, planned.options, planned.width)
                asked.setdefault(key, planned)
        for key, planned in asked.items():
            seen.setdefault(key, _within(experiment, planned, asked.values()))
    return list(seen.values())


def _within(experiment: Experiment, planned: Planned, rows: Collection[Planned]) -> Planned:
    """Return a row whose budget is at most its share of the time that the experiment's runs have together."""
    if experiment.within is None or planned.measure is None:
        return planned
    runs = sum(row.status in ("planned", "done", "waiting") for row in rows)
    budget = min(planned.measure.budget, experiment.within / max(runs, 1))
    return replace(planned, measure=planned.measure.model_copy(update={"budget": round(budget, 3)}))


def _asked(
    experiment: Experiment, block: Block, place: Place
) -> Iterator[tuple[str, registry.Algorithm | str, dict[str, Any], int]]:
    """Yield graph, algorithm, options and width of all that a block asks for; of an absent program, only its name."""
    for graph in filter(block.covers, (*experiment.graphs, *experiment.left_out)):
        yield from ((graph, name, {}, 1) for name in block.absent)
        for algorithm in filter(place.takes, _algorithms_of(block)):
            cores = place.cores(algorithm.paradigm)
            for options in option_sets(block, algorithm):
                for width in widths_of(block, algorithm.paradigm, cores, experiment.machine):
                    yield graph, algorithm, options, width


def _planned(
    experiment: Experiment,
    block: Block,
    state: GraphState,
    algorithm: registry.Algorithm | str,
    options: Mapping[str, Any],
    width: int,
    place: Place,
    records: Path,
) -> Planned:
    """Return the row of what is asked for: with its run, or the reason why there is none."""
    if isinstance(algorithm, str):
        reason = state.reason or _absence(algorithm)
        return Planned(place.name, state.name, algorithm, "peer", "default", width, "unsupported", reason)
    status, reason = _status(algorithm, options, width, state, place, block)
    slug, layout = algorithm.options_slug(options), place.layout(algorithm.paradigm, width)
    run = seconds = None
    if status == "planned":
        fingerprint = run_fingerprint(algorithm.source_fingerprint(), state.digest)
        run = Run(place.name, state.name, algorithm.id, slug, width, fingerprint, layout)
        seconds = _seconds_before(records, run)
        if (records / run.path).is_file() and proof_path(records / run.path).is_file():
            status = "done"
    return Planned(
        machine=place.name,
        graph=state.name,
        algorithm=algorithm.id,
        paradigm=algorithm.paradigm,
        options=slug,
        width=width,
        status=status,
        reason=reason,
        layout=layout,
        run=run,
        measure=block.measure or experiment.measure,
        oversubscribe=block.oversubscribe,
        seconds=seconds,
    )


def _state_of(graph: str, experiment: Experiment, graphs: Mapping[str, GraphState]) -> GraphState:
    if graph in experiment.left_out:
        return GraphState(graph, "left-out", reason=experiment.left_out[graph])
    return graphs.get(graph, GraphState(graph, "waiting"))


def _absence(name: str) -> str:
    program = name.removeprefix("command-")
    return f"{name} is not here" + (
        f": describe {program} under programs: to run it" if program != name else ""
    )


def _algorithms_of(block: Block) -> list[registry.Algorithm]:
    if block.algorithms == "all":
        chosen = [a for a in registry.algorithms().values() if a.id not in block.without]
    else:
        chosen = [registry.get(name) for name in block.algorithms if name not in block.absent]
    return [a for a in chosen if block.paradigms is None or a.paradigm in block.paradigms]


def _status(
    algorithm: registry.Algorithm,
    options: Mapping[str, Any],
    width: int,
    state: GraphState,
    place: Place,
    block: Block,
) -> tuple[str, str]:
    if state.status == "unavailable":
        return "unavailable", state.reason
    if state.status == "left-out":
        return "unsupported", state.reason
    if block.left_out:
        return "unsupported", block.left_out
    absent = hardware_reason(algorithm.paradigm, width, place, block) or algorithm.missing()
    if absent:
        return "unsupported", absent
    if state.facts is None:
        return "waiting", "its graph is not there yet"
    if reason := algorithm.skip(state.facts, width=width, options=options):
        return "unsupported", reason
    return "planned", ""


def hardware_reason(paradigm: str, width: int, place: Place, block: Block) -> str:
    """Return why a paradigm cannot run at this width on this machine, or an empty string."""
    gpus, cores = len(place.machine.gpus), place.cores(paradigm)
    if paradigm == "cuda" and width > gpus:
        return f"needs {width} CUDA device{'s' * (width > 1)}, this machine has {gpus or 'none'}"
    most, unit = cores, "cores"
    if block.hyperthreads and paradigm == "threads":
        most, unit = max(cores, place.machine.hardware_threads), "hardware threads"
    if paradigm in ("threads", "mpi") and width > most and not block.oversubscribe:
        return f"width {width} is above the {most} {unit} of this machine"
    if paradigm == "mpi" and width > 1 and place.node is None and find_launcher() is None:
        return "needs mpiexec, not found beside Python nor on PATH; $MST_MPIEXEC may name it"
    if paradigm == "mpi" and place.node is not None and not place.node.layout(width):
        return f"{width} ranks do not spread evenly over nodes of {place.node.cores} cores"
    return ""


def _seconds_before(records: Path, run: Run) -> float | None:
    """Return how long the newest measurement of this run took, whatever the version of its code."""
    folder = (records / run.path).parent
    found = [p for p in folder.glob("[!.]*.json") if not p.name.endswith(".proof.json")]
    if not found:
        return None
    newest = max(found, key=lambda p: p.stat().st_mtime)
    return read_measurement(newest).get("seconds")


def to_retry(rows: Iterable[Planned], records: Path, statuses: Iterable[str]) -> list[Path]:
    """Return measurements on disk whose status is to be tried again, with what lies beside them."""
    wanted = set(statuses)
    paths = [records / row.run.path for row in rows if row.run and (records / row.run.path).is_file()]
    again = [path for path in paths if json.loads(path.read_text())["status"] in wanted]
    return [file for path in again for file in (path, proof_path(path), ids_path(path)) if file.is_file()]
