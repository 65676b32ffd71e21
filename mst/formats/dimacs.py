"""DIMACS shortest-path graphs (``p sp``), coordinates (``.co``), and the text formats derived from them.

* ``p sp n m`` and rows ``a u v w``: the 9th DIMACS challenge (http://www.diag.uniroma1.it/challenge9/format.shtml).
* ``p edge n m`` (or ``col``) and rows ``e u v``, with an optional weight: the 2nd challenge.
* ``p tw n m`` and rows ``u v``, with an optional weight: PACE (https://pacechallenge.org/2017/treewidth/).

Ids count from 1, rows keep their order, and the number of rows must be the declared one.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from mst.arrays import distinct_values
from mst.errors import FormatError
from mst.formats.base import FileSummary, Format, RawGraph, RawStream
from mst.formats.source import Source, is_text
from mst.formats.table import Layout, read_declared_rows, read_table, stream_rows, write_rows
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
    """True when the first line that is not a comment begins with ``p``."""
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
        raise FormatError(
            text.source.path,
            "holds coordinates, not edges: read it with mst.formats.dimacs.read_coordinates",
        )
    kind = words[1].decode(errors="replace") if len(words) > 1 else ""
    if kind not in _ROW_TAGS:
        raise text.error_at_last_line(f"expected a problem of type {', '.join(_ROW_TAGS)}", line)
    if len(words) != 4 or not all(map(is_count, words[2:])):
        raise text.error_at_last_line(f"expected `p {kind} <vertices> <edges>`", line)
    return _Problem(kind, int(words[2]), int(words[3]))


def _layout(text: Text, problem: _Problem) -> Layout:
    """Return the layout of the rows; where weights are optional, the first row decides."""
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
    """Write ``p sp`` and a row per edge; fractions are kept, although the challenge defines only integers."""
    stream.write(f"p sp {graph.n} {graph.m}\n".encode())
    write_rows(stream, graph, base=1, tag="a")


def read_coordinates(path: str | Path) -> tuple[np.ndarray, np.ndarray]:
    """Return the coordinates ``(x, y)`` of a ``.co`` file.

    Parameters
    ----------
    path : path-like
        Plain, compressed or archived, as for `mst.formats.read`.

    Returns
    -------
    x, y : numpy.ndarray of int32, int64 or float64, shape (n,)
        In the file's units: in the challenge's road networks, longitude and latitude in degrees times 10⁶.

    Raises
    ------
    FormatError
        A vertex has no coordinates, or more than one pair.
    InputError
        The file cannot be opened.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from mst.formats.dimacs import read_coordinates
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "tiny.co")
    ...     _ = file.write_text("p aux sp co 2\\nv 1 -73 41\\nv 2 -74 42\\n")
    ...     x, y = read_coordinates(file)
    >>> x.tolist(), y.tolist()
    ([-73, -74], [41, 42])
    """
    ids, x = _coordinate(path, "uw-")
    _, y = _coordinate(path, "u-w")
    permutation = np.argsort(ids)
    return x[permutation], y[permutation]


def _coordinate(path: str | Path, columns: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the vertices and one of their coordinates, in the file's order."""
    with Source(Path(path)) as source:
        text = Text(source)
        n = _coordinate_count(text)
        layout = Layout(
            columns, f"`v <vertex> <x> <y>` with vertices 1 … {n}", tag="v", comments=b"c", low=1, high=n
        )
        table = read_table(text, layout)
        ids = table.u.array()
        placed = len(distinct_values(ids))
        if placed != n or len(ids) != n:
            raise FormatError(
                path, f"declares {n:,} vertices but has coordinates of {placed:,} of them in {len(ids):,} rows"
            )
        return ids, table.w.array() if table.w else np.empty(0, np.int32)


def _coordinate_count(text: Text) -> int:
    line = text.data_line(b"c")
    words = [] if line is None else line.split()
    if words[:4] == [b"p", b"aux", b"sp", b"co"] and len(words) == 5 and is_count(words[4]):
        return int(words[4])
    raise text.error_at_last_line("expected `p aux sp co <vertices>`", line)


FORMAT = Format(
    "dimacs",
    "DIMACS graph (p sp, p edge) and PACE (p tw)",
    (".gr", ".col", ".dimacs"),
    sniff,
    read,
    write,
    stream=stream,
)
