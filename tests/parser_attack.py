"""Structure-aware mutants of graph files, and what must hold of each: no traceback, and no two readings that differ.

A mutant is a small graph in some format with words, rows, counts or bytes changed. It must raise an `MSTError` or be a
valid graph; then reading it with the detected format named, compressed or in an archive, and converted to another
format must give the same graph.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import zstandard
from hypothesis import strategies as st

from mst import Graph, MSTError
from mst.formats import FORMATS, RawGraph, read_raw, write

TEXTS = ("dimacs", "edges", "headed", "matrix-market", "metis", "gbbs", "pbbs")
BINARIES = ("canonical", "ecl", "galois", "bhargava-zaia")
OTHERS = {
    "matrix": b"0,1,2,3,4\n1,0,5,,6\n2,5,0,7,8\n3,,7,0,9\n4,6,8,9,0\n",
    "steinlib": b"33D32945 STP\nSECTION Graph\nNodes 4\nEdges 3\nE 1 2 5\nE 2 3 6\nE 3 4 7\nEND\nEOF\n",
    "tntp": b"<NUMBER OF NODES> 3\n<NUMBER OF LINKS> 2\n<END OF METADATA>\n~ a b c length ;\n1 2 9 5 ;\n2 3 9 6 ;\n",
    "explicit": b"DIMENSION: 3\n"
    b"EDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: UPPER_ROW\nEDGE_WEIGHT_SECTION\n1 2\n3\n",
    "points": b"TYPE: TSP\nDIMENSION: 3\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n1 0 0\n2 3 4\n3 1.5 2\nEOF\n",
    "konect": b"% sym weighted\n% 3 4 4\n1 2 5 100\n2 3 6 100\n1 4 7 100\n",
    "csv": b"source,target,weight\n1,2,5\n2,3,6.5\n1,4,7\n",
    "vertex weights": b"4 3 11 1\n5 2 7\n6 1 7 3 8\n1 2 8 4 9\n2 3 9\n",
    "ring": b"5 5\n2 5\n1 3\n2 4\n3 5\n1 4\n",
}
WORDS = st.sampled_from(
    [
        b"0",
        b"1",
        b"2",
        b"3",
        b"7",
        b"-1",
        b"0.5",
        b"-0.0",
        b"1e5",
        b"1e999",
        b"nan",
        b"inf",
        b"x",
        b"",
        b"1,2",
        b"#",
    ]
    + [b"%d" % n for n in (2**31, 2**32, 2**53 + 1, 2**60, 2**63 - 1, 2**63, 10**19)]
    + [
        b"# Nodes: 5 Edges: 3\n",
        b"%",
        b"c",
        b"\n",
        b"\r\n",
        b"\t",
        b"\0",
        b"\xff",
        b"END",
        b"EOF",
        b"p sp 3 2\n",
    ]
)
CHANGES = st.tuples(st.sampled_from(["word", "add", "row", "repeat", "swap", "cut", "byte", "int"]),
                    st.integers(0, 60), st.integers(0, 60), WORDS)  # fmt: skip
WEIGHTS = st.integers(-9, 99) | st.sampled_from([0.0, -0.0, 0.5, 2**31, 2**53 + 1, -(2**63), 1e300, np.inf])


@st.composite
def mutants(draw: Any, folder: Path) -> tuple[bytes, str]:
    """Return the bytes of a mutant, and a packing."""
    kind = draw(st.sampled_from((*TEXTS, *BINARIES, *OTHERS)))
    content = OTHERS.get(kind) or sample(draw, kind, folder / "sample")
    for change in draw(st.lists(CHANGES, max_size=4)):
        content = changed(content, *change)
    return content, draw(st.sampled_from(["gzip", "bzip2", "xz", "zstd", "tar", "zip"]))


def sample(draw: Any, kind: str, path: Path) -> bytes:
    """Return a small graph in a format that can be written."""
    n = draw(st.integers(1, 8))
    ends = st.integers(0, n - 1)
    rows = draw(st.lists(st.tuples(ends, ends, WEIGHTS), max_size=12))
    if kind in ("metis", "ecl", "galois", "bhargava-zaia"):
        rows = [(u, v, int(min(w, 99))) for u, v, w in rows if u != v and np.isfinite(w) and w > -100]
    w = [row[2] for row in rows]
    dtype = np.float64 if any(isinstance(x, float) for x in w) else np.int64
    write(path, Graph(n, [r[0] for r in rows], [r[1] for r in rows], np.array(w, dtype)), format=kind)
    return path.read_bytes()


def changed(content: bytes, change: str, i: int, j: int, word: bytes) -> bytes:
    """Return the content after one change at row `i` and column `j`."""
    if change in ("byte", "int"):
        at = (61 * i + j) % (len(content) + 1)
        new = word[:1] if change == "byte" else int(i * 2 ** (j % 31) % 2**31).to_bytes(4, "little")
        at -= at % 4 if change == "int" else 0
        return content[:at] + new + content[at + len(new) :]
    rows = content.split(b"\n")
    i %= len(rows)
    if change == "cut":
        return b"\n".join(rows[:i]) + b"\n"
    if change == "row":
        del rows[i]
    elif change == "repeat":
        rows.insert(i, rows[i])
    elif change == "swap":
        j %= len(rows)
        rows[i], rows[j] = rows[j], rows[i]
    else:
        words = rows[i].split(b" ")
        j %= len(words)
        words[j : j + (change == "word")] = [word]
        rows[i] = b" ".join(words)
    return b"\n".join(rows)


def packed(content: bytes, packing: str) -> bytes:
    """Return the content compressed, or in an archive of one file."""
    if packing == "gzip":
        return gzip.compress(content, 1)
    if packing == "zstd":
        return zstandard.compress(content, 1)
    if packing == "bzip2":
        return bz2.compress(content, 1)
    if packing == "xz":
        return lzma.compress(content, preset=0)
    buffer = io.BytesIO()
    if packing == "zip":
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("inside", content)
    else:
        with tarfile.open(fileobj=buffer, mode="w") as archive:
            member = tarfile.TarInfo("inside")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def reading(path: Path, format: str | None = None) -> RawGraph | None:
    """Return the graph of a file, or None after an `MSTError` that names the file."""
    try:
        raw = read_raw(path, format=format)
        raw.graph()
    except MSTError as error:
        assert str(path) in str(error)
        return None
    return raw


def content_of(raw: RawGraph | None) -> Any:
    """Return what two readings of one file must share: n, the ids, and the rows in order, to the bit of the weight."""
    if raw is None:
        return None
    weights = None if raw.w is None else (raw.w.dtype.name, raw.w.tobytes())
    ids = None if raw.original_ids is None else raw.original_ids.tolist()
    return raw.n, ids, raw.u.tolist(), raw.v.tolist(), weights


def edges_of(graph: Graph) -> list[tuple[int, int, Any]]:
    """Return what two formats must share: the edges with their weights, whatever their order and direction."""
    return sorted(
        (min(a, b), max(a, b), w + 0) for a, b, w in zip(*(x.tolist() for x in (graph.u, graph.v, graph.w)))
    )


def check(path: Path, content: bytes, packing: str) -> bool:
    """Assert what holds of every file; return whether it was read as a graph."""
    path.write_bytes(content)
    raw = reading(path)
    head = content[:8]
    if not head.startswith((b"ARROW1", b"PK")) and content:
        path.write_bytes(packed(content, packing))
        assert content_of(reading(path)) == content_of(raw), packing
    if raw is None:
        return False
    path.write_bytes(content)
    assert content_of(reading(path, raw.format)) == content_of(raw), raw.format
    graph = raw.graph()
    wanted = graph.n, edges_of(graph)
    galois = "galois-float" if graph.w.dtype.kind == "f" else "galois"
    for format in ("dimacs", "canonical", "matrix-market", "gbbs", galois):
        write(path, graph, format=format)
        again = read_raw(path, format=format).graph()
        assert (again.n, edges_of(again)) == wanted, format
    return True


assert set(TEXTS) | set(BINARIES) <= set(FORMATS)
