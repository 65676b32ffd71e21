"""Single-linkage clustering from a spanning forest: clusters merge in the order of its edges."""

from __future__ import annotations

import numpy as np

from mst.kernels.primitives.jit import njit


@njit(nogil=True)
def write_linkage(merges, clusters, linkage):
    """Write one row per merge, in the format of `scipy.cluster.hierarchy.linkage`.

    Parameters
    ----------
    merges : numpy.ndarray of `mst.kernels.proof.reconstruction.edge_dtype`, shape (k,)
    clusters : numpy.ndarray of uint32 or uint64, shape (k, 3)
        Both from `mst.kernels.proof.reconstruction.link_trees`.
    linkage : numpy.ndarray of float64, shape (k, 4)
        Overwritten: the numbers of both clusters, smaller first; height; vertices in the new cluster.
    """
    for row in range(np.uint64(merges.size)):
        linkage[row, 0] = min(clusters[row, 0], clusters[row, 1])
        linkage[row, 1] = max(clusters[row, 0], clusters[row, 1])
        linkage[row, 2] = merges[row].weight
        linkage[row, 3] = clusters[row, 2]


def join_trees(trees: np.ndarray, first: int, linkage: np.ndarray) -> None:
    """Write the last rows, which join the trees of a forest to the first, one by one, at infinite height.

    Parameters
    ----------
    trees : numpy.ndarray of int, shape (t, 2)
        The number of each tree's cluster, and its vertex count.
    first : int
        The cluster made by the first row.
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
