"""A rank's part of a canonical file."""

from __future__ import annotations

from pathlib import Path

from mst.edge_slice import EdgeSlice, bounds
from mst.errors import FormatError, InputError
from mst.formats.canonical import read_metadata, read_slice
from mst.graph import Graph


def read_edge_slice(path: str | Path, rank: int, size: int) -> EdgeSlice:
    """Return the rows of a canonical file that a rank gets: mapped, and no other page is touched.

    Raises
    ------
    FormatError
        Not a canonical file, or one of the rank's rows is not an edge.
    """
    facts = read_metadata(path)
    n, m = facts["n"], facts["m"]
    start, stop = bounds(m, size)[rank : rank + 2].tolist()
    u, v, w = read_slice(path, start, stop)
    try:
        checked = Graph(n, u, v, w)
    except InputError as error:
        raise FormatError(path, f"rows from {start} on make no graph: {error}") from error
    return EdgeSlice(n, m, start, checked.u, checked.v, checked.w)
