"""Trees of points: exact against brute force and SciPy, by the cut property, with ties, duplicates and wrong input."""

from __future__ import annotations

import itertools
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial import Delaunay, cKDTree

import mst
from mst import InputError, UnsupportedError, cores
from mst.graph import frozen
from mst.kernels.parallel import runtime
from mst.kernels.parallel.runtime import Schedule, new_tallies, workers
from mst.kernels.points import kd_tree
from mst.kernels.points.equal import equal_points, without_equal
from mst.kernels.points.relabel import relabel
from mst.kernels.points.rows import write_rows
from mst.kernels.points.state import Components, Edges
from mst.points.tree import _in_order


def squares(a, b) -> np.ndarray:
    """Return the squared distances of all pairs, added up in the order of the dimensions."""
    total = np.zeros((len(a), len(b)))
    for x, y in zip(a.T, b.T):
        total += (x[:, None] - y) ** 2
    return total


def by_brute_force(X, samples=1) -> list[tuple[float, int, int]]:
    """Return Kruskal's edges (weight, u, v) over all pairs in the order by (weight, distance, u, v), sorted."""
    distances = squares(X, X)
    core = np.sort(distances, axis=1)[:, samples - 1]
    weights = np.maximum(distances, np.maximum(core[:, None], core))
    u, v = np.triu_indices(len(X), 1)
    tree_of = list(range(len(X)))
    taken = []
    for e in np.lexsort((v, u, distances[u, v], weights[u, v])).tolist():
        a, b = tree_of[u[e]], tree_of[v[e]]
        if a != b:
            tree_of = [b if tree == a else tree for tree in tree_of]
            taken.append((float(np.sqrt(weights[u[e], v[e]])), int(u[e]), int(v[e])))
    return sorted(taken)


def rows(forest) -> list[tuple[float, int, int]]:
    u, v, w = forest.edges()
    return list(zip(w.tolist(), u.tolist(), v.tolist()))


@pytest.fixture(autouse=True)
def threads_and_compiled_code_for_few_points(monkeypatch):
    monkeypatch.setattr("mst.points._FEWEST_EACH", 1)
    monkeypatch.setattr("mst.points._TOO_FEW", 0)
    monkeypatch.setattr("mst.points.tree._FEW", 0)


def sets_of_points() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(5)
    made = {f"{n} random, {d}-D": rng.random((n, d)) for n in (1, 2, 3, 16, 17, 100) for d in (1, 2, 3, 10)}
    made |= {f"{d}-D grid of {g}": rng.integers(0, g, (90, d)) for d in (1, 2, 3) for g in (2, 4, 12)}
    made["all equal"] = np.ones((40, 2))
    made["collinear"] = np.stack([np.arange(60.0)] * 3, 1)
    made["square grid"] = np.array(list(itertools.product(range(11), repeat=2)))
    made["zeros of both signs"] = np.array([[0.0, 1], [-0.0, 1], [0, -1], [-0.0, -1]])
    made["30-D"] = rng.normal(size=(70, 30))
    # Of three thirds the outer two, again and again: in every round, all edges are equal.
    thirds = np.array(list(itertools.product((0, 2), repeat=7))) @ 3 ** np.arange(7)
    made["thirds"] = thirds[:, None]
    made["thirds in 2-D"] = np.array(list(itertools.product(sorted(thirds)[:8], repeat=2)))
    made["gaps of 1 and 2"] = np.cumsum(rng.integers(1, 3, 150))[:, None]
    scales = 10.0 ** -np.arange(5)
    made["clusters of several densities"] = np.concatenate(
        [3 * i + scale * rng.normal(size=(30, 2)) for i, scale in enumerate(scales)]
    )
    within = sum(8.0**-i * rng.integers(-2, 3, (3,) * i + (1,) * (5 - i) + (2,)) for i in range(6))
    made["clusters within clusters, some points equal"] = within.reshape(-1, 2)
    # So many scales that distances to points near zero are equal, once rounded, and fill the bits of a number.
    made["ties over many scales"] = rng.permutation(
        np.multiply.outer((-1, 1), 2.0 ** -np.arange(0, 200, 5)).ravel()
    )[:, None]
    made["far clusters"] = np.concatenate((rng.random((50, 2)), 1e6 + rng.random((50, 2))))
    return made


