"""Forests of streams: the edge ids of a solve in memory, whatever the batches; errors; memory."""

from __future__ import annotations

import errno
import gc
import math
import re
import threading
import time
from contextlib import suppress
from itertools import pairwise

import numpy as np
import pandas as pd
import psutil
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pyarrow import dataset, parquet
from scripts import run_python

import mst
from mst import advice, solver
from mst.cli import main
from mst.graph import Graph, frozen
from mst.kernels.parallel.pool import Pool
from mst.kernels.primitives import recycled
from mst.kernels.streaming.filter import Joined, keep_open, mark_up_to, sort_by_level
from mst.streaming import StreamForest, files, filter, memory, prove_batches, running, solve
from mst.streaming.batches import Batch
from mst.streaming.filter import Filter, Threads

ENDS = (np.int8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64)
WEIGHTS = (np.int8, np.uint32, np.int32, np.int64, np.float16, np.float32, np.float64)


SMALL_BUDGET = memory.Budget(2**30, 2**24, 16, 64, 64, memory.Budget.of(None, 1).within)


def solve_often(patch):
    """Solve whenever four edges for each vertex are in the table, and filter 16 edges at a time."""
    patch.setattr(running, "_SMALLEST_TABLE", 0)
    patch.setattr(solve.Budget, "of", classmethod(lambda cls, memory, width, batch=0: SMALL_BUDGET))


@pytest.fixture
def small_table(monkeypatch):
    solve_often(monkeypatch)
    monkeypatch.setattr(filter, "_SMALL_BITMAP", 0)


def cut(columns, cuts):
    """Return batches of columns, cut at places that may repeat (empty batches)."""
    bounds = [0, *sorted(cuts), len(columns[0])]
    return [tuple(c[a:b] for c in columns) for a, b in pairwise(bounds)]


def agrees(n, columns, cuts, **options):
    expected = mst.minimum_spanning_forest((n, *columns))
    found = mst.minimum_spanning_forest(iter(cut(columns, cuts)), n=n, **options)
    assert found.edge_ids.dtype == np.int64 and (found.edge_ids == expected.edge_ids).all()
    assert (found.n, found.m, found.components) == (n, len(columns[0]), expected.components)
    if len(columns[0]):  # without edges, no batch has a dtype
        assert repr(found.weight) == repr(expected.weight)
        for mine, theirs in zip(found.edges(), expected.edges()):
            assert mine.dtype == theirs.dtype and (mine == theirs).all()


@given(
    st.integers(1, 40),
    st.integers(0, 800),
    st.integers(1, 30),
    st.lists(st.integers(0, 800), max_size=30),
    st.sampled_from(ENDS),
    st.sampled_from(WEIGHTS),
    st.integers(0, 4),
    st.integers(0, 2**32),
)
def test_edge_ids_are_those_of_a_solve_in_memory(n, m, most, cuts, end_type, weight_type, groups, seed):
    rng = np.random.default_rng(seed)
    u, v = (
        rng.integers(0, n, m).astype(end_type) for _ in range(2)
    )  # with loops, parallel edges, isolated vertices
    w = rng.integers(0, most, m).astype(weight_type)  # with ties
    with pytest.MonkeyPatch.context() as patch:
        solve_often(patch)
        for name, value in dict(_LARGEST_GROUPS=groups, _SMALL_BITMAP=0, _MORE_OPEN=1).items():
            patch.setattr(filter, name, value)
        agrees(n, (u, v, w), [min(c, m) for c in cuts])


