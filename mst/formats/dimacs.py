"""DIMACS shortest-path graphs (``p sp``), and the text formats derived from them.

* ``p sp n m`` and rows ``a u v w``: the 9th DIMACS challenge (http://www.diag.uniroma1.it/challenge9/format.shtml).
* ``p edge n m`` (or ``col``) and rows ``e u v``, with an optional weight: the 2nd challenge.
* ``p tw n m`` and rows ``u v``, with an optional weight: PACE (https://pacechallenge.org/2017/treewidth/).

Ids count from 1, rows keep their order, and the number of rows must be the declared one.
"""

from __future__ import annotations

import re
from typing import IO, NamedTuple

from mst.errors import FormatError
from mst.formats.base import FileSummary, Format, RawGraph, RawStream
from mst.formats.source import Source, is_text
from mst.formats.table import Layout, read_declared_rows, stream_rows, write_rows
from mst.formats.text import Text, is_count
from mst.graph import Graph

_PROBLEM = re.compile(rb"(?:[ \t\r]*(?:c[^\n]*)?\n)*[ \t]*p[ \t]+\w")
_ROW_TAGS = {
    "sp": "a",
    "edge": "e",
    "edges": "e",
    "col": "e",
    "tw": "",
    "td": "",
    "cep": "",
    "ds": "",
    "vc": "",
    "fvs": "",
}


def sniff(source: Source) -> bool:
    """Return whether the first line that is not a comment begins with ``p``."""
    return is_text(source) and _PROBLEM.match(source.head.removeprefix(b"\xef\xbb\xbf")) is not None


class _Problem(NamedTuple):
    """The problem line."""

    kind: str
    n: int
    m: int


def read(source: Source) -> RawGraph:
    """Read a graph in one of the dialects that the module lists."""
    text = Text(source)
    problem = _problem(text)
    layout = _layout(text, problem)
    table = read_declared_rows(text, layout, problem.m)
    u, v = table.ends(base=1)
    direction = "arcs" if problem.kind == "sp" else "edges"
    summary = FileSummary(table.rows, problem.n, problem.m, direction)
    return RawGraph(problem.n, u, v, table.weights(), None, "dimacs", summary, base=1)


def stream(source: Source) -> RawStream:
    """Read a graph in one of the dialects that the module lists, block by block."""
    text = Text(source)
    problem = _problem(text)
    blocks = stream_rows(text, _layout(text, problem), problem.m, base=1)
    return RawStream(problem.n, problem.m, blocks, base=1)


def _problem(text: Text) -> _Problem:
    line = text.data_line(b"c")
    words = [] if line is None else line.split()
    if words[:1] != [b"p"]:
        raise text.error_at_last_line("expected `p sp <vertices> <arcs>` before the first row", line)
    if words[1:2] == [b"aux"]:
        raise FormatError(text.source.path, "holds coordinates of vertices, not edges")
    kind = words[1].decode(errors="replace") if len(words) > 1 else ""
    if kind not in _ROW_TAGS:
        raise text.error_at_last_line(f"expected a problem of type {', '.join(_ROW_TAGS)}", line)
    if len(words) != 4 or not all(map(is_count, words[2:])):
        raise text.error_at_last_line(f"expected `p {kind} <vertices> <edges>`", line)
    return _Problem(kind, int(words[2]), int(words[3]))


def _layout(text: Text, problem: _Problem) -> Layout:
    """Return the layout of the rows; if weights are optional, the first row tells whether there are any."""
    tag = _ROW_TAGS[problem.kind]
    columns, row = "uvw", "a <from> <to> <weight>"
    if problem.kind != "sp":
        first = text.peek_data_line(b"c")
        weighted = first is not None and len(first.split()) == 3 + bool(tag)
        columns = "uvw" if weighted else "uv"
        row = f"{tag} <u> <v>{' <weight>' if weighted else ''}".strip()
    expected = f"`{row}` with vertices 1 … {problem.n}"
    return Layout(columns, expected, tag=tag, comments=b"c", low=1, high=problem.n)


def write(stream: IO[bytes], graph: Graph) -> None:
    """Write ``p sp`` and a row per edge; fractions stay, although the challenge defines only integer weights."""
    stream.write(f"p sp {graph.n} {graph.m}\n".encode())
    write_rows(stream, graph, base=1, tag="a")


FORMAT = Format(
    "dimacs",
    "DIMACS graph (p sp, p edge) and PACE (p tw)",
    (".gr", ".col", ".dimacs"),
    sniff,
    read,
    write,
    stream=stream,
)
