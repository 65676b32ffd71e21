"""Graphs from SciPy, networkx and tables."""

from __future__ import annotations

import datetime
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripts import run_python

import mst
from mst import Graph, InputError, formats
from mst.formats.canonical import write_canonical
from mst.graph import frozen
from mst.interop.inputs import from_networkx, from_scipy, rows_of
from mst.interop.tables import vertices
from mst.kernels.graph.symmetric import upper_triangle
from mst.simplify import simplify
from mst.solver import as_graph

networkx = pytest.importorskip("networkx")
pandas = pytest.importorskip("pandas")
pyarrow = pytest.importorskip("pyarrow")
sparse = pytest.importorskip("scipy.sparse")


def rows(graph: Graph) -> list[tuple]:
    return list(zip(graph.u.tolist(), graph.v.tolist(), graph.w.tolist()))


# SciPy

FORMATS = ("coo", "csr", "csc", "lil", "dok", "bsr", "dia")


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_every_sparse_format_is_accepted(format, kind):
    dense = np.array([[0, 3, 0, 0], [2, 0, 4, 0], [0, 0, 9, 0], [0, 0, 0, 0]])
    make = getattr(sparse, f"{format}_{kind}")
    assert rows(as_graph(make(dense))) == [(0, 1, 2), (1, 2, 4)]
    assert as_graph(make(dense)).n == 4


@pytest.mark.parametrize(
    "dtype", [np.bool_, np.int8, np.uint16, np.int32, np.int64, np.uint64, np.float32, np.float64]
)
def test_every_dtype_is_converted_exactly(dtype):
    graph = from_scipy(sparse.csr_array(np.array([[0, 1], [0, 0]], dtype)))
    assert graph.w.dtype in (np.int32, np.int64, np.float32, np.float64) and graph.w.tolist() == [1]


def test_explicit_zeros_are_edges():
    matrix = sparse.coo_array(([0.0, 5.0], ([0, 1], [1, 2])), shape=(3, 3))
    for format in ("coo", "csr", "csc"):
        assert rows(as_graph(matrix.asformat(format))) == [(0, 1, 0.0), (1, 2, 5.0)]
    assert mst.minimum_spanning_forest(matrix).components == 1


def test_padding_zeros_are_not_edges():
    block = sparse.bsr_array(np.kron(np.array([[0, 1], [0, 0]]), np.array([[1, 0], [0, 2]])), blocksize=(2, 2))
    assert rows(from_scipy(block)) == [(0, 2, 1), (1, 3, 2)]
    band = sparse.dia_array((np.array([[0.0, 0.0, 7.0]]), [1]), shape=(3, 3))
    assert rows(from_scipy(band)) == [(1, 2, 7.0)]


def test_repeated_entries_are_summed_as_in_scipy():
    matrix = sparse.coo_array(([1, 2], ([0, 0], [1, 1])), shape=(2, 2))
    assert rows(from_scipy(matrix)) == [(0, 1, matrix.toarray()[0, 1])]
    assert matrix.nnz == 2, "the caller's matrix is unchanged"


@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csc_array])
def test_entries_that_are_repeated_and_in_no_order_are_summed_and_sorted(make):
    entries = [1.0, 2.0, 4.0, 8.0, 16.0], [2, 1, 2, 0, 0], [0, 3, 5, 5]
    matrix = make(entries, shape=(3, 3))
    assert rows(from_scipy(matrix)) == [(0, 1, 2.0), (0, 2, 5.0)]
    assert [part.tolist() for part in (matrix.data, matrix.indices, matrix.indptr)] == list(entries)


@given(
    st.integers(0, 7).flatmap(
        lambda n: st.lists(st.lists(st.integers(-4, 4), min_size=n, max_size=n), min_size=n, max_size=n)
    )
)
def test_forests_have_the_weight_of_scipys(table):
    dense = np.array(table, float).reshape(len(table), len(table))
    np.fill_diagonal(dense, 0)
    matrix = sparse.csr_array(dense)
    forest = mst.minimum_spanning_forest(matrix)
    tree = sparse.csgraph.minimum_spanning_tree(matrix)
    assert forest.weight == tree.sum() and len(forest) == tree.nnz


