"""Complete graphs of points, weighted by the rounded distances of TSPLIB."""

from __future__ import annotations

import math

import numpy as np

from mst.kernels.primitives.jit import njit

EUC_2D, CEIL_2D, MAN_2D, MAX_2D, ATT = range(5)


@njit
def complete_graph(x, y, metric):
    """Return the edges between all pairs of points, sorted by (smaller end, larger end).

    Parameters
    ----------
    x, y : arrays of float64, shape (n,)
    metric : int
        `EUC_2D`, `CEIL_2D`, `MAN_2D`, `MAX_2D` or `ATT` (Reinelt, TSPLIB 95, section 2).

    Returns
    -------
    u, v, w : arrays of int32, shape (n (n - 1) / 2,)
        Ends, the smaller one first, and rounded distance.
    """
    n = x.size
    m = n * (n - 1) // 2
    u, v, w = np.empty(m, np.int32), np.empty(m, np.int32), np.empty(m, np.int32)
    e = 0
    for i in range(n):
        for j in range(i + 1, n):
            dx, dy = x[i] - x[j], y[i] - y[j]
            if metric == EUC_2D:
                distance = np.int64(math.sqrt(dx * dx + dy * dy) + 0.5)
            elif metric == CEIL_2D:
                distance = np.int64(math.ceil(math.sqrt(dx * dx + dy * dy)))
            elif metric == MAN_2D:
                distance = np.int64(abs(dx) + abs(dy) + 0.5)
            elif metric == MAX_2D:
                distance = max(np.int64(abs(dx) + 0.5), np.int64(abs(dy) + 0.5))
            else:
                exact = math.sqrt((dx * dx + dy * dy) / 10.0)
                rounded = np.int64(exact + 0.5)
                distance = rounded + 1 if rounded < exact else rounded
            u[e], v[e], w[e] = i, j, distance
            e += 1
    return u, v, w
