"""Arcs of adjacency lists: from rows of numbers, from offsets, and whether they come in pairs."""

from __future__ import annotations

import numpy as np

from mst.kernels.primitives.hashing import GOLDEN, mix
from mst.kernels.primitives.jit import njit

# What is wrong with a number of an adjacency row.
FINE, NO_VERTEX, TOO_MANY_ROWS, NO_WEIGHT = range(4)


@njit
def read_neighbours(numbers, ends, row, position, skip, weighted, n, u, v, w):
    """Turn rows of neighbours into arcs; a row may go on in the next call.

    Parameters
    ----------
    numbers : array of int64 or float64
    ends : array of int64, shape (lines, 2)
        As `mst.kernels.io.parse.numbers` gives them.
    row, position : int
        The row that the first number belongs to, and its place there.
    skip : int
        Numbers at the beginning of a row that are no neighbours.
    weighted : bool
        Whether a weight follows each neighbour.
    n : int
        Neighbours count from 1 to this.
    u, v : arrays of int64, at least as long as `numbers`
        Receive the arcs, from 0.
    w : array like `numbers`

    Returns
    -------
    mistake, at, row, position, arcs
        `at` is the number (or, for `NO_WEIGHT`, the end of line) that is wrong.
    """
    arcs = 0
    line = 0
    for k in range(numbers.size + 1):
        while line < len(ends) and ends[line, 0] == k:
            if weighted and position > skip and (position - skip) % 2 == 1:
                return NO_WEIGHT, k - 1, row, position, arcs
            row += 1
            position = 0
            line += 1
        if k == numbers.size:
            break
        if row >= n:
            return TOO_MANY_ROWS, k, row, position, arcs
        value = numbers[k]
        if position >= skip:
            if weighted and (position - skip) % 2 == 1:
                w[arcs] = value
                arcs += 1
            else:
                if not 1 <= value <= n or value != np.floor(value):
                    return NO_VERTEX, k, row, position, arcs
                u[arcs], v[arcs] = row, np.int64(value) - 1
                if not weighted:
                    arcs += 1
        position += 1
    return FINE, 0, row, position, arcs


@njit
def pairing_checksum(u, v, bits, negative_zero):
    """Return 0 when every arc a→b has its twin b→a of the same weight, up to an accident of 64 bits.

    Parameters
    ----------
    u, v : arrays of int, shape (m,)
    bits : array of uint32 or uint64, shape (m,) or (0,)
        The weights' bits; empty when there are none.
    negative_zero : uint64
        Bits that stand for 0 as well, or 0.

    Notes
    -----
    A sum of hashes of (smaller end, larger end, weight), plus for one direction and minus for the other: no
    sorting, no memory, any order.
    """
    total = np.uint64(0)
    for e in range(u.size):
        a, b = np.uint64(u[e]), np.uint64(v[e])
        if a != b:
            salt = np.uint64(0)
            if bits.size and np.uint64(bits[e]) != negative_zero:
                salt = mix(np.uint64(bits[e]) + GOLDEN)
            if a < b:
                total += mix(mix(a + salt) + b)
            else:
                total -= mix(mix(b + salt) + a)
    return total


@njit
def row_of_each_slot(offsets, arcs, zero):
    """Return the row of each of `arcs` entries, in the dtype of `zero`, from the start of each row."""
    out = np.empty(arcs, type(zero))
    rows = offsets.size
    for x in range(rows):
        end = offsets[x + 1] if x + 1 < rows else arcs
        for e in range(offsets[x], end):
            out[e] = x
    return out


@njit
def symmetric_rows(n, u, v, w):
    """Return ``(offsets, neighbours, weights)``: both arcs of each edge, one arc of a self-loop, by row."""
    offsets = np.zeros(n + 1, np.int64)
    for e in range(u.size):
        offsets[u[e] + 1] += 1
        if u[e] != v[e]:
            offsets[v[e] + 1] += 1
    for x in range(n):
        offsets[x + 1] += offsets[x]
    cursor = offsets[:n].copy()
    neighbours = np.empty(offsets[n], u.dtype)
    weights = np.empty(offsets[n], w.dtype)
    for e in range(u.size):
        a, b = u[e], v[e]
        at = cursor[a]
        cursor[a] = at + 1
        neighbours[at], weights[at] = b, w[e]
        if a != b:
            at = cursor[b]
            cursor[b] = at + 1
            neighbours[at], weights[at] = a, w[e]
    return offsets, neighbours, weights
