"""Writing and reading returns the same graph, for any graph that a format can hold."""

from __future__ import annotations

import numpy as np
import pandas
import pyarrow as pa
import pyarrow.feather
import pytest
from adversarial import DTYPES
from drawn import graphs
from hypothesis import given
from hypothesis import strategies as st

from mst import Graph
from mst.formats import FORMATS, detect, read, read_raw, write
from mst.formats.canonical import content_digest, read_canonical, read_metadata, read_slice, write_canonical

BY_ROWS = ("canonical", "dimacs", "edges", "headed", "pbbs", "bhargava-zaia", "matrix-market")
BY_VERTEX = ("metis", "ecl", "galois", "galois-float", "gbbs")
ONLY_INT32 = ("ecl", "bhargava-zaia")
ONLY_INTEGERS = (*ONLY_INT32, "metis", "galois")


def edge_set(graph) -> list[tuple]:
    """Return the edges sorted, smaller end first, to compare formats that do not keep the order of rows."""
    low, high = np.minimum(graph.u, graph.v), np.maximum(graph.u, graph.v)
    return sorted(zip(low.tolist(), high.tolist(), (graph.w + graph.w.dtype.type(0)).tolist()))


def _dtypes(format: str) -> tuple:
    if format in ONLY_INT32:
        return (np.int32,)
    if format == "galois-float":
        return (np.float32, np.float64)
    return (np.int32, np.int64) if format in ONLY_INTEGERS else DTYPES


@pytest.mark.parametrize("format", BY_ROWS)
@given(data=st.data())
def test_row_formats_keep_order_ids_and_every_bit_of_weights(tmp_path_factory, format, data):
    graph = data.draw(graphs(dtypes=_dtypes(format)))
    path = tmp_path_factory.getbasetemp() / f"rows-{format}"
    write(path, graph, format=format)
    back = read(path, format=format)
    if format == "pbbs":
        used = int(max(graph.u.max(), graph.v.max())) + 1 if graph.m else 0
        assert back.n == used
    else:
        assert back.n == graph.n
    pairs = list(zip(back.u.tolist(), back.v.tolist()))
    given_pairs = list(zip(graph.u.tolist(), graph.v.tolist()))
    if format == "matrix-market":
        given_pairs = [tuple(sorted(pair, reverse=True)) for pair in given_pairs]
    assert pairs == given_pairs
    assert [repr(float(w)) for w in back.w] == [repr(float(w)) for w in graph.w]
    assert back.w.tolist() == graph.w.tolist()
    if graph.m:
        assert back.w.dtype.kind == graph.w.dtype.kind
    if format in ("canonical", "bhargava-zaia"):
        assert back.w.dtype == graph.w.dtype


@pytest.mark.parametrize("format", BY_VERTEX)
@given(data=st.data())
def test_adjacency_formats_keep_the_set_of_edges(tmp_path_factory, format, data):
    graph = data.draw(graphs(dtypes=_dtypes(format)))
    if format == "metis":  # which has no self-loops
        kept = graph.u != graph.v
        graph = Graph(graph.n, graph.u[kept], graph.v[kept], graph.w[kept])
    path = tmp_path_factory.getbasetemp() / f"vertex-{format}"
    write(path, graph, format=format)
    raw = read_raw(path, format=format)
    assert raw.n == graph.n and edge_set(raw.graph()) == edge_set(graph)
    if graph.m:
        assert raw.summary.direction == "both"
        assert raw.summary.mirrored == np.count_nonzero(graph.u != graph.v)


@pytest.mark.parametrize("format", [f for f in (*BY_ROWS, *BY_VERTEX) if f != "galois-float"])
def test_written_file_is_detected_by_content(tmp_path, format, rng):
    """The file name has no suffix, or a wrong one."""
    for size in (0, 1, 5, 5000):
        n = 2 * size + 1
        u, v = rng.integers(0, n, size), rng.integers(0, n, size)
        graph = Graph(n, u[u != v], v[u != v], rng.integers(1, 100, np.count_nonzero(u != v), dtype=np.int32))
        for name in ("graph", "graph.txt", "graph.gr"):
            write(tmp_path / name, graph, format=format)
            if not (format == "metis" and size == 0):
                assert detect(tmp_path / name) == format, (name, size)
                assert edge_set(read(tmp_path / name)) == edge_set(graph)


