"""Graph files as streams: Parquet, Arrow IPC, and the text formats that are read block by block."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from mst import formats
from mst.arrays import to_arrow
from mst.cores import cores_for
from mst.errors import FormatError, InputError
from mst.formats import canonical
from mst.formats.ids import Ids, end_of, ids_of
from mst.formats.source import Source, is_parquet, is_pipe
from mst.formats.text import is_count
from mst.graph import WEIGHT_DTYPES, frozen
from mst.interop.tables import meaningful
from mst.streaming.batches import Batch, batch_of, map_ahead
from mst.streaming.forest import StreamForest
from mst.streaming.memory import decoders, parse_memory

_ROW_BYTES = 32
"""Bytes of a row while it is decoded: 12 to 24, and its text or compressed bytes."""

_FOREST = ("u", "v", "w", "id")


class EdgeFile(NamedTuple):
    """A file of edges.

    Attributes
    ----------
    path : Path
    n, m : int, optional
        The numbers of vertices and of edges, where the file states them.
    batches : callable
        ``batches(start)`` yields the edges from this place on.
    identity : mapping
        Facts that differ between files: size and time, and the format that it was read as.
    batch : int
        Bytes that each batch takes while it is decoded.
    least_n : int, optional
        As for `mst.formats.base.RawStream`.
    weighted : bool
        Whether the file has weights; without, every edge weighs 1.
    ids : range or numpy.ndarray, optional
        The ids that the file gives to the vertices, unless they count from 0.
    """

    path: Path
    n: int | None
    m: int | None
    batches: Callable[[int], Iterator[Batch]]
    identity: Mapping[str, Any] = MappingProxyType({})
    batch: int = 0
    least_n: int | None = None
    weighted: bool = True
    ids: Ids | None = None


def open_edges(
    path: Path, *, format: str | None = None, width: int = 1, memory: int | str | None = None
) -> EdgeFile:
    """Open a file of edges, or a folder of Parquet files, which are read in the order of their names.

    Parameters
    ----------
    path : Path
    format : str, optional
        A key of `mst.formats.FORMATS`, ``parquet`` or ``arrow``; by default, the content decides.
    width : int
        Threads that decode Parquet.
    memory : int or str, optional
        Bytes for the whole process, as for `mst.streaming.forest_of_batches`: reading takes a share of them.

    Raises
    ------
    FormatError, InputError
        It cannot be opened, or not as a stream.
    InputError, UnsupportedError
        `width` is not at least 1, or above the usable cores.
    """
    width = cores_for(width)
    if is_pipe(path):
        name = "standard input" if str(path) == "-" else f"{path}, a pipe,"
        raise InputError(f"{name} cannot be read in parts: name a file, or set no memory limit")
    if is_parquet(path) if format is None else format == "parquet":
        found = _parquet(path, width, parse_memory(memory) if memory else None)
    else:
        with Source(path) as source:
            is_arrow = canonical.sniff(source) if format is None else format in ("arrow", "canonical")
            found = (
                _arrow(path) if is_arrow else _text(path, formats.open_stream(source, format=format), format)
            )
    states = [part.stat() for part in _files(path)]
    identity = {
        "path": str(path.resolve()),
        "size": sum(state.st_size for state in states),
        "modified": max((state.st_mtime_ns for state in states), default=0),
        "format": format,
    }
    return found._replace(identity=identity)


def write_parquet(path: Path, forest: Any, ids: Ids | None = None) -> None:
    """Write the edges of a forest and their ids as a Parquet file; an error leaves no incomplete file behind.

    Parameters
    ----------
    path : Path
    forest : StreamForest or Forest
    ids : range or numpy.ndarray of int64, shape (n,), optional
        Ids of the vertices, which are then those below the largest, as if the graph's file had been read in parts.

    Raises
    ------
    InputError
        The file cannot be written.
    """
    import pyarrow as pa
    from pyarrow import parquet

    u, v, w = forest.edges()
    n, m = forest.n, forest.m
    if ids is not None:
        n = end_of(ids)
        u, v = (ids_of(ends, ids).astype(np.int32 if n < 2**31 else np.int64, copy=False) for ends in (u, v))
    columns = [to_arrow(np.ascontiguousarray(column)) for column in (u, v, w, forest.edge_ids)]
    table = pa.Table.from_arrays(columns, list(_FOREST), metadata={"n": str(n), "m": str(m)})
    with formats.base.replacing(path) as temporary:
        parquet.write_table(table, temporary)


def read_forest(path: Path) -> StreamForest:
    """Return a forest that `write_parquet` has written.

    Raises
    ------
    FormatError
        The file holds no such forest.
    InputError
        It cannot be opened.
    """
    import pyarrow as pa
    from pyarrow import parquet

    expected = "expected a forest in Parquet with columns u, v, w and id, as `mst solve --out forest.parquet` writes it"
    if not is_parquet(path):
        raise FormatError(path, expected)
    try:
        with parquet.ParquetFile(path) as opened:
            table = opened.read()
        n, m = _declared(table.schema), int(table.schema.metadata[b"m"])
        u, v, w, ids = (np.from_dlpack(table.column(name).combine_chunks()) for name in _FOREST)
    except (pa.ArrowException, OSError, KeyError, ValueError, TypeError) as error:
        raise FormatError(path, expected) from error
    kinds = [column.dtype.kind for column in (u, v, ids)]
    if n is None or kinds != ["i"] * 3 or u.dtype != v.dtype or w.dtype not in WEIGHT_DTYPES:
        raise FormatError(path, expected)
    return StreamForest(n, m, u, v, w, ids.astype(np.int64))


def _files(path: Path) -> list[Path]:
    """Return the files of a graph: those of a folder by name, or the file itself."""
    return sorted(path.glob("*.parquet")) if path.is_dir() else [path]


def _parquet_notes(path: Path) -> dict[Path, Any]:
    """Return the metadata of a Parquet file, or of all in a folder, by file; refuse files of other columns."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        notes = {file: parquet.read_metadata(file) for file in _files(path)}
    except (pa.ArrowException, OSError) as error:
        raise FormatError(path, f"expected a Parquet file: {_one_line(error)}") from error
    if not notes:
        raise InputError(f"{path} is a folder without .parquet files: name a graph file")
    # Not `note.schema.names`, which of a column of lists has only that of the elements.
    columns = {file: meaningful(note.schema.to_arrow_schema().names) for file, note in notes.items()}
    first = next(iter(notes))
    for file, own in columns.items():
        if set(own) != set(columns[first]):
            raise FormatError(file, f"expected the columns of {first.name}: {', '.join(columns[first])}")
    return notes