@pytest.mark.parametrize("weights", ["random", "constant", "ascending", "descending", "communities", "core"])
def test_filter_drops_most_edges_and_keeps_the_forest(small_table, weights, monkeypatch):
    rng = np.random.default_rng(7)
    n, m = 1000, 100_000
    u, v = rng.integers(0, n, m), rng.integers(0, n, m)
    if weights == "core":  # of a tenth of the vertices, to which nearly all edges belong
        core = rng.random(m) < 0.98
        u[core], v[core] = u[core] // 10, v[core] // 10
    w = {
        "random": lambda: rng.random(m),
        "core": lambda: rng.random(m),
        "constant": lambda: np.ones(m, np.int32),
        "ascending": lambda: np.arange(m, dtype=np.int64),
        "descending": lambda: -np.arange(m, dtype=np.int64),
        "communities": lambda: np.where(u // 100 == v // 100, u // 100, 50) + rng.random(m),
    }[weights]()
    kept = []
    add = running.RunningForest.add
    monkeypatch.setattr(running.RunningForest, "add", lambda self, k: (kept.append(len(k)), add(self, k)))
    agrees(n, (u, v, w), range(0, m, 777))
    limit = {"random": 0.25, "constant": 0.1, "ascending": 0.1, "core": 0.2}.get(weights, 1)
    assert sum(kept) <= limit * m


@pytest.mark.parametrize("weights", [np.int32, np.int64, np.float32, np.float64])
def test_edges_are_sorted_by_the_first_level_that_holds_them(weights):
    ends = (
        [np.iinfo(weights).min, np.iinfo(weights).max]
        if np.issubdtype(weights, np.integer)
        else [-np.inf, np.inf]
    )
    others = np.concatenate([[-0.0, 0.0], np.random.default_rng(4).integers(-9, 9, 300)])
    w = np.concatenate([np.array(ends, weights), others.astype(weights)])
    for bounds in ([0], [-7, -1, 0, 3], ends, np.unique(w)):
        bounds = np.array(bounds, weights)
        places, starts = np.full(len(w), 999, np.uint32), np.full(len(bounds) + 2, -1)
        for first, last in [(0, 100), (100, len(w)), (5, 5)]:
            sort_by_level(first, last, frozen(w), bounds, places, starts)
            level = np.searchsorted(bounds, w[first:last])
            assert (places[first:last] == first + np.argsort(level, kind="stable")).all()
            assert (starts == first + np.searchsorted(np.sort(level), range(len(bounds) + 2))).all()
    assert (np.sort(places) == np.arange(len(w))).all()


@pytest.mark.parametrize("n", [1, 63, 64, 65, 1000])
def test_bits_of_groups_drop_no_edge_that_bits_of_vertices_keep(n):
    rng = np.random.default_rng(n)
    level = rng.choice(np.array([0, 1, 2, 255], np.uint8), n, p=[0.9, 0.06, 0.03, 0.01])
    label = np.where(level < 3, n, np.arange(n)).astype(np.uint32)
    u, v = (frozen(rng.integers(0, n + 2, 5000).astype(np.uint32)) for _ in range(2))
    w, bounds, found = (
        frozen(rng.integers(0, 90, 5000).astype(np.int32)),
        np.array([5, 20, 60], np.int32),
        set(),
    )
    for shift in range(5):
        for marked in range(3):
            in_giant = np.full(-(-n // (64 << shift)), rng.integers(2**62), np.uint64)
            mark_up_to(0, len(in_giant), level, np.uint8(marked), np.uint64(shift), in_giant)
            bits = np.unpackbits(in_giant.view(np.uint8), bitorder="little")
            padded = np.append(level, np.zeros(-n % (1 << shift), np.uint8)).reshape(-1, 1 << shift)
            assert (bits[: len(padded)] == (padded <= marked).all(1)).all()
            places, joined = np.empty(5000, np.uint32), Joined(label, level, in_giant, np.uint64(shift))
            kept, *others = keep_open(u, v, w, bounds, marked, joined, places)
            found.add((places[:kept].tobytes(), *others))
    assert len(found) == 1


def test_groups_grow_while_their_bits_drop_as_many_edges(monkeypatch):
    rng, n = np.random.default_rng(6), 3000
    u, v = rng.integers(0, n + 5, 4000), rng.integers(0, n + 5, 4000)
    sample, bounds = [filter.Sample(u, v, rng.integers(50, 100, 4000))], np.array([10, 20])
    level = np.ones(n, np.uint8)
    assert filter.best_bitmap(bounds, level, sample) == (1, 0)  # so small that a cache holds it
    monkeypatch.setattr(filter, "_SMALL_BITMAP", 0)
    assert filter.best_bitmap(bounds, level, sample) == (1, 4)
    level[::100] = 2  # outside: pairs leave two of 100 edges more open
    assert filter.best_bitmap(bounds, level, sample) == (1, 0)
    level[:] = 1
    level[:50] = 255
    assert filter.best_bitmap(bounds, level, sample) == (1, 4)
    assert filter.best_bitmap(bounds, level, []) == (1, 0)


def test_one_of_two_cores_solves(monkeypatch):
    graph, found = mst.Graph(2, [0], [1], [5]), []

    def choose(graph, asked, *, often):
        found.append(asked.threads)
        return advice.Choice("kruskal", 1)

    monkeypatch.setattr(solver, "choose", choose)
    for cores in (1, 2, 3):
        monkeypatch.setattr(solver, "cores_for", lambda threads, cores=cores: cores)
        solve_one, width = solver.batch_solver(solver.Request("auto", None, {}))
        assert width == cores and solve_one(graph).weight == 5
    assert found == [None, 1, None]


def test_number_of_vertices_grows_with_the_largest_end(small_table):
    rng = np.random.default_rng(3)
    ends = [np.sort(rng.integers(0, 500, 4000)) for _ in range(2)]
    w = rng.random(4000)
    expected = mst.minimum_spanning_forest((int(max(map(np.max, ends))) + 1, *ends, w))
    found = mst.minimum_spanning_forest(cut((*ends, w), range(0, 4000, 100)))
    assert found.n == expected.graph.n and (found.edge_ids == expected.edge_ids).all()


def test_weights_of_later_batches_may_be_wider(small_table):
    batches = [([0] * 40, [1] * 40, np.full(40, 7, np.int32)), ([0], [1], np.array([-(2**40)]))]
    found = mst.minimum_spanning_forest(batches)
    assert found.w.dtype == np.int64 and found.edge_ids.tolist() == [40] and found.weight == -(2**40)


def test_ids_beyond_32_bits(small_table):
    rng = np.random.default_rng(5)
    u, v, w = rng.integers(0, 50, 2000), rng.integers(0, 50, 2000), rng.integers(0, 9, 2000)
    expected = mst.minimum_spanning_forest((50, u, v, w)).edge_ids
    offset = 2**32 - 1000
    with Pool(2) as pool:
        state = running.RunningForest(mst.minimum_spanning_forest, SMALL_BUDGET, Threads(pool, 2), 50)
        state.seen = offset
        solve.add_batches(state, solve.batches_of(cut((u, v, w), range(0, 2000, 90))))
        state.reduce()
        ids = state.take()[3]
    assert (ids == expected + offset).all() and ids[-1] >= 2**32


def test_edges_are_read_and_filtered_during_a_solve(small_table):
    rng, n, ended, solved = np.random.default_rng(13), 100, threading.Event(), []
    ends = [rng.integers(0, n, 770) for _ in range(2)]
    loops = np.zeros(5000, np.int64)  # which the filter drops
    w = np.concatenate([rng.integers(1000, 2000, 450), np.arange(320)[::-1], np.full(5000, 3000)])
    columns = [*(np.concatenate([column, loops]) for column in ends), w]

    def batches():
        yield from cut(columns, range(0, len(w), 100))
        ended.set()

    def solve_later(graph):
        solved.append(graph.m)
        assert len(solved) != 2 or ended.wait(20)
        return mst.minimum_spanning_forest(graph)

    found = solve.forest_of_batches(batches(), solve=solve_later, n=n)
    assert len(solved) == 3
    assert (found.edge_ids == mst.minimum_spanning_forest((n, *columns)).edge_ids).all()


def test_tables_and_datasets(small_table, tmp_path):
    rng = np.random.default_rng(9)
    table = pa.table(
        {"source": rng.integers(0, 99, 3000), "target": rng.integers(0, 99, 3000), "weight": rng.random(3000)}
    )
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=500)
    expected = mst.minimum_spanning_forest(table).edge_ids
    for stream in (
        table.to_batches(170),
        table.to_reader(170),
        dataset.dataset(tmp_path / "a.parquet"),
        iter([table[:7], table[7:].to_pandas()]),
    ):
        found = mst.minimum_spanning_forest(stream)
        assert isinstance(found, StreamForest) and (found.edge_ids == expected).all()
    unweighted = mst.minimum_spanning_forest(table.drop_columns("weight").to_batches())
    assert unweighted.w.dtype == np.int32 and unweighted.weight == len(unweighted)


def test_empty_batches_have_any_dtype(small_table):
    found = mst.minimum_spanning_forest([([], [], []), ([0], [1], [7]), ([], [], [])])
    assert found.weight == 7 and found.w.dtype.kind == "i"


@pytest.mark.parametrize("given", [np.asarray, memoryview])
def test_a_producer_may_fill_its_arrays_again(small_table, given):
    rng = np.random.default_rng(11)
    columns = rng.integers(0, 50, 4000), rng.integers(0, 50, 4000), rng.random(4000)
    arrays = np.empty(100, np.int64), np.empty(100, np.int64), np.empty(100)

    def batches():
        for start in range(0, 4000, 100):
            for array, column in zip(arrays, columns):
                array[:] = column[start : start + 100]
            yield tuple(map(given, arrays))

    expected = mst.minimum_spanning_forest((50, *columns)).edge_ids
    assert (mst.minimum_spanning_forest(batches(), n=50).edge_ids == expected).all()


@pytest.mark.parametrize("later", [np.int64, np.float32, np.float64])
def test_earlier_weights_are_kept_when_later_ones_are_wider(later):
    forest = mst.minimum_spanning_forest(
        [([0, 1], [1, 2], np.array([5, 7], np.int32)), ([2], [3], np.array([9], later))]
    )
    assert (forest.u.tolist(), forest.v.tolist(), forest.w.tolist()) == ([0, 1, 2], [1, 2, 3], [5, 7, 9])


def test_no_edges():
    assert mst.minimum_spanning_forest([]).components == 0
    assert mst.minimum_spanning_forest([([], [], [])]).components == 0
    assert mst.minimum_spanning_forest(iter([([], [], [])]), n=5).components == 5


ILLEGAL = {
    "batch 1, row 1: u = -1 is not a vertex: ids run from 0; shift": ([0, -1], [1, 1], [1, 1]),
    "batch 1, row 0: v = 7 is not a vertex: ids run from 0 to 4 (n = 5)": ([0, 1], [7, 1], [1, 1]),
    "batch 1, row 1: u = 5 is not a vertex: ids run from 0 to 4 (n = 5)": ([0, 5], [4, 1], [1, 1]),
    "batch 1, row 1: w is NaN": ([0, 1], [1, 1], [1, float("nan")]),
    "batch 1: u, v and w must have the same length, got 1, 2, 2": ([0], [1, 1], [1, 1]),
    "batch 1: u, v and w must have the same length, got 2, 1, 2": ([0, 1], [1], [1, 1]),
    "batch 1: u[1] = 9223372036854775808 is not a vertex: ids are below 2⁶³": (
        np.array([0, 2**63], np.uint64),
        [1, 1],
        [1, 1],
    ),
    "batch 1: w[1] = 9223372036854775808 does not fit int64": ([0, 1], [1, 2], np.array([1, 2**63], np.uint64)),
    "batch 1: a batch must be a tuple (u, v, w) of three arrays, got 4 values: a list holds the batches of one graph": (
        [0],
        [1],
        [1],
        [1],
    ),
    "batch 1: a batch must be a tuple (u, v, w) or a table, got a Graph: a list holds the batches of one graph": Graph(
        2, [0], [1], [1]
    ),
    "batch 1: u must hold integers, got dtype float64": ([0.5], [1], [1]),
    "batch 1: a batch must be a tuple (u, v, w) of three arrays, got 2 values": ([0], [1]),
    "batch 1: a batch must be a tuple (u, v, w) of three arrays, got one edge, (0, 1, 2.5): pass all edges at once": (
        0,
        1,
        2.5,
    ),
    "batch 1: w has dtype complex128: convert it to numbers": ([0], [1], [1j]),
    "batch 1, row 0: w has dtype float64, but earlier edges have int64: use one dtype; in text, a decimal": (
        [0],
        [1],
        [0.5],
    ),
    "batch 1, row 0: u = 1000000000000000 is above the": ([10**15], [1], [1]),
    "batch 1: a batch must be a tuple (u, v, w) or a table, got text: to read a file": "text",
    "batch 1: a batch must be a tuple (u, v, w) or a table, got ndarray: a whole graph is a tuple": np.array(
        [0, 1]
    ),
    "batch 1: w[0] has weight 9007199254740993, which float64 cannot represent": (
        [0, 1],
        [1, 1],
        [2**53 + 1, 0.5],
    ),
    "batch 1: w[1] is masked": ([0, 1], [1, 2], np.ma.array([5, 7], mask=[0, 1])),
    "batch 1: w must be one-dimensional, got shape (1, 1)": pd.DataFrame({"u": [0], "v": [1], "w": [[7]]}),
}


@pytest.mark.parametrize("message", ILLEGAL)
def test_illegal_batches_are_named(small_table, message):
    n = 5 if "n = 5" in message else None
    first = ([0], [1], [1.0 if "NaN" in message else 1])
    with pytest.raises(mst.InputError) as caught:
        mst.minimum_spanning_forest([first, ILLEGAL[message]], n=n)
    assert str(caught.value).startswith(message)


def test_a_graph_in_a_list_is_distinguished_from_batches():
    with pytest.raises(
        mst.InputError, match=r"batch 0: .* got int: a whole graph is a tuple \(n, u, v, w\), not a list"
    ):
        mst.minimum_spanning_forest([3, [0, 1], [1, 2], [5, 7]])


def test_errors_of_a_producer_are_raised():
    def batches():
        yield [0], [1], [1]
        raise ValueError("the producer's own")

    with pytest.raises(ValueError, match="the producer's own"):
        mst.minimum_spanning_forest(batches())


@pytest.mark.parametrize("batch", [([-1], [1], [1]), ([0], [1], ["x"])], ids=["filtering", "reading"])
def test_errors_keep_neither_the_table_nor_the_forest(batch):
    first = ([0], [1], [1])
    forest = mst.minimum_spanning_forest([first])
    gc.collect()
    gc.disable()  # a cycle would keep them until the next collection
    try:
        with pytest.raises(mst.InputError):
            mst.minimum_spanning_forest([first, batch])
        with suppress(mst.InputError):
            prove_batches(forest, [first, batch])
        stop = time.monotonic() + 30  # the threads that read end soon
        # Not isinstance, which asks the objects: some are proxies of others that are gone.
        while kept := [a for a in gc.get_objects() if issubclass(type(a), running.RunningForest | Filter)]:
            if time.monotonic() > stop:
                break
            time.sleep(0.01)
    finally:
        gc.enable()
    assert not kept


def test_negative_ends_of_32_bits_are_no_vertices_above_two_to_the_31st():
    ends, w = frozen(np.array([5, -1], np.int32)), frozen(np.ones(2))
    with pytest.raises(mst.InputError, match="row 1: u = -1 is not a vertex"):
        running.keep(Batch(ends, ends, w, "batch 0"), 0, filter.NO_FILTER, running.Limit(2**33, None))


@pytest.mark.parametrize("n", [-1, 2.5, "3", [3]])
def test_number_of_vertices_is_a_whole_one(n):
    with pytest.raises(mst.InputError, match="the vertex count must be an integer"):
        mst.minimum_spanning_forest([([0], [1], [1])], n=n)


@pytest.mark.parametrize("given", ["", "8X", "-1", 0, "0G", 10**30, "9" * 400])
def test_memory_is_a_number_of_bytes(given):
    with pytest.raises(mst.InputError, match="memory must be a number of bytes"):
        mst.minimum_spanning_forest([], memory=given)


def test_more_memory_may_be_given_than_the_machine_has():
    assert mst.minimum_spanning_forest([([0], [1], [1])], memory="1000T").weight == 1


def test_arrays_without_memory_are_refused_as_too_large(monkeypatch):
    def fails(*arguments, **options):
        raise OSError(errno.ENOMEM, "Cannot allocate memory")

    monkeypatch.setattr(recycled.mmap, "mmap", fails)
    monkeypatch.setattr(recycled, "_LEAST", 1)
    with pytest.raises(
        mst.OutOfMemoryError, match="not enough memory for the forest of a stream: unable to allocate"
    ):
        mst.minimum_spanning_forest([([0], [1], [1])], algorithm="filter-boruvka")


def test_too_little_memory_is_refused():
    with pytest.raises(mst.OutOfMemoryError, match="is too little"):
        mst.minimum_spanning_forest([], memory="1M")
    # The memory that this process holds counts too, and other tests may have left much of it.
    allowed = psutil.Process().memory_info().rss + 2**30
    with pytest.raises(mst.OutOfMemoryError, match="10,000,000,000 vertices need at least"):
        mst.minimum_spanning_forest([], memory=allowed, n=10**10)


def amount_in(message):
    return re.search(r"(?:need(?: at least)?|raise the limit to) ([\d,.]+ [GM]iB)", message)[1]


@pytest.mark.parametrize(
    ("metadata", "refusals"), [({}, 2), ({"n": "1000000"}, 1)], ids=["unknown", "declared"]
)
def test_a_file_is_solved_in_the_amount_of_memory_that_an_error_names(
    tmp_path, capsys, monkeypatch, metadata, refusals
):
    """Although more memory lets more threads decode row groups, each of which takes some of it."""
    monkeypatch.setattr(files, "_ROW_BYTES", 2**20)
    table = pa.table({"u": [0] * 80, "v": [999_999] * 80}).replace_schema_metadata(metadata)
    parquet.write_table(table, path := tmp_path / "edges.parquet", row_group_size=40)
    amount = "1M"
    for _ in range(refusals):
        assert main(["solve", str(path), "--memory", amount]) == 2
        amount = amount_in(capsys.readouterr().err)
    assert main(["solve", str(path), "--memory", amount]) == 0


def test_a_full_table_is_reduced_before_a_new_vertex_leaves_less_space_in_it(monkeypatch):
    tight = SMALL_BUDGET._replace(free=126_000)
    monkeypatch.setattr(solve.Budget, "of", classmethod(lambda cls, memory, width, batch=0: tight))
    many = np.arange(tight.rows(10) - 16) % 9
    assert tight.rows(1000) < len(many)
    found = mst.minimum_spanning_forest([(many, many + 1, many), ([0], [999], [5])])
    assert (found.n, len(found)) == (1000, 10)


@given(st.integers(1, 2**36), st.integers(1, 128), st.integers(0, 2**26), st.integers(0, 10**9))
def test_the_amount_of_memory_in_an_error_is_enough(allowed, width, batch, n):
    budget = memory.Budget.of(allowed, width, batch)
    assume(budget.most_vertices < n)
    named = amount_in(str(budget.refusal(n)))
    # The next process may take a little more.
    enough = budget.within(memory.parse_memory(named) - 15 * 2**20)
    assert enough.most_vertices >= n and enough.rows(n) >= n + enough.slice_for(n)


@given(
    st.integers(1, 30), st.integers(0, 300), st.integers(1, 20), st.sampled_from(ENDS), st.integers(0, 2**32)
)
def test_second_pass_proves_the_forest_and_refutes_others(n, m, most, end_type, seed):
    rng = np.random.default_rng(seed)
    u, v = (rng.integers(0, n, m).astype(end_type) for _ in range(2))
    batches = cut((u, v, rng.integers(0, most, m)), sorted(rng.integers(0, m + 1, 5).tolist()))
    forest = mst.minimum_spanning_forest(batches, n=n)
    proof = prove_batches(forest, batches, width=2)
    assert proof.ok and (proof.n, proof.m, proof.weight) == (n, m, forest.weight), proof.reason
    if len(forest):
        at = int(rng.integers(len(forest)))
        columns = [np.delete(column, at) for column in (*forest.edges(), forest.edge_ids)]
        less = StreamForest(n, m, *columns)
        assert "does not span its graph" in prove_batches(less, batches).reason
    others = np.setdiff1d(np.arange(m), forest.edge_ids)
    if len(forest) and len(others):
        ids = forest.edge_ids.copy()
        ids[at] = rng.choice(others)
        ids.sort()
        u, v, w = (np.concatenate([np.asarray(batch[i]) for batch in batches])[ids] for i in range(3))
        other = StreamForest(n, m, u.astype(np.int32), v.astype(np.int32), w, ids)
        proof = prove_batches(other, batches)
        assert not proof.ok and proof.reason


IDS = "the ids of the forest's edges are not ascending numbers from 0 to 2"
ENDS = "the forest has edges to vertices outside 0 … 2"
REFUTED = {
    "edge 0 (0–0, weight 5) closes a cycle": dict(u=[0, 2], v=[0, 0]),
    "edge 2 (2–0, weight 6) closes a cycle": dict(u=[0, 1, 2], v=[1, 2, 0], w=[5, 5, 6], edge_ids=[0, 1, 2]),
    "edge 2 is 2–1 of weight 6 in the forest, but 2–0 of weight 6 in the stream": dict(v=[1, 1]),
    "edge 2 is 2–0 of weight 4 in the forest, but 2–0 of weight 6 in the stream": dict(w=[5, 4]),
    "edge 2 (2–0, weight 6) is lighter than edge 1 (1–2, weight 7) on its path": dict(
        u=[0, 1], v=[1, 2], w=[5, 7], edge_ids=[0, 1]
    ),
    "edge 1 (1–2, weight 7) joins two trees": dict(u=[0], v=[1], w=[5], edge_ids=[0]),
    "the stream has 3 edges, but the forest is that of a stream of 4": dict(m=4),
    "edge 1 has the end 2, but the forest has 2 vertices": dict(n=2, u=[0], v=[1], w=[5], edge_ids=[0]),
}


@pytest.mark.parametrize(
    "weight",
    [
        np.inf,
        np.finfo(float).max,
        0.0,
        -np.inf,
        np.float32(1),
        np.iinfo(np.int32).max,
        np.iinfo(np.int64).max,
        7,
    ],
)
def test_ties_at_any_weight_are_refuted_by_their_ids(weight):
    w = np.full(3, weight)
    batches = [([0, 1, 2], [1, 2, 0], w)]
    right = mst.minimum_spanning_forest(batches)
    assert right.edge_ids.tolist() == [0, 1] and prove_batches(right, batches).ok
    later = StreamForest(
        3, 3, *(np.array(ends, np.int32) for ends in ([1, 2], [2, 0])), w[:2], np.array([1, 2])
    )
    assert "is as heavy as, and before," in prove_batches(later, batches).reason


@pytest.mark.parametrize(
    "reason, wrong",
    [
        *REFUTED.items(),
        *((IDS, dict(edge_ids=ids)) for ids in ([2, 0], [0, 3], [-1, 2], [2, 2])),
        *((ENDS, ends) for ends in (dict(v=[1, 3]), dict(u=[0, -1]))),
    ],
)
def test_proofs_name_what_is_wrong(reason, wrong):
    right = dict(n=3, m=3, u=[0, 2], v=[1, 0], w=[5, 6], edge_ids=[0, 2])
    given = {**right, **wrong}
    arrays = {key: np.array(value, np.int32) for key, value in given.items() if isinstance(value, list)}
    forest = StreamForest(**{**given, **arrays, "edge_ids": arrays["edge_ids"].astype(np.int64)})
    proof = prove_batches(forest, [([0, 1], [1, 2], [5, 7]), ([2], [0], [6])])
    assert not proof.ok and proof.reason.startswith(reason)


def test_weights_are_not_rounded_to_those_of_the_forest():
    """Two weights that one float64 stands for would tie, and the heavier one come first."""
    ends = np.array([0], np.int32), np.array([1], np.int32)
    forest = StreamForest(2, 2, *ends, np.array([2.0**53]), np.array([0]))
    proof = prove_batches(forest, [([0, 0], [1, 1], [2**53 + 1, 2**53])])
    assert proof.reason == "edge 0 has weight 9007199254740993, which float64 cannot represent"
    nan = prove_batches(forest, [([0, 0], [1, 1], [2.0**53, math.nan])])
    assert nan.reason == "edge 1 has weight nan, which float64 cannot represent"


def test_negative_ends_in_the_stream_are_refuted():
    forest = mst.minimum_spanning_forest([([0, 1], [1, 2], [5, 7])])
    proof = prove_batches(forest, [([0, 1], [1, -1], [5, 7])])
    assert proof.reason == "edge 1 has the end -1, but the forest has 3 vertices"


def test_a_broken_key_transform_proves_no_forest_of_a_stream(monkeypatch):
    batches = [([0, 1], [1, 2], [9, 8])]
    forest = mst.minimum_spanning_forest(batches)
    monkeypatch.setattr("mst.order.keys", lambda weights: np.zeros(len(weights), np.uint32))
    with pytest.raises(AssertionError, match="bug in mst"):
        prove_batches(forest, batches)


def test_a_forest_with_nan_is_refuted():
    ends = np.array([0, 1], np.int32), np.array([1, 2], np.int32)
    forest = StreamForest(3, 2, *ends, np.array([math.nan, math.inf]), np.arange(2))
    proof = prove_batches(forest, [([0, 1], [1, 2], [1.0, math.inf])])
    assert proof.reason == "the forest has edges whose weight is NaN, which cannot be ordered"


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["filter-boruvka", "filter-boruvka-threads"])
@pytest.mark.parametrize("times", [4, pytest.param(10, marks=pytest.mark.nightly)])
def test_memory_stays_within_the_bound(algorithm, times):
    """Several times the memory allowed passes through, and the process never holds more than that."""
    code = """
        import sys
        import numpy as np
        import mst
        from mst.bench.measure.samples import peak

        n, rows, allowed = 1_500_000, 1_000_000, 768 * 2**20
        count = int(sys.argv[2]) * allowed // (12 * rows)
        rng = np.random.default_rng(0)
        # Each batch pairs other values of the same columns: drawing all anew would take as long as solving.
        u = np.resize(rng.permutation(n).astype(np.int32), rows + 3001 * count)
        v = rng.integers(0, n, rows + 5003 * count, np.int32)
        w = rng.random(rows + 1009 * count, np.float32)

        def batches():
            for k in range(count):
                yield u[3001 * k :][:rows], v[5003 * k :][:rows], w[1009 * k :][:rows]

        forest = mst.minimum_spanning_forest(batches(), memory=allowed, algorithm=sys.argv[1])
        print(len(forest), peak() / allowed)
        """
    edges, share = map(float, run_python(code, algorithm, times).stdout.split())
    assert edges == 1_499_999 and share <= 1


@pytest.mark.slow
def test_memory_stays_within_the_bound_with_a_file(tmp_path):
    """Decoding Parquet ahead is part of the bound."""
    schema = pa.schema([("u", "int32"), ("v", "int32"), ("w", "float32")])
    rng, rows = np.random.default_rng(0), 1 << 20
    with parquet.ParquetWriter(tmp_path / "e.parquet", schema, compression="none", use_dictionary=False) as out:
        for _ in range(40):
            ends = rng.integers(0, 10**6, (2, rows), np.int32)
            out.write_batch(pa.record_batch([*ends, rng.random(rows, np.float32)], schema=schema))
    code = """
        import sys
        from mst.bench.measure.samples import peak
        from mst.cli import main

        assert main(["solve", sys.argv[1], "--memory", "800M", "--out", sys.argv[2]]) == 0
        print(peak() / (800 * 2**20))
        """
    done = run_python(code, tmp_path / "e.parquet", tmp_path / "f.parquet")
    assert float(done.stdout.splitlines()[-1]) <= 1


@pytest.mark.parametrize("kind", ["trace", "profile"])
def test_a_debugger_sees_the_iterator_of_batches(kind):
    seen = set()

    def batches():
        yield [0, 1], [1, 2], [5, 7]

    getattr(threading, f"set{kind}")(lambda frame, event, argument: seen.add(frame.f_code.co_name))
    try:
        assert mst.minimum_spanning_forest(batches()).weight == 12
    finally:
        getattr(threading, f"set{kind}")(None)
    assert "batches" in seen
