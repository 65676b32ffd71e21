"""Malformed files: one clear error with file, line, text and the expected content, in bounded memory."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import re
import struct
import time
import tracemalloc
import zipfile

import numpy as np
import pyarrow as pa
import pytest

from mst import ConfigError, FormatError, Graph, InputError, OutOfMemoryError, formats
from mst.errors import reading, writing
from mst.formats import FORMATS, detect, read, read_raw, write
from mst.formats.canonical import read_canonical, read_metadata, read_slice, write_canonical

zstandard = pytest.importorskip("zstandard")

EXPLICIT_3 = b"DIMENSION: 3\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: UPPER_ROW\n"

# (content, format or None, expected part of the message)
MALFORMED = [
    (b"", None, "the file is empty"),
    (b"", "dimacs", "expected `p sp"),
    (b" \n\n\n", None, "the file is empty"),
    (b"hello world\n", None, ": 'hello world': unknown format"),
    (b"\0\1\2\3" * 100, None, "unknown format"),
    (b"PK\x03\x04 no matrix at all", None, "not a zip file"),
    (b"# only words\n", None, "expected rows `<u> <v>`"),
    # DIMACS
    (
        b"c x\np sp 2 1\na 1 3 5\n",
        None,
        "line 3: 'a 1 3 5': expected `a <from> <to> <weight>` with vertices 1 … 2; vertex 3 lies",
    ),
    (
        b"p sp 2 1\na 0 1 5\n",
        None,
        "line 2: 'a 0 1 5': expected `a <from> <to> <weight>` with vertices 1 … 2; vertex 0 lies",
    ),
    (b"p sp 2 1\na -1 1 5\n", None, "vertex -1 lies outside 1 … 2"),
    (
        b"p sp 2 1\na 1 2\n",
        None,
        "line 2: 'a 1 2': expected `a <from> <to> <weight>` with vertices 1 … 2; the row has too few columns",
    ),
    (b"p sp 2 1\na 1 2 3 4\n", None, "the row has too many columns"),
    (b"p sp 2 1\na 1 2 x\n", None, "'x' is not a number"),
    (b"p sp 2 1\na 1 2 3x\n", None, "'3x' is not a number"),
    (b"p sp 2 1\na 1.5 2 3\n", None, "'1.5' is not a vertex id (a whole number)"),
    (
        b"p sp 2 1\na 1 2 nan\n",
        None,
        "line 2: 'a 1 2 nan': expected `a <from> <to> <weight>` with vertices 1 … 2; NaN",
    ),
    (b"p sp 2 1\na 1 2 9223372036854775808\n", None, "weight 9223372036854775808 does not fit int64"),
    (b"p sp 2 2\na 1 2 1e999\n", None, "line 2: 'a 1 2 1e999': expected a weight in the range of float64"),
    (b"p sp 2 1\na 1 99999999999999999999 3\n", None, "vertex 99999999999999999999 lies outside"),
    (b"p sp 2 2\na 1 2 3\n", None, "declares 2 edge rows but has 1: the file is truncated"),
    (b"p sp 2 1\na 1 2 3\na 1 2 3\n", None, "declares 1 edge row but has more than 1"),
    (b"p sp 2 1\nb 1 2 3\n", None, "line 2: 'b 1 2 3': expected `a "),
    (b"p sp 2 1\na1 2 3\n", None, "line 2: 'a1 2 3': expected `a "),
    (b"p sp 2\na 1 2 3\n", None, "line 1: 'p sp 2': expected `p sp <vertices> <edges>`"),
    (b"p sp 2 -1\na 1 2 3\n", None, "expected `p sp <vertices> <edges>`"),
    (b"p sp 2 99999999999999999999\n", None, "expected `p sp <vertices> <edges>`"),
    (b"p max 2 1\na 1 2 3\n", None, "line 1: 'p max 2 1': expected a problem of type sp, "),
    (b"a 1 2 3\n", "dimacs", "line 1: 'a 1 2 3': expected `p sp <vertices> <arcs>` before the first row"),
    (b"c x\np aux sp co 1\nv 1 3 4\n", None, "holds coordinates of vertices, not edges"),
    # edge lists
    (b"1 2\n2 three\n", None, "line 2: '2 three': expected `<u> <v>`; 'three' is not a vertex id"),
    (b"1 2\n3\n", None, "line 2: '3': expected `<u> <v>`; the row has too few columns"),
    (b"1 2\n3 4 5\n", "edges", "line 2: '3 4 5': expected `<u> <v>`; the row has too many columns"),
    (b"1,2\n3 4\n", "edges", "line 1: '1,2': expected"),
    (b"1,2,3\n3,,4\n", None, "line 2: '3,,4': expected `<u>,<v>,<weight>`; '' is not a vertex id"),
    (
        b"source,target\nParis,Lyon\n",
        None,
        "'Paris' is not a vertex id (a whole number): read names with pandas",
    ),
    (b"\tu\tv\n0\t1\t2\n\0", "edges", "line 2: '0\\t1\\t2': expected `<u> <v>`; the row has too many columns"),
    (b"1,2,3\n3,4,\n", None, "line 2: '3,4,': expected `<u>,<v>,<weight>`; the row has too few columns"),
    (b"1 -2\n3 4\n", None, "vertex -2 lies outside"),
    (b"1 2 3\n\n# x\n3 4 NaN\n", None, "line 4: '3 4 NaN'"),
    (b"1 2 3 4\n5 6 7 8\n", None, "line 1: '1 2 3 4': expected `<u> <v>` or `<u> <v> <weight>`"),
    (b"1 2 3 4 5\n" * 5, None, "line 1: '1 2 3 4 5': expected `<u> <v>` or `<u> <v> <weight>`"),
    *(
        (b"%b\n%b\n" % (row, row), None, "found networkx's attributes: use networkx.write_weighted_edgelist")
        for row in (b"1 2 {'weight': 3}", b"1 2 {'weight': 3, 'a': 'b c'}", b"1,2,{'weight': 3}", b"1 2 {}")
    ),
    (b"1 2\n2 \xff\n", None, r"line 2: b'2 \xff': expected `<u> <v>`"),
    (
        b"source,target,rating\n1,2,3\n",
        None,
        "line 1: 'source,target,rating': expected the third column to be named weight",
    ),
    (
        b"source,target,cost,weight\n1,2,3,4\n",
        None,
        "line 1: 'source,target,cost,weight': expected one column of weights, found cost, weight: leave out the others",
    ),
    (b"# Nodes: 3 Edges: 2\n0 1\n", None, "declares 2 edge rows but has 1"),
    (b"# Nodes: 3 Edges: 1\n0 1\n1 2\n", None, "declares 1 edge row but has more than 1"),
    (b"# Nodes: 2 Edges: 2\n10 20\n20 30\n", None, "declares 2 vertices but names 3"),
    (b"1e5 2e5\n1 2\n", "edges", "'1e5' is not a vertex id"),
    (
        b"# Nodes: 999999999999 Edges: 2\n0 1\n1 999999999999\n",
        None,
        "declares 999,999,999,999 vertices but names 999999999999",
    ),
    (
        b"source;target;weight\n0;1;2,5\n",
        None,
        "line 2: '0;1;2,5': expected `<u>;<v>;<weight>`; '2,5' is not a number: write a decimal point, and no commas",
    ),
    (b"0\t1\t2,5\n", None, "line 1: '0\\t1\\t2,5': expected `<u> <v> <weight>`; '2,5' is not a number: write"),
    (b"% bip weighted\n1 1\n2 1\n", None, "line 1: '% bip weighted': expected one set of vertices"),
    # headed lists
    (
        b"3 2\n0 1 5\n1 3 6\n",
        None,
        "line 3: '1 3 6': expected `<u> <v> <weight>` with vertices 0 … 2; vertex 3 lies",
    ),
    (b"3 2\n0 1 5\n1 4 6\n", None, "vertex 4 lies outside 0 … 3"),
    (b"3 2\n0 1 5\n", None, "declares 2 edge rows but has 1"),
    (b"3\n2\n0 1 5\n1 2 5\n0 2 5\n", None, "declares 2 edge rows but has more than 2"),
    (b"3 2 1\n0 1\n", "headed", "expected `<vertices> <edges>`"),
    # Matrix Market
    (
        b"%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n",
        None,
        "line 1: '%%MatrixMarket matrix array real general': expected a coordinate matrix",
    ),
    (b"%%MatrixMarket matrix coordinate complex general\n1 1 0\n", None, "found complex"),
    (b"%%MatrixMarket matrix coordinate real skew-symmetric\n1 1 0\n", None, "found skew-symmetric"),
    (
        b"%%MatrixMarket matrix coordinate real general\n% x\n2 3 0\n",
        None,
        "line 3: '2 3 0': expected a square matrix",
    ),
    (
        b"%%MatrixMarket matrix coordinate real general\n2 2\n1 2 3\n",
        None,
        "line 2: '2 2': expected `<rows> <columns> <entries>`",
    ),
    (
        b"%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2 3\n",
        None,
        "line 3: '1 2 3': expected `<row> <column>` from 1 to 2; the row has too many columns",
    ),
    (b"%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 3\n", None, "declares 2 edge rows but has 1"),
    (b"%%MatrixMarket matrix coordinate real general\n2 2 1\n0 2 3\n", None, "vertex 0 lies outside 1 … 2"),
    (b"%%MatrixMarket\n", None, "line 1: '%%MatrixMarket': expected `%%MatrixMarket matrix"),
    # METIS
    (b"3 2\n2\n1 3\n", "metis", "declares 3 vertices but has 2 rows"),
    (
        b"3 2\n2\n1 3\n2\n3\n",
        "metis",
        "line 5: '3': expected neighbours `<vertex>` from 1 to 3; the first line declares only 3 rows",
    ),
    (
        b"3 2\n2\n1 4\n2\n",
        "metis",
        "line 3: '1 4': expected neighbours `<vertex>` from 1 to 3; 4 is not a vertex",
    ),
    (b"3 2\n2\n1 0\n2\n", "metis", "0 is not a vertex"),
    (
        b"% c\n3 2\n2\n%\n1 3\n1\n",
        "metis",
        "line 6: '1': expected each edge at both ends; row 3 lists 1, but row 1 does not list 3",
    ),
    (
        b"3 2 1\n2 7\n1 7 3 8\n2 9\n",
        "metis",
        "line 3: '1 7 3 8': expected each edge at both ends; row 2 lists 3 with weight 8, but",
    ),
    (
        b"3 2 1\n2 7\n1 7 3\n2 9\n",
        "metis",
        "line 3: '1 7 3': expected neighbours `<vertex> <weight>` from 1 to 3; the last",
    ),
    (b"3 1\n2\n1 3\n2\n", "metis", "declares 1 edge but lists more than 2 neighbours"),
    (b"3 3\n2\n1 3\n2\n", "metis", "declares 3 edges but lists 4 neighbours: expected twice"),
    (b"3 2\n2\n1 3.5\n2\n", "metis", "3.5 is not a vertex"),
    (b"3 2 2\n2\n1 3\n2\n", "metis", "line 1: '3 2 2': expected `<vertices> <edges> [<format>"),
    # adjacency graphs and edge arrays
    (b"WeightedAdjacencyGraph\n2\n2\n0\n1\n1\n0\n5\n", None, "expected 2 weights, found 1"),
    (
        b"WeightedAdjacencyGraph\n2\n2\n0\n1\n1\n0\n5\n5\n7\n",
        None,
        "line 10: '7': expected the end of the file",
    ),
    (b"AdjacencyGraph\n2\n2\n0\n3\n1\n0\n", None, "the row offsets do not ascend from 0 to 2"),
    (b"AdjacencyGraph\n2\n2\n0\n1\n1\n2\n", None, "entry 1 names vertex 2, outside 0 … 1"),
    (
        b"WeightedAdjacencyGraph\n2\n2\n0\n1\n1\n0\n5\n1e999\n",
        None,
        "line 9: '1e999': expected counts, offsets and neighbours, then weights; a number is outside the range",
    ),
    (
        b"AdjacencyGraph\n2\n2\n0\n1\nx\n0\n",
        None,
        "line 6: 'x': expected counts, offsets and neighbours, then weights; 'x' is not a number",
    ),
    (b"AdjacencyGraph\n2\n2\n0\n1\n0.5\n0\n", None, "line 6: '0.5': expected counts, offsets and neighbours"),
    (b"AdjacencyGraph\n2.5\n2\n0\n1\n0\n0\n", None, "'2.5' is not a whole number"),
    (b"AdjacencyGraph\n-2\n2\n", None, "expected counts of at least 0"),
    (b"WeightedAdjacencyGraph\n2 2 0 1 1 0 17 1", None, "which may be truncated"),
    (b"EdgeArray\n0 1 2\n", None, "line 2: '0 1 2': expected `<u> <v>`; the row has too many columns"),
    (b"EdgeArrays\n0 1 2\n", "pbbs", "line 1: 'EdgeArrays': expected EdgeArray or WeightedEdgeArray"),
    # SteinLib, TNTP, TSPLIB
    (b"SECTION Comment\nEND\n", None, "expected a line `SECTION Graph`"),
    (b"SECTION Graph\nE 1 2 3\n", None, "line 2: 'E 1 2 3': expected `Nodes <count>`"),
    (b"SECTION Graph\nNodes 2\nEdges 2\nE 1 2 3\nEND\n", None, "declares 2 edge rows but has 1"),
    (
        b"SECTION Graph\nNodes 2\nEdges 1\nE 1 2\nEND\n",
        None,
        "line 4: 'E 1 2': expected `E <u> <v> <weight>` with vertices 1 … 2, or END; the row has too few columns",
    ),
    (
        b"<NUMBER OF NODES> 2\n<END OF METADATA>\n1 2 3 4 ;\n",
        None,
        "expected metadata <NUMBER OF NODES> and <NUMBER OF LINKS>",
    ),
    (
        b"<NUMBER OF NODES> 2\n<NUMBER OF LINKS> 1\n1 2 3 4 ;\n",
        None,
        "line 3: '1 2 3 4 ;': expected `<NAME> value` until",
    ),
    (b"<NUMBER OF NODES> 2\n<NUMBER OF LINKS> 1\n<END OF METADATA>\n1 2 3 ;\n", None, "line 4: '1 2 3 ;'"),
    (
        b"NAME: x\nDIMENSION: 3\nEDGE_WEIGHT_TYPE: GEO\nNODE_COORD_SECTION\n",
        None,
        "found GEO with NODE_COORD_SECTION",
    ),
    (
        b"TYPE: SOP\nDIMENSION: 3\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_SECTION\n",
        None,
        "expected TYPE TSP or ATSP, found SOP",
    ),
    (
        b"DIMENSION: 3\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: ROWS\nEDGE_WEIGHT_SECTION\n",
        None,
        "expected EDGE_WEIGHT_FORMAT FULL_MATRIX",
    ),
    (
        EXPLICIT_3 + b"EDGE_WEIGHT_SECTION\n1 2\nEOF\n",
        None,
        "line 6: 'EOF': expected the weights of the matrix; 'EOF' is not a number",
    ),
    (EXPLICIT_3 + b"EDGE_WEIGHT_SECTION\n1 2\n", None, "expected 3 weights, found 2"),
    (
        EXPLICIT_3.replace(b"3", b"999999999") + b"EDGE_WEIGHT_SECTION\n1 2\n",
        None,
        "found 2: the file is truncated",
    ),
    (
        b"DIMENSION: 3\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n1 0 0\n2 1 1\nEOF\n",
        None,
        "expected finite coordinates of 3 points, found 2",
    ),
    (
        b"DIMENSION: 2\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n1 0 0\n1 1 1\nEOF\n",
        None,
        "expected finite coordinates of 2 points, found 1",
    ),
    (
        b"DIMENSION: 2\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n1 0 0\n2 1073741824 1\nEOF\n",
        None,
        "expected distances below",
    ),
    (
        b"DIMENSION: many\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n",
        None,
        "expected a DIMENSION, found 'many'",
    ),
    # matrices
    (b"0,1,2,3,4\n1,0,1,1,1\n", "matrix", "expected a square matrix, found 2 rows of 5 numbers"),
    (
        b"0,1,2\n1,0\n2,3,0\n",
        "matrix",
        "line 2: '1,0': expected as many rows of numbers as columns; this row has 2 numbers, but the first has 3",
    ),
    (
        b"0,1\nnan,0\n",
        "matrix",
        "line 2: 'nan,0': expected as many rows of numbers as columns; NaN cannot be ordered",
    ),
    (b"0,1\nx,0\n", "matrix", "'x' is not a number"),
    (b"0,1\n1 2,0\n", "matrix", "there is no delimiter before '2'"),
    # binary
    (struct.pack("<2i", -1, 0), "ecl", "expected counts of at least 0"),
    (struct.pack("<4i", 2, 1, 0, 1), "ecl", "expected 3 row offsets, but the file ends 4 bytes early"),
    (
        struct.pack("<6i", 2, 1, 0, 1, 1, 1)[:-1],
        "ecl",
        "expected 1 neighbours, but the file ends 1 bytes early",
    ),
    (struct.pack("<6i", 2, 1, 0, 1, 1, 2), "ecl", "entry 0 names vertex 2, outside 0 … 1"),
    (struct.pack("<6i", 2, 1, 0, 2, 1, 1), "ecl", "the row offsets do not ascend from 0 to 1"),
    (struct.pack("<7i", 2, 2, 0, 1, 1, 1, 0), "ecl", "the row offsets do not ascend from 0 to 2"),
    (struct.pack("<7i", 2, 2, 1, 1, 2, 1, 0), "ecl", "the row offsets do not ascend from 0 to 2"),
    (struct.pack("<9i", 4, 0, 0, 2**31 - 1, -(2**31), -1, 0, 0, 0), "ecl", "the row offsets do not ascend"),
    (struct.pack("<8i", 2, 1, 0, 1, 1, 1, 5, 6), "ecl", "the file continues after its last entry"),
    (struct.pack("<2i", 2, 2**31 - 1), "bhargava-zaia", "bytes early"),
    (struct.pack("<5i", 2, 1, 0, 2, 5), "bhargava-zaia", "entry 0 names vertex 2"),
    (struct.pack("<4Q", 3, 4, 0, 0), "galois", "expected version 1 or 2, found 3"),
    (struct.pack("<4Q", 1, 5, 0, 0), "galois", "expected weights of 0, 4 or 8 bytes, found 5"),
    (struct.pack("<4Q", 1, 4, 2**60, 2**60), "galois", "row ends, but the file ends"),
    (struct.pack("<6Q2i", 1, 0, 2, 2, 1, 2, 1, 9), "galois", "entry 1 names vertex 9"),
    (struct.pack("<5Q2i2f", 1, 4, 1, 2, 2, 0, 0, 1.0, np.nan), "galois-float", "the weight of arc 1 is NaN"),
]


@pytest.mark.parametrize(("content", "format", "message"), MALFORMED, ids=[repr(m[0])[2:30] for m in MALFORMED])
def test_malformed_file_error_names_file_line_and_expectation(tmp_path, content, format, message):
    path = tmp_path / "bad.file"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=re.escape(message)) as caught:
        read_raw(path, format=format)
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "road.gr",
            b"a 1 2 5\n",
            "road.gr, line 1: 'a 1 2 5': expected `p sp <vertices> <arcs>` before the first row",
        ),
        ("road.gr.gz", gzip.compress(b"a 1 2 5\n"), "road.gr.gz, line 1: 'a 1 2 5': expected `p sp"),
        ("road.mtx", b"matrix\n", "road.mtx, line 1: 'matrix': expected `%%MatrixMarket"),
        ("road.arrow", b"words\n", "road.arrow: expected an Arrow IPC file, as `mst convert` writes it: "),
        (
            "road.csv",
            b"Oslo,Bergen,463\nOslo,Lund,571\n",
            "road.csv, line 1: 'Oslo,Bergen,463': expected `<u>,<v>,<weight>`; 'Oslo' is not a vertex id "
            "(a whole number): read names with pandas",
        ),
        (
            "road.csv",
            b"city_a,city_b,km\nOslo,Bergen,463\n",
            "road.csv, line 1: 'city_a,city_b,km': expected the third column to be named weight, cost or distance",
        ),
        (
            "road.of.any.name",
            b"a b 5\n",
            "line 1: 'a b 5': expected `<u> <v> <weight>`; 'a' is not a vertex id",
        ),
        ("road.txt", b"hello world\n", "road.txt: 'hello world': unknown format"),
        ("road.xyz", b"a 1 2 5\n", "road.xyz: 'a 1 2 5': unknown format"),
    ],
)
def test_unknown_content_is_compared_with_the_format_of_its_suffix(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FormatError, match=re.escape(message)):
        read(tmp_path / name)


def test_adjacency_lists_that_are_cut_are_no_edge_list(tmp_path):
    path = tmp_path / "cut.graph"
    path.write_text("5 4\n2 3\n1 4\n1\n")
    with pytest.raises(FormatError, match="declares 5 vertices but has 3 rows: the file is truncated"):
        read_raw(path)


@pytest.mark.parametrize("format", [f for f in FORMATS if f not in ("canonical", "npz")])
def test_every_text_and_binary_reader_refuses_random_bytes(tmp_path, format):
    path = tmp_path / "noise"
    path.write_bytes(np.random.default_rng(5).bytes(5000))
    with pytest.raises(FormatError):
        read_raw(path, format=format)


def checked_zstd(content: bytes) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=True).compress(content)


@pytest.mark.parametrize(
    ("compress", "name"),
    [(gzip.compress, "gzip"), (bz2.compress, "bzip2"), (lzma.compress, "xz"), (checked_zstd, "zstd")],
)
def test_truncated_damaged_or_nested_compression_is_refused(tmp_path, compress, name):
    path = tmp_path / "a.gr"
    rows = "".join(f"a {i} {i + 1} {i * 7919 % 1000}\n" for i in range(1, 60_000))
    packed = compress(f"p sp 60000 59999\n{rows}".encode())
    for length in (8, 20, len(packed) // 2, len(packed) - 3):
        path.write_bytes(packed[:length])
        with pytest.raises(FormatError, match=f"{name} data ends early; fetch or copy the file again$"):
            read(path)
    for at in (len(packed) // 3, len(packed) // 2):
        path.write_bytes(packed[:at] + bytes(byte ^ 0x55 for byte in packed[at : at + 40]) + packed[at + 40 :])
        with pytest.raises(FormatError):
            read(path)
    path.write_bytes(compress(packed))
    with pytest.raises(FormatError, match="compressed twice"):
        read(path)


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress, checked_zstd])
def test_bytes_after_compressed_data_are_refused_with_a_remedy(tmp_path, compress):
    path = tmp_path / "a.gr"
    first, second = compress(b"p sp 3 2\na 1 2 3\n"), compress(b"a 2 3 4\n")
    path.write_bytes(first + second)
    assert read(path).m == 2
    path.write_bytes(first + second + b"junk")
    with pytest.raises(FormatError, match=r"data cannot be read: .+; fetch or copy the file again$"):
        read(path)


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
def test_zeros_after_compressed_streams_are_padding(tmp_path, compress):
    path, padding = tmp_path / "a.gr", bytes(20_000)
    path.write_bytes(compress(b"p sp 3 2\na 1 2 3\n") + padding + compress(b"a 2 3 4\n") + padding)
    assert read(path).m == 2


@pytest.mark.parametrize(
    ("error", "reason", "remedy"),
    [
        (
            FileNotFoundError(2, "No such file or directory"),
            "No such file or directory",
            "; create the folder first",
        ),
        (PermissionError(13, "Permission denied"), "Permission denied", ""),
        (OSError("cut short"), "cut short", ""),
    ],
)
def test_files_that_cannot_be_read_or_written_are_named_with_the_reason(error, reason, remedy):
    with pytest.raises(ConfigError, match=f"^f cannot be read: {reason}$"), reading("f", ConfigError):
        raise error
    with pytest.raises(InputError, match=f"^f cannot be written: {reason}{remedy}$"), writing("f"):
        raise error


def test_missing_file_and_folder_are_refused(tmp_path):
    for call in (read, read_raw, detect, read_canonical, read_metadata):
        with pytest.raises(InputError, match=r"nowhere.gr cannot be read: No such file or directory$"):
            call(tmp_path / "nowhere.gr")
    for call in (read, read_raw, detect):
        with pytest.raises(InputError, match="is a folder: name a graph file in it"):
            call(tmp_path)


ENDLESS = [
    (b"1" * 9, b"", "edges"),
    (b"1 ", b"1 2\n", "edges"),
    (b"#" * 9, b"", "edges"),
    (b"a 1 2 3 ", b"p sp 2 1\n", "dimacs"),
    (b"c" * 9, b"p sp 2 1\n", "dimacs"),
    (b"1 ", b"2 1\n", "metis"),
    (b"12345678", b"2 1\n", "metis"),
    (b"1,", b"", "matrix"),
    (b"1 ", b"WeightedAdjacencyGraph\n2 2 ", "gbbs"),
    (b"x" * 9, b"DIMENSION: 3\nEDGE_WEIGHT_TYPE: EUC_2D\n", "tsplib"),
    (b" " * 9, b"# Nodes:", "edges"),
    (b" " * 9, b"<NUMBER OF NODES", "tntp"),
]


@pytest.mark.parametrize(("unit", "head", "format"), ENDLESS)
def test_huge_line_is_refused_in_bounded_memory(tmp_path, unit, head, format):
    """The files have 40 MB; no reader may keep more than a few blocks."""
    path = tmp_path / "huge"
    with path.open("wb") as file:
        file.write(head)
        for _ in range(40):
            file.write(unit * (1_000_000 // len(unit)))
    with pytest.raises(FormatError):
        read_raw(path, format=format)
    tracemalloc.start()
    try:
        with pytest.raises(FormatError) as caught:
            read_raw(path, format=format)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 45e6
    assert len(str(caught.value)) < 1000


def test_large_declared_counts_allocate_no_memory(tmp_path):
    path = tmp_path / "big"
    for content, format in (
        (b"p sp 9000000000 9000000000\na 1 2 3\n", "dimacs"),
        (b"9000000000 9000000000\n1 2\n", "headed"),
        (b"WeightedAdjacencyGraph\n9000000000\n9000000000\n1\n", "gbbs"),
        (b"9000000000 9000000000\n2\n1\n", "metis"),
        (struct.pack("<2i", 2**31 - 1, 2**31 - 1), "ecl"),
    ):
        path.write_bytes(content)
        tracemalloc.start()
        with pytest.raises(FormatError):
            read_raw(path, format=format)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 60e6, format


def test_errors_in_later_blocks_name_the_right_line(tmp_path):
    path = tmp_path / "a.txt"
    good = "1 2 0.1\n" * 200_000
    path.write_text(good + "1 2 1e400\n" + good)
    with pytest.raises(FormatError, match="line 200001: '1 2 1e400'"):
        read(path)
    path.write_text(good + "1 2 oops\n" + good)
    with pytest.raises(FormatError, match="line 200001: '1 2 oops'"):
        read(path)


def _npz(**arrays) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def test_damaged_npz_files_are_refused(tmp_path):
    path = tmp_path / "a.npz"
    good = dict(format=b"csr", shape=[2, 2], data=[5.0], indices=[1], indptr=[0, 1, 1])
    cases = [
        (dict(good, shape=[2, 3]), "expected a square matrix, found shape (2, 3)"),
        (dict(good, indptr=[0, 2, 1]), "do not ascend"),
        (dict(good, indptr=[0, 1]), "expected 3 integers in 'indptr'"),
        (dict(good, indices=[2]), "names vertex 2"),
        (dict(good, data=[np.nan]), "stored entry 0 is NaN"),
        (dict(good, data=[1j]), "expected a one-dimensional array of real numbers"),
        (dict(good, format=b"lil"), "found lil"),
        ({key: value for key, value in good.items() if key != "shape"}, "it lacks shape"),
        (dict(good, data=np.array([object()])), "scipy.sparse.save_npz"),
    ]
    for arrays, message in cases:
        path.write_bytes(_npz(**arrays))
        with pytest.raises(FormatError, match=re.escape(message)):
            read(path)
    whole = _npz(**good)
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FormatError, match="expected a matrix of"):
        read(path, format="npz")
    path.write_bytes(gzip.compress(whole))
    with pytest.raises(FormatError, match="decompress the outer layer"):
        read(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.npy", "no array")
    with pytest.raises(FormatError, match="expected a matrix of"):
        read(path)


@pytest.mark.parametrize(
    "header",
    ["{'descr': ('<i8',", "if x:\n    1\n  2", "{'descr': '<i8'\0}", "[" * 9999, "{'descr': 0, b'shape': 0}"],
)
def test_npz_arrays_of_invalid_headers_are_refused(tmp_path, header):
    path = tmp_path / "a.npz"
    content = header.encode().ljust(118)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("format.npy", b"\x93NUMPY\1\0" + struct.pack("<H", len(content)) + content)
        archive.writestr("shape.npy", b"")
        archive.writestr("data.npy", b"")
    with pytest.raises(FormatError, match="expected a matrix of"):
        read(path)


def test_damaged_canonical_files_are_refused(tmp_path):
    path = tmp_path / "a.arrow"
    graph = Graph(3, [0, 1], [1, 2], [5.0, 6.0])
    write_canonical(path, graph)
    whole = path.read_bytes()
    for length in (0, 7, 50, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        for call in (read, read_canonical, read_metadata, lambda p: read_slice(p, 0, 1)):
            with pytest.raises(FormatError):
                call(path)
    path.write_bytes(whole.replace(b"\x01\x00\x00\x00u\x00", b"\x01\x00\x00\x00\xaa\x00"))
    with pytest.raises(FormatError, match="expected an Arrow IPC file"):
        read(path)
    at = whole.index(struct.pack("<2d", 5.0, 6.0))
    path.write_bytes(whole[:at] + struct.pack("<d", np.nan) + whole[at + 8 :])
    with pytest.raises(FormatError, match=r"w\[0\] is NaN"):
        read(path)
    path.write_bytes(gzip.compress(whole))
    with pytest.raises(FormatError, match="unpack it first"):
        read_raw(path)
    with pytest.raises(FormatError, match="unpack it first"):
        read(path)

    def table(metadata, **columns):
        arrays = {name: pa.array(values) for name, values in columns.items()}
        batch = pa.record_batch(
            list(arrays.values()), schema=pa.schema([(k, v.type) for k, v in arrays.items()], metadata)
        )
        with path.open("wb") as file, pa.ipc.new_file(file, batch.schema) as writer:
            writer.write_batch(batch)

    u, w = np.array([0], np.int32), np.array([1.0])
    for metadata, columns, message in (
        ({"n": "2", "m": "1"}, dict(u=u, v=u), "expected columns u, v"),
        ({"n": "2", "m": "1"}, dict(u=u, v=w, w=w), "expected columns u, v"),
        (
            {"n": "2", "m": "1"},
            dict(u=u, v=u.astype(np.int64), w=w),
            "v int64, w double; of an Arrow file that",
        ),
        ({"n": "2", "m": "1"}, dict(u=u, v=u, w=["1"]), "expected columns u, v"),
        ({"n": "2", "m": "2"}, dict(u=u, v=u, w=w), "declares m = 2 but has 1 row"),
        ({"n": "2", "m": "0"}, dict(u=u, v=u, w=w), "declares m = 0 but has 1 row"),
        ({"n": "-1", "m": "1"}, dict(u=u, v=u, w=w), "expected metadata n"),
        (
            {"m": "1"},
            dict(u=u, v=u, w=w),
            "n, the vertex count, found None; of an Arrow file that mst convert has not",
        ),
        ({"n": '"2"', "m": "1"}, dict(u=u, v=u, w=w), "expected metadata n"),
        ({"n": "{", "m": "1"}, dict(u=u, v=u, w=w), "the metadata cannot be read"),
        ({"n": "0", "m": "1"}, dict(u=u, v=u, w=w), "the columns are not a valid graph"),
        ({"n": str(2**31), "m": "1"}, dict(u=u, v=u, w=w), "expected ids of int64"),
        ({"n": "2", "m": "1"}, dict(u=u, v=u, w=pa.array([None], pa.float64())), "no missing values"),
    ):
        table(metadata, **columns)
        with pytest.raises(FormatError, match=re.escape(message)):
            read(path)


def test_slice_outside_the_file_is_refused(tmp_path):
    path = tmp_path / "a.arrow"
    write_canonical(path, Graph(3, [0, 1], [1, 2], [5.0, 6.0]))
    for start, stop in ((-1, 1), (0, 3), (2, 1)):
        with pytest.raises(InputError, match="is not a slice"):
            read_slice(path, start, stop)


def test_memory_error_while_reading_names_the_file(tmp_path, monkeypatch):
    path = tmp_path / "a.gr"
    write(path, Graph(2, [0], [1], [1]))
    monkeypatch.setattr(
        "mst.formats.dimacs.read_declared_rows", lambda *_, **__: (_ for _ in ()).throw(MemoryError)
    )
    with pytest.raises(OutOfMemoryError, match=r"a\.gr does not fit into memory"):
        formats.read(path)


@pytest.mark.parametrize(
    ("head", "tail"),
    [
        (b"# Nodes", b"x\n1 2\n"),
        (b"# Nodes:", b"Edges\n1 2\n"),
        (b"NAME", b"x\nDIMENSION: 3\nEDGE_WEIGHT_TYPE: EUC_2D\n"),
        (b"DIMENSION:", b"3\nEDGE_WEIGHT_TYPE: x\n"),
        (b"<NUMBER OF NODES", b"\n<END OF METADATA>\n"),
        (b"<", b"NUMBER OF NODES> 2\n"),
        (b"0,", b"x,1\n"),
        (b"c", b"p\n"),
        (b"", b"p sp 1\n"),
        (b"a", b",b\n"),
        (b"1 2", b"x\n3 4\n"),
        (b"1,", b"x\n1,2\n"),
    ],
)
@pytest.mark.parametrize("format", [None, "edges", "tsplib", "tntp", "matrix", "dimacs"])
@pytest.mark.parametrize("byte", [b" ", b"1", b"x", b"-"])
def test_long_runs_of_one_character_are_read_in_linear_time(tmp_path, head, tail, format, byte):
    """Regular expressions with nested repetition would take quadratic time."""
    path = tmp_path / "run"
    path.write_bytes(head + byte * 60_000 + tail + head + byte * 900_000 + tail)
    started = time.process_time()
    with contextlib.suppress(FormatError):
        read_raw(path, format=format)
    assert time.process_time() - started < 2
