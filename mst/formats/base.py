"""Types that every file format shares: its description, the graph that a reader returns, and safe writing."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

import mst.forest  # noqa: F401 - which says how graphs are pickled
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

    Every algorithm allocates memory for each vertex, so that a number alone must not demand it. Some 17 million are
    free, beyond which a graph has at most `MAX_VERTICES_PER_ROW` vertices for each row.
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
        Vertex count and edge (or arc) count that the file states.
    direction : str
        ``"arcs"`` when the file holds directed arcs, ``"edges"`` when it lists each edge once, ``"both"``
        when it lists each edge from both ends, ``"unknown"`` when it does not say.
    mirrored : int
        Entries that repeat an edge from its other end (``rows - mirrored`` edges remain).
    remarks : tuple of str
        Assumptions that the user may want to check, such as whether ids count from 0 or 1.
    """

    rows: int
    declared_n: int | None = None
    declared_m: int | None = None
    direction: str = "unknown"
    mirrored: int = 0
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class RawGraph:
    """The content of a graph file before simplification: self-loops and parallel edges are kept.

    Attributes
    ----------
    n : int
        Number of vertices.
    u, v : numpy.ndarray of int32 or int64, shape (m,)
        Ends of each edge, from 0.
    w : numpy.ndarray, shape (m,), or None
        int32, int64, float32 or float64; None where the file has no weights.
    original_ids : numpy.ndarray of int64, shape (n,), or None
        The file's id of each vertex if ids were compacted, in ascending order; -1 for vertices that the file
        counts but no edge names. None if the file's ids were kept, or only shifted to start from 0.
    format : str
        A key of `mst.formats.FORMATS`.
    summary : FileSummary
    base : int
        The file's id of vertex 0, if ids were only shifted.
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
        """The file's id of each vertex, unless they count from 0.

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
        Vertex count and edge count that the file states.
    blocks : iterator of (u, v, w)
        Arrays as those of `RawGraph`, overwritten by the next block; weights are None if the file has none.
    least_n : int, optional
        Vertices that the file states, where the ids may be above that count: there are at least as many.
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
        Usual file name endings, without those of compression. They choose the format of a file to write; the
        format of a file to read is detected from its content.
    sniff : callable
        ``sniff(source)`` returns whether the first bytes of a file (and, where these are ambiguous, its name) are
        those of this format.
    read : callable
        ``read(source)`` returns a `RawGraph`.
    write : callable, optional
        ``write(sink, graph)``, where `sink` is a binary stream; ``write(sink, graph, ids)`` if it `keeps_ids`.
    stream : callable, optional
        ``stream(source)`` returns a `RawStream`, for files that do not fit into memory.
    read_detected, stream_detected : callable, optional
        Replace `read` and `stream` when the format was detected rather than named, for content that turns out to be of
        a similar format only after it was read.
    keeps_ids : bool
        Whether vertices may have any ids, rather than being numbered.
    keeps_isolated : bool
        Whether vertices without edges stay; without them, others are renumbered when a written file is read.
    keeps_last : bool
        Whether vertices stay that follow the last one with an edge.
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
        """Return how many vertices without edges are missing when a written file is read."""
        if not self.keeps_isolated:
            return graph.n - count_used(graph.n, graph.u, graph.v)
        if not self.keeps_last:
            return graph.n - 1 - int(max(graph.u.max(initial=-1), graph.v.max(initial=-1)))
        return 0

    @property
    def writable(self) -> bool:
        """True when graphs can be written in this format."""
        return self.write is not None


def ambiguous(source: Source, *formats: str) -> FormatError:
    """Return the error for content that several formats would read as different graphs."""
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
