"""Numbers of geometric buckets by many threads, for `mst.algorithms.threads.bucket_threads`."""

from __future__ import annotations

from numba import prange

from mst.kernels.parallel.runtime import next_chunk, reset_queue
from mst.kernels.primitives.buckets import bucket_numbers
from mst.kernels.primitives.jit import njit


@njit(parallel=True)
def bucket_numbers_by_threads(width, grain, weights, shift, numbers, tallies):
    """Write the bucket of each weight to `numbers`, by `width` workers, in chunks of `grain` weights.

    `weights`, `shift` and `numbers` are as for `bucket_numbers`; `tallies` is from
    `mst.kernels.parallel.runtime.new_tallies`.
    """
    reset_queue(tallies, width)
    for worker in prange(width):
        first, last = next_chunk(tallies, worker, width, grain, weights.size)
        while first < last:
            bucket_numbers(weights[first:last], shift, numbers[first:last])
            first, last = next_chunk(tallies, worker, width, grain, weights.size)
