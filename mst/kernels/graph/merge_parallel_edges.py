"""The lightest of parallel edges."""

from __future__ import annotations

import numpy as np

from mst.kernels.primitives.jit import njit


@njit
def lightest_of_pairs(u, v, w, pairs, by_pair):
    """Return the id of the lightest edge of each pair of distinct ends, in the order of pairs.

    Parameters
    ----------
    u, v, w, pairs : numpy.ndarray, shape (m,)
        The edges; equal ``pairs`` mark parallel ones.
    by_pair : numpy.ndarray, shape (m,)
        A stable order of `pairs`: of equally light parallel edges the smallest id comes first and stays.

    Returns
    -------
    numpy.ndarray of int64, shape (k,)
    """
    ids = np.empty(by_pair.size, np.int64)
    count = 0
    for e in by_pair:
        if u[e] == v[e]:
            continue
        if count == 0 or pairs[ids[count - 1]] != pairs[e]:
            ids[count] = e
            count += 1
        elif w[e] < w[ids[count - 1]]:
            ids[count - 1] = e
    return ids[:count]
