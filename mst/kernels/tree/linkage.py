"""Single-linkage clustering from a spanning forest: clusters merge in the order of its edges."""

from __future__ import annotations

import numpy as np

from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.prefetch import prefetch_to_write

_AHEAD = np.uint64(16)


@njit
def write_linkage(merges, clusters, linkage):
    """Write one row per merge, in the format of `scipy.cluster.hierarchy.linkage`.

    Parameters
    ----------
    merges : numpy.ndarray of `mst.kernels.proof.reconstruction.edge_dtype`, shape (k,)
        From `mst.kernels.proof.reconstruction.link_trees`: in ``u`` the root that each edge linked, in ``v`` its
        parent, lightest first. These are roots of the two clusters, so none is searched for.
    clusters : numpy.ndarray of uint32 or uint64, shape (n, 2)
        Overwritten: at each root of a tree, the number of its cluster, and how many vertices that has.
    linkage : numpy.ndarray of float64, shape (k, 4) or more
        Overwritten: the numbers of both clusters, smaller first; height; vertices in the new cluster. Vertex `x` alone
        is cluster `x`, and row `i` makes cluster ``n + i``.
    """
    n, size = np.uint64(clusters.shape[0]), np.uint64(merges.size)
    for x in range(n):
        clusters[x, 0] = x
        clusters[x, 1] = 1
    for row in range(size):
        ahead = min(row + _AHEAD, size - np.uint64(1))
        prefetch_to_write(clusters, merges[ahead].u)
        prefetch_to_write(clusters, merges[ahead].v)
        a, b = merges[row].v, merges[row].u
        linkage[row, 0] = min(clusters[a, 0], clusters[b, 0])
        linkage[row, 1] = max(clusters[a, 0], clusters[b, 0])
        linkage[row, 2] = merges[row].weight
        clusters[a, 0] = n + row
        clusters[a, 1] += clusters[b, 1]
        linkage[row, 3] = clusters[a, 1]


def join_trees(trees: np.ndarray, first: int, linkage: np.ndarray) -> None:
    """Write the last rows, which join the trees of a forest at infinite height, one after the other to the first.

    Parameters
    ----------
    trees : numpy.ndarray of int, shape (t, 2)
        The number of each tree's cluster, and how many vertices that has.
    first : int
        The cluster that the first row makes.
    linkage : numpy.ndarray of float64, shape (t - 1, 4)
        Overwritten.

    Examples
    --------
    >>> import numpy as np
    >>> from mst.kernels.tree.linkage import join_trees
    >>> linkage = np.empty((2, 4))
    >>> join_trees(np.array([[0, 1], [4, 2], [2, 1]]), 5, linkage)
    >>> linkage.tolist()
    [[0.0, 4.0, inf, 3.0], [2.0, 5.0, inf, 4.0]]
    """
    numbers, sizes = trees.T.astype(np.int64)
    joined = np.concatenate((numbers[:1], first + np.arange(len(trees) - 2)))
    linkage[:, 0] = np.minimum(joined, numbers[1:])
    linkage[:, 1] = np.maximum(joined, numbers[1:])
    linkage[:, 2] = np.inf
    linkage[:, 3] = np.cumsum(sizes)[1:]
