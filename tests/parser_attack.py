"""Structure-aware mutants of graph files, and what must hold of each: no traceback, and no two readings that differ.

A mutant is a small graph in some format with words, rows, counts or bytes changed. It must raise an `MSTError` or be a
valid graph; then reading it with the detected format named, compressed or in an archive, with and without compiled
code, and converted to another format must give the same graph.

Hypothesis draws a file and a seed, from which hundreds of mutants are made: drawing takes longer than reading.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import tarfile
import tempfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import zstandard
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.database import DirectoryBasedExampleDatabase

from mst import Graph, MSTError
from mst.formats import FORMATS, RawGraph, open_stream, plain, read_raw, write
from mst.formats.source import Source

# Files that had a mutant that failed are kept here, and tried first the next time.
CORPUS = DirectoryBasedExampleDatabase(Path(__file__).parents[1] / ".hypothesis" / "parsers")
MUTANTS_OF_ONE = 250

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
    "coloring": b"c x\np edge 4 3\ne 1 2\ne 2 3\ne 3 4\n",
    "pace": b"p tw 4 3\n1 2\n2 3\n3 4\n",
    "general": b"%%MatrixMarket matrix coordinate real general\n% x\n3 3 4\n1 2 0.5\n2 1 0.5\n2 3 1.5\n3 2 1.5\n",
    "pattern": b"%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 2\n",
    "adjacency graph": b"AdjacencyGraph\n3\n4\n0\n1\n3\n1\n0\n2\n1\n",
    "edge array": b"EdgeArray\n0 1\n1 2\n2 4\n",
    "snap": b"# Directed graph\n# Nodes: 4 Edges: 3\n# FromNodeId\tToNodeId\n0\t1\n1\t2\n3\t2\n",
    "two counts": b"4\n3\n0 1 0.5\n1 2 0.7\n2 3 1.5\n",
    "headed pairs": b"4 3\n0 1\n1 2\n2 3\n",
    "bars": b"u|v|weight\n1|2|3\n2|3|4\n",
    "numbered": b"0 1 2 5\n1 2 3 6\n2 1 4 7\n",
    "full matrix": b"TYPE: ATSP\nDIMENSION: 3\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: FULL_MATRIX\n"
    b"EDGE_WEIGHT_SECTION\n0 1 2\n1 0 3\n4 3 0\nEOF\n",
    "blank matrix": b"0 1.5 2 7 0\n1.5 0 0 3 1\n2 0 0 inf 2\n7 3 inf 0 3\n0 1 2 3 0\n",
    "unweighted rows": b"% x\n4 4\n2 4\n1 3\n2 4\n1 3\n",
    "sized rows": b"3 2 111 2\n9 5 6 2 7\n9 5 6 1 7 3 8\n9 5 6 2 8\n",
}
MATRICES = {
    "csr": {"indices": [1, 2, 0, 0], "indptr": [0, 2, 3, 4], "data": [1.5, 2.5, 1.5, 2.5]},
    "coo": {"row": [0, 1, 2, 2], "col": [1, 0, 2, 1], "data": [3, 3, 4, 5]},
}
WORDS = (
    b"0 1 2 3 7 -1 0.5 -0.0 1e5 1e999 nan inf x 1,2 # % c END EOF \0 \xff".split()
    + [b"", b"\n", b"\r\n", b"\t", b"# Nodes: 5 Edges: 3\n", b"p sp 3 2\n"]
    + [b"%d" % n for n in (2**31, 2**32, 2**53 + 1, 2**60, 2**63 - 1, 2**63, 10**19)]
)
NUMBERS = [b"%d" % n for n in range(10)] + b"-3 0.5 -0.0 1e5 -inf 9007199254740993".split()
OF_TEXT = ("word", "add", "row", "repeat", "swap", "cut", "byte", "all", *["number"] * 4)
ALL = (
    (b"\n", b"\r\n"),
    (b"\n", b"\n\n"),
    (b" ", b"\t"),
    (b" ", b","),
    (b",", b";"),
    (b"\n", b"\n "),
    (b"0", b"-0.0"),
)
OF_BYTES = ("byte", "int", "int", "small", "small", "small", "word", "cut")
PACKINGS = ("gzip", "bzip2", "xz", "zstd", "tar", "tar.gz", "zip")
WEIGHTS = st.integers(-9, 99) | st.sampled_from([0.0, -0.0, 0.5, 2**31, 2**53 + 1, -(2**63), 1e300, np.inf])


@st.composite
def files(draw: Any, path: Path) -> bytes:
    """Return the content of a valid file."""
    kind = draw(st.sampled_from((*TEXTS, *BINARIES, *OTHERS, *MATRICES)))
    if kind in MATRICES:
        buffer = io.BytesIO()
        np.savez(buffer, format=np.array(kind.encode()), shape=[3, 3], **MATRICES[kind])
        return buffer.getvalue()
    return OTHERS.get(kind) or sample(draw, kind, path)


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


def mutants(content: bytes, dice: random.Random) -> Iterator[bytes]:
    """Yield different mutants of a file, the file among them."""
    seen = {content}
    yield content
    changes = OF_BYTES if b"\0" in content else OF_TEXT
    for _ in range(MUTANTS_OF_ONE):
        mutant = content
        change = changed_inside if content.startswith(b"PK") and dice.random() < 0.9 else changed
        for _ in range(dice.choice((1, 1, 1, 1, 2, 2, 3, 4))):
            mutant = change(mutant, dice.choice(changes), dice)
        if mutant not in seen:
            seen.add(mutant)
            yield mutant


def changed(content: bytes, change: str, dice: random.Random) -> bytes:
    """Return the content after one change."""
    if change in ("byte", "int", "small"):
        at = dice.randrange(len(content) + 1)
        if change == "byte":
            new = bytes([dice.randrange(256)])
        else:
            new = dice.randrange(9 if change == "small" else 2 ** dice.randrange(32)).to_bytes(4, "little")
            at -= at % 4
        return content[:at] + new + content[at + len(new) :]
    if change == "all":
        return content.replace(*dice.choice(ALL))
    rows = content.split(b"\n")
    i = dice.randrange(len(rows))
    if change == "cut":
        return b"\n".join(rows[:i]) + b"\n"
    if change == "row":
        del rows[i]
    elif change == "repeat":
        rows.insert(dice.randrange(len(rows)), rows[i])
    elif change == "swap":
        j = dice.randrange(len(rows))
        rows[i], rows[j] = rows[j], rows[i]
    else:
        blank = b"," if b"," in rows[i] else b" "
        words = rows[i].split(blank)
        j = dice.randrange(len(words))
        if change == "number":
            words[j] = dice.choice(NUMBERS) if words[j][-1:].isdigit() else words[j]
        else:
            words[j : j + (change == "word")] = [dice.choice(WORDS)]
        rows[i] = blank.join(words)
    return b"\n".join(rows)


def changed_inside(content: bytes, change: str, dice: random.Random) -> bytes:
    """Return a zip archive after one change of one member."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    at = dice.randrange(len(members))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for i, (name, inside) in enumerate(members):
            archive.writestr(name, changed(inside, change, dice) if i == at else inside)
    return buffer.getvalue()


