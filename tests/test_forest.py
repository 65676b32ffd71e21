"""A forest and its conversions: SciPy arrays, networkx graphs, single-linkage hierarchies."""

from __future__ import annotations

import hashlib
import pickle
from types import SimpleNamespace

import adversarial
import networkx
import numpy as np
import pytest
from scipy.cluster import hierarchy
from scipy.sparse import csr_array

import mst
from mst import Forest, Graph, InputError
from mst.forest import _distinct_rows, digest


def solve(graph) -> Forest:
    return mst.minimum_spanning_forest(graph, algorithm="kruskal")


def test_ids_are_sorted_and_cannot_be_changed():
    given = np.array([2, 0])
    forest = Forest(Graph(4, [0, 1, 2], [1, 2, 0], [5, 7, 6]), given)
    assert forest.edge_ids.tolist() == [0, 2] and forest.edge_ids.dtype == np.int64 and len(forest) == 2
    assert given.tolist() == [2, 0]
    with pytest.raises(ValueError, match="read-only"):
        forest.edge_ids[0] = 1
    assert forest.components == 2 and forest.weight == 11 and (forest.n, forest.m) == (4, 3)
    assert repr(forest) == "<Forest 2 edges, weight 11, 2 components>"
    assert repr(Forest(Graph(2, [0], [1], [5]), [0])) == "<Forest 1 edge, weight 5, 1 component>"
    assert [array.tolist() for array in forest.edges()] == [[0, 2], [1, 0], [5, 6]]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", [np.uint16, np.uint32, np.int32, np.int64, ">i8"])
def test_many_ids_are_sorted_and_checked_as_few_are(threads, dtype, rng, monkeypatch):
    import mst.kernels.primitives.jit  # noqa: F401  a bitmap is used only where this is loaded

    monkeypatch.setattr("mst.forest.MANY", 1000)
    monkeypatch.setattr("mst.forest._FEW_OF_64_BITS", 0)
    monkeypatch.setattr("mst.forest._FEWEST_TO_SHARE", 2)
    m = 6000
    graph = Graph(4000, rng.integers(0, 4000, m), rng.integers(0, 4000, m), rng.integers(0, 9, m))
    ids = rng.permutation(m)[:3500].astype(dtype)
    assert Forest(graph, ids, threads=threads).edge_ids.tolist() == sorted(ids.tolist())
    ids[:1000].sort()  # parts that ascend already
    assert Forest(graph, ids, threads=threads).edge_ids.tolist() == sorted(ids.tolist())
    for wrong, message in (
        (ids[77], f"edge {ids[77]} occurs more than once"),
        (m, "6000 is not an edge"),
        (-1, ""),
    ):
        changed = ids.astype(np.int64)
        changed[5] = wrong
        with pytest.raises(InputError, match=message or "-1 is not an edge"):
            Forest(graph, changed, threads=threads)


def test_ids_of_another_byte_order_are_not_read_as_large_ones():
    import mst.kernels.primitives.jit  # noqa: F401  a bitmap is used only where this is loaded

    ids = (256 * np.arange(40_000)).astype(">i4")
    edges = SimpleNamespace(n=2**24, m=2**24)  # the ids would also be rows if their bytes were swapped
    assert _distinct_rows(ids, edges, 1).tolist() == ids.tolist()


def test_approximate_forests_are_labelled():
    graph = Graph(4, [0, 1, 2, 3], [1, 2, 3, 0], [5, 7, 6, 8])
    assert solve(graph).exact and all(seconds >= 0 for seconds in solve(graph).seconds.values())
    forest = mst.minimum_spanning_forest(graph, algorithm="bucket")
    assert not forest.exact and repr(forest).startswith("<Approximate forest: 3 edges")
    larger = forest.add_edges([0], [2], [9])
    assert (larger.exact, larger.algorithm) == (False, "bucket")


@pytest.mark.parametrize("how", [dict(algorithm="bucket"), dict(maximum=True), {}])
def test_unpickled_forest_is_of_the_same_kind(how):
    graph = Graph(4, [0, 1, 2, 3], [1, 2, 3, 0], [5, 7, 6, 8], name="ring")
    forest = mst.minimum_spanning_forest(graph, **how)
    again = pickle.loads(pickle.dumps(forest))
    for name in ("algorithm", "seconds", "exact", "maximum", "weight"):
        assert getattr(again, name) == getattr(forest, name)
    assert again.graph.name == "ring" and again.edge_ids.tolist() == forest.edge_ids.tolist()


