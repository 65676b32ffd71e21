"""The workflow after every kind of change and accident: the exact list of jobs that the next call runs."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pyarrow.parquet as pq
import pytest
from scripts import wait_until
from workflow_clone import GRAPHS, STAND_IN_PAGE, WEIGHTS, Clone, Engine

pytestmark = [pytest.mark.workflow, pytest.mark.slow, pytest.mark.timeout(900)]

pytest.importorskip("snakemake", reason="the workflow's packages are not installed")

ALGORITHMS = ["kruskal", "probe-threads"]
MEASURE = {"processes": 1, "samples": 1, "budget": 5, "timeout": 60}
SORTED = {"algorithms": ["kruskal"], "options": {"sort": "comparison"}}
PAGE = ["table", "report", "check", "default"]
WAITS = "open('waits', 'w'); [time.sleep(0.1) for _ in range(3000) if not os.path.exists('go')]"


def batches(*graphs: str) -> list[str]:
    """Return the jobs that measure and prove a batch on each of these graphs."""
    return [f"{rule} {graph}/all" for graph in graphs for rule in ("measure", "prove")]


def ran(output: str) -> list[str]:
    """Return the jobs in an output of the engine, sorted: the rule, and the graph and the part of a batch."""
    found = []
    for block in re.split(r"^ *\[\w{3} \w{3} .*?\]", output, flags=re.MULTILINE):
        if rule := re.search(r"^ *(?:local)?rule ([\w/.-]+):$", block, re.MULTILINE):
            place = dict(re.findall(r"(graph|part)=([^,\s]+)", block))
            found.append(" ".join([rule[1], "/".join(place.values())]).strip())
    return sorted(found)


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Clone:
    """A copy of the project without git in which a small experiment has been run once, without a profile."""
    clone = Clone.create(tmp_path_factory.mktemp("trials") / "clone", algorithms=ALGORITHMS, page=False)
    clone.add_probe("probe-threads", "pass", paradigm="threads")
    configure(clone)
    code, output = clone.snakemake(profile=False)
    assert code == 0, output
    everything = [f"{rule} {graph}" for rule in ("graph", "reference") for graph in GRAPHS]
    assert ran(output) == sorted([*everything, *batches(*GRAPHS), "plan", *PAGE])
    assert all(record["git"] is None and record["status"] == "ok" for record in clone.records().values())
    return clone


@pytest.fixture
def clone(finished, tmp_path) -> Clone:
    return finished.copy(tmp_path / "clone")


def configure(clone: Clone, *more: dict, widths=(1,), algorithms=ALGORITHMS, **experiment) -> None:
    """Write the configuration of the trials, with more blocks of runs."""
    runs = [{"algorithms": list(algorithms), "widths": list(widths), "oversubscribe": True}, *more]
    clone.configure(algorithms=[], experiment={"measure": MEASURE, "runs": runs, **experiment})


def edited(file: str, old: str, new: str) -> Callable[[Clone], None]:
    """Return a function that edits a file of a clone."""

    def edit(clone: Clone) -> None:
        text = (clone.folder / file).read_text()
        assert text.count(old) == 1, f"{file}: {old!r}"
        (clone.folder / file).write_text(text.replace(old, new))

    return edit


def add_graph(clone: Clone) -> None:
    entry = {"title": "t", "family": "random", "citation": ["mst"], "weights": WEIGHTS}
    path = {"generator": "path", "parameters": {"n": 40}}
    with (clone.folder / "config/graphs.yaml").open("a") as catalogue:
        catalogue.write(f"  small-path: {json.dumps(entry | path)}\n")
    configure(clone, graphs=[*GRAPHS, "small-path"])


def add_algorithm(clone: Clone) -> None:
    clone.add_probe("probe-new", "pass")
    configure(clone, algorithms=[*ALGORITHMS, "probe-new"])


def delete(pattern: str) -> Callable[[Clone], None]:
    """Return a function that deletes the one file of a clone's results with this pattern."""

    def deleted(clone: Clone) -> None:
        (file,) = (
            f for f in (clone.folder / "results").glob(pattern) if "proof" not in f.name or "proof" in pattern
        )
        file.unlink()

    return deleted


def delete_graph_and_add_algorithm(clone: Clone) -> None:
    delete("graphs/small-grid/*/graph.arrow")(clone)
    add_algorithm(clone)


