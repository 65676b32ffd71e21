"""The first answers of a process: without numba, without compiling, until compiled code is worth its wait."""

from __future__ import annotations

import importlib.metadata
import json
import os
import sys
from types import ModuleType

import numpy as np
import pytest
from scripts import run_python

import mst
from mst import advice, cores, formats, progress, registry, solver
from mst.advice import first

# Before a test has a cache of its own, for which all of it would be compiled.
from mst.algorithms.threads import filter_boruvka_threads  # noqa: F401
from mst.cli import main
from mst.commands import warm
from mst.fingerprints.modules import PACKAGE
from mst.formats import plain
from mst.generators import generate
from mst.graph import Graph
from mst.kernels.primitives import machine_code

SOLVE = """
import json, sys
import numpy as np
import mst
n, m = map(int, sys.argv[1:3])
random = np.random.default_rng(1)
graph = mst.Graph(n, random.integers(0, n, m), random.integers(0, n, m), random.random(m))
forest = mst.minimum_spanning_forest(graph, threads=1)
print(json.dumps([forest.algorithm, forest.weight, "numba" in sys.modules]))
"""


@pytest.fixture
def new_process(monkeypatch, tmp_path):
    """This process has solved nothing, has not loaded numba, and its cache is empty."""
    monkeypatch.setattr(first, "_solved", {})
    monkeypatch.setattr(first, "_decided", {})
    monkeypatch.setattr(first, "_passed_up", 0.0)
    monkeypatch.setattr(first, "numba_is_loaded", lambda: False)
    monkeypatch.setenv("MST_CACHE", str(tmp_path))


LOADED_AT_ONCE = """
import importlib, sys, threading

class Meanwhile:
    def find_spec(self, name, path, target=None):
        # Numba is half loaded. A thread that adds a finder meanwhile has this one asked twice.
        if name == "numba.core.types" and not threads[0].ident:
            for thread in threads:
                thread.start()

threads = [threading.Thread(target=importlib.import_module, args=[name]) for name in sys.argv[1:]]
sys.meta_path.insert(0, Meanwhile())
import numba
"""


def test_threads_that_load_kernels_at_once_wait_for_the_whole_of_numba(tmp_path):
    files = [file.relative_to(PACKAGE.parent) for file in (PACKAGE / "kernels").rglob("*.py")]
    modules = [".".join(file.with_suffix("").parts) for file in files if "numba" in file.read_text("utf-8")]
    assert not run_python(LOADED_AT_ONCE, *modules, MST_CACHE=tmp_path).stderr


FOUND_MEANWHILE = """
import sys
import mst.kernels, numba

# As `importlib.util.find_spec` does if another thread has loaded it since it was found missing.
for finder in sys.meta_path:
    finder.find_spec("numba", None)
assert "numba.core.config" in sys.modules
"""


def test_looking_for_numba_keeps_what_another_thread_has_loaded_meanwhile(tmp_path):
    run_python(FOUND_MEANWHILE, MST_CACHE=tmp_path)


def test_a_runtime_that_another_thread_is_loading_is_not_asked(monkeypatch):
    monkeypatch.setitem(sys.modules, "mst.kernels.parallel.runtime", ModuleType("half loaded"))
    assert cores.usable_width() >= 1


def sized(n: int, m: int) -> Graph:
    """Return a graph of a size, whose edges are all loops and take no memory."""
    ends = np.broadcast_to(np.int32(0), m)
    return Graph(n, ends, ends, ends, trusted=True)


def test_arrays_are_checked_on_threads_once_the_code_for_threads_is_loaded(monkeypatch):
    monkeypatch.setattr(solver, "usable_width", lambda: 4)
    ends = np.zeros(2**20, np.int32)
    columns = (1, ends, ends, ends)

    def cores_of(algorithm: str) -> int:
        return solver._checking_cores(columns, solver.Request(algorithm, None, {}))

    monkeypatch.delitem(sys.modules, "mst.kernels.parallel.runtime", raising=False)
    assert "numba" in sys.modules and cores_of("auto") == cores_of("filter-boruvka") == 1
    assert cores_of("filter-boruvka-threads") == 4, "its code is about to be loaded"
    monkeypatch.setitem(sys.modules, "mst.kernels.parallel.runtime", ModuleType("loaded"))
    assert cores_of("auto") == 4


