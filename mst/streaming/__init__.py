"""Minimum spanning forests of streams: batches of edges, of which only possible forest edges are kept.

A table of limited size holds the current forest and newer edges. Whenever it is full, a solve in memory replaces its
edges by their forest. Between two solves, the last forest filters each batch: an edge that closes a cycle with lighter
edges is in no minimum spanning forest. Memory is needed for the table and a few batches.
"""

from __future__ import annotations

from mst.streaming.files import EdgeFile, open_edges
from mst.streaming.forest import StreamForest
from mst.streaming.proof import prove_batches
from mst.streaming.solve import forest_of_batches, forest_of_file

__all__ = ["EdgeFile", "StreamForest", "forest_of_batches", "forest_of_file", "open_edges", "prove_batches"]