def touch_graphs(clone: Clone) -> None:
    for graph in (clone.folder / "results/graphs").glob("*/*/graph.arrow"):
        os.utime(graph)


NEW_GRAPH = ["graph small-path", "reference small-path", *batches("small-path"), "plan", *PAGE]
REMADE_GRID = ["graph small-grid", "reference small-grid", *batches("small-grid"), "plan", *PAGE]
TRIALS = {
    "nothing changed": (lambda clone: None, []),
    "notes of the engine deleted": (lambda clone: shutil.rmtree(clone.folder / ".snakemake"), []),
    "graph touched": (touch_graphs, []),
    "comment edited": (
        edited("mst/algorithms/sequential/kruskal.py", "\nALGORITHM", "\n# Words.\nALGORITHM"),
        [],
    ),
    "kernel edited": (
        edited("mst/algorithms/sequential/kruskal.py", "graph.m, 0", "graph.m + 0, 0"),
        [*batches(*GRAPHS), "plan", *PAGE],
    ),
    "unused kernel edited": (
        edited("mst/algorithms/sequential/boruvka.py", "rounds=result.rounds", "rounds=result.rounds + 0"),
        [],
    ),
    "record deleted": (delete("records/*/small-grid/kruskal/*/*/*.json"), [*batches("small-grid"), *PAGE]),
    "proof deleted": (delete("records/*/small-grid/kruskal/*/*/*.proof.json"), [*batches("small-grid"), *PAGE]),
    "template edited": (
        edited("report/page.html.j2", "<!doctype html>", "<!doctype html>\n"),
        ["report", "check", "default"],
    ),
    "graph added": (add_graph, NEW_GRAPH),
    "width added": (lambda clone: configure(clone, widths=[1, 2]), [*batches(*GRAPHS), "plan", *PAGE]),
    "option added": (lambda clone: configure(clone, SORTED), [*batches(*GRAPHS), "plan", *PAGE]),
    "algorithm added": (add_algorithm, [*batches(*GRAPHS), "plan", *PAGE]),
    "manifest deleted": (delete("graphs/small-grid/*/manifest.json"), REMADE_GRID),
    "canonical graph deleted": (delete("graphs/small-grid/*/graph.arrow"), []),
    "canonical graph deleted and needed": (
        delete_graph_and_add_algorithm,
        [*REMADE_GRID, *batches("small-uniform")],
    ),
}
# How many measurements are new or were made again; in all other trials, none.
MEASURED_AGAIN = {
    "kernel edited": 4,  # the probe runs its code, too
    "record deleted": 1,
    "graph added": 2,
    "width added": 2,
    "option added": 2,
    "algorithm added": 2,
    "canonical graph deleted and needed": 2,
}


@pytest.mark.parametrize("name", TRIALS)
def test_change_runs_exactly_the_jobs_that_depend_on_it(clone, name):
    change, expected = TRIALS[name]
    before = clone.stamps()
    change(clone)
    code, output = clone.snakemake()
    assert code == 0 and ran(output) == sorted(expected), output
    measured = [path for path, stamp in clone.stamps().items() if before.get(path) != stamp]
    assert len(measured) == MEASURED_AGAIN.get(name, 0), measured
    shown = pq.read_table(clone.folder / "results/table.parquet", filters=[("current", "=", True)])
    assert {Path(path).stem for path in measured} <= {*shown["fingerprint"].to_pylist()}
    # Without a profile more changes make a job run again than with one.
    code, output = clone.snakemake(profile=False)
    assert code == 0 and ran(output) == [], output


def checksums(folder: Path) -> dict[str, str]:
    """Return the digest of every file below a folder, without the engine's own."""
    files = (f for f in sorted(folder.rglob("*")) if f.is_file() and ".snakemake" not in f.parts)
    return {str(f): hashlib.sha256(f.read_bytes()).hexdigest() for f in files if f.suffix != ".pyc"}


@pytest.mark.parametrize("fresh", [True, False])
def test_dry_run_changes_no_file(clone, fresh):
    if fresh:
        shutil.rmtree(clone.folder / "results")
    shutil.copytree(Path(__file__).parent.parent / "results/reference", clone.folder / "results/reference")
    add_algorithm(clone)
    before = checksums(clone.folder)
    code, output = clone.snakemake("--dry-run")
    assert code == 0 and ran(output), output
    assert checksums(clone.folder) == before


