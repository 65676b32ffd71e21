"""Edge lists below a line ``n m``, or below two lines ``n`` and ``m`` (algs4's EdgeWeightedGraph).

Rows are ``u v`` or ``u v weight``. Ids count from 1 when one of them is `n`, else from 0. The counts must hold.
https://algs4.cs.princeton.edu/43mst/ and the inputs of Stanford's algorithms courses.
"""

from __future__ import annotations

from typing import IO, NamedTuple

from mst.formats.base import Format, Notes, RawGraph
from mst.formats.source import Source, head_lines
from mst.formats.table import Layout, Table, read_table, write_rows, wrong_count
from mst.formats.text import Text
from mst.graph import Graph

_COMMENTS = b"#%/"


class _Header(NamedTuple):
    n: int
    m: int


def sniff(source: Source) -> bool:
    """True when the first line or two hold counts and the rows below have another number of columns."""
    lines = head_lines(source, _COMMENTS)
    rows = [line.split() for line in lines or [] if line.strip()][:4]
    if not rows or not all(map(_is_count, rows[0])):
        return False
    widths = [len(row) for row in rows]
    if widths[:2] == [1, 1]:
        return all(map(_is_count, rows[1])) and set(widths[2:]) in (set(), {2}, {3})
    return widths[0] == 2 and (
        set(widths[1:]) == {3} or (source.whole and len(widths) == 1 and rows[0][1] == b"0")
    )


def counts_itself(table: Table) -> bool:
    """True when the first row of a table of two columns counts the vertices and rows of the others."""
    n, m = table.first()
    low, high = table.id_range(after_first=True)
    return m == table.rows - 1 and n >= max(high, 0) and not (low == 0 and high == n) and (n > 0 or m == 0)


def _is_count(word: bytes) -> bool:
    return word.isdigit() and len(word) < 19


def read(source: Source) -> RawGraph:
    """Read a headed edge list."""
    text = Text(source)
    header = _header(text)
    columns = _columns(text)
    row = "`<u> <v> <weight>`" if columns == "uvw" else "`<u> <v>`"
    layout = Layout(columns, f"{row} with vertices 0 … {header.n}", comments=_COMMENTS, high=header.n)
    table = read_table(text, layout, limit=header.m)
    if table.rows != header.m:
        raise wrong_count(text, header.m, table.rows)
    low, high = table.id_range()
    if low == 0 and high == header.n:
        _refuse_both_bases(source, header, layout)
    u, v = table.u.array(), table.v.array()
    remarks = []
    if high == header.n and table.rows:
        u -= 1
        v -= 1
    elif low > 0:
        remarks.append(f"no id is 0 and none is {header.n}: taken to count from 0")
    notes = Notes(table.rows, header.n, header.m, "edges", remarks=tuple(remarks))
    return RawGraph(header.n, u, v, table.weights(), None, "headed", notes)


def _header(text: Text) -> _Header:
    counts: list[int] = []
    line: bytes | None = b""
    while len(counts) < 2 and (line := text.line()) is not None:
        words = line.split()
        if not words or words[0][0] in _COMMENTS:
            continue
        if len(words) + len(counts) > 2 or not all(map(_is_count, words)):
            break
        counts += map(int, words)
    if len(counts) != 2:
        raise text.error_behind("expected `<vertices> <edges>`, in one line or in two", line)
    return _Header(*counts)


def _columns(text: Text) -> str:
    while (line := text.peek()) is not None:
        words = line.split()
        if words and words[0][0] not in _COMMENTS:
            return "uv" if len(words) == 2 else "uvw"
        text.line()
    return "uv"


def _refuse_both_bases(source: Source, header: _Header, layout: Layout) -> None:
    """Read again with ids from 0 to n - 1 alone, to stop at the first that is `n`."""
    with Source(source.path) as again:
        text = Text(again)
        _header(text)
        expected = layout.expected.replace(f"… {header.n}", f"… {header.n - 1}")
        read_table(text, layout.but(high=header.n - 1, expected=expected))


def write(sink: IO[bytes], graph: Graph) -> None:
    """Write ``n m`` and a row per edge, ids from 0."""
    sink.write(f"{graph.n} {graph.m}\n".encode())
    write_rows(sink, graph, base=0)


FORMAT = Format(
    "headed", "Edge list below a line `n m`, ids from 0 or 1 (algs4, Stanford)", (), sniff, read, write
)