def test_code_for_small_calls_is_loaded_once_they_have_missed_as_much(new_process, monkeypatch):
    assert first.compiled_code_pays(0.1), "other code is loaded, and this takes little more"
    monkeypatch.delitem(sys.modules, "mst.kernels.primitives.jit")
    assert [first.compiled_code_pays(0.4) for _ in range(3)] == [False, False, True]
    monkeypatch.setattr(registry, "is_importable", lambda package: False)
    assert not first.compiled_code_pays(0.6)


def test_importing_loads_not_even_numpy():
    code = "import sys, mst; print('numpy' in sys.modules, mst.Graph.__module__, dir(mst))"
    loaded = run_python(code).stdout
    assert loaded.startswith("False mst.graph [") and "minimum_spanning_forest" in loaded
    assert "TYPE_CHECKING" not in loaded, "completion offers what users import"
    with pytest.raises(AttributeError, match="no attribute 'graphs'"):
        mst.graphs  # noqa: B018


def test_the_first_forests_of_a_process_need_no_compiled_code(tmp_path):
    for n, m in ((2, 0), (2, 1), (100, 300), (200_000, 1_000_000)):
        algorithm, weight, numba = json.loads(run_python(SOLVE, n, m, MST_CACHE=tmp_path).stdout)
        random = np.random.default_rng(1)
        graph = Graph(n, random.integers(0, n, m), random.integers(0, n, m), random.random(m))
        assert (algorithm, numba) == ("numpy-boruvka", False)
        assert weight == mst.minimum_spanning_forest(graph, algorithm="kruskal").weight


def test_large_graphs_have_code_compiled(new_process, monkeypatch):
    assert first.early_choice(sized(1_000_000, 4_000_000), 1) == first.IN_NUMPY
    assert first.early_choice(sized(10**7, 10**9), 1) is None
    # Compiling for threads takes longest, and pays for the largest graphs alone.
    soonest = first.early_choice(sized(10**6, 2 * 10**7), 16)
    assert (soonest.algorithm, soonest.width) == ("filter-boruvka", 1)
    assert first.early_choice(sized(10**8, 2 * 10**9), 16) is None
    monkeypatch.setattr(first, "_passed_up", 0.0)
    monkeypatch.setattr(first, "numba_is_loaded", lambda: True)
    assert first.early_choice(sized(1_000_000, 4_000_000), 1) is None


def test_code_for_threads_says_nothing_of_one_core(new_process):
    graph = sized(200_000, 1_000_000)
    usual = advice.table().choose(graph.n, graph.m, width=16)
    assert usual.width > 1
    first.solved(graph, registry.get(usual.algorithm), usual.options, usual.width)
    assert first.early_choice(graph, usual.width) is None
    assert first.early_choice(graph, 1) == first.IN_NUMPY


def test_a_process_of_many_graphs_comes_to_compiled_code(new_process):
    graph = sized(200_000, 1_000_000)
    taken = []
    while (choice := first.early_choice(graph, 1)) == first.IN_NUMPY:
        taken.append(choice)
        assert len(taken) < 100
    assert len(taken) > 2 and choice is None


BESIDE_COMPILED_CODE = """
import glob, os, numpy as np, mst

def codes():
    return {*glob.glob(os.environ["MST_CACHE"] + "/**/*.nbc", recursive=True)}

random = np.random.default_rng(1)
ends = random.integers(0, 9, (2, 40))
mst.minimum_spanning_forest((9, *ends, random.random(40, np.float32)), algorithm="kruskal")
before = codes()
print(mst.minimum_spanning_forest((9, *ends, random.random(40))).algorithm, len(before) > 0, len(codes() - before))
"""


