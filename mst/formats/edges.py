"""Edge lists: a row ``u v`` or ``u v weight`` per edge, separated by blanks, commas, semicolons or bars.

Lines that begin with ``#``, ``%`` or ``/`` are comments; a header row may name the columns. A comment like SNAP's
``# Nodes: 7115 Edges: 103689`` (https://snap.stanford.edu/data) declares the number of vertices, which preserves
isolated ones. Without it, ids are compacted in ascending order, and the original ids become labels. Rows
``id u v weight`` (https://users.cs.utah.edu/~lifeifei/SpatialDataset.htm), whose first column counts from 0 or 1, and
KONECT's ``u v weight time`` (http://konect.cc) are supported, too.

SNAP counts only vertices in use, whose ids may be larger than the count; they are then compacted as well. A list of two
columns without a header, whose first row holds the counts ``n m`` of the others, is read as a headed list
(`mst.formats.headed`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

import numpy as np

from mst.errors import FormatError
from mst.formats import headed, metis, plain
from mst.formats.arcs import are_symmetric
from mst.formats.base import MAX_VERTICES_PER_ROW, Blocks, FileSummary, Format, RawGraph, RawStream, ambiguous
from mst.formats.ids import Ids
from mst.formats.source import Source, first_lines
from mst.formats.table import Layout, Table, read_declared_rows, stream_rows, write_rows
from mst.formats.text import Text, delimiter_in, is_count
from mst.graph import Graph

_COMMENTS = b"#%/"
_DECLARING = (b"node", b"sym", b"asym", b"bip", b"directed", b"undirected", b"edge", b"arc")
_MAX_DECLARATIONS = 1000

_COUNT_NAME, _COUNT_VALUE = rb"(nodes?|edges?|arcs?)", rb"([+-]?\d(?:[^\s,;]|,\d{3})*)"
_COUNT = re.compile(rb"(?i)[#%/\s]*" + _COUNT_NAME + rb"\s*[:=]\s*" + _COUNT_VALUE + rb"\s*")
_COUNTS = re.compile(
    rb"(?i)[#%/\s]*(nodes?)[\s:=]+"
    + _COUNT_VALUE
    + rb"[\s,;]+((?:edge|arc)s?)[\s:=]+"
    + _COUNT_VALUE
    + rb"(?:[\s,;].*)?"
)
_NUMBER = re.compile(rb"(?i)[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?|[+-]?(?:inf|infinity|nan)")
_LETTER = re.compile(rb"[A-Za-z]")
_END_NAME = re.compile(
    r"(u|v|i|j|x|y|a|b|head|tail|begin|end|start|stop|to|from|row|col|one|other|"
    r"(from|to|init|term|source|src|target|dest|destination|dst|node|vertex|id|start|end|one|other)[ _-]?"
    r"(node|nodes|vertex|id|nodeid|node_id|vertexid|a|b|u|v|1|2|0)?)"
)
WEIGHT_NAME = re.compile(
    r"(w|wt|weights?|costs?|dist|distances?|len|lengths?|values?|val|"
    r"(edge|arc)[ _-]?(weight|cost|length|value))"
    r"([ _-]?[(\[]?(k?m|cm|mm|mi|ft|miles|met(er|re)s|s|ms|h|hours|kg|eur|usd)[)\]]?)?"
)
"""The names of columns of weights, in lower case, with or without a unit."""


@dataclass(frozen=True)
class _Preamble:
    """Declarations in the comments at the top of a file."""

    n: int | None = None
    m: int | None = None
    direction: str = "unknown"
    konect: bool = False


def sniff(source: Source) -> bool:
    """Return whether this is text whose first rows hold numbers, possibly below a header row or declared counts."""
    sample = _first_rows(source)
    if not sample:
        return sample is not None and source.head.lstrip()[:1] in (b"#", b"%")
    delimiter = delimiter_in(sample[-1])
    rows = [_split(line, delimiter) for line in sample[:2]]
    if any(len(row) >= 2 and all(map(_NUMBER.fullmatch, row[:2])) for row in rows):
        return True
    return _names_ends(rows[0])


def has_names(source: Source) -> bool:
    """Return whether this is text whose first or second row is two words, such as names of vertices, and a number."""
    rows = [_split(line, delimiter_in(line)) for line in (_first_rows(source) or [])[:2]]
    return any(len(row) == 3 and _NUMBER.fullmatch(row[2]) for row in rows)


def _first_rows(source: Source) -> list[bytes] | None:
    """Return up to 50 lines from the start that are neither blank nor comments, or None for binary data."""
    lines = first_lines(source, _COMMENTS)
    return lines if lines is None else [line.strip() for line in lines if line.strip()][:50]


def _split(line: bytes, delimiter: str) -> list[bytes]:
    """Return the fields of a row, which blanks separate if there is no delimiter."""
    return [field.strip() for field in line.split(delimiter.encode())] if delimiter else line.split()


def read(source: Source, *, allow_headed: bool = False) -> RawGraph:
    """Read an edge list; with `allow_headed`, read a headed list if the first row holds the counts of the others."""
    text = Text(source)
    preamble = _read_preamble(text)
    layout = _layout(text, _first_rows(source) or [], preamble)
    table = read_declared_rows(text, layout, preamble.m)
    maybe_other = allow_headed and not _is_declared(source, preamble)
    if maybe_other and layout.columns == "uv":
        missing = headed.rows_missing(table.first_row(), table.rows - 1, *table.id_range(skip_first=True))
        if missing is not None and missing > 0:
            raise ambiguous(source, "edges", "headed", *(["metis"] if table.id_range()[0] > 0 else []))
        if missing == 0:
            if _are_rows_of_neighbours(table):
                raise ambiguous(source, "headed", "metis")
            with source.reopened() as reopened:
                return headed.read(reopened)
    if maybe_other and layout.columns == "uvw" and not layout.delimiter:
        assert table.w is not None
        if metis.could_be_adjacency_lists(table.u.parts, table.v.parts, table.w.parts):
            raise ambiguous(source, "edges", "metis")
    return _graph(source, preamble, table)


def _is_declared(source: Source, preamble: _Preamble) -> bool:
    """Return whether a count, KONECT's comment or a header row says that all rows of numbers are edges.

    A header row of two other words, such as ``vertices edges``, does not: a row of counts may follow.
    """
    rows = _first_rows(source) or [b""]
    delimiter = delimiter_in(rows[-1])
    fields = _split(rows[0], delimiter)
    named = _names_ends(fields) or (delimiter != "" and _is_header_row(fields))
    return (preamble.n, preamble.m) != (None, None) or preamble.konect or named


def _are_rows_of_neighbours(table: Table) -> bool:
    """Return whether the rows below the first are also the adjacency lists of a ring in METIS format."""
    n, m = table.first_row()
    if not n == m == table.rows - 1 or table.id_range()[0] < 1:
        return False
    ends = [np.concatenate(column.parts)[1:].astype(np.int64) - 1 for column in (table.u, table.v)]
    rows = np.arange(n)
    return are_symmetric(np.concatenate([rows, rows]), np.concatenate(ends), None)


def stream(source: Source, *, allow_headed: bool = False) -> RawStream:
    """Read an edge list block by block; ids are kept, since only the end of the file shows which are in use.

    With `allow_headed`, an error is raised at the end if the first row could be the counts of the others.
    """
    text = Text(source)
    preamble = _read_preamble(text)
    layout = _layout(text, _first_rows(source) or [], preamble)
    blocks = stream_rows(text, layout, preamble.m, base=0)
    maybe_other = allow_headed and not _is_declared(source, preamble)
    if maybe_other and layout.columns == "uv":
        blocks = _unless_headed(source, blocks)
    if maybe_other and layout.columns == "uvw" and not layout.delimiter:
        blocks = _unless_adjacency_lists(source, blocks)
    return RawStream(None, preamble.m, _unless_empty(source, preamble, blocks), preamble.n)


def _unless_empty(source: Source, preamble: _Preamble, blocks: Blocks) -> Blocks:
    rows = 0
    for block in blocks:
        rows += len(block[0])
        yield block
    _refuse_no_graph(source, preamble, rows)


def _refuse_no_graph(source: Source, preamble: _Preamble, rows: int) -> None:
    """Raise an error for a file of comments alone; a header row without edges is legal: a forest may have none."""
    if rows == 0 and preamble.n is None and not _first_rows(source):
        raise FormatError(
            source.path, "expected rows `<u> <v>` or `<u> <v> <weight>`, or a comment `# Nodes: … Edges: …`"
        )


def _unless_headed(source: Source, blocks: Blocks) -> Blocks:
    """Yield the blocks; raise an error after the last if the file could also be a headed list."""
    first, rows, low, high = (-1, -1), -1, np.iinfo(np.int64).max, -1
    for u, v, w in blocks:
        ends = np.concatenate([u, v]) if rows >= 0 else np.concatenate([u[1:], v[1:]])
        if rows < 0 and len(u):
            first = int(u[0]), int(v[0])
        rows += len(u)
        if ends.size:
            low, high = min(low, int(ends.min())), max(high, int(ends.max()))
        yield u, v, w
    missing = headed.rows_missing(first, rows, low, high)
    if missing is not None and missing >= 0:
        raise ambiguous(source, "edges", "headed")


def _unless_adjacency_lists(source: Source, blocks: Blocks) -> Blocks:
    """Yield the blocks; raise an error after the last if the file could also be adjacency lists, symmetric or not."""
    header, rows = None, -1
    for block in blocks:
        columns = [column for column in block if column is not None]
        if rows < 0 and len(columns[0]):
            header = metis.header_of_lists([column[0] for column in columns])
            columns = [column[1:] for column in columns]
            rows = 0
        rows += len(columns[0])
        if header is not None and not header.are_vertices(*columns[header.skip :: 1 + header.weighted]):
            header = None
        yield block
    if header is not None and header.allows(rows):
        raise ambiguous(source, "edges", "metis")


def _read_preamble(text: Text) -> _Preamble:
    n = m = None
    direction, konect = "unknown", False
    declarations = 0
    while (line := text.peek_data_line(_COMMENTS, _DECLARING)) is not None and line.lstrip()[:1] in _COMMENTS:
        words = line.lower().split()
        declarations += 1
        if declarations > _MAX_DECLARATIONS:
            raise text.error_at_next_line(f"expected at most {_MAX_DECLARATIONS:,} comments with declarations")
        if counts := _declared_counts(text, line):
            known = {"n": n, "m": m}
            if any(known[key] not in (None, counts[key]) for key in counts):
                raise text.error_at_next_line("expected the counts that an earlier comment declares", text=line)
            n, m = counts.get("n", n), counts.get("m", m)
        elif words[:1] == [b"%"] and words[1:2] and words[1] in (b"sym", b"asym", b"bip"):
            konect = True
            direction = {b"sym": "edges", b"asym": "arcs"}.get(words[1], "")
            if not direction:
                text.line()
                raise text.error_at_last_line(
                    "expected one set of vertices, but this graph is bipartite, with two sets whose ids overlap",
                    line,
                )
        elif not konect and b"undirected" in line.lower():
            direction = "edges"
        elif not konect and b"directed" in line.lower():
            direction = "arcs"
        text.line()
    return _Preamble(n, m, direction, konect)


def _declared_counts(text: Text, comment: bytes) -> dict[str, int]:
    """Return the counts `n` and `m` in the next line, a comment such as ``# Nodes: 5 Edges: 7``."""
    if not (declared := _COUNTS.fullmatch(comment) or _COUNT.fullmatch(comment)):
        return {}
    words = declared.groups()
    counts = {}
    for name, written in zip(words[::2], words[1::2]):
        value = written.translate(None, b",")
        if not is_count(value):
            raise text.error_at_next_line("expected whole counts below 10¹⁸", text=comment)
        counts["n" if name.lower().startswith(b"node") else "m"] = int(value)
    return counts


