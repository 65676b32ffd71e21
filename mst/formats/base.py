"""What every file format shares: its description, what a reader returns, and writing whole files only."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np

from mst import atomic
from mst.errors import InputError
from mst.formats.source import Source
from mst.graph import Graph


@dataclass(frozen=True)
class Notes:
    """What a file said of itself and what reading it involved.

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
        Entries that were read as the other end of an edge already counted (``rows - mirrored`` edges remain).
    remarks : tuple of str
        Decisions that a person may want to check, such as an assumed id base.
    """

    rows: int
    declared_n: int | None = None
    declared_m: int | None = None
    direction: str = "unknown"
    mirrored: int = 0
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class RawGraph:
    """A graph file's content before anything is merged: self-loops and parallel edges are still there.

    Attributes
    ----------
    n : int
        Number of vertices.
    u, v : numpy.ndarray of int32 or int64, shape (m,)
        Ends of each edge, from 0.
    w : numpy.ndarray, shape (m,), or None
        int32, int64, float32 or float64; None where the file has no weights.
    original_ids : numpy.ndarray of int64, shape (n,), or None
        The file's id of each vertex where ids were compacted, in ascending order; -1 for vertices that the file
        counts and no edge names. None where they are the vertices themselves, shifted to 0 where the format
        counts from 1.
    format : str
        A key of `mst.formats.FORMATS`.
    notes : Notes
    """

    n: int
    u: np.ndarray
    v: np.ndarray
    w: np.ndarray | None
    original_ids: np.ndarray | None
    format: str
    notes: Notes

    @property
    def m(self) -> int:
        """Number of edges."""
        return len(self.u)

    def graph(self, *, name: str = "") -> Graph:
        """Return the `Graph`; edges without weights weigh 1 (int32)."""
        weights = np.ones(self.m, np.int32) if self.w is None else self.w
        return Graph(self.n, self.u, self.v, weights, name=name)


@dataclass(frozen=True)
class Format:
    """One file format.

    Attributes
    ----------
    id, title : str
    suffixes : tuple of str
        Usual file name endings, without those of compression. A hint, never the judge.
    sniff : callable
        ``sniff(source)`` tells from the first bytes (and, between equals, the name) whether a file is of this
        format.
    read : callable
        ``read(source)`` returns a `RawGraph`.
    write : callable, optional
        ``write(sink, graph)``, where `sink` is a binary stream.
    guess : callable, optional
        Reads in place of `read` where the format was not named and only the whole content decides.
    """

    id: str
    title: str
    suffixes: tuple[str, ...]
    sniff: Callable[[Source], bool]
    read: Callable[[Source], RawGraph]
    write: Callable[[IO[bytes], Graph], None] | None = None
    guess: Callable[[Source], RawGraph] | None = None

    @property
    def readable(self) -> bool:
        return True

    @property
    def writable(self) -> bool:
        return self.write is not None


@contextlib.contextmanager
def replacing(path: str | os.PathLike) -> Iterator[Path]:
    """Yield a temporary file as `mst.atomic.replacing` does; what cannot be written is an `InputError`."""
    try:
        with atomic.replacing(path) as temporary:
            yield temporary
    except FileNotFoundError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}; create the folder first") from error
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}") from error
