"""Single-linkage clustering from a spanning forest: clusters merge in the order of its edges."""

from __future__ import annotations

import numpy as np

from mst.kernels.primitives.jit import njit
from mst.kernels.union_find.sequential import find


@njit
def write_linkage(u, v, heights, parent, clusters, linkage):
    """Write one row per merge, in the format of `scipy.cluster.hierarchy.linkage`.

    Parameters
    ----------
    u, v : numpy.ndarray of int32 or int64, shape (k,)
        Ends of the forest's edges, lightest first.
    heights : numpy.ndarray of any weight dtype, shape (k,)
        Their weights.
    parent : numpy.ndarray of int32 or int64, shape (n,)
        Scratch space for the union-find.
    clusters : numpy.ndarray of int64, shape (n, 2)
        Scratch space: at each root, the number of its cluster, and how many vertices that has.
    linkage : numpy.ndarray of float64, shape (n - 1, 4)
        Overwritten: the numbers of both clusters, smaller first; height; vertices in the new cluster. Vertex `x` alone
        is cluster `x`, and row `i` makes cluster ``n + i``. The trees of a forest are joined by the last rows, at
        infinite height, in the order of their smallest vertices.
    """
    n = parent.size
    for x in range(n):
        parent[x] = x
        clusters[x, 0] = x
        clusters[x, 1] = 1
    for row in range(u.size):
        _merge(find(parent, u[row]), find(parent, v[row]), heights[row], row, parent, clusters, linkage)
    row = u.size
    for x in range(1, n):
        if row == n - 1:
            break
        first, other = find(parent, 0), find(parent, x)
        if first != other:
            _merge(first, other, np.inf, row, parent, clusters, linkage)
            row += 1


@njit
def _merge(a, b, height, row, parent, clusters, linkage):
    """Write the merge of the clusters of roots `a` and `b` as row `row`; link the root of the smaller cluster.

    The arrays are those of `write_linkage`.
    """
    if clusters[a, 1] < clusters[b, 1]:
        a, b = b, a
    linkage[row, 0] = min(clusters[a, 0], clusters[b, 0])
    linkage[row, 1] = max(clusters[a, 0], clusters[b, 0])
    linkage[row, 2] = height
    parent[b] = a
    clusters[a, 0] = parent.size + row
    clusters[a, 1] += clusters[b, 1]
    linkage[row, 3] = clusters[a, 1]