def test_numpys_forests_need_no_code_beside_that_of_others_either(tmp_path):
    assert run_python(BESIDE_COMPILED_CODE, MST_CACHE=tmp_path).stdout == "numpy-boruvka True 0\n"


def test_code_that_cannot_be_kept_is_compiled_later(new_process, monkeypatch):
    monkeypatch.setattr(first, "_compiling", first._compiling.__wrapped__)
    graph, calls = sized(1_000_000, 4_000_000), []
    for folder in (os.environ["MST_CACHE"], os.devnull):
        monkeypatch.setenv("MST_CACHE", f"{folder}/mst")
        monkeypatch.setattr(first, "_decided", {})
        monkeypatch.setattr(first, "_passed_up", 0.0)
        choices = [first.early_choice(graph, 1) for _ in range(100)]
        calls.append(choices.count(first.IN_NUMPY))
    assert 1 <= calls[0] < calls[1] / 4 and choices[-1] is None


def test_slower_code_is_taken_only_if_it_is_kept(new_process, monkeypatch):
    graph = sized(1_000_000, 4_000_000)
    kruskal = registry.get("kruskal")

    def taken(width: int = 1) -> set[str | None]:
        monkeypatch.setattr(first, "_decided", {})
        monkeypatch.setattr(first, "_passed_up", 0.0)
        choices = [first.early_choice(graph, width) for _ in range(100)]
        return {choice.algorithm if choice else None for choice in choices}

    assert taken() == {"numpy-boruvka", None}
    assert taken(16) == {"numpy-boruvka", "filter-boruvka", None}
    first.solved(graph, kruskal, {}, 1)
    monkeypatch.setattr(first, "_solved", {})
    assert taken() == {"numpy-boruvka", "kruskal", None}


def test_code_that_has_run_leaves_nothing_to_compile_other_code_with(new_process, monkeypatch):
    monkeypatch.setattr(first, "numba_is_loaded", lambda: True)
    large, small = sized(200_000, 1_000_000), sized(1000, 5000)
    wide = Graph(1000, small.u, small.v, np.broadcast_to(0.5, 5000), trusted=True)
    while first.early_choice(large, 1) == first.IN_NUMPY:
        pass
    assert first._passed_up
    first.solved(large, registry.get("filter-boruvka"), {}, 1)
    assert first.early_choice(large, 1) is None and first.early_choice(small, 1) != first.IN_NUMPY
    assert all(first.early_choice(wide, 1) == first.IN_NUMPY for _ in range(10))