def matrices(rng):
    """Yield small CSR arrays: symmetric ones, and ones that are not by an entry or a weight."""
    for number in range(400):
        n, m = rng.integers(1, 12), rng.integers(0, 40)
        u, v = rng.integers(0, n, (2, m))
        table = sparse.coo_array((np.ones(m), (u, v)), shape=(n, n)).tocsr()
        table = (table + table.T).tocoo()
        u, v, w = table.row, table.col, (table.row + table.col) % 3 - 1.0
        kept = np.ones(len(w), np.bool_)
        if number % 3 and len(w):
            changed = rng.integers(0, len(w), number % 5)
            if number % 2:
                kept[changed] = False
            else:
                w[changed] += 1
        if number % 7 == 0:
            w[w == 0] = rng.choice([0.0, -0.0], (w == 0).sum())
        yield sparse.coo_array((w[kept], (u[kept], v[kept])), shape=(n, n)).tocsr()


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("wide", [False, True])
def test_upper_triangles_are_those_of_symmetric_matrices_alone(threads, wide, rng, monkeypatch):
    found = []
    for matrix in matrices(rng):
        if wide:
            matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
        coordinates = matrix.tocoo()
        entries = dict(zip(zip(coordinates.row, coordinates.col), coordinates.data))
        symmetric = all(entries.get((v, u)) == w for (u, v), w in entries.items())
        parts = [frozen(part) for part in (matrix.indptr, matrix.indices, matrix.data)]
        upper = upper_triangle(*parts, threads)
        assert (upper is not None) == symmetric
        if upper is not None:
            u, v, w = upper
            expected = sorted((u, v, w) for (u, v), w in entries.items() if u < v)
            assert list(zip(u.tolist(), v.tolist(), w.tolist())) == expected
            assert u.dtype == v.dtype == np.int32 and not np.signbit(w[w == 0]).any()
        by_numpy = rows(from_scipy(matrix))
        with monkeypatch.context() as compiled:
            compiled.setattr("mst.simplify._FEW_FOR_LOADED", 0)
            compiled.setattr("mst.interop.inputs._FEW_FOR_LOADED", 0)
            graph, _ = simplify(Graph(matrix.shape[0], rows_of(matrix), matrix.indices, matrix.data))
            assert by_numpy == rows(from_scipy(matrix)) == rows(graph)
        found.append(symmetric)
    assert 100 < sum(found) < 300


def test_counterparts_in_the_next_row_do_not_count():
    # Row 1, of the first thread, has no counterpart of (0, 1), and row 2, right after it, begins with column 0;
    # (3, 0), in the rows of the second thread, has no counterpart, either.
    columns = [[0, 1, 2], [], [0, 2, 4], [0, 3], [2, 4, 5], [4, 5]]
    offsets = np.cumsum([0, *map(len, columns)], dtype=np.int32)
    columns = np.concatenate(columns).astype(np.int32)
    assert upper_triangle(*map(frozen, (offsets, columns, np.ones(len(columns)))), 2) is None


@pytest.mark.parametrize("few", [0, 1024])
def test_symmetric_matrices_with_nan_on_the_diagonal_are_refused(few, monkeypatch):
    monkeypatch.setattr("mst.interop.inputs._FEW_FOR_LOADED", few)
    with pytest.raises(InputError, match="is NaN"):
        from_scipy(sparse.csr_array(np.array([[np.nan, 1], [1, 0]])))


def test_matrices_that_are_not_graphs_are_refused():
    for matrix, message in (
        (sparse.csr_array(np.ones((2, 3))), "square"),
        (sparse.coo_array(np.ones(3)), "square"),
        (sparse.csr_array(np.array([[0, 1j], [0, 0]])), "complex128"),
        (sparse.csr_array(np.array([[0, np.nan], [0, 0]])), "NaN"),
    ):
        with pytest.raises(InputError, match=message):
            as_graph(matrix)


