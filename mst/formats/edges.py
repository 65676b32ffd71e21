"""Edge lists: a row per edge, ``u v`` or ``u v weight``, between blanks, commas, semicolons or bars.

Lines that begin with ``#``, ``%`` or ``/`` are comments; a header row may name the columns. A vertex count is
declared by a comment in the manner of SNAP, ``# Nodes: 7115 Edges: 103689`` (https://snap.stanford.edu/data);
it wins, so that isolated vertices stay. Without one, ids are compacted in ascending order, and kept. Also read:
``id u v weight`` rows (https://users.cs.utah.edu/~lifeifei/SpatialDataset.htm), told by ids that count from 0
or 1, and KONECT's ``u v weight time`` (http://konect.cc).

SNAP counts the vertices in use, whose ids may run further: then they are compacted too. Two plain columns under
a first row ``n m`` that holds for all that follow are read as a headed list (`mst.formats.headed`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import IO

import numpy as np

from mst.errors import FormatError
from mst.formats import headed
from mst.formats.base import Format, Notes, RawGraph
from mst.formats.source import Source, head_lines
from mst.formats.table import Layout, Table, read_table, write_rows, wrong_count
from mst.formats.text import Text
from mst.graph import Graph

COMMENTS = b"#%/"
_MOST_VERTICES_PER_ROW = 64

_NODES, _EDGES = (b"node", b"nodes"), (b"edge", b"edges", b"arc", b"arcs")
_NUMBER = re.compile(rb"(?i)[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?|[+-]?(?:inf|infinity|nan)")
_WORD = re.compile(rb"[A-Za-z]")
_ENDS = re.compile(
    r"(u|v|i|j|x|y|a|b|head|tail|begin|end|start|stop|to|from|row|col|one|other|"
    r"(from|to|init|term|source|src|target|dest|destination|dst|node|vertex|id|start|end|one|other)[ _-]?"
    r"(node|nodes|vertex|id|nodeid|node_id|vertexid|a|b|u|v|1|2|0)?)"
)
_WEIGHT = re.compile(
    r"(w|wt|weights?|costs?|dist|distances?|len|lengths?|values?|val|"
    r"(edge|arc)[ _-]?(weight|cost|length|value))"
)


@dataclass(frozen=True)
class _Preamble:
    """What the comments at the top say."""

    n: int | None = None
    m: int | None = None
    direction: str = "unknown"
    konect: bool = False


def sniff(source: Source) -> bool:
    """True for text that begins with a row of numbers, or with a header row above one."""
    sample = _sample(source)
    if not sample:
        return sample is not None and source.head.lstrip()[:1] in (b"#", b"%")
    delimiter = delimiter_of(sample)
    rows = [split(line, delimiter) for line in sample[:2]]
    if any(len(row) >= 2 and all(map(_NUMBER.fullmatch, row[:2])) for row in rows):
        return True
    return _names_columns(rows[0]) and len(_parts([_plain(field) for field in rows[0]])[0]) == 2


def _sample(source: Source, limit: int = 50) -> list[bytes] | None:
    """The first rows that are neither blank nor comments, or None for binary data."""
    lines = head_lines(source, COMMENTS)
    return lines if lines is None else [line.strip() for line in lines if line.strip()][:limit]


def delimiter_of(sample: list[bytes]) -> str:
    """The character between the columns, or empty for blanks."""
    return next((d for d in ",;|" if sample and d.encode() in sample[-1]), "")


def split(line: bytes, delimiter: str) -> list[bytes]:
    """The fields of a row."""
    return [field.strip() for field in line.split(delimiter.encode())] if delimiter else line.split()


def read(source: Source) -> RawGraph:
    """Read an edge list; the first row is an edge, whatever it might count."""
    return _read(source, decided=True)


def guess(source: Source) -> RawGraph:
    """Read an edge list, or a headed one where the first row counts the rest."""
    return _read(source, decided=False)


def _read(source: Source, *, decided: bool) -> RawGraph:
    text = Text(source)
    preamble = _read_preamble(text)
    layout = _layout(text, _sample(source) or [], preamble)
    table = read_table(text, layout, limit=preamble.m)
    if preamble.m is not None and table.rows != preamble.m:
        raise wrong_count(text, preamble.m, table.rows)
    if not decided and preamble.n is None and layout.columns == "uv" and headed.counts_itself(table):
        with Source(source.path) as again:
            return headed.read(again)
    return _graph(source, preamble, table)


def _read_preamble(text: Text) -> _Preamble:
    n = m = None
    direction, konect = "unknown", False
    while (line := text.peek()) is not None:
        words = line.lower().split()
        if words and words[0][0] not in COMMENTS:
            break
        if counts := _counts(line):
            n, m = counts
        elif words[:1] == [b"%"] and words[1:2] and words[1] in (b"sym", b"asym", b"bip"):
            konect = True
            direction = {b"sym": "edges", b"asym": "arcs"}.get(words[1], "")
            if not direction:
                text.line()
                raise text.error_behind(
                    "expected one set of vertices; this file has two, whose ids overlap", line
                )
        elif not konect and b"undirected" in line.lower():
            direction = "edges"
        elif not konect and b"directed" in line.lower():
            direction = "arcs"
        text.line()
    return _Preamble(n, m, direction, konect)


def _counts(comment: bytes) -> tuple[int, int] | None:
    """Vertices and edges, from a comment such as ``# Nodes: 5 Edges: 7``."""
    words = comment.lower().translate(bytes.maketrans(b":=,;", b"    ")).lstrip(b"#%/ \t").split()
    if len(words) != 4 or words[0] not in _NODES or words[2] not in _EDGES:
        return None
    counts = words[1::2]
    return (int(counts[0]), int(counts[1])) if all(len(c) < 19 and c.isdigit() for c in counts) else None


