"""The first part of the default experiment, its page, and progress in place of the engine's output."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import types
from pathlib import Path

import pytest
from scripts import wait_until

from mst import catalog, config, progress
from mst.bench.planning.experiment import Measure
from mst.bench.planning.plan import Planned
from mst.catalog.download import Sources
from mst.commands import experiment
from mst.scopes import Scopes

ROOT = Path(__file__).parent.parent

# Stands for Snakemake, which ends its jobs before it removes its lock.
LOCKED = """
import pathlib, signal, sys, time

def end(*_):
    time.sleep(1)
    lock.unlink()
    sys.exit(3)

signal.signal(signal.SIGINT, end), signal.signal(signal.SIGTERM, end)
lock = pathlib.Path("lock")
lock.touch()
time.sleep(60)
"""


@pytest.fixture(scope="module")
def settings():
    return config.load()


def test_the_first_part_is_a_small_part_of_the_same_runs(settings):
    whole = {
        (row.graph, row.algorithm, row.options, row.width) for row in experiment._plan(settings, "default")
    }
    first = [row for row in experiment._plan(settings, "first") if row.status in ("planned", "waiting", "done")]
    keys = {(row.graph, row.algorithm, row.options, row.width) for row in first}
    assert keys and keys <= whole and len(keys) < len(whole) / 3
    assert {row.algorithm for row in first} <= {*settings.experiment.first.algorithms}


def test_one_graph_has_the_time_of_the_whole_experiment(settings):
    one = Scopes.of(settings, []).experiment("graphs/rmat16.sym")
    assert one.graphs == ["rmat16.sym"] and one.within == settings.experiment.within


def test_one_algorithm_is_compared_with_the_baseline(settings):
    rows = experiment._plan(settings, "algorithms/lock-boruvka")
    assert {(row.algorithm, row.graph) for row in rows} == {
        (name, graph) for name in ("lock-boruvka", "kruskal") for graph in ("cnr-2000", "rmat-17")
    }


def test_the_first_page_says_what_is_still_to_come(settings):
    text = experiment._preliminary_note(settings)
    assert text.startswith("First results: ") and "cnr-2000" in text and "make report continues" in text


ENGINE = """
import sys
print("rule measure:\\n    input: a\\n    jobid: 3\\n    wildcards: where=, machine=here, graph=rmat-17, part=all")
print("2 of 9 steps (22%) done")
sys.exit({code})
"""


def interrupted_by(folder, ignored):
    """Let the workflow's engine, which ignores a signal, interrupt the command that waits for it."""
    own = types.SimpleNamespace(root=folder, records=folder / "records")
    lines = (
        "import os, signal, time",
        f"signal.signal({int(ignored)}, signal.SIG_IGN)",
        "os.kill(os.getppid(), 2)",
        "time.sleep(60)",
    )
    begun = time.monotonic()
    assert experiment._run_engine([sys.executable, "-c", "\n".join(lines)], own, []) == 130
    assert time.monotonic() - begun < 30


def test_an_interruption_ends_the_engine_even_if_it_ignores_the_keyboard(tmp_path, capsys):
    (tmp_path / "failed.json").touch()
    interrupted_by(tmp_path, signal.SIGINT)
    assert "interrupted" in capsys.readouterr().err
    assert not (tmp_path / "failed.json").exists()


def test_an_interruption_kills_an_engine_that_does_not_end(tmp_path, monkeypatch):
    monkeypatch.setattr(experiment, "_ENDING_SECONDS", 0.5)
    interrupted_by(tmp_path, signal.SIGTERM)


def test_while_the_engine_runs_no_lock_is_taken_that_an_interruption_could_leave_locked(tmp_path, monkeypatch):
    wait = subprocess.Popen.wait

    def wait_at_the_end(engine, timeout=None):
        assert os.waitid(os.P_PID, engine.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT), "it still runs"
        return wait(engine, timeout)

    monkeypatch.setattr(subprocess.Popen, "wait", wait_at_the_end)
    monkeypatch.setattr(subprocess.Popen, "poll", lambda engine: pytest.fail("poll takes a lock, too"))
    own = types.SimpleNamespace(root=tmp_path, records=tmp_path / "records")
    assert experiment._run_engine([sys.executable, "-c", "import time; time.sleep(0.3); exit(3)"], own, []) == 3