@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
def test_a_saved_matrix_gives_the_same_graph(tmp_path, format, rng):
    matrix = sparse.random_array((30, 30), density=0.2, rng=rng, format=format)
    matrix = (matrix + matrix.T).asformat(format)
    sparse.save_npz(tmp_path / "a.npz", matrix)
    raw = formats.read_raw(tmp_path / "a.npz")
    assert raw.format == "npz" and raw.summary.direction == "both"
    ours = sorted((min(a, b), max(a, b), w) for a, b, w in rows(raw.graph()) if a != b)
    assert ours == rows(from_scipy(matrix))
    doubled = sparse.coo_array(([1.0, 2.0, 5.0], ([0, 0, 2], [1, 1, 0])), shape=(3, 3))
    sparse.save_npz(tmp_path / "b.npz", doubled)
    assert rows(formats.read(tmp_path / "b.npz")) == [(0, 1, 3.0), (2, 0, 5.0)]


# networkx


def test_nodes_and_edges_keep_their_order():
    graph = networkx.Graph(name="cities")
    graph.add_nodes_from(["z", "isolated", ("a", 1)])
    graph.add_edge("z", ("a", 1), weight=5)
    graph.add_edge(("a", 1), "new", weight=3)
    ours = as_graph(graph)
    assert (ours.n, ours.name, ours.w.dtype.kind) == (4, "cities", "i")
    nodes, edges = list(graph), list(graph.edges)
    assert [(nodes[a], nodes[b]) for a, b, _ in rows(ours)] == edges


@pytest.mark.parametrize("kind", ["Graph", "DiGraph", "MultiGraph", "MultiDiGraph"])
def test_every_kind_of_networkx_graph_is_accepted(kind):
    graph = getattr(networkx, kind)()
    graph.add_weighted_edges_from([(0, 1, 2.5), (1, 0, 1.5), (1, 1, 9.0), (1, 2, 4.0)])
    forest = mst.minimum_spanning_forest(graph)
    assert forest.weight == 5.5
    chosen = [list(graph.edges)[e][:2] for e in forest.edge_ids]
    assert {frozenset(edge) for edge in chosen} == {frozenset((0, 1)), frozenset((1, 2))}


def test_edges_without_the_attribute_have_weight_one():
    graph = networkx.path_graph(3)
    graph.edges[0, 1]["weight"] = 0.25
    graph.edges[1, 2]["toll"] = 7
    assert as_graph(graph).w.tolist() == [0.25, 1.0]
    assert from_networkx(graph, weight="toll").w.tolist() == [1, 7]


@pytest.mark.parametrize("kind", ["Graph", "MultiDiGraph"])
def test_weights_under_another_name_are_refused_if_no_edge_has_a_weight(kind):
    graph = getattr(networkx, kind)([(0, 1), (1, 2, {"lanes": 2, "length": "far"})])
    assert as_graph(graph).w.tolist() == [1, 1]
    graph.add_edge(2, 3, length=2.5)
    with pytest.raises(
        InputError, match=r"no edge has weight, but edge \(2, 3\) has length=2.5: .*weight='length'"
    ):
        as_graph(graph)
    graph.add_edge(3, 4, weight=7)
    assert as_graph(graph).w.tolist() == [1, 1, 1, 7]


def test_subclasses_and_views_of_networkx_graphs_are_accepted():
    class Roads(networkx.Graph):
        pass

    roads = Roads()
    roads.add_weighted_edges_from([(0, 1, 1), (1, 2, 2), (2, 3, 3)])
    assert as_graph(roads).m == 3
    assert as_graph(roads.subgraph([1, 2, 3])).m == 2
    assert as_graph(networkx.Graph()).n == 0
    assert as_graph(networkx.empty_graph(3)).m == 0


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ("far", "'far'"),
        (None, "None"),
        (2**70, "must be real"),
        ([1], "must be real"),
        (float("nan"), "NaN"),
        (1j, "real"),
    ],
)
def test_illegal_weights_are_refused_with_their_edge(weight, message):
    graph = networkx.Graph()
    graph.add_weighted_edges_from([("a", "b", 1), ("b", "c", weight)])
    with pytest.raises(InputError, match=rf"edge \('b', 'c'\) has .*{message}"):
        as_graph(graph)


