"""Graphs from edge tables: pandas data frames, and all objects that export an Arrow stream."""

from __future__ import annotations

import numbers
import re
from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

from mst.arrays import as_numpy
from mst.errors import InputError, shorten
from mst.formats.edges import WEIGHT_NAME
from mst.graph import Graph, LabelledGraph
from mst.rounding import refuse_rounded
from mst.units import counted

_ENDS = (("u", "v"), ("source", "target"), ("src", "dst"), ("from", "to"))
_WEIGHTS = ("w", "weight")
_READ = frozenset((*sum(_ENDS, ()), *_WEIGHTS))
_MOST_VERTICES_PER_EDGE = 1000
_MOST_DIGITS = 20  # of a vertex count


def from_table(table: Any, *, threads: int = 1) -> Graph:
    """Return the graph of an edge table: a pandas data frame, or any object that exports an Arrow stream.

    Parameters
    ----------
    table : pandas.DataFrame, pyarrow.Table, polars.DataFrame, …
        The ends are in columns ``u, v``, ``source, target``, ``src, dst`` or ``from, to``; the weights in ``w`` or
        ``weight``. Other columns are ignored. Without weights, every edge weighs 1; but a column such as ``cost`` or
        ``distance``, which would be the weight in an edge list, or a single further column of any name but ``id``, is
        then an error.

        Ends are vertex ids from 0, or labels of any hashable type other than floats and booleans. Labels are numbered
        in the order of their first appearance; `vertices` and the ``labels`` of the graph list them. With ids, the
        vertex count is ``n`` in the metadata of the Arrow schema (as in canonical files), or else the largest id plus
        one.
    threads : int
        Threads for checking large columns, at most the number of usable cores.

    Returns
    -------
    Graph
        Edge e is row e of the table, so ``table.take(forest.edge_ids)`` returns the rows of a forest.

    Raises
    ------
    InputError
        A column or value is missing, two columns have the same meaning, the weights have another name, or the ends are
        floats, or ids with large gaps.

    Examples
    --------
    >>> import pandas
    >>> from mst.interop.tables import from_table
    >>> from_table(pandas.DataFrame({"source": [0, 1], "target": [1, 2], "weight": [0.5, 0.25]})).n
    3
    >>> roads = pandas.DataFrame({"from": ["Bonn", "Ulm"], "to": ["Ulm", "Jena"], "weight": [450, 380]})
    >>> from_table(roads).v.tolist()
    [1, 2]
    """
    (u, v, weights, declared), names = _columns(table, labels=True)
    if names is not None:
        return LabelledGraph(names, u, v, weights, threads=threads)
    if len(u) == 0:
        return Graph(declared or 0, u, v, weights)
    largest = int(max(u.max(), v.max(), 0))
    if declared is None and largest >= _MOST_VERTICES_PER_EDGE * len(u) + 10**6:
        raise InputError(
            f"the largest id is {largest:,}, with only {counted(len(u), 'edge')}: number the vertices from 0, for "
            "example with numpy.unique(…, return_inverse=True), or give (n, u, v, w)"
        )
    return Graph(largest + 1 if declared is None else declared, u, v, weights, threads=threads)


def meaningful(names: list[Any]) -> list[Any]:
    """Return the names of the columns that `from_table` reads or refuses, in their order.

    Examples
    --------
    >>> from mst.interop.tables import meaningful
    >>> meaningful(["u", "v", "w", "cost"]), meaningful(["u", "v", "cost", "colour"])
    (['u', 'v', 'w'], ['u', 'v', 'cost'])

    A single column behind the ends may be the weight whatever its name, as in an edge list:

    >>> meaningful(["u", "v", "km"])
    ['u', 'v', 'km']
    """
    refused = set() if set(names) & set(_WEIGHTS) else set(filter(_may_be_weight, names))
    if len(names) == 3 and tuple(names[:2]) in _ENDS and names[2] != "id":
        refused.add(names[2])
    return [name for name in names if name in _READ | refused]


def _may_be_weight(name: Any) -> bool:
    return WEIGHT_NAME.fullmatch(str(name).lower()) is not None


