"""A clone of this project with a small experiment, on which workflow tests run real jobs."""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
TAKEN = ("Snakefile", "workflow", "cluster", "mst", "config", "envs", "report", "pyproject.toml")

WEIGHTS = {"dtype": "int32", "low": 1, "high": 50}
GRAPHS = {
    "small-uniform": {"generator": "uniform", "parameters": {"n": 300, "m": 900}},
    "small-grid": {"generator": "grid", "parameters": {"rows": 12, "columns": 20}},
}

PROBE = '''"""An algorithm of the tests: Kruskal's forest, after doing something to the run."""

import os
import time

from mst.algorithms.sequential import kruskal

ALGORITHM = dict(id="{id}", paradigm="{paradigm}", title="{id}", requires=("numba",))


def prepare(graph, *, width):
    return kruskal.prepare(graph, width=1, sort="radix")


def solve(problem):
    {action}
    return kruskal.solve(problem)


collect = kruskal.collect


def counters(problem, result):
    """Return the resources that the run was given."""
    return dict(
        devices=os.environ.get("CUDA_VISIBLE_DEVICES"),
        processors=len(os.sched_getaffinity(0)),
    )
'''


STAND_IN_PAGE = """from pathlib import Path

Path(snakemake.output.page).write_text("a page")
Path(snakemake.output.figures).mkdir()
Path(snakemake.output.pages).mkdir(exist_ok=True)
"""


# Importing Snakemake takes longer than planning a small experiment: processes are forked from one that has done so, and
# that knows nothing of `mst`.
_IMPORTED = multiprocessing.get_context("forkserver")
_IMPORTED.set_forkserver_preload(["snakemake.cli"])


def _be_snakemake(arguments: list[str], folder: str, environment: dict[str, str], output: str) -> None:
    """Do what ``python -m snakemake`` does in a folder, in a session of its own, and write what it prints to a file."""
    os.setsid()
    file = os.open(output, os.O_WRONLY | os.O_APPEND)
    os.dup2(file, 1)
    os.dup2(file, 2)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.dont_write_bytecode = False
    sys.path[:0] = [folder, environment["PYTHONPATH"]]
    sys.argv = ["snakemake", *arguments]
    # Background jobs of a shell inherit a setting that ignores interrupts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    from snakemake.cli import main

    main()


class Engine:
    """A running Snakemake, with the methods of `subprocess.Popen` that the tests use."""

    def __init__(self, arguments: list[str], folder: Path, environment: dict[str, str]):
        self.arguments = arguments
        # Beside the folder: a dry run must not change that.
        handle, output = tempfile.mkstemp(prefix="snakemake-", dir=folder.parent)
        os.close(handle)
        self.output = Path(output)
        self.process = _IMPORTED.Process(
            target=_be_snakemake, args=(arguments, str(folder), environment, output)
        )
        self.process.start()
        self.pid = self.process.pid

    @property
    def returncode(self) -> int | None:
        return self.process.exitcode

    def poll(self) -> int | None:
        return self.returncode

    def kill(self) -> None:
        self.process.kill()

    def communicate(self, timeout: float | None = None) -> tuple[str, None]:
        """Wait for the end; return what was printed."""
        self.process.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired(self.arguments, timeout)
        return self.output.read_text(), None


