"""Splits the points of nodes of a k-d tree at a median of one coordinate, each node by one worker or by all of them.

A key is a coordinate whose last bits are replaced by the point's number: only keys are moved, and no two are equal.
In the functions, `coordinates` is float64 of shape (points, dimensions); `points`, int32, and `keys`, float64, are
indexed by place; and `blocks` is the number of blocks of the tree. `bits` are the keys' bits, int64, and `last` is from
`last_bits`; levels, nodes and places are int.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mst.kernels.parallel.launch import run
from mst.kernels.parallel.runtime import next_chunk, reset_queue
from mst.kernels.points.lanes import LEAF
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.out_of_line import call

# Points of a node that are sampled, and how many of them with the same coordinate count as tied.
_SAMPLE = 32
_TIES = 3
_KEYS = 1024
"""Keys of a node that are sampled to find two keys around the median."""


class Plan(NamedTuple):
    """How the nodes of a level are split by all workers.

    Attributes
    ----------
    dimensions : numpy.ndarray of int64, shape (nodes,)
        The dimension.
    limits : numpy.ndarray of float64, shape (nodes, 3)
        The number that is subtracted from that coordinate, and two keys between which the median is likely to lie.
    """

    dimensions: np.ndarray
    limits: np.ndarray


@njit
def bounds_of(node, level, blocks, origin, size):
    """Return the first place of a node of a level, the first place of its second half, and the end.

    The node is counted from 0 within its level. Places are counted from `origin`, and end at `size`.
    """
    start = ((node * blocks) >> level) * LEAF - origin
    stop = min((((node + 1) * blocks) >> level) * LEAF - origin, size)
    return start, (((2 * node + 1) * blocks) >> (level + 1)) * LEAF - origin, stop


@njit
def last_bits(points):
    """Return a mask, int64, of the last bits, as many as any number below `points` may need."""
    last = 1
    while last < points:
        last *= 2
    return last - 1


@njit
def split_level(schedule, level, blocks, coordinates, keys, spare, plan, counts):
    """Split all nodes of a level by all workers: move the points of each half to its side.

    Few points lie between two sampled keys around the median: all others are moved to their sides first.

    Parameters
    ----------
    schedule : mst.kernels.parallel.runtime.Schedule
        With grain 1.
    level, blocks : int
    coordinates : numpy.ndarray
        As for `mst.kernels.points.kd_tree.build`.
    keys : numpy.ndarray of float64, shape (n,)
        The last bits hold the points, unless the level is 0; overwritten.
    spare : numpy.ndarray of float64, shape (n,)
        Overwritten by keys whose last bits hold the points in their new order.
    plan : Plan
        How to split the nodes of this level, unless it is 0; overwritten by the plan for the next level.
    counts : numpy.ndarray of int64, shape (pieces, 3)
        Scratch space; each node has the same number of pieces.
    """
    width, tallies = schedule.width, schedule.tallies
    nodes, n = 1 << level, coordinates.shape[0]
    if level == 0:
        call(_plan, 0, 0, blocks, coordinates, keys, plan)
    reset_queue(tallies, width)
    run(width, _keys_worker, schedule, level, blocks, coordinates, keys, plan, counts)
    each = counts.shape[0] // nodes
    for node in range(nodes):
        place, _, _ = bounds_of(node, level, blocks, 0, n)
        for side in range(3):
            for piece in range(node * each, (node + 1) * each):
                counts[piece, side], place = place, place + counts[piece, side]
    reset_queue(tallies, width)
    run(width, _move_worker, schedule, level, blocks, keys, spare, plan, counts)
    reset_queue(tallies, width)
    run(width, _halves_worker, schedule, level, blocks, coordinates, spare, plan, counts)


@njit
def _key(x, point, last):
    """Return the key of a number: the float64 `x` with its bits in the mask `last` replaced by the point."""
    return np.int64(np.float64(x).view(np.int64) & ~last | point).view(np.float64)


@njit
def _plan(node, level, blocks, coordinates, keys, plan):
    """Plan how to split a node of a level, counted from 0 within it; `keys` hold the points, unless the level is 0."""
    last = last_bits(coordinates.shape[0])
    start, middle, stop = bounds_of(node, level, blocks, 0, coordinates.shape[0])
    plan.dimensions[node], plan.limits[node, 0] = 0, 0.0
    plan.limits[node, 1], plan.limits[node, 2] = -np.inf, np.inf
    if not start < middle < stop:
        return
    size = min(_KEYS, stop - start)
    step = (stop - start) // size
    points, some = np.empty(size, np.int32), np.empty(size)
    for j in range(size):
        i = start + j * step
        points[j] = i if level == 0 else np.float64(keys[i]).view(np.int64) & last
    dimension, least = call(_widest, coordinates, points, 0, size)
    for j in range(size):
        some[j] = _key(coordinates[points[j], dimension] - least, points[j], last)
    # Three standard deviations of the median's rank.
    reach = np.int64(1.5 * math.sqrt(size))
    rank = size * (middle - start) // (stop - start)
    plan.dimensions[node], plan.limits[node, 0] = dimension, least
    if reach < rank:
        plan.limits[node, 1] = call(_select, some, 0, size, rank - reach)
    if rank + reach < size:
        plan.limits[node, 2] = call(_select, some, 0, size, rank + reach)


@njit
def _keys_worker(worker, schedule, level, blocks, coordinates, keys, plan, counts):
    """One worker of the first step of `split_level`: it writes keys, and counts those on both sides of the limits."""
    width, grain, tallies = schedule
    dimensions, limits = plan
    n, bits = coordinates.shape[0], keys.view(np.int64)
    each, last = counts.shape[0] >> level, last_bits(n)
    first, end = next_chunk(tallies, worker, width, grain, counts.shape[0])
    while first < end:
        for piece in range(first, end):
            node = piece // each
            start, stop = _range_of(piece, each, level, blocks, n)
            dimension = dimensions[node]
            least, low, high = limits[node, 0], limits[node, 1], limits[node, 2]
            below, above = 0, 0
            for i in range(start, stop):
                point = i if level == 0 else bits[i] & last
                # Differences keep more significant bits than coordinates far from zero.
                key = _key(coordinates[point, dimension] - least, point, last)
                keys[i] = key
                below += key < low
                above += key >= high
            counts[piece, 0], counts[piece, 1], counts[piece, 2] = below, stop - start - below - above, above
        first, end = next_chunk(tallies, worker, width, grain, counts.shape[0])


@njit
def _range_of(piece, each, level, blocks, n):
    """Return the first place of piece number `piece`, and the end; each node of the level has `each` pieces."""
    node, part = piece // each, piece % each
    start, _, stop = bounds_of(node, level, blocks, 0, n)
    return start + (stop - start) * part // each, start + (stop - start) * (part + 1) // each


@njit
def _move_worker(worker, schedule, level, blocks, keys, spare, plan, counts):
    """One worker of the second step of `split_level`: it moves keys below, between and above the limits."""
    width, grain, tallies = schedule
    limits = plan.limits
    each = counts.shape[0] >> level
    places = np.empty(3, np.int64)
    first, end = next_chunk(tallies, worker, width, grain, counts.shape[0])
    while first < end:
        for piece in range(first, end):
            node = piece // each
            start, stop = _range_of(piece, each, level, blocks, keys.size)
            low, high = limits[node, 1], limits[node, 2]
            for side in range(3):
                places[side] = counts[piece, side]
            for i in range(start, stop):
                key = keys[i]
                # Without a branch, which would be mispredicted.
                at = np.uint64(key >= low) + np.uint64(key >= high)
                spare[places[at]] = key
                places[at] += 1
            for side in range(3):
                counts[piece, side] = places[side]
        first, end = next_chunk(tallies, worker, width, grain, counts.shape[0])


@njit
def _halves_worker(worker, schedule, level, blocks, coordinates, keys, plan, counts):
    """One worker of the last step of `split_level`: it splits the keys between the limits, and plans the halves."""
    width, grain, tallies = schedule
    each = counts.shape[0] >> level
    first, end = next_chunk(tallies, worker, width, grain, 1 << level)
    while first < end:
        for node in range(first, end):
            start, middle, stop = bounds_of(node, level, blocks, 0, keys.size)
            low, high = counts[(node + 1) * each - 1, 0], counts[(node + 1) * each - 1, 1]
            if start < middle < stop:
                if middle < low:
                    low, high = start, low
                elif middle >= high:
                    low, high = high, stop
                split = call(_select, keys, low, high, middle)
                call(_split_ties, keys[start:stop], middle - start, split, coordinates)
            for half in range(2 * node, 2 * node + 2):
                if half < plan.dimensions.size:
                    call(_plan, half, level + 1, blocks, coordinates, keys, plan)
        first, end = next_chunk(tallies, worker, width, grain, 1 << level)


@njit
def _split_ties(keys, middle, split, coordinates):
    """Split points that share the coordinate of the median key, `split`, by other coordinates, if there are many.

    `keys` are those of a node whose second half begins at `middle`.
    """
    last, bits = last_bits(coordinates.shape[0]), keys.view(np.int64)
    tied = np.float64(split).view(np.int64) & ~last
    if not call(_is_tied, bits, last, tied, 0, keys.size):
        return
    points = np.empty(keys.size, np.int32)
    for i in range(keys.size):
        points[i] = bits[i] & last
    low, high = call(_gather, bits, points, last, tied, 0, keys.size, middle)
    if low < middle:
        call(split_range, low, middle, high, coordinates, points, keys)
    for i in range(keys.size):
        bits[i] = points[i]


@njit
def split_range(low, middle, high, coordinates, points, keys):
    """Move the points of the places ``low … high - 1`` to their sides of `middle`; `keys` is scratch space."""
    last = last_bits(coordinates.shape[0])
    bits = keys.view(np.int64)
    for _ in range(coordinates.shape[1]):
        dimension, least = call(_widest, coordinates, points, low, high)
        for i in range(low, high):
            # Differences keep more significant bits than coordinates far from zero.
            keys[i] = coordinates[points[i], dimension] - least
            bits[i] = bits[i] & ~last | points[i]
        split = np.float64(call(_select, keys, low, high, middle)).view(np.int64) & ~last
        for i in range(low, high):
            points[i] = bits[i] & last
        if not call(_is_tied, bits, last, split, low, high):
            return
        # Points with the same coordinate would be split by their numbers, with both halves as wide as the whole.
        low, high = call(_gather, bits, points, last, split, low, high, middle)
        if low == middle:
            return


@njit
def _is_tied(bits, last, split, low, high):
    """Return whether several of a sample of ``bits[low:high]``, without the bits in `last`, equal `split`."""
    equal = 0
    for i in range(low, high, max((high - low) // _SAMPLE, 1)):
        equal += bits[i] & ~last == split
    return equal >= _TIES


@njit
def _gather(bits, points, last, split, low, high, middle):
    """Move the points of ``low … high - 1`` whose bits, without those in `last`, equal `split` next to `middle`.

    None moves to the other side of `middle`. Returns the first place of these points, and their end.
    """
    first = middle
    for i in range(middle - 1, low - 1, -1):
        if bits[i] & ~last == split:
            first -= 1
            points[i], points[first] = points[first], points[i]
            bits[i], bits[first] = bits[first], bits[i]
    end = middle
    for i in range(middle, high):
        if bits[i] & ~last == split:
            points[i], points[end] = points[end], points[i]
            bits[i], bits[end] = bits[end], bits[i]
            end += 1
    return first, end


@njit
def _widest(coordinates, points, start, stop):
    """Return the dimension in which a sample of the points at ``start … stop - 1`` varies most, and its minimum."""
    step = max((stop - start) // _SAMPLE, 1)
    widest, best, least = -1.0, 0, 0.0
    for k in range(coordinates.shape[1]):
        low = high = coordinates[points[start], k]
        for i in range(start + step, stop, step):
            x = coordinates[points[i], k]
            low, high = min(low, x), max(high, x)
        if high - low > widest:
            widest, best, least = high - low, k, low
    return best, least


@njit
def _select(keys, start, stop, middle):
    """Move the smallest keys of the places ``start … stop - 1`` before `middle`; return the smallest of the rest."""
    low, high = start, stop
    while high - low > 1:
        pivot = _pivot(keys, low, high)
        place = _partition(keys, low, high, pivot)
        if middle < place:
            high = place
        elif middle > place:
            low = place
        else:
            return pivot
    return keys[middle]


@njit
def _pivot(keys, low, high):
    """Return the second of three keys of the places ``low … high - 1``, or the larger of two: not the smallest."""
    a, b, c = keys[low], keys[(low + high) >> 1], keys[high - 1]
    return max(a, b) if high - low == 2 else max(min(a, b), min(max(a, b), c))


@njit
def _partition(keys, low, high, pivot):
    """Move the keys less than `pivot` to the front of ``low … high - 1``; return their end."""
    # Unsigned indices need no test of their sign.
    place = np.uint64(low)
    for i in range(np.uint64(low), np.uint64(high)):
        # Without a branch, which would be mispredicted.
        key = keys[i]
        keys[i], keys[place] = keys[place], key
        place += np.uint64(key < pivot)
    return np.int64(place)
