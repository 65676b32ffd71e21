"""Edges as rows of two words, so that each is read from one place when they are put in order."""

from __future__ import annotations

import numpy as np

from mst.kernels.primitives.jit import njit

_HALF = np.uint64(32)


@njit
def write_rows(edges, points, ids, rows):
    """Write the ends of edges and the bits of their weights to rows.

    Parameters
    ----------
    edges : mst.kernels.points.rounds.Edges
        Places, and squared weights.
    points : numpy.ndarray of int32, shape (places,)
        The distinct point at each place.
    ids : numpy.ndarray of int64, shape (places,)
        The point of each distinct one.
    rows : numpy.ndarray of uint64, shape (rows, 2)
        The first ones are overwritten: the smaller end, in the first 32 bits, and the larger one; the weight.
    """
    a_places, b_places, weights = edges
    bits = rows.view(np.float64)
    for e in range(weights.size):
        a, b = ids[points[a_places[e]]], ids[points[b_places[e]]]
        rows[e, 0] = np.uint64(min(a, b)) << _HALF | np.uint64(max(a, b))
        bits[e, 1] = np.sqrt(weights[e])


@njit
def read_rows(rows, order, u, v, w):
    """Write the rows of an order to `u` and `v`, int32 (rows,), and `w`, float64 (rows,)."""
    bits = rows.view(np.float64)
    for i in range(order.size):
        e = order[i]
        u[i], v[i], w[i] = rows[e, 0] >> _HALF, np.uint32(rows[e, 0]), bits[e, 1]