@pytest.mark.parametrize("name", sets_of_points())
def test_tree_is_that_of_brute_force(name):
    X = sets_of_points()[name]
    for samples in (1, 2, 5, 17):
        if samples <= len(X):
            expected = by_brute_force(X.astype(float), samples)
            for threads in {1, min(2, len(os.sched_getaffinity(0)))}:
                assert rows(mst.from_points(X, min_samples=samples, threads=threads)) == expected, samples


def test_compiling_and_loading_code_is_not_computing(monkeypatch):
    seconds = iter([1.0, 1.25])
    monkeypatch.setattr("mst.points.code_seconds", lambda: next(seconds))
    forest = mst.from_points([[0.0], [1.0]], threads=1)
    assert forest.seconds["code"] == 0.25 and set(forest.seconds) == {"compute", "code"}
    monkeypatch.setattr("mst.points.code_seconds", lambda: 2.0)
    assert set(mst.from_points([[0.0], [1.0]], threads=1).seconds) == {"compute"}


def sets_of_many_leaves() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(15)
    square = np.array(list(itertools.product(range(18), repeat=2)))
    made = {name: X for name, X in sets_of_points().items() if len(X) > 64}
    made["square grid, shuffled"] = rng.permutation(square)
    made["cube grid"] = np.array(list(itertools.product(range(7), repeat=3)))
    # Of more points at distance 1 than a list has, an edge to one that is not listed may be the least of equal ones.
    for dimensions, side in ((4, 4), (5, 3), (8, 2)):
        grid = np.array(list(itertools.product(range(side), repeat=dimensions)))
        made[f"{dimensions}-D grid"], made[f"{dimensions}-D grid, shuffled"] = grid, rng.permutation(grid)
    made["grid and a half, equal points"] = np.concatenate((square, square[:60], square[:60:2], [[0, 0]] * 9))
    made["long grid"] = np.array(list(itertools.product(range(160), (0, 1))))
    made["collinear, two scales"] = np.concatenate((np.arange(150) / 64, 1000.0 + np.arange(150)))[:, None] * [
        1,
        1,
    ]
    made["rings"] = np.concatenate(
        [r * np.stack((np.cos(a := np.arange(90) * np.pi / 45), np.sin(a)), 1) for r in (1, 10, 1e4)]
    )
    made["float32"] = rng.random((300, 2), np.float32)
    made["float32, rounded"] = np.round(rng.random((300, 3), np.float32), 1)
    return made


@pytest.mark.parametrize("name", sets_of_many_leaves())
def test_tree_joined_from_parts_is_that_of_brute_force(monkeypatch, name):
    X = sets_of_many_leaves()[name]
    for samples in (1, 4):
        expected = by_brute_force(X.astype(float), samples)
        for levels in range(4):  # parts of one leaf, 32 points, and more
            monkeypatch.setattr("mst.points.tree._PART_LEVELS", levels)
            for threads in {1, min(2, len(os.sched_getaffinity(0)))}:
                found = rows(mst.from_points(X, min_samples=samples, threads=threads))
                assert found == expected, (samples, levels, threads)


@pytest.mark.parametrize("samples", [1, 5])
@pytest.mark.parametrize(
    ("sides", "repeats"),
    [((190, 190), 1), ((33, 33, 33), 1), ((12,) * 4, 1), ((7,) * 5, 1), ((100, 100), 4), ((2, 18000), 1)],
)
def test_tree_of_a_large_grid_is_that_of_its_near_pairs(sides, repeats, samples):
    """All edges of such trees tie, across leaves, parts and rounds; none is longer than two."""
    points = np.repeat(np.array(list(itertools.product(*map(range, sides)))), repeats, axis=0)
    X = np.random.default_rng(18).permutation(points).astype(float)
    near = cKDTree(X)
    u, v = np.sort(near.query_pairs(2.0, output_type="ndarray"), axis=1).T
    distances = ((X[u] - X[v]) ** 2).sum(axis=1)
    core = near.query(X, [samples])[0][:, 0].round(9) ** 2
    weights = np.maximum(distances, np.maximum(core[u], core[v])).round(6)
    order = np.lexsort((v, u, distances, weights))
    u, v, weights = u[order], v[order], weights[order]
    ids = mst.minimum_spanning_forest((len(X), u, v, np.arange(len(u)))).edge_ids
    expected = sorted(zip(np.sqrt(weights[ids]).tolist(), u[ids].tolist(), v[ids].tolist()))
    for threads in {1, min(2, len(os.sched_getaffinity(0)))}:
        assert rows(mst.from_points(X, min_samples=samples, threads=threads)) == expected, threads


