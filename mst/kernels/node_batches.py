"""One rank's share of `mst.kernels.parallel_batches`, where workers are ranks and arrays lie in shared memory."""

from __future__ import annotations

import numpy as np

from mst.kernels.atomics import prefetch
from mst.kernels.batch_edges import put
from mst.kernels.jit import njit
from mst.kernels.parallel_keys import key_of
from mst.kernels.parallel_select import BLOCK

_AHEAD = 32


@njit
def scatter(source, kind, places, batch, next_places, start, edges):
    """Write the edges at `places` to the next places of their batches; row `i` has the edge id ``start + i``."""
    words, u, v = source
    to = np.empty(BLOCK, np.int64)
    for block in range(0, places.size, BLOCK):
        size = min(BLOCK, places.size - block)
        # Places first: a store whose address waits for a load would hold up the loads behind it.
        for i in range(size):
            b = batch[block + i]
            to[i] = next_places[b]
            next_places[b] += 1
        for i in range(size):
            far = to[min(i + _AHEAD, size - 1)]
            prefetch(edges[0], far)
            prefetch(edges[-1], far)
            row = np.uint64(places[block + i])
            put(edges, to[i], u[row], v[row], key_of(words[row], kind), start + np.int64(row))
