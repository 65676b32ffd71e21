"""A forest with a root in each tree, and the paths between pairs of its vertices."""

from __future__ import annotations

from mst.kernels.primitives.jit import njit


@njit
def root_trees(offsets, neighbours, slots, queue, before):
    """Root each tree at its smallest vertex, by breadth-first search.

    Parameters
    ----------
    offsets, neighbours, slots : numpy.ndarray of int
        The forest's CSR: neighbours, and the places of the edges to them.
    queue : numpy.ndarray of int64, shape (n,)
        Scratch space.
    before : numpy.ndarray of int64, shape (n, 3)
        Filled with -1, and overwritten: the parent of each vertex, the edge to it, -1 for both at a root, and the
        number of edges to the root.
    """
    for start in range(before.shape[0]):
        if before[start, 2] >= 0:
            continue
        queue[0], before[start, 2] = start, 0
        size, done = 1, 0
        while done < size:
            x = queue[done]
            done += 1
            for i in range(offsets[x], offsets[x + 1]):
                y = neighbours[i]
                if before[y, 2] < 0:
                    before[y, 0], before[y, 1], before[y, 2] = x, slots[i], before[x, 2] + 1
                    queue[size] = y
                    size += 1


@njit
def path_lengths(before, x, y, lengths):
    """Write the number of edges between each pair of `x` and `y`, int64 of shape (k,), to `lengths`; 0 without a path.

    `before` is that of `root_trees`.
    """
    for i in range(x.size):
        a, b = x[i], y[i]
        length = 0
        while a != b and a >= 0:
            if before[a, 2] < before[b, 2]:
                a, b = b, a
            a = before[a, 0]
            length += 1
        lengths[i] = length if a == b else 0


@njit
def write_paths(before, x, y, offsets, edges):
    """Write the edges between each pair to ``edges[offsets[i] : offsets[i + 1]]``, from ``x[i]`` to ``y[i]``.

    `before`, `x` and `y` are as for `path_lengths`, and `offsets`, int64 of shape (k + 1,), the sums of its lengths.
    """
    for i in range(x.size):
        a, b = x[i], y[i]
        first, last = offsets[i], offsets[i + 1]
        while first < last:
            if before[a, 2] >= before[b, 2]:
                edges[first] = before[a, 1]
                a = before[a, 0]
                first += 1
            else:
                last -= 1
                edges[last] = before[b, 1]
                b = before[b, 0]