def vertices(table: Any) -> list[Hashable]:
    """Return the labels of the vertices of an edge table, in the order of the graph's vertices.

    Parameters
    ----------
    table : pandas.DataFrame, pyarrow.Table, polars.DataFrame, …
        As for `from_table`, with labels instead of ids.

    Returns
    -------
    list of hashable, length n

    Raises
    ------
    InputError
        As for `from_table`; or the ends are ids.

    Examples
    --------
    >>> import pandas
    >>> from mst.interop.tables import vertices
    >>> vertices(pandas.DataFrame({"from": ["Bonn", "Ulm"], "to": ["Ulm", "Jena"], "weight": [450, 380]}))
    ['Bonn', 'Ulm', 'Jena']
    """
    _, names = _columns(table, labels=True)
    if names is None:
        raise InputError("the ends in this table are vertex ids, not labels: vertex i has id i")
    return names


class EdgeColumns(NamedTuple):
    """The columns of an edge table.

    Attributes
    ----------
    u, v : numpy.ndarray of int, shape (m,)
    w : numpy.ndarray of numbers, shape (m,)
        Ones (int32) if the table has no weights.
    n : int or None
        The vertex count that the table declares.
    """

    u: np.ndarray
    v: np.ndarray
    w: np.ndarray
    n: int | None


def edge_columns(table: Any) -> EdgeColumns:
    """Return the columns of an edge table as for `from_table`, but without labels.

    Raises
    ------
    InputError
        As for `from_table`; or the ends are labels.
    """
    return _columns(table, labels=False)[0]


def _columns(table: Any, *, labels: bool) -> tuple[EdgeColumns, list[Hashable] | None]:
    """Return the columns of an edge table, and the labels of its vertices if `labels` and the ends are labels."""
    declared = None
    if not hasattr(table, "columns") or not hasattr(table, "loc"):
        table, declared = _arrow_columns(table)
    columns = list(table.keys())
    ends = [pair for pair in _ENDS if set(pair) <= set(columns)]
    weighing = [name for name in _WEIGHTS if name in columns]
    if not ends:
        found = ", ".join(map(str, columns)) or "none"
        raise InputError(f"an edge table needs columns u, v, w or source, target, weight; this one has {found}")
    taken = [name for name in columns if name in {*sum(ends, ()), *weighing}]
    if len(taken) > 2 + bool(weighing):
        raise InputError(
            f"the table has the columns {', '.join(taken)}: keep two for the ends and one for the weight"
        )
    if others := [name for name in meaningful(columns) if name not in _READ]:
        raise InputError(
            f"the table has no column w or weight, but {others[0]}: rename that to weight, or leave it out if every "
            "edge weighs 1"
        )
    names: list[Hashable] | None = None
    pair = [_plain(table[name]) for name in ends[0]]
    if labels and any(map(_holds_labels, pair, ends[0])):
        u, v, names = _numbered(pair, ends[0])
    else:
        u, v = map(_ids, pair, ends[0])
    weights = _numbers(_plain(table[weighing[0]]), weighing[0]) if weighing else np.ones(len(u), np.int32)
    return EdgeColumns(u, v, weights, declared), names


def _plain(column: Any) -> Any:
    """Return a pandas column of NumPy numbers as an array, since pandas takes 5 to 35 µs per step; others unchanged."""
    is_of_numbers = isinstance(dtype := getattr(column, "dtype", None), np.dtype) and dtype.kind in "iufb"
    return column.to_numpy() if is_of_numbers else column


def _holds_labels(column: Any, name: str) -> bool:
    """Return whether a column holds values, and these are neither numbers nor booleans."""
    if hasattr(column, "chunks"):
        from pyarrow import types

        kind = column.type
        kind = kind.value_type if _is_encoded(kind) else kind
        unnamed = (types.is_integer, types.is_floating, types.is_boolean, types.is_null)
        return not any(is_kind(kind) for is_kind in unnamed)
    if getattr(column.dtype, "kind", "O") in "iuf":
        return False
    return not all(isinstance(value, numbers.Real) for value in _objects(column, name) if value is not None)


def _objects(column: Any, name: str) -> list[Any]:
    """Return the values of a column as Python objects; raise `InputError` if Python cannot represent them."""
    is_arrow = hasattr(column, "chunks")
    try:
        if re.search(r"\btime64\[ns\]", str(column.type if is_arrow else column.dtype)):
            # Python's times have no nanoseconds; the cast fails if dropping these would change a label.
            import pyarrow

            return (column if is_arrow else pyarrow.array(column)).cast("time64[us]").to_pylist()
        return column.to_pylist() if is_arrow else column.tolist()
    except (ValueError, OverflowError, NotImplementedError) as error:
        raise InputError(
            f"{name} holds labels that Python cannot represent: {error}; convert them to numbers or text"
        ) from error


