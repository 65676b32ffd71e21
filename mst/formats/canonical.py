"""The canonical graph file: one uncompressed Apache Arrow IPC file, memory-mapped.

Columns ``u``, ``v``, ``w``; the schema's metadata hold `name`, `n`, `m`, `digest` (of the content), and, where
known, `source`, `raw_sha256` (of the file it was made from), `generator`, `seed` and whatever else the writer
adds. Texts are stored as they are, everything else as JSON.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from mst.errors import FormatError, InputError
from mst.formats.base import Format, Notes, RawGraph, replacing
from mst.formats.source import Source
from mst.graph import Graph

MAGIC = b"ARROW1\0\0"
_ENDS, _WEIGHTS = ("int32", "int64"), ("int32", "int64", "float", "double")
_TEXTS = frozenset(("name", "source", "raw_sha256", "digest"))


def content_digest(graph: Graph) -> str:
    """Return the SHA-256 of ``n``, the weights' dtype, and the little-endian bytes of u, v and w, in row order.

    Examples
    --------
    >>> from mst import Graph
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
    """Write a graph, whole or not at all.

    Parameters
    ----------
    path : path-like
    graph : Graph
    metadata : mapping, optional
        Kept with the graph: `source`, `raw_sha256`, `generator`, `seed`, … `name` defaults to the graph's;
        `n`, `m` and `digest` are the graph's own; None values are left out.

    Returns
    -------
    dict
        The metadata as `read_metadata` returns it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from mst import Graph
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "tiny.arrow")
    ...     said = write_canonical(file, Graph(2, [0], [1], [5], name="tiny"), {"seed": 1})
    ...     read_metadata(file) == said, read_canonical(file).w.tolist()
    (True, [5])
    """
    known = _metadata_of(graph, metadata or {})
    with replacing(path) as scratch, scratch.open("wb") as stream:
        _write(stream, graph, known)
    return known


def _metadata_of(graph: Graph, metadata: Mapping[str, Any]) -> dict[str, Any]:
    own = {"n": graph.n, "m": graph.m, "digest": content_digest(graph)}
    known = {"name": graph.name, **metadata, **own}
    return {key: value for key, value in known.items() if value is not None}


def _write(stream: IO[bytes], graph: Graph, metadata: Mapping[str, Any]) -> None:
    import pyarrow as pa

    texts = {k: v if k in _TEXTS else json.dumps(v, sort_keys=True) for k, v in metadata.items()}
    columns = [pa.array(column) for column in (graph.u, graph.v, graph.w)]
    fields = [pa.field(name, column.type, nullable=False) for name, column in zip("uvw", columns)]
    schema = pa.schema(fields, metadata=texts)
    with pa.ipc.new_file(stream, schema) as writer:
        writer.write_batch(pa.record_batch(columns, schema=schema))


def read_metadata(path: str | Path) -> dict[str, Any]:
    """Return the metadata of a canonical file without reading its edges."""
    return _Reader(path).metadata


def read_canonical(path: str | Path, *, trusted: bool = False, verify: bool = False) -> Graph:
    """Return the graph of a canonical file, its arrays mapped, not copied.

    Parameters
    ----------
    path : path-like
    trusted : bool
        Leave out the check that ids lie in ``0 … n - 1`` and that no weight is NaN, which touches every page.
    verify : bool
        Recompute the content's digest and compare it with the one in the metadata.

    Raises
    ------
    FormatError
        Not a canonical file, damaged, or cut.
    """
    reader = _Reader(path)
    u, v, w = reader.slice(0, reader.m)
    try:
        graph = Graph(reader.n, u, v, w, name=reader.metadata.get("name", ""), trusted=trusted)
    except InputError as error:
        raise FormatError(path, f"the columns make no graph: {error}") from error
    if verify and content_digest(graph) != reader.metadata.get("digest"):
        raise FormatError(
            path, "the content does not have the digest that the metadata state: fetch or make it anew"
        )
    return graph


