"""Message passing: the algorithms under real ranks, the library, the launcher, the measuring worker."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import adversarial
import claim_names
import numpy as np
import pytest
from expected import by_kruskal
from scripts import run_python

from mst import registry
from mst.bench.launch import Launcher, find_launcher, launch_command
from mst.bench.measure.processes import pinned_environment
from mst.bench.measure.ranks import signal_of
from mst.bench.measure.runner import Request, measure_runs
from mst.bench.planning.experiment import Measure
from mst.bench.records.store import Run
from mst.errors import ConfigError
from mst.forest import digest
from mst.formats.canonical import write_canonical
from mst.graph import Graph

ROOT = Path(__file__).resolve().parent.parent
pytestmark = pytest.mark.mpi

if registry.get("ghs-mpi").missing() or find_launcher() is None:
    pytest.skip("needs mpi4py and mpiexec", allow_module_level=True)


def run(ranks: int, *words: str, timeout: float = 280) -> subprocess.CompletedProcess:
    """Start ranks that check something (`tests/mpi/ranks.py`)."""
    script = [sys.executable, str(ROOT / "tests" / "mpi" / "ranks.py"), *words]
    command, extra = launch_command(ranks, script, find_launcher())
    single = dict.fromkeys(("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    path = os.pathsep.join([str(ROOT), *sys.path])
    environment = {**os.environ, **single, **extra, "PYTHONPATH": path}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=timeout)


def passes(ranks: int, *checks: tuple[str, ...]) -> None:
    """Let one start of ranks check several things."""
    done = run(ranks, *" and ".join(" ".join(check) for check in checks).split(), timeout=580)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    for name, *_ in checks:
        assert f"passed {name}: " in done.stdout, (done.stdout + done.stderr)[-3000:]


# Checks beside the unions of all small graphs, by the number of ranks: the step through single small graphs (0: none),
# and the sizes of the medium graphs, for ghs-mpi the last. With more ranks than cores, a collective takes milliseconds.
GRAPHS = {
    1: ("6", "400x3200", "300x1200"),
    2: ("9", "400x3200", "0x0"),
    3: ("24", "400x3200", "0x0"),
    4: ("0", "0x0", "0x0"),
    5: ("0", "0x0", "0x0"),
}


# Checks that follow in the same start, whose ranks have loaded what they need.
MORE = {
    2: [
        ("options", "64"),
        ("defaults", "ghs-mpi", "60", "300"),
        # Edges dropped by a second filter are not joined.
        ("rounds",),
    ],
    # Labels are distributed, and calls come in chunks; the library returns the forest on every rank.
    3: [("distributed", "24", "60x300"), ("library", "g.arrow")],
    4: [("shared", "128", "60x300")],
}


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, pytest.param(5, marks=pytest.mark.nightly)])
def test_forest_is_the_same_at_every_number_of_ranks(ranks, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_canonical(tmp_path / "g.arrow", list(adversarial.medium(np.random.default_rng(7), 300, 2400))[1])
    passes(ranks, ("algorithms", *GRAPHS[ranks]), *MORE.get(ranks, []))


@pytest.mark.slow
def test_ranks_compile_nothing_after_the_warm_up():
    passes(2, ("warm_up",))


def test_forest_is_that_of_kruskal():
    passes(2, ("defaults", "allreduce-boruvka-mpi", "400", "3200"))


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.timeout(600)
@pytest.mark.parametrize("ranks", [8, pytest.param(16, marks=pytest.mark.nightly)])
def test_many_ranks_share_memory_evenly_and_find_the_forest(ranks):
    """Memory of a rank shrinks with their number, first, before freed memory can be reused; labels are spread."""
    passes(ranks, ("memory",), ("spread",))


@pytest.mark.parametrize("how", ["reads", "raises", "killed"])
def test_failing_rank_ends_the_job(how):
    started = time.monotonic()
    done = run(3, "failing", how)
    assert done.returncode != 0 and "passed" not in done.stdout
    assert time.monotonic() - started < 60
    if how != "killed":
        assert "MemoryError: no memory for this rank" in done.stderr and "rank 2 of 3 failed" in done.stderr
    else:
        assert signal_of(done.returncode) == 9


GRAPH = Graph(500, *np.random.default_rng(3).integers(0, 500, (2, 2000)), np.arange(2000.0) % 97, name="g")


def measured(tmp_path: Path, algorithm: str, width: int, **limits) -> dict:
    manifest = write_canonical(tmp_path / "g.arrow", GRAPH)
    # Even on a busy machine, the budget leaves time for the phases.
    measure = Measure(**{"processes": 1, "samples": 2, "budget": 600, "timeout": 120, **limits})
    run = Run("here", "g", algorithm, "default", width, "f" * 12)
    order = Request(run, tmp_path / "records" / run.path, measure, oversubscribe=True)
    manifest = {**manifest, "weight_dtype": "float64"}
    return next(measure_runs([order], manifest=manifest, graph_file=tmp_path / "g.arrow"))


@pytest.mark.slow
@pytest.mark.parametrize("width", [1, 3])
def test_runner_measures_ranks(tmp_path, width):
    found = measured(tmp_path, "filter-boruvka-mpi", width)
    assert found["status"] == "ok", (found["reason"], found["detail"])
    assert len(found["samples"]["compute"]) == 1 and all(found["samples"]["compute"])
    assert found["forest"]["digest"] == digest(by_kruskal(GRAPH))
    assert found["ranks"]["layout"] == f"1x{width}"
    assert found["counters"][0]["rank_edges"] == -(-2000 // width)
    assert found["memory"]["peak_bytes"] > 0
    assert found["conditions"]["pinned"] == pinned_environment(1), "a rank is one thread"
    if width == 1:
        assert found["phases"] == []
    else:
        (phases,) = found["phases"]
        assert "select" in phases
        assert all(seconds >= 0 for seconds in phases.values()) and sum(phases.values()) > 0


@pytest.mark.slow
def test_records_have_the_counters_and_phases_of_the_formulas(tmp_path):
    def measured_names(selection):
        found = measured(tmp_path, selection.algorithm, 2)
        return found["counters"][0], found["phases"][0]

    assert not claim_names.lacking("mpi", measured_names)


@pytest.fixture
def probe(add_algorithm, tmp_path):
    """Return a function that adds an algorithm with a given body of `solve` and measures it."""

    def measure(body: str, width: int, **limits) -> dict:
        add_algorithm(
            "import os, pathlib, time\nimport numpy as np\n"
            "ALGORITHM = dict(id='probe-mpi', paradigm='mpi', title='Probe')\n"
            "def prepare(part, *, comm):\n    return comm\n"
            f"def solve(comm):\n{textwrap.indent(textwrap.dedent(body), '    ')}\n"
            "def collect(problem, result):\n    return []\n"
        )
        return measured(tmp_path, "probe-mpi", width, **limits)

    return measure


def test_failure_of_one_rank_is_recorded_with_its_rank(probe):
    found = probe("if comm.rank == 1:\n    raise MemoryError('out of it')\ncomm.Barrier()", 2)
    assert found["status"] == "out-of-memory"
    assert found["reason"] == "rank 1 of 2: MemoryError: out of it"


COMPILES = """
compiled = pathlib.Path("{cache}", str(comm.rank))
if not compiled.exists():
    held = np.ones({held} // 8)
    time.sleep({seconds})
    compiled.touch()
comm.Barrier()
"""


@pytest.mark.slow
@pytest.mark.parametrize("width", [1, 2])
def test_compiling_in_ranks_counts_neither_as_time_nor_as_memory(probe, tmp_path, width):
    # Beside other workers two ranks may take 7 s to start, and they start three times.
    held, budget = 1 << 29, 32
    found = probe(COMPILES.format(cache=tmp_path, held=held, seconds=budget), width, processes=3, budget=budget)
    assert found["status"] == "ok", (found["reason"], found["detail"])
    assert len(found["samples"]["compute"]) == len(found["spans"]) == 3
    assert "fewer-processes" not in found["conditions"]["flags"]
    assert max(found["memory"]["tree_bytes"], found["memory"]["peak_bytes"]) < held
    assert found["seconds"] > budget, "plans need the duration of the whole run"


@pytest.mark.slow
@pytest.mark.parametrize("width", [1, 2])
def test_ranks_that_compile_too_long_are_a_timeout(probe, tmp_path, width):
    found = probe(COMPILES.format(cache=tmp_path, held=8, seconds=60), width, timeout=1)
    assert found["status"] == "timeout"
    assert found["reason"] == "importing, compiling and solving small graphs took more than 5 s"
    found = probe("import signal; os.kill(os.getpid(), signal.SIGKILL)", width)
    assert found["status"] == "out-of-memory" and "killed by signal 9" in found["reason"]
    assert not found["samples"]["compute"] and not found["spans"]


def test_launch_command_of_each_mpi(monkeypatch):
    job = ["python", "job.py"]
    words, extra = launch_command(4, job, Launcher(("/opt/mpiexec",), "openmpi"))
    assert words == ["/opt/mpiexec", "--oversubscribe", "--bind-to", "none", "-n", "4", *job]
    assert extra == {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    assert launch_command(2, job, Launcher(("mpiexec",), "mpich")) == (["mpiexec", "-n", "2", *job], {})
    template = Launcher(("srun", "--mpi=pmi2", "--ntasks={ranks}"))
    assert launch_command(8, job, template)[0] == ["srun", "--mpi=pmi2", "--ntasks=8", *job]
    assert launch_command(8, job, template)[1] == {"MPIR_CVAR_CH4_NETMOD": "ofi"}
    monkeypatch.setenv("MPIR_CVAR_CH4_NETMOD", "ucx")
    assert launch_command(8, job, template)[1] == {}
    assert find_launcher({"MST_MPIEXEC": " ", "PATH": ""}) == find_launcher()
    with pytest.raises(ConfigError, match=r"\$MST_MPIEXEC: No closing quotation"):
        find_launcher({"MST_MPIEXEC": "mpiexec '"})
    named = f"{sys.executable} --ntasks={{ranks}}"
    assert find_launcher({"MST_MPIEXEC": named}) == Launcher((sys.executable, "--ntasks={ranks}"))


def test_a_launcher_that_does_not_exist_is_refused_instead_of_recorded(monkeypatch, tmp_path):
    monkeypatch.setenv("MST_MPIEXEC", "mpi-exec -v")
    run = Run("here", "g", "filter-boruvka-mpi", "default", 2, "f" * 12)
    with pytest.raises(ConfigError, match=r"\$MST_MPIEXEC names 'mpi-exec', which is not on PATH"):
        Request(run, tmp_path, Measure(), oversubscribe=True).refusal()


def test_planning_imports_no_mpi():
    code = (
        "import sys, mst\nfrom mst import registry\nfrom mst.bench import launch\nfrom mst.bench.planning import plan\n"
        "from mst.facts import Facts\nfacts = Facts(n=10, m=2**40)\n"
        "assert 'give more ranks' in registry.get('filter-boruvka-mpi').skip(facts, width=2)\n"
        "assert registry.get('ghs-mpi').source_fingerprint()\n"
        "assert not {'mpi4py', 'numba'} & sys.modules.keys()"
    )
    run_python(code, cwd=ROOT)