def test_nodes_above_leaves_without_points_have_the_component_of_the_others():
    n = 32 * 5 + 1
    schedule = Schedule(1, 1, new_tallies(1))
    tree = kd_tree.build(np.random.default_rng(19).random((n, 2)), schedule)
    of = np.zeros(32 * 6, np.int32)[:n]
    of[-1] = 4
    components = Components(of, np.full(len(tree.boxes), -1, np.int32), np.zeros(n, np.uint64))
    parent = np.arange(n, dtype=np.int32)
    relabel(schedule, parent, tree.levels, components)
    assert components.of_node[1:].tolist() == [-1, 0, -1, 0, 0, 0, -1, -2, 0, 0, 0, -2, 0, 0, 4]
    parent[4] = 0
    relabel(schedule, parent, tree.levels, components)
    assert components.of_node[1:].tolist() == [0] * 7 + [-2, 0, 0, 0, -2, 0, 0, 0]


@pytest.mark.parametrize(("local", "copied"), [(0, 0), (0, 2), (1, 2), (2, 1), (9, 3)])
@pytest.mark.parametrize("kind", ["random", "grid", "equal in one dimension"])
@pytest.mark.parametrize("width", range(1, 1 + min(2, len(os.sched_getaffinity(0)))))
def test_tree_of_leaves_splits_its_points_at_medians(monkeypatch, local, copied, kind, width):
    rng = np.random.default_rng(16)
    for n in (1, 32, 33, 700, 2000):
        X = rng.random((n, 3)) if kind == "random" else rng.integers(0, 5, (n, 3)).astype(float)
        X[:, 1] = 7 if kind == "equal in one dimension" else X[:, 1]
        monkeypatch.setattr(kd_tree, "_LOCAL", local)
        monkeypatch.setattr(kd_tree, "_COPIED", copied)
        with workers(width):
            tree = kd_tree.build(X, Schedule(width, 1, new_tallies(width)))
        assert np.array_equal(np.sort(tree.points), np.arange(n))
        at = X[tree.points]
        size, blocks = tree.blocks.shape[2], len(tree.blocks)
        inside = tree.blocks.transpose(0, 2, 1).reshape(-1, 3)
        assert np.array_equal(inside[:n], at) and np.isinf(inside[n:]).all() and blocks == -(-n // size)
        for level in range(tree.levels + 1):
            ends = [min((node * blocks >> level) * size, n) for node in range((1 << level) + 1)]
            for node, (start, stop) in enumerate(itertools.pairwise(ends)):
                if start < stop:
                    box = tree.boxes[(1 << level) + node]
                    assert np.array_equal(box, [at[start:stop].min(axis=0), at[start:stop].max(axis=0)])
            for left, middle, right in zip(ends[::2], ends[1::2], ends[2::2]):
                if left < middle < right:
                    below, above = at[left:middle].max(axis=0), at[middle:right].min(axis=0)
                    assert (below <= above).any()


@pytest.mark.parametrize(("tied", "size"), [(1, 9000), (2, 9000), (70, 9000), (2000, 2000)])
@pytest.mark.parametrize("width", range(1, 1 + min(2, len(os.sched_getaffinity(0)))))
@pytest.mark.parametrize("few", [0, 9000])
def test_edges_whose_weights_share_their_first_bits_are_put_in_order(tied, size, width, few, monkeypatch):
    monkeypatch.setattr("mst.points.tree._FEW", few)
    rng = np.random.default_rng(22)
    n = 9000
    names = rng.permutation(n).astype(np.int32)
    a, b = np.arange(n - 1, dtype=np.int32), np.arange(1, n, dtype=np.int32)
    # The first 32 bits of so many weights are equal; of some, all bits are.
    weights = rng.random(n - 1)
    weights[:size] = np.repeat(rng.random(-(-size // tied)), tied)[: min(size, n - 1)]
    weights = (weights + rng.integers(0, 3, n - 1) * 2.0**-40 + np.where(np.arange(n - 1) == 5, 1e9, 1)) ** 2
    extremes = np.full(2, -1).view(np.uint64)
    found, others, none = np.empty((n, 2), np.uint64), np.array([[3], [7]], np.int32), np.empty(0)
    with workers(width):
        schedule = Schedule(width, 500, new_tallies(width))
        write_rows(schedule, Edges(a, b, weights), names, others, none, found, extremes)
        u, v, w = _in_order(found, extremes, schedule)
    ends = np.append(np.sort([names[a], names[b]], axis=0), others, axis=1)
    expected = np.append(np.sqrt(weights), 0.0)
    order = np.lexsort((ends[1], ends[0], expected))
    assert np.array_equal(w, expected[order])
    assert np.array_equal(u, ends[0][order]) and np.array_equal(v, ends[1][order])


@pytest.mark.parametrize("values", [1, 3, 1000])
@pytest.mark.parametrize("width", range(1, 1 + min(2, len(os.sched_getaffinity(0)))))
def test_equal_points_are_found(values, width):
    X = np.random.default_rng(23).integers(0, values, (20_000, 2)) * np.array([-0.0, 1.0])
    with workers(width):
        schedule = Schedule(width, 1, new_tallies(width))
        coordinates, first, others = equal_points(frozen(X), schedule)
        kept, ids, counts, pairs = without_equal(coordinates, first, others, schedule)
    _, expected, place, times = np.unique(X, axis=0, return_index=True, return_inverse=True, return_counts=True)
    assert np.array_equal(ids, np.sort(expected)) and np.array_equal(kept, X[ids])
    assert np.array_equal(counts, times[np.argsort(expected)]) and len(X) - len(ids) == others
    assert np.array_equal(pairs[1], np.setdiff1d(np.arange(len(X)), ids))
    assert np.array_equal(pairs[0], expected[place.ravel()][pairs[1]])


def test_rows_are_in_order_and_of_the_tree_alone():
    X = np.random.default_rng(1).integers(0, 9, (500, 2))
    forest = mst.from_points(X)
    u, v, w = forest.edges()
    assert (u < v).all() and np.array_equal(np.lexsort((v, u, w)), np.arange(499))
    assert forest.graph.m == 499 and forest.components == 1 and forest.exact
    assert forest.graph.u.dtype == np.int32 and w.dtype == np.float64


@pytest.mark.parametrize("samples", [None, 5])
def test_large_planar_tree_weighs_what_scipys_of_delaunay_does(samples):
    X = np.random.default_rng(2).random((20_000, 2)) ** 3
    triangles = Delaunay(X).simplices
    u, v = np.concatenate([triangles[:, pair] for pair in ((0, 1), (1, 2), (0, 2))]).T
    if (
        samples
    ):  # the mutual-reachability tree is not in Delaunay's graph: it is in that of near pairs, and joins them
        core = cKDTree(X).query(X, samples)[0][:, -1]
        u, v = cKDTree(X).query_pairs(0.02, output_type="ndarray").T
    else:
        core = np.zeros(len(X))
    w = np.maximum(np.linalg.norm(X[u] - X[v], axis=1), np.maximum(core[u], core[v]))
    forest = mst.from_points(X, min_samples=samples)
    ours = forest.edges()[2]
    if samples:  # of all edges up to the radius, both leave the same components and weigh the same
        theirs = mst.minimum_spanning_forest((len(X), u, v, w), algorithm="kruskal").edges()[2]
        assert np.allclose(np.sort(theirs[theirs <= 0.02]), ours[ours <= 0.02], rtol=1e-12)
    else:
        low, high = np.minimum(u, v), np.maximum(u, v)
        pairs = np.unique(np.stack((low, high)), axis=1)
        lengths = np.linalg.norm(X[pairs[0]] - X[pairs[1]], axis=1)
        theirs = minimum_spanning_tree(csr_array((lengths, tuple(pairs)), shape=(len(X),) * 2)).data
        assert np.allclose(np.sort(theirs), ours, rtol=1e-12)


@pytest.mark.parametrize("dimensions", [3, 6])
def test_no_pair_across_a_cut_is_nearer_than_the_edge_there(dimensions):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(4000, dimensions)) + rng.integers(0, 4, (4000, 1)) * 6
    forest = mst.from_points(X)
    u, v, w = forest.edges()
    assert np.allclose(w, np.linalg.norm(X[u] - X[v], axis=1))
    for removed in (*rng.integers(0, len(w), 20), len(w) - 1, len(w) - 2):
        kept = np.delete(np.arange(len(w)), removed)
        side = mst.Forest(forest.graph, kept).labels(k=2) == 0
        nearest = cKDTree(X[side]).query(X[~side])[0].min()
        assert w[removed] <= nearest * (1 + 1e-12)


def test_many_equal_points_take_no_time_of_all_pairs():
    X = np.repeat(np.random.default_rng(4).integers(0, 3, (40, 2)), 5000, axis=0)
    forest = mst.from_points(X, min_samples=3)
    assert forest.components == 1 and (forest.edges()[2] > 0).sum() == len(np.unique(X, axis=0)) - 1


def test_extreme_coordinates_neither_overflow_nor_vanish():
    X = np.random.default_rng(6).random((200, 2))
    plain = mst.from_points(X)
    for power, sign in itertools.product((100, -100, 600, -600, 1024, -1000), (1, -1)):
        scaled = mst.from_points(np.ldexp(sign * X, power - 1))
        assert np.array_equal(scaled.graph.u, plain.graph.u)
        assert np.array_equal(scaled.edges()[2], np.ldexp(plain.edges()[2], power - 1)), power


@pytest.mark.parametrize("how", [{}, {"min_samples": 2}, {"k": 1}])
def test_distances_beyond_float64_are_refused(how):
    with pytest.raises(InputError, match=r"points 0 and 2 are farther apart than 1\.797\d*e\+308"):
        mst.from_points([[-1.7e308, 1e308], [1.7e308, 3], [0, 0]], **how)


def test_clusters_of_points():
    X = np.concatenate([np.random.default_rng(7).normal(center, 0.3, (50, 2)) for center in (0, 10, 20)])
    labels = mst.from_points(X).labels(k=3)
    assert labels.tolist() == [0] * 50 + [1] * 50 + [2] * 50


@pytest.mark.parametrize("k", [1, 2, 5])
def test_approximate_trees_are_labelled_connected_and_no_lighter(k):
    rng = np.random.default_rng(8)
    X = np.concatenate((rng.random((300, 3)), 50 + rng.random((300, 3))))
    exact, approximate = mst.from_points(X, min_samples=3), mst.from_points(X, min_samples=3, k=k)
    assert not approximate.exact and "approximate" in approximate.algorithm and exact.exact
    assert "pproximate" in repr(approximate) and "pproximate" not in repr(exact)
    assert approximate.components == 1 and approximate.labels(k=1).tolist() == [0] * 600
    assert exact.weight <= approximate.weight <= 1.5 * exact.weight
    assert approximate.edges()[2][-1] == exact.edges()[2][-1]  # the two halves are joined by the nearest pair
    assert not approximate.add_edges([0], [1], [0.5]).exact
    assert not pickle.loads(pickle.dumps(approximate)).exact


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="takes two cores")
@pytest.mark.parametrize("samples", [1, 6])
def test_threads_that_wait_at_random_find_the_tree_of_one(monkeypatch, samples):
    rng = np.random.default_rng(24)
    for seed in range(1, 16):
        X = rng.permutation(np.argwhere(np.ones((14, 14, 14)))) if seed % 2 else rng.random((3000, 3)).round(2)
        expected = rows(mst.from_points(X, min_samples=samples, threads=1))
        with monkeypatch.context() as patch:
            patch.setattr(runtime, "new_tallies", lambda width, seed=seed: new_tallies(width, seed))
            assert rows(mst.from_points(X, min_samples=samples, threads=2)) == expected, seed


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="takes two cores")
def test_approximate_trees_choose_among_ties_alike_on_any_number_of_threads():
    X = np.random.default_rng(21).permutation(np.argwhere(np.ones((60, 60))))
    one, two = (mst.from_points(X, k=2, threads=threads) for threads in (1, 2))
    assert rows(one) == rows(two)


def test_all_neighbours_give_the_exact_tree():
    X = np.random.default_rng(9).integers(0, 6, (60, 2))
    w = mst.from_points(X, min_samples=4).edges()[2]
    assert np.array_equal(mst.from_points(X, min_samples=4, k=100).edges()[2], w)


@pytest.mark.parametrize("X", [[], np.empty((0, 3)), [[1.0, 2.0]]])
def test_no_point_and_one_point_have_no_edges(X):
    forest = mst.from_points(X)
    assert len(forest) == 0 and forest.graph.n == len(X) and forest.weight == 0


def test_wrong_points_are_refused_by_place():
    for value in (np.nan, np.inf, -np.inf):
        X = np.zeros((4, 2))
        X[2, 1] = value
        with pytest.raises(InputError, match=rf"X\[2, 1\] is {value}"):
            mst.from_points(X)
    for threads, rows in ((1, 4), (2, 1 << 17)):
        X = np.full((rows, 2), 2**53, np.int64)
        assert mst.from_points(X, threads=threads).weight == 0
        X[2, 1] = -(2**53) - 1
        with pytest.raises(
            InputError, match=r"X\[2, 1\] is -9007199254740993, which float64 cannot represent: sub"
        ):
            mst.from_points(X, threads=threads)
    with pytest.raises(InputError, match=r"X\[0, 1\] is 9007199254740993, which float64 cannot"):
        mst.from_points(np.array([[0, 2**53 + 1]], np.uint64))
    with pytest.raises(InputError, match=r"one row per point .* shape \(3,\)"):
        mst.from_points([1, 2, 3])
    with pytest.raises(InputError, match="got csr_array: convert a sparse array by its toarray"):
        mst.from_points(csr_array((3, 2)))
    with pytest.raises(InputError, match="dtype <U1"):
        mst.from_points([["a"]])
    with pytest.raises(InputError, match="without coordinates"):
        mst.from_points(np.empty((3, 0)))
    with pytest.raises(InputError, match=r"X\[0, 1\] is masked"):
        mst.from_points(np.ma.masked_equal([[1, 2], [3, 4]], 2))
    with pytest.raises(InputError, match=r"X\[1\] is masked"):
        mst.from_points(np.ma.masked_equal([1, 2], 2))
    with pytest.raises(InputError, match="X is not an array of numbers"):
        mst.from_points([[1, 2], [3]])


def test_edges_whose_weights_round_to_one_follow_the_order_of_their_ends():
    X = np.random.default_rng(1).integers(0, 20, (40, 2)) * 5e-324
    u, v, w = mst.from_points(X).edges()
    assert np.array_equal(np.lexsort((v, u, w)), np.arange(39))


def test_wrong_arguments_are_refused():
    X = np.zeros((4, 2))
    with pytest.raises(UnsupportedError, match="metric 'cosine' is not supported"):
        mst.from_points(X, metric="cosine")
    with pytest.raises(UnsupportedError, match=r"metric array\(\['euclidean'"):
        mst.from_points(X, metric=np.array(["euclidean"] * 2))
    with pytest.raises(InputError, match="min_samples = 5 is above the number of points, 4"):
        mst.from_points(X, min_samples=5)
    for name in ("min_samples", "k"):
        for value in (0, -1, 1.5, "2"):
            with pytest.raises(InputError, match=f"{name} must be a whole number of at least 1"):
                mst.from_points(X, **{name: value})
    with pytest.raises(InputError, match="threads must be at least 1"):
        mst.from_points(X, threads=0)
    with pytest.raises(UnsupportedError, match="above the"):
        mst.from_points(X, threads=10_000)
    with pytest.raises(mst.OutOfMemoryError, match="not enough memory for the tree of 1,000,000,000 points"):
        mst.from_points(np.broadcast_to(np.float32(1), (10**9, 10**9)))


FORKED = """
import os, sys
import numpy as np, mst
X = np.random.default_rng(0).random((10_000, 2))
weight = mst.from_points(X, threads=2).weight
if os.fork() == 0:
    assert mst.from_points(X).weight == mst.from_points(X, threads=1).weight == weight
    try:
        mst.from_points(X, threads=2)
    except mst.UnsupportedError as error:
        assert "forked" in str(error)
        os._exit(7)
    os._exit(0)
sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
"""


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="two threads take two cores")
def test_fork_of_a_process_with_threads_uses_one():
    done = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=240)
    assert done.returncode == 7, done.stderr


@pytest.mark.parametrize(
    ("n", "dimensions", "width"), [(512, 100, 1), (513, 100, 2), (2000, 2, 1), (2048, 2, 2)]
)
def test_few_points_or_coordinates_are_left_to_one_thread(monkeypatch, n, dimensions, width):
    asked = []

    def tree(coordinates, samples, k, width):
        asked.append(width)
        return np.arange(n - 1), np.arange(1, n), np.ones(n - 1)

    monkeypatch.setattr("mst.points._FEWEST_EACH", 2048)
    monkeypatch.setattr("mst.points._TOO_FEW", 512)
    monkeypatch.setattr("mst.points.tree.tree_of_points", tree)
    mst.from_points(np.zeros((n, dimensions)), threads=min(2, cores.usable_cores()))
    assert asked == [min(width, cores.usable_cores())]