@pytest.mark.parametrize("code", [0, 3])
def test_the_output_of_the_engine_goes_to_a_log_and_its_end_to_the_screen_if_it_fails(code, tmp_path, capsys):
    own = types.SimpleNamespace(root=tmp_path, records=tmp_path / "records")
    command = [sys.executable, "-c", ENGINE.format(code=code)]
    assert experiment._run_engine(command, own, []) == code
    assert "2 of 9 steps" in (tmp_path / "logs" / "workflow.log").read_text()
    assert ("2 of 9 steps" in capsys.readouterr().err) == bool(code)


def test_the_remedy_for_the_lock_of_a_killed_engine_is_named(tmp_path, capsys):
    own = types.SimpleNamespace(root=tmp_path, records=tmp_path / "records")
    script = "import sys; sys.stdout.buffer.write(b'\\xe9\\nLockException:\\n'); exit(1)"
    experiment._run_engine([sys.executable, "-c", script], own, [])
    assert "`make report ARGS=--unlock` removes" in capsys.readouterr().err


@pytest.mark.parametrize("code", [0, 3])
def test_the_pages_of_all_targets_are_named_at_the_end(code, tmp_path, monkeypatch, capsys):
    own = types.SimpleNamespace(root=tmp_path, records=tmp_path / "records")
    planned = []
    monkeypatch.setattr(experiment, "_plan", lambda settings, scope: planned.append(scope) or [])
    pages = [tmp_path / "report.html", tmp_path / "reports" / "papers" / "durbhakula" / "report.html"]
    for page in pages:
        page.parent.mkdir(parents=True, exist_ok=True)
        page.touch()
    scopes = ["default", "papers/durbhakula", "results/a-file"]
    experiment._run_engine([sys.executable, "-c", ENGINE.format(code=code)], own, scopes)
    assert capsys.readouterr().out == "".join(f"report: {page}\n" for page in pages if not code)
    assert set(planned) == set(scopes[:2])  # a file has no plan


def test_a_page_that_a_failing_engine_has_written_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(experiment, "_plan", lambda settings, scope: [])
    own = types.SimpleNamespace(root=tmp_path, records=tmp_path / "records")
    page = tmp_path / "report.html"
    script = f"import pathlib; pathlib.Path({str(page)!r}).touch(); exit(1)"
    experiment._run_engine([sys.executable, "-c", script], own, ["default"])
    assert capsys.readouterr().out == f"report: {page}\n"


def test_the_page_of_an_experiment_with_a_name_is_looked_for_in_its_folder(settings, tmp_path, monkeypatch):
    named = settings.model_copy(
        update={"page": "mine", "experiment": settings.experiment.model_copy(update={"first": None})}
    )
    monkeypatch.setattr(config, "load", lambda: named)
    monkeypatch.setattr(experiment, "_run_engine", lambda command, own, scopes: scopes)
    monkeypatch.chdir(tmp_path)
    Path("Snakefile").touch()
    assert experiment.run(types.SimpleNamespace(cores="1", engine=[])) == ["experiments/mine"]
    assert experiment._is_scope("experiments/mine")


def run_on(graph, status):
    return Planned("here", graph, "kruskal", "sequential", "default", 1, status, measure=Measure())


def test_the_end_says_once_why_a_graph_is_unavailable_and_the_remedy(tmp_path, monkeypatch, capsys):
    own = types.SimpleNamespace(root=tmp_path, records=tmp_path / "records")
    entry, sources = catalog.load()["cnr-2000"], Sources(offline=True, cache=tmp_path / "cache")
    catalog.materialise(entry, config.graph_folder(own, entry), sources=sources)
    rows = [run_on("cnr-2000", "unavailable"), run_on("cnr-2000", "unavailable"), run_on("rmat-17", "done")]
    monkeypatch.setattr(experiment, "_plan", lambda settings, scope: rows)
    experiment._run_engine([sys.executable, "-c", ""], own, ["default"])
    end = capsys.readouterr().out
    assert end == (
        "cnr-2000: unavailable: https://sparse.tamu.edu/MM/LAW/cnr-2000.tar.gz: offline\n"
        "after `mst retry` the same command looks for unavailable graphs again\n"
    )