def test_integers_inexact_in_float64_are_refused_among_fractions():
    graph = networkx.Graph()
    graph.add_weighted_edges_from([(0, 1, 2**53 + 1), (1, 2, 0.5)])
    with pytest.raises(InputError, match="9007199254740993"):
        as_graph(graph)
    graph.edges[0, 1]["weight"] = 2**53
    assert as_graph(graph).w.tolist() == [2.0**53, 0.5]


def test_a_random_forest_has_the_weight_of_networkxs(rng):
    graph = networkx.gnm_random_graph(40, 90, seed=3)
    for i, (a, b) in enumerate(graph.edges):
        graph.edges[a, b]["weight"] = int(rng.integers(-5, 9)) if i else 0
    theirs = networkx.minimum_spanning_tree(graph)
    assert mst.minimum_spanning_forest(graph).weight == theirs.size("weight")


# tables


@pytest.mark.parametrize(
    "names",
    [("u", "v", "w"), ("source", "target", "weight"), ("src", "dst", "weight"), ("from", "to", "weight")],
)
def test_columns_are_recognised_by_their_names(names):
    columns = dict(zip(names, ([0, 1], [1, 3], [0.5, 0.25])), cost=["high", None])
    for table in (
        pandas.DataFrame(columns, index=[7, 9]),
        pyarrow.table(columns),
        pyarrow.table(columns).to_batches()[0],
    ):
        graph = as_graph(table)
        assert graph.n == 4 and rows(graph) == [(0, 1, 0.5), (1, 3, 0.25)]


def test_tables_without_weights_have_weights_of_one():
    graph = as_graph(pandas.DataFrame({"u": [0, 1], "v": [1, 2]}))
    assert graph.w.tolist() == [1, 1] and graph.w.dtype == np.int32
    assert as_graph(pandas.DataFrame({"u": [], "v": []})).n == 0


def test_a_canonical_table_keeps_its_vertex_count(tmp_path):
    path = tmp_path / "a.arrow"
    for u, v in (([0, 1], [1, 2]), ([], [])):
        write_canonical(path, Graph(9, u, v, [5, 6][: len(u)]))
        with pyarrow.memory_map(str(path)) as source:
            table = pyarrow.ipc.open_file(source).read_all()
            assert as_graph(table).n == 9
    far = pyarrow.table({"u": [0], "v": [4_000_000]})
    assert as_graph(far.replace_schema_metadata({"n": "5000000"})).n == 5_000_000
    near = pyarrow.table({"u": [0], "v": [900_000]})
    assert as_graph(near.replace_schema_metadata({"n": "many"})).n == 900_001
    with pytest.raises(InputError, match=r"declare n = '9{21}' vertices, which do not fit"):
        as_graph(near.replace_schema_metadata({"n": "9" * 21}))


def test_chunked_tables_are_joined():
    table = pyarrow.concat_tables(
        [pyarrow.table({"u": [0], "v": [1], "w": [5]}), pyarrow.table({"u": [1], "v": [2], "w": [6]})]
    )
    assert rows(as_graph(table)) == [(0, 1, 5), (1, 2, 6)]


def test_objects_with_an_arrow_stream_are_tables():
    class Foreign:
        def __arrow_c_stream__(self, requested_schema=None):
            return pyarrow.table({"u": [0], "v": [1], "w": [5]}).__arrow_c_stream__(requested_schema)

    assert rows(as_graph(Foreign())) == [(0, 1, 5)]


def test_pandas_tables_with_nullable_and_arrow_dtypes_are_accepted():
    for dtype in ("Int64", "int64[pyarrow]"):
        frame = pandas.DataFrame({"u": [0, 1], "v": [1, 2], "w": [5, 6]}).astype(dtype)
        assert rows(as_graph(frame)) == [(0, 1, 5), (1, 2, 6)]
        frame.loc[1, "w"] = None
        with pytest.raises(InputError, match=r"w\[1\] is missing"):
            as_graph(frame)


