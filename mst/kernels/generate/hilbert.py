"""The Hilbert curve: conversion between positions on the curve and points of a square."""

from __future__ import annotations

import numpy as np
from numba import prange

from mst.kernels.primitives.jit import njit


@njit
def point_at(code, order):
    """Return the coordinates of a position on the curve through ``2**order`` × ``2**order`` points.

    Parameters
    ----------
    code : uint64
        Position, from 0.
    order : int

    Returns
    -------
    x, y : int64
    """
    x = y = np.int64(0)
    for level in range(order):
        quarter = np.int64(code >> np.uint64(2 * level)) & 3
        right, upper = quarter >> 1, (quarter ^ (quarter >> 1)) & 1
        side = np.int64(1) << level
        if upper == 0:  # the lower quarters are transposed, the last one mirrored too
            if right == 1:
                x, y = side - 1 - x, side - 1 - y
            x, y = y, x
        x += right * side
        y += upper * side
    return x, y


@njit
def position_of(x, y, order):
    """Return the position of the point ``(x, y)``, both int64, on the curve, as int64; the inverse of `point_at`."""
    code = np.int64(0)
    for level in range(order - 1, -1, -1):
        side = np.int64(1) << level
        right, upper = (x >> level) & 1, (y >> level) & 1
        code = code << 2 | (right << 1 | (right ^ upper))
        x, y = x & (side - 1), y & (side - 1)
        if upper == 0:
            if right == 1:
                x, y = side - 1 - x, side - 1 - y
            x, y = y, x
    return code


@njit(parallel=True)
def points_at(codes, order):
    """Return the coordinates of many positions on the curve, as `point_at` does for one.

    Parameters
    ----------
    codes : array of uint64, shape (n,)
    order : int

    Returns
    -------
    x, y : arrays of int64, shape (n,)
    """
    x, y = np.empty(codes.size, np.int64), np.empty(codes.size, np.int64)
    for i in prange(codes.size):
        x[i], y[i] = point_at(codes[i], order)
    return x, y