@pytest.mark.parametrize("m", [2000, 40_000, 1_000_000])
def test_a_decision_is_kept_until_another_is_better(m, new_process, monkeypatch):
    graph, decide, decided = sized(m // 5, m), first._decide, []
    monkeypatch.setattr(first, "_decide", lambda *given: decided.append(given) or decide(*given))
    taken = set()
    for _ in range(5000):
        at_once = decide(graph, 1).choice
        choice = first.early_choice(graph, 1)
        assert choice == at_once
        taken.add(choice.algorithm if choice else None)
        if choice and choice != first.IN_NUMPY:
            first.solved(graph, registry.get(choice.algorithm), choice.options, 1)
    assert len(taken) > 1 and len(decided) < 20


def test_code_that_this_machine_has_compiled_is_loaded_sooner(new_process, monkeypatch):
    graph = sized(1_000_000, 6_000_000)
    usual = advice.table().choose(graph.n, graph.m)
    before = first.early_choice(graph, 1)
    first.solved(graph, registry.get(usual.algorithm), usual.options, 1)
    # The next process.
    monkeypatch.setattr(first, "_solved", {})
    monkeypatch.setattr(first, "_passed_up", 0.0)
    assert before == first.IN_NUMPY and first.early_choice(graph, 1) is None
    # Code for weights of another dtype is other code, and so is a changed file's.
    monkeypatch.setattr(first, "_decided", {})
    wide = Graph(graph.n, graph.u, graph.v, np.broadcast_to(0.5, graph.m), trusted=True)
    assert first.early_choice(wide, 1) == first.IN_NUMPY
    monkeypatch.setattr(first, "_stamp", lambda: "another")
    monkeypatch.setattr(first, "_passed_up", 0.0)
    assert first.early_choice(graph, 1) == first.IN_NUMPY


def test_code_serves_graphs_of_two_more_bits_and_others_once_it_has_solved_them(new_process, monkeypatch):
    kruskal, inf = registry.get("kruskal"), float("inf")
    code = first._Code.of(sized(9, 8), "kruskal", {}, 1)

    def waits() -> list[float]:
        return [first._wait(code, m, inf, False) for m in (0, 8, 2**6 - 1, 2**6)]

    assert waits() == [inf] * 4
    first.solved(sized(9, 8), kruskal, {}, 1)
    assert waits() == [0, 0, 0, inf]
    monkeypatch.setattr(first, "_solved", {})  # in the next process
    assert waits() == [first._STARTING] * 3 + [inf]
    first.solved(sized(9, 1), kruskal, {}, 1)
    assert first._bits_on_disk(code) == 4, "that of the larger graph"
    first._file(code).write_text("")
    assert first._bits_on_disk(code) == first._NEVER, "a damaged file counts for nothing"
    monkeypatch.setenv("MST_CACHE", os.devnull)
    first.solved(sized(9, 2**20), kruskal, {}, 1)


def test_code_of_an_algorithm_that_has_run_is_loaded_sooner_for_another_dtype(new_process, monkeypatch):
    kruskal, small = registry.get("kruskal"), sized(9, 8)
    wide = Graph(9, small.u, small.v, np.broadcast_to(0.5, 8), trusted=True)
    code = first._Code.of(wide, "kruskal", {}, 1)
    first.solved(wide, kruskal, {}, 1)
    monkeypatch.setattr(first, "_solved", {})  # in the next process
    assert first._wait(code, 8, float("inf"), False) == first._STARTING
    first.solved(small, registry.get("filter-boruvka"), {}, 1)
    monkeypatch.setattr(first, "numba_is_loaded", lambda: True)
    assert first._wait(code, 8, float("inf"), False) == first._LOADING
    first.solved(small, kruskal, {}, 1)
    assert first._wait(code, 8, float("inf"), False) == first._LOADING_MORE


def test_another_thread_may_solve_while_code_is_looked_for(new_process):
    class Solving(str):
        """An algorithm's id: comparing it notes other code, as another thread may at any step."""

        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            first._solved[code._replace(wide=True)] = 1
            return str.__eq__(self, other)

    code = first._Code.of(sized(9, 8), "kruskal", {}, 1)
    first._solved[code._replace(algorithm=Solving("boruvka"))] = 1
    assert first._wait(code, 8, 0.0, False) > 0


def test_code_of_other_options_widths_types_processors_and_versions_is_other_code(monkeypatch):
    small = sized(9, 8)
    long = Graph(9, small.u, small.v, np.broadcast_to(np.int64(0), 8), trusted=True)
    given = [
        (small, {}, 1),
        (small, {"sort": "radix"}, 1),
        (small, {}, 2),
        (long, {}, 1),
        (sized(2**31, 8), {}, 1),
    ]
    assert len({first._Code.of(graph, "kruskal", *rest) for graph, *rest in given}) == len(given)
    stamp, version = first._stamp.__wrapped__, importlib.metadata.version
    stamps = {stamp()}
    for other in ("numba", "llvmlite", "numpy"):
        with monkeypatch.context() as patch:
            patch.setattr(importlib.metadata, "version", lambda name: version(name) + "0" * (name == other))  # noqa: B023
            stamps.add(stamp())
    monkeypatch.setattr(first, "_processor", lambda: "another")
    assert len(stamps | {stamp()}) == 5


@pytest.mark.slow  # compiles code for threads
def test_a_graph_left_to_one_core_leaves_no_code_for_threads(new_process, monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    graph = generate("grid", rows=60, columns=60)
    algorithm = registry.get("filter-boruvka-threads")
    for options, parallel in (({}, False), ({"hand_over": False}, True)):
        mst.minimum_spanning_forest(graph, algorithm=algorithm.id, threads=2, **options)
        (code,) = [code for code in first._solved if dict(code.options) == options]
        assert (code.algorithm, code.parallel) == (algorithm.id, parallel)


def test_options_and_named_algorithms_are_taken_at_their_word(new_process):
    graph = generate("uniform", n=50, m=200)
    assert mst.minimum_spanning_forest(graph, algorithm="kruskal").algorithm == "kruskal"
    assert mst.minimum_spanning_forest(graph, threads=1).algorithm in ("numpy-boruvka", "kruskal")


WITHOUT_NUMBA = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("numba", "llvmlite"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
import importlib.metadata
import numpy as np, mst, mst.cli
from mst import formats
from mst.advice import first
from mst.proof import prove

first._LOADING = first._STARTING = 0.0
versions = importlib.metadata.version

def version(name):
    if name in ("numba", "llvmlite"):
        raise importlib.metadata.PackageNotFoundError(name)
    return versions(name)

importlib.metadata.version = version

rng = np.random.default_rng(0)
graph = mst.Graph(50_000, *rng.integers(0, 50_000, (2, 200_000)), rng.random(200_000))
forest = mst.minimum_spanning_forest(graph)
assert forest.algorithm == "numpy-boruvka", forest.algorithm
calls = (
    lambda: mst.minimum_spanning_forest(graph, algorithm="kruskal"),
    lambda: mst.minimum_spanning_forest([([0], [1], [5])]),
    lambda: mst.from_points([[0.0], [1.0]]),
    lambda: forest.labels(k=forest.components),
    lambda: mst.read_graph(sys.argv[1]),
    lambda: formats.read_raw(sys.argv[1]),
    lambda: prove(graph, forest.edge_ids),
    lambda: mst.minimum_spanning_forest((3, [0, 1], [1, 2], [1e308, 1e308])).weight,
)
for k, call in enumerate(calls):
    try:
        call()
    except mst.DependencyError as error:
        assert "numba" in str(error) and "not installed: pip install numba" in str(error), error
    else:
        raise AssertionError(k)
assert mst.cli.main(["info", sys.argv[1]]) == 2
print(forest.weight)
"""


def test_without_numba_forests_are_found_and_everything_else_says_so(tmp_path):
    random = np.random.default_rng(0)
    graph = mst.Graph(50_000, *random.integers(0, 50_000, (2, 200_000)), random.random(200_000))
    (tmp_path / "a.graph").write_text("2 1 001\n2 5.5\n1 5.5\n")
    done = run_python(WITHOUT_NUMBA, tmp_path / "a.graph", cwd=registry.PACKAGE.parent)
    assert float(done.stdout) == mst.minimum_spanning_forest(graph, algorithm="kruskal").weight
    assert done.stderr.startswith("mst info: this needs numba") and "Traceback" not in done.stderr


def test_totals_without_numba_are_those_with_it():
    code = (
        "import sys, numpy as np; from mst.order import total\n"
        "big = np.finfo(float).max\n"
        "for w in ([0.1] * 10, [big, big, -big, -big], [np.inf, 1.0], [np.inf, -np.inf], [1e16, 1.0, -1e16], []):\n"
        "    print(total(np.array(w, float)))\n"
    )
    without, with_numba = (run_python(head + code).stdout for head in ("", "import numba\n"))
    assert without == with_numba and without.split()[:2] == ["1.0", "0.0"]


TEXTS = {
    "tabs.txt": "# a comment\n\n0\t1\t5\r\n1\t2\t-7\n 2 0 6 \n\n",
    "fractions.csv": "source,target,weight\n10 , 20,0.5\n20,30,1\n",
    "zeros.txt": "0 1 -0\n1 2 0.5\n2 0 -0.0\n",
    "unweighted.txt": "5 6\n6 7\n",
    "symmetric.gr": "c hello\np sp 3 4\na 1 2 5\na 2 1 5\na 2 3 7\na 3 2 7\n",
    "one-way.gr": "p sp 3 3\na 1 2 5\na 2 1 6\na 2 3 7\n",
    "real.mtx": "%%MatrixMarket matrix coordinate real symmetric\n% c\n3 3 2\n2 1 0.1\n3 2 4\n",
    "weights.graph": "% a comment\n4 2 001\n2 5 3 -6\n1 5\r\n1 -6\n\n",
    "sizes.graph": "3 2 100\n1 2\n 7 1 3\n0\t2\n",
    # These are left to the compiled reader.
    "fractions.graph": "2 1 001\n2 5.5\n1 5.5\n",
    "one-way.graph": "3 2\n2 3\n1\n2\n",
    "cut.graph": "3 2 001\n2 5\n1 5 3\n2 6\n",
    "outside.graph": "2 1\n3\n1\n",
    "comments.graph": "2 1\n2\n% here\n1\n",
    "short.graph": "3 2 100\n1 2\n\n0 2\n",
    "returns.graph": "2 1\r\n2\r \n\r1\r\n",
    "blank.graph": "2 1\n2\n1\n\n",
    "long.graph": "2 1 001\n2 1234567890123456789\n1 1234567890123456789\n",
    "exponents.txt": "0 1 1e3\n1 2 2.5\n",
    "among.txt": "0 1 5\n# a comment\n1 2 6\n",
    "outside.gr": "p sp 2 1\na 1 3 5\n",
    "short.gr": "p sp 3 2\na 1 2 5\na 2 3\n",
    "huge.txt": "0 1 123456789012345678901234567890\n",
    "declared.gr": "p sp 3 3\na 1 2 5\n",
}


@pytest.mark.parametrize("name", TEXTS)
def test_small_files_are_read_alike_without_compiled_code(name, tmp_path, monkeypatch):
    file = tmp_path / name
    file.write_text(TEXTS[name])

    def outcome() -> object:
        try:
            raw = formats.read_raw(file)
        except mst.MSTError as error:
            return str(error)
        columns = [None if x is None else (x.dtype.str, x.tobytes()) for x in (raw.u, raw.v, raw.w)]
        return columns, raw.n, raw.summary, None if raw.original_ids is None else raw.original_ids.tolist()

    monkeypatch.setattr(plain, "is_worthwhile", lambda size: False)
    compiled = outcome()
    monkeypatch.setattr(plain, "is_worthwhile", lambda size: True)
    assert outcome() == compiled


def test_solving_a_small_file_loads_no_numba(tmp_path):
    file = tmp_path / "symmetric.gr"
    file.write_text(TEXTS["symmetric.gr"])
    code = "import sys; from mst.cli import main; main(['solve', sys.argv[1]]); print('numba' in sys.modules)"
    printed = run_python(code, file, MST_CACHE=tmp_path).stdout
    assert "weight 12\nnumpy-boruvka" in printed and printed.endswith("False\n")


@pytest.mark.parametrize(
    ("cache", "said"),
    [
        ("", "compiling machine code, once for this machine (`mst warm`"),
        (
            os.devnull,
            "in each process, since /dev/null/numba cannot be written: set MST_CACHE to a folder that can",
        ),
    ],
)
@pytest.mark.parametrize("shown", [False, True])
def test_compiling_for_seconds_is_said_once(monkeypatch, tmp_path, capsys, cache, said, shown):
    monkeypatch.setenv("MST_CACHE", cache or str(tmp_path))
    marks = set()
    monkeypatch.setattr(progress, "mark", lambda text: marks.add(text) or shown)
    clock = [0.0]
    monkeypatch.setattr(machine_code, "perf_counter", lambda: clock[0])
    notice = machine_code.Notice()
    for seconds in (1.5, 0.4):
        notice.on_start(None)
        notice.on_start(None)
        clock[0] += seconds
        notice.on_end(None)
        notice.on_end(None)
        clock[0] += 100.0  # solving
    assert capsys.readouterr().err == ""
    notice.on_start(None)
    clock[0] += 0.2
    for _ in range(2):
        notice.on_start(None)
        notice.on_end(None)
    # A progress display says the same, but names no folder.
    assert capsys.readouterr().err.count(said) == (not shown or bool(cache))
    assert marks == {"compiling" if cache else "compiling, once for this machine"}


def test_warming_compiles_and_notes_it(new_process, monkeypatch, capsys):
    small = [Graph(4, [0, 1, 2], [1, 2, 3], np.array([3, 1, 2], dtype)) for dtype in ("i4", "f8")]
    monkeypatch.setattr(warm, "graphs", lambda cores: small)
    assert main(["warm", "prim-dense", "--threads", "1"]) == 0
    assert "prim-dense: machine code in" in capsys.readouterr().out
    huge = sized(10, 2**30)
    code = first._Code.of(huge, "prim-dense", {}, 1)
    assert first._solved[code] == 64 and first._bits_on_disk(code) == 64
    assert main(["warm", "networkx"]) == 2
    assert "mst warm compiles nothing for networkx" in capsys.readouterr().err


WARM_THEN_SOLVE = """
import sys
import numpy as np
import scipy.sparse
import mst
from mst.advice import first
from mst.cores import usable_cores
from mst.cli import main

def versions():
    kernels = [k for name, module in [*sys.modules.items()] if name.startswith("mst.") for k in vars(module).values()]
    return {f"{k.__module__}.{k.__name__}{s}" for k in kernels if hasattr(k, "signatures") for s in k.signatures}

assert main(["warm", "--threads", "1"]) == 0
warmed = versions()
first.early_choice = lambda graph, width: None
random = np.random.default_rng(7)
for n, m, near in ((50, 100, 0), (1000, 100_000, 0), (100_000, 1_500_000, 0), (50_000, 200_000, 9)):
    u, v = random.integers(0, n, (2, m))
    if near:
        u, v = np.sort(u), (np.sort(u) + random.integers(1, near, m)) % n
    for w in (random.integers(0, 10**9, m), random.random(m), random.random(m).astype("f4"),
              random.integers(-5, 5, m).astype("i4"), np.exp(40 * random.random(m)), np.maximum(u, v)):
        graph = mst.Graph(n, u, v, w + (near * 10**9 * (u // 40)).astype(w.dtype))
        for algorithm in ("auto", "filter-boruvka"):
            mst.minimum_spanning_forest(graph, algorithm=algorithm, threads=1).weight
mst.csgraph.minimum_spanning_tree(scipy.sparse.random_array((50, 50), density=0.1, format="csr"))
late = versions() - warmed
sys.exit("\\n".join(late) or 0)
"""


@pytest.mark.slow
def test_after_warming_nothing_is_compiled():
    # Of a process's own versions of functions: those on disk may come from any test.
    run_python(WARM_THEN_SOLVE)


WITHOUT_THREADS = """
import sys
import numba
sys.modules["numba.np.ufunc.omppool"] = None
import numpy as np, mst
ends = np.random.default_rng(0).integers(0, 50_000, (2, 200_000))
options = {"algorithm": "filter-boruvka-threads", "threads": 2, "hand_over": False}
try:
    mst.minimum_spanning_forest((50_000, *ends, ends[0]), **options)
except mst.DependencyError as error:
    print(error)
"""


@pytest.mark.skipif(cores.usable_cores() < 2, reason="takes two cores")
def test_without_a_library_for_threads_the_error_names_it():
    assert "libgomp1): install that, or use threads=1" in run_python(WITHOUT_THREADS).stdout
