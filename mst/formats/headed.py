"""Edge lists below a line ``n m``, or below two lines ``n`` and ``m`` (algs4's EdgeWeightedGraph).

Rows are ``u v`` or ``u v weight``. Ids count from 1 if one of them is `n`, else from 0. The number of rows must match
the declared one. The format is used by https://algs4.cs.princeton.edu/43mst/ and Stanford's algorithms courses.
"""

from __future__ import annotations

from dataclasses import replace
from typing import IO, NamedTuple

from mst.formats.base import FileSummary, Format, RawGraph
from mst.formats.source import Source, first_lines
from mst.formats.table import Layout, read_declared_rows, read_table, write_rows
from mst.formats.text import Text, is_count
from mst.graph import Graph

_COMMENTS = b"#%/"


class _Header(NamedTuple):
    """The declared counts of vertices and rows."""

    n: int
    m: int


def sniff(source: Source) -> bool:
    """Return whether the first one or two lines hold counts, and the following rows have another number of columns."""
    lines = first_lines(source, _COMMENTS)
    rows = [line.split() for line in lines or [] if line.strip()][:4]
    if not rows or not all(map(is_count, rows[0])):
        return False
    widths = [len(row) for row in rows]
    if widths[:2] == [1, 1]:
        return all(map(is_count, rows[1])) and set(widths[2:]) in (set(), {2}, {3})
    # A comment may say that the only row is an edge.
    alone = source.head_complete and len(widths) == 1 and source.head.lstrip()[:1] not in _COMMENTS
    return widths[0] == 2 and (set(widths[1:]) == {3} or (alone and rows[0][1] == b"0"))


def rows_missing(first: tuple[int, int], rows: int, low: int, high: int) -> int | None:
    """Return how many rows are missing from a list if its first row holds the counts; None if it cannot.

    Parameters
    ----------
    first : (int, int)
        The first row.
    rows, low, high : int
        The number of other rows, and the smallest and largest of their ids.
    """
    n, m = first
    possible = n >= max(high, 0) and not (low == 0 and high == n) and m <= n * n
    return m - rows if possible else None


def read(source: Source) -> RawGraph:
    """Read a headed edge list."""
    text = Text(source)
    header = _header(text)
    columns = _columns(text)
    row = "`<u> <v> <weight>`" if columns == "uvw" else "`<u> <v>`"
    layout = Layout(columns, f"{row} with vertices 0 … {header.n}", comments=_COMMENTS, high=header.n)
    table = read_declared_rows(text, layout, header.m)
    low, high = table.id_range()
    if low == 0 and high == header.n:
        _raise_at_last_id(source, header, layout)
    from_one = high == header.n
    remarks = []
    if low > 0 and not from_one:
        remarks.append(f"no id is 0 or {header.n}: ids are assumed to count from 0")
    u, v = table.ends(base=int(from_one))
    summary = FileSummary(table.rows, header.n, header.m, "edges", remarks=tuple(remarks))
    return RawGraph(header.n, u, v, table.weights(), None, "headed", summary, base=int(from_one))


def _header(text: Text) -> _Header:
    counts: list[int] = []
    line: bytes | None = b""
    while len(counts) < 2 and (line := text.data_line(_COMMENTS)) is not None:
        words = line.split()
        if not all(map(is_count, words)):
            break
        counts += map(int, words)
    if len(counts) != 2:
        raise text.error_at_last_line("expected `<vertices> <edges>`, on one line or on two", line)
    return _Header(*counts)


def _columns(text: Text) -> str:
    first = text.peek_data_line(_COMMENTS)
    return "uv" if first is None or len(first.split()) == 2 else "uvw"


def _raise_at_last_id(source: Source, header: _Header, layout: Layout) -> None:
    """Read the file again with ids limited to n - 1, to raise the error at the first row with the id `n`."""
    with source.reopened() as reopened:
        text = Text(reopened)
        _header(text)
        expected = layout.expected.replace(f"… {header.n}", f"… {header.n - 1}")
        read_table(text, replace(layout, high=header.n - 1, expected=expected))


def write(sink: IO[bytes], graph: Graph) -> None:
    """Write ``n m`` and a row per edge, with ids from 0."""
    sink.write(f"{graph.n} {graph.m}\n".encode())
    write_rows(sink, graph, base=0)


FORMAT = Format(
    "headed", "Edge list below a line `n m`, ids from 0 or 1 (algs4, Stanford)", (), sniff, read, write
)
