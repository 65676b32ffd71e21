"""Graphs from edge tables: pandas data frames and everything that gives an Arrow stream."""

from __future__ import annotations

from typing import Any

import numpy as np

from mst.errors import InputError
from mst.graph import Graph

_COLUMNS = (("u", "v", "w"), ("source", "target", "weight"), ("src", "dst", "weight"), ("from", "to", "weight"))
_MOST_VERTICES_PER_EDGE = 1000


def from_table(table: Any) -> Graph:
    """Return the graph of an edge table: a pandas data frame, or anything that gives an Arrow stream.

    Parameters
    ----------
    table : pandas.DataFrame, pyarrow.Table, polars.DataFrame, …
        Columns ``u, v, w``, or ``source``/``src``/``from``, ``target``/``dst``/``to`` and ``weight``; others
        are ignored. Without a weight column every edge weighs 1. The vertex count is the Arrow schema's
        metadata ``n`` where there is one (as in canonical files), else the largest id plus one.

    Returns
    -------
    Graph
        Edge e is row e.

    Raises
    ------
    InputError
        Missing columns or values, labels in place of ids; says how to number them.

    Examples
    --------
    >>> import pandas
    >>> from mst.interop.tables import from_table
    >>> from_table(pandas.DataFrame({"source": [0, 1], "target": [1, 2], "weight": [0.5, 0.25]})).n
    3
    """
    declared = None
    if not hasattr(table, "columns") or not hasattr(table, "loc"):
        table, declared = _arrow_columns(table)
    names = next((names for names in _COLUMNS if set(names[:2]) <= set(table.keys())), None)
    if names is None:
        found = ", ".join(map(str, table.keys()))
        raise InputError(f"an edge table has columns u, v, w or source, target, weight; this one has {found}")
    u, v = (_ids(table[name], name) for name in names[:2])
    weights = (
        _numbers(table[names[2]], names[2]) if names[2] in set(table.keys()) else np.ones(len(u), np.int32)
    )
    if len(u) == 0:
        return Graph(declared or 0, u, v, weights)
    largest = int(max(u.max(), v.max()))
    if declared is None and largest >= _MOST_VERTICES_PER_EDGE * len(u) + 10**6:
        raise InputError(
            f"the largest id is {largest:,} and there are {len(u):,} edges: number the vertices from 0, for "
            "example with numpy.unique(…, return_inverse=True), or give (n, u, v, w)"
        )
    return Graph(largest + 1 if declared is None else declared, u, v, weights)


def _arrow_columns(stream: Any) -> tuple[dict[str, Any], int | None]:
    """Return the columns of an Arrow stream as chunked arrays, and the vertex count that its schema declares."""
    import pyarrow

    table = pyarrow.table(stream)
    declared = (table.schema.metadata or {}).get(b"n", b"")
    columns = {name: table.column(i) for i, name in enumerate(table.column_names)}
    return columns, int(declared) if declared.isdigit() else None


def _numbers(column: Any, name: str) -> np.ndarray:
    """Return a column of numbers as an array; refuse missing values."""
    missing = column.is_null() if hasattr(column, "chunks") else column.isna()
    missing = np.asarray(missing)
    array = np.asarray(column)
    if array.dtype.kind == "O" and not missing.any():
        array = np.asarray(array.tolist())
    if missing.any():
        raise InputError(f"{name}[{int(np.argmax(missing))}] is missing: drop or fill that row")
    return array


def _ids(column: Any, name: str) -> np.ndarray:
    array = _numbers(column, name)
    if array.size and array.dtype.kind not in "iu":
        raise InputError(
            f"{name} holds {array.dtype} values such as {array[0]!r}, no vertex ids: number the vertices "
            "from 0, for example with pandas.factorize"
        )
    return array if array.size else array.astype(np.int32)
