"""The Kruskal reconstruction tree: which two trees each forest edge joined, kept inside a union-find.

Edges arrive in ascending order, the smaller tree is hooked under the larger one's root, and no path is ever
compressed. Each vertex is then hooked at most once, by the edge of a known rank, and ranks ascend on every way
to a root: two vertices were joined by the last edge that a climb in the order of ranks passes. Union by size
keeps every climb below log₂ n steps. (The structure is folklore; King, *A simpler minimum spanning tree
verification algorithm*, 1997, builds the same tree from Borůvka's rounds.)
"""

from __future__ import annotations

import numpy as np

from mst.kernels.jit import njit


@njit
def join(n, ends):
    """Join the ends of ranked forest edges, lightest first.

    Parameters
    ----------
    n : int
        Number of vertices.
    ends : numpy.ndarray, shape (k, 2)
        Both ends of each edge; row r is the edge of rank r.

    Returns
    -------
    hooks : numpy.ndarray of the dtype of `ends`, shape (n, 2)
        ``hooks[x] = (parent, rank - n)`` for a vertex hooked by the edge of that rank; ``(x, size)`` for a
        root. Any hooked vertex's second entry is thus below any root's, and ascends on every climb.
    hooked : numpy.ndarray, shape (k,)
        The vertex that the edge of each rank hooked.
    cycle : int
        Rank of the first edge whose ends were already joined, or -1; what follows it was not joined.
    """
    hooks = np.empty((n, 2), ends.dtype)
    for x in range(n):
        hooks[x, 0] = x
        hooks[x, 1] = 1
    hooked = np.empty(ends.shape[0], ends.dtype)
    for rank in range(ends.shape[0]):
        a, b = ends[rank, 0], ends[rank, 1]
        while hooks[a, 1] < 0:
            a = hooks[a, 0]
        while hooks[b, 1] < 0:
            b = hooks[b, 0]
        if a == b:
            return hooks, hooked, rank
        if hooks[a, 1] > hooks[b, 1]:
            a, b = b, a
        hooks[b, 1] += hooks[a, 1]
        hooks[a, 0] = b
        hooks[a, 1] = rank - n
        hooked[rank] = a
    return hooks, hooked, -1


@njit
def joined_by(hooks, a, b):
    """Return the rank of the edge that joined `a` and `b`: -1 if they are one vertex, n if nothing did."""
    n = hooks.shape[0]
    last = -1 - n
    while a != b:
        if hooks[a, 1] > hooks[b, 1]:
            a, b = b, a
        last = hooks[a, 1]
        if last >= 0:
            return n
        a = hooks[a, 0]
    return last + n


@njit
def roots_and_summits(hooks, hooked):
    """Return each vertex's root, and the rank of the last edge on its way there (-1 for roots).

    Parents are hooked after their children, so one sweep from the last edge to the first finds both.
    """
    n = hooks.shape[0]
    root = np.empty(n, hooks.dtype)
    summit = np.full(n, -1, hooks.dtype)
    for x in range(n):
        root[x] = x
    for rank in range(hooked.size - 1, -1, -1):
        x = hooked[rank]
        parent = hooks[x, 0]
        root[x] = root[parent]
        summit[x] = max(summit[parent], rank)
    return root, summit