def _layout(text: Text, sample: list[bytes], preamble: _Preamble) -> Layout:
    """Return the layout by the header row, which is consumed, or by the first rows."""
    delimiter = delimiter_in(sample[-1]) if sample else ""
    line = text.peek()
    if line is None:
        return _row_layout("uv", delimiter)
    fields = _split(line, delimiter)
    if _is_header_row(fields):
        text.line()
        if line[:1] == b"\t" and sample and len(_split(sample[-1], delimiter)) == len(fields) + 1:
            fields.insert(0, b"")  # pandas gives its index no name
        columns = _columns_by_name(text, line, [_column_name(field) for field in fields])
        return _row_layout(columns.rstrip("-"), delimiter, extra_columns=columns.endswith("-"))
    if b"{" in line:
        raise text.error_at_next_line(
            "expected `<u> <v>` or `<u> <v> <weight>`, found networkx's attributes: use "
            "networkx.write_weighted_edgelist",
            text=line,
        )
    if len(fields) == 4 and preamble.konect:
        return _row_layout("uvw-", delimiter)
    if len(fields) == 4 and _is_numbered([_split(row, delimiter) for row in sample]):
        return _row_layout("-uvw", delimiter)
    if len(fields) not in (2, 3):
        raise text.error_at_next_line(
            "expected `<u> <v>` or `<u> <v> <weight>`; rows of more columns need a header row with the names "
            "source, target and weight",
            text=line,
        )
    return _row_layout("uvw"[: len(fields)], delimiter)


