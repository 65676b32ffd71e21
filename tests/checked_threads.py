"""Solves by filter-boruvka-threads whose forest is checked."""

from __future__ import annotations

import numpy as np
from expected import by_kruskal

from mst.algorithms.threads import filter_boruvka_threads as ours
from mst.kernels.filter_boruvka.policy import THREADS


def counters_by_threads(graph, width, policy=THREADS, seed=0):
    """Return the counters of a solve with a policy, once its forest is that of Kruskal."""
    edges, options = ours.edge_list(graph, graph.w), ours.Options(policy, delay_seed=seed)
    found = ours.solve_storage(graph, edges, width, options)
    assert np.array_equal(np.sort(found.edge_ids), by_kruskal(graph)), graph.name
    return found.counters
