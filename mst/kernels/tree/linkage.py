"""Single-linkage clustering from a spanning forest: clusters merge in the order of its edges."""

from __future__ import annotations

import numpy as np

from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.prefetch import prefetch_to_write

_AHEAD = np.uint64(16)


@njit
def write_linkage(merges, links, clusters, linkage):
    """Write one row per merge, in the format of `scipy.cluster.hierarchy.linkage`.

    Parameters
    ----------
    merges : numpy.ndarray of `mst.kernels.proof.reconstruction.edge_dtype`, shape (k,)
        From `mst.kernels.proof.reconstruction.link_trees`: in ``u`` the root that each edge linked, in ``v`` its
        parent, lightest first. These are roots of the two clusters, so none is searched for.
    links : numpy.ndarray of uint32 or uint64, shape (n, 2)
        The reconstruction tree, from the same.
    clusters : numpy.ndarray of the dtype of `links`, shape (n, 2)
        Scratch space: at each root, the number of its cluster, and how many vertices that has.
    linkage : numpy.ndarray of float64, shape (n - 1, 4)
        Overwritten: the numbers of both clusters, smaller first; height; vertices in the new cluster. Vertex `x` alone
        is cluster `x`, and row `i` makes cluster ``n + i``. The trees of a forest are joined by the last rows, at
        infinite height, in the order of their smallest vertices.
    """
    n, size = np.uint64(clusters.shape[0]), np.uint64(merges.size)
    for x in range(n):
        clusters[x, 0] = x
        clusters[x, 1] = 1
    for row in range(size):
        ahead = min(row + _AHEAD, size - np.uint64(1))
        prefetch_to_write(clusters, merges[ahead].u)
        prefetch_to_write(clusters, merges[ahead].v)
        _merge(merges[row].v, merges[row].u, merges[row].weight, row, clusters, linkage)
    joined, first = size, _root(links, np.uint64(0))
    for x in range(n):
        if joined + np.uint64(1) == n:
            break
        other = _root(links, x)
        if other != first and clusters[other, 1] > 0:
            _merge(first, other, np.inf, joined, clusters, linkage)
            clusters[other, 1] = 0
            joined += np.uint64(1)


@njit
def _root(links, x):
    """Return the root of vertex `x`."""
    root = x
    while links[root, 0] != root:
        root = np.uint64(links[root, 0])
    return root


@njit
def _merge(a, b, height, row, clusters, linkage):
    """Write the merge of the clusters of roots `a` and `b`, of which `a` stays one, as row `row`.

    The arrays are those of `write_linkage`.
    """
    linkage[row, 0] = min(clusters[a, 0], clusters[b, 0])
    linkage[row, 1] = max(clusters[a, 0], clusters[b, 0])
    linkage[row, 2] = height
    clusters[a, 0] = np.uint64(clusters.shape[0]) + row
    clusters[a, 1] += clusters[b, 1]
    linkage[row, 3] = clusters[a, 1]
