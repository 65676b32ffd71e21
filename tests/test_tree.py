"""Queries of a forest: clusters, bottlenecks, paths, uniqueness and new edges, against SciPy and brute force."""

from __future__ import annotations

import itertools

import adversarial
import networkx
import numpy as np
import pytest
from oracles import by_python_kruskal
from scipy.cluster import hierarchy

import mst
from mst import Forest, Graph, InputError
from mst.cores import usable_width


def solve(graph) -> Forest:
    return mst.minimum_spanning_forest(graph, algorithm="kruskal")


def random_graph(rng, n, m, dtype=np.int32, largest=5) -> Graph:
    w = rng.integers(-largest, largest + 1, m).astype(dtype)
    return Graph(n, rng.integers(0, n, m), rng.integers(0, n, m), w)


def graphs(rng) -> list[Graph]:
    made = [graph for graph in adversarial.small(rng) if graph.n]
    dtypes = (np.int32, np.int64, np.float32, np.float64)
    return made + [
        random_graph(rng, n, m, dtype) for (n, m), dtype in zip([(1, 2), (9, 5), (12, 30), (40, 60)], dtypes)
    ]


def same_clusters(a, b) -> bool:
    return len(set(zip(a.tolist(), b.tolist()))) == len(set(a.tolist())) == len(set(b.tolist()))


def test_labels_are_scipys_at_every_height(rng):
    compared = 0
    for graph in graphs(rng):
        forest = solve(graph)
        heights = np.unique(forest.edges()[2].astype(np.float64))
        # SciPy's heights are distances in float64.
        if graph.n == 1 or not len(heights) or heights[0] < 0 or heights[-1] >= 2**53:
            continue
        for height in (*heights, *(heights - 0.25), 1e300):
            labels = forest.labels(threshold=height)
            assert same_clusters(labels, hierarchy.fcluster(forest.linkage(), height, "distance")), graph.name
            compared += 1
    assert compared > 20


def test_labels_are_components_of_the_graph_without_heavier_edges(rng):
    for graph in graphs(rng):
        forest = solve(graph)
        for threshold in np.unique(graph.w)[:20]:
            light = networkx.empty_graph(graph.n)
            kept = graph.w <= threshold
            light.add_edges_from(zip(graph.u[kept].tolist(), graph.v[kept].tolist()))
            expected = np.empty(graph.n, int)
            for label, component in enumerate(networkx.connected_components(light)):
                expected[list(component)] = label
            assert forest.labels(threshold=threshold).tolist() == expected.tolist(), graph.name


def test_k_labels_remove_the_last_edges_of_the_order(rng):
    for graph in graphs(rng):
        forest = solve(graph)
        ids = sorted(forest.edge_ids.tolist(), key=lambda e: (graph.w[e], e))
        for k in range(forest.components, graph.n + 1):
            light = networkx.empty_graph(graph.n)
            light.add_edges_from((int(graph.u[e]), int(graph.v[e])) for e in ids[: graph.n - k])
            labels = forest.labels(k=k)
            assert labels.max() + 1 == k
            assert all(len(set(labels[list(c)])) == 1 for c in networkx.connected_components(light)), graph.name


def test_thresholds_compare_exactly_with_large_integers():
    forest = solve(Graph(3, [0, 1], [1, 2], np.array([2**62, 2**62 + 1])))
    assert forest.labels(threshold=2**62).tolist() == [0, 0, 1]
    assert forest.labels(threshold=np.inf).tolist() == [0, 0, 0]
    assert forest.labels(threshold=-np.inf).tolist() == [0, 1, 2]
    floats = solve(Graph(3, [0, 1], [1, 2], [2.0**53, 2.0**53 + 4]))
    for threshold in (2**53 + 3, np.int64(2**53 + 3)):
        assert floats.labels(threshold=threshold).tolist() == [0, 0, 1]
    assert floats.labels(threshold=2**53 + 5).tolist() == [0, 0, 0]
    single = solve(Graph(2, [0], [1], np.array([0.1], np.float32)))
    assert single.labels(threshold=0.1).tolist() == [0, 1]  # the float32 is above the float64


def test_labels_refuse_what_cannot_be():
    forest = solve((3, [0], [1], [1]))
    with pytest.raises(InputError, match="either k"):
        forest.labels()
    with pytest.raises(InputError, match="either k"):
        forest.labels(k=2, threshold=1)
    for k in (0, 1, 4):
        with pytest.raises(InputError, match=r"3 vertices in 2 trees .* give k from 2 to 3"):
            forest.labels(k=k)
    with pytest.raises(InputError, match="whole number"):
        forest.labels(k=2.5)
    with pytest.raises(InputError, match="NaN"):
        forest.labels(threshold=float("nan"))
    for threshold in ("2", 10**400):
        with pytest.raises(InputError, match=f"must be a number, got {threshold!r}"):
            forest.labels(threshold=threshold)


