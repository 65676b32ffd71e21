"""Matrix Market coordinate files (``.mtx``): every entry is an edge, including explicit zeros; ids count from 1.

``symmetric`` files list each edge once; in ``general`` files, entries (i, j) and (j, i) are two edges. The matrix
must be square. https://math.nist.gov/MatrixMarket/formats.html.
"""

from __future__ import annotations

from typing import IO, NamedTuple

import numpy as np

from mst.formats.base import FileSummary, Format, RawGraph
from mst.formats.source import Source
from mst.formats.table import Layout, read_declared_rows, write_rows
from mst.formats.text import Text, is_count
from mst.graph import Graph

_BANNER = b"%%matrixmarket"
_FIELDS = ("real", "double", "integer", "pattern")
_SYMMETRIES = ("general", "symmetric")


class _Header(NamedTuple):
    """The banner and the line of sizes."""

    field: str
    symmetry: str
    n: int
    m: int


def sniff(source: Source) -> bool:
    """Return whether the file begins with the banner ``%%MatrixMarket``."""
    return source.head[: len(_BANNER)].lower() == _BANNER


def read(source: Source) -> RawGraph:
    """Read a matrix; ``real`` weights are float64 even if all are whole numbers."""
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
    table = read_declared_rows(text, layout, header.m)
    u, v = table.ends(base=1)
    w = table.w.floats(source.path) if table.w and header.field != "integer" else table.weights()
    direction = "edges" if header.symmetry == "symmetric" else "arcs"
    summary = FileSummary(table.rows, header.n, header.m, direction)
    return RawGraph(header.n, u, v, w, None, "matrix-market", summary, base=1)


def _header(text: Text) -> _Header:
    line = text.line() or b""
    words = line.lower().decode(errors="replace").split()
    if len(words) != 5 or words[0].encode() != _BANNER or words[1] != "matrix":
        raise text.error_at_last_line("expected `%%MatrixMarket matrix coordinate <field> <symmetry>`", line)
    form, field, symmetry = words[2:]
    if form != "coordinate":
        raise text.error_at_last_line(
            f"expected a coordinate matrix, found {form}: write only the entries that are edges", line
        )
    if field not in _FIELDS:
        raise text.error_at_last_line(f"expected {', '.join(_FIELDS)} entries, found {field}", line)
    if symmetry not in _SYMMETRIES:
        raise text.error_at_last_line(f"expected a {' or '.join(_SYMMETRIES)} matrix, found {symmetry}", line)
    size = text.data_line(b"%")
    counts = (size or b"").split()
    if len(counts) != 3 or not all(map(is_count, counts)):
        raise text.error_at_last_line("expected `<rows> <columns> <entries>`", size)
    if counts[0] != counts[1]:
        raise text.error_at_last_line("expected a square matrix: rows and columns are the same vertices", size)
    return _Header(field, symmetry, int(counts[0]), int(counts[2]))


def write(sink: IO[bytes], graph: Graph) -> None:
    """Write the lower triangle of a symmetric matrix, with an entry per edge.

    Parallel edges become entries at the same position, which other programs may add up: simplify the graph first.
    """
    field = "integer" if graph.w.dtype.kind == "i" else "real"
    sink.write(f"%%MatrixMarket matrix coordinate {field} symmetric\n{graph.n} {graph.n} {graph.m}\n".encode())
    lower = Graph(graph.n, np.maximum(graph.u, graph.v), np.minimum(graph.u, graph.v), graph.w, trusted=True)
    write_rows(sink, lower, base=1)


FORMAT = Format("matrix-market", "Matrix Market coordinate matrix", (".mtx",), sniff, read, write)
