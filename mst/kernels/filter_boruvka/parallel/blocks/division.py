"""Divides the edges by block, and each block's light edges from the others, before `solving` solves the blocks.

`classify` finds the class of each edge and counts them, `new_parts` turns the counts into places, and `divide` writes
the edges there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mst.kernels.filter_boruvka.parallel.scatter import first_places
from mst.kernels.filter_boruvka.parallel.storage import CopiedEdges, EdgeList
from mst.kernels.filter_boruvka.sequential.sample import Window, level_of
from mst.kernels.parallel.keys import FLOATS, KEYS
from mst.kernels.parallel.launch import run
from mst.kernels.parallel.runtime import next_chunk, reset_queue
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.keys import LazyKeys, key_at
from mst.kernels.primitives.out_of_line import call

STRETCH = 1024
"""Edges in a stretch."""
CLASSES, HEAVY, STRETCHES = 3, 1, 2
"""The number of classes per block, and which of them hold its heavy edges and those in stretches (`Cut`)."""
LEAVING = np.uint8(255)

_HALF, _ZERO = np.uint64(32), np.uint64(0)


class Cut(NamedTuple):
    """Blocks of vertices, and the light edges of each.

    The edges of block `b` form three *classes*: ``3 b`` holds the light edges, ``3 b + 2`` the heavy edges in
    *stretches* of 1024 consecutive edges that all lie within the block, and ``3 b + 1`` the other heavy edges.

    Attributes
    ----------
    starts : numpy.ndarray of int64, shape (blocks + 1,)
        The first vertex of each block, and the number of vertices.
    shift : uint64
    cells : numpy.ndarray of uint8
        The block of vertex `x` at ``x >> shift``.
    split_keys, split_ids : numpy.ndarray of the keys' dtype and of int64, shape (blocks,)
        An edge of a block is light if its (key, id) is below the entry of the block.
    lows, highs, shifts : numpy.ndarray of the keys' dtype, shape (blocks,)
        The window of levels of each block.
    at_vertices : bool
        Whether each block begins with the lightest edge at each vertex; if so, no edge is light.
    """

    starts: np.ndarray
    shift: np.unsignedinteger
    cells: np.ndarray
    split_keys: np.ndarray
    split_ids: np.ndarray
    lows: np.ndarray
    highs: np.ndarray
    shifts: np.ndarray
    at_vertices: bool


class Edges(NamedTuple):
    """The graph's edges: uint32 ends and `LazyKeys`, all of shape (m,)."""

    u: np.ndarray
    v: np.ndarray
    keys: LazyKeys


def edges_of(storage: EdgeList | CopiedEdges) -> Edges:
    """Return the edges of an edge list that begins with edge 0, or of copied edges; vertices must have 32 bits."""
    words, kind, u, v = storage[:4]
    unsigned = words.dtype.type
    top = unsigned(0 if kind == KEYS else 1 << (words.itemsize * 8 - 1))
    keys = LazyKeys(words, top, unsigned(top - unsigned(1) if kind == FLOATS else 0))
    return Edges(u.view(np.uint32), v.view(np.uint32), keys)


class Classified(NamedTuple):
    """The class of each edge, and the number of each chunk's edges by class, which `new_parts` turns into places.

    Attributes
    ----------
    classes : numpy.ndarray of uint8, shape (m,)
        255 for an edge that leaves its block.
    common : numpy.ndarray of uint8, shape (⌈m / 1024⌉,)
        The block of each stretch, or 255.
    counts : numpy.ndarray of int64, shape (chunks, 3 * blocks)
        The number of edges of each class; an edge that leaves its block counts in the blocks of both ends.
    at_u, at_v : numpy.ndarray of int64, shape (chunks, blocks)
        The number of edges that leave each block and have their end `u` in it, and their end `v`.
    """

    classes: np.ndarray
    common: np.ndarray
    counts: np.ndarray
    at_u: np.ndarray
    at_v: np.ndarray


