"""The trees between two rounds: roots, the largest tree, and a bitmap of the vertices outside it."""

from __future__ import annotations

import numpy as np

from mst.kernels.filter_boruvka.sequential.sample import stratified
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.prefetch import prefetch_to_write
from mst.kernels.union_find.sequential import find

_LINE, _AHEAD = np.uint64(16), np.uint64(1024)
_ZERO, _32 = np.uint64(0), np.uint64(32)


@njit
def flatten(parent):
    """Make every vertex point at its root; `parent`, unsigned of shape (n,), has ``parent[x] <= x`` everywhere."""
    n = np.uint64(parent.size)
    for line in range(_ZERO, n, _LINE):
        # If several threads have linked trees, other cores hold the cache lines.
        prefetch_to_write(parent, line + _AHEAD)
        for x in range(line, min(line + _LINE, n)):
            parent[x] = parent[parent[x]]


def giant_label(label: np.ndarray, size: int = 512) -> tuple[np.unsignedinteger, float]:
    """Return the most common label in a sample of `size` vertices, and its share of the sample.

    `label`, unsigned of shape (n,), is the root of each vertex's tree.
    """
    seen = np.sort(label[stratified(len(label), size)])
    at, times = longest_run(seen)
    return seen[at], times / len(seen)


@njit
def longest_run(values):
    """Return a place in the longest run of equal `values`, (k,), and the run's length, both int64."""
    first = best = most = 0
    for i in range(values.size):
        if values[i] != values[first]:
            first = i
        if i + 1 - first > most:
            best, most = i, i + 1 - first
    return best, most


@njit
def mark_outside(label, giant):
    """Return a bitmap of the vertices whose label is not `giant`: uint32 of shape (⌈n / 32⌉,).

    `label` is unsigned, of shape (n,), and `giant` has its dtype.
    """
    bits = np.empty((label.size + 31) // 32, np.uint32)
    for word in range(bits.size):
        mask, first = _ZERO, np.uint64(32 * word)
        for j in range(min(_32, np.uint64(label.size) - first)):
            mask |= np.uint64(label[first + j] != giant) << j
        bits[word] = np.uint32(mask)
    return bits


@njit
def joining_count(u, v, parent):
    """Join edges in order, and return the number of edges, int64, up to the last one that joins two trees.

    `u` and `v` are the ends, uint32 of shape (k,); `parent`, a union-find, is overwritten.
    """
    count = 0
    for i in range(u.size):
        x, y = find(parent, u[i]), find(parent, v[i])
        if x != y:
            parent[max(x, y)] = min(x, y)
            count = i + 1
    return count