@pytest.mark.parametrize("make", [pandas.DataFrame, pyarrow.table])
def test_vertices_of_tables_may_have_labels(make):
    days = [datetime.date(2024, 1, day) for day in (3, 1, 2)]
    for a, b, c in (("x", "y", "z"), (b"x", b"y", b"z"), days):
        table = make({"u": [a, a, b], "v": [b, c, c], "w": [3, 1, 2]})
        graph = as_graph(table)
        assert (graph.n, rows(graph)) == (3, [(0, 1, 3), (0, 2, 1), (1, 2, 2)])
        assert vertices(table) == [a, b, c]
    with pytest.raises(InputError, match="are vertex ids"):
        vertices(make({"u": [0], "v": [1]}))


def test_vertices_of_data_frames_may_be_any_hashable_objects():
    a, b = (1, "x"), frozenset({2})
    assert rows(as_graph(pandas.DataFrame({"u": [a, 7], "v": [b, a], "w": [3, 1]}))) == [(0, 1, 3), (2, 0, 1)]
    categories = pandas.DataFrame({"u": ["x", "y"], "v": ["y", "z"]}).astype("category")
    assert rows(as_graph(categories)) == [(0, 1, 1), (1, 2, 1)]
    with pytest.raises(InputError, match="row 1 has an end that cannot be a vertex"):
        as_graph(pandas.DataFrame({"u": [a, [7]], "v": [b, a]}))


def test_encoded_integers_are_ids_as_plain_ones_are():
    pa = pyarrow
    u, v, w = pa.array([5, 5, 3]), pa.array([3, 1, 1]), pa.array([7, 7, 2])
    plain = as_graph(pa.table({"u": u, "v": v, "w": w}))
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array([5, 3]))
    categories = pandas.DataFrame({"u": u, "v": v, "w": w}).astype({"u": "category", "v": "category"})
    for encoded in (
        pa.table({"u": u.dictionary_encode(), "v": v.dictionary_encode(), "w": w.dictionary_encode()}),
        pa.table({"u": runs, "v": v, "w": w}),
        categories,
        pa.Table.from_pandas(categories),
    ):
        assert (as_graph(encoded).n, rows(as_graph(encoded))) == (plain.n, rows(plain)) == (6, rows(plain))
    names = pa.table({"u": pa.array(["x"]).dictionary_encode(), "v": pa.array(["y"]).dictionary_encode()})
    assert vertices(names) == ["x", "y"]


def test_nulls_among_encoded_values_are_missing():
    pa = pyarrow
    names = pa.array(["x", None]).dictionary_encode(null_encoding="encode")
    numbers = pa.array([0, None]).dictionary_encode(null_encoding="encode")
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([1, 2], pa.int32()), pa.array(["x", None]))
    for ends in (names, numbers, runs):
        assert ends.null_count == 0
        with pytest.raises(InputError, match=r"v\[1\] is missing"):
            as_graph(pa.table({"u": [0, 0], "v": ends}))


def test_tables_may_have_empty_chunks_between_chunks_of_other_lengths():
    ids = pyarrow.chunked_array([[0], [], [1, 2]], pyarrow.int32())
    for columns in ((ids, [1, 2, 3], [2, 1, 3]), ([1, 2, 3], ids, [2, 1, 3]), ([1, 2, 3], [2, 3, 0], ids)):
        given = pyarrow.table(dict(zip("uvw", columns)))
        graph = as_graph(given)
        assert [graph.u.tolist(), graph.v.tolist(), graph.w.tolist()] == [
            column.to_pylist() for column in given
        ]


def test_forests_of_labelled_tables_have_the_labels():
    days = [datetime.date(2024, 1, day) for day in (3, 1, 2)]
    for a, b, c in (("x", "y", "z"), (b"x", b"y", b"z"), days):
        table = pyarrow.table({"u": [a, a, b], "v": [b, c, c], "w": [3, 1, 2]})
        forest = mst.minimum_spanning_forest(table)
        for known in (forest, pickle.loads(pickle.dumps(forest))):
            rows = known.to_table()
            assert rows.select("uvw").equals(table.take(forest.edge_ids)) and rows["id"].to_pylist() == [1, 2]
            assert set(map(frozenset, known.to_networkx().edges)) == {frozenset({a, c}), frozenset({b, c})}
        with pytest.raises(
            InputError, match=r"vertices, got dtype .*: give their places in forest.graph.labels"
        ):
            forest.bottleneck(np.array([a]), np.array([c]))
        heaviest = mst.minimum_spanning_forest(table, maximum=True)
        assert heaviest.to_table()["u"].to_pylist() == [a, b]
        added = forest.add_edges([0], [1], [0])
        assert added.to_table()["v"].to_pylist() == [c, b]
    assert mst.minimum_spanning_forest(forest.to_table()).weight == 3


