"""Faults of the machine and its user: what is reported, what is lost, and that the same command heals it.

``docs/reliability.md`` has a row for each.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

import fake_records
import psutil
import pytest
import yaml
from scripts import module_at, wait_until
from workflow_clone import Clone

from mst.bench.launch import find_launcher
from mst.bench.measure import driver
from mst.bench.measure.runner import Request, measure_runs
from mst.bench.planning.experiment import Measure
from mst.bench.records.bundle import export_bundle
from mst.bench.records.store import Run, read_measurement
from mst.formats.canonical import read_metadata, write_canonical
from mst.graph import Graph

ROOT = Path(__file__).resolve().parent.parent
GATED = '''"""Kruskal's forest; its third process on the graph waits while there is a gate."""

import os
import pathlib
import time

from mst.algorithms.sequential import kruskal

ALGORITHM = dict(id="probe-gated", paradigm="sequential", title="probe-gated", requires=("numba",))
FOLDER = pathlib.Path("{folder}")


def prepare(graph, *, width):
    return kruskal.prepare(graph, width=width, sort="radix"), graph.m


def solve(problem):
    prepared, edges = problem
    if edges == 17847:  # as no graph of the warm-up has
        with open(FOLDER / "solves", "a") as file:
            file.write(f"{{os.getpid()}}\\n")
        others = set((FOLDER / "solves").read_text().split()) - {{str(os.getpid())}}
        while len(others) > 1 and (FOLDER / "gate").exists():
            {action}
    return kruskal.solve(prepared)


def collect(problem, result):
    return kruskal.collect(problem[0], result)