@given(graph=graphs())
def test_canonical_file_keeps_graph_and_metadata(tmp_path_factory, graph):
    path = tmp_path_factory.getbasetemp() / "canonical.arrow"
    given = {"source": "ä→b", "seed": 7, "generator": {"family": "x", "p": 0.5}, "raw_sha256": None}
    said = write_canonical(path, graph, {**given, "n": -1, "digest": "of another graph"})
    assert said == read_metadata(path)
    assert said == {
        "name": "drawn",
        "source": "ä→b",
        "seed": 7,
        "generator": {"family": "x", "p": 0.5},
        "n": graph.n,
        "m": graph.m,
        "digest": content_digest(graph),
    }
    back = read_canonical(path)
    assert back.u.dtype == graph.u.dtype and back.w.dtype == graph.w.dtype
    for ours, theirs in ((back.u, graph.u), (back.v, graph.v), (back.w, graph.w)):
        assert ours.tobytes() == theirs.tobytes()
    start = graph.m // 3
    stop = graph.m - graph.m // 4
    for ours, theirs in zip(read_slice(path, start, stop), (graph.u, graph.v, graph.w)):
        assert ours.tolist() == theirs[start:stop].tolist()


def test_canonical_file_is_mapped_not_copied(tmp_path, rng):
    path = tmp_path / "a.arrow"
    graph = Graph(1000, rng.integers(0, 1000, 100_000), rng.integers(0, 1000, 100_000), rng.random(100_000))
    write_canonical(path, graph)
    back = read_canonical(path)
    # A copy would own its memory; the base of a mapped array is a buffer of Arrow.
    for column in (back.u, back.v, back.w, *read_slice(path, 10, 20)):
        base = column
        while isinstance(base.base, np.ndarray):
            base = base.base
        assert not base.flags.owndata and not column.flags.writeable


def test_canonical_file_may_have_several_batches(tmp_path, rng):
    path, other = tmp_path / "a.arrow", tmp_path / "b.arrow"
    graph = Graph(9, rng.integers(0, 9, 100), rng.integers(0, 9, 100), rng.integers(0, 9, 100))
    write_canonical(path, graph)
    with pa.memory_map(str(path)) as source:
        table = pa.ipc.open_file(source).read_all()
        with other.open("wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            for start in range(0, 100, 33):
                writer.write_table(table.slice(start, 33))
    assert content_digest(read_canonical(other)) == content_digest(graph)
    for start, stop in ((0, 100), (10, 20), (30, 70), (33, 66), (99, 100), (50, 50)):
        for ours, theirs in zip(read_slice(other, start, stop), (graph.u, graph.v, graph.w)):
            assert ours.tolist() == theirs[start:stop].tolist()


def test_other_arrow_readers_read_the_canonical_file(tmp_path):
    path = tmp_path / "a.arrow"
    write_canonical(path, Graph(3, [0, 1], [1, 2], [0.5, 2.5], name="tiny"))
    table = pyarrow.feather.read_table(path)
    assert table.to_pydict() == {"u": [0, 1], "v": [1, 2], "w": [0.5, 2.5]}
    assert table.schema.metadata[b"name"] == b"tiny" and table.schema.metadata[b"n"] == b"3"


def test_digest_depends_on_every_part_of_the_graph():
    base = dict(n=3, u=[0, 1], v=[1, 2], w=[5, 6])
    others = [
        dict(base, n=4),
        dict(base, u=[1, 1]),
        dict(base, v=[2, 2]),
        dict(base, w=[5, 7]),
        dict(base, w=[5.0, 6.0]),
    ]
    digests = {content_digest(Graph(**parts)) for parts in (base, *others)}
    # Zeros have the same bytes in both.
    digests |= {content_digest(Graph(**dict(base, w=np.zeros(2, dtype)))) for dtype in ("i4", "f4")}
    assert len(digests) == 8
    assert content_digest(Graph(**base)) == content_digest(Graph(**base, name="other"))


def test_every_writable_format_is_tested_here():
    assert {format.id for format in FORMATS.values() if format.writable} == {*BY_ROWS, *BY_VERTEX, "csv"}


@given(graph=graphs())
def test_pandas_and_we_read_a_csv_alike(tmp_path_factory, graph):
    path = tmp_path_factory.getbasetemp() / "graph.csv"
    write(path, graph)
    table = pandas.read_csv(path)
    assert list(table.columns) == ["source", "target", "weight"]
    for column, ours in zip(table.to_numpy().T, (graph.u, graph.v, graph.w), strict=True):
        assert column.tolist() == ours.tolist()
    if graph.m:
        raw = read_raw(path)
        ids = np.array(range(raw.n) if raw.ids is None else raw.ids)
        assert ids[raw.u].tolist() == graph.u.tolist() and ids[raw.v].tolist() == graph.v.tolist()
        assert raw.w is not None and raw.w.tolist() == graph.w.tolist()