def test_labels_that_python_cannot_represent_are_refused():
    pa = pyarrow
    text = pa.py_buffer(np.array([0, 1, 2], np.int32))
    broken = pa.Array.from_buffers(pa.string(), 2, [None, text, pa.py_buffer(b"\xffa")])
    far = [pa.array([10**15, 1], kind) for kind in (pa.timestamp("s"), pa.duration("s"))]
    for labels, problem in (
        (pa.array([1, 2], pa.time64("ns")), "would lose data"),
        (pa.array([10**8, 1], pa.date32()), "out of range"),
        *((label, "too large") for label in far),
        (broken, "can't decode byte 0xff"),
    ):
        table = pa.table({"u": pa.array(["x", "y"]), "v": labels})
        frames = [] if labels is broken else [table.to_pandas(types_mapper=pandas.ArrowDtype)]
        for edges in (table, *frames):
            with pytest.raises(InputError, match=f"v holds labels that Python cannot represent: .*{problem}"):
                as_graph(edges)


def test_times_of_whole_microseconds_are_labels():
    times = pyarrow.array([1000, 2000], pyarrow.time64("ns"))
    table = pyarrow.table({"u": times, "v": times[::-1], "w": [3, 1]})
    for edges in (table, table.to_pandas(types_mapper=pandas.ArrowDtype)):
        assert vertices(edges) == [datetime.time(microsecond=k) for k in (1, 2)]
    stamps = [pandas.Timestamp(k) for k in (1, 2)]
    assert vertices(pandas.DataFrame({"u": stamps[:1], "v": stamps[1:]})) == stamps


def test_forests_of_labels_without_an_arrow_type_are_refused_as_tables():
    for label in ((1, "x"), frozenset({2}), object()):
        forest = mst.minimum_spanning_forest(pandas.DataFrame({"u": ["a", 7], "v": [label, "a"]}))
        with pytest.raises(mst.UnsupportedError, match="no type for these labels"):
            forest.to_table()
        assert forest.graph.labels == ["a", label, 7]
    zones = [datetime.time(1, tzinfo=datetime.timezone(datetime.timedelta(hours=hour))) for hour in (0, 5)]
    for a, b, kind in (
        ("a", b"a", "binary"),
        (pandas.Timestamp(1), pandas.Timestamp(2), "timestamp"),
        (pandas.Timedelta(1), pandas.Timedelta(2), "duration"),
        (*zones, "time64"),
    ):
        different = mst.minimum_spanning_forest(pandas.DataFrame({"u": [a], "v": [b]}, dtype=object))
        with pytest.raises(mst.UnsupportedError, match=f"they would all become {kind}"):
            different.to_table()
    surrogate = mst.minimum_spanning_forest(pandas.DataFrame({"u": ["\ud800"], "v": ["a"]}, dtype=object))
    with pytest.raises(mst.UnsupportedError, match="surrogates"):
        surrogate.to_table()


