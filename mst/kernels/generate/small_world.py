"""Ring lattices, and random rewiring of their edges."""

from __future__ import annotations

import numpy as np
from numba import prange

from mst.kernels.primitives.hashing import below, hash1, hash2, mix
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.pairs import packed

_EMPTY = np.uint64(0)  # the packed loop at vertex 0, which never occurs


@njit(parallel=True)
def fill_ring_lattice(pairs, n):
    """Write the edges of a ring lattice: first those between vertices at distance 1, then at distance 2, and so on.

    Parameters
    ----------
    pairs : array of uint64, shape (n k / 2,)
        Output: packed pairs.
    n : int
    """
    for i in prange(pairs.size):
        x, distance = i % n, i // n + 1
        pairs[i] = packed(x, (x + distance) % n)


@njit
def _slot(table, pair):
    """Return the index of `pair`, both uint64, in the `table` of `rewire`, or of the empty slot where it belongs."""
    mask = np.uint64(table.size - 1)
    slot = mix(pair) & mask
    while table[slot] != _EMPTY and table[slot] != pair:
        slot = (slot + np.uint64(1)) & mask
    return slot


@njit
def _lattice_row(x, y, n, rows):
    """Return the row of edge ``{x, y}`` in a ring lattice of `n` vertices and `rows` edges, or -1 if it has none."""
    ahead = (y - x) % n
    row = (ahead - 1) * n + x if 2 * ahead <= n else (n - ahead - 1) * n + y
    return row if row < rows else np.int64(-1)


@njit
def rewire(pairs, n, threshold, key, table):
    """Move the second end of each lattice edge with probability ``threshold / 2**64``, in place.

    The graph remains simple: a lattice edge that was not rewired is found in `pairs` at its own row, and rewired edges
    are found in a hash table with linear probing. The edges of a vertex that is joined to all others are not rewired.

    Parameters
    ----------
    pairs : array of uint64, shape (m,)
        Packed pairs as written by `fill_ring_lattice`; modified in place.
    n : int
    threshold : uint64
        An edge is rewired if its hash is less.
    key : uint64
        Key of the random stream.
    table : array of uint64, shape (slots,)
        Zeros; `slots` is a power of two, larger than the number of rewired edges.
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
