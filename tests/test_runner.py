"""One run, supervised: limits that end everything, pins that hold, noise that is flagged."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import psutil
import pytest
from scripts import run_python

from mst import registry
from mst.bench.machine import cores_first
from mst.bench.measure import measurement as measuring
from mst.bench.measure.driver import RunDriver
from mst.bench.measure.fork_server import ForkServer
from mst.bench.measure.messages import MessageReader, RunSpec, send
from mst.bench.measure.outcome import Outcome
from mst.bench.measure.processes import ProcessorSeconds, module_command, pinned_environment
from mst.bench.measure.runner import Request, measure_runs
from mst.bench.measure.sampler import Sampler
from mst.bench.planning.experiment import Measure
from mst.bench.records.schema import ForestFacts
from mst.bench.records.store import Run, load_ids, read_measurement
from mst.commands._interrupt import interrupt_on_signals
from mst.cores import granted_cores
from mst.errors import InputError
from mst.formats.canonical import content_digest, write_canonical
from mst.graph import Graph
from mst.programs import from_mapping

PROBES = {
    "probe-children": """
    import subprocess, time
    if problem["weight"] == 3:  # as in no graph of the warm-up
        subprocess.Popen(["setsid", "sleep", "{marker}"], start_new_session=True)
        time.sleep(60)
""",
    "probe-compiling": """
    import subprocess, time
    subprocess.Popen(["setsid", "sleep", "{marker}"], start_new_session=True)
    time.sleep(60)
""",
    "probe-memory": """
    import numpy as np, time
    held = [np.ones(1 << 24) for _ in range(40)]
    time.sleep(60)
""",
    "probe-sleeps": "import time; time.sleep(0.2)",
    "probe-nothing": "pass",
    "probe-memory-error": "raise MemoryError('no more')",
    "probe-killed": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "probe-signalled": """
    import os, pathlib, signal
    pathlib.Path("{marker}").touch()
    os.kill(os.getpid(), signal.SIGTERM)
""",
    "probe-threads": """
    import os
    from threadpoolctl import threadpool_info
    import numpy as np
    np.ones((300, 300)) @ np.ones((300, 300))
    counts = [pool["num_threads"] for pool in threadpool_info()]
    problem["seen"] = dict(pools=counts, cpus=len(os.sched_getaffinity(0)))
""",
    "probe-device": """
    return np.array([0, 1])


def transfer(problem, started=set()):
    import os, time
    time.sleep(0.4 * (os.getpid() not in started))
    started.add(os.getpid())
    return problem
""",
    "probe-counters": 'problem["seen"] = {marker}',
    "probe-time": """
    return np.array([0, 1])


def timed_solve(problem):
    return solve(problem), {marker}
""",
    "probe-fork-differs": """
    import os, pathlib
    flag = pathlib.Path("{marker}")
    if not flag.exists():
        flag.write_text(str(os.getpid()))
    return np.array([0, 1 if flag.read_text() == str(os.getpid()) else 2])
""",
}

SOURCE = '''"""A probe of the tests."""

import numpy as np

ALGORITHM = dict(id="{id}", paradigm="{paradigm}", title="{id}", ties="any", requires={requires})


def prepare(graph, *, width):
    return dict(weight=graph.w.sum(), seen=dict())


def solve(problem):
    {body}
    return np.array([0, 1])


def collect(problem, result):
    return result


def counters(problem, result):
    return problem["seen"]


PROFILED = ("cycles",)


def profiled(launches):
    return {{kernel: value for kernel, metric, value in launches}}
'''
PHASES = """

def phases(problem):
    return {seconds}
