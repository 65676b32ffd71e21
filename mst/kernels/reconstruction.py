"""The Kruskal reconstruction tree: which two trees each forest edge joined, kept inside a union-find.

Edges arrive in ascending order, the smaller tree is hooked under the larger one's root, and no path is ever
compressed. Each vertex is then hooked at most once, by the edge of a known rank, and ranks ascend on every way
to a root: two vertices were joined by the last edge that a climb in the order of ranks passes. Union by size
keeps every climb below log₂ n steps. (The structure is folklore; King, *A simpler minimum spanning tree
verification algorithm*, 1997, builds the same tree from Borůvka's rounds.)

Callers bring the arrays that are accessed at random: the operating system gives numpy's allocations huge pages,
and those that numba makes itself none, which costs a third of the speed.
"""

from __future__ import annotations

import numpy as np

from mst.kernels.jit import njit


def summit_dtype(ends: np.dtype, m: int, weights: np.dtype) -> np.dtype:
    """Return the record of `find_summits`: ``root``, ``edge`` (an id below `m`) and ``weight``."""
    edge = np.int32 if m < 2**31 else np.int64
    return np.dtype([("root", ends), ("edge", edge), ("weight", weights)], align=True)


@njit
def gather_ends(u, v, ids, by_rank, by_id, ends):
    """Write both ends of each edge: `by_id` in the order of `ids`, `ends` in the order of ranks.

    All are of shape (k, 2). The detour makes one random access of two.
    """
    for i in range(ids.size):
        by_id[i, 0] = u[ids[i]]
        by_id[i, 1] = v[ids[i]]
    for rank in range(by_rank.size):
        ends[rank, 0] = by_id[by_rank[rank], 0]
        ends[rank, 1] = by_id[by_rank[rank], 1]


@njit
def join(ends, hooks, links):
    """Join the ends of forest edges, lightest first.

    Parameters
    ----------
    ends : numpy.ndarray, shape (k, 2)
        Both ends of the edge of each rank.
    hooks : numpy.ndarray of the dtype of `ends`, shape (n, 2)
        Overwritten: ``(parent, rank - n)`` for a vertex hooked by the edge of that rank, ``(x, size)`` for a
        root. Any hooked vertex's second entry is thus below any root's, and ascends on every climb.
    links : numpy.ndarray of the dtype of `ends`, shape (k, 2)
        Overwritten: the vertex that the edge of each rank hooked, and its parent.

    Returns
    -------
    int
        Rank of the first edge whose ends were already joined, or -1; what follows it was not joined.
    """
    n = hooks.shape[0]
    for x in range(n):
        hooks[x, 0] = x
        hooks[x, 1] = 1
    for rank in range(ends.shape[0]):
        a, b = ends[rank, 0], ends[rank, 1]
        while hooks[a, 1] < 0:
            a = hooks[a, 0]
        while hooks[b, 1] < 0:
            b = hooks[b, 0]
        if a == b:
            return rank
        if hooks[a, 1] > hooks[b, 1]:
            a, b = b, a
        hooks[b, 1] += hooks[a, 1]
        hooks[a, 0] = b
        hooks[a, 1] = rank - n
        links[rank, 0] = a
        links[rank, 1] = b
    return -1


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
def find_summits(hooks, links, ids, by_rank, ranked_weights, summits):
    """Find each vertex's root, and the last and so heaviest edge on its way there.

    Parents are hooked after their children, so one sweep from the last edge to the first finds all.

    Parameters
    ----------
    hooks, links : numpy.ndarray
        From `join`.
    ids, by_rank, ranked_weights : numpy.ndarray, shape (k,)
        Edge ids, their positions lightest first, and the weights of these.
    summits : numpy.ndarray of `summit_dtype`, shape (n,)
        Overwritten: the root, and id and weight of that edge. One record is one random access, which is what a
        scan of the edges pays for. A root has no such edge: id -1, and the lightest weight of all.
    """
    for x in range(hooks.shape[0]):
        if hooks[x, 1] >= 0:
            summits[x].root = x
            summits[x].edge = -1
            if ranked_weights.size:
                summits[x].weight = ranked_weights[0]
    for rank in range(links.shape[0] - 1, -1, -1):
        x, parent = links[rank, 0], links[rank, 1]
        summits[x].root = summits[parent].root
        if summits[parent].edge < 0:
            summits[x].edge = ids[by_rank[rank]]
            summits[x].weight = ranked_weights[rank]
        else:
            summits[x].edge = summits[parent].edge
            summits[x].weight = summits[parent].weight
