"""DIMACS shortest-path graphs (``p sp``), coordinates (``.co``), and the line formats that grew out of them.

* ``p sp n m`` and rows ``a u v w``: the 9th DIMACS challenge (http://www.diag.uniroma1.it/challenge9/format.shtml).
* ``p edge n m`` (or ``col``) and rows ``e u v``, with an optional weight: the 2nd challenge.
* ``p tw n m`` and rows ``u v``, with an optional weight: PACE (https://pacechallenge.org/2017/treewidth/).

Ids count from 1, rows keep their order, and the counts must hold.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from mst.errors import FormatError
from mst.formats.base import Format, Notes, RawGraph, replacing
from mst.formats.source import SUFFIXES, Source, is_text, sink
from mst.formats.table import Layout, read_table, write_columns, write_rows, wrong_count
from mst.formats.text import Text
from mst.graph import Graph

_PROBLEM = re.compile(rb"(?:[ \t\r]*(?:c[^\n]*)?\n)*[ \t]*p[ \t]+\w")
_TAGS = {
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
    return is_text(source) and _PROBLEM.match(source.head.removeprefix(b"\xef\xbb\xbf")) is not None


class _Problem(NamedTuple):
    kind: str
    n: int
    m: int


def read(source: Source) -> RawGraph:
    """Read a graph; see the module for the dialects."""
    text = Text(source)
    problem = _problem(text)
    layout = _layout(text, problem)
    table = read_table(text, layout, limit=problem.m)
    if table.rows != problem.m:
        raise wrong_count(text, problem.m, table.rows)
    u, v = table.u.array(), table.v.array()
    u -= 1
    v -= 1
    direction = "arcs" if problem.kind == "sp" else "edges"
    notes = Notes(table.rows, problem.n, problem.m, direction)
    return RawGraph(problem.n, u, v, table.weights(), None, "dimacs", notes)


def _problem(text: Text) -> _Problem:
    line = None
    while (line := text.line()) is not None:
        words = line.split()
        if not words or words[0].startswith(b"c"):
            continue
        if words[0] != b"p":
            break
        if words[1:2] == [b"aux"]:
            raise FormatError(
                text.source.path,
                "holds coordinates, no edges: read it with mst.formats.dimacs.read_coordinates",
            )
        kind = words[1].decode(errors="replace") if len(words) > 1 else ""
        if kind not in _TAGS:
            raise text.error_behind(f"expected a problem of {', '.join(_TAGS)}", line)
        if len(words) != 4 or not all(word.isdigit() and len(word) < 19 for word in words[2:]):
            raise text.error_behind(f"expected `p {kind} <vertices> <edges>`", line)
        return _Problem(kind, int(words[2]), int(words[3]))
    raise text.error_behind("expected `p sp <vertices> <arcs>` before the first row", line)


def _layout(text: Text, problem: _Problem) -> Layout:
    tag = _TAGS[problem.kind]
    base = Layout("uvw", "", tag=tag, comments=b"c", low=1, high=problem.n)
    vertices = f"with vertices 1 … {problem.n}"
    if problem.kind == "sp":
        return base.but(expected=f"`a <from> <to> <weight>` {vertices}")
    row = f"{tag} <u> <v>".strip()
    while (line := text.peek()) is not None and (not line.strip() or line.lstrip()[:1] == b"c"):
        text.line()
    if line is not None and len(line.split()) == 3 + bool(tag):
        return base.but(expected=f"`{row} <weight>` {vertices}")
    return base.but(columns="uv", expected=f"`{row}` {vertices}")


def write(stream: IO[bytes], graph: Graph) -> None:
    """Write ``p sp``, one row per edge; fractions stay, though the challenge knows only integers."""
    stream.write(f"p sp {graph.n} {graph.m}\n".encode())
    write_rows(stream, graph, base=1, tag="a")


def read_coordinates(path) -> tuple[np.ndarray, np.ndarray]:
    """Return the coordinates ``(x, y)`` of a ``.co`` file.

    Returns
    -------
    x, y : numpy.ndarray of int32, int64 or float64, shape (n,)
        In the file's units: the road networks have degrees times 10⁶, x being the longitude.

    Raises
    ------
    FormatError
        A vertex has no coordinates, or more than one pair.

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
    order = np.argsort(ids)
    return x[order], y[order]


def write_coordinates(path, x: np.ndarray, y: np.ndarray) -> None:
    """Write a ``.co`` file, whole or not at all; a suffix such as ``.gz`` compresses it.

    Parameters
    ----------
    path : path-like
    x, y : numpy.ndarray, shape (n,)
        Of each vertex in turn.
    """
    path = Path(path)
    with replacing(path) as scratch, sink(scratch, SUFFIXES.get(path.suffix.lower())) as stream:
        stream.write(f"p aux sp co {len(x)}\n".encode())
        write_columns(stream, np.full(len(x), "v"), np.arange(1, len(x) + 1), x, y)


def _coordinate(path, columns: str) -> tuple[np.ndarray, np.ndarray]:
    """The vertices and one of their coordinates, in the file's order."""
    with Source(path) as source:
        text = Text(source)
        n = _coordinate_count(text)
        layout = Layout(
            columns, f"`v <vertex> <x> <y>` with vertices 1 … {n}", tag="v", comments=b"c", low=1, high=n
        )
        table = read_table(text, layout)
        ids = table.u.array()
        placed = len(np.unique(ids))
        if placed != n or len(ids) != n:
            raise FormatError(
                path, f"declares {n:,} vertices and places {placed:,} of them in {len(ids):,} rows"
            )
        return ids, table.w.array() if table.w else np.empty(0, np.int32)


def _coordinate_count(text: Text) -> int:
    while (line := text.line()) is not None:
        words = line.split()
        if words and not words[0].startswith(b"c"):
            if words[:4] == [b"p", b"aux", b"sp", b"co"] and len(words) == 5 and words[4].isdigit():
                return int(words[4])
            break
    raise text.error_behind("expected `p aux sp co <vertices>`", line)


FORMAT = Format(
    "dimacs", "DIMACS graph (p sp, p edge) and PACE (p tw)", (".gr", ".col", ".dimacs"), sniff, read, write
)
