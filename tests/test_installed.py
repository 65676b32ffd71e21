"""The package as a library among others: its wheel, types, pickling, threads and processes."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import os
import pickle
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from scripts import run_python

import mst

ROOT = Path(__file__).resolve().parents[1]

USER_CODE = """
import numpy as np
import mst

graph: mst.Graph = mst.Graph(3, [0, 1, 2], np.array([1, 2, 0]), [5.0, 7.0, 6.0])
forest: mst.Forest = mst.minimum_spanning_forest(graph, threads=1, maximum=False)
total: int | float = forest.weight
u, v, w = forest.edges()
heaviest: float = float(w.max())
clusters: np.ndarray = forest.labels(k=2)
from_file: mst.Forest = mst.minimum_spanning_forest("road.gr")
of_arrays: mst.Forest = mst.minimum_spanning_forest((graph.n, u, v, w))
of_lists: mst.Forest = mst.minimum_spanning_forest((3, [0, 1, 2], [1, 2, 0], [5, 7, 6]))
try:
    mst.read_graph("road.gr")
except mst.InputError as error:
    print(error)
tree = mst.csgraph.minimum_spanning_tree([[0, 1], [0, 0]], keep_zeros=True)
"""


def graph(seed: int = 1) -> mst.Graph:
    random = np.random.default_rng(seed)
    return mst.Graph(300, *random.integers(0, 300, (2, 2000)), random.integers(0, 50, 2000))


def digest(seed: int) -> str:
    return mst.minimum_spanning_forest(graph(seed), algorithm="filter-boruvka").digest


def first_digest(seed: int) -> str:
    return mst.minimum_spanning_forest(graph(seed)).digest


def check_types(folder: Path, code: str) -> subprocess.CompletedProcess[str]:
    (folder / "user.py").write_text(code)
    (folder / "mypy.ini").write_text("[mypy]\nstrict = true\n")
    return subprocess.run(
        [sys.executable, "-m", "mypy", "user.py", "--cache-dir", os.devnull],
        cwd=folder,
        capture_output=True,
        text=True,
    )


@pytest.mark.slow
def test_a_strict_checker_accepts_user_code(tmp_path):
    pytest.importorskip("mypy")
    assert (ROOT / "mst" / "py.typed").is_file()
    accepted = check_types(tmp_path, USER_CODE)
    assert accepted.returncode == 0, accepted.stdout
    wrong = check_types(tmp_path, USER_CODE + "wrong: str = forest.components\n")
    assert "Incompatible types in assignment" in wrong.stdout


def test_graphs_and_forests_can_be_pickled():
    forest = mst.minimum_spanning_forest(graph())
    forest.labels(k=2)  # which keeps the merges
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(forest, protocol))
        assert again.digest == forest.digest and again.weight == forest.weight
        assert again.graph.w.tolist() == forest.graph.w.tolist()
        assert not again.edge_ids.flags.writeable and not again.graph.u.flags.writeable
        assert again.labels(k=2).tolist() == forest.labels(k=2).tolist()
    forest.graph.csr()
    assert len(pickle.dumps(forest.graph)) == len(pickle.dumps(graph()))
    error = pickle.loads(pickle.dumps(mst.InputError("w[3] is NaN")))
    assert type(error) is mst.InputError and str(error) == "w[3] is NaN"


@pytest.mark.parametrize(
    "graph", ["mst.Graph(2, [0], [1], [5])", "formats.read(sys.argv[1])", "generators.generate('path', n=2)"]
)
def test_graphs_of_any_origin_are_pickled_without_what_is_kept(graph, tmp_path):
    (file := tmp_path / "a.txt").write_text("0 1 5\n")
    name = graph.partition(".")[0]
    imported = "import mst" if name == "mst" else f"from mst import {name}"
    code = (
        f"import pickle, sys; {imported}\n"
        f"graph = {graph}\n"
        "graph.csr()\n"
        "again = pickle.loads(pickle.dumps(graph, 4))\n"
        "print(again.u.flags.writeable, len(vars(again)))"
    )
    assert run_python(code, file).stdout == "False 5\n"


@pytest.mark.parametrize("solve", [digest, first_digest])
def test_threads_solve_at_the_same_time(solve):
    expected = [digest(seed) for seed in range(8)]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert list(pool.map(solve, [*range(8)] * 3)) == expected * 3


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_processes_of_every_start_method_solve(method):
    expected = [digest(seed) for seed in range(3)]
    context = multiprocessing.get_context(method)
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        assert list(pool.map(digest, range(3))) == list(pool.map(first_digest, range(3))) == expected


def test_joblib_solves():
    joblib = pytest.importorskip("joblib")
    found = joblib.Parallel(n_jobs=2)(joblib.delayed(digest)(seed) for seed in range(3))
    assert found == [digest(seed) for seed in range(3)]


@pytest.mark.slow
def test_the_wheel_works_where_only_its_requirements_are(tmp_path):
    """It is unpacked beside the requirements of this environment: installing without a network is no more than that."""
    build = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if "No module named hatchling" in build.stderr:
        pytest.skip("hatchling is not installed")
    assert build.returncode == 0, build.stderr
    (wheel,) = tmp_path.glob("*.whl")
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(site)
        metadata = packed.read("mst-0.1.0.dist-info/METADATA").decode()
    required = {
        line for line in metadata.splitlines() if line.startswith("Requires-Dist") and "extra" not in line
    }
    assert not [
        line for line in required if any(p in line for p in ("snakemake", "scipy", "networkx", "pandas"))
    ]
    code = (
        "import importlib.metadata, sys, mst\n"
        f"assert mst.__file__.startswith({str(site)!r}), mst.__file__\n"
        "extras = {'snakemake', 'scipy', 'networkx', 'pandas', 'matplotlib', 'mpi4py', 'igraph', 'rustworkx'}\n"
        "class Absent:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name in extras:\n"
        "            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Absent())\n"
        "for algorithm in ('auto', 'filter-boruvka', 'numpy-boruvka'):\n"
        "    print(mst.minimum_spanning_forest((3, [0, 1, 2], [1, 2, 0], [5, 7, 6]), algorithm=algorithm).weight)\n"
        "from mst.cli import main\n"
        "main(['list'])\n"
    )
    done = run_python(code, cwd=tmp_path, PYTHONPATH=site)
    assert done.stdout.startswith("11\n11\n11\n") and "filter-boruvka-threads" in done.stdout
    assert (site / "mst" / "py.typed").is_file()