@pytest.mark.parametrize("make", [pandas.DataFrame, pyarrow.table])
def test_tables_that_are_not_graphs_are_refused(make):
    for columns, message in (
        ({"a": [0], "b": [1]}, "has a, b"),
        ({}, "has none"),
        ({"u": [True], "v": [False]}, "u holds booleans"),
        ({"u": [None], "v": [None]}, r"u\[0\] is missing"),
        ({"u": ["x", "y"], "v": ["y", None]}, r"v\[1\] is missing"),
        (
            {"u": [0.5], "v": [1.5]},
            r"not vertex ids: convert whole ones by astype\(int\), or number the vertices",
        ),
        ({"u": [0, 1], "v": [1, None]}, r"v\[1\] is missing"),
        ({"u": [0], "v": [1], "w": [float("nan")]}, "missing|NaN"),
        ({"u": [0], "v": [1], "w": ["far"]}, "w has dtype"),
        ({"u": [-1], "v": [1]}, "is not a vertex"),
        ({"u": [-5], "v": [-3]}, r"u\[0\] = -5 is not a vertex: .*; shift the ids"),
        ({"u": [0], "v": [2**60]}, "the largest id is [0-9,]+, with only 1 edge: number the vertices from 0"),
        ({"u": [0], "v": [1], "cost": [5]}, "no column w or weight, but cost: rename"),
        ({"source": [0], "target": [1], "Weight": [5]}, "no column w or weight, but Weight: rename"),
        ({"source": [0], "target": [1], "rating": [5]}, "no column w or weight, but rating: rename"),
        (
            {"u": [0], "v": [1], "name": ["A1"], "length_km": [5]},
            "no column w or weight, but length_km: rename",
        ),
    ):
        with pytest.raises(InputError, match=message):
            as_graph(make(columns))


def test_columns_of_arrow_that_numpy_cannot_represent_are_no_weights():
    times = pyarrow.array([1], pyarrow.time64("ns"))
    with pytest.raises(InputError, match=r"w is not an array of numbers: .*nanoseconds"):
        as_graph(pyarrow.table({"u": [0], "v": [1], "w": times}))


# other inputs


def test_paths_of_every_type_are_accepted(tmp_path):
    path = tmp_path / "a.gr"
    formats.write(path, Graph(2, [0], [1], [5]))

    class Pathlike:
        def __fspath__(self):
            return str(path)

    for given_path in (path, str(path), Pathlike()):
        assert rows(as_graph(given_path)) == [(0, 1, 5)]
    assert mst.read_graph(path).name == "a"


@pytest.mark.parametrize("thing", [None, 7, [1, 2], {"u": [0]}, np.eye(3), b"path", object()])
def test_other_objects_are_refused_with_a_list_of_accepted_types(thing):
    with pytest.raises(InputError, match=r"scipy.sparse.csr_array\(matrix\)\), a networkx graph, or a table"):
        as_graph(thing)


def test_a_tuple_of_another_number_of_values_is_refused():
    batch = (np.arange(2), np.arange(2), np.arange(2))
    with pytest.raises(InputError, match="but n is a tuple: give batches of edges as a list"):
        mst.minimum_spanning_forest((batch,) * 4)
    with pytest.raises(InputError, match=r"a graph as a tuple must be \(n, u, v, w\), got 2 values"):
        as_graph((1, 2))


def test_arrays_alone_import_no_other_library():
    code = (
        "import sys, numpy as np, mst\n"
        "mst.minimum_spanning_forest((3, np.array([0, 1]), np.array([1, 2]), np.array([5, 6])))\n"
        "print([m for m in ('scipy.sparse', 'networkx', 'pandas', 'pyarrow', 'polars') if m in sys.modules])"
    )
    assert run_python(code, cwd=Path(mst.__file__).parent.parent).stdout.strip() == "[]"


class OnlyDLPack:
    """An array of another library, in host memory, that speaks nothing but DLPack."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **how):
        return self.array.__dlpack__(**how)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_arrays_that_speak_dlpack_are_accepted_without_a_copy():
    u, v, w = np.array([0, 1], np.int32), np.array([1, 2], np.int32), np.array([0.5, 1.5])
    graph = as_graph((3, *map(OnlyDLPack, (u, v, w))))
    assert rows(graph) == [(0, 1, 0.5), (1, 2, 1.5)]
    assert np.shares_memory(graph.w, w) and np.shares_memory(graph.u, u)


def test_arrays_on_a_device_are_recognised_by_dlpack_alone(monkeypatch):
    class OnDevice:
        def __dlpack_device__(self):
            return 2, 0

    monkeypatch.setattr(
        "mst.interop.device.forest_on_device", lambda *graph, **how: (graph[0], how["algorithm"])
    )
    assert mst.minimum_spanning_forest((3, OnDevice(), OnDevice(), OnDevice())) == (3, "auto")