def _row_layout(columns: str, delimiter: str, extra_columns: bool = False) -> Layout:
    names = {"u": "<u>", "v": "<v>", "w": "<weight>", "-": "<…>"}
    row = f"{delimiter or ' '}".join(names[c] for c in columns)
    return Layout(columns, f"`{row}`", comments=_COMMENTS, delimiter=delimiter, extra_columns=extra_columns)


def _is_header_row(fields: list[bytes]) -> bool:
    """Return whether no field is a number, and every field with a name (R's row names have none) has a letter."""
    return (
        any(fields)
        and all(not _column_name(field) or _LETTER.search(field) for field in fields)
        and not any(map(_NUMBER.fullmatch, fields))
    )


def _names_ends(fields: list[bytes]) -> bool:
    """Return whether this is a header row that names both ends."""
    return _is_header_row(fields) and len(_classified([_column_name(field) for field in fields])[0]) == 2


def _column_name(field: bytes) -> str:
    return field.decode(errors="replace").strip("\"' ").lower()


def _columns_by_name(text: Text, line: bytes, names: list[str]) -> str:
    """Return the letters of `Layout.columns` for the columns that a header row names."""
    ends, weights = _classified(names)
    if len(names) in (2, 3) and len(ends) != 2:
        ends = [0, 1]
    if len(names) == 3 and not weights and ends == [0, 1]:
        raise text.error_at_last_line("expected the third column to be named weight, cost or distance", line)
    if len(weights) > 1:
        given = ", ".join(names[i] for i in weights)
        raise text.error_at_last_line(
            f"expected one column of weights, found {given}: leave out the others", line
        )
    if len(ends) != 2 or set(weights) & set(ends):
        raise text.error_at_last_line("expected columns named source, target and, optionally, weight", line)
    letters = {ends[0]: "u", ends[1]: "v", **dict.fromkeys(weights, "w")}
    return "".join(letters.get(i, "-") for i in range(len(names)))