def read_slice(path: str | Path, start: int, stop: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows ``start … stop - 1`` as ``(u, v, w)``; only their pages are touched.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from mst import Graph
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "tiny.arrow")
    ...     _ = write_canonical(file, Graph(4, [0, 1, 2], [1, 2, 3], [5, 6, 7]))
    ...     [column.tolist() for column in read_slice(file, 1, 3)]
    [[1, 2], [2, 3], [6, 7]]
    """
    reader = _Reader(path)
    if not 0 <= start <= stop <= reader.m:
        raise InputError(f"{path} has rows 0 … {reader.m}: {start} … {stop} is no slice of them")
    return reader.slice(start, stop)


class _Reader:
    """A mapped file, its metadata checked against its columns."""

    def __init__(self, path: str | Path):
        import pyarrow as pa

        self.path = Path(path)
        try:
            self._batches = pa.ipc.open_file(pa.memory_map(str(path)))
            schema = self._batches.schema
            self._parts = [self._batches.get_batch(i) for i in range(self._batches.num_record_batches)]
            for part in self._parts:
                part.validate()
            columns = [(field.name, str(field.type)) for field in schema]
        except FileNotFoundError as error:
            raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
        except (pa.ArrowException, OSError, ValueError) as error:
            raise FormatError(path, f"expected an Arrow IPC file: {error}") from error
        self.metadata = self._decoded(schema.metadata or {})
        self._check(columns)

    def _decoded(self, texts: Mapping[bytes, bytes]) -> dict[str, Any]:
        try:
            pairs = {key.decode(): value.decode() for key, value in texts.items()}
            return {key: value if key in _TEXTS else json.loads(value) for key, value in pairs.items()}
        except ValueError as error:
            raise FormatError(self.path, f"the metadata cannot be read: {error}") from error

    def _check(self, columns: list[tuple[str, str]]) -> None:
        names, kinds = zip(*columns) if columns else ((), ())
        if (
            names != ("u", "v", "w")
            or kinds[0] != kinds[1]
            or kinds[0] not in _ENDS
            or kinds[2] not in _WEIGHTS
        ):
            found = ", ".join(map(" ".join, columns))
            raise FormatError(
                self.path, f"expected columns u, v (int32 or int64) and w (a number), found {found}"
            )
        n, m = self.metadata.get("n"), self.metadata.get("m")
        rows = sum(part.num_rows for part in self._parts)
        if not isinstance(n, int) or n < 0:
            raise FormatError(self.path, f"expected metadata n, the vertex count, found {n!r}")
        if m != rows:
            raise FormatError(self.path, f"declares m = {m!r} and has {rows:,} rows")
        if any(column.null_count for part in self._parts for column in part.columns):
            raise FormatError(self.path, "expected no missing values")
        if kinds[0] != ("int32" if n < 2**31 else "int64"):
            raise FormatError(
                self.path,
                f"expected ids of {'int32' if n < 2**31 else 'int64'} for n = {n:,}, found {kinds[0]}",
            )
        self.n, self.m = n, rows

    def slice(self, start: int, stop: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        pieces: list[list[np.ndarray]] = [[], [], []]
        at = 0
        for part in self._parts:
            low, high = max(start - at, 0), min(stop - at, part.num_rows)
            if low < high or len(self._parts) == 1:
                for piece, column in zip(pieces, part.columns):
                    piece.append(column.slice(low, max(high - low, 0)).to_numpy(zero_copy_only=True))
            at += part.num_rows
        dtypes = ["int32" if self.n < 2**31 else "int64"] * 2 + [
            self._batches.schema.field("w").type.to_pandas_dtype()
        ]
        u, v, w = (_joined(piece, dtype) for piece, dtype in zip(pieces, dtypes))
        return u, v, w


def _joined(pieces: list[np.ndarray], dtype: Any) -> np.ndarray:
    if len(pieces) == 1:
        return pieces[0]
    return np.concatenate(pieces) if pieces else np.empty(0, dtype)


def sniff(source: Source) -> bool:
    return source.head.startswith(MAGIC)


def read(source: Source) -> RawGraph:
    if source.packed:
        raise FormatError(source.path, "a canonical file is mapped into memory: decompress it first")
    graph = read_canonical(source.path)
    notes = Notes(graph.m, graph.n, graph.m, "edges")
    return RawGraph(graph.n, graph.u, graph.v, graph.w, None, "canonical", notes)


def write(sink: IO[bytes], graph: Graph) -> None:
    _write(sink, graph, _metadata_of(graph, {}))


FORMAT = Format("canonical", "Canonical Apache Arrow IPC file", (".arrow",), sniff, read, write)
