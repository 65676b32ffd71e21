"""Graph files: one module per format; the content decides which one reads, the name only hints.

>>> import pathlib, tempfile
>>> from mst import Graph, formats
>>> with tempfile.TemporaryDirectory() as folder:
...     file = pathlib.Path(folder, "triangle.gr.gz")
...     formats.write(file, Graph(3, [0, 1, 2], [1, 2, 0], [5, 7, 6]))
...     formats.detect(file), formats.read(file).w.tolist()
('dimacs', [5, 7, 6])
"""

from __future__ import annotations

from pathlib import Path

from mst.errors import ConfigError, FormatError, InputError, OutOfMemoryError, nearest
from mst.formats import (
    bhargava_zaia,
    canonical,
    dimacs,
    ecl,
    edges,
    galois,
    gbbs,
    headed,
    matrix,
    matrix_market,
    metis,
    npz,
    pbbs,
    steinlib,
    tntp,
    tsplib,
)
from mst.formats.base import Format, Notes, RawGraph, replacing
from mst.formats.source import SUFFIXES, Source, sink, strip_compression
from mst.graph import Graph

# In the order of detection: from unmistakable first bytes to mere rows of numbers.
FORMATS: dict[str, Format] = {
    known.id: known
    for known in (
        canonical.FORMAT,
        npz.FORMAT,
        galois.FORMAT,
        galois.FLOAT_FORMAT,
        ecl.FORMAT,
        bhargava_zaia.FORMAT,
        matrix_market.FORMAT,
        pbbs.FORMAT,
        gbbs.FORMAT,
        dimacs.FORMAT,
        steinlib.FORMAT,
        tntp.FORMAT,
        tsplib.FORMAT,
        metis.FORMAT,
        matrix.FORMAT,
        headed.FORMAT,
        edges.FORMAT,
    )
}
"""Every format by id."""


def read(path: str | Path, *, format: str | None = None) -> Graph:
    """Return the graph in a file; edges without weights weigh 1 (int32).

    Parameters
    ----------
    path : path-like
        Plain, compressed by gzip, zstd, bzip2 or xz, or in a tar or zip archive (told by content).
    format : str, optional
        A key of `FORMATS`, where the content shall not decide.

    Returns
    -------
    Graph
        Rows in the file's order, self-loops and parallel edges included; adjacency formats that list each edge
        from both ends give it once. `mst.simplify.simplify` merges the rest.

    Raises
    ------
    FormatError
        With file, line, the line's text and what was expected.
    InputError
        The file cannot be opened.
    OutOfMemoryError
        The graph does not fit into memory.
    ConfigError
        No such format.

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
    path = Path(path)
    raw = read_raw(path, format=format)
    if raw.format == canonical.FORMAT.id:
        return canonical.read_canonical(path, trusted=True)  # checked a moment ago
    return raw.graph(name=_stem(path))


def read_raw(path: str | Path, *, format: str | None = None) -> RawGraph:
    """Return a file's content with what it said of itself.

    Parameters
    ----------
    path : path-like
        As for `read`.
    format : str, optional
        As for `read`.

    Returns
    -------
    RawGraph
        Its `notes` say what was passed over or mirrored; weights are None where the file has none.

    Raises
    ------
    FormatError, InputError, OutOfMemoryError, ConfigError
        As of `read`.

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
        with Source(Path(path)) as source:
            if format:
                return _known(format).read(source)
            found = _sniffed(source)
            return (found.guess or found.read)(source)
    except MemoryError as error:
        raise OutOfMemoryError(f"{path} does not fit into memory: {error or 'no more to be had'}") from error


def write(path: str | Path, graph: Graph, *, format: str | None = None) -> None:
    """Write a graph; the name's suffix decides format and compression, unless `format` is given.

    The file appears whole or not at all.

    Parameters
    ----------
    path : path-like
        Such as ``road.gr.gz``: a suffix of a format in `FORMATS`, and one of a compression after it where wanted.
    graph : Graph
    format : str, optional
        A key of `FORMATS`, whatever the name says.

    Raises
    ------
    InputError
        The graph does not fit the format, the folder is not there, or the name tells no format.
    ConfigError
        No such format, or one that is only read.

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
    path = Path(path)
    chosen = _known(format) if format else _by_suffix(path)
    if chosen.write is None:
        raise ConfigError(f"{chosen.id} files are read, not written: {', '.join(_writable())} are written")
    with replacing(path) as scratch, sink(scratch, SUFFIXES.get(path.suffix.lower())) as stream:
        chosen.write(stream, graph)


def detect(path: str | Path) -> str:
    """Return the id of a file's format, from its first 64 KiB of content.

    Two plain columns are called ``edges``, though a first row that counts all others makes them ``headed`` when
    they are read.

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
        The file is empty, or in no known format.
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
    with Source(Path(path)) as source:
        return _sniffed(source).id


def _known(format: str) -> Format:
    if format not in FORMATS:
        raise ConfigError(
            f"no file format {format!r}{nearest(format, FORMATS)}; there are: {', '.join(FORMATS)}"
        )
    return FORMATS[format]


def _sniffed(source: Source) -> Format:
    if not source.head:
        raise FormatError(source.path, "the file is empty: expected a graph")
    for candidate in FORMATS.values():
        if candidate.sniff(source):
            return candidate
    raise FormatError(
        source.path,
        f"in no known format: expected one of {', '.join(FORMATS)}",
        text=source.head.split(b"\n")[0],
    )


def _by_suffix(path: Path) -> Format:
    name = strip_compression(path.name).lower()
    for candidate in FORMATS.values():
        if candidate.writable and name.endswith(candidate.suffixes):
            return candidate
    raise InputError(f"{path}: the name does not tell the format; say which, of {', '.join(_writable())}")


def _writable() -> list[str]:
    return [candidate.id for candidate in FORMATS.values() if candidate.writable]


def _stem(path: Path) -> str:
    return strip_compression(path.name).split(".")[0]


__all__ = ["FORMATS", "Format", "Notes", "RawGraph", "detect", "read", "read_raw", "write"]
