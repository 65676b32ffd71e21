"""A forest with a root in each tree, and the paths between pairs of its vertices, by the reconstruction tree.

The root of a tree is its root in the reconstruction tree. Paths from there enter every other cluster at one of its
vertices, its *entry*. A cluster is entered by the edge that linked it to its parent, except on the way from the entry
of the parent to the vertex that the parent is named after: there, paths follow links the other way. The entries of the
children thus follow from the entry of the parent, and clusters of the same depth are independent. No vertex needs to be
visited from its neighbours.

`links`, uint32 or uint64 of shape (n, 2), and `merges`, records of shape (k,), are from
`mst.kernels.proof.reconstruction.link_trees`. Arrays of ends, ranks and vertices have the dtype of `links`. Several
threads may call a function that takes `first` and `last`, or `ranks`, at once, for disjoint ranks.
"""

from __future__ import annotations

import numpy as np

from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.prefetch import prefetch, prefetch_to_write

_AHEAD = np.uint64(16)
_ZERO, _ONE = np.uint64(0), np.uint64(1)


@njit(nogil=True)
def gather_ends(first, last, u, v, merges, links, ends):
    """Write the ends of the edges of ranks ``first … last - 1``, the end in the linked cluster first.

    `u` and `v`, of shape (m,), are the ends of all edges of the graph, and `ends`, (k, 2), is overwritten.
    """
    last = np.uint64(last)
    for rank in range(np.uint64(first), last):
        ahead = np.uint64(merges[min(rank + _AHEAD, last - _ONE)].id)
        prefetch(u, ahead)
        prefetch(v, ahead)
        e = np.uint64(merges[rank].id)
        inside = _root_below(links, u[e], rank) == merges[rank].u
        ends[rank, 0] = u[e] if inside else v[e]
        ends[rank, 1] = v[e] if inside else u[e]


@njit(inline="always")
def _root_below(links, x, limit):
    """Return the root of `x` in the clusters made by edges of ranks below `limit`, a uint64."""
    root = np.uint64(x)
    while np.uint64(links[root, 1]) < limit:
        root = np.uint64(links[root, 0])
    return root


@njit
def find_depths(merges, depths, of_rows):
    """Write the number of links from each merge's linked vertex to its root to `of_rows`, uint32 (k,).

    `depths`, uint8 of shape (n,), 0 at first, is overwritten with each vertex's.
    """
    size = np.uint64(merges.size)
    for i in range(size):
        rank = size - _ONE - i
        ahead = rank - min(rank, _AHEAD)
        prefetch_to_write(depths, merges[ahead].u)
        prefetch(depths, merges[ahead].v)
        depth = depths[merges[rank].v] + np.uint8(1)
        depths[merges[rank].u] = of_rows[rank] = depth


@njit(nogil=True)
def root_clusters(ranks, merges, links, ends, entries, above, below):
    """Direct the edges within the clusters linked by some merges, and the edges that enter these, towards the root.

    Parameters
    ----------
    ranks : numpy.ndarray of int, shape (r,)
        The merges. Those of the clusters to which these were linked come earlier, or in a call that has returned.
    merges, links : numpy.ndarray
    ends : numpy.ndarray, shape (k, 2)
        From `gather_ends`.
    entries : numpy.ndarray, shape (n,)
        The entry of each linked vertex's cluster, n if not yet known; overwritten.
    above : numpy.ndarray, shape (n, 2)
        Filled with n, and overwritten: the parent of each vertex, and the rank of the edge to it.
    below : numpy.ndarray, shape (k,)
        Overwritten: the end of each edge that is the child of the other.
    """
    unknown, size = np.uint64(links.shape[0]), np.uint64(ranks.size)
    for i in range(size):
        ahead = ranks[min(i + _AHEAD, size - _ONE)]
        prefetch(entries, merges[ahead].u)
        prefetch_to_write(above, ends[ahead, 0])
        rank = np.uint64(ranks[i])
        cluster = np.uint64(merges[rank].u)
        x = np.uint64(entries[cluster])
        if x == unknown:
            x = np.uint64(ends[rank, 0])
            above[x, 0], above[x, 1], below[rank] = ends[rank, 1], rank, x
        # From the entry to the vertex the cluster is named after, links lead the other way.
        while x != cluster:
            part = x
            while links[part, 0] != cluster:
                part = np.uint64(links[part, 0])
            entries[part] = x
            link = np.uint64(links[part, 1])
            x = np.uint64(ends[link, 1])
            above[x, 0], above[x, 1], below[link] = ends[link, 0], link, x


@njit(nogil=True)
def collect_paths(x, y, links, above, below, lengths):
    """Return the ranks of the edges between each pair of `x` and `y`, of shape (q,), from `x` to `y`, pair by pair.

    `above` and `below` are from `root_clusters`. The number of edges on each path is written to `lengths`, int64
    (q,); it is 0 if there is none.
    """
    ranks, size = np.empty(1024, links.dtype), 0
    for i in range(x.size):
        before = size
        ranks, size = _follow(x[i], y[i], links, above, below, ranks, size)
        lengths[i] = size - before
    return ranks[:size]


@njit
def _follow(x, y, links, above, below, ranks, size):
    """Append the ranks on the path from `x` to `y` to the first `size` of `ranks`; return both, grown.

    One end of the heaviest edge on a path is below the other, and on its side the path leads straight up.
    The part leading to `y` is found from its end, and collected at the end of the array.
    """
    n, last = np.uint64(links.shape[0]), ranks.size
    x, y = np.uint64(x), np.uint64(y)
    while x != y:
        rank, linked, by_x = _joining(links, x, y)
        if rank >= n:
            break
        lower = np.uint64(below[rank])
        from_x = (_root_below(links, lower, rank) == linked) == by_x
        z, top = x if from_x else y, np.uint64(above[lower, 0])
        while z != top:
            if size == last:
                grown = np.empty(2 * ranks.size, ranks.dtype)
                grown[:size] = ranks[:size]
                grown[last + ranks.size :] = ranks[last:]
                last += ranks.size
                ranks = grown
            last -= not from_x
            ranks[size if from_x else last] = above[z, 1]
            size += from_x
            z = np.uint64(above[z, 0])
        x, y = (top, y) if from_x else (x, top)
    length = ranks.size - last
    ranks[size : size + length] = ranks[last:]
    return ranks, size + length


@njit(inline="always")
def _joining(links, x, y):
    """Return the rank that joined two vertices (n or more if none), the vertex it linked, and whether `x` led there.

    All but the last, a bool, are uint64.
    """
    n = np.uint64(links.shape[0])
    while True:
        x_rank, y_rank = np.uint64(links[x, 1]), np.uint64(links[y, 1])
        by_x = x_rank < y_rank
        linked, other, rank = (x, y, x_rank) if by_x else (y, x, y_rank)
        parent = np.uint64(links[linked, 0])
        if parent == other or rank >= n:
            return rank, linked, by_x
        x, y = (parent, other) if by_x else (other, parent)