def test_digest_is_of_little_endian_ids():
    expected = hashlib.sha256(b"\0" * 8 + b"\2" + b"\0" * 7).hexdigest()
    for ids in ([2, 0], np.array([0, 2], np.int32), np.array([0, 2], ">i8")):
        assert digest(np.asarray(ids)) == expected
    assert digest(np.empty(0, np.int64)) == hashlib.sha256(b"").hexdigest()
    assert Forest(Graph(3, [0] * 3, [1] * 3, [1] * 3), np.array([2, 0])).digest == expected


def test_to_scipy_stores_every_edge_where_it_is(rng):
    for graph in adversarial.small(rng):
        forest = solve(graph)
        array = forest.to_scipy()
        assert isinstance(array, csr_array) and array.shape == (graph.n, graph.n)
        assert array.dtype == graph.w.dtype and array.nnz == len(forest) and array.has_sorted_indices
        entries = array.tocoo()
        found = sorted(zip(entries.row.tolist(), entries.col.tolist(), entries.data.tolist()))
        assert found == sorted(zip(*(x.tolist() for x in forest.edges()))), graph.name


def test_to_networkx_names_nodes_and_keeps_numbers(rng):
    for graph in adversarial.small(rng):
        forest = solve(graph)
        tree = forest.to_networkx()
        assert list(tree) == list(range(graph.n)) and tree.number_of_edges() == len(forest)
        for a, b, data in tree.edges(data=True):
            assert {a, b} == {graph.u[data["id"]], graph.v[data["id"]]}
            assert data["weight"] == graph.w[data["id"]] and type(data["weight"]) in (int, float)
        assert networkx.number_connected_components(tree) == forest.components if graph.n else True


BILLIONS = range(2**31 - 2, 2**31 + 1)
OF_32_BITS = range(2**31 - 3, 2**31)


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("20 5 1.5\n10 20 2.5\n", [5, 10, 20]),
        ("# Nodes: 5 Edges: 2\n20 5 1.5\n10 20 2.5\n", [5, 10, 20, -1, -2]),
        ("# Nodes: 3 Edges: 2\n3 1 1.5\n2 3 2.5\n", range(1, 4)),
        ("3 1 1.5\n2 3 2.5\n", range(1, 4)),
        ("8 6 1.5\n7 8 2.5\n", range(6, 9)),
        ("# Nodes: 3 Edges: 2\n8 6 1.5\n7 8 2.5\n", range(6, 9)),
        (f"{2**63 - 1} {2**63 - 3} 1.5\n{2**63 - 2} {2**63 - 1} 2.5\n", range(2**63 - 3, 2**63)),
        (f"{BILLIONS[2]} {BILLIONS[0]} 1.5\n{BILLIONS[1]} {BILLIONS[2]} 2.5\n", BILLIONS),
        (f"{OF_32_BITS[2]} {OF_32_BITS[0]} 1.5\n{OF_32_BITS[1]} {OF_32_BITS[2]} 2.5\n", OF_32_BITS),
        ("2 0 1.5\n1 2 2.5\n", None),
        ("p sp 4 2\na 3 1 1.5\na 2 3 2.5\n", range(1, 5)),
        ("p tw 4 2\n3 1 1.5\n2 3 2.5\n", range(1, 5)),
        ("%%MatrixMarket matrix coordinate real symmetric\n4 4 2\n3 1 1.5\n2 3 2.5\n", range(1, 5)),
        ("4 2 001\n3 1.5\n3 2.5\n1 1.5 2 2.5\n\n", range(1, 5)),
        ("SECTION Graph\nNodes 4\nEdges 2\nE 3 1 1.5\nE 2 3 2.5\nEND\n", range(1, 5)),
        (
            "<NUMBER OF NODES> 4\n<NUMBER OF LINKS> 2\n<END OF METADATA>\n3 1 9 1.5 ;\n2 3 9 2.5 ;\n",
            range(1, 5),
        ),
        ("3 2\n3 1 1.5\n2 3 2.5\n", range(1, 4)),
        ("4 2\n2 0 1.5\n1 2 2.5\n", None),
        (
            "DIMENSION: 3\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: UPPER_ROW\nEDGE_WEIGHT_SECTION\n"
            "9 1.5\n2.5\n",
            range(1, 4),
        ),
        (
            "DIMENSION: 3\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: FULL_MATRIX\nEDGE_WEIGHT_SECTION\n"
            "0 9 1.5\n9 0 2.5\n1.5 2.5 0\n",
            range(1, 4),
        ),
    ],
)
def test_files_have_their_ids_back(text, ids, tmp_path):
    (path := tmp_path / "graph").write_text(text)
    forest = mst.minimum_spanning_forest(path)
    assert getattr(forest.graph, "labels", None) == ids and (ids is None or forest.graph.n == len(ids))
    a, b, c, *_ = range(3) if ids is None else ids
    ordered = {(a, c, 1.5), (b, c, 2.5)}
    for known in (forest, pickle.loads(pickle.dumps(forest))):
        u, v, w = (known.to_table()[name].to_pylist() for name in "uvw")
        assert {(min(edge), max(edge), x) for *edge, x in zip(u, v, w)} == ordered
        if isinstance(ids, range):
            assert known.to_table()["u"].type == ("int32" if max(ids) < 2**31 else "int64")
        tree = known.to_networkx()
        assert set(tree) == set(range(forest.graph.n) if ids is None else ids)
        assert {(min(edge), max(edge)) for edge in tree.edges} == {edge[:2] for edge in ordered}


