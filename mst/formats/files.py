"""Reading and writing graph files of any format."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from mst import atomic
from mst.errors import (
    ConfigError,
    FormatError,
    InputError,
    MSTError,
    OutOfMemoryError,
    names_missing_numba,
    reading,
    writing,
)
from mst.formats import canonical
from mst.formats.base import Format, RawGraph, RawStream, replacing, too_many_vertices
from mst.formats.detection import FORMATS, format_by_suffix, format_named, format_of, writable_formats
from mst.formats.ids import Ids
from mst.formats.source import SUFFIXES, Source, is_pipe, sink, strip_compression
from mst.graph import Graph, column


def read(path: str | os.PathLike[str], *, format: str | None = None) -> Graph:
    """Read a graph from a file; edges without weights weigh 1 (int32).

    Parameters
    ----------
    path : path-like
        A plain file, one compressed by gzip, zstd, bzip2 or xz, or a tar or zip archive, under any name; ``-`` is
        standard input.
    format : str, optional
        A key of `FORMATS`; by default, the format is detected from the content.

    Returns
    -------
    Graph
        Edges are in the file's order, including self-loops and parallel edges, which `mst.simplify.simplify` removes.
        If adjacency lists hold each edge at both ends, the graph has it once. If the file does not number its vertices
        from 0, the graph is a `mst.graph.LabelledGraph` whose ``labels`` are the file's ids, ascending (a range, if
        there are no gaps), then -1, -2, … for vertices that the file counts but no edge names.

    Raises
    ------
    FormatError
        The file is malformed; the message names the line, its text and the expected content.
    InputError
        The file cannot be opened.
    OutOfMemoryError
        The graph does not fit into memory.
    ConfigError
        There is no such format.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from mst import formats
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "triangle.txt")
    ...     _ = file.write_text("0 1 5\\n1 2 7\\n2 0 6\\n")
    ...     formats.read(file)
    <Graph 'triangle': n=3 m=3 weights int32>
    """
    return read_weighted(path, format=format)[0]


def read_weighted(path: str | os.PathLike[str], *, format: str | None = None) -> tuple[Graph, bool]:
    """Return the graph as `read` does, and whether the file has weights."""
    with _as_file(file_path(path)) as file:
        raw = read_raw(file, format=format)
        if raw.format == canonical.FORMAT.id:
            return canonical.read_canonical(file, trusted=True), True  # read_raw has checked it
        return raw.labelled_graph(name=_graph_name(file)), raw.w is not None


@names_missing_numba
def read_raw(path: str | os.PathLike[str], *, format: str | None = None, member: str | None = None) -> RawGraph:
    """Read a graph from a file, with a summary of the file's declarations, and the ids of its vertices.

    Parameters
    ----------
    path : path-like
        As for `read`.
    format : str, optional
        As for `read`.
    member : str, optional
        The file to read in an archive; by default, the one that seems to be the graph (`mst.formats.archive`).

    Returns
    -------
    RawGraph

    Raises
    ------
    FormatError, InputError, OutOfMemoryError, ConfigError
        As for `read`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from mst import formats
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "path")
    ...     _ = file.write_text("70 80\\n80 90\\n")
    ...     raw = formats.read_raw(file)
    >>> raw.format, raw.n, raw.w, raw.original_ids.tolist()
    ('edges', 3, None, [70, 80, 90])
    """
    try:
        with _as_file(file_path(path)) as file, Source(file, member) as source:
            chosen = format_of(source) if format is None else format_named(format)
            read = (format is None and chosen.read_detected) or chosen.read
            raw = read(source)
    except MemoryError as error:
        raise OutOfMemoryError(f"{path} does not fit into memory: {error or 'allocation failed'}") from error
    if problem := too_many_vertices(raw.n, raw.summary.rows):
        raise FormatError(path, problem)
    return raw


def open_stream(source: Source, *, format: str | None = None) -> RawStream:
    """Read a graph file block by block.

    Parameters
    ----------
    source : Source
    format : str, optional
        As for `read`.

    Returns
    -------
    RawStream

    Raises
    ------
    FormatError, ConfigError
        As for `read`; or files in this format cannot be read block by block.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from mst import formats
    >>> from mst.formats.source import Source
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "tiny.gr")
    ...     _ = file.write_text("p sp 2 1\\na 1 2 5\\n")
    ...     with Source(file) as source:
    ...         [len(u) for u, v, w in formats.open_stream(source).blocks]
    [1]
    """
    chosen = format_of(source) if format is None else format_named(format)
    if chosen.stream is None:
        known = ", ".join(known.id for known in FORMATS.values() if known.stream)
        raise FormatError(
            source.path,
            f"{chosen.id} files cannot be read in parts: set no memory limit, or convert the file to one of {known}",
        )
    return ((format is None and chosen.stream_detected) or chosen.stream)(source)


def write(path: str | os.PathLike[str], graph: Graph, *, format: str | None = None, ids: Any = None) -> None:
    """Write a graph to a file, in the format and compression that the suffixes of its name choose.

    An error leaves no incomplete file behind.

    Parameters
    ----------
    path : path-like
        A file name such as ``road.gr.gz``: the suffix of a format, optionally followed by that of a compression.
    graph : Graph
    format : str, optional
        A key of `FORMATS`; by default, the suffix chooses the format.
    ids : array_like of int, shape (n,), optional
        Ids of the vertices, ascending, such as the ``labels`` of a graph that was read; only for formats with
        `Format.keeps_ids`. By default, vertices are numbered, whatever their labels.

    Raises
    ------
    InputError
        The format cannot represent the graph or the ids, the number of ids is not n, the folder does not exist, or no
        format has this suffix.
    ConfigError
        There is no such format, or it can only be read.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from mst import Graph, formats
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "path.mtx")
    ...     formats.write(file, Graph(3, [0, 1], [1, 2], [5, 7]))
    ...     file.read_text().splitlines()[0]
    '%%MatrixMarket matrix coordinate integer symmetric'
    """
    path = file_path(path)
    if not isinstance(graph, Graph):
        raise InputError(
            f"expected an mst.Graph to write to {path}, got {type(graph).__name__}: make one by mst.Graph(n, u, v, w)"
        )
    chosen = _to_write(path, format)
    assert chosen.write is not None
    if problem := too_many_vertices(graph.n, graph.m):
        raise InputError(f"{path} cannot be written: {problem}")
    given = [] if ids is None else [_checked_ids(path, chosen, graph.n, ids)]
    with replacing(path) as temporary, sink(temporary, SUFFIXES.get(path.suffix.lower())) as stream:
        chosen.write(stream, graph, *given)


def _checked_ids(path: Path, chosen: Format, n: int, ids: Any) -> Ids:
    """Return the ids of `n` vertices for a file; raise `InputError` if the format cannot keep them."""
    if not chosen.keeps_ids:
        raise InputError(
            f"{path}: {chosen.id} files keep no ids of vertices: leave ids out, or write .txt or .csv"
        )
    if isinstance(ids, range) and ids.step == 1:
        found: Ids = ids
    elif (found := column(ids, "ids")).dtype.kind not in "iu":
        raise InputError(f"ids must hold integers, got dtype {found.dtype}")
    if len(found) != n:
        raise InputError(f"ids must have one value for each of {n:,} vertices, got {len(found):,}")
    return found


def check_target(path: str | os.PathLike[str], *, format: str | None = None) -> str:
    """Return the id of the format of a file to write; raise the errors that `write` would raise for any graph.

    Parameters
    ----------
    path, format
        As for `write`.

    Returns
    -------
    str
        A key of `FORMATS`.

    Raises
    ------
    InputError
        The folder does not exist or is not writable, or no format has this suffix.
    ConfigError
        There is no such format, or it can only be read.

    Examples
    --------
    >>> from mst.formats import check_target
    >>> check_target("no-such-folder/road.gr")
    Traceback (most recent call last):
    mst.errors.InputError: no-such-folder/road.gr cannot be written: its folder does not exist; create it first
    """
    path = file_path(path)
    chosen = _to_write(path, format).id
    check_place(path)
    return chosen


def check_place(path: Path) -> None:
    """Raise an `InputError` if a file cannot be written because its folder does not exist or is not writable."""
    with writing(path):
        if atomic.is_stream(path):
            return
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        raise InputError(f"{path} cannot be written: its folder does not exist; create it first")
    if not os.access(folder, os.W_OK):
        read_only = os.statvfs(folder).f_flag & os.ST_RDONLY
        reason = os.strerror(errno.EROFS) if read_only else "no permission to write to it"
        raise InputError(f"{path} cannot be written: {folder}: {reason}")


def detect(path: str | os.PathLike[str]) -> str:
    """Return the id of a file's format, detected from the first 64 KiB of its content, or else from its name.

    Two columns without a header are reported as ``edges``; reading the file may show that the first row holds the
    counts of the others, so that the format is ``headed``.

    Parameters
    ----------
    path : path-like
        As for `read`.

    Returns
    -------
    str
        A key of `FORMATS`.

    Raises
    ------
    FormatError
        The file is empty or its format is unknown.
    InputError
        The file cannot be opened.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from mst import formats
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "of.any.name")
    ...     _ = file.write_text("p sp 2 1\\na 1 2 5\\n")
    ...     formats.detect(file)
    'dimacs'
    """
    with _as_file(file_path(path)) as file, Source(file) as source:
        return format_of(source).id


def file_path(path: str | os.PathLike[str]) -> Path:
    """Return the path of a graph file as a `Path`.

    Raises
    ------
    InputError
        `path` is neither a string nor a path of strings, or contains a NUL character.

    Examples
    --------
    >>> from mst.formats import file_path
    >>> file_path("road.gr").name
    'road.gr'
    """
    name = os.fspath(path) if isinstance(path, str | os.PathLike) else path
    if not isinstance(name, str):
        raise InputError(f"the path of a graph file must be a str or a path, got {type(path).__name__}")
    if "\0" in name:
        raise InputError(f"{name!r} cannot be the path of a file: it contains a NUL character")
    return path if isinstance(path, Path) else Path(name)


@contextlib.contextmanager
def _as_file(path: Path) -> Iterator[Path]:
    """Yield a path that can be read more than once: for a pipe, the path of a temporary copy."""
    if not is_pipe(path):
        yield path
        return
    name = "standard input" if str(path) == "-" else str(path)
    if str(path) == "-" and sys.stdin is None:
        raise InputError("standard input is closed: name a file")
    with tempfile.TemporaryDirectory(prefix="mst-") as folder:
        copy = Path(folder, Path(name).name)
        with contextlib.ExitStack() as opened:
            pipe = sys.stdin.buffer if str(path) == "-" else opened.enter_context(path.open("rb"))
            with writing(copy), copy.open("wb") as out:
                shutil.copyfileobj(SimpleNamespace(read=reading(name)(pipe.read)), out)
        try:
            yield copy
        except MSTError as error:
            error.args = (str(error).replace(str(copy), name),)
            raise


def _to_write(path: Path, format: str | None) -> Format:
    """Return the format in which a file is written."""
    chosen = format_by_suffix(path) if format is None else format_named(format)
    if chosen.write is None:
        raise ConfigError(
            f"{chosen.id} files can be read, but not written: choose one of {', '.join(writable_formats())}"
        )
    if chosen is canonical.FORMAT and path.suffix.lower() in SUFFIXES:
        raise InputError(
            f"{path}: a canonical file is mapped into memory and cannot be compressed: leave out {path.suffix}"
        )
    return chosen


def _graph_name(path: Path) -> str:
    return strip_compression(path.name).split(".")[0]
