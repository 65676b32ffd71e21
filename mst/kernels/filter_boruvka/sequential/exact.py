"""Replaces the levels in codes by exact keys, so that sorting the codes sorts the edges by (key, id).

`codes` are those of `mst.kernels.filter_boruvka.sequential.select`, uint64 of shape (count,) or more; `keys` are
`LazyKeys` by edge id.
"""

from __future__ import annotations

import numpy as np

from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.keys import key_at

_HALF, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)


@njit
def key_range(codes, count, keys):
    """Return the least and the greatest key, uint64, of the first `count` ≥ 1 codes, and whether their ids ascend."""
    before, ascend = codes[0] & _LOW, True
    low = high = np.uint64(key_at(keys, before))
    for i in range(count):
        e = codes[i] & _LOW
        key = np.uint64(key_at(keys, e))
        low, high = min(low, key), max(high, key)
        before, ascend = e, ascend & (before <= e)
    return low, high, ascend


@njit
def write_exact_codes(codes, count, keys, low):
    """Replace the level in each of the first `count` codes by ``key - low``, which fits in 32 bits; `low` is uint64."""
    for i in range(count):
        e = codes[i] & _LOW
        codes[i] = ((np.uint64(key_at(keys, e)) - low) << _HALF) | e