def _parquet(path: Path, width: int, memory: int | None) -> EdgeFile:
    import pyarrow as pa
    from pyarrow import parquet

    notes = _parquet_notes(path)
    parts = [(file, note, i) for file, note in notes.items() for i in range(note.num_row_groups)]
    sizes = [note.row_group(i).num_rows for _, note, i in parts]
    schemas = [note.schema.to_arrow_schema() for note in notes.values()]
    declared = [n for n in map(_declared, schemas) if n is not None]
    n = max(declared) if len(declared) == len(schemas) else None
    names = schemas[0].names
    columns = meaningful(names)
    if len(columns) < 2:
        columns = names  # for the error that lists them
    bytes_each = _ROW_BYTES * max(sizes, default=0)
    ahead = decoders(memory, width, bytes_each)

    # Opening a file again for each row group takes a twentieth of the time of decoding it.
    latest = threading.local()

    def decode(file: Path, note: Any, group: int, row: int) -> Batch:
        try:
            if getattr(latest, "path", None) != file:
                latest.path, latest.opened = file, parquet.ParquetFile(file, metadata=note, pre_buffer=False)
            table = latest.opened.read_row_group(group, columns, use_threads=False)
        except (pa.ArrowException, OSError) as error:
            raise FormatError(file, f"row group {group} is damaged: {_one_line(error)}") from error
        return _batch(table, file, row)

    def batches(start: int) -> Iterator[Batch]:
        ends = np.cumsum(sizes)
        calls = [(*part, int(end) - size) for part, size, end in zip(parts, sizes, ends) if end > start]
        # Its threads end before Python does, which would end the process if one returned from Arrow's code later.
        with ThreadPoolExecutor(ahead, "mst decodes") as pool:
            for batch in map_ahead(pool, decode, calls, ahead):
                yield batch.after(start)

    return EdgeFile(path, n, sum(sizes), batches, batch=bytes_each, weighted=len(columns) > 2)


def _arrow(path: Path) -> EdgeFile:
    import pyarrow as pa

    try:
        reader = pa.ipc.open_file(pa.memory_map(str(path)))
        sizes = [reader.get_batch(i).num_rows for i in range(reader.num_record_batches)]
    except (pa.ArrowException, OSError) as error:
        raise FormatError(path, f"expected an Arrow IPC file: {_one_line(error)}") from error

    def batches(start: int) -> Iterator[Batch]:
        row = 0
        for i, size in enumerate(sizes):
            if row + size > start:
                try:
                    table = reader.get_batch(i)
                    table.validate()
                except (pa.ArrowException, OSError) as error:
                    raise FormatError(path, f"damaged after row {row:,}: {_one_line(error)}") from error
                yield _batch(table, path, row).after(start)
            row += size

    weighted = len(meaningful(reader.schema.names)) > 2
    return EdgeFile(path, _declared(reader.schema), sum(sizes), batches, weighted=weighted)


def _text(path: Path, stream: formats.RawStream, format: str | None) -> EdgeFile:
    def batches(start: int) -> Iterator[Batch]:
        with Source(path) as source:
            row = 0
            for u, v, w in formats.open_stream(source, format=format).blocks:
                weights = np.ones(len(u), np.int32) if w is None else _narrow(w)
                yield _batch((_narrow(u), _narrow(v), weights), path, row).after(start)
                row += len(u)

    weighted = all(w is not None for _, _, w in islice(stream.blocks, 1))
    ids = range(stream.base, stream.base + stream.n) if stream.base and stream.n is not None else None
    return EdgeFile(path, stream.n, stream.m, batches, least_n=stream.least_n, weighted=weighted, ids=ids)


def _narrow(values: np.ndarray) -> np.ndarray:
    """Return values of any dtype, shape (k,), as int32 where they are signed integers that fit."""
    if values.dtype.kind == "i" and values.size and values.min() >= -(2**31) and values.max() < 2**31:
        return frozen(values.astype(np.int32))  # a copy that need not be copied again
    return values


def _batch(given: Any, path: Path, row: int) -> Batch:
    """Return the batch that begins at a row of a file."""
    return batch_of(given, f"{path}, rows from {row:,} on")._replace(name=str(path), first=row)


def _declared(schema: Any) -> int | None:
    """Return the number of vertices that a schema's metadata state."""
    text = (schema.metadata or {}).get(b"n", b"")
    return int(text) if is_count(text) else None


def _one_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