def _numbered(columns: list[Any], names: tuple[str, str]) -> tuple[np.ndarray, np.ndarray, list[Hashable]]:
    """Return the ends as numbers, and the labels in the order of their first appearance, row by row."""
    for column, name in zip(columns, names):
        _refuse_missing(column, name)
    given = [_objects(column, name) for column, name in zip(columns, names)]
    place: dict[Hashable, int] = {}
    ends = np.empty((len(given[0]), 2), np.int64)
    try:
        for row, pair in enumerate(zip(*given)):
            ends[row] = [place.setdefault(label, len(place)) for label in pair]
    except TypeError as error:
        raise InputError(f"row {row} has an end that cannot be a vertex label: {error}") from error
    return ends[:, 0], ends[:, 1], list(place)


def _arrow_columns(stream: Any) -> tuple[dict[str, Any], int | None]:
    """Return the columns of an Arrow stream as chunked arrays, and the vertex count that the schema declares."""
    import pyarrow

    try:
        # pyarrow.table would import pandas.
        reader = pyarrow.RecordBatchReader.from_stream(stream)
        # pyarrow cannot always concatenate empty chunks from other libraries.
        table = pyarrow.Table.from_batches((batch for batch in reader if len(batch)), reader.schema)
    except (TypeError, ValueError, pyarrow.ArrowException) as error:
        raise InputError(f"{type(stream).__name__} is not a table with columns: {error}") from error
    names = table.column_names
    if twice := sorted({name for name in meaningful(names) if names.count(name) > 1}):
        raise InputError(f"the table has {', '.join(twice)} more than once: rename the columns")
    declared = (table.schema.metadata or {}).get(b"n", b"")
    if len(declared) > _MOST_DIGITS and declared.isdigit():
        raise InputError(
            f"the table's metadata declare n = {shorten(declared.decode())} vertices, which do not fit into any memory"
        )
    columns = {name: table.column(i) for i, name in enumerate(names)}
    return columns, int(declared) if declared.isdigit() else None


def _numbers(column: Any, name: str) -> np.ndarray:
    """Return a column of numbers as an array; raise `InputError` if a value is missing."""
    _refuse_missing(column, name)
    if hasattr(column, "chunks"):
        column = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    # Arrow's own conversion imports pandas.
    array = np.from_dlpack(column) if _is_arrow_of_numbers(column) else as_numpy(column, name)
    if array.dtype.kind == "O":
        given = array.tolist()
        try:
            array = np.asarray(given)
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(f"{name} is not a column of numbers: {error}") from error
        refuse_rounded(given, array, lambda row: f"{name}[{row}]")
    if array.ndim != 1:
        raise InputError(f"{name} must be one-dimensional, got shape {array.shape}")
    return array


def _is_arrow_of_numbers(column: Any) -> bool:
    if not hasattr(column, "__dlpack__") or not hasattr(column, "type"):
        return False
    from pyarrow import types

    return types.is_integer(column.type) or types.is_floating(column.type)


def _is_encoded(kind: Any) -> bool:
    """Return whether entries of an Arrow type refer to values stored elsewhere, whose nulls are not counted."""
    from pyarrow import types

    return types.is_dictionary(kind) or types.is_run_end_encoded(kind)


def _refuse_missing(column: Any, name: str) -> None:
    if isinstance(column, np.ndarray):
        if column.dtype.kind != "f":
            return
        missing = np.isnan(column)
    elif not hasattr(column, "chunks"):
        missing = np.asarray(column.isna())
    elif _is_encoded(column.type):
        # Only pyarrow 26 looks for nulls among the values that entries refer to.
        stored = "dictionary" if hasattr(column.type, "index_type") else "values"
        may_miss = column.null_count or any(getattr(chunk, stored).null_count for chunk in column.chunks)
        missing = np.array([value is None for value in column.to_pylist()] if may_miss else [])
    else:
        missing = np.asarray(column.is_null() if column.null_count else [])
    if missing.any():
        raise InputError(f"{name}[{int(np.argmax(missing))}] is missing: drop or fill that row")


def _ids(column: Any, name: str) -> np.ndarray:
    array = _numbers(column, name)
    if array.size and array.dtype.kind not in "iu":
        kind = {"f": "floats", "U": "strings", "b": "booleans"}.get(array.dtype.kind, f"{array.dtype} values")
        whole = "convert whole ones by astype(int), or " if array.dtype.kind == "f" else ""
        raise InputError(
            f"{name} holds {kind} such as {array[:1].tolist()[0]!r}, not vertex ids: {whole}number the vertices from "
            "0, for example with pandas.factorize"
        )
    return array if array.size else array.astype(np.int32)