def test_pairs_whose_shapes_do_not_broadcast_are_refused():
    forest = solve((3, [0, 1], [1, 2], [1, 2]))
    for query in (forest.paths, forest.bottleneck, forest.bottleneck_edges):
        with pytest.raises(InputError, match=r"shapes that can be broadcast together, got \(2,\) and \(3,\)"):
            query([0, 1], [0, 1, 2])


def test_empty_graph_answers_every_query():
    forest = solve((0, [], [], []))
    assert forest.labels(k=0).shape == forest.labels(threshold=1).shape == (0,)
    assert forest.bottleneck([], []).shape == (0,) and forest.is_unique()
    assert [part.tolist() for part in forest.paths([], [])] == [[], [0]]
    assert len(forest.add_edges([], [], [])) == 0
    with pytest.raises(InputError, match="holds 0"):
        forest.bottleneck(0, 0)
    with pytest.raises(InputError, match="without vertices has no hierarchy"):
        forest.linkage()


def test_paths_and_bottlenecks_are_those_of_the_tree(rng):
    for graph in graphs(rng):
        forest = solve(graph)
        tree = forest.to_networkx()
        pairs = np.array(list(itertools.product(range(min(graph.n, 12)), repeat=2)))
        edge_ids, offsets = forest.paths(*pairs.T)
        heaviest, distance = forest.bottleneck_edges(*pairs.T), forest.bottleneck(*pairs.T)
        for i, (x, y) in enumerate(pairs.tolist()):
            path = edge_ids[offsets[i] : offsets[i + 1]].tolist()
            if not networkx.has_path(tree, x, y):
                assert path == [] and heaviest[i] == -1 and distance[i] == np.inf
                continue
            vertices = networkx.shortest_path(tree, x, y)
            assert path == [tree[a][b]["id"] for a, b in itertools.pairwise(vertices)]
            if path:
                assert heaviest[i] == max(path, key=lambda e: (graph.w[e], e))
                assert distance[i] == graph.w[heaviest[i]]
            else:
                assert heaviest[i] == -1 and distance[i] == 0


def test_long_paths_are_in_order(rng):
    n = 5000
    line = np.arange(n)
    for w in (line[1:], -line[1:], rng.permutation(n - 1)):
        forest = Forest(Graph(n, line[:-1], line[1:], w), line[:-1])
        x, y = rng.integers(0, n, (2, 20))
        x[:2], y[:2] = (0, n - 1), (n - 1, 0)
        edge_ids, offsets = forest.paths(x, y)
        for a, b, path in zip(x.tolist(), y.tolist(), np.split(edge_ids, offsets[1:-1])):
            assert path.tolist() == (list(range(a, b)) or list(range(a - 1, b - 1, -1)))


def test_bottlenecks_are_scipys_cophenetic_distances(rng):
    n = 30
    low, high = np.triu_indices(n, 1)
    distances = rng.integers(1, 20, len(low)).astype(float)
    forest = solve(Graph(n, low, high, distances))
    assert np.array_equal(
        forest.bottleneck(low, high), hierarchy.cophenet(hierarchy.linkage(distances, "single"))
    )


def test_queries_broadcast_and_refuse_other_vertices():
    forest = solve((3, [0, 1], [1, 2], [4, 5]))
    assert forest.bottleneck(np.arange(3)[:, None], np.arange(3)).tolist() == [[0, 4, 5], [4, 0, 5], [5, 5, 0]]
    with pytest.raises(InputError, match="x has masked values: drop or replace them"):
        forest.bottleneck(np.ma.array([0, 1], mask=[0, 1]), [1, 2])
    with pytest.raises(InputError, match="y holds 3, which is not a vertex"):
        forest.bottleneck(0, [1, 3])
    with pytest.raises(InputError, match="x holds -1"):
        forest.paths([-1, 2], 0)
    with pytest.raises(InputError, match="dtype float64"):
        forest.bottleneck_edges(0.5, 1)


def test_code_for_many_edges_answers_for_few_as_other_code_does(rng, monkeypatch):
    for graph in graphs(rng):
        forest = solve(graph)
        few = forest.is_unique()
        with monkeypatch.context() as patched:
            patched.setattr("mst.tree._MANY_EDGES", 0)
            assert forest.is_unique() == few, graph.name