def test_points_of_tsplib_have_their_ids_back(tmp_path):
    (path := tmp_path / "graph").write_text(
        "DIMENSION: 3\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n1 0 0\n2 0 9\n3 0 1\nEOF\n"
    )
    assert mst.minimum_spanning_forest(path).to_table().select("uv").to_pylist() == [
        {"u": 1, "v": 3},
        {"u": 2, "v": 3},
    ]


def test_a_table_of_a_forest_with_ids_from_1_is_a_graph_with_these_ids(tmp_path):
    (path := tmp_path / "graph.gr").write_text("p sp 4 2\na 1 2 5\na 2 3 6\n")
    again = mst.minimum_spanning_forest(mst.minimum_spanning_forest(path).to_table())
    assert again.graph.n == 5 and again.to_table().select("uvw").to_pylist() == [
        {"u": 1, "v": 2, "w": 5},
        {"u": 2, "v": 3, "w": 6},
    ]


def test_to_networkx_leads_back_to_the_callers_nodes():
    original = networkx.Graph()
    original.add_weighted_edges_from([("a", "b", 1.5), ("b", "c", 2.5), ("a", "c", 0.5)])
    forest = mst.minimum_spanning_forest(original)
    assert sorted(forest.to_networkx().edges) == [("a", "b"), ("a", "c")]
    assert forest.to_table()["v"].to_pylist() == ["b", "c"]
    tree = forest.to_networkx("xyz", weight="length")
    assert networkx.get_edge_attributes(tree, "length") == {("x", "y"): 1.5, ("x", "z"): 0.5}
    from_one = networkx.path_graph(range(1, 4))
    assert list(mst.minimum_spanning_forest(from_one).to_networkx()) == [1, 2, 3]
    assert not hasattr(mst.minimum_spanning_forest(networkx.path_graph(3)).graph, "labels")
    with pytest.raises(InputError, match="nodes has 2 names for 3 vertices"):
        forest.to_networkx(["a", "b"])
    with pytest.raises(InputError, match="nodes has only 2 different names for 3 vertices"):
        forest.to_networkx("aba")


@pytest.mark.parametrize("dtype", adversarial.DTYPES, ids=str)
def test_linkage_cuts_into_scipys_clusters_where_distances_tie(dtype, rng):
    low, high = np.triu_indices(25, 1)
    distances = rng.integers(1, 8, len(low)).astype(dtype)
    ours = solve(Graph(25, low, high, distances)).linkage()
    theirs = hierarchy.linkage(distances.astype(np.float64), "single")
    assert hierarchy.is_valid_linkage(ours) and np.array_equal(ours[:, 2], theirs[:, 2])
    for height in np.unique(ours[:, 2]):
        a, b = (hierarchy.fcluster(z, height, "distance") for z in (ours, theirs))
        assert len(set(zip(a, b))) == len(set(a)) == len(set(b))


def test_linkage_of_every_small_graph_counts_merged_vertices(rng):
    for graph in adversarial.small(rng):
        if graph.n == 0:
            continue
        forest = solve(graph)
        linkage = forest.linkage()
        assert linkage.shape == (graph.n - 1, 4)
        assert (linkage[1:, 2] >= linkage[:-1, 2]).all(), graph.name
        assert np.isinf(linkage[len(forest) :, 2]).all()
        heights = np.sort(graph.w[forest.edge_ids]).astype(float)
        assert np.array_equal(linkage[: len(forest), 2], heights), graph.name
        members = {x: {x} for x in range(graph.n)}
        for row, (a, b, _, size) in enumerate(linkage):
            assert a < b
            members[graph.n + row] = members.pop(a) | members.pop(b)
            assert len(members[graph.n + row]) == size, graph.name
        assert len(members) == 1
