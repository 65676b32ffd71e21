"""Pseudo-random rows of a list of edges."""

from __future__ import annotations

import numpy as np

from mst.kernels.primitives.hashing import half_mix, multiplicative_hash
from mst.kernels.primitives.jit import njit


@njit
def hashed_rows(m, rows):
    """Fill `rows`, int64 of shape (k,), with pseudo-random numbers below `m`, perhaps with repetitions."""
    for i in range(len(rows)):
        rows[i] = np.int64((half_mix(multiplicative_hash(i + 1)) >> np.uint64(11)) * (2.0**-53 * m))
