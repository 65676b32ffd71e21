"""The forest that tests of other algorithms expect, by the Kruskal of the package."""

from __future__ import annotations

import mst


def by_kruskal(graph):
    """Return the ids of the forest, ascending."""
    return mst.minimum_spanning_forest(graph, algorithm="kruskal").edge_ids
