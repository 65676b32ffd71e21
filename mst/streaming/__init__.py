"""Minimum spanning forests of streams: batches of edges of which only those are kept that may be in the forest.

A running forest and the edges that came after it fill a table of fixed size. Whenever it is full, a solve in memory
replaces both by their forest; between two solves, each batch is filtered by the forest of the last one: an edge that
closes a cycle with lighter edges belongs to no forest. Memory is that of the table and of a few batches.
"""

from __future__ import annotations

from mst.streaming.files import EdgeFile, open_edges
from mst.streaming.forest import StreamForest
from mst.streaming.proof import prove_batches
from mst.streaming.solve import forest_of_batches, forest_of_file

__all__ = [
    "EdgeFile",
    "StreamForest",
    "forest_of_batches",
    "forest_of_file",
    "open_edges",
    "prove_batches",
]