def test_threads_answer_for_many_pairs_as_one_core_does(rng):
    width = usable_width()
    for n, m in ((1, 3), (40, 60), (3000, 9000)):
        forest = solve(random_graph(rng, n, m, largest=m))
        x, y = rng.integers(0, n, (2, 140_000))
        heaviest = forest.bottleneck_edges(x, y, threads=width)
        assert np.array_equal(heaviest, forest.bottleneck_edges(x, y, threads=1))
        assert np.array_equal(forest.bottleneck(x, y, threads=width), forest.bottleneck(x, y, threads=1))
        assert ((heaviest == -1) >= (x == y)).all()
        # One at a time, as the tests above compare with the paths.
        assert heaviest[:50].tolist() == [int(forest.bottleneck_edges(*pair)) for pair in zip(x[:50], y[:50])]
    for call in (forest.bottleneck, forest.bottleneck_edges):
        with pytest.raises(InputError, match="threads must be at least 1"):
            call(0, 0, threads=0)
    with pytest.raises(mst.UnsupportedError, match="usable cores"):
        forest.is_unique(threads=10**6)


@pytest.mark.parametrize("place", [0, 40_000, 99_999])
def test_a_tie_anywhere_is_found_by_threads(place, rng):
    n, m = 500, 100_000
    u, v, w = *rng.integers(0, n, (2, m)), 2 * np.arange(m)
    alone = solve(Graph(n, u, v, w))
    outside = np.setdiff1d(np.flatnonzero(u != v), alone.edge_ids)
    edge = outside[np.searchsorted(outside, place).clip(max=len(outside) - 1)]
    tied = w.copy()
    tied[edge] = alone.bottleneck(u[edge], v[edge])
    for threads in {1, usable_width()}:
        assert alone.is_unique(threads=threads)
        assert not Forest(Graph(n, u, v, tied), alone.edge_ids).is_unique(threads=threads)


