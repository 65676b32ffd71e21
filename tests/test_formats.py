"""Hand-written files of each format: detection, reading and writing."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import struct
import tarfile
import zipfile

import numpy as np
import pytest
from scripts import run_python

from mst import ConfigError, FormatError, Graph, InputError, UnsupportedError, formats
from mst.formats import FORMATS, detect, read, read_raw, write
from mst.formats import edges as edge_lists
from mst.formats.source import SUFFIXES
from mst.streaming import open_edges

zstandard = pytest.importorskip("zstandard")

TRIANGLE = Graph(4, [0, 1, 2], [1, 2, 0], [5, 7, -6])


def ints(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}i", *values)


def words(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}Q", *values)


# (name, content, format, n, edges as (u, v) or (u, v, w))
FILES = [
    (
        "dimacs",
        b"c hi\n\np sp 4 3\na 1 2 5\nc in between\na 2 3 7\r\na 3 1 -6",
        "dimacs",
        4,
        [(0, 1, 5), (1, 2, 7), (2, 0, -6)],
    ),
    ("dimacs of no edges", b"p sp 4 0\n", "dimacs", 4, []),
    ("dimacs with fractions", b"p sp 2 2\na 1 2 5\na 2 1 2.5\n", "dimacs", 2, [(0, 1, 5.0), (1, 0, 2.5)]),
    ("dimacs colouring", b"c x\np edge 3 2\ne 1 2\ne 2 3\n", "dimacs", 3, [(0, 1), (1, 2)]),
    ("dimacs colouring, weighted", b"p col 3 2\nc x\ne 1 2 9\ne 2 3 8\n", "dimacs", 3, [(0, 1, 9), (1, 2, 8)]),
    ("pace", b"c x\np tw 4 2\n1 2\n2 4\n", "dimacs", 4, [(0, 1), (1, 3)]),
    ("pace, weighted", b"p tw 4 2\n1 2 3\n2 4 3\n", "dimacs", 4, [(0, 1, 3), (1, 3, 3)]),
    (
        "steinlib",
        b"33D32945 STP File, STP Format Version 1.0\nSECTION Comment\nName x\nEND\n\nSECTION Graph\nNodes 3\n"
        b"Edges 2\nE 1 2 4\nE 2 3 5\nEND\n\nSECTION Terminals\nTerminals 1\nT 1\nEND\nEOF\n",
        "steinlib",
        3,
        [(0, 1, 4), (1, 2, 5)],
    ),
    ("pace 2018", b"SECTION Graph\nNodes 3\nEdges 1\nE 3 2 4\nEND\n", "steinlib", 3, [(2, 1, 4)]),
    ("steinlib arcs", b"SECTION Graph\nNodes 3\nArcs 1\nA 3 2 4\nEND\n", "steinlib", 3, [(2, 1, 4)]),
    (
        "snap",
        b"# Directed graph\n# Nodes: 5 Edges: 2\n# FromNodeId\tToNodeId\n0\t1\n1\t3\n",
        "edges",
        5,
        [(0, 1), (1, 3)],
    ),
    ("snap, ids from 1", b"# Nodes: 3 Edges: 2\n1 2\n2 3\n", "edges", 3, [(0, 1), (1, 2)]),
    ("snap, ids beyond the count", b"# Nodes: 3 Edges: 2\n10 20\n20 31\n", "edges", 3, [(0, 1), (1, 2)]),
    (
        "snap, a vertex counted and not named",
        b"# Nodes: 4 Edges: 2\n10 20\n20 31\n",
        "edges",
        4,
        [(0, 1), (1, 2)],
    ),
    ("snap of no edges", b"# Nodes: 3 Edges: 0\n", "edges", 3, []),
    ("snap, counts apart", b"# Nodes: 5\n# Edges: 2\n0 1\n1 3\n", "edges", 5, [(0, 1), (1, 3)]),
    ("snap, isolated vertex", b"# Nodes: 4 Edges: 2\n1 2\n2 4\n", "edges", 4, [(0, 1), (1, 3)]),
    ("blanks", b"7 3\n3 9\n", "edges", 3, [(1, 0), (0, 2)]),
    ("blanks, as many rows as columns", b"0 1\n2 0\n", "edges", 3, [(0, 1), (2, 0)]),
    ("tabs and weights", b"7\t3\t1.5\n3\t9\t2\n", "edges", 3, [(1, 0, 1.5), (0, 2, 2.0)]),
    ("commas", b"\xef\xbb\xbf7,3, 4\r\n3 ,9,5\r\n", "edges", 3, [(1, 0, 4), (0, 2, 5)]),
    ("semicolons", b"7;3\n3;9\n", "edges", 3, [(1, 0), (0, 2)]),
    ("header row", b"id_1,id_2\n0,2\n1,2\n", "edges", 3, [(0, 2), (1, 2)]),
    ("header row with weight", b"one_node other_node cost\n1 2 -5\n", "edges", 2, [(0, 1, -5)]),
    (
        "header row, columns in any order",
        b'"weight","name","target","source"\n5,ann,1,0\n6,,2,1\n',
        "edges",
        3,
        [(1, 0, 5), (2, 1, 6)],
    ),
    (
        "header row and row names of R",
        b'"","source","target","weight"\n"1",7,3,1.5\n"2",3,9,2\n',
        "edges",
        3,
        [(1, 0, 1.5), (0, 2, 2.0)],
    ),
    (
        "header row and index of pandas",
        b"\tu\tv\tw\n0\t7\t3\t4\n1\t3\t9\t5\n",
        "edges",
        3,
        [(1, 0, 4), (0, 2, 5)],
    ),
    (
        "header row, more columns",
        b"source,target,colour,year\n0,1,red,3\n1,2,,4\n",
        "edges",
        3,
        [(0, 1), (1, 2)],
    ),
    (
        "header row of Gephi",
        b"Source,Target,Type,Id,Label,timeset,Weight\n7,3,Undirected,0,,,4\n3,9,Undirected,1,,,5\n",
        "edges",
        3,
        [(1, 0, 4), (0, 2, 5)],
    ),
    ("header row, weight with a unit", b"from_id,to_id,length_m,name\n0,1,5,A1\n", "edges", 2, [(0, 1, 5)]),
    ("header row, weight with a unit in brackets", b"u;v;cost (eur);note\n0;1;5;6\n", "edges", 2, [(0, 1, 5)]),
    ("header row, no weight but an id of edges", b"from,to,value_id,note\n0,1,5,6\n", "edges", 2, [(0, 1)]),
    ("header row, ids of edges", b"id,source,target\n5,7,3\n6,3,9\n", "edges", 3, [(1, 0), (0, 2)]),
    (
        "numbered rows",
        b"0 0 1 0.5\n1 0 2 0.25\n2 1 2 8\n",
        "edges",
        3,
        [(0, 1, 0.5), (0, 2, 0.25), (1, 2, 8.0)],
    ),
    (
        "konect",
        b"% asym positive\n% 2 3 3\n1 2 7 1082040961\n2 3 8 1082155839\n",
        "edges",
        3,
        [(0, 1, 7), (1, 2, 8)],
    ),
    ("comments below", b"1 2\n# half-way\n\n% and so\n2 3\n", "edges", 3, [(0, 1), (1, 2)]),
    (
        "loops and parallel edges",
        b"1 1 3\n1 2 4\n2 1 4\n1 2 2\n",
        "edges",
        2,
        [(0, 0, 3), (0, 1, 4), (1, 0, 4), (0, 1, 2)],
    ),
    ("algs4", b"3\n2\n0 1 0.5\n1 2 0.25\n", "headed", 3, [(0, 1, 0.5), (1, 2, 0.25)]),
    ("algs4 without weights", b"3\n2\n0 1\n1 2\n", "headed", 3, [(0, 1), (1, 2)]),
    ("stanford", b"3 2\n1 2 5\n2 3 6\n", "headed", 3, [(0, 1, 5), (1, 2, 6)]),
    ("headed, from 0", b"\xef\xbb\xbf4 2\n0 1 5\n2 3 6\n", "headed", 4, [(0, 1, 5), (2, 3, 6)]),
    ("headed without weights", b"9 2\n1 9\n2 3\n", "headed", 9, [(0, 8), (1, 2)]),
    ("headed of no edges", b"9 0\n", "headed", 9, []),
    (
        "matrix market pattern",
        b"%%MatrixMarket matrix coordinate pattern symmetric\n% x\n\n3 3 2\n2 1\n3 2\n",
        "matrix-market",
        3,
        [(1, 0), (2, 1)],
    ),
    (
        "matrix market real",
        b"%%MatrixMarket matrix coordinate real general\n3 3 3\n2 1 4\n1 2 4\n3 3 0\n",
        "matrix-market",
        3,
        [(1, 0, 4.0), (0, 1, 4.0), (2, 2, 0.0)],
    ),
    (
        "matrix market integer",
        b"%%matrixmarket MATRIX Coordinate Integer General\n3 3 1\n2 1 -4\n",
        "matrix-market",
        3,
        [(1, 0, -4)],
    ),
    ("metis", b"% c\n4 3\n2 3\n1 3\n2 1\n\n", "metis", 4, [(0, 1), (0, 2), (1, 2)]),
    ("metis, edge weights", b"3 2 001\n2 7\n1 7 3 8\n2 8\n", "metis", 3, [(0, 1, 7), (1, 2, 8)]),
    (
        "metis, all weights",
        b"3 2 111 2\n1 1 1 2 7\n1 1 1 1 7 3 8\n1 1 1 2 8\n",
        "metis",
        3,
        [(0, 1, 7), (1, 2, 8)],
    ),
    ("metis, vertex weights", b"3 2 10\n5 2\n5 1 3\n5 2\n", "metis", 3, [(0, 1), (1, 2)]),
    ("metis, fractions", b"3 2 1\n2 7\n1 7 3 0.5\n2 0.5\n", "metis", 3, [(0, 1, 7.0), (1, 2, 0.5)]),
    ("pbbs", b"WeightedEdgeArray\n0 1 5\n3 2 6\n", "pbbs", 4, [(0, 1, 5), (3, 2, 6)]),
    ("pbbs without weights", b"EdgeArray\n0 1\n3 2\n", "pbbs", 4, [(0, 1), (3, 2)]),
    (
        "gbbs",
        b"WeightedAdjacencyGraph\n3\n4\n0\n1\n3\n1\n0\n2\n1\n7\n7\n8\n8\n",
        "gbbs",
        3,
        [(0, 1, 7), (1, 2, 8)],
    ),
    ("gbbs without weights", b"AdjacencyGraph\n3\n4\n0\n1\n3\n1\n0\n2\n1", "gbbs", 3, [(0, 1), (1, 2)]),
    (
        "gbbs, arcs that do not pair up",
        b"WeightedAdjacencyGraph\n3 2 0 1 2 1 2 0.5 1\n",
        "gbbs",
        3,
        [(0, 1, 0.5), (1, 2, 1.0)],
    ),
    ("ecl", ints(3, 4, 0, 1, 3, 4, 1, 0, 2, 1, 7, 7, 8, 8), "ecl", 3, [(0, 1, 7), (1, 2, 8)]),
    ("ecl without weights", ints(3, 4, 0, 1, 3, 4, 1, 0, 2, 1), "ecl", 3, [(0, 1), (1, 2)]),
    ("ecl, one way weighs more", ints(2, 2, 0, 1, 2, 1, 0, 7, 8), "ecl", 2, [(0, 1, 7), (1, 0, 8)]),
    (
        "galois",
        words(1, 4, 3, 3, 1, 2, 3) + ints(1, 0, 0, 0) + ints(7, 7, 8),
        "galois",
        3,
        [(0, 1, 7), (1, 0, 7), (2, 0, 8)],
    ),
    ("galois, even", words(1, 4, 2, 2, 1, 2) + ints(1, 0) + ints(7, 7), "galois", 2, [(0, 1, 7)]),
    ("galois without weights", words(1, 0, 2, 2, 1, 2) + ints(1, 0), "galois", 2, [(0, 1)]),
    ("galois 2", words(2, 8, 2, 2, 1, 2, 1, 0, 2**40, 2**40), "galois", 2, [(0, 1, 2**40)]),
    ("bhargava-zaia", ints(5, 2, 0, 1, -7, 4, 1, 8), "bhargava-zaia", 5, [(0, 1, -7), (4, 1, 8)]),
    (
        "matrix",
        b"0,3,,0,1\n3,0,4,0,0\n,4,0,-,0\n0,0,-,0,inf\n1,0,0,inf,0\n",
        "matrix",
        5,
        [(0, 1, 3.0), (0, 4, 1.0), (1, 2, 4.0)],
    ),
    ("matrix of whole numbers", b"-,3,\n3,-,4\n,4,-\n", "matrix", 3, [(0, 1, 3), (1, 2, 4)]),
    (
        "matrix, not symmetric",
        b"0,3,0,0,0\n0,0,4,0,0\n0,0,0,0,0\n0,0,0,5,0\n0,0,0,0,0\n",
        "matrix",
        5,
        [(0, 1, 3), (1, 2, 4), (3, 3, 5)],
    ),
    (
        "matrix, longer than a small block",
        b"".join(
            b",".join(b"%d" % (10 + min(i, j) if abs(i - j) == 1 else 0) for j in range(12)) + b"\n"
            for i in range(12)
        ),
        "matrix",
        12,
        [(i, i + 1, 10 + i) for i in range(11)],
    ),
    (
        "tntp",
        b"<NUMBER OF NODES> 4\n<FIRST THRU NODE> 1\n<NUMBER OF LINKS> 2\n<END OF METADATA>\n\n"
        b"~ \tinit_node\tterm_node\tcapacity\tfree_flow_time\tlength\tb ;\n"
        b"\t1\t2\t9\t5\t0.5\t1;\n\t2\t4\t9\t5\t2\t1 ;\n",
        "tntp",
        4,
        [(0, 1, 0.5), (1, 3, 2.0)],
    ),
    (
        "tntp, names of two words",  # http://www.bgu.ac.il/~bargera/tntp/
        b"<NUMBER OF NODES> 2\n<NUMBER OF LINKS> 1\n<END OF METADATA>\n"
        b"~ \tInit node \tTerm node \tCapacity \tLength \tFree Flow Time \tB\t;\n\t1\t2\t9\t6\t7\t0.15\t;\n",
        "tntp",
        2,
        [(0, 1, 6)],
    ),
    (
        "tntp without names",
        b"<NUMBER OF NODES> 4\n<NUMBER OF LINKS> 1\n<END OF METADATA>\n1 2 9 3 5 ;\n",
        "tntp",
        4,
        [(0, 1, 3)],
    ),
]


def tsp(kind: str, rest: str, n: int = 3) -> bytes:
    return f"NAME : x\nTYPE: TSP\nDIMENSION : {n}\nEDGE_WEIGHT_TYPE : {kind}\n{rest}EOF\n".encode()


def explicit(form: str, numbers: str) -> bytes:
    return tsp("EXPLICIT", f"EDGE_WEIGHT_FORMAT: {form}\nEDGE_WEIGHT_SECTION\n{numbers}\n")


FULL = [(0, 1, 1), (0, 2, 2), (1, 2, 3)]
POINTS = "NODE_COORD_SECTION\n2 3 4\n1 0 0\n3 1.4 0\n"
FILES += [
    ("tsplib full", explicit("FULL_MATRIX", "0 1 2\n1 0 3 2\n3 0"), "tsplib", 3, FULL),
    (
        "tsplib full, not symmetric",
        explicit("FULL_MATRIX", "0 1 2\n4 0 3\n5 6 0"),
        "tsplib",
        3,
        [(0, 1, 1), (0, 2, 2), (1, 0, 4), (1, 2, 3), (2, 0, 5), (2, 1, 6)],
    ),
    ("tsplib upper row", explicit("UPPER_ROW", "1 2\n3"), "tsplib", 3, FULL),
    ("tsplib lower col", explicit("LOWER_COL", "1 2 3"), "tsplib", 3, FULL),
    ("tsplib lower row", explicit("LOWER_ROW", "1\n2 3"), "tsplib", 3, FULL),
    ("tsplib upper col", explicit("UPPER_COL", "1 2 3"), "tsplib", 3, FULL),
    ("tsplib upper diagonal row", explicit("UPPER_DIAG_ROW", "0 1 2\n0 3\n0"), "tsplib", 3, FULL),
    ("tsplib lower diagonal col", explicit("LOWER_DIAG_COL", "0 1 2 0 3 0"), "tsplib", 3, FULL),
    ("tsplib lower diagonal row", explicit("LOWER_DIAG_ROW", "0\n1 0\n2 3 0"), "tsplib", 3, FULL),
    ("tsplib upper diagonal col", explicit("UPPER_DIAG_COL", "0 1 0 2 3 0"), "tsplib", 3, FULL),
    ("tsplib euclidean", tsp("EUC_2D", POINTS), "tsplib", 3, [(0, 1, 5), (0, 2, 1), (1, 2, 4)]),
    ("tsplib euclidean, rounded up", tsp("CEIL_2D", POINTS), "tsplib", 3, [(0, 1, 5), (0, 2, 2), (1, 2, 5)]),
    ("tsplib manhattan", tsp("MAN_2D", POINTS), "tsplib", 3, [(0, 1, 7), (0, 2, 1), (1, 2, 6)]),
    ("tsplib maximum", tsp("MAX_2D", POINTS), "tsplib", 3, [(0, 1, 4), (0, 2, 1), (1, 2, 4)]),
    ("tsplib pseudo-euclidean", tsp("ATT", POINTS), "tsplib", 3, [(0, 1, 2), (0, 2, 1), (1, 2, 2)]),
]


def rows(graph) -> list[tuple]:
    """Edges, smaller end first, sorted."""
    weights = graph.w.tolist() if graph.w is not None else None
    pairs = zip(graph.u.tolist(), graph.v.tolist())
    return sorted(
        (*sorted(pair), weights[e]) if weights else tuple(sorted(pair)) for e, pair in enumerate(pairs)
    )


def in_order(edges: list[tuple]) -> list[tuple]:
    return sorted((*sorted(edge[:2]), *edge[2:]) for edge in edges)


@pytest.mark.parametrize(("content", "format", "n", "edges"), [f[1:] for f in FILES], ids=[f[0] for f in FILES])
def test_hand_written_file_is_detected_and_read(tmp_path, content, format, n, edges):
    path = tmp_path / "some.file"
    path.write_bytes(content)
    assert detect(path) == format or (detect(path), format) == ("edges", "headed")
    raw = read_raw(path)
    assert (raw.format, raw.n) == (format, n)
    assert rows(raw) == in_order(edges)
    weighted = bool(edges) and len(edges[0]) == 3
    assert (raw.w is not None) == (weighted or (not edges and format in ("dimacs",)))
    if weighted:
        kind = "f" if isinstance(edges[0][2], float) else "i"
        assert raw.w.dtype.kind == kind
    named = read_raw(path, format=format)
    assert rows(named) == rows(raw) and named.n == n
    graph = read(path)
    assert graph.m == len(edges) and graph.w.tolist() == (raw.w.tolist() if weighted else [1] * graph.m)
    if not weighted:
        assert graph.w.dtype == np.int32


@pytest.mark.parametrize(
    ("content", "edges"),
    [
        (f[1], f[4])
        for f in FILES
        if f[2] in ("dimacs", "edges", "headed", "pbbs", "bhargava-zaia", "matrix-market")
    ],
)
def test_row_formats_keep_order_and_direction_of_rows(tmp_path, content, edges):
    path = tmp_path / "some.file"
    path.write_bytes(content)
    raw = read_raw(path)
    assert list(zip(raw.u.tolist(), raw.v.tolist())) == [edge[:2] for edge in edges]


def test_galois_float_weights_are_read_when_the_format_is_named(tmp_path):
    path = tmp_path / "road.gr"
    path.write_bytes(words(1, 4, 2, 2, 1, 2) + ints(1, 0) + struct.pack("<2f", 0.5, 0.5))
    raw = read_raw(path, format="galois-float")
    assert rows(raw) == [(0, 1, 0.5)] and raw.w.dtype == np.float32


def test_original_ids_are_kept_in_ascending_order(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("500 7\n7 20000000000\n")
    raw = read_raw(path)
    assert raw.original_ids.tolist() == [7, 500, 20000000000]
    assert raw.original_ids[raw.u].tolist() == [500, 7] and raw.u.dtype == np.int32
    path.write_text("# Nodes: 4 Edges: 1\n500 7\n")
    assert read_raw(path).original_ids.tolist() == [7, 500, -1, -1]
    assert read(path).labels == [7, 500, -1, -2]
    path.write_text("0 1\n1 2\n")
    assert read_raw(path).original_ids is None


def test_summary_holds_declared_counts_direction_and_remarks(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("# Undirected graph\n# Nodes: 3 Edges: 2\n0 1\n1 2\n")
    summary = read_raw(path).summary
    assert (summary.rows, summary.declared_n, summary.declared_m, summary.direction) == (2, 3, 2, "edges")
    for kind, direction in (("sym", "edges"), ("asym", "arcs")):
        path.write_text(f"% {kind} unweighted\n1 2\n2 3\n")
        assert read_raw(path).summary.direction == direction
    path.write_text("3 2\n2\n1 3\n2\n")
    summary = read_raw(path).summary
    assert (summary.rows, summary.declared_m, summary.direction, summary.mirrored) == (4, 2, "both", 2)
    path.write_text("9 1\n1 2 7\n")
    assert "count from 0" in read_raw(path).summary.remarks[0]
    path.write_text("9 1\n1 9 7\n")
    assert not read_raw(path).summary.remarks


def test_integer_weights_are_exact_and_of_the_narrowest_dtype(tmp_path):
    path = tmp_path / "a.txt"
    for text, dtype in (
        ("2147483647", np.int32),
        ("-2147483648", np.int32),
        ("2147483648", np.int64),
        ("9223372036854775807", np.int64),
        ("1.0", np.float64),
        ("inf", np.float64),
        ("1e3", np.float64),
    ):
        path.write_text(f"0 1 5\n0 2 {text}\n")
        w = read_raw(path).w
        assert w.dtype == dtype and w[1] == dtype(float(text) if dtype == np.float64 else int(text))


def test_ids_beyond_int32_are_int64(tmp_path, monkeypatch):
    monkeypatch.setattr("mst.formats.files.too_many_vertices", lambda n, rows: "")
    path = tmp_path / "a.gr"
    path.write_text(f"p sp {2**33} 1\na {2**33} 1 5\n")
    graph = read(path)
    assert graph.n == 2**33 and graph.u.dtype == np.int64 and graph.u[0] == 2**33 - 1


def test_two_columns_are_headed_only_if_the_first_row_counts_the_others(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("9 2\n1 9\n2 3\n")
    assert read_raw(path).format == "headed"
    assert read_raw(path, format="edges").m == 3
    path.write_text("9 3\n1 9\n2 3\n")
    with pytest.raises(FormatError, match="could be edges or headed"):  # a row is missing, or it is an edge
        read_raw(path)
    for first in ("8 2", "9 90"):  # ids above the count; more edges than pairs
        path.write_text(f"{first}\n1 9\n2 3\n")
        assert read_raw(path).format == "edges"


@pytest.mark.parametrize("top", ["source,target", '"src" "dst"', "u\tv", "% sym unweighted", "# Nodes: 10"])
def test_lists_of_edges_by_their_header_or_comment_have_no_counts_in_the_first_row(top, tmp_path):
    path = tmp_path / "a.txt"
    rows = "9 2\n1 9\n2 3\n", "9 3\n1 9\n2 3\n", "1 0\n"
    for text in rows[:2] if top.startswith("%") else rows:  # KONECT counts from 1
        path.write_text(f"{top}\n{text.replace(' ', ',') if ',' in top else text}")
        assert read_raw(path).format == "edges" and read(path).m == text.count("\n")
        assert sum(len(batch.u) for batch in open_edges(path).batches(0)) == text.count("\n")


@pytest.mark.parametrize("top", ["vertices edges", "n m", "c triangle"])
def test_counts_below_other_words_are_no_edge(top, tmp_path):
    (path := tmp_path / "a.txt").write_text(f"{top}\n3 2\n0 1\n1 2\n")
    with pytest.raises(FormatError, match=f"line 1: '{top}'"):
        read_raw(path)
    with pytest.raises(FormatError, match="edges or headed"):
        list(open_edges(path).batches(0))
    path.write_text(f"{top}\n3 7\n0 1\n1 2\n".replace(" ", ","))
    assert read(path).m == 3


def test_headed_list_longer_than_the_head_is_detected(tmp_path):
    path = tmp_path / "a.txt"
    n = 50_000
    path.write_text(f"{n} {n - 1}\n" + "".join(f"{i} {i + 1}\n" for i in range(1, n)))
    raw = read_raw(path)
    assert (raw.format, raw.n, raw.m) == ("headed", n, n - 1)


def test_small_blocks_give_the_same_graphs(tmp_path, monkeypatch):
    """Blocks of about 100 bytes end within lines, numbers and comments."""
    path = tmp_path / "some.file"
    for name, content, *_ in FILES:
        path.write_bytes(content)
        raw = read_raw(path)
        for size in (97, 128, 131):
            monkeypatch.setattr("mst.formats.text.BLOCK", size)
            assert rows(read_raw(path, format=raw.format)) == rows(raw), name
            monkeypatch.undo()


@pytest.mark.parametrize(
    "compress",
    [
        gzip.compress,
        bz2.compress,
        lzma.compress,
        zstandard.compress,
        lambda content: b"\x50\x2a\x4d\x18\4\0\0\0size" + zstandard.compress(content),
    ],
    ids=["gzip", "bzip2", "xz", "zstd", "pzstd"],
)
@pytest.mark.parametrize("index", range(0, len(FILES), 7))
def test_compression_is_detected_by_content(tmp_path, compress, index):
    path = tmp_path / "no-suffix"
    path.write_bytes(compress(FILES[index][1]))
    assert rows(read_raw(path)) == in_order(FILES[index][4])


def test_all_members_of_a_gzip_file_are_read(tmp_path):
    path = tmp_path / "a.gr.gz"
    path.write_bytes(gzip.compress(b"p sp 3 2\na 1 2 5\n") + gzip.compress(b"a 2 3 6\n"))
    assert read(path).m == 2


@pytest.mark.parametrize("suffix", sorted(SUFFIXES))
def test_compressed_files_are_reproducible(tmp_path, suffix, monkeypatch):
    first, second = tmp_path / f"a.gr{suffix}", tmp_path / f"b.gr{suffix}"
    write(first, TRIANGLE)
    with monkeypatch.context() as patch:
        patch.setattr("time.time", lambda: 1e9)
        write(second, TRIANGLE)
    assert first.read_bytes() == second.read_bytes()
    assert detect(first) == "dimacs" and read(first).w.tolist() == [5, 7, -6]


def test_suffix_chooses_the_format_to_write(tmp_path):
    for name, format in (
        ("a.gr", "dimacs"),
        ("a.csv", "edges"),  # read as any edge list
        ("a.mtx.gz", "matrix-market"),
        ("a.egr", "ecl"),
        ("a.graph", "metis"),
        ("a.adj", "gbbs"),
        ("a.arrow", "canonical"),
        ("a.sgr", "galois"),
    ):
        write(tmp_path / name, TRIANGLE)
        assert detect(tmp_path / name) == format


def test_writing_to_an_unknown_format_or_folder_is_refused(tmp_path):
    with pytest.raises(InputError, match="no format that can be written has this suffix"):
        write(tmp_path / "graph", TRIANGLE)
    with pytest.raises(ConfigError, match=r"no file format 'dimax' \(did you mean 'dimacs'\?\)"):
        write(tmp_path / "graph", TRIANGLE, format="dimax")
    with pytest.raises(InputError, match=r"cannot be compressed: leave out \.gz"):
        write(tmp_path / "graph.arrow.gz", TRIANGLE)
    with pytest.raises(ConfigError, match="can be read, but not written"):
        write(tmp_path / "graph", TRIANGLE, format="tsplib")
    with pytest.raises(InputError, match="create the folder"):
        write(tmp_path / "nowhere" / "a.gr", TRIANGLE)
    assert list(tmp_path.iterdir()) == []


def test_failed_write_keeps_the_old_file(tmp_path):
    path = tmp_path / "a.egr"
    write(path, TRIANGLE)
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"w\[1\] = 0.5"):
        write(path, Graph(2, [0, 0], [1, 1], [1.0, 0.5]))
    assert path.read_bytes() == before and [p.name for p in tmp_path.iterdir()] == ["a.egr"]


@pytest.mark.parametrize(("format", "limit"), [("ecl", 31), ("bhargava-zaia", 31), ("metis", 63)])
def test_integer_formats_refuse_fractions_and_large_weights(tmp_path, format, limit):
    path = tmp_path / "a"
    for w in (2.0**limit, -(2.0**limit) * 1.5, np.inf, -np.inf, 0.5):
        with pytest.raises(InputError, match=r"w\[1\]"):
            write(path, Graph(2, [0, 0], [1, 1], [1.0, w]), format=format)
    write(path, Graph(2, [0, 0], [1, 1], [-(2.0**limit), 3.0]), format=format)
    assert rows(read_raw(path, format=format)) == [(0, 1, -(2**limit)), (0, 1, 3)]


def test_metis_writer_refuses_self_loops(tmp_path):
    with pytest.raises(InputError, match="self-loops"):
        write(tmp_path / "a.graph", Graph(2, [0], [0], [1]))


@pytest.mark.parametrize("kind", ["EUC_2D", "ATT"])
def test_a_problem_of_no_points_is_an_empty_graph(tmp_path, kind):
    path = tmp_path / "empty.tsp"
    path.write_bytes(tsp(kind, "NODE_COORD_SECTION\n", n=0))
    assert (read(path).n, read(path).m) == (0, 0)


def test_tsplib_points_beyond_the_limit_are_refused(tmp_path):
    path = tmp_path / "a.tsp"
    path.write_bytes(tsp("EUC_2D", POINTS, n=15_001))
    with pytest.raises(UnsupportedError, match="at most 15,000 points"):
        read(path)


def test_metis_row_longer_than_a_block_is_read(tmp_path):
    """The centre of this star has a row of 2.5 MB."""
    n = 350_000
    path = tmp_path / "star.graph"
    path.write_text(
        f"{n} {n - 1} 1\n"
        + " ".join(f"{i} {i % 10}" for i in range(2, n + 1))
        + "\n"
        + "".join(f"1 {i % 10}\n" for i in range(2, n + 1))
    )
    raw = read_raw(path)
    assert (raw.format, raw.n, raw.m, raw.summary.mirrored) == ("metis", n, n - 1, n - 1)
    assert (raw.v == np.arange(1, n)).all() and (raw.w == np.arange(2, n + 1) % 10).all()


def test_formats_have_titles_and_suffixes():
    assert all(format.title and FORMATS[format.id] is format for format in FORMATS.values())
    assert all(suffix.startswith(".") for format in FORMATS.values() for suffix in format.suffixes)


def test_writing_text_imports_no_pandas(tmp_path):
    code = (
        "import sys, mst; from mst.formats import write\n"
        "for k, w in enumerate(([1, 2], [0.5, 2.0])):\n"
        "    for suffix in ('csv', 'gr', 'mtx'):\n"
        "        write(f'{sys.argv[1]}/{k}.{suffix}', mst.Graph(3, [0, 1], [1, 2], w))\n"
        "print('pandas' in sys.modules)"
    )
    assert run_python(code, tmp_path).stdout == "False\n"
    assert (tmp_path / "1.gr").read_text().endswith("a 1 2 0.5\na 2 3 2.0\n")


def test_graph_of_a_file_whose_name_is_not_text_is_written(tmp_path):
    source, target = tmp_path / os.fsdecode(b"road\xff.txt"), tmp_path / "road.arrow"
    source.write_text("0 1 5\n")
    formats.write(target, formats.read(source))
    assert formats.read(target).name == "road?"


@pytest.mark.parametrize("edges, stated", [([], b"Nodes: 3 Edges: 0"), ([0], b"# Edges: 1")])
def test_list_with_ids_states_its_vertices_only_without_edges(edges, stated):
    edge_lists.write(sink := io.BytesIO(), Graph(3, edges, edges, edges), ids=range(1, 4))
    assert stated in sink.getvalue()


def test_ids_may_be_a_range_of_any_step(tmp_path):
    write(tmp_path / "odd.csv", TRIANGLE, ids=range(1, 9, 2))
    assert read(tmp_path / "odd.csv").labels == [1, 3, 5]


def test_list_of_a_header_alone_has_no_edges(tmp_path):
    # As pandas writes a table without rows, and mst a forest without edges.
    for name, text in (("none.csv", "source,target,weight\n"), ("ends.csv", "source,target\n")):
        (tmp_path / name).write_text(text)
        raw = read_raw(tmp_path / name)
        assert (raw.n, raw.m, raw.summary.declared_n) == (0, 0, None)
    (tmp_path / "comment.txt").write_text("# nothing\n")
    with pytest.raises(FormatError, match="expected rows"):
        read(tmp_path / "comment.txt")


def test_graph_is_named_after_its_file(tmp_path):
    write(tmp_path / "road.gr.gz", TRIANGLE)
    assert read(tmp_path / "road.gr.gz").name == "road"
    assert formats.read(str(tmp_path / "road.gr.gz")).n == 4


def tar_of(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.type = tarfile.DIRTYPE if name.endswith("/") else tarfile.REGTYPE
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def zip_of(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


GRAPH = b"%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 2\n"
PACKERS = [
    tar_of,
    zip_of,
    lambda files: gzip.compress(tar_of(files)),
    lambda files: lzma.compress(tar_of(files)),
]


def test_a_matrix_market_file_without_its_banner_is_no_edge_list(tmp_path):
    path = tmp_path / "road.mtx"
    path.write_bytes(b"3 3 2\n1 2 5\n2 3 6\n")
    with pytest.raises(FormatError, match=r"road\.mtx, line 1: .* begins with %%MatrixMarket.* format=edges"):
        read(path)
    assert read(path, format="edges").m == 3
    archive = tmp_path / "road.zip"
    archive.write_bytes(zip_of({"road.mtx": path.read_bytes()}))
    with pytest.raises(FormatError, match=r"road\.zip, line 1: .* begins with %%MatrixMarket"):
        read(archive)


@pytest.mark.parametrize("pack", PACKERS, ids=["tar", "zip", "tar.gz", "tar.xz"])
def test_graph_in_an_archive_is_found(tmp_path, pack):
    path = tmp_path / "road.tar.gz"
    others = {"road/": b"", "road/readme.txt": b"hello", "road/road_coord.mtx": b"1 2 3", "__MACOSX/road": b"?"}
    for files in (
        {"any.mtx": GRAPH},
        {**others, "road/road.mtx": GRAPH},
        {".DS_Store": b"?", "x/y.mtx": GRAPH},
    ):
        path.write_bytes(pack(files))
        assert detect(path) == "matrix-market" and rows(read_raw(path)) == [(0, 1), (1, 2)]
    renamed = tmp_path / "download"
    renamed.write_bytes(pack({**others, "road/road.mtx": GRAPH}))
    assert read(renamed).m == 2
    for names in (("a.mtx", "b.mtx"), ("road.mtx", "road.txt")):
        path.write_bytes(pack(dict.fromkeys(names, GRAPH)))
        with pytest.raises(
            FormatError, match=f"expected an archive of one graph, found {', '.join(names)}: unpack it"
        ):
            read(path)
        with pytest.raises(FormatError, match=r"expected an archive that holds c\.mtx"):
            read_raw(path, member="c.mtx")
    path.write_bytes(GRAPH)
    with pytest.raises(FormatError, match=r"expected an archive that holds c\.mtx"):
        read_raw(path, member="c.mtx")
    path.write_bytes(pack({"a.txt": b"0 1\n", "b.txt": b"3 2\n0 1\n1 2\n"}))
    assert read_raw(path, member="b.txt").format == "headed", "which is opened again when its rows are counted"
    write(tmp_path / "inner.arrow", TRIANGLE)
    path.write_bytes(pack({"inner.arrow": (tmp_path / "inner.arrow").read_bytes()}))
    with pytest.raises(FormatError, match="mapped into memory"):
        read(path)


@pytest.mark.parametrize("pack", PACKERS, ids=["tar", "zip", "tar.gz", "tar.xz"])
def test_damaged_archive_is_refused(tmp_path, pack, rng):
    path = tmp_path / "road.tar.gz"
    content = b"".join(b"%d %d %d\n" % tuple(row) for row in rng.integers(0, 10**6, (20_000, 3)))
    whole = pack({"road.txt": content})
    for length in (len(whole) // 4, len(whole) // 2):
        path.write_bytes(whole[:length])
        with pytest.raises(FormatError):
            read(path)
