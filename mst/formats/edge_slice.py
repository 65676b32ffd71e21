"""The rows of a canonical file that belong to one MPI rank."""

from __future__ import annotations

from pathlib import Path

from mst.edge_slice import EdgeSlice, bounds
from mst.errors import FormatError, InputError
from mst.formats.canonical import read_metadata, read_slice
from mst.graph import Graph


def read_edge_slice(path: str | Path, rank: int, size: int) -> EdgeSlice:
    """Return the rows of a canonical file that belong to an MPI rank; only the pages that hold them are read.

    Parameters
    ----------
    path : path-like
    rank, size : int
        Rank of this process, and number of processes.

    Returns
    -------
    EdgeSlice
        Its arrays are mapped into memory.

    Raises
    ------
    FormatError
        Not a canonical file, or one of these rows is not a valid edge.
    InputError
        The file does not exist.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from mst import Graph
    >>> from mst.formats.canonical import write_canonical
    >>> from mst.formats.edge_slice import read_edge_slice
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "path.arrow")
    ...     _ = write_canonical(file, Graph(3, [0, 1], [1, 2], [5, 6]))
    ...     read_edge_slice(file, rank=1, size=2).w.tolist()
    [6]
    """
    metadata = read_metadata(path)
    n, m = metadata["n"], metadata["m"]
    start, stop = bounds(m, size)[rank : rank + 2].tolist()
    u, v, w = read_slice(path, start, stop)
    try:
        checked = Graph(n, u, v, w)
    except InputError as error:
        raise FormatError(path, f"the rows from {start} are not valid edges: {error}") from error
    return EdgeSlice(n, m, start, checked.u, checked.v, checked.w)
