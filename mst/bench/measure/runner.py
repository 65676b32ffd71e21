"""Measures runs: fresh pinned processes taking turns, limits on time and memory, and a measurement even on failure."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mst import registry
from mst.bench.launch import find_launcher
from mst.bench.machine import conditions, this_machine
from mst.bench.measure.driver import COMPILING, Cost, RunDriver, affordable
from mst.bench.measure.fork_server import ForkServer
from mst.bench.measure.measurement import git_state, measurement_of, versions_of
from mst.bench.measure.messages import RunSpec
from mst.bench.measure.outcome import Outcome, resumed
from mst.bench.measure.processes import pinned_environment
from mst.bench.planning.experiment import Measure
from mst.bench.records.store import Run, save_ids, write_json
from mst.cores import granted_cores
from mst.errors import InputError
from mst.formats.canonical import read_metadata
from mst.progress import step

_MOST_TOGETHER = 64
_SIGNALLED_SECONDS = 10.0


@dataclass(frozen=True)
class Request:
    """A run to be measured, and where its measurement goes.

    `oversubscribe` says that a width above the cores is intended. The file `unfinished` keeps finished processes for
    the next attempt until the run is complete.
    """

    run: Run
    path: Path
    measure: Measure
    oversubscribe: bool = False
    unfinished: Path | None = None

    def refusal(self) -> str:
        """Return why this machine cannot run it as requested, or an empty string."""
        cores, paradigm = granted_cores(), registry.get(self.run.algorithm).paradigm
        if self.run.width_here > cores and paradigm in ("threads", "mpi") and not self.oversubscribe:
            return (
                f"{self.run.algorithm}: width {self.run.width_here} is above the {cores} usable cores; "
                "give more cores, or allow it by --oversubscribe or, in an experiment, oversubscribe: true"
            )
        if paradigm == "mpi" and self.run.width > 1:
            find_launcher()  # raises an error that would otherwise be recorded for each run
        return ""


def measure_runs(
    requests: Sequence[Request], *, manifest: dict[str, Any], graph_file: Path, granted: int | None = None
) -> Iterator[dict[str, Any]]:
    """Measure runs on one graph, their processes in turn, and write each measurement when it is complete.

    A disturbance of a few seconds thus affects all runs, not just one. Failures are measurements too. Yields the
    measurements, as written, in order of completion. The manifest and the file are those of the
    canonical graph; fewer cores than the width `granted` by the scheduler are flagged.

    Raises
    ------
    InputError
        The file is missing, damaged or that of another graph; nothing is measured.
    """
    if requests:
        _require_graph(graph_file, manifest["digest"])
    for first in range(0, len(requests), _MOST_TOGETHER):
        together = requests[first : first + _MOST_TOGETHER]
        with tempfile.TemporaryDirectory(prefix="mst-run-") as scratch:
            runs = [
                _MeasuredRun(request, k, graph_file, Path(scratch, str(k)))
                for k, request in enumerate(together)
            ]
            yield from _in_turns(runs, manifest, Path(scratch), granted)


def _require_graph(file: Path, digest: str) -> None:
    """Refuse a file that would make every run on it a recorded error."""
    with contextlib.suppress(InputError):
        if read_metadata(file).get("digest") == digest:
            return
    raise InputError(
        f"{file} is missing, damaged or not the graph of its manifest: "
        "remove its folder, and the same command makes it again"
    )


def _in_turns(
    runs: list[_MeasuredRun], manifest: dict[str, Any], scratch: Path, granted: int | None
) -> Iterator[dict[str, Any]]:
    shared, unfinished = {"granted_width": granted, "interleaved_with": len(runs) - 1}, runs
    with contextlib.ExitStack() as servers:
        started: dict[int, ForkServer] = {}

        def server_of(width: int) -> ForkServer:
            if width not in started or not started[width].running:
                server = started[width] = ForkServer(width, scratch)
                servers.callback(server.close)
            return started[width]

        turning = servers.enter_context(step(manifest["name"]))
        for turn in itertools.count():
            if not unfinished:
                return
            for place, run in enumerate(unfinished if turn % 2 == 0 else unfinished[::-1], 1):
                of_these = f"run {place} of {len(unfinished)}, " if len(unfinished) > 1 else ""
                # The first turn of each run compiles, for an unknown time.
                left = _seconds_left([run.driver.cost for run in runs]) if turn else None
                turning.update(run.next_turn(of_these), left=left)
                run.take_turn(server_of)
            continued = list(itertools.compress(runs, affordable([run.driver.cost for run in runs])))
            for run in unfinished:
                if run not in continued:
                    yield run.finish(manifest, shared)
            unfinished = continued


def _seconds_left(costs: Sequence[Cost]) -> float | None:
    """Return how many seconds the missing processes will take if each takes as long as the last one of its run."""
    known = [cost.last for cost in costs if cost.last]
    if not known:
        return None
    mean = sum(known) / len(known)
    return sum(min(cost.missing * (cost.last or mean), max(cost.left, cost.last)) for cost in costs)


class _MeasuredRun:
    """A run being measured."""

    def __init__(self, request: Request, index: int, graph_file: Path, scratch: Path):
        self._request, self._algorithm = request, registry.get(request.run.algorithm)
        scratch.mkdir()
        keep_ids = self._algorithm.ties != "order" or not self._algorithm.exact
        self._ids_file = scratch / "ids.npy" if keep_ids else None
        spec = RunSpec(
            algorithm=request.run.algorithm,
            options=self._algorithm.parse_slug(request.run.options),
            width=request.run.width,
            graph_file=str(graph_file.resolve()),
            scratch=str(scratch),
            measure=request.measure.model_dump(),
            ids_file=str(self._ids_file or ""),
        )
        self._made_by = {
            "machine": this_machine().fingerprint,
            "measure": spec.measure,
            "versions": versions_of(self._algorithm),
            "git": git_state(),
        }
        file, most = request.unfinished, request.measure.processes - 1
        outcome = resumed(file, most, self._made_by) if file else Outcome()
        self.driver = RunDriver(index, spec, request.measure, outcome)

    @property
    def _cores(self) -> int:
        """Cores of its processes: as many as its width, or all on a GPU, where a call copies arrays on all of them."""
        algorithm = self._algorithm
        has_calls = algorithm.uses_gpu and not algorithm.program
        return granted_cores() if has_calls else self._request.run.width

    def next_turn(self, of_these: str) -> str:
        """Return the next turn in words; `of_these` is the run's place among several."""
        run, finished = self._request.run, len(self.driver.outcome.processes)
        options = "" if run.options == "default" else f" {run.options}"
        compiling = "" if finished else f", after {COMPILING}"
        return (
            f"process {finished + 1} of {self._request.measure.processes}, {of_these}"
            f"{run.graph}: {run.algorithm}{options} width {run.width}{compiling}"
        )

    def take_turn(self, server_of: Callable[[int], ForkServer]) -> None:
        """Measure one more process."""
        outcome = self.driver.outcome
        outcome.before = outcome.before or conditions()
        self.driver.sample(server_of(self._cores))
        if self._request.unfinished and outcome.status == "ok":
            outcome.keep(self._request.unfinished, self._made_by)

    def finish(self, manifest: dict[str, Any], shared: dict[str, Any]) -> dict[str, Any]:
        """End the run; return its measurement as written; `shared` are the conditions of all runs that took turns."""
        driver, outcome, request = self.driver, self.driver.outcome, self._request
        driver.close()
        if outcome.abrupt and outcome.before.get("scheduled"):
            # A scheduler that ends a job signals its processes one by one, this one last: then it writes nothing.
            time.sleep(_SIGNALLED_SECONDS)
        # An approximate forest may depend on which thread was first; an exact one may not.
        forests = {p["forest"]["digest"] for p in outcome.processes}
        if self._algorithm.exact and len(forests) > 1:
            outcome.fail("error", "its processes returned different forests")
        if self._ids_file and self._ids_file.is_file() and outcome.status == "ok":
            request.path.parent.mkdir(parents=True, exist_ok=True)
            save_ids(request.path, np.load(self._ids_file), manifest["m"])
        seconds = max(outcome.turn_seconds, 1e-9)
        during = {
            **outcome.before,
            "after": conditions(),
            "others_cores": round(max(outcome.others_seconds, 0.0) / seconds, 3),
            "stolen_cores": round(outcome.stolen_seconds / seconds, 4),
            "pinned": pinned_environment(1 if self._algorithm.paradigm == "mpi" else self._cores),
            **shared,
        }
        measurement = measurement_of(request.run, outcome, request.measure, manifest, during)
        write_json(request.path, measurement)
        if request.unfinished:
            # The folder also has the unfinished runs of older versions of the code.
            shutil.rmtree(request.unfinished.parent, ignore_errors=True)
            with contextlib.suppress(OSError):
                os.removedirs(request.unfinished.parent.parent)
        return measurement