def _layout(text: Text, sample: list[bytes], preamble: _Preamble) -> Layout:
    """The columns, by a header row or by the first rows."""
    delimiter = delimiter_of(sample)
    line = text.peek()
    if line is None:
        return _row_layout("uv", delimiter)
    fields = split(line, delimiter)
    if _names_columns(fields):
        text.line()
        columns = _named_columns(text, line, [_plain(field) for field in fields])
        return _row_layout(columns.rstrip("*"), delimiter, more=columns.endswith("*"))
    if len(fields) == 4 and preamble.konect:
        return _row_layout("uvw-", delimiter)
    if len(fields) == 4 and _counts_up([split(row, delimiter) for row in sample]):
        return _row_layout("-uvw", delimiter)
    if len(fields) not in (2, 3):
        raise text.error(
            "expected `<u> <v>` or `<u> <v> <weight>`; among more columns, a header row with the names source, "
            "target and weight tells",
            text=line,
        )
    return _row_layout("uvw"[: len(fields)], delimiter)


def _row_layout(columns: str, delimiter: str, more: bool = False) -> Layout:
    names = {"u": "<u>", "v": "<v>", "w": "<weight>", "-": "<…>"}
    row = f"{delimiter or ' '}".join(names[c] for c in columns)
    return Layout(columns, f"`{row}`", comments=COMMENTS, delimiter=delimiter, more=more)


def _names_columns(fields: list[bytes]) -> bool:
    """True for a header row: words or nothing in every column, no number in any."""
    return (
        any(fields)
        and all(not field or _WORD.search(field) for field in fields)
        and not any(map(_NUMBER.fullmatch, fields))
    )


def _plain(field: bytes) -> str:
    return field.decode(errors="replace").strip("\"' ").lower()


def _named_columns(text: Text, line: bytes, names: list[str]) -> str:
    """The layout that a header row describes; ``*`` at its end stands for columns that do not matter."""
    ends, weights = _parts(names)
    if len(names) in (2, 3) and len(ends) != 2:
        ends = [0, 1]
    if len(names) == 3 and not weights and ends == [0, 1]:
        raise text.error_behind("expected the third column to be named weight, cost or distance", line)
    if len(ends) != 2 or len(weights) > 1 or set(weights) & set(ends):
        raise text.error_behind("expected columns named source, target and, if any, weight", line)
    parts = {ends[0]: "u", ends[1]: "v", **dict.fromkeys(weights, "w")}
    columns = "".join(parts.get(i, "-") for i in range(len(names)))
    kept = columns.rstrip("-")
    return kept + "*" * (len(kept) < len(columns))


def _parts(names: list[str]) -> tuple[list[int], list[int]]:
    """Which columns are ends, and which are weights, by their names."""
    weights = [i for i, name in enumerate(names) if _WEIGHT.fullmatch(name)]
    ends = [i for i, name in enumerate(names) if _ENDS.fullmatch(name) and i not in weights]
    return ends, weights


def _counts_up(rows: list[list[bytes]]) -> bool:
    """True when the first column counts 0, 1, 2, … or 1, 2, 3, …"""
    first = [row[0] for row in rows]
    return any(first == [b"%d" % (i + base) for i in range(len(first))] for base in (0, 1))


def _graph(source: Source, preamble: _Preamble, table: Table) -> RawGraph:
    n, path = preamble.n, source.path
    if table.rows == 0 and n is None:
        raise FormatError(
            path, "expected rows `<u> <v>` or `<u> <v> <weight>`, or a comment `# Nodes: … Edges: …`"
        )
    low, high = table.id_range()
    u, v = table.u.array(), table.v.array()
    ids, remarks = None, []
    if n is None or high > n or (high == n and low == 0):
        ids, u, v = _compacted(path, u, v, n)
        n = len(ids)
        if np.array_equal(ids, np.arange(n)):
            ids = None
    elif high == n:
        u -= 1
        v -= 1
        remarks.append("ids count from 1")
    notes = Notes(table.rows, preamble.n, preamble.m, preamble.direction, remarks=tuple(remarks))
    return RawGraph(n, u, v, table.weights(), ids, "edges", notes)


def _compacted(path, u: np.ndarray, v: np.ndarray, n: int | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ids in ascending order; vertices that are counted and never named follow as -1."""
    from mst.kernels.graph.relabel import compact_ids

    ids, u, v = compact_ids(u, v)
    if n is not None and len(ids) > n:
        raise FormatError(path, f"declares {n:,} vertices and names {len(ids):,}: the file is cut or mixed up")
    if n is not None and n > _MOST_VERTICES_PER_ROW * (u.size + 16):
        largest = int(ids[-1])
        raise FormatError(path, f"declares {n:,} vertices and names {largest}, which lies outside 0 … {n - 1}")
    unnamed = np.full((n or len(ids)) - len(ids), -1, np.int64)
    return np.concatenate([ids, unnamed]), u, v


def write(sink: IO[bytes], graph: Graph) -> None:
    """Write the counts as a comment in SNAP's manner and a row per edge, ids from 0."""
    sink.write(
        f"# Undirected graph\n# Nodes: {graph.n} Edges: {graph.m}\n# FromNodeId ToNodeId Weight\n".encode()
    )
    write_rows(sink, graph, base=0)


FORMAT = Format(
    "edges", "Edge list: blanks, commas, tabs; with or without weights (SNAP, KONECT, CSV)",
    (".txt", ".csv", ".tsv", ".edges", ".el", ".wel", ".cedge"), sniff, read, write, guess,
)  # fmt: skip
