"""The passes over all edges of one core's Filter-Borůvka, by several workers: selecting, counting, scattering.

Joining is left to one of them, where few workers would wait for each other's cache lines longer than they would save.
Each worker has an equal share of the edges, so that codes and records are those of one core, in the order of the ids
unless they are few.
In the functions, `width` is the number of workers, `keys` are `LazyKeys` by edge id, and `codes`, uint64 of shape (m,),
those of `mst.kernels.filter_boruvka.sequential.select`.
"""

from __future__ import annotations

import numpy as np

from mst.kernels.filter_boruvka.sequential import scatter as one_core
from mst.kernels.filter_boruvka.sequential.sample import is_selective, level_of
from mst.kernels.filter_boruvka.sequential.select import IdRange, select_from, select_up_to
from mst.kernels.filter_boruvka.sequential.select import keep_between_trees as select_between_trees
from mst.kernels.parallel.launch import run
from mst.kernels.primitives.atomics import fetch_add
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.keys import key_at
from mst.kernels.primitives.out_of_line import call

_GRAIN, _DENSE = 1 << 13, 32
_HALF, _ZERO = np.uint64(32), np.uint64(0)


@njit
def select_all(width, keys, window, codes):
    """Write the codes of all edges; `window` is a `Window`."""
    run(width, _select_all_worker, width, keys, window, codes)


@njit
def _select_all_worker(worker, width, keys, window, codes):
    """One worker of `select_all`."""
    first, last = _share(worker, width, codes.size)
    for i in range(np.uint64(first), np.uint64(last)):
        codes[i] = (level_of(key_at(keys, i), window) << _HALF) | i


@njit(inline="always")
def _share(worker, width, size):
    """Return where the share of a worker in `size` edges begins and ends."""
    return worker * size // width, (worker + 1) * size // width


@njit
def select_light(width, keys, split, window, codes):
    """Write the codes of the light edges of a `Split`; return how many."""
    counts, few = np.zeros(width, np.int64), is_selective(split, codes.size)
    run(width, _select_light_worker, width, keys, split, window, codes, counts, few)
    return counts[0] if few else _close_gaps(codes, codes.size, counts)


@njit
def _select_light_worker(worker, width, keys, split, window, codes, counts, few):
    """One worker of `select_light`."""
    own = np.empty(_GRAIN + 1, np.uint64)
    begin, end = _share(worker, width, codes.size)
    at = begin
    for first in range(begin, end, _GRAIN):
        start, stop = np.uint64(first), np.uint64(min(first + _GRAIN, end))
        tie = min(max(np.uint64(split.tie), start), stop)
        count = call(select_up_to, keys, IdRange(start, tie, split.key), window, few, own, _ZERO)
        if split.key > 0:
            below = keys.words.dtype.type(split.key - keys.words.dtype.type(1))
            count = call(select_up_to, keys, IdRange(tie, stop, below), window, few, own, count)
        at = call(_append, own, count, codes, at, counts, few)
    if not few:
        counts[worker] = at - begin


@njit
def _append(own, count, codes, at, counts, few):
    """Write the first `count` of a worker's codes to those of all, from `at` on; return the new end.

    If they are `few`, they are appended to those of all workers, ``counts[0]`` in number, in any order: the begin of
    each share would lie in a page of its own, and clearing one takes longer than selecting.
    """
    if few:
        at = fetch_add(counts, 0, np.int64(count))
    for i in range(np.uint64(count)):
        codes[np.uint64(at) + i] = own[i]
    return at + np.int64(count)


@njit
def _close_gaps(codes, size, counts):
    """Move the codes at the begin of each worker's share in `size`, `counts` of them, together; return how many."""
    to = counts[0]
    for worker in range(1, counts.size):
        first = _share(worker, counts.size, size)[0]
        for i in range(np.uint64(counts[worker])):
            codes[np.uint64(to) + i] = codes[np.uint64(first) + i]
        to += counts[worker]
    return to


@njit
def select_heavy(width, keys, split, ends, trees, window, codes):
    """Write the codes of the heavy edges of a `Split` that may join two of the `Trees`; return how many."""
    counts, few = np.zeros(width, np.int64), codes.size > _DENSE * trees.label.size
    run(width, _select_heavy_worker, width, keys, split, ends, trees, window, codes, counts, few)
    return counts[0] if few else _close_gaps(codes, codes.size, counts)


@njit
def _select_heavy_worker(worker, width, keys, split, ends, trees, window, codes, counts, few):
    """One worker of `select_heavy`."""
    own, above = np.empty(_GRAIN + 1, np.uint64), keys.words.dtype.type(split.key + keys.words.dtype.type(1))
    begin, end = _share(worker, width, codes.size)
    at = begin
    for first in range(begin, end, _GRAIN):
        start, stop, count = np.uint64(first), np.uint64(min(first + _GRAIN, end)), _ZERO
        tie = min(max(np.uint64(split.tie), start), stop)
        if above > split.key:
            count = call(select_from, keys, IdRange(start, tie, above), ends, trees, window, own, count)
        count = call(select_from, keys, IdRange(tie, stop, split.key), ends, trees, window, own, count)
        at = call(_append, own, count, codes, at, counts, few)
    if not few:
        counts[worker] = at - begin


@njit
def keep_between_trees(width, ends, codes, size, label):
    """As of one core, by `width` workers, for `ends` that are found by edge id."""
    counts = np.empty(width, np.int64)
    run(width, _keep_between_trees_worker, width, ends, codes, size, label, counts)
    return _close_gaps(codes, size, counts)


@njit
def _keep_between_trees_worker(worker, width, ends, codes, size, label, counts):
    """One worker of `keep_between_trees`."""
    first, last = _share(worker, width, size)
    counts[worker] = call(select_between_trees, ends, codes[first:last], last - first, label)


@njit
def count_codes(width, codes, count, shift, large, counts, starts):
    """As of one core, by `width` workers; `counts`, uint32 (width, buckets), gets the place of each in each bucket."""
    run(width, _count_worker, width, codes, count, shift, counts)
    start, in_large = np.uint32(0), np.int64(0)
    for bucket in range(starts.size):
        starts[bucket] = start
        for worker in range(width):
            here = counts[worker, bucket]
            counts[worker, bucket] = start
            start = np.uint32(start + here)
        here = np.int64(start - starts[bucket])
        in_large += here if here > large else 0
    return in_large


@njit
def _count_worker(worker, width, codes, count, shift, counts):
    """One worker of `count_codes`."""
    own = counts[worker]
    own[:] = 0
    first, last = _share(worker, width, count)
    for j in range(first, last):
        own[codes[j] >> shift] += np.uint32(1)


@njit
def scatter(width, ends, codes, count, shift, counts, records):
    """As of one core, by `width` workers; `counts` are those of `count_codes`."""
    run(width, _scatter_worker, width, ends, codes, count, shift, counts, records)


@njit
def _scatter_worker(worker, width, ends, codes, count, shift, counts, records):
    """One worker of `scatter`."""
    first, last = _share(worker, width, count)
    call(one_core.scatter, ends, codes[first:last], last - first, shift, counts[worker], records)