def _classified(names: list[str]) -> tuple[list[int], list[int]]:
    """Return the indices of the columns that are named like ends, and of those named like weights."""
    weights = [i for i, name in enumerate(names) if WEIGHT_NAME.fullmatch(name)]
    ends = [i for i, name in enumerate(names) if _END_NAME.fullmatch(name)]
    if len(ends) > 2:  # an edge may have an id, too
        ends = [i for i in ends if names[i] != "id"]
    return ends, weights


def _is_numbered(rows: list[list[bytes]]) -> bool:
    """Return whether the first column counts 0, 1, 2, … or 1, 2, 3, …"""
    first = [row[0] for row in rows]
    return any(first == [b"%d" % (i + base) for i in range(len(first))] for base in (0, 1))


def _graph(source: Source, preamble: _Preamble, table: Table) -> RawGraph:
    n, path = preamble.n, source.path
    _refuse_no_graph(source, preamble, table.rows)
    low, high = table.id_range()
    ids, base, remarks = None, 0, []
    if n is None or high > n or (high == n and low == 0):
        ids, u, v = _compacted(path, *table.ends(), n)
        n = len(ids)
        # The last id is the largest, or -1 if there are vertices without edges.
        if n and ids[-1] - low == n - 1:
            ids, base = None, low
    else:
        base = int(high == n)
        u, v = table.ends(base=base)
        if base:
            remarks.append("ids count from 1")
    summary = FileSummary(table.rows, preamble.n, preamble.m, preamble.direction, remarks=tuple(remarks))
    return RawGraph(n, u, v, table.weights(), ids, "edges", summary, base)


