"""The canonical graph file: one uncompressed Apache Arrow IPC file, memory-mapped.

The columns are ``u``, ``v`` and ``w``. The metadata of the schema hold `name`, `n`, `m`, `digest` (of the content)
and, where known, `source`, `raw_sha256` (of the converted file), `generator`, `seed` and any other entries that the
writer adds. Strings are stored unchanged, other values as JSON.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from mst.arrays import to_arrow
from mst.errors import FormatError, InputError, reading
from mst.formats.base import FileSummary, Format, RawGraph, replacing
from mst.formats.source import Source
from mst.graph import Graph
from mst.units import counted

_MAGIC_BYTES = b"ARROW1\0\0"
_END_TYPES, _WEIGHT_TYPES = ("int32", "int64"), ("int32", "int64", "float", "double")
_TABLES = (
    "; of an Arrow file that mst convert has not written, pass the table in Python, or use mst solve --memory"
)
_STRING_KEYS = frozenset(("name", "source", "raw_sha256", "digest"))


def content_digest(graph: Graph) -> str:
    """Return the SHA-256 of ``n``, the weights' dtype, and the little-endian bytes of u, v and w, in row order.

    Parameters
    ----------
    graph : Graph

    Returns
    -------
    str
        64 hexadecimal digits.

    Examples
    --------
    >>> from mst import Graph
    >>> from mst.formats.canonical import content_digest
    >>> a, b = Graph(2, [0], [1], [5]), Graph(2, [0], [1], [5.0])
    >>> content_digest(a) == content_digest(b)
    False
    """
    total = hashlib.sha256(f"{graph.n} {graph.w.dtype.name}\n".encode())
    for column in (graph.u, graph.v, graph.w):
        total.update(np.ascontiguousarray(column, column.dtype.newbyteorder("<")).data)
    return total.hexdigest()


def write_canonical(
    path: str | Path, graph: Graph, metadata: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Write a graph; an error leaves no incomplete file behind.

    Parameters
    ----------
    path : path-like
    graph : Graph
    metadata : mapping, optional
        Entries to store with the graph, such as `source`, `raw_sha256`, `generator` and `seed`; None values are left
        out. `name` is the graph's by default; `n`, `m` and `digest` are always the graph's.

    Returns
    -------
    dict
        The metadata as `read_metadata` returns them.

    Raises
    ------
    InputError
        The file cannot be written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from mst import Graph
    >>> from mst.formats.canonical import read_canonical, read_metadata, write_canonical
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "tiny.arrow")
    ...     written = write_canonical(file, Graph(2, [0], [1], [5], name="tiny"), {"seed": 1})
    ...     read_metadata(file) == written, read_canonical(file).w.tolist()
    (True, [5])
    """
    complete = _complete_metadata(graph, metadata or {})
    with replacing(path) as temporary, temporary.open("wb") as stream:
        _write(stream, graph, complete)
    return complete


def _complete_metadata(graph: Graph, metadata: Mapping[str, Any]) -> dict[str, Any]:
    computed = {"n": graph.n, "m": graph.m, "digest": content_digest(graph)}
    complete = {"name": graph.name, **metadata, **computed}
    return {key: value for key, value in complete.items() if value is not None}


def _write(stream: IO[bytes], graph: Graph, metadata: Mapping[str, Any]) -> None:
    import pyarrow as pa

    texts = {k: v if k in _STRING_KEYS else json.dumps(v, sort_keys=True) for k, v in metadata.items()}
    # The name may be a file name, which need not be valid UTF-8.
    strings = {key: text.encode(errors="replace") for key, text in texts.items()}
    columns = [to_arrow(column) for column in (graph.u, graph.v, graph.w)]
    fields = [pa.field(name, column.type, nullable=False) for name, column in zip("uvw", columns)]
    schema = pa.schema(fields, metadata=strings)
    with pa.ipc.new_file(stream, schema) as writer:
        writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))


def read_metadata(path: str | Path) -> dict[str, Any]:
    """Return the metadata of a canonical file without reading its edges; `write_canonical` has an example.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    dict

    Raises
    ------
    FormatError
        The file is not canonical, damaged, or truncated.
    InputError
        The file does not exist.
    """
    return _Reader(path).metadata


def read_canonical(path: str | Path, *, trusted: bool = False) -> Graph:
    """Return the graph of a canonical file; its arrays are mapped into memory, not copied.

    `write_canonical` has an example.

    Parameters
    ----------
    path : path-like
    trusted : bool
        Skip the check that ids lie in ``0 … n - 1`` and no weight is NaN, which reads the whole file.

    Returns
    -------
    Graph

    Raises
    ------
    FormatError
        The file is not canonical, damaged, or truncated.
    InputError
        The file does not exist.
    """
    reader = _Reader(path)
    u, v, w = reader.slice(0, reader.m)
    try:
        return Graph(reader.n, u, v, w, name=reader.metadata.get("name", ""), trusted=trusted)
    except InputError as error:
        raise FormatError(path, f"the columns are not a valid graph: {error}") from error