def packed(content: bytes, packing: str) -> bytes:
    """Return the content compressed, or in an archive of one file."""
    if packing == "tar.gz":
        return packed(packed(content, "tar"), "gzip")
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


def reading(path: Path, format: str | None = None, compiled: bool = True) -> RawGraph | None:
    """Return the graph of a file, or None after an `MSTError` that names the file."""
    plain.is_worthwhile = lambda size: not compiled and size <= plain.LARGEST
    try:
        raw = read_raw(path, format=format)
        raw.graph()
    except MSTError as error:
        assert str(path) in str(error)
        return None
    return raw


def content_of(raw: RawGraph | None) -> Any:
    """Return n, the ids, and the rows in order, to the bit of the weight: two readings of one file must share them."""
    if raw is None:
        return None
    weights = None if raw.w is None else (raw.w.dtype.name, raw.w.tobytes())
    ids = None if raw.original_ids is None else raw.original_ids.tolist()
    return raw.n, ids, raw.u.tolist(), raw.v.tolist(), weights


def edges_of(graph: Graph) -> list[tuple[int, int, Any]]:
    """Return the edges that two formats must share, with their weights, whatever their order and direction."""
    return sorted(
        (min(a, b), max(a, b), w + 0) for a, b, w in zip(*(x.tolist() for x in (graph.u, graph.v, graph.w)))
    )


def streamed(path: Path, raw: RawGraph) -> bool:
    """Return whether the file of this graph gives the same rows in parts, or is refused because it has none."""
    try:
        with Source(path) as source:
            blocks = [
                (u.tolist(), v.tolist(), [] if w is None else w.tolist())
                for u, v, w in open_stream(source).blocks
            ]
    except MSTError:
        return FORMATS[raw.format].stream is None
    base = raw.base if raw.format == "edges" else 0
    ends = [x + base if raw.original_ids is None else raw.original_ids[x] for x in (raw.u, raw.v)]
    columns = [x.tolist() for x in (*ends, raw.w) if x is not None]
    return [[x for block in blocks for x in block[i]] for i in range(len(columns))] == columns


def check(path: Path, content: bytes, dice: random.Random) -> bool:
    """Assert what holds of every file; return whether it was read as a graph."""
    path.write_bytes(content)
    raw = reading(path)
    if dice.random() < 0.1:
        reading(path, dice.choice(list(FORMATS)))
    if content and not content.startswith((b"ARROW1", b"PK")):
        packing = dice.choice(PACKINGS)
        path.write_bytes(packed(content, packing))
        assert content_of(reading(path, compiled=False)) == content_of(raw), packing
    if raw is None:
        return False
    path.write_bytes(content)
    assert content_of(reading(path, raw.format, dice.random() < 0.5)) == content_of(raw), raw.format
    assert streamed(path, raw), "in parts"
    graph = raw.graph()
    # The last two have a row for every vertex, and a mutant may declare millions.
    format = dice.choice(
        ("dimacs", "canonical", "matrix-market", "gbbs", "galois")[: 5 if graph.n < 10**4 else 3]
    )
    if format == "galois" and graph.w.dtype.kind == "f":
        format = "galois-float"
    write(path, graph, format=format)
    again = reading(path, format, dice.random() < 0.5)
    assert again is not None, format
    assert (again.n, edges_of(again.graph())) == (graph.n, edges_of(graph)), format
    return True


def attack(files_to_draw: int, seed: int) -> Counter:
    """Check the mutants of that many files; return how many were read as graphs and how many refused."""
    counts: Counter = Counter()
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        path = Path(folder, "mutant")

        @hypothesis.seed(seed)
        @settings(
            max_examples=files_to_draw,
            deadline=None,
            derandomize=False,
            database=CORPUS,
            phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        )
        @given(files(path), st.integers(0, 2**32 - 1))
        def readings_agree(file, number):
            dice = random.Random(number + zlib.crc32(file))
            for mutant in mutants(file, dice):
                try:
                    counts["read" if check(path, mutant, dice) else "refused"] += 1
                except Exception as error:
                    error.add_note(f"mutant: {mutant!r}")
                    raise

        readings_agree()
    return counts


assert set(TEXTS) | set(BINARIES) <= set(FORMATS)
