"""Types that all file formats share: the description of a format, and the graph that a reader returns."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

import mst.forest  # noqa: F401 - registers how graphs are pickled
from mst import atomic
from mst.errors import FormatError, writing
from mst.formats.ids import Ids, count_used
from mst.formats.source import Source
from mst.graph import Graph, LabelledGraph
from mst.units import counted

MAX_VERTICES_PER_ROW = 64
_FREE_VERTICES = 1 << 24


def too_many_vertices(n: int, rows: int) -> str:
    """Return why a file of `rows` edge rows cannot declare `n` vertices, or an empty string.

    Every algorithm allocates memory per vertex, so a wrong count in a small file could exhaust it. About 17 million
    vertices are always allowed; beyond that, at most `MAX_VERTICES_PER_ROW` per row.
    """
    if n <= max(_FREE_VERTICES, MAX_VERTICES_PER_ROW * rows):
        return ""
    return (
        f"{n:,} vertices are too many for {counted(rows, 'edge row')}: number those in use from 0 without gaps"
    )


@dataclass(frozen=True)
class FileSummary:
    """The counts that a file declares, and how its rows were read.

    Attributes
    ----------
    rows : int
        Edge entries in the file: lines, arcs or neighbours.
    declared_n, declared_m : int, optional
        Vertex count and edge (or arc) count that the file declares.
    direction : str
        ``"arcs"`` if the file holds directed arcs, ``"edges"`` if it lists each edge once, ``"both"`` if it lists each
        edge from both ends, ``"unknown"`` if it does not say.
    mirrored : int
        Number of entries that repeat an edge from its other end; ``rows - mirrored`` edges remain.
    remarks : tuple of str
        Assumptions for the user to check, such as whether ids count from 0 or 1.
    """

    rows: int
    declared_n: int | None = None
    declared_m: int | None = None
    direction: str = "unknown"
    mirrored: int = 0
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class RawGraph:
    """The content of a graph file, including self-loops and parallel edges.

    Attributes
    ----------
    n : int
        Number of vertices.
    u, v : numpy.ndarray of int32 or int64, shape (m,)
        Ends of each edge, from 0.
    w : numpy.ndarray of int32, int64, float32 or float64, shape (m,), or None
        Weights; None if the file has none.
    original_ids : numpy.ndarray of int64, shape (n,), or None
        If ids were compacted, the file's id of each vertex, ascending, then -1 for vertices that the file counts but no
        edge names. None if the file's ids were kept, or only shifted to start from 0.
    format : str
        A key of `mst.formats.FORMATS`.
    summary : FileSummary
    base : int
        The file's id of vertex 0, unless ids were compacted.
    """

    n: int
    u: np.ndarray
    v: np.ndarray
    w: np.ndarray | None
    original_ids: np.ndarray | None
    format: str
    summary: FileSummary
    base: int = 0

    @property
    def m(self) -> int:
        """Number of edges."""
        return len(self.u)

    @property
    def ids(self) -> Ids | None:
        """The file's id of each vertex; None if ids count from 0.

        Vertices that the file counts but no edge names have the ids -1, -2, …
        """
        if self.original_ids is None:
            return range(self.base, self.base + self.n) if self.base else None
        unnamed = self.original_ids < 0
        if not unnamed.any():
            return self.original_ids
        return np.where(unnamed, -np.cumsum(unnamed, dtype=np.int64), self.original_ids)

    def graph(self, *, name: str = "") -> Graph:
        """Return the `Graph`; edges without weights weigh 1 (int32)."""
        weights = np.ones(self.m, np.int32) if self.w is None else self.w
        return Graph(self.n, self.u, self.v, weights, name=name)

    def labelled_graph(self, *, name: str = "") -> Graph:
        """Return the graph as `mst.formats.read` does, which is a `LabelledGraph` if there are `ids`."""
        graph, ids = self.graph(name=name), self.ids
        if ids is None:
            return graph
        labels = ids if isinstance(ids, range) else ids.tolist()
        return LabelledGraph(labels, graph.u, graph.v, graph.w, name=name, trusted=True)


Blocks = Iterator[tuple[np.ndarray, np.ndarray, "np.ndarray | None"]]


class RawStream(NamedTuple):
    """The edges of a graph file, block by block.

    Attributes
    ----------
    n, m : int, optional
        Vertex count and edge count that the file declares.
    blocks : iterator of (u, v, w)
        Arrays as in `RawGraph`, which the next block overwrites; weights are None if the file has none.
    least_n : int, optional
        The least vertex count: the one that the file declares, if ids may be larger.
    base : int
        The file's id of vertex 0.
    """

    n: int | None
    m: int | None
    blocks: Blocks
    least_n: int | None = None
    base: int = 0


@dataclass(frozen=True)
class Format:
    """A file format.

    Attributes
    ----------
    id, title : str
    suffixes : tuple of str
        Usual suffixes of file names, without compression. They choose the format of a file to write; the format of a
        file to read is detected from its content.
    sniff : callable
        ``sniff(source)`` returns whether the first bytes of a file (and its name, if they are ambiguous) are in this
        format.
    read : callable
        ``read(source)`` returns a `RawGraph`.
    write : callable, optional
        ``write(sink, graph)``, where `sink` is a binary stream; ``write(sink, graph, ids)`` if it `keeps_ids`.
    stream : callable, optional
        ``stream(source)`` returns a `RawStream`, for files that do not fit into memory.
    read_detected, stream_detected : callable, optional
        Used in place of `read` and `stream` when the format was detected rather than named: the content may turn out to
        be in a similar format once it has been read.
    keeps_ids : bool
        Whether a file can give the vertices any ids, rather than numbering them.
    keeps_isolated : bool
        Whether a file keeps vertices without edges; if not, reading it renumbers the others.
    keeps_last : bool
        Whether a file keeps vertices beyond the last one with an edge.
    """

    id: str
    title: str
    suffixes: tuple[str, ...]
    sniff: Callable[[Source], bool]
    read: Callable[[Source], RawGraph]
    write: Callable[..., None] | None = None
    read_detected: Callable[[Source], RawGraph] | None = None
    stream: Callable[[Source], RawStream] | None = None
    stream_detected: Callable[[Source], RawStream] | None = None
    keeps_ids: bool = False
    keeps_isolated: bool = True
    keeps_last: bool = True

    def count_lost(self, graph: Graph) -> int:
        """Return how many vertices without edges are lost by writing a file and reading it."""
        if not self.keeps_isolated:
            return graph.n - count_used(graph.n, graph.u, graph.v)
        if not self.keeps_last:
            return graph.n - 1 - int(max(graph.u.max(initial=-1), graph.v.max(initial=-1)))
        return 0

    @property
    def writable(self) -> bool:
        """Whether graphs can be written in this format."""
        return self.write is not None


def ambiguous(source: Source, *formats: str) -> FormatError:
    """Return the error for content that is a different graph in each of several formats."""
    return FormatError(
        source.path,
        f"could be {' or '.join(formats)}: say which with format={formats[0]!r}, or --format (convert: --from)",
    )


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary file that replaces `path` on success, as `mst.atomic.replacing` does.

    Raises
    ------
    InputError
        The file cannot be written.
    """
    with writing(path), atomic.replacing(path) as temporary:
        yield temporary