"""
UNION = "{'union': 0.5}"


@pytest.fixture
def probe(add_algorithm, tmp_path):
    """Return a function that drops in one probe algorithm and measures it."""
    graph = Graph(3, [0, 1, 2], [1, 2, 0], [1, 1, 1], name="triangle")
    file = tmp_path / "graph.arrow"
    write_canonical(file, graph, {"name": "triangle"})
    manifest = {"name": "triangle", "n": 3, "m": 3, "digest": content_digest(graph), "weight_dtype": "int32"}

    def measure(
        name: str,
        *,
        width: int = 1,
        paradigm: str = "sequential",
        marker: str = "60",
        seconds: str = "",
        requires: tuple[str, ...] = (),
        **settings,
    ) -> dict:
        body = PROBES[name].replace("{marker}", marker).strip()
        source = SOURCE.format(id=name, paradigm=paradigm, body=body, requires=requires)
        source += PHASES.format(seconds=seconds) if seconds else ""
        add_algorithm(source, f"{name.replace('-', '_')}.py")
        order = request_of(name, width, **settings)
        return next(measure_runs([order], manifest=manifest, graph_file=file)) | {"path": order.path}

    def request_of(name: str, width: int = 1, **settings) -> Request:
        run = Run("here", "triangle", name, "default", width, "0" * 12)
        chosen = Measure(**{"processes": 2, "samples": 2, "budget": 5, "timeout": 30, **settings})
        return Request(run, tmp_path / "records" / run.path, chosen)

    def together(*orders: Request) -> list[dict]:
        return list(measure_runs(orders, manifest=manifest, graph_file=file))

    measure.request, measure.together = request_of, together
    return measure


def sleepers(marker: str) -> list[psutil.Process]:
    return [p for p in psutil.process_iter(["cmdline"]) if p.info["cmdline"] == ["sleep", marker]]


def driver_of(run: int, scratch: Path, timeout: float) -> RunDriver:
    spec = RunSpec("kruskal", {}, 1, "graph.arrow", str(scratch), {})
    return RunDriver(run, spec, Measure(timeout=timeout), Outcome())


def test_time_limit_before_the_template_starts_kills_no_process(tmp_path, monkeypatch):
    class SilentServer:
        def send(self, run, command, **values):
            pass

        def events(self, run, seconds):
            return []

    ended = []
    monkeypatch.setattr("mst.bench.measure.driver.end_tree", ended.append)
    driver = driver_of(0, tmp_path, timeout=0.01)
    driver.sample(SilentServer())
    driver.close()
    assert driver.outcome.status == "timeout" and ended == []


@pytest.mark.slow
def test_profile_adds_counters_if_requested(probe, tmp_path, monkeypatch):
    program = tmp_path / "bin" / "ncu"
    program.parent.mkdir()
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
    table = '"ID","Kernel Name","Metric Name","Metric Value"\n"0","unite(Edge)","cycles","1,234.5"'
    for printed, counters in ((table, [{"unite": 1234.5}]), ("no permission", [])):
        program.write_text(f"#!/bin/sh\ncat <<'END'\n{printed}\nEND\n")
        program.chmod(0o755)
        found = probe("probe-nothing", processes=1, profile=True)
        assert found["status"] == "ok" and found["counters"] == counters
    assert probe("probe-nothing", processes=1)["counters"] == []
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{table}\nEND\n")
    assert probe("probe-nothing", processes=4, profile=True)["counters"] == 3 * [{"unite": 1234.5}]


@pytest.mark.slow
def test_counters_and_memory_are_those_of_each_process_and_phases_of_three(probe):
    # Even on a busy machine, the budget leaves time for the phases.
    found = probe("probe-threads", processes=4, seconds=UNION, budget=60)
    assert len(found["counters"]) == len(found["memory"]["working_by_process"]) == 4
    assert len(found["phases"]) == 3 and all(phases["union"] > 0 for phases in found["phases"])
    assert len(probe("probe-threads", processes=2, seconds=UNION, budget=60)["phases"]) == 2
    assert probe("probe-threads", processes=1, seconds=UNION, phases=False)["phases"] == []


def test_commit_and_uncommitted_changes_are_recorded(tmp_path, monkeypatch):
    monkeypatch.setattr(measuring, "__file__", str(tmp_path / "mst/bench/measure/measurement.py"))
    monkeypatch.setenv("MST_COMMIT", "of-a-copy")
    state = measuring.git_state.__wrapped__
    assert state() == {"commit": "of-a-copy", "dirty": False}
    git = [
        "git",
        "-C",
        str(tmp_path),
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@b",
        "-c",
        "commit.gpgsign=false",
    ]
    (file := tmp_path / "a.py").write_text("1")
    for command in (["init", "-q"], ["add", "a.py"], ["commit", "-qm", "one"]):
        subprocess.run([*git, *command], check=True)
    head = subprocess.run(
        [*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True
    ).stdout.strip()
    assert state() == {"commit": head, "dirty": False}
    file.write_text("2")
    assert state() == {"commit": head, "dirty": True}


def test_versions_are_of_packages_by_any_name_and_those_that_a_program_states(monkeypatch):
    known = {"cupy": ["cupy-cuda13x"]}
    monkeypatch.setattr(measuring, "_distributions", lambda: known)
    numbers = {"cupy-cuda13x": "14.2.0", "numpy": "2.5.2"}

    def version(name):
        if name not in numbers:
            raise measuring.metadata.PackageNotFoundError(name)
        return numbers[name]

    monkeypatch.setattr(measuring.metadata, "version", version)
    assert measuring.versions_of(registry.get("ecl-mst-cuda"))["cupy"] == "14.2.0"
    stated = {"command": "solve {graph}", "format": "dimacs", "total": "(.*)", "versions": {"cuda": "13.0"}}
    algorithm = dataclasses.replace(registry.get("scipy"), program=from_mapping("theirs", stated))
    assert measuring.versions_of(algorithm)["cuda"] == "13.0"


@pytest.mark.parametrize(
    ("name", "limit", "reason"),
    [
        ("probe-children", 3, "a process took more than 3 s"),
        ("probe-compiling", 1, "importing, compiling and solving small graphs took more than 5 s"),
    ],
)
def test_time_limit_ends_the_run_and_its_children(probe, name, limit, reason):
    marker = f"{time.time_ns()}"
    started = time.monotonic()
    measurement = probe(name, marker=marker, timeout=limit)
    assert time.monotonic() - started < 50, "the probes sleep for a minute"
    assert (measurement["status"], measurement["reason"]) == ("timeout", reason)
    assert not sleepers(marker), "a daemonised grandchild outlived the run"
    assert read_measurement(measurement["path"])["status"] == "timeout"


@pytest.mark.slow
def test_memory_limit_ends_the_run(probe):
    measurement = probe("probe-memory", memory=1.5, timeout=60)
    assert measurement["status"] == "out-of-memory"
    assert "above the limit of 1.5 GiB" in measurement["reason"]


def test_memory_error_is_out_of_memory(probe):
    measurement = probe("probe-memory-error")
    assert measurement["status"] == "out-of-memory" and "no more" in measurement["reason"]


def test_killed_process_is_recorded_as_out_of_memory(probe):
    measurement = probe("probe-killed")
    assert measurement["status"] == "out-of-memory" and "signal 9" in measurement["reason"]


def test_job_ended_by_the_scheduler_writes_no_measurement(probe, tmp_path, monkeypatch):
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    marker = tmp_path / "signalled"

    def end_job() -> None:
        until = time.monotonic() + 60
        while not marker.exists() and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGTERM)

    before = signal.getsignal(signal.SIGTERM)
    interrupt_on_signals()
    scheduler = threading.Thread(target=end_job)
    scheduler.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            probe("probe-signalled", marker=str(marker))
            scheduler.join()
    finally:
        signal.signal(signal.SIGTERM, before)
    assert marker.exists() and not probe.request("probe-signalled").path.exists()


def test_threads_and_processors_are_pinned_to_the_width(probe):
    pytest.importorskip("threadpoolctl")
    measurement = probe("probe-threads", width=1)
    assert measurement["status"] == "ok", measurement["detail"]
    assert all(seen["cpus"] == 1 for seen in measurement["counters"])
    assert all(seen["pools"] and set(seen["pools"]) == {1} for seen in measurement["counters"])
    assert measurement["conditions"]["pinned"]["RAYON_NUM_THREADS"] == "1"
    assert measurement["affinity"] == [max(os.sched_getaffinity(0))]


@pytest.mark.skipif(granted_cores() < 2, reason="needs two cores")
@pytest.mark.parametrize("kind", [{"requires": ("cupy",)}, {"paradigm": "cuda"}])
def test_a_run_on_a_gpu_has_all_cores_for_its_calls(probe, tmp_path, monkeypatch, kind):
    pytest.importorskip("threadpoolctl")
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "cupy.py").touch()
    monkeypatch.syspath_prepend(tmp_path / "modules")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "modules"), prepend=os.pathsep)
    measurement = probe("probe-threads", **kind)
    assert measurement["status"] == "ok", measurement["detail"]
    assert all(seen["cpus"] == granted_cores() for seen in measurement["counters"])
    assert measurement["conditions"]["pinned"]["RAYON_NUM_THREADS"] == str(granted_cores())
    assert len(measurement["affinity"]) == granted_cores() and measurement["run"]["width"] == 1


@pytest.mark.parametrize("file", ["core_cpus_list", "thread_siblings_list"])
@pytest.mark.parametrize(
    ("siblings", "order"),
    [
        ({0: "0-1", 1: "0-1", 2: "2-3", 3: "2-3", 4: "4-5", 5: "4-5"}, [5, 3, 1, 4, 2, 0]),
        ({0: "0,3", 1: "1,4", 2: "2,5", 3: "0,3", 4: "1,4", 5: "2,5"}, [5, 4, 3, 2, 1, 0]),
        # A mask that leaves one hardware thread of a core and both of another.
        ({1: "0-1", 4: "4-5", 5: "4-5"}, [5, 1, 4]),
    ],
    ids=["adjacent", "halves", "masked"],
)
def test_cores_are_taken_before_second_hardware_threads(tmp_path, siblings, order, file):
    for cpu, line in siblings.items():
        folder = tmp_path / f"cpu{cpu}" / "topology"
        folder.mkdir(parents=True)
        (folder / file).write_text(line + "\n")
    assert cores_first(siblings, topology=tmp_path) == order


@pytest.mark.slow
def test_threading_layer_is_recorded(probe):
    order = probe.request("filter-boruvka-threads", width=1, processes=1, timeout=150)
    (measurement,) = probe.together(order)
    assert measurement["threading"]["layer"] == "omp" and measurement["threading"]["launched"] == 1
    (measurement,) = probe.together(probe.request("kruskal", processes=1))
    assert measurement["threading"] is None


def test_documented_keys_are_those_of_a_measurement_in_order(probe):
    page = (Path(__file__).parent.parent / "docs" / "records.md").read_text()
    documented = dict(re.findall(r"^\| (`.+?`) \| (.+) \|$", page, re.MULTILINE))
    (measurement,) = probe.together(probe.request("kruskal", processes=1))
    assert re.findall(r"`(\w+)`", " ".join(documented)) == list(measurement)
    for key in ("run", "graph", "samples", "memory", "machine", "conditions"):
        missing = [
            inner for inner in measurement[key] if not re.search(rf"\b{inner}\b", documented[f"`{key}`"])
        ]
        assert not missing, (key, missing)


def test_rayon_starts_as_many_threads_as_pinned():
    pytest.importorskip("rustworkx")
    code = (
        "import rustworkx as rx, os\n"
        "g = rx.PyGraph(); g.add_nodes_from(range(400))\n"
        "g.add_edges_from([(i, (i * 7 + 1) % 400, 1.0) for i in range(400)])\n"
        "rx.minimum_spanning_edges(g)\n"
        "rx.graph_distance_matrix(g, parallel_threshold=1)\n"
        "print(sum(1 for t in os.scandir('/proc/self/task')))\n"
    )

    def threads(width: int) -> int:
        # NumPy's BLAS comes along with rustworkx; only rayon's threads are to differ.
        return int(run_python(code, **pinned_environment(width) | {"OPENBLAS_NUM_THREADS": 1}).stdout)

    assert threads(4) - threads(1) == 3


@pytest.mark.parametrize(
    ("returned", "reason"),
    [
        ({"marker": "[1]"}, "counters must return a dict, got list"),
        ({"marker": "{'rounds': float('nan')}"}, "counters returned rounds=nan, which a record cannot hold"),
        ({"marker": "{'rounds': np.arange(2)}"}, r"counters returned rounds=array\(\[0, 1\]\), which a record"),
        ({"marker": "{(1, 2): 3}"}, r"counters returned \(1, 2\)=3, which a record cannot hold"),
        ({"seconds": "[1]"}, "phases must return a dict, got list"),
        ({"seconds": "{'union': 'x'}"}, "phases returned union='x': give seconds"),
    ],
)
def test_values_that_a_record_cannot_hold_are_an_error_of_the_run(probe, returned, reason):
    found = probe("probe-counters", **{"marker": "{}"} | returned, processes=1)
    assert found["status"] == "error" and re.search(reason, found["reason"]), found["reason"]
    read_measurement(found["path"])


@pytest.mark.parametrize("marker", ["-0.5", "float('nan')", "float('inf')"])
def test_a_time_that_cannot_be_is_an_error_of_the_run(probe, marker):
    """A record of it would be refused when it is read, which would end the proofs of all other runs."""
    found = probe("probe-time", marker=marker, processes=1)
    assert found["status"] == "error" and "probe-time states that it took" in found["reason"]
    read_measurement(found["path"])


def test_a_record_can_hold_more_edges_than_a_forest_has():
    """Those of a program with a fault, which its proof then refutes; a refused record would end all proofs."""
    graph = Graph(3, [0] * 4, [1] * 4, [1] * 4)
    sampler = Sampler(RunSpec("command-mine", {}, 1, "graph.arrow", "", {}), None, graph, loaded=True)
    facts = sampler.forest_facts(np.arange(4), graph.w)
    assert (facts["edges"], ForestFacts.model_validate(facts).components) == (4, None)


def test_processes_draw_different_random_numbers(probe):
    """Forks have the generator of their parent, with which an algorithm that draws would find one forest each time."""
    found = probe("probe-counters", marker="{'drawn': float(np.random.random())}", processes=3)
    assert len({counters["drawn"] for counters in found["counters"]}) == 3


def test_different_forests_of_processes_are_an_error(probe, tmp_path):
    measurement = probe("probe-fork-differs", paradigm="peer", marker=str(tmp_path / "first"), processes=2)
    assert measurement["status"] == "error" and "different forests" in measurement["reason"]


@pytest.mark.parametrize("damage", ["removed", "cut off", "another graph"])
def test_a_damaged_graph_is_refused_instead_of_recorded_as_errors(probe, tmp_path, damage):
    file, request = tmp_path / "graph.arrow", probe.request("kruskal")
    if damage == "removed":
        file.unlink()
    elif damage == "cut off":
        os.truncate(file, 100)
    else:
        write_canonical(file, Graph(3, [0, 1, 2], [1, 2, 0], [1, 1, 2]))
    with pytest.raises(InputError, match=rf"{file} is missing, damaged or not the graph .*: remove its folder"):
        probe.together(request)
    assert not request.path.exists()


def test_width_above_the_cores_is_refused_unless_asked_for(tmp_path):
    run = Run("here", "triangle", "parlay-boruvka", "default", 1000, "0" * 12)
    refused = Request(run, tmp_path, Measure()).refusal()
    assert "oversubscribe: true" in refused and "--oversubscribe" in refused, "mst run has no experiment"
    assert Request(run, tmp_path, Measure(), oversubscribe=True).refusal() == ""


@pytest.mark.slow
def test_load_of_other_programs_is_flagged_busy(probe):
    burners = [
        subprocess.Popen(
            [sys.executable, "-c", "import time\nend = time.time() + 30\nwhile time.time() < end: pass"]
        )
        for _ in range(2)
    ]
    try:
        measurement = probe("probe-threads")
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()
    assert "busy" in measurement["conditions"]["flags"]
    assert measurement["conditions"]["others_cores"] > 0.15


def test_ticks_of_the_clock_are_not_the_work_of_others():
    outcome = Outcome()
    for _ in range(50):
        for busy in (0.30, 0.34):
            # Eight threads used 0.32 seconds; the kernel counted two ticks too few, then two too many.
            outcome.count_others(
                ProcessorSeconds(7, 1, 2), ProcessorSeconds(7.01 + busy, 1.25, 2.01), used=0.32
            )
    assert outcome.others_seconds == pytest.approx(0)
    assert outcome.stolen_seconds == 25


def flags_of(
    algorithm: str,
    width: int = 1,
    *,
    seconds: float = 0.0,
    others: float = 0.0,
    medians: tuple[float, ...] = (),
    **conditions,
) -> list[str]:
    """Return the flags of a run that took these seconds, while these numbers of cores did other work."""
    run = Run("here", "triangle", algorithm, "default", width, "0" * 12)
    processes = [{"compute": [median]} for median in medians]
    outcome = Outcome(turn_seconds=seconds, others_seconds=others * seconds, processes=processes)
    still = {"granted_width": None, "throttled": 0, "after": {"throttled": 0}, "stolen_cores": 0.0}
    return measuring._flags(run, outcome, Measure(), {**still, **conditions})


def test_short_runs_are_busy_only_beyond_the_error_of_the_clock(monkeypatch):
    monkeypatch.setattr(measuring.os, "cpu_count", lambda: 16)

    def flags(seconds: float, others: float) -> list[str]:
        return flags_of("parlay-boruvka", seconds=seconds, others=others)

    # On 16 idle cores the kernel counted up to a third of a core too much in a second, and 0.08 in nine.
    assert flags(1, 0.33) == flags(9, 0.15) == flags(1000, 0.15) == []
    assert flags(1, 0.41) == flags(9, 0.24) == flags(1000, 0.16) == ["busy"]


@pytest.mark.parametrize(
    "algorithm, width, facts, flags",
    [
        ("kruskal", 1, dict(medians=(1.0, 1.0, 1.0, 1.0, 1.09)), []),
        ("kruskal", 1, dict(medians=(1.0, 1.0, 1.0, 1.0, 1.11)), ["spread"]),
        ("kruskal", 1, dict(medians=(1.0,) * 4), ["fewer-processes"]),
        ("kruskal", 1, dict(throttled=7, after={"throttled": 7}), []),
        ("kruskal", 1, dict(throttled=7, after={"throttled": 8}), ["throttled"]),
        ("kruskal", 1, dict(throttled=None, after={"throttled": None}), []),
        ("parlay-boruvka", 16, {}, []),
        ("parlay-boruvka", 17, {}, ["oversubscribed"]),
        ("ghs-mpi", 17, {}, ["oversubscribed"]),
        ("edge-boruvka-cuda", 17, {}, []),
        ("parlay-boruvka", 8, dict(granted_width=8), []),
        ("parlay-boruvka", 8, dict(granted_width=7), ["width-not-granted"]),
        ("parlay-boruvka", 32, dict(granted_width=16), ["oversubscribed"]),
    ],
)
def test_flags_are_set_at_their_limits(algorithm, width, facts, flags, monkeypatch):
    monkeypatch.setattr(measuring, "granted_cores", lambda: 16)
    assert flags_of(algorithm, width, **facts) == flags


def test_stolen_time_is_a_share_of_the_processors_of_a_run(monkeypatch):
    monkeypatch.setattr(measuring, "granted_cores", lambda: 16)
    assert (
        flags_of("kruskal", stolen_cores=0.03) == flags_of("edge-boruvka-cuda", stolen_cores=0.03) == ["stolen"]
    )
    assert flags_of("parlay-boruvka", 8, stolen_cores=0.15) == []
    assert flags_of("parlay-boruvka", 8, stolen_cores=0.17) == ["stolen"]


def test_measurement_has_samples_machine_memory_and_forest(probe):
    measurement = probe("probe-threads")
    stored = json.loads(measurement["path"].read_text())
    assert stored["schema"] == 2
    assert len(stored["samples"]["compute"]) == 2 and all(len(s) >= 2 for s in stored["samples"]["compute"])
    calls = stored["samples"]["call"]
    assert len(calls) == 2 and all(0 < seconds < 5 for process in calls for seconds in process)
    assert stored["machine"]["fingerprint"] and stored["versions"]["python"]
    assert stored["memory"]["peak_bytes"] > stored["memory"]["working_bytes"] >= 0
    assert stored["forest"] == {
        "edges": 2,
        "components": 1,
        "weight": "2",
        "digest": stored["forest"]["digest"],
    }
    assert np.array_equal(load_ids(measurement["path"]), [0, 1])


def test_calls_are_taken_though_a_device_takes_long_to_start(probe):
    samples = probe("probe-device", budget=1.4)["samples"]
    assert all(process[0] > 0.4 for process in samples["transfer"]) and len(samples["call"]) == 2


@pytest.mark.slow
def test_runs_take_turns_forwards_and_backwards(probe, monkeypatch):
    shown = []
    monkeypatch.setattr("mst.progress.Step.update", lambda step, text, left: shown.append((text, left)))
    orders = [probe.request(name, processes=3, budget=60) for name in ("kruskal", "boruvka", "scipy")]
    found = probe.together(*orders)
    assert {m["status"] for m in found} == {"ok"}, [m["detail"] for m in found]
    spans = sorted((begun, ended, m["run"]["algorithm"]) for m in found for begun, ended in m["spans"])
    assert len(spans) == 9
    for (_, ended, _), (begun, _, _) in itertools.pairwise(spans):
        assert ended <= begun, "two processes at once"
    turns = [name for _, _, name in spans]
    assert turns == [*(names := ["kruskal", "boruvka", "scipy"]), *names[::-1], *names]
    assert all(m["conditions"]["interleaved_with"] == 2 for m in found)
    assert all(order.path.is_file() for order in orders)
    assert shown[1][0].startswith(
        "process 1 of 3, run 2 of 3, triangle: boruvka width 1, after importing, compiling and solving small graphs"
    )
    assert [left for _, left in shown[:3]] == [None] * 3, "how long compiling takes is not known"
    assert all(left > 0 for _, left in shown[3:])


@pytest.mark.slow
def test_failing_runs_leave_other_runs_ok(probe):
    probe("probe-killed"), probe("probe-children", timeout=1)
    orders = [
        probe.request("kruskal"),
        probe.request("probe-killed"),
        probe.request("probe-children", timeout=2),
        probe.request("boruvka"),
    ]
    found = {m["run"]["algorithm"]: m for m in probe.together(*orders)}
    assert {name: m["status"] for name, m in found.items()} == {
        "kruskal": "ok",
        "probe-killed": "out-of-memory",
        "probe-children": "timeout",
        "boruvka": "ok",
    }
    assert len(found["boruvka"]["samples"]["compute"]) == 2


def test_output_of_a_server_is_shown_though_it_is_no_text(tmp_path):
    server = ForkServer.__new__(ForkServer)
    server._log = tmp_path / "log"
    server._log.write_bytes(b"killed at \xff")
    assert server.output() == "killed at \ufffd"


def test_a_stopped_server_ends_though_its_runner_is_killed(tmp_path):
    starts = """if True:
        import signal, sys
        from pathlib import Path
        from mst.bench.measure.fork_server import ForkServer
        server = ForkServer(1, Path(sys.argv[1]))
        print(server._process.pid, flush=True)
        signal.pause()"""
    runner = subprocess.Popen([sys.executable, "-c", starts, tmp_path], stdout=subprocess.PIPE, text=True)
    server = psutil.Process(int(runner.stdout.readline()))
    # As `end_tree` does first.
    server.suspend()
    runner.kill()
    runner.communicate()
    try:
        server.wait(60)
    finally:
        with contextlib.suppress(psutil.NoSuchProcess):
            server.kill()


def test_modules_are_found_in_the_folder_where_a_process_is_started(tmp_path, monkeypatch):
    (tmp_path / "mst").mkdir()
    monkeypatch.chdir(tmp_path)
    assert module_command("json.tool", "a.json") == [sys.executable, "-P", "-m", "json.tool", "a.json"]
    (tmp_path / "mst" / "__init__.py").touch()
    assert "-P" not in module_command("json.tool")


def test_events_that_arrive_together_reach_their_runs(tmp_path):
    server = ForkServer.__new__(ForkServer)
    events, sent = os.pipe()
    server._reader, server._unread = MessageReader(events), {}
    send(sent, event="opened", run=0, pid=0)
    send(sent, event="exited", run=1, code=-9)
    send(sent, event="ready", run=0, phases=False, ranks=False, profile=False)
    send(sent, event="exited", run=0, code=3)
    drivers = [driver_of(run, tmp_path, timeout=5) for run in (0, 1)]
    for driver in drivers:
        driver._server = server
        driver._follow("ready", "compiling", 5)
    os.close(sent)
    os.close(events)
    assert drivers[0].outcome.reason == "ended with exit code 3"
    assert drivers[1].outcome.status == "out-of-memory"


def test_small_budget_gives_fewer_processes_and_a_flag(probe):
    measurement = probe("probe-sleeps", processes=5, samples=1, budget=0.5)
    assert 1 <= len(measurement["samples"]["compute"]) < 5 and measurement["samples"]["call"] == []
    assert "fewer-processes" in measurement["conditions"]["flags"]


@pytest.mark.slow
def test_unspent_budget_goes_to_slower_runs(probe):
    slow = dict(processes=4, samples=1, budget=1.0)
    assert len(probe("probe-sleeps", **slow)["samples"]["compute"]) < 4
    quick = probe.request("kruskal", processes=2, samples=1, budget=30.0)
    found = {m["run"]["algorithm"]: m for m in probe.together(probe.request("probe-sleeps", **slow), quick)}
    assert len(found["probe-sleeps"]["samples"]["compute"]) == 4
    assert "fewer-processes" not in found["probe-sleeps"]["conditions"]["flags"]


def test_no_process_survives_the_runner(probe):
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    probe.together(*(probe.request(name) for name in ("kruskal", "boruvka")))
    left = [child for child in psutil.Process().children(recursive=True) if child.pid not in before]
    assert not left
