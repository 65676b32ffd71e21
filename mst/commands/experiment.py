"""``mst experiment``: the workflow with a first page early, and progress instead of the engine's output."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import IO, TYPE_CHECKING

from mst.errors import ConfigError
from mst.progress import PREFIX, VARIABLE, Step, remark, step
from mst.units import counted, duration

if TYPE_CHECKING:
    from mst.bench.planning.plan import Planned
    from mst.config import Config

HELP = "run the experiment with Snakemake: first a preliminary page, then the whole experiment"

_POLL_SECONDS = 1.0
_LOOKING_SECONDS = 0.05
"""Seldom, since runs are measured meanwhile."""
_ENDING_SECONDS = 60.0
_COMPILE_SECONDS = 6.0
"""Seconds that an algorithm's first run compiles, as a mean over those of the default experiment on two cores."""
_PAGE_SECONDS = 20.0
"""Seconds that the table and the page with all papers take on two cores."""

_STEPS = re.compile(r"^(\d+) of (\d+) steps", re.MULTILINE)
_JOB = re.compile(r"^(?:local)?rule (\w+):$(?:\n    .*)*?\n    wildcards: (.*)$", re.MULTILINE)
_JOB_TEXTS = {
    "graph": "fetching or generating {graph}",
    "reference": "computing and proving the reference forest of {graph}",
    "measure": "measuring on {graph}",
    "prove": "proving the forests of {graph}",
    "table": "writing the table",
    "report": "writing the page",
    "plan": "planning",
    "check": "checking for wrong forests",
}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cores", default="all", metavar="N", help="cores of this machine (default: all)")
    parser.add_argument(
        "engine",
        nargs="*",
        metavar="-- ARGUMENT",
        help="targets and arguments of Snakemake; with any option, Snakemake's output is shown on the screen",
    )


def run(arguments: argparse.Namespace) -> int:
    """Measure and show the first part, then run the engine; return its exit code."""
    from mst import catalog, config

    _check_arguments(arguments.cores, arguments.engine)
    command = [sys.executable, "-m", "snakemake", "--profile", "workflow/profiles/workstation"]
    command += ["--cores", arguments.cores, *arguments.engine]
    if any(argument.startswith("-") for argument in arguments.engine):
        # In place of this process: waiting for it, an interruption would kill it before it has removed its lock.
        os.execv(sys.executable, command)
    settings = config.load()
    config.check_graphs(settings, catalog.load())
    if not arguments.engine:
        _first_page(settings)
    return _run_engine(command, settings, arguments.engine or [settings.scope])


def _check_arguments(cores: str, targets: list[str]) -> None:
    """Refuse at once what the engine would refuse later: another folder than a clone's root, or an unknown target."""
    from mst import config
    from mst.scopes import Scopes

    if not Path("Snakefile").is_file():
        raise ConfigError(f"no Snakefile in {Path.cwd()}: run this in the root of a clone of mst")
    config.check_interpreter()
    if cores != "all" and not (cores.isdecimal() and int(cores)):
        raise ConfigError(f"--cores must be a whole number from 1, or all, got {cores!r}")
    if scopes := list(filter(_is_scope, targets)):
        known = Scopes.of(config.load(), [])
        for scope in scopes:
            for name in known.graphs(scope):
                known.catalog[name]  # or ConfigError


def _is_scope(target: str) -> bool:
    """Return whether a target of the engine is a scope, not a file or another rule."""
    return target == "default" or target.startswith(("experiments/", "papers/", "graphs/", "algorithms/"))


def _first_page(settings: Config) -> None:
    """Measure the first part of the default experiment and write its page, unless that was done before."""
    from mst.commands.measure import measure_scopes
    from mst.commands.report import write_page

    if settings.experiment.first is None or (settings.root / "plan.json").is_file():
        return
    begun = time.monotonic()
    if not measure_scopes(settings, ["first"]):
        return
    page = settings.root / "report.html"
    with step("writing the first page"):
        write_page(settings, page, first=_preliminary_note(settings))
    remark(f"first results after {duration(time.monotonic() - begun)}: {page.resolve()}; the rest follows")


