"""Matrix Market coordinate files (``.mtx``): entries are edges, from 1; explicit zeros too.

https://math.nist.gov/MatrixMarket/formats.html. ``symmetric`` files list each edge once; of ``general`` ones
every entry is an edge. The matrix must be square.
"""

from __future__ import annotations

from typing import IO, NamedTuple

import numpy as np

from mst.formats.base import Format, Notes, RawGraph
from mst.formats.source import Source
from mst.formats.table import Layout, read_table, write_rows, wrong_count
from mst.formats.text import Text
from mst.graph import Graph

_BANNER = b"%%matrixmarket"
_FIELDS = ("real", "double", "integer", "pattern")
_SYMMETRIES = ("general", "symmetric")


class _Header(NamedTuple):
    field: str
    symmetry: str
    n: int
    m: int


def sniff(source: Source) -> bool:
    return source.head[: len(_BANNER)].lower() == _BANNER


def read(source: Source) -> RawGraph:
    """Read a matrix; ``real`` weights are float64 even where all are whole."""
    text = Text(source)
    header = _header(text)
    weight = "" if header.field == "pattern" else " <weight>"
    layout = Layout(
        "uvw" if weight else "uv",
        f"`<row> <column>{weight}` from 1 to {header.n}",
        comments=b"%",
        low=1,
        high=header.n,
    )
    table = read_table(text, layout, limit=header.m)
    if table.rows != header.m:
        raise wrong_count(text, header.m, table.rows)
    u, v, w = table.u.array(), table.v.array(), table.weights()
    u -= 1
    v -= 1
    if w is not None and header.field != "integer":
        w = w.astype(np.float64, copy=False)
    direction = "edges" if header.symmetry == "symmetric" else "arcs"
    return RawGraph(header.n, u, v, w, None, "matrix-market", Notes(table.rows, header.n, header.m, direction))


def _header(text: Text) -> _Header:
    line = text.line() or b""
    words = line.lower().decode(errors="replace").split()
    if len(words) != 5 or words[0].encode() != _BANNER or words[1] != "matrix":
        raise text.error_behind("expected `%%MatrixMarket matrix coordinate <field> <symmetry>`", line)
    form, field, symmetry = words[2:]
    if form != "coordinate":
        raise text.error_behind(
            f"expected a coordinate matrix, found {form}: write the entries that are edges", line
        )
    if field not in _FIELDS:
        raise text.error_behind(f"expected {', '.join(_FIELDS)} entries, found {field}", line)
    if symmetry not in _SYMMETRIES:
        raise text.error_behind(f"expected a {' or '.join(_SYMMETRIES)} matrix, found {symmetry}", line)
    size = text.line()
    while size is not None and (not size.strip() or size.lstrip().startswith(b"%")):
        size = text.line()
    counts = (size or b"").split()
    if len(counts) != 3 or not all(word.isdigit() and len(word) < 19 for word in counts):
        raise text.error_behind("expected `<rows> <columns> <entries>`", size)
    if counts[0] != counts[1]:
        raise text.error_behind("expected a square matrix: rows and columns are the same vertices", size)
    return _Header(field, symmetry, int(counts[0]), int(counts[2]))


def write(sink: IO[bytes], graph: Graph) -> None:
    """Write a symmetric matrix: the lower triangle, an entry per edge.

    Parallel edges become entries of one place, which other programs may add up: simplify the graph before.
    """
    field = "integer" if graph.w.dtype.kind == "i" else "real"
    sink.write(f"%%MatrixMarket matrix coordinate {field} symmetric\n{graph.n} {graph.n} {graph.m}\n".encode())
    lower = Graph(graph.n, np.maximum(graph.u, graph.v), np.minimum(graph.u, graph.v), graph.w, trusted=True)
    write_rows(sink, lower, base=1)


FORMAT = Format("matrix-market", "Matrix Market coordinate matrix", (".mtx",), sniff, read, write)