def read_slice(path: str | Path, start: int, stop: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows ``start … stop - 1`` of a canonical file; only the pages that hold them are read.

    Parameters
    ----------
    path : path-like
    start, stop : int

    Returns
    -------
    u, v : numpy.ndarray of int32 or int64, shape (stop - start,)
    w : numpy.ndarray, shape (stop - start,)

    Raises
    ------
    InputError
        The file has no such rows, or does not exist.
    FormatError
        The file is not canonical, damaged, or truncated.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from mst import Graph
    >>> from mst.formats.canonical import read_slice, write_canonical
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "tiny.arrow")
    ...     _ = write_canonical(file, Graph(4, [0, 1, 2], [1, 2, 3], [5, 6, 7]))
    ...     [column.tolist() for column in read_slice(file, 1, 3)]
    [[1, 2], [2, 3], [6, 7]]
    """
    reader = _Reader(path)
    if not 0 <= start <= stop <= reader.m:
        raise InputError(f"{path} has {reader.m:,} rows, so {start} … {stop} is not a slice of it")
    return reader.slice(start, stop)


class _Reader:
    """A mapped file, its metadata checked against its columns."""

    def __init__(self, path: str | Path):
        import pyarrow as pa

        self.path = Path(path)
        with reading(path), self.path.open("rb"):
            pass  # pyarrow does not distinguish files that cannot be opened from damaged ones
        try:
            mapped = pa.memory_map(str(path))
            start = mapped.read_buffer(1).address
            self._batches = pa.ipc.open_file(mapped)
            schema = self._batches.schema
            self._parts = [self._batches.get_batch(i) for i in range(self._batches.num_record_batches)]
            for part in self._parts:
                part.validate()
            self._require_length(start, mapped.size())
            columns = [(field.name, str(field.type)) for field in schema]
        except (pa.ArrowException, OSError, ValueError) as error:
            raise FormatError(
                path, f"expected an Arrow IPC file, as `mst convert` writes it: {error}"
            ) from error
        self.metadata = self._decoded(schema.metadata or {})
        self._check(columns)

    def _require_length(self, start: int, size: int) -> None:
        """Raise a `FormatError` if the file ends before a mapped column does: reading beyond the end would crash."""
        columns = [column for part in self._parts for column in part.columns]
        buffers = [buffer for column in columns for buffer in column.buffers() if buffer]
        mapped = [buffer for buffer in buffers if 0 <= buffer.address - start < size]
        end = max((buffer.address + buffer.size - start for buffer in mapped), default=0)
        if self.path.stat().st_size < end:
            raise FormatError(self.path, "the file was truncated while it was opened: write it again")

    def _decoded(self, metadata: Mapping[bytes, bytes]) -> dict[str, Any]:
        try:
            pairs = {key.decode(): value.decode() for key, value in metadata.items()}
            return {key: value if key in _STRING_KEYS else json.loads(value) for key, value in pairs.items()}
        except ValueError as error:
            raise FormatError(self.path, f"the metadata cannot be read: {error}") from error

    def _check(self, columns: list[tuple[str, str]]) -> None:
        names, types = zip(*columns) if columns else ((), ())
        if (
            names != ("u", "v", "w")
            or types[0] != types[1]
            or types[0] not in _END_TYPES
            or types[2] not in _WEIGHT_TYPES
        ):
            found = ", ".join(map(" ".join, columns))
            raise FormatError(
                self.path, f"expected columns u, v (int32 or int64) and w (a number), found {found}{_TABLES}"
            )
        n, m = self.metadata.get("n"), self.metadata.get("m")
        rows = sum(part.num_rows for part in self._parts)
        if not isinstance(n, int) or n < 0:
            raise FormatError(self.path, f"expected metadata n, the vertex count, found {n!r}{_TABLES}")
        if m != rows:
            raise FormatError(self.path, f"declares m = {m!r} but has {counted(rows, 'row')}")
        if any(column.null_count for part in self._parts for column in part.columns):
            raise FormatError(self.path, "expected no missing values")
        expected = "int32" if n < 2**31 else "int64"
        if types[0] != expected:
            raise FormatError(self.path, f"expected ids of {expected} for n = {n:,}, found {types[0]}")
        self.n, self.m = n, rows

    def slice(self, start: int, stop: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return rows ``start … stop - 1`` as ``(u, v, w)``, copied only if they lie in several batches."""
        pieces: list[list[np.ndarray]] = [[], [], []]
        at = 0
        for part in self._parts:
            low, high = max(start - at, 0), min(stop - at, part.num_rows)
            if low < high or len(self._parts) == 1:
                for piece, column in zip(pieces, part.columns):
                    # The column's own to_numpy imports pandas, which takes longer than the rest.
                    piece.append(np.from_dlpack(column.slice(low, max(high - low, 0))))
            at += part.num_rows
        u, v, w = map(_concatenated, pieces, self._batches.schema.types)
        return u, v, w


def _concatenated(pieces: list[np.ndarray], type: Any) -> np.ndarray:
    """Return one array of the pieces of a column of an Arrow type."""
    if len(pieces) == 1:
        return pieces[0]
    # Older versions of pyarrow import pandas to convert a type.
    return np.concatenate(pieces) if pieces else np.empty(0, type.to_pandas_dtype())


def sniff(source: Source) -> bool:
    """Return whether this is an Arrow IPC file."""
    return source.head.startswith(_MAGIC_BYTES)


def read(source: Source) -> RawGraph:
    """Read a canonical file, which must be neither compressed nor in an archive."""
    if not source.plain:
        raise FormatError(
            source.path,
            "a canonical file is mapped into memory and cannot be compressed or archived: unpack it first",
        )
    graph = read_canonical(source.path)
    summary = FileSummary(graph.m, graph.n, graph.m, "edges")
    return RawGraph(graph.n, graph.u, graph.v, graph.w, None, "canonical", summary)


def write(sink: IO[bytes], graph: Graph) -> None:
    """Write a graph with the metadata that can be computed from it."""
    _write(sink, graph, _complete_metadata(graph, {}))


FORMAT = Format("canonical", "Canonical Apache Arrow IPC file", (".arrow",), sniff, read, write)
