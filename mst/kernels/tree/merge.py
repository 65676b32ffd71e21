"""The Kruskal reconstruction tree of a forest whose edges are ranked, lightest first, and queries of it.

`links` is as in `mst.kernels.proof.reconstruction`: ``(parent, rank)`` for a vertex that the edge of that rank linked,
``(x, n - 1 + size)`` for the root of a tree of ``size`` vertices. Ranks ascend on every path to a root, and union by
size keeps every path below log₂ n steps.
"""

from __future__ import annotations

import numpy as np

from mst.kernels.primitives.jit import njit
from mst.kernels.union_find.sequential import find


@njit
def label(links, limit, numbers, labels):
    """Label the vertices by the clusters that the edges of ranks below `limit` make; return the number of clusters.

    `numbers` and `labels` are int64 of shape (n,), the first filled with -1, and both overwritten. Clusters are
    numbered from 0 in the order of their smallest vertices.
    """
    count, limit = 0, np.uint64(limit)
    for x in range(np.uint64(labels.size)):
        root = np.uint64(x)
        while np.uint64(links[root, 1]) < limit:
            root = np.uint64(links[root, 0])
        if numbers[root] < 0:
            numbers[root] = count
            count += 1
        labels[x] = numbers[root]
    return count


@njit
def links_above(links, vertices, seen, ranks, children):
    """Collect the links on the paths from some vertices to their roots, each once; return how many there are.

    `vertices` is int64 of shape (k,) and `seen` bool of shape (n,), False before; `ranks` and `children`, int64 of
    shape (n,), are overwritten by the rank of each link and the vertex that it links.
    """
    count, n = 0, np.uint64(links.shape[0])
    for vertex in vertices:
        x = np.uint64(vertex)
        while not seen[x] and np.uint64(links[x, 1]) < n:
            seen[x] = True
            ranks[count], children[count] = links[x, 1], x
            count += 1
            x = np.uint64(links[x, 0])
    return count


@njit
def joining(u, v, parent, joins):
    """Mark each edge that joins two trees when edges are taken in order.

    `u` and `v` are int64 of shape (k,), `parent` is int64, ``0 … n - 1``, and overwritten, as is `joins`, bool of shape
    (k,).
    """
    for e in range(u.size):
        a, b = find(parent, u[e]), find(parent, v[e])
        joins[e] = a != b
        parent[max(a, b)] = min(a, b)