def same_answers(graph, edge_ids, threads) -> list[np.ndarray]:
    """All that the structure of a forest holds, and the answers of its queries, by a number of threads."""
    forest = Forest(graph, edge_ids)
    x, y = np.random.default_rng(1).integers(0, graph.n, (2, 40))
    answers = [
        forest.linkage(threads=threads),
        *(forest.labels(k=forest.components + len(edge_ids) * i // 4, threads=threads) for i in range(5)),
        *forest.paths(x, y, threads=threads),
        forest.bottleneck(x, y, threads=threads),
    ]
    tree = forest._merges(threads)
    return [*answers, tree.links, *(tree.merges[field] for field in tree.merges.dtype.names)]


def shapes(rng, n) -> list[Graph]:
    """Trees and forests whose edges are linked in all kinds of order, with ties and without."""
    line, shuffled = np.arange(n), rng.permutation(n)
    ends = {
        "path": (line[:-1], line[1:]),
        "shuffled path": (shuffled[:-1], shuffled[1:]),
        "star": (np.zeros(n - 1, int), line[1:]),
        "stars": (line[1:] // 50 * 50, line[1:]),
        "random tree": (rng.integers(0, line[1:]), line[1:]),
        "trees": (rng.integers(0, n, n // 2), rng.integers(0, n, n // 2)),
        "binary": (line[1:] // 2, line[1:]),
    }
    made = []
    for name, (u, v) in ends.items():
        m = len(u)
        for w in (line[:m], -line[:m], rng.permutation(m), rng.integers(0, 3, m), rng.random(m), np.zeros(m)):
            made.append(Graph(n, u, v, w, name=name))
    return made


@pytest.mark.parametrize("n", [1, 2, 3000])
def test_threads_build_the_same_structure_and_give_the_same_answers(n, rng, monkeypatch):
    for limit in ("LARGE", "OUT_OF_CACHE"):
        monkeypatch.setattr(f"mst.kernels.proof.building.{limit}", 0)
    for graph in shapes(rng, n):
        edge_ids = solve(graph).edge_ids
        alone = same_answers(graph, edge_ids, 1)
        for width in range(2, min(usable_width(), 4) + 1):
            for one, several in zip(alone, same_answers(graph, edge_ids, width), strict=True):
                assert one.dtype == several.dtype and np.array_equal(one, several), (graph.name, width)


def test_linkage_is_scipys_where_no_distances_tie(rng):
    for n in (2, 3, 50, 400):
        low, high = np.triu_indices(n, 1)
        distances = rng.permutation(len(low)) + 0.5
        expected = hierarchy.linkage(distances, "single")
        assert np.array_equal(solve(Graph(n, low, high, distances)).linkage(), expected)


def test_trees_are_linked_at_infinity_in_the_order_of_their_smallest_vertices():
    forest = solve((7, [6, 2, 4], [5, 3, 0], [1, 2, 3]))  # {0, 4}, {1}, {2, 3}, {5, 6}
    assert forest.linkage()[3:].tolist() == [[1, 9, np.inf, 3], [8, 10, np.inf, 5], [7, 11, np.inf, 7]]
    assert solve((3, [], [], [])).linkage().tolist() == [[0, 1, np.inf, 2], [2, 3, np.inf, 3]]
    assert solve((1, [], [], [])).linkage().shape == (0, 4)


def lightest_forests(graph) -> int:
    """Return how many spanning forests weigh as little as the lightest one, by trying all sets of edges."""
    size = len(by_python_kruskal(graph))
    totals = []
    for ids in itertools.combinations(range(graph.m), size):
        tree = networkx.MultiGraph()
        tree.add_nodes_from(range(graph.n))
        tree.add_edges_from((int(graph.u[e]), int(graph.v[e])) for e in ids)
        if networkx.number_connected_components(tree) == graph.n - size:
            totals.append(graph.w[list(ids)].sum())
    return totals.count(min(totals))


def test_uniqueness_is_that_of_all_spanning_forests(rng):
    answers = []
    for _ in range(60):
        graph = random_graph(rng, 5, 7, largest=int(rng.integers(1, 12)))
        answers.append(solve(graph).is_unique())
        assert answers[-1] == (lightest_forests(graph) == 1)
    assert 10 < sum(answers) < 50


@pytest.mark.parametrize("many", [0, 1 << 16])
def test_forest_that_is_not_minimum_is_not_unique(many, monkeypatch):
    monkeypatch.setattr("mst.tree._MANY_EDGES", many)
    graph = Graph(3, [0, 1, 2], [1, 2, 0], [5, 7, 6])
    assert not Forest(graph, [1, 2]).is_unique() and not Forest(graph, [0]).is_unique()
    assert not Forest(Graph(4, [0, 2], [1, 3], [7, 5]), [1]).is_unique()


def test_added_edges_give_the_forest_of_the_whole_graph(rng):
    for graph in graphs(rng) * 2:
        for q in (0, 1, 5, 60):
            more = random_graph(rng, graph.n, q, largest=7)
            w = np.abs(more.w).astype(graph.w.dtype) if q else np.empty(0, graph.w.dtype)
            larger = solve(graph).add_edges(more.u, more.v, w)
            assert larger.graph.m == graph.m + q and larger.graph.w.dtype == graph.w.dtype
            assert np.array_equal(larger.graph.u[graph.m :], more.u) and np.array_equal(
                larger.graph.w[graph.m :], w
            )
            assert larger.edge_ids.tolist() == by_python_kruskal(larger.graph), graph.name


def test_edges_added_one_after_the_other_give_the_same_forest(rng):
    graph = random_graph(rng, 30, 200)
    forest = solve(Graph(30, [], [], np.empty(0, np.int32)))
    for first in range(0, 200, 20):
        rows = slice(first, first + 20)
        forest = forest.add_edges(graph.u[rows], graph.v[rows], graph.w[rows])
    assert forest.edge_ids.tolist() == solve(graph).edge_ids.tolist()


def test_added_edges_must_be_legal_and_exact():
    forest = solve((3, [0, 1], [1, 2], np.array([4, 5], np.int32)))
    assert forest.add_edges([0], [2], [1.0]).weight == 5
    for w in (1.5, np.inf, 2.0**40):
        with pytest.raises(InputError, match=r"w\[1\] = .* cannot be stored as int32"):
            forest.add_edges([0, 0], [2, 2], [1.0, w])
    floats = solve((2, [0], [1], [0.5]))
    with pytest.raises(InputError, match=r"w\[0\] = 9007199254740993 cannot be stored as float64"):
        floats.add_edges([0], [1], [2**53 + 1])
    with pytest.raises(InputError, match="is not a vertex"):
        forest.add_edges([0], [3], [1])
    with pytest.raises(InputError, match="NaN"):
        forest.add_edges([0], [1], [np.nan])


@pytest.mark.parametrize(("ids", "last"), [([0, 1, 2], 1), ([3], 3)])
def test_cycles_are_refused_by_name(ids, last):
    forest = Forest(Graph(4, [0, 1, 2, 3], [1, 2, 0, 3], [5, 7, 6, 4]), ids)
    with pytest.raises(InputError, match=f"edge {last} closes a cycle"):
        forest.labels(k=1)