def test_edited_cuda_file_plans_only_its_algorithm_again(clone):
    node = {"machine": "far", "runs": ["cuda"], "cpus": 4, "gpus": 1}
    algorithms = ["jucele-cuda", "ecl-mst-cuda"]
    # The plan asks only whether there is such a package.
    (clone.folder / "cupy.py").touch()
    experiment = {"measure": MEASURE, "runs": [{"algorithms": algorithms}]}
    clone.configure(algorithms=[], site={"nodes": {"gpu": node}}, experiment=experiment)
    records = clone.folder / "results/records"

    def planned() -> dict[str, set[str]]:
        rows = map(json.loads, clone.mst("plan", "--json").splitlines())
        return {
            status: {f"{row['graph']}/{row['algorithm']}/{row['fingerprint']}" for row in found}
            for status, found in _by_status(rows).items()
        }

    listed: dict[str, dict[str, list]] = {graph: {} for graph in GRAPHS}
    for run in planned()["planned"]:
        graph, algorithm, fingerprint = run.split("/")
        path = f"far/{graph}/{algorithm}/default/w1/{fingerprint}.json"
        listed[graph][path] = []
        (records / path).parent.mkdir(parents=True)
        (records / path).write_text("{}")
        (records / path).with_suffix(".proof.json").write_text("{}")
    for graph, runs in listed.items():
        index = clone.folder / "results/batches/far" / graph / "all/1/proved.json"
        index.parent.mkdir(parents=True)
        for file in (index.with_name("measured.json"), index):
            file.write_text(json.dumps({"runs": runs}))
    assert "planned" not in planned()
    source = clone.folder / "mst/kernels/cuda/jucele.cu"
    source.write_text(re.sub(r"\bif \((\w+) ", r"if (0 + \1 ", source.read_text(), count=1))
    after = planned()["planned"]
    assert {run.split("/")[1] for run in after} == {"jucele-cuda"}
    code, output = clone.snakemake("--dry-run")
    measured = {run.split("/")[0] for run in after}
    assert code == 0 and ran(output) == sorted([*batches(*measured), "plan", *PAGE]), output


def _by_status(rows: Iterator[dict]) -> dict[str, list[dict]]:
    found: dict[str, list[dict]] = {}
    for row in rows:
        found.setdefault(row["status"], []).append(row)
    return found


def test_corrupted_raw_file_fails_its_own_jobs_alone(clone):
    raw = clone.folder / "mine.txt"
    raw.write_text("0 1 5\n1 2 7\n2 0 6\n")
    with (clone.folder / "config/graphs.yaml").open("a") as catalogue:
        catalogue.write("  mine: {title: Mine, family: road, sources: [{path: mine.txt}]}\n")
    configure(clone, graphs=[*GRAPHS, "mine"])
    code, output = clone.snakemake()
    assert code == 0, output
    before = clone.stamps()
    raw.write_bytes(b"\x00\xff not a graph \n")
    code, output = clone.snakemake()
    assert code != 0 and ran(output) == ["graph mine"] and "Traceback" not in output, output
    assert clone.stamps() == before, "no record was lost"
    raw.write_text("0 1 5\n1 2 7\n2 0 6\n")
    code, output = clone.snakemake()
    expected = ["graph mine", "reference mine", *batches("mine"), "plan", *PAGE]
    assert code == 0 and ran(output) == sorted(expected), output
    assert clone.stamps() == before, "the same content has the same records"