def _preliminary_note(settings: Config) -> str:
    """Return the text at the top of the first page: which runs are still to come, and when."""
    rows = _plan(settings, "default")
    left = [row for row in rows if row.is_missing]
    graphs = ", ".join(dict.fromkeys(row.graph for row in left))
    measured = [row.algorithm for row in rows if row.status == "done"]
    wait = duration(_seconds_to_page(left, measured))
    return (
        f"First results: {counted(len(measured), 'run')} measured, and up to {len(left)} are still to come, on "
        f"{graphs}. In about {wait}, this page is written again, with the papers and other machines. If the experiment "
        "was interrupted, make report continues it."
    )


def _plan(settings: Config, scope: str) -> list[Planned]:
    from mst import config
    from mst.scopes import Scopes

    return Scopes.of(settings, config.machines(settings)).plan(scope)


def _planned(settings: Config, targets: list[str]) -> list[Planned]:
    """Return the planned runs of the targets that are scopes."""
    return [row for scope in filter(_is_scope, targets) for row in _plan(settings, scope)]


def _seconds_to_page(left: list[Planned], measured: Iterable[str], share: float = 1.0) -> float:
    """Return about how many seconds it takes to measure this share of the runs `left`, and to write the page.

    Algorithms that are not among the `measured` ones have to be compiled, too.
    """
    compiled = {row.algorithm for row in left if row.paradigm != "peer"}.difference(measured)
    return share * sum(row.expected_seconds for row in left) + _COMPILE_SECONDS * len(compiled) + _PAGE_SECONDS


def _run_engine(command: list[str], settings: Config, scopes: list[str]) -> int:
    """Run the engine with its output in a log; show progress from this log and those of the jobs."""
    from mst.bench.measure.processes import end_with_parent
    from mst.bench.records import account

    file, begun = settings.root / "logs/workflow.log", time.time()
    file.parent.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, VARIABLE: str(2 * _POLL_SECONDS), "PYTHONUNBUFFERED": "1"}
    with file.open("w") as log, step("the workflow") as whole, step("planning") as job:
        job.timed = False
        # In a separate session, so that an interruption reaches the engine and its jobs once, from here, as SIGTERM:
        # commands that a shell starts in the background ignore SIGINT.
        engine = subprocess.Popen(
            command,
            stdout=log,
            stderr=log,
            env=environment,
            start_new_session=True,
            preexec_fn=end_with_parent,
        )
        try:
            progress = _Progress(settings, scopes, file)
            progress.show(whole, job)
            while not _ends_within(engine, _POLL_SECONDS):
                progress.show(whole, job)
        except KeyboardInterrupt:
            _end_engine(engine)
            # The engine's jobs were interrupted: they did not fail.
            (settings.root / account.FAILED).unlink(missing_ok=True)
            print(f"interrupted; the same command continues. Log: {file}", file=sys.stderr)
            return 130
    if engine.wait():
        with file.open(errors="replace") as log:
            lines = [line for line in log if not line.startswith(PREFIX)]
        print("".join(lines[-30:]), end="", file=sys.stderr)
        unlock = ""
        if any(line.startswith("LockException") for line in lines):
            unlock = "; `make report ARGS=--unlock` removes the lock of a workflow that was killed"
        print(f"the workflow failed; its whole output is in {file}{unlock}", file=sys.stderr)
        # A wrong forest fails the workflow when the page that shows it is finished.
        for page in _pages(settings, scopes):
            if page.stat().st_mtime >= begun:
                print(f"report: {page.resolve()}")
    else:
        _print_pages(settings, scopes)
    return engine.returncode


def _pages(settings: Config, scopes: list[str]) -> list[Path]:
    """Return the pages of the scopes that there are."""
    from mst.scopes import scope_folder

    pages = (scope_folder(settings, scope) / "report.html" for scope in scopes)
    return list(filter(Path.is_file, pages))


def _print_pages(settings: Config, scopes: list[str]) -> None:
    """Print the paths of the scopes' pages, and why graphs are missing from them."""
    from mst import catalog
    from mst.config import graph_folder

    for page in _pages(settings, scopes):
        print(f"report: {page.resolve()}")
    rows = _planned(settings, scopes)
    if graphs := dict.fromkeys(row.graph for row in rows if row.status == "unavailable"):
        entries = catalog.load()
        for name in graphs:
            manifest = catalog.read_manifest(graph_folder(settings, entries[name]) / "manifest.json")
            print(f"{name}: unavailable: {manifest.absence}")
        print("after `mst retry` the same command looks for unavailable graphs again")