def test_the_time_to_go_has_the_compilation_of_each_new_algorithm_and_the_page():
    left = [run_on("rmat-17", "planned"), run_on("cnr-2000", "waiting")]
    peer = Planned("here", "rmat-17", "scipy", "peer", "default", 1, "planned")
    warm = experiment._seconds_to_page([*left, peer], ["kruskal"])
    assert experiment._seconds_to_page([*left, peer], []) - warm == experiment._COMPILE_SECONDS
    assert (
        experiment._seconds_to_page([], [])
        == experiment._seconds_to_page(left, ["kruskal"], 0)
        == experiment._PAGE_SECONDS
        < warm
    )


def test_progress_does_not_wait_for_runs_on_graphs_that_turn_out_to_be_unavailable(tmp_path, monkeypatch):
    own = types.SimpleNamespace(root=tmp_path, records=tmp_path / "records")
    rows = [run_on("cnr-2000", "waiting"), run_on("rmat-17", "waiting")]
    monkeypatch.setattr(experiment, "_plan", lambda settings, scope: rows)
    engine = tmp_path / "workflow.log"
    engine.touch()
    whole, job = progress.Step(""), progress.Step("")
    shown = experiment._Progress(own, ["default"], engine)
    shown.show(whole, job)
    assert whole.text == "default, 0 of up to 2 runs" and whole.left > 0
    entry = catalog.load()["cnr-2000"]
    sources = Sources(offline=True, cache=tmp_path / "cache")
    catalog.materialise(entry, config.graph_folder(own, entry), sources=sources)
    shown.show(whole, job)
    assert whole.text == "default, 0 of up to 1 run"


def test_progress_reads_the_engine_and_the_log_of_the_job(tmp_path):
    own = types.SimpleNamespace(root=tmp_path, records=tmp_path / "records")
    log = tmp_path / "logs" / "runs" / "here" / "rmat-17" / "all-1.log"
    log.parent.mkdir(parents=True)
    log.write_text("… rmat-17: kruskal width 1, process 3 of 5, 12 s so far\n")
    engine = tmp_path / "workflow.log"
    # A program of a job may print bytes that are no text.
    engine.write_bytes(
        b"\xe9\nrule measure:\n    input: a\n    jobid: 3\n"
        b"    wildcards: where=, machine=here, graph=rmat-17, part=all\n2 of 9 steps (22%) done\n"
    )
    whole, job = progress.Step(""), progress.Step("")
    experiment._Progress(own, [], engine).show(whole, job)
    assert "step 2 of 9" in whole.text and job.text == "rmat-17: kruskal width 1, process 3 of 5, 12 s so far"
    with engine.open("a") as more:
        more.write("rule reference:\n    jobid: 4\n    wildcards: graph=cnr-2000, recipe=ab\n")
    experiment._Progress(own, [], engine).show(whole, job)
    assert job.text == "computing and proving the reference forest of cnr-2000"


def started(tmp_path, argument):
    """Start the command with a stand-in for Snakemake, which has its lock then."""
    (tmp_path / "Snakefile").touch()
    (tmp_path / "snakemake.py").write_text(LOCKED)
    process = subprocess.Popen(
        [sys.executable, "-m", "mst", "experiment", "--cores", "1", "--", argument],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        start_new_session=True,
        preexec_fn=lambda: [signal.signal(n, signal.SIG_DFL) for n in (signal.SIGINT, signal.SIGHUP)],
    )
    wait_until((tmp_path / "lock").exists, 60, process=process)
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_engine_with_arguments_can_remove_its_lock(tmp_path, number):
    process = started(tmp_path, "-n")
    # As a terminal does on Ctrl-C.
    os.killpg(process.pid, number)
    assert process.wait(60) == 3 and not (tmp_path / "lock").exists()


def test_the_engine_can_remove_its_lock_when_the_terminal_is_closed(tmp_path):
    process = started(tmp_path, "results/a-file")
    for _ in range(2):
        os.killpg(process.pid, signal.SIGHUP)
        time.sleep(0.2)
    assert process.wait(60) == 130 and not (tmp_path / "lock").exists()
