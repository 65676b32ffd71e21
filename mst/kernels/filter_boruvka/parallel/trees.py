"""The trees that many workers grow: parents, roots, and the bitmap of the giant tree.

`parent` is uint32 or uint64 of shape (n,), `giant` a root, of the dtype of `parent`, `schedule` a
`mst.kernels.parallel.runtime.Schedule`, and `width`, `grain` and `tallies` are fields of a schedule.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mst.kernels.parallel.launch import run
from mst.kernels.parallel.runtime import next_chunk, reset_queue
from mst.kernels.primitives.atomics import load, store
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.out_of_line import call
from mst.kernels.union_find.concurrent import find


def new_parents(
    n: int, vertex_type: Any, width: int, tallies: np.ndarray, empty: Callable[..., np.ndarray] = np.empty
) -> np.ndarray:
    """Return the parents of `n` single-vertex trees, of the unsigned type of `vertex_type`, shape (n,).

    `empty` allocates the array, given a shape and dtype; `width` workers initialise it.
    """
    parent = empty(n, np.dtype(f"u{np.dtype(vertex_type).itemsize}"))
    make_all_singletons(width, 1 << 13, parent, tallies)
    return parent


@njit
def make_all_singletons(width, grain, parent, tallies):
    """Make every vertex a separate tree, by `width` workers."""
    reset_queue(tallies, width)
    run(width, _make_all_singletons_worker, width, grain, parent, tallies)


@njit
def _make_all_singletons_worker(worker, width, grain, parent, tallies):
    """One worker of `make_all_singletons`."""
    first, last = next_chunk(tallies, worker, width, grain, parent.size)
    while first < last:
        call(make_singletons, parent, first, last)
        first, last = next_chunk(tallies, worker, width, grain, parent.size)


@njit
def make_singletons(parent, first, last):
    """Make each of the vertices ``first … last - 1`` a separate tree."""
    for x in range(first, last):
        parent[x] = x


@njit
def flatten(schedule, parent):
    """Make every vertex point at the root of its tree."""
    reset_queue(schedule.tallies, schedule.width)
    run(schedule.width, _flatten_worker, schedule, parent)


@njit
def _flatten_worker(worker, schedule, parent):
    """One worker of `flatten`."""
    width, grain, tallies = schedule
    first, last = next_chunk(tallies, worker, width, grain, parent.size)
    while first < last:
        call(flatten_chunk, parent, first, last)
        first, last = next_chunk(tallies, worker, width, grain, parent.size)


@njit
def flatten_chunk(parent, first, last):
    """Make vertices ``first … last - 1`` point at their roots, while other workers may do so for other vertices."""
    for x in range(first, last):
        r = load(parent, load(parent, load(parent, x)))
        if load(parent, r) != r:
            r = find(parent, r)
        store(parent, x, r)


@njit
def mark_giant(schedule, parent, giant, in_giant):
    """Set bit `x` of `in_giant` if vertex `x` points at the root `giant`, else clear it.

    `in_giant` is uint64 of shape (⌈n / 64⌉,); every vertex must point at its root. A chunk of the schedule is a range
    of words.
    """
    reset_queue(schedule.tallies, schedule.width)
    run(schedule.width, _mark_giant_worker, schedule, parent, giant, in_giant)


@njit
def _mark_giant_worker(worker, schedule, parent, giant, in_giant):
    """One worker of `mark_giant`."""
    width, grain, tallies = schedule
    first, last = next_chunk(tallies, worker, width, grain, in_giant.size)
    while first < last:
        call(mark_giant_chunk, parent, giant, first, last, in_giant)
        first, last = next_chunk(tallies, worker, width, grain, in_giant.size)


@njit
def mark_giant_chunk(parent, giant, first, last, in_giant):
    """Write words ``first … last - 1`` of `in_giant`, the bitmap of the vertices that point at the root `giant`."""
    for word in range(first, last):
        bits = np.uint64(0)
        for j in range(min(64, parent.size - 64 * word)):
            bits |= np.uint64(parent[64 * word + j] == giant) << np.uint64(j)
        in_giant[word] = bits