def _ends_within(engine: subprocess.Popen, seconds: float) -> bool:
    """Return whether the engine ends within some seconds, without reaping it.

    `Popen.wait` and `Popen.poll` take a lock that an interruption can leave locked; they would then never return.
    """
    until = time.monotonic() + seconds
    while not os.waitid(os.P_PID, engine.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
        if time.monotonic() >= until:
            return False
        time.sleep(_LOOKING_SECONDS)
    return True


def _end_engine(engine: subprocess.Popen) -> None:
    """End the engine and its jobs; a second interruption ends the waiting."""
    with contextlib.suppress(KeyboardInterrupt):
        os.killpg(engine.pid, signal.SIGTERM)
        if not _ends_within(engine, _ENDING_SECONDS):
            # The engine can wait forever for a lock that it holds itself (`end_with_job`).
            os.killpg(engine.pid, signal.SIGKILL)
        engine.wait()


class _Progress:
    """The number of runs that are measured, and the latest line of the job that is under way."""

    def __init__(self, settings: Config, scopes: list[str], log: Path):
        from mst import catalog

        self._settings = settings
        self._title = ", ".join(scopes)
        self._missing = [row for row in _planned(settings, scopes) if row.is_missing]
        self._catalog = catalog.load() if self._missing else None
        self._measured_before = len(self._measured_algorithms())
        self._counts = (-1, -1)
        self._expected_end = 0.0
        self._stream: IO[str] = log.open(errors="replace")
        self._text = ""

    def show(self, whole: Step, job: Step) -> None:
        """Update the line of the whole workflow and that of its latest job."""
        self._text += self._stream.read()
        missing = self._missing_runs()
        algorithms = self._measured_algorithms()
        measured = min(len(algorithms) - self._measured_before, len(missing))
        runs = f", {measured} of up to {counted(len(missing), 'run')}" if missing else ""
        steps = _STEPS.findall(self._text)
        at = f", step {steps[-1][0]} of {steps[-1][1]}" if steps else ""
        if missing and (measured, len(missing)) != self._counts:
            self._counts = measured, len(missing)
            seconds = _seconds_to_page(missing, algorithms, 1 - measured / len(missing))
            self._expected_end = time.monotonic() + seconds
        whole.update(f"{self._title}{runs}{at}", left=self._expected_end - time.monotonic())
        if jobs := _JOB.findall(self._text):
            name, wildcards = jobs[-1]
            values = dict(part.split("=", 1) for part in wildcards.split(", ") if "=" in part)
            text = _JOB_TEXTS.get(name.split("_")[0], name).format(**{"graph": "", **values})
            progress = self._last_progress_line() if name.startswith("measure") else ""
            job.update(progress or text)

    def _last_progress_line(self) -> str:
        """Return the last line of progress in the newest log of a batch; an empty text if there is none."""
        logs = list((self._settings.root / "logs").glob("**/runs/*/*/*.log"))
        newest = max(logs, key=lambda file: file.stat().st_mtime, default=None)
        lines = newest.read_text(errors="replace").splitlines() if newest else []
        found = [line.removeprefix(PREFIX) for line in lines if line.startswith(PREFIX)]
        return found[-1] if found else ""

    def _missing_runs(self) -> list[Planned]:
        """Return the missing runs, without those on graphs that turned out to be unavailable."""
        from mst.config import graph_states

        if self._catalog is None:
            return []
        states = graph_states(self._settings, self._catalog, [row.graph for row in self._missing])
        return [row for row in self._missing if row.graph not in states or states[row.graph].status == "ok"]

    def _measured_algorithms(self) -> list[str]:
        """Return the algorithm of each measurement, those of unfinished batches included."""
        from mst.bench.records.store import STAGED, measurement_files

        folders = (self._settings.records, self._settings.root / STAGED)
        return [Path(file).parts[-4] for folder in folders for file in measurement_files(str(folder))]