class Clone:
    """A working copy of the project in a separate folder."""

    def __init__(self, folder: Path):
        self.folder = folder

    @classmethod
    def create(cls, folder: Path, *, algorithms: list[str], page: bool = True) -> Clone:
        """Copy the project and write a small experiment into it; without `page` a stand-in writes the report."""
        folder.mkdir(parents=True)
        for name in TAKEN:
            source = ROOT / name
            if source.is_symlink():
                (folder / name).symlink_to(source.readlink())
            elif source.is_dir():
                shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy2(source, folder / name)
        entries = {
            name: {"title": name, "family": "random", "citation": ["mst"], "weights": WEIGHTS, **entry}
            for name, entry in GRAPHS.items()
        }
        with (folder / "config" / "graphs.yaml").open("a") as catalogue:
            catalogue.write("\n" + textwrap.indent(yaml.safe_dump(entries), "  "))
        clone = cls(folder)
        if not page:
            clone.without_page()
        clone.configure(algorithms=algorithms)
        return clone

    def without_page(self) -> None:
        """Let a stand-in write the page, which takes longer than all other jobs together."""
        script = self.folder / "workflow" / "scripts" / "report.py"
        before = script.stat()
        script.write_text(STAND_IN_PAGE)
        os.utime(script, ns=(before.st_atime_ns, before.st_mtime_ns))

    def copy(self, folder: Path) -> Clone:
        """Return a copy with all time stamps kept."""
        shutil.copytree(self.folder, folder, symlinks=True)
        return Clone(folder)

    def configure(self, *, algorithms: list[str], **changes) -> None:
        """Write the configuration: the small graphs, these algorithms, two quick processes for each run."""
        config = {
            "machine": "testbox",
            "experiment": {
                "title": "A small experiment",
                "graphs": list(GRAPHS),
                "measure": {"processes": 2, "samples": 2, "budget": 30, "timeout": 60},
                "runs": [{"algorithms": algorithms}],
            },
        }
        experiment = changes.pop("experiment", {})
        config["experiment"] |= experiment
        config |= changes
        (self.folder / "config" / "config.yaml").write_text(yaml.safe_dump(config))

    def add_probe(self, name: str, action: str, paradigm: str = "sequential") -> None:
        """Add an algorithm that runs `action` on every solve."""
        file = self.folder / "mst" / "algorithms" / paradigm / f"{name.replace('-', '_')}.py"
        file.write_text(PROBE.format(id=name, paradigm=paradigm, action=action))

    def path_with(self, programs: dict[str, object]) -> str:
        """Add programs that call this Python with some arguments; return a PATH that finds them first."""
        tools = self.folder / "tools"
        tools.mkdir(exist_ok=True)
        for name, arguments in programs.items():
            (tools / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments} "$@"\n')
            (tools / name).chmod(0o755)
        return f"{tools}{os.pathsep}{self.environment()['PATH']}"

    def environment(self) -> dict[str, str]:
        """Return the environment of the jobs: this copy's package, and no configuration from outside."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith("MST_") or k == "MST_CACHE"}
        # Keep byte code under any setting of the machine: else each of the many processes compiles all modules again.
        kept.pop("PYTHONDONTWRITEBYTECODE", None)
        return {**kept, "PYTHONPATH": str(self.folder), "MST_MIRROR": ""}

    def start(self, *arguments: str, profile: bool = True) -> Engine:
        """Start Snakemake and return its process."""
        chosen = ["--profile", "workflow/profiles/workstation"] if profile else []
        return Engine(["--cores", "2", *chosen, *arguments], self.folder, self.environment())

    def snakemake(self, *arguments: str, profile: bool = True) -> tuple[int, str]:
        """Run Snakemake to its end; return its exit code and its output."""
        process = self.start(*arguments, profile=profile)
        output, _ = process.communicate(timeout=600)
        return process.returncode, output

    def mst(self, *arguments: str) -> str:
        """Run a command of this copy's package; return its output."""
        command = [sys.executable, "-m", "mst", *arguments]
        done = subprocess.run(command, cwd=self.folder, env=self.environment(), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def records(self) -> dict[str, dict]:
        """Return every measurement by its path below the folder of records."""
        folder = self.folder / "results" / "records"
        found = [p for p in folder.glob("*/*/*/*/*/*.json") if not p.name.endswith(".proof.json")]
        return {str(p.relative_to(folder)): json.loads(p.read_text()) for p in sorted(found)}

    def stamps(self) -> dict[str, int]:
        """Return the time stamp of every measurement, to see which were repeated."""
        folder = self.folder / "results" / "records"
        return {name: (folder / name).stat().st_mtime_ns for name in self.records()}

    def checked(self) -> dict:
        """Return the counts that the last gate wrote."""
        return json.loads((self.folder / "results" / "checked.json").read_text())


def jobs(output: str) -> list[str]:
    """Return the names of the rules that ran, in order."""
    return re.findall(r"^(?:local)?rule ([\w/.-]+):$", output, re.MULTILINE)