'''


class Place:
    """A folder with a small experiment of two runs, of which the second can be stopped after its second process."""

    def __init__(self, folder: Path):
        self.folder, self.results = folder, folder / "results"
        (folder / "algorithms").mkdir()
        self.action("time.sleep(0.05)")
        self.configure()

    def action(self, action: str) -> None:
        """Set what the gated algorithm does while there is a gate."""
        text = GATED.format(folder=self.folder, action=action)
        (self.folder / "algorithms" / "probe_gated.py").write_text(text)

    def configure(self, *algorithms: str, width: int = 1, **measure: object) -> None:
        """Write the configuration of these algorithms, or of both."""
        wanted = {"processes": 3, "samples": 2, "budget": 30, "timeout": 120} | measure
        config = {
            "machine": "box",
            "offline": True,
            "experiment": {
                "title": "small",
                "graphs": ["dense-small"],
                "measure": wanted,
                "runs": [{"algorithms": algorithms or ["kruskal", "probe-gated"], "widths": [width]}],
            },
        }
        (self.folder / "config.yaml").write_text(yaml.safe_dump(config))

    def start(self, *arguments: str, **more: object) -> subprocess.Popen:
        """Start ``mst`` in the folder; without arguments, the experiment."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith("MST_") or k == "MST_CACHE"}
        kept |= {"MST_ALGORITHMS": str(self.folder / "algorithms"), "MST_MIRROR": "", "PYTHONPATH": str(ROOT)}
        command = [
            sys.executable,
            "-P",
            "-m",
            "mst",
            *(arguments or ("measure", "--configfile", "config.yaml")),
        ]
        given = {
            "cwd": self.folder,
            "env": kept,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            "text": True,
        }
        return subprocess.Popen(command, **(given | more))

    def run(self, *arguments: str, **more: object) -> tuple[int, str]:
        """Run ``mst`` to its end; return its exit code and its output, errors last."""
        process = self.start(*arguments, **more)
        out, errors = process.communicate(timeout=240)
        return process.returncode, out + errors

    def waiting(self) -> bool:
        """Return whether the third process of the gated algorithm waits."""
        with contextlib.suppress(FileNotFoundError):
            return len(set((self.folder / "solves").read_text().split())) > 2
        return False

    def records(self, kind: str = "records") -> dict[str, dict]:
        """Return the measurements by algorithm, or the kept processes, which are ``unfinished``."""
        found = self.results.glob(f"{kind}/box/*/*/*/*/????????????.json")
        return {path.parts[-4]: json.loads(path.read_text()) for path in found}

    def assert_whole(self) -> None:
        """Check that every run is measured and proved, and that nothing else is left."""
        records = self.records()
        assert {name: r["status"] for name, r in records.items()} == {"kruskal": "ok", "probe-gated": "ok"}
        assert all(len(r["samples"]["compute"]) == 3 for r in records.values())
        assert len(list(self.results.glob("records/box/*/*/*/*/*.proof.json"))) == 2
        assert not self.records("unfinished") and not list(self.results.rglob("*.part"))


def processes_of(folder: Path) -> list[str]:
    """Return the processes that work in a folder or name it."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            named = process.cwd() == str(folder) or str(folder) in " ".join(process.cmdline())
            if named and process.status() != psutil.STATUS_ZOMBIE and process.pid != os.getpid():
                found.append(" ".join(process.cmdline()))
    return found


def await_end(folder: Path) -> None:
    """Wait until no process works in a folder any more."""
    wait_until(lambda: not processes_of(folder), 100)


@pytest.fixture
def place(tmp_path) -> Iterator[Place]:
    folder = tmp_path / "place"
    folder.mkdir()
    yield Place(folder)


# --- ended processes


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_ended_runner_keeps_finished_processes_and_leaves_none_running(place, number):
    (place.folder / "gate").touch()
    process = place.start()
    wait_until(place.waiting, 100)
    process.send_signal(number)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == (-number if number == signal.SIGKILL else 130)
    assert "Traceback" not in errors
    await_end(place.folder)
    kept = place.records("unfinished")
    assert not place.records() and set(kept) == {"kruskal", "probe-gated"}
    (place.folder / "gate").unlink()
    code, output = place.run()
    assert code == 0 and "2 runs measured, 0 wrong" in output
    place.assert_whole()
    # All but the last process of each run were taken up.
    for name, record in place.records().items():
        taken = [process["compute"] for process in kept[name]["processes"][:-1]]
        assert taken and record["samples"]["compute"][: len(taken)] == taken


# --- full disks, read-only folders, lost mounts


@contextlib.contextmanager
def mounted(folder: Path, *options: str) -> Iterator[None]:
    """Mount a small file system; skip where this user may not."""
    folder.mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", ",".join(("size=64k", *options)), "none", str(folder)]
    if subprocess.run(command, capture_output=True).returncode:
        pytest.skip("no file system can be mounted")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], capture_output=True)


def fill(folder: Path) -> Path:
    """Use up the space of a mounted folder."""
    file = folder / "fill"
    with contextlib.suppress(OSError), file.open("wb") as out:
        out.write(bytes(1 << 20))
    return file


def graph_file(folder: Path) -> Path:
    file = folder / "graph.arrow"
    write_canonical(file, Graph(4, [0, 1, 2, 3], [1, 2, 3, 0], [1, 2, 3, 4], name="ring"), {"name": "ring"})
    return file


WRITERS = {
    "a graph": ("convert", "{graph}", "{out}/ring.gr"),
    "a packed graph": ("convert", "{graph}", "{out}/ring.mtx.gz"),
    "a generated graph": ("generate", "uniform", "--param", "n=9", "m=9", "--out", "{out}/graph.arrow"),
    "a bundle": ("export", "box", "--results", "{results}", "--out", "{out}/box.mst.zip"),
    "imported records": ("import", "{bundle}", "--results", "{out}/results"),
    "records for existing results": ("import", "{bundle}", "--results", "{out}"),
    "the page": ("report", "--results", "{results}", "--out", "{out}/report.html"),
}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory) -> Path:
    """A folder of results with a record, a bundle of it, and a graph."""
    folder = tmp_path_factory.mktemp("recorded")
    graph, algorithm = fake_records.GRAPHS[0], fake_records.ALGORITHMS[0]
    run, value = fake_records.measurement(
        "box", graph, algorithm, 1, facts=fake_records.DESKTOP, samples=[[1.0]] * 5
    )
    fake_records.write_record(folder / "results/records", run, value)
    export_bundle("box", results=folder / "results", out=folder / "box.mst.zip")
    graph_file(folder)
    return folder


def writing(place: Place, recorded: Path, kind: str, out: Path) -> tuple[int, str]:
    """Run a command that writes below `out`."""
    names = {
        "graph": recorded / "graph.arrow",
        "results": recorded / "results",
        "bundle": recorded / "box.mst.zip",
    }
    return place.run(*(word.format(out=out, **names) for word in WRITERS[kind]))


@pytest.mark.slow
@pytest.mark.parametrize("kind", WRITERS)
def test_full_disk_is_named_leaves_nothing_and_heals(place, recorded, kind):
    out = place.folder / "out"
    with mounted(out):
        filling = fill(out)
        code, output = writing(place, recorded, kind, out)
        assert code == 2 and "No space left on device" in output and str(out) in output
        assert "Traceback" not in output and len(output.splitlines()) <= 2
        assert [file for file in out.rglob("*") if file.is_file()] == [filling]
        filling.unlink()
        if kind == "the page":
            return  # It is larger than the file system.
        code, output = writing(place, recorded, kind, out)
        assert code == 0, output


@pytest.mark.parametrize("kind", [kind for kind in WRITERS if kind != "the page"])
def test_read_only_folder_is_named_and_heals(place, recorded, kind):
    out = place.folder / "out"
    with mounted(out):
        subprocess.run(["mount", "-o", "remount,ro", str(out)], check=True)
        code, output = writing(place, recorded, kind, out)
        assert code == 2 and "Read-only file system" in output and str(out) in output
        assert "/." not in output  # the reader cannot do anything about a hidden file
        assert "Traceback" not in output and len(output.splitlines()) <= 2
        subprocess.run(["mount", "-o", "remount,rw", str(out)], check=True)
        code, output = writing(place, recorded, kind, out)
        assert code == 0, output


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("arguments", ["list", "list graphs", "--help"])
def test_full_standard_output_is_reported_without_a_traceback(place, monkeypatch, arguments, unbuffered):
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    with Path("/dev/full").open("w") as full:
        process = place.start(*arguments.split(), stdout=full)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    assert errors == f"mst {arguments.split()[0]}: No space left on device\n"


def test_closed_pipe_ends_a_command_silently(place, monkeypatch):
    monkeypatch.setenv("PYTHONUNBUFFERED", "")
    process = place.start("list")
    process.stdout.close()
    assert process.stderr.read() == "" and process.wait(60) == 1


@pytest.mark.slow
def test_full_disk_while_measuring_loses_the_run_in_flight_alone(place):
    """The results lie on a full disk from the second process on; the machine-code cache elsewhere."""
    with mounted(place.results, "size=1m"):
        place.action("(FOLDER / 'results/fill').open('wb').write(bytes(1 << 21))")
        (place.folder / "gate").touch()
        code, output = place.run()
        assert code == 2 and "No space left on device" in output and "Traceback" not in output
        assert set(place.records()) <= {"kruskal"}
        (place.folder / "gate").unlink()
        (place.results / "fill").unlink()
        code, output = place.run()
        assert code == 0, output
        place.assert_whole()


@pytest.mark.slow
def test_lost_mount_is_named_and_heals(place):
    with mounted(place.folder / "out"):
        write_canonical(place.folder / "out/ring.arrow", Graph(2, [0], [1], [1]), {"name": "ring"})
        code, _ = place.run("info", "out/ring.arrow")
        assert code == 0
    code, output = place.run("info", "out/ring.arrow")
    assert code == 2 and "out/ring.arrow" in output and "Traceback" not in output


# --- the cache of machine code


KERNEL = """from mst.kernels.primitives.jit import njit


@njit
def double(x):
    return x + x
"""


@pytest.fixture
def doubled(tmp_path, monkeypatch) -> Callable[[], int]:
    """A function that calls a compiled one, each time a new one, and returns how often it was taken from the cache."""
    monkeypatch.setenv("MST_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "kernel_of_test.py"
    file.write_text(KERNEL)

    def call() -> int:
        module = module_at(file)
        assert module.double(2) == 4
        return sum(module.double.stats.cache_hits.values())

    return call


DAMAGES = {
    "cut": lambda content: content[: len(content) // 2],
    "empty": lambda content: b"",
    "zeros": lambda content: bytes(len(content)),
    "a bit": lambda content: content[:900] + bytes([content[900] ^ 1]) + content[901:],
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_machine_code_is_compiled_again(doubled, tmp_path, damage):
    assert (doubled(), doubled()) == (0, 1)
    for suffix in ("nbi", "nbc") if damage != "a bit" else ("nbc",):
        # The newest: files that a damaged index named are left.
        file = max(tmp_path.rglob(f"*.{suffix}"), key=lambda file: file.stat().st_mtime_ns)
        file.write_bytes(DAMAGES[damage](file.read_bytes()))
        assert doubled() == 0, "not taken from the damaged file"
        assert doubled() == 1, "kept anew"


def test_full_disk_of_the_cache_costs_time_alone(doubled, tmp_path):
    with mounted(tmp_path / "cache"):
        fill(tmp_path / "cache")
        assert (doubled(), doubled()) == (0, 0)


# --- stopped processes, clocks, neighbours


@pytest.mark.slow
def test_stopped_process_ends_at_the_time_limit(place):
    place.configure(timeout=20)
    place.action("os.kill(os.getpid(), 19)")
    (place.folder / "gate").touch()
    code, output = place.run()
    assert code == 0, output
    records = place.records()
    assert records["probe-gated"]["status"] == "timeout"
    assert "more than 20 s" in records["probe-gated"]["reason"]
    assert records["kruskal"]["status"] == "ok" and len(records["kruskal"]["samples"]["compute"]) == 3
    await_end(place.folder)


def test_clock_that_jumps_ends_nothing(tmp_path, monkeypatch):
    class JumpingClock(datetime):
        jumps = itertools.cycle((timedelta(0), timedelta(days=400), timedelta(days=-400)))

        @classmethod
        def now(cls, tz=None):
            return datetime.now(tz) + next(cls.jumps)

    monkeypatch.setattr(driver, "datetime", JumpingClock)
    file = graph_file(tmp_path)
    manifest = read_metadata(file) | {"weight_dtype": "int64"}
    run = Run("here", "ring", "kruskal", "default", 1, "0" * 12)
    request = Request(run, tmp_path / "records" / run.path, Measure(processes=3, samples=2, budget=20))
    measured = next(measure_runs([request], manifest=manifest, graph_file=file))
    assert measured["status"] == "ok" and len(measured["samples"]["compute"]) == 3
    assert read_measurement(request.path) == measured


@pytest.mark.slow
def test_two_experiments_in_one_folder_leave_whole_records(place):
    both = [place.start(), place.start()]
    for process in both:
        _, errors = process.communicate(timeout=240)
        assert process.returncode == 0, errors
    place.assert_whole()


# --- whatever starts the runner


def slow_clone(tmp_path):
    clone = Clone.create(tmp_path / "clone", algorithms=["kruskal", "probe-slow"])
    clone.add_probe("probe-slow", "time.sleep(3600)")
    clone.configure(algorithms=["kruskal", "probe-slow"], experiment={"graphs": ["small-grid"]})
    return clone


def await_measuring(clone, engine):
    wait_until(lambda: "fork_server" in " ".join(processes_of(clone.folder)), 200, process=engine)
    time.sleep(2)


@pytest.mark.slow
@pytest.mark.workflow
def test_runs_end_with_the_workflow_engine(tmp_path):
    clone = slow_clone(tmp_path)
    process = clone.start()
    await_measuring(clone, process)
    # The engine alone, not its group. On SIGTERM it would wait for the jobs that run.
    process.kill()
    process.communicate(timeout=100)
    await_end(clone.folder)


@pytest.mark.slow
@pytest.mark.workflow
def test_the_engine_in_a_job_of_a_scheduler_ends_with_the_job(tmp_path):
    clone = slow_clone(tmp_path)
    engine = f"{sys.executable} -m snakemake --cores 2 --mode remote"
    # A shell that does not become the engine, as the script of a job is.
    job = subprocess.Popen(["sh", "-c", f"{engine}; true"], cwd=clone.folder, env=clone.environment())
    await_measuring(clone, job)
    job.kill()
    job.wait()
    await_end(clone.folder)


RANKS = """import pathlib
import time

ALGORITHM = dict(id="probe-gated", paradigm="mpi", title="probe-gated")


def prepare(part, *, comm):
    return comm


def solve(comm):
    pathlib.Path("{folder}/solves").open("a").write(f"{{comm.rank}}\\n")
    time.sleep(3600)


def collect(problem, result):
    return []
"""


@pytest.mark.slow
@pytest.mark.mpi
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_ranks_end_with_the_runner(place, number):
    if find_launcher() is None or len(os.sched_getaffinity(0)) < 2:
        pytest.skip("no mpiexec, or one core")
    (place.folder / "algorithms/probe_gated.py").write_text(RANKS.format(folder=place.folder))
    place.configure("probe-gated", width=2)
    process = place.start()
    wait_until((place.folder / "solves").exists, 100)
    process.send_signal(number)
    process.communicate(timeout=30)
    await_end(place.folder)


@pytest.mark.parametrize(
    ("algorithm", "width"),
    [("kruskal", 1), pytest.param("filter-boruvka-mpi", 2, marks=[pytest.mark.slow, pytest.mark.mpi])],
)
def test_files_of_the_working_folder_hide_no_modules_of_python(place, algorithm, width):
    if width > 1 and (find_launcher() is None or len(os.sched_getaffinity(0)) < width):
        pytest.skip("no mpiexec, or one core")
    for name in ("types.py", "random.py"):
        (place.folder / name).write_text(f"raise SystemExit('this is not {name} of Python')\n")
    place.configure(algorithm, width=width, processes=1)
    code, output = place.run()
    assert code == 0 and "1 run measured, 0 wrong" in output, output
    assert [record["status"] for record in place.records().values()] == ["ok"]