@contextlib.contextmanager
def waiting(clone: Clone) -> Iterator[Engine]:
    """Start the workflow with a new algorithm that waits for the file `go`; wait until it does."""
    clone.add_probe("probe-waits", WAITS)
    configure(clone, algorithms=[*ALGORITHMS, "probe-waits"], graphs=["small-grid"])
    process = clone.start()
    wait_until((clone.folder / "waits").exists, 300, process=process)
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def workers_of(clone: Clone) -> list[psutil.Process]:
    """Return the processes that run `mst run` in a clone."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if Path(process.cwd()) == clone.folder and process.cmdline()[1:5] == ["-P", "-m", "mst", "run"]:
                found.append(process)
    return found


def interrupt_the_engine(clone: Clone, process: Engine) -> None:
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=120)


def kill_the_engine(clone: Clone, process: Engine) -> None:
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=120)
    code, output = clone.snakemake("--unlock")
    assert code == 0, output


def kill_the_worker(clone: Clone, process: Engine) -> None:
    for worker in workers_of(clone):
        worker.kill()
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 1 and "1 job failed" in output, output


@pytest.mark.parametrize("accident", [interrupt_the_engine, kill_the_engine, kill_the_worker])
def test_interrupted_workflow_resumes_where_it_was(clone, accident):
    before = clone.stamps()
    with waiting(clone) as process:
        accident(clone, process)
    assert clone.stamps() == before, "no record is partial, none is lost"
    (clone.folder / "go").touch()
    code, output = clone.snakemake()
    # Of a failed job alone the others go on: the plan is there already.
    left = [*batches("small-grid"), *PAGE, *(["plan"] if accident is not kill_the_worker else [])]
    assert code == 0 and ran(output) == sorted(left), output
    after = clone.stamps()
    assert {path: after[path] for path in before} == before and len(after) == len(before) + 1


def test_pages_stay_while_others_are_written_and_if_that_fails(clone):
    script = clone.folder / "workflow" / "scripts" / "report.py"
    before = "assert Path(snakemake.output.page).is_file() and Path(snakemake.output.pages).is_dir()\n"
    script.write_text(STAND_IN_PAGE.replace("\nPath", f"\n{before}Path", 1) + "raise SystemExit(3)\n")
    code, output = clone.snakemake("--forcerun", "report")
    assert code == 1 and "Restored previous version" in output, output
    assert (clone.folder / "results/report.html").read_text() == "a page"


def test_second_workflow_in_the_same_folder_is_refused(clone):
    with waiting(clone) as process:
        code, output = clone.snakemake()
        assert code == 1 and "cannot be locked" in output and ran(output) == [], output
        (clone.folder / "go").touch()
        output, _ = process.communicate(timeout=240)
        expected = [*batches("small-grid"), "plan", *PAGE]
        assert process.returncode == 0 and ran(output) == sorted(expected), output


@contextlib.contextmanager
def mounted(folder: Path, *options: str) -> Iterator[None]:
    """Mount a small file system in memory at a folder with its content, or skip the test."""
    saved = folder.with_name("saved")
    folder.rename(saved)
    folder.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", folder], capture_output=True
    ).returncode:
        pytest.skip("mounting a file system takes root")
    try:
        shutil.copytree(saved, folder, dirs_exist_ok=True)
        for option in options:
            subprocess.run(["mount", "-o", f"remount,{option}", folder], check=True)
        yield
    finally:
        subprocess.run(["umount", folder], check=True)
        folder.rmdir()
        saved.rename(folder)


def test_full_disk_fails_jobs_and_leaves_nothing_partial(clone):
    add_algorithm(clone)
    before = clone.stamps()
    results = clone.folder / "results"
    with mounted(results):
        filler = results / "filler"
        with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
            while True:
                file.write(b"\0" * 4096)
        code, output = clone.snakemake()
        assert code != 0 and "jobs failed (" in output, output
        # It fits where the old one was, unless another job's log does.
        plan = [] if "(Rule: plan)" in output else ["plan"]
        for record in results.glob("records/**/*.json"):
            json.loads(record.read_text())
        assert clone.stamps().keys() == before.keys()
        filler.unlink()
        code, output = clone.snakemake()
        assert code == 0 and ran(output) == sorted([*batches(*GRAPHS), *PAGE, *plan]), output
        assert len(clone.records()) == len(before) + 2


def test_read_only_results_are_one_clear_error(clone):
    add_algorithm(clone)
    with mounted(clone.folder / "results", "ro"):
        code, output = clone.snakemake()
        assert code != 0 and ran(output) == [] and "Traceback" not in output, output
        assert "Write-protected output files" in output and "output: results/" in output, output


def test_touch_and_forcerun_do_what_the_engine_documents(clone):
    before = clone.stamps()
    code, output = clone.snakemake("--touch")
    assert code == 0 and clone.snakemake()[1].count("Nothing to be done") == 1, output
    code, output = clone.snakemake("--forcerun", "measure")
    assert code == 0 and ran(output) == sorted([*batches(*GRAPHS), *PAGE]), output
    assert clone.records().keys() == before.keys()
    code, output = clone.snakemake()
    assert code == 0 and ran(output) == [], output


@pytest.mark.parametrize("profile", [True, False])
def test_moved_project_runs_nothing(clone, tmp_path, profile):
    moved = Clone(clone.folder.rename(tmp_path / "somewhere else"))
    code, output = moved.snakemake(profile=profile)
    assert code == 0 and ran(output) == [], output
