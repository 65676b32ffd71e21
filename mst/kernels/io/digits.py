"""Writes integers as text, for formats whose lines may be of any length."""

from __future__ import annotations

import numpy as np

from mst.kernels.primitives.jit import njit

MAX_BYTES = 20
"""Length of the longest int64 as text."""


@njit
def _write_integer(buffer, at, value):
    """Write the int64 `value` into the uint8 array `buffer` at index `at`; return the index after it."""
    magnitude = np.uint64(value)
    if value < 0:
        buffer[at] = 45
        at += 1
        magnitude = np.uint64(0) - magnitude
    end = at + 1
    rest = magnitude // np.uint64(10)
    while rest:
        end += 1
        rest //= np.uint64(10)
    for place in range(end - 1, at - 1, -1):
        buffer[place] = np.uint8(48 + magnitude % np.uint64(10))
        magnitude //= np.uint64(10)
    return end


@njit
def write_adjacency_lines(offsets, neighbours, weights, buffer):
    """Write a line ``neighbour weight neighbour weight …`` per row, with neighbours counted from 1.

    Parameters
    ----------
    offsets : array of int64, shape (rows + 1,)
        Row `i` consists of the entries ``offsets[i] … offsets[i + 1] - 1``.
    neighbours, weights : arrays of int32 or int64, shape (entries,)
        Neighbours count from 0.
    buffer : array of uint8, shape (size,)
        Output, of at least ``2 · (MAX_BYTES + 1)`` bytes per entry and one per row.

    Returns
    -------
    int
        Number of bytes written.
    """
    at = 0
    for row in range(offsets.size - 1):
        for e in range(offsets[row], offsets[row + 1]):
            if e > offsets[row]:
                buffer[at] = 32
                at += 1
            at = _write_integer(buffer, at, np.int64(neighbours[e]) + 1)
            buffer[at] = 32
            at = _write_integer(buffer, at + 1, np.int64(weights[e]))
        buffer[at] = 10
        at += 1
    return at
