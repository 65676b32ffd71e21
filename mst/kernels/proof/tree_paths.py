"""The longest path of a forest, counted in edges."""

from __future__ import annotations

import numpy as np

from mst.kernels.graph.csr import build_csr
from mst.kernels.primitives.jit import njit


def longest_path(n: int, u: np.ndarray, v: np.ndarray) -> int:
    """Return the number of edges on the longest path of a forest.

    A tree's farthest vertex from any vertex is an end of a longest path, and the vertex farthest from that
    end is its other end.

    Parameters
    ----------
    n : int
        Vertices.
    u, v : numpy.ndarray of int32 or int64, shape (k,)
        Ends of the forest's edges.

    Examples
    --------
    >>> import numpy as np
    >>> from mst.kernels.proof.tree_paths import longest_path
    >>> longest_path(6, np.array([0, 1, 1, 3]), np.array([1, 2, 3, 4]))
    3
    """
    offsets, neighbours, *_ = build_csr(n, u, v, v)
    queue, before, depth = (np.empty(n, np.int64) for _ in range(3))
    return int(_longest(offsets, neighbours, np.zeros(n, np.bool_), queue, before, depth))


@njit
def _longest(offsets, neighbours, seen, queue, before, depth):
    """Return the edges of the longest path, a count; `seen`, bool (n,), is False before, the others as in `_search`."""
    longest = 0
    for x in range(seen.size):
        if not seen[x]:
            size = _search(x, offsets, neighbours, queue, before, depth)
            for i in range(size):
                seen[queue[i]] = True
            size = _search(queue[size - 1], offsets, neighbours, queue, before, depth)
            longest = max(longest, depth[queue[size - 1]])
    return longest


@njit
def _search(start, offsets, neighbours, queue, before, depth):
    """Breadth-first search of a tree from `start`: write its vertices, parents and depths; return how many there are.

    `offsets` and `neighbours` are the forest's CSR. `queue` (the vertices, nearest first, so that the last one is a
    farthest), `before` (parents) and `depth`, all int64 of shape (n,), are overwritten.
    """
    queue[0], before[start], depth[start] = start, -1, 0
    size = 1
    done = 0
    while done < size:
        x = queue[done]
        done += 1
        for i in range(offsets[x], offsets[x + 1]):
            y = neighbours[i]
            if y != before[x]:
                queue[size], before[y], depth[y] = y, x, depth[x] + 1
                size += 1
    return size
