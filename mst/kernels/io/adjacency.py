"""Converts adjacency lists and compressed rows to arcs and back, and checks that arcs are symmetric."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mst.kernels.primitives.hashing import hash1, mix
from mst.kernels.primitives.jit import njit

# Errors in a number of an adjacency row.
NO_ERROR, NOT_A_VERTEX, TOO_MANY_ROWS, MISSING_WEIGHT = range(4)


class RowFormat(NamedTuple):
    """Format of the rows of an adjacency list.

    Attributes
    ----------
    n : int
        Number of vertices; neighbours count from 1.
    skip : int
        Numbers at the beginning of each row that are not neighbours.
    weighted : bool
        Whether a weight follows each neighbour.
    """

    n: int
    skip: int
    weighted: bool


class ArcArrays(NamedTuple):
    """Output arrays of `read_neighbours`, at least as long as its input, plus one for an arc without its weight.

    Attributes
    ----------
    u, v : arrays of int64, shape (capacity,)
        Vertices from 0.
    w : array of int64 or float64, shape (capacity,), or (0,) without weights
    """

    u: np.ndarray
    v: np.ndarray
    w: np.ndarray


class NeighbourStop(NamedTuple):
    """State in which `read_neighbours` stopped.

    Attributes
    ----------
    error : int
        `NO_ERROR`, `NOT_A_VERTEX`, `TOO_MANY_ROWS` or `MISSING_WEIGHT`.
    at : int
        Index of the wrong number; for `MISSING_WEIGHT`, of the last number of its row.
    row, position : int
        The row that the next number belongs to, and its position in that row.
    arcs : int
        Number of complete arcs.
    """

    error: int
    at: int
    row: int
    position: int
    arcs: int


@njit
def read_neighbours(numbers, line_ends, row, position, row_format, out):
    """Convert rows of neighbours to arcs; a row may continue in the next call.

    Parameters
    ----------
    numbers : array of int64 or float64, shape (k,)
    line_ends : array of int64, shape (lines, 2)
        As returned by `mst.kernels.io.parse.parse_numbers`.
    row, position : int
        The row that the first number belongs to, and its position in that row.
    row_format : RowFormat
    out : ArcArrays
        Filled from the beginning. If the weight of the last arc is not among `numbers`, its ends are at index ``arcs``,
        and the next call expects them at index 0.

    Returns
    -------
    tuple of int
        The fields of `NeighbourStop`, as a plain tuple: an interruption would crash numba while it builds a named one.
    """
    n, skip, weighted = row_format
    u, v, w = out
    arcs = 0
    line = 0
    for k in range(numbers.size + 1):
        while line < len(line_ends) and line_ends[line, 0] == k:
            if weighted and position > skip and (position - skip) % 2 == 1:
                return (MISSING_WEIGHT, k - 1, row, position, arcs)
            row += 1
            position = 0
            line += 1
        if k == numbers.size:
            break
        if row >= n:
            return (TOO_MANY_ROWS, k, row, position, arcs)
        value = numbers[k]
        if position >= skip:
            if weighted and (position - skip) % 2 == 1:
                w[arcs] = value
                arcs += 1
            else:
                if not 1 <= value <= n or value != np.floor(value):
                    return (NOT_A_VERTEX, k, row, position, arcs)
                u[arcs], v[arcs] = row, np.int64(value) - 1
                if not weighted:
                    arcs += 1
        position += 1
    return (NO_ERROR, 0, row, position, arcs)


@njit
def asymmetry_checksum(u, v, bits, negative_zero):
    """Return 0 if every arc a→b has a reverse arc b→a of the same weight, else a number that is almost never 0.

    The checksum is the sum of the hashes of (smaller end, larger end, weight), added for one direction and
    subtracted for the other. It needs no sorting and no memory, and the order of the arcs does not matter; arcs
    that are not symmetric have the checksum 0 with a probability of about 2⁻⁶⁴.

    Parameters
    ----------
    u, v : arrays of int32 or int64, shape (m,)
    bits : array of uint32 or uint64, shape (m,) or (0,)
        The bits of the weights; empty if there are none.
    negative_zero : uint64
        The bits of -0.0, which are treated as those of 0.0; 0 for integers.

    Returns
    -------
    uint64
        The checksum.
    """
    total = np.uint64(0)
    for e in range(u.size):
        a, b = np.uint64(u[e]), np.uint64(v[e])
        if a != b:
            salt = np.uint64(0)
            if bits.size:
                salt = hash1(np.uint64(0) if bits[e] == negative_zero else np.uint64(bits[e]), 1)
            if a < b:
                total += mix(mix(a + salt) + b)
            else:
                total -= mix(mix(b + salt) + a)
    return total


@njit
def row_of_each_slot(offsets, arcs, zero):
    """Return the row of each entry of a compressed sparse matrix.

    Parameters
    ----------
    offsets : array of int32 or int64, shape (rows,)
        The first entry of each row.
    arcs : int
        Number of entries.
    zero : int32 or int64
        Any number of the dtype to return.

    Returns
    -------
    array of the dtype of `zero`, shape (arcs,)
    """
    out = np.empty(arcs, type(zero))
    rows = offsets.size
    for x in range(rows):
        end = offsets[x + 1] if x + 1 < rows else arcs
        for e in range(offsets[x], end):
            out[e] = x
    return out


@njit
def symmetric_rows(n, u, v, w):
    """Return the compressed sparse rows of both arcs of each edge, and of one arc of each self-loop.

    Parameters
    ----------
    n : int
    u, v : arrays of int32 or int64, shape (m,)
    w : array of any weight dtype, shape (m,)

    Returns
    -------
    offsets : array of int64, shape (n + 1,)
    neighbours : array of the dtype of `u`, shape (arcs,)
    weights : array of the dtype of `w`, shape (arcs,)
    """
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
