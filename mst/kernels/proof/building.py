"""The reconstruction tree of a forest from its edges: sorted, gathered and linked by a given number of threads."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mst.kernels.parallel.parts import Parts, by_threads
from mst.kernels.primitives.radix import Records, records, sorted_records
from mst.kernels.proof.reconstruction import edge_dtype, gather_edges, link_trees, put_in_order, ties_among

LARGE = 1 << 19
"""From this many edges on, threads pay off even if their code has to be compiled first, which takes seconds."""

MOST = 8
"""The most threads that pay off: more wait for each other and for memory."""

OUT_OF_CACHE = 1 << 22
"""From this many edges on, two threads link faster than one, which waits for memory; more do from `LARGE` on."""


class Forest(NamedTuple):
    """The edges of a forest in its graph.

    Attributes
    ----------
    u, v : numpy.ndarray of uint32 or uint64, shape (m,)
        Ends of all edges of the graph.
    ids : numpy.ndarray of int, shape (k,)
        Ids of the forest's edges, ascending.
    weights : numpy.ndarray of any weight dtype, shape (k,)
    keys : numpy.ndarray of uint32 or uint64, shape (k,)
        Keys of the weights (`mst.order.keys`).
    """

    u: np.ndarray
    v: np.ndarray
    ids: np.ndarray
    weights: np.ndarray
    keys: np.ndarray


class Reconstruction(NamedTuple):
    """The reconstruction tree, as `mst.kernels.proof.reconstruction.link_trees` describes it.

    Attributes
    ----------
    ranked, links, clusters : numpy.ndarray
    ties : int
        Edges as heavy as the one before; -1 if the sort was wrong, in which case nothing was linked.
    cycle : int
        Rank of the first edge that closes a cycle, or -1.
    """

    ranked: np.ndarray
    links: np.ndarray
    clusters: np.ndarray
    ties: int
    cycle: int


def reconstruct(n: int, forest: Forest, width: int, keep_clusters: bool) -> Reconstruction:
    """Return the reconstruction tree of a forest of `n` vertices, the same at every `width`, a number of threads.

    Examples
    --------
    >>> import numpy as np
    >>> from mst.kernels.proof.building import Forest, reconstruct
    >>> u, v, ids = np.array([0, 1], np.uint32), np.array([1, 2], np.uint32), np.arange(2)
    >>> forest = Forest(u, v, ids, np.array([6, 5], np.int32), np.array([6, 5], np.uint32))
    >>> tree = reconstruct(3, forest, 1, True)
    >>> tree.links.tolist(), tree.clusters.tolist()
    ([[2, 1], [2, 0], [4, 5]], [[2, 1, 2], [3, 0, 3]])
    """
    k = len(forest.ids)
    with by_threads(min(width, MOST) if k >= LARGE else 1) as parts:
        ranked, ties = _ranked(forest, sorted_by(forest.keys, parts), parts)
        dtype, cycle = forest.u.dtype, -1
        links = parts.empty((n, 2), dtype)
        clusters = parts.empty((k if keep_clusters else 0, 3), dtype)
        if ties < 0:
            pass
        elif parts.width > 2 or (parts.width == 2 and k >= OUT_OF_CACHE):
            from mst.kernels.proof.linking import link_trees_by

            cycle = link_trees_by(parts.width, ranked, links, clusters)
        else:
            cycle = int(link_trees(ranked, np.arange(n, dtype=dtype), links, clusters))
    return Reconstruction(ranked, links, clusters, ties, cycle)


def sorted_by(keys: np.ndarray, parts: Parts) -> Records:
    """Return records whose ids are the places of `keys`, uint32 or uint64 (k,), in stable ascending order."""
    if parts.width == 1:
        return sorted_records(*records(keys))
    from mst.kernels.parallel.radix import argsort

    places = argsort(keys, parts.width)
    return Records(np.empty(0, np.uint64), places.view(np.uint32) if places.itemsize == 4 else places)


def _ranked(forest: Forest, in_order: Records, parts: Parts) -> tuple[np.ndarray, int]:
    """Return the edges' records, lightest first, and how many are as heavy as the previous edge, or -1."""
    u, v, ids, weights, _ = forest
    words, places = in_order
    record = edge_dtype(u.dtype, len(u), weights.dtype)
    edges, ranked = parts.empty(len(ids), record), parts.empty(len(ids), record)
    # First gathered in the graph's order, then moved as whole records.
    parts(len(ids), lambda a, b: gather_edges(u, v, weights[a:b], ids[a:b], edges[a:b]))
    found = parts(len(ids), lambda a, b: (a, put_in_order(edges, words[a:b], places[a:b], ranked[a:b])))
    ties = [inside for _, inside in found] + [ties_among(ranked[a - 1 : a + 1]) for a, _ in found if a]
    return ranked, -1 if min(ties) < 0 else int(sum(ties))