def _compacted(
    path: Path, u: np.ndarray, v: np.ndarray, n: int | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the ids in ascending order, then -1 for each declared vertex without edges, and the renumbered ends."""
    ids, u, v = _compact_ids(u, v)
    refuse_more_vertices(path, n, len(ids))
    if n is not None and n > MAX_VERTICES_PER_ROW * (u.size + 16):
        largest = int(ids[-1])
        raise FormatError(path, f"declares {n:,} vertices but names {largest}, which lies outside 0 … {n - 1}")
    unnamed = np.full((n or len(ids)) - len(ids), -1, np.int64)
    return np.concatenate([ids, unnamed]), u, v


def refuse_more_vertices(path: Path, declared: int | None, named: int) -> None:
    """Raise a `FormatError` if a file names more vertices than it declares."""
    if declared is not None and named > declared:
        raise FormatError(
            path, f"declares {declared:,} vertices but names {named:,}: correct the declared count"
        )


def _compact_ids(u: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the result of `mst.kernels.graph.relabel.compact_ids`; for few edges, without loading numba."""
    if plain.is_worthwhile(u.nbytes):
        ids, places = np.unique(np.concatenate([u, v]), return_inverse=True)
        places = places.astype(np.int32)
        return ids.astype(np.int64), places[: len(u)], places[len(u) :]
    from mst.kernels.graph.relabel import compact_ids

    return compact_ids(u, v)


def write(sink: IO[bytes], graph: Graph, ids: Ids | None = None) -> None:
    """Write the counts as a comment like SNAP's, and a row per edge; vertices have `ids`, or count from 0.

    With `ids`, the vertex count is only written if there are no edges: if all ids happened to be below the count, they
    would be read as the numbers of the vertices.
    """
    nodes = f"Nodes: {graph.n} " if ids is None or graph.m == 0 else ""
    sink.write(f"# Undirected graph\n# {nodes}Edges: {graph.m}\n# FromNodeId ToNodeId Weight\n".encode())
    write_rows(sink, graph, ids=ids)


def _write_csv(sink: IO[bytes], graph: Graph, ids: Ids | None = None) -> None:
    """Write a header row and a row per edge, for pandas and spreadsheets; vertices have `ids`, or count from 0."""
    sink.write(b"source,target,weight\n")
    write_rows(sink, graph, ids=ids, delimiter=",")


_read_detected = partial(read, allow_headed=True)
_stream_detected = partial(stream, allow_headed=True)
FORMAT = Format(
    "edges", "Edge list: blanks, commas, tabs; with or without weights (SNAP, KONECT, CSV)",
    (".txt", ".tsv", ".edges", ".el", ".wel", ".cedge"), sniff, read, write, _read_detected, stream,
    _stream_detected, keeps_ids=True,
)  # fmt: skip
# Only for writing: such a file is detected as an edge list.
CSV_FORMAT = Format(
    "csv", "Edge list with a header, for pandas and spreadsheets; without a vertex count",
    (".csv",), lambda source: False, read, _write_csv, _read_detected, stream, _stream_detected, keeps_ids=True,
    keeps_isolated=False,
)  # fmt: skip
