"""Ring lattices and their rewiring."""

from __future__ import annotations

import numpy as np
from numba import prange

from mst.kernels.primitives.hashing import below, hash1, hash2, mix
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.pairs import packed

_EMPTY = np.uint64(0)  # packs a loop at vertex 0, which never occurs


@njit(parallel=True)
def fill_ring_lattice(pairs, n):
    """Write the edges to the next vertex of every vertex, then those to the next but one, and so on."""
    for i in prange(pairs.size):
        x, distance = i % n, i // n + 1
        pairs[i] = packed(x, (x + distance) % n)


@njit
def _slot(table, pair):
    """Where `pair` is in the table, or else the empty slot where it would go."""
    mask = np.uint64(table.size - 1)
    slot = mix(pair) & mask
    while table[slot] != _EMPTY and table[slot] != pair:
        slot = (slot + np.uint64(1)) & mask
    return slot


@njit
def _lattice_row(x, y, n, rows):
    """Row of the lattice edge ``{x, y}`` among `rows`, or -1 when it is none."""
    ahead = (y - x) % n
    row = (ahead - 1) * n + x if 2 * ahead <= n else (n - ahead - 1) * n + y
    return row if row < rows else np.int64(-1)


@njit
def rewire(pairs, n, threshold, key, table):
    """Move the second end of each lattice edge with probability ``threshold / 2**64``, in place.

    The graph stays simple throughout: `pairs` tells which lattice edges are left, `table` (zeros, in the length
    of a power of two) holds the others. A vertex that is joined to all others keeps its edge.
    """
    rows = pairs.size
    degree = np.full(n, 2 * (rows // n), np.int32)
    for i in range(rows):
        if hash2(key, i, 0) >= threshold:
            continue
        x, distance = i % n, i // n + 1
        if degree[x] >= n - 1:
            continue
        draws = hash1(key, i)
        attempt = 0
        while True:
            attempt += 1
            y = np.int64(below(hash1(draws, attempt), np.uint64(n)))
            if y == x:
                continue
            pair = packed(x, y)
            row = _lattice_row(x, y, n, rows)
            if row >= 0 and pairs[row] == pair:
                continue
            slot = _slot(table, pair)
            if table[slot] == _EMPTY:
                break
        table[slot] = pair
        pairs[i] = pair
        degree[(x + distance) % n] -= 1
        degree[y] += 1