class Parts(NamedTuple):
    """The edges by class, and those that leave their block.

    Attributes
    ----------
    codes : numpy.ndarray of uint64, shape (k,)
        By class; an edge between two blocks appears in both. For class ``3 b + 2`` there is only space.
    starts : numpy.ndarray of int64, shape (3 * blocks + 1,)
        The place at which each class begins, and the end.
    classes, common : numpy.ndarray of uint8
        The fields of `Classified`.
    leaving : numpy.ndarray of uint32, shape (edges that leave their block,)
        The ids of these edges.
    firsts : numpy.ndarray of int64, shape (blocks,)
        The number that the first vertex of each block gets within the block: one more than the edges that leave it.
    """

    codes: np.ndarray
    starts: np.ndarray
    classes: np.ndarray
    common: np.ndarray
    leaving: np.ndarray
    firsts: np.ndarray


def new_classified(m: int, chunks: int, blocks: int, empty: Callable[..., Any]) -> Classified:
    """Return arrays for `classify` to fill; ``empty(name, likely)`` returns an allocator as in `select.new_copy`."""
    classes, common = empty("classes", m)(m, np.uint8), np.empty(-(-m // STRETCH), np.uint8)
    counts = np.zeros((chunks, CLASSES * blocks), np.int64)
    at_u, at_v = np.zeros((2, chunks, blocks), np.int64)
    return Classified(classes, common, counts, at_u, at_v)


def new_parts(classified: Classified, empty: Callable[..., Any]) -> Parts:
    """Return arrays for `divide` to fill, and turn the counts into places; `empty` as for `new_classified`."""
    classes, common, counts, at_u, at_v = classified
    starts, firsts = first_places(counts), 1 + (at_u + at_v).sum(axis=0)
    size, in_stretches = int(starts[-1]), int(np.diff(starts)[STRETCHES::CLASSES].sum())
    codes = empty("codes", size - in_stretches)(size, np.uint64)
    return Parts(codes, starts, classes, common, np.empty(first_places(at_u)[-1], np.uint32), firsts)


@njit
def classify(schedule, edges, cut, classified):
    """Write the class of each edge, and the counts of each chunk, to a `Classified` whose counts are 0.

    The grain of `schedule` is a multiple of 1024.
    """
    reset_queue(schedule.tallies, schedule.width)
    run(schedule.width, _classify_worker, schedule, edges, cut, classified)


@njit
def _classify_worker(worker, schedule, edges, cut, classified):
    """One worker of `classify`."""
    width, grain, tallies = schedule
    classes, common, _, _, _ = classified
    first, last = next_chunk(tallies, worker, width, grain, classes.size)
    while first < last:
        own = _of_chunk(classified, first // grain)
        for start in range(first, last, STRETCH):
            common[start // STRETCH] = call(_classify_some, start, min(start + STRETCH, last), edges, cut, own)
        first, last = next_chunk(tallies, worker, width, grain, classes.size)


@njit
def _of_chunk(classified, chunk):
    """Return a `Classified` with the counts of one chunk, of shapes (3 * blocks,) and (blocks,)."""
    classes, common, counts, at_u, at_v = classified
    return Classified(classes, common, counts[chunk], at_u[chunk], at_v[chunk])


@njit
def _classify_some(first, last, edges, cut, own_counts):
    """Write the classes of the edges ``first … last - 1``, and count them by class.

    Return the block, uint8, if all of them are within one block and the id of its split is not among theirs, else 255.
    `own_counts` is from `_of_chunk`.
    """
    # Unpacked once: each access to an array in a tuple changes its reference count.
    (u, v, keys), (classes, _, counts, at_u, at_v) = edges, own_counts
    cells, shift, split_keys, split_ids = cut.cells, cut.shift, cut.split_keys, cut.split_ids
    block = np.int64(cells[u[first] >> shift])
    start, size = np.uint32(cut.starts[block]), np.uint32(cut.starts[block + 1] - cut.starts[block])
    outside: np.bool = np.bool_(False)
    for e in range(np.uint64(first), np.uint64(last)):
        outside |= (np.uint32(u[e] - start) >= size) | (np.uint32(v[e] - start) >= size)
    tied = first < split_ids[block] and split_ids[block] < last
    if not (outside or tied):
        heavy, split, own = 0, split_keys[block], np.uint8(CLASSES * block)
        equal = split_ids[block] <= first
        for e in range(np.uint64(first), np.uint64(last)):
            key = key_at(keys, e)
            above = (key > split) | ((key == split) & equal)
            classes[e] = own + np.uint8(STRETCHES) * np.uint8(above)
            heavy += above
        counts[CLASSES * block] += last - first - heavy
        counts[CLASSES * block + STRETCHES] += heavy
        return np.uint8(block)
    for e in range(np.uint64(first), np.uint64(last)):
        a, b = cells[u[e] >> shift], cells[v[e] >> shift]
        key = key_at(keys, e)
        own = _class_in(a, key, e, split_keys, split_ids)
        counts[own] += 1
        classes[e] = own
        if a != b:
            classes[e] = LEAVING
            counts[_class_in(b, key, e, split_keys, split_ids)] += 1
            at_u[a] += 1
            at_v[b] += 1
    return LEAVING


@njit(inline="always")
def _class_in(block, key, e, split_keys, split_ids):
    """Return the class, int64, that edge `e` with `key` has in `block`, if it is in no stretch of that block.

    `split_keys` and `split_ids` are fields of `Cut`.
    """
    split = split_keys[block]
    above = (key > split) | ((key == split) & (np.int64(e) >= split_ids[block]))
    return CLASSES * np.int64(block) + HEAVY * above


@njit
def divide(schedule, edges, cut, classified, parts):
    """Write the edges to `Parts`, by class; `new_parts` has turned the counts of `classified` into places.

    `schedule` has the grain of `classify`.
    """
    reset_queue(schedule.tallies, schedule.width)
    run(schedule.width, _divide_worker, schedule, edges, cut, classified, parts)


@njit
def _divide_worker(worker, schedule, edges, cut, classified, parts):
    """One worker of `divide`."""
    width, grain, tallies = schedule
    light, size = np.empty(STRETCH + 1, np.uint64), edges.u.size
    first, last = next_chunk(tallies, worker, width, grain, size)
    while first < last:
        places = _of_chunk(classified, first // grain)
        for some in range(first, last, STRETCH):
            block, end = parts.common[some // STRETCH], min(some + STRETCH, last)
            if block == LEAVING:
                call(_divide_mixed, some, end, edges, cut, places, parts)
            else:
                call(_divide_stretch, some, end, edges.keys, cut, np.int64(block), places.counts, parts, light)
        first, last = next_chunk(tallies, worker, width, grain, size)


@njit
def _divide_stretch(first, last, keys, cut, block, places, parts, light):
    """Write the light edges among ``first … last - 1``, all of which are in `block`, an int64.

    `places`, the counts from `_of_chunk`, advance; `light`, uint64 (STRETCH + 1,), is scratch.
    """
    window = Window(cut.lows[block], cut.highs[block], cut.shifts[block])
    classes, codes, own, count = parts.classes, parts.codes, np.uint8(CLASSES * block), _ZERO
    for e in range(np.uint64(first), np.uint64(last)):
        light[count] = (level_of(key_at(keys, e), window) << _HALF) | e
        count += np.uint64(classes[e] == own)
    at = np.uint64(places[CLASSES * block])
    for j in range(count):
        codes[at + j] = light[j]
    places[CLASSES * block] += np.int64(count)


@njit
def _divide_mixed(first, last, edges, cut, next_places, parts):
    """Write the edges ``first … last - 1`` of a stretch in several blocks to their places in `parts`.

    `next_places` is from `_of_chunk`; the places in it advance.
    """
    (u, v, keys), codes, leaving = edges, parts.codes, parts.leaving
    classes, _, places, places_at_u, _ = next_places
    cells, shift, split_keys, split_ids = cut.cells, cut.shift, cut.split_keys, cut.split_ids
    lows, highs, shifts = cut.lows, cut.highs, cut.shifts
    for e in range(np.uint64(first), np.uint64(last)):
        own, key = np.int64(classes[e]), key_at(keys, e)
        if own != LEAVING:
            b = own // CLASSES
            codes[places[own]] = (level_of(key, Window(lows[b], highs[b], shifts[b])) << _HALF) | e
            places[own] += 1
        else:
            for end in (u[e], v[e]):
                b = cells[end >> shift]
                own = _class_in(b, key, e, split_keys, split_ids)
                codes[places[own]] = (level_of(key, Window(lows[b], highs[b], shifts[b])) << _HALF) | e
                places[own] += 1
            a = cells[u[e] >> shift]
            leaving[places_at_u[a]] = np.uint32(e)
            places_at_u[a] += 1
