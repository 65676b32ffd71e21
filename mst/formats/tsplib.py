"""TSPLIB problems (``.tsp``, ``.atsp``) as complete graphs: explicit matrices, or rounded distances of points.

The diagonal of a matrix is ignored. At most `MAX_POINTS` points are accepted, since n points make n (n - 1) / 2 edges.
Reinelt, "TSPLIB 95" (http://comopt.ifi.uni-heidelberg.de/software/TSPLIB95/tsp95.pdf).
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from mst.arrays import distinct_values
from mst.errors import FormatError, UnsupportedError
from mst.formats.arcs import merge_reverse_arcs
from mst.formats.base import FileSummary, Format, RawGraph
from mst.formats.numbers import NumberReader
from mst.formats.source import Source, first_lines
from mst.formats.table import Layout, read_table
from mst.formats.text import Text

MAX_POINTS = 15_000
"""The most points of a complete graph, which then has 112 million edges and takes 1.35 GB."""

_KEY = re.compile(r"[A-Z_0-9]+")
_TYPES = ("TSP", "ATSP")
_METRICS = ("EUC_2D", "CEIL_2D", "MAN_2D", "MAX_2D", "ATT")
_MAX_DISTANCE = 2.0**30
# The triangle that the numbers fill row by row, and the distance of its first diagonal from the main diagonal. Reading
# one triangle by columns is reading the other by rows.
_TRIANGLES = {
    "UPPER_ROW": ("upper", 1),
    "LOWER_COL": ("upper", 1),
    "UPPER_DIAG_ROW": ("upper", 0),
    "LOWER_DIAG_COL": ("upper", 0),
    "LOWER_ROW": ("lower", 1),
    "UPPER_COL": ("lower", 1),
    "LOWER_DIAG_ROW": ("lower", 0),
    "UPPER_DIAG_COL": ("lower", 0),
}
_FORMATS = ("FULL_MATRIX", *_TRIANGLES)


def sniff(source: Source) -> bool:
    """Return whether the first lines hold the keyword DIMENSION, and one that describes edges."""
    keys = {_key_and_value(line)[0] for line in (first_lines(source) or [])[:50]}
    return "DIMENSION" in keys and bool(keys & {"EDGE_WEIGHT_TYPE", "EDGE_DATA_FORMAT"})


def read(source: Source) -> RawGraph:
    """Read a problem as a graph."""
    text = Text(source)
    keys, section = _header(text)
    n = _dimension(source, keys)
    kind = keys.get("EDGE_WEIGHT_TYPE", "")
    if (keys.get("TYPE") or "TSP").split()[0] not in _TYPES:
        raise FormatError(source.path, f"expected TYPE {' or '.join(_TYPES)}, found {keys['TYPE']}")
    if kind == "EXPLICIT" and section == "EDGE_WEIGHT_SECTION":
        return _explicit(text, n, keys.get("EDGE_WEIGHT_FORMAT", ""))
    if kind in _METRICS and section == "NODE_COORD_SECTION":
        return _points(source, text, n, kind)
    raise FormatError(
        source.path,
        f"expected EDGE_WEIGHT_TYPE EXPLICIT with an EDGE_WEIGHT_SECTION, or {', '.join(_METRICS)} with a "
        f"NODE_COORD_SECTION, found {kind or 'no type'} with {section or 'no section'}",
    )


def _header(text: Text) -> tuple[dict[str, str], str]:
    """Return the keywords, and the name of the first section of edges or points, whose first row is then next."""
    keys: dict[str, str] = {}
    while (line := text.header_line()) is not None:
        if not line.strip():
            continue
        key, value = _key_and_value(line)
        if not _KEY.fullmatch(key):
            raise text.error_at_last_line("expected `KEYWORD: value` or a section", line)
        if key in ("EDGE_WEIGHT_SECTION", "NODE_COORD_SECTION", "EOF"):
            return keys, key
        keys[key] = value
    return keys, ""


def _key_and_value(line: bytes) -> tuple[str, str]:
    key, _, value = line.decode(errors="replace").partition(":")
    return key.strip(), value.strip()


def _dimension(source: Source, keys: dict[str, str]) -> int:
    text = keys.get("DIMENSION", "")
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise FormatError(source.path, f"expected a DIMENSION, found {text!r}")
    return int(text)


def _explicit(text: Text, n: int, form: str) -> RawGraph:
    if form not in _FORMATS:
        raise FormatError(
            text.source.path, f"expected EDGE_WEIGHT_FORMAT {', '.join(_FORMATS)}, found {form or 'none'}"
        )
    numbers = NumberReader(text, "the weights of the matrix")
    if form == "FULL_MATRIX":
        return _full(numbers.read(n * n, "weights"), n)
    triangle, offset = _TRIANGLES[form]
    w = numbers.read((n - offset + 1) * (n - offset) // 2 if n else 0, "weights")
    rows = np.arange(n - offset, -offset, -1) if triangle == "upper" else np.arange(1 - offset, n + 1 - offset)
    i = np.repeat(np.arange(n, dtype=np.int32), np.maximum(rows, 0))
    starts = np.cumsum(rows) - rows
    j = (np.arange(len(w)) - np.repeat(starts, rows)).astype(np.int32)
    if triangle == "upper":
        j += i + np.int32(offset)
    edge = i != j
    u, v = (i, j) if triangle == "upper" else (j, i)
    summary = FileSummary(len(w), n, None, "edges")
    return RawGraph(n, u[edge], v[edge], w[edge], None, "tsplib", summary, base=1)


def _full(w: np.ndarray, n: int) -> RawGraph:
    u, v = (part.astype(np.int32) for part in np.divmod(np.arange(n * n), max(n, 1)))
    edge = u != v
    return replace(merge_reverse_arcs(u[edge], v[edge], w[edge]).graph("tsplib", n, len(w)), base=1)


def _points(source: Source, text: Text, n: int, kind: str) -> RawGraph:
    from mst.kernels.generate import metric

    if n > MAX_POINTS:
        raise UnsupportedError(
            f"{source.path}: the complete graph of {n:,} points has {n * (n - 1) // 2:,} edges: "
            f"files of at most {MAX_POINTS:,} points are read"
        )
    lines = text.lines
    ids, x = _coordinates(text, "uw-", n)
    with source.reopened() as reopened:
        second = Text(reopened)
        while second.lines < lines:
            second.line()
        _, y = _coordinates(second, "u-w", n)
    permutation = np.argsort(ids)
    x, y = x[permutation], y[permutation]
    if n and max(np.ptp(x), np.ptp(y)) >= _MAX_DISTANCE:
        raise FormatError(source.path, f"expected distances below {_MAX_DISTANCE:.0f}, which fit int32")
    u, v, w = metric.complete_graph(x, y, getattr(metric, kind))
    return RawGraph(n, u, v, w, None, "tsplib", FileSummary(n, n, None, "edges"), base=1)


def _coordinates(text: Text, columns: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    layout = Layout(columns, f"`<point> <x> <y>` with points 1 … {n}, or EOF", footer=b"EOF", low=1, high=n)
    table = read_table(text, layout, limit=n)
    ids = table.u.array()
    values = table.w.floats(text.source.path) if table.w else np.empty(0)
    if (placed := len(distinct_values(ids))) != n or not np.isfinite(values).all():
        raise FormatError(text.source.path, f"expected finite coordinates of {n:,} points, found {placed:,}")
    return ids, values


FORMAT = Format("tsplib", "TSPLIB problem as a complete graph", (".tsp", ".atsp"), sniff, read)
