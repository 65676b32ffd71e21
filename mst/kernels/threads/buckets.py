"""`mst.kernels.primitives.buckets` by many threads."""

from __future__ import annotations

from numba import prange

from mst.kernels.parallel.runtime import next_chunk, reset_queue
from mst.kernels.primitives.buckets import bucket_numbers
from mst.kernels.primitives.jit import njit


@njit(parallel=True)
def number_all(width, grain, weights, shift, numbers, counters):
    """`bucket_numbers`, chunk by chunk."""
    reset_queue(counters, width)
    for worker in prange(width):
        first, last = next_chunk(counters, worker, width, grain, weights.size)
        while first < last:
            bucket_numbers(weights[first:last], shift, numbers[first:last])
            first, last = next_chunk(counters, worker, width, grain, weights.size)
