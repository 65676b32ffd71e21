"""Joins graphs whose ids follow places: each worker solves a block of vertices of its own, by one core's method.

A *block* is a range of vertices with all edges that have an end there. For a block, all other vertices are one, the
*outside*: an edge that belongs to the forest of the block and the outside belongs to the forest of the graph, since
a lighter path between its ends would be one there, too. A tree of the block is *frozen* once it is joined to the
outside, by an edge that leaves the block: an edge between two frozen trees closes a cycle through the outside, and is
*deferred*, since its ends may not be connected by lighter edges of the whole graph. All other edges are joined by
Kruskal's rule, and workers share no memory. The edges that are deferred or leave their block are joined afterwards.

Within a block, vertices have numbers from `first` on: 0 is the outside, and a tree that is frozen gets one of the
numbers below `first` for its root. Roots are linked below smaller numbers, so that a root says whether it is frozen.

In the functions, `parent`, uint32, is a union-find over these numbers; `keys` are `LazyKeys` by edge id, `u` and `v`
uint32 of shape (m,); `forest` is a `Forest`, `cut` a `Cut`, `block` a `Block`, `size` the number of edges of the forest
so far, `held` that of deferred edges; `codes`, uint64 (k,), are those of
`mst.kernels.filter_boruvka.sequential.select`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mst.kernels.filter_boruvka.parallel.scatter import first_places
from mst.kernels.filter_boruvka.parallel.storage import CopiedEdges, EdgeList
from mst.kernels.filter_boruvka.policy import ONE_CORE
from mst.kernels.filter_boruvka.sequential import scatter
from mst.kernels.filter_boruvka.sequential.join import batch_ends, sort_by_key
from mst.kernels.filter_boruvka.sequential.sample import Window, level_of, stratified
from mst.kernels.filter_boruvka.sequential.select import move_light
from mst.kernels.filter_boruvka.sequential.trees import flatten
from mst.kernels.parallel.keys import FLOATS, KEYS
from mst.kernels.parallel.launch import run
from mst.kernels.parallel.runtime import FOREST, next_chunk, reset_queue
from mst.kernels.primitives.atomics import fetch_add
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.keys import LazyKeys, key_at
from mst.kernels.primitives.out_of_line import call
from mst.kernels.primitives.prefetch import prefetch_to_write
from mst.kernels.primitives.radix import sort_words
from mst.kernels.union_find.sequential import find, fourth_ancestor, unite

_AHEAD, _BLOCK = np.uint64(32), 1024
_HALF, _LOW, _ZERO, _ONE = np.uint64(32), np.uint64(0xFFFFFFFF), np.uint64(0), np.uint64(1)
_LEAVING, _CONFLICTS, _NONE = np.uint8(255), 1, np.uint32(0xFFFFFFFF)
_LIGHT, _UNFILTERED, _MOST_KEPT = ONE_CORE.light, ONE_CORE.max_unfiltered, ONE_CORE.max_kept_share
_CLASSES, _HEAVY, _STRETCHES = 3, 1, 2
"""Classes of a block, and which of them, from 0 on, its heavy edges and those in stretches are (`Cut`)."""


class Cut(NamedTuple):
    """Blocks of vertices, and the light edges of each.

    *Class* ``3 b`` are the light edges of block `b`, class ``3 b + 2`` its other ones in *stretches* of 1024 edges that
    are all within `b`, and class ``3 b + 1`` the rest.

    Attributes
    ----------
    starts : numpy.ndarray of int64, shape (blocks + 1,)
        The first vertex of each block, and the number of vertices.
    shift : uint64
    cells : numpy.ndarray of uint8
        The block of vertex `x` at ``x >> shift``.
    split_keys, split_ids : numpy.ndarray, shape (blocks,)
        An edge is light if its (key, id) is below the block's.
    lows, highs, shifts : numpy.ndarray of the keys' dtype, shape (blocks,)
        The window of levels of each block.
    """

    starts: np.ndarray
    shift: np.unsignedinteger
    cells: np.ndarray
    split_keys: np.ndarray
    split_ids: np.ndarray
    lows: np.ndarray
    highs: np.ndarray
    shifts: np.ndarray


class Edges(NamedTuple):
    """The graph's edges: uint32 ends and `LazyKeys`, all of shape (m,)."""

    u: np.ndarray
    v: np.ndarray
    keys: LazyKeys


def edges_of(storage: EdgeList | CopiedEdges) -> Edges:
    """Return the edges of an edge list of 32-bit vertices that begins with edge 0, or of copies of them."""
    words, kind, u, v = storage[:4]
    unsigned = words.dtype.type
    top = unsigned(0 if kind == KEYS else 1 << (words.itemsize * 8 - 1))
    keys = LazyKeys(words, top, unsigned(top - unsigned(1) if kind == FLOATS else 0))
    return Edges(u.view(np.uint32), v.view(np.uint32), keys)


class Classified(NamedTuple):
    """The class of each edge, and the edges of each chunk by class, of which `divide` takes the places instead.

    Attributes
    ----------
    classes : numpy.ndarray of uint8, shape (m,)
        255 for an edge that leaves its block.
    common : numpy.ndarray of uint8, shape (⌈m / 1024⌉,)
        The block of each stretch, or 255.
    counts : numpy.ndarray of int64, shape (chunks, 3 * blocks)
        The edges of each class; those that leave their block count at both ends.
    at_u, at_v : numpy.ndarray of int64, shape (chunks, blocks)
        Those that leave each block at `u`, and at `v`.
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
        By class; those of edges that leave their block are in both. For those of class ``3 b + 2`` there is only space.
    starts : numpy.ndarray of int64, shape (3 * blocks + 1,)
        Where each class begins, and the end.
    classes, common : numpy.ndarray of uint8
        Those of `Classified`.
    leaving : numpy.ndarray of uint32, shape (edges that leave their block,)
        Their ids.
    firsts : numpy.ndarray of int64, shape (blocks,)
        The number of the first vertex of each block within it: one more than the edges that leave the block.
    """

    codes: np.ndarray
    starts: np.ndarray
    classes: np.ndarray
    common: np.ndarray
    leaving: np.ndarray
    firsts: np.ndarray


class Solved(NamedTuple):
    """The forests of the blocks, each from its own place on.

    Attributes
    ----------
    places : numpy.ndarray of int64, shape (blocks + 1,)
        Where the numbers of each block begin, and the end.
    parent, taken : numpy.ndarray of uint32, shape (``places[-1]``,)
        The trees, and the edge ids of the forest.
    deferred : numpy.ndarray of uint32, shape (k + blocks,)
        Ids of deferred edges, from the first place of a block's class on, plus one for each block before.
    records : numpy.ndarray of uint64, shape (k, 2)
        Scratch space, from the first place of a block's class on.
    counts : numpy.ndarray of int64, shape (blocks,)
        Deferred edges of each block.
    """

    places: np.ndarray
    parent: np.ndarray
    taken: np.ndarray
    deferred: np.ndarray
    records: np.ndarray
    counts: np.ndarray


class Whole(NamedTuple):
    """The forest of the graph.

    Attributes
    ----------
    ids : numpy.ndarray of uint32, shape (m,) or (0,)
        Ids of the edges, which ascend; empty where these are their places.
    parent : numpy.ndarray of uint32, shape (n,)
        A root of each vertex's tree.
    edges : numpy.ndarray of int32 or int64, shape (n - 1,)
        Edge ids, written from the front.
    """

    ids: np.ndarray
    parent: np.ndarray
    edges: np.ndarray


class Block(NamedTuple):
    """The vertices ``start … stop - 1``, int64, and the number of the first one within the block, uint32.

    `at_once` says that all edges of the block are light, so that they are joined at once.
    """

    start: int
    stop: int
    first: np.unsignedinteger
    at_once: bool


class _Rest(NamedTuple):
    """The edges of a block that are not light.

    Attributes
    ----------
    codes : numpy.ndarray of uint64
        The first `coded` ones, and space for those in stretches, which are of class `own`.
    coded : int
    own : uint8
    window : Window
    """

    codes: np.ndarray
    coded: int
    own: np.unsignedinteger
    window: Window


class Forest(NamedTuple):
    """The forest of a block: its trees, edge ids, and those of deferred edges; kernels may write one more of both.

    Attributes
    ----------
    parent, edges, deferred : numpy.ndarray of uint32
    across : numpy.ndarray of uint32
        A union-find over the roots of frozen trees: those that deferred edges of earlier batches connect. An edge
        between two of them closes a cycle of lighter edges.
    state : numpy.ndarray of int64, shape (3,)
        The number that the next frozen tree gets; how many batches in a row closed cycles; and 1 where vertices are
        numbered upwards, -1 where downwards.
    records : numpy.ndarray of uint64, shape (k, 2)
        Scratch space.
    """

    parent: np.ndarray
    edges: np.ndarray
    deferred: np.ndarray
    across: np.ndarray
    state: np.ndarray
    records: np.ndarray


class _Batch(NamedTuple):
    """Roots of both ends, and ids, of the edges of one batch that may be taken, and those between frozen trees.

    All are uint32 of one length.
    """

    a: np.ndarray
    b: np.ndarray
    ids: np.ndarray
    frozen_a: np.ndarray
    frozen_b: np.ndarray
    frozen_ids: np.ndarray


# -- edges by block ---------------------------------------------------------------------------------------------


def new_classified(m: int, chunks: int, blocks: int, empty: Callable[..., Any]) -> Classified:
    """Return what `classify` fills; ``empty(name, likely)`` allocates as in `select.new_copy`."""
    classes, common = empty("classes", m)(m, np.uint8), np.empty(-(-m // _BLOCK), np.uint8)
    counts = np.zeros((chunks, _CLASSES * blocks), np.int64)
    at_u, at_v = np.zeros((2, chunks, blocks), np.int64)
    return Classified(classes, common, counts, at_u, at_v)


def new_parts(classified: Classified, empty: Callable[..., Any]) -> Parts:
    """Return what `divide` fills, and turn the counts into places; `empty` as for `new_classified`."""
    classes, common, counts, at_u, at_v = classified
    starts, firsts = first_places(counts), 1 + (at_u + at_v).sum(axis=0)
    size, in_stretches = int(starts[-1]), int(np.diff(starts)[_STRETCHES::_CLASSES].sum())
    codes = empty("codes", size - in_stretches)(size, np.uint64)
    return Parts(codes, starts, classes, common, np.empty(first_places(at_u)[-1], np.uint32), firsts)


def new_solved(cut: Cut, parts: Parts, empty: Callable[..., Any]) -> Solved:
    """Return what `solve` fills; `empty` as for `new_classified`."""
    places = np.concatenate(([0], np.cumsum(np.diff(cut.starts) + parts.firsts)))
    vertices, size, blocks = int(places[-1]), len(parts.codes), len(parts.firsts)
    parent, taken = (empty(name, vertices)(vertices, np.uint32) for name in ("numbers", "taken"))
    deferred, records = empty("deferred", 0)(size + blocks, np.uint32), empty("edges", 0)((size, 2), np.uint64)
    return Solved(places, parent, taken, deferred, records, np.empty(blocks, np.int64))


def edges_left(parts: Parts, solved: Solved) -> np.ndarray:
    """Return the ids, uint32, of the edges that leave their block or are deferred."""
    starts = parts.starts[:-1:_CLASSES] + np.arange(len(solved.counts))
    held = zip(starts.tolist(), solved.counts.tolist())
    return np.concatenate([parts.leaving, *(solved.deferred[first : first + count] for first, count in held)])


@njit
def classify(schedule, edges, cut, classified):
    """Write the class of each edge, and the counts of each chunk, to a `Classified` whose counts are 0.

    `schedule` is a `mst.kernels.parallel.runtime.Schedule` whose grain is a multiple of 1024, `edges` an `Edges`.
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
        for start in range(first, last, _BLOCK):
            common[start // _BLOCK] = call(_classify_some, start, min(start + _BLOCK, last), edges, cut, own)
        first, last = next_chunk(tallies, worker, width, grain, classes.size)


@njit
def _of_chunk(classified, chunk):
    """Return a `Classified` with the counts of one chunk, of shapes (3 * blocks,) and (blocks,)."""
    classes, common, counts, at_u, at_v = classified
    return Classified(classes, common, counts[chunk], at_u[chunk], at_v[chunk])


@njit
def _classify_some(first, last, edges, cut, own_counts):
    """Write the classes of the edges ``first … last - 1``, and count them; return their block, or 255."""
    # Unpacked once: taking an array from a tuple counts its references.
    (u, v, keys), (classes, _, counts, at_u, at_v) = edges, own_counts
    cells, shift, split_keys, split_ids = cut.cells, cut.shift, cut.split_keys, cut.split_ids
    block = np.int64(cells[u[first] >> shift])
    start, size = np.uint32(cut.starts[block]), np.uint32(cut.starts[block + 1] - cut.starts[block])
    outside: np.bool = np.bool_(False)
    for e in range(np.uint64(first), np.uint64(last)):
        outside |= (np.uint32(u[e] - start) >= size) | (np.uint32(v[e] - start) >= size)
    tied = first < split_ids[block] and split_ids[block] < last
    if not (outside or tied):
        heavy, split, own = 0, split_keys[block], np.uint8(_CLASSES * block)
        equal = split_ids[block] <= first
        for e in range(np.uint64(first), np.uint64(last)):
            key = key_at(keys, e)
            above = (key > split) | ((key == split) & equal)
            classes[e] = own + np.uint8(_STRETCHES) * np.uint8(above)
            heavy += above
        counts[_CLASSES * block] += last - first - heavy
        counts[_CLASSES * block + _STRETCHES] += heavy
        return np.uint8(block)
    for e in range(np.uint64(first), np.uint64(last)):
        a, b = cells[u[e] >> shift], cells[v[e] >> shift]
        key = key_at(keys, e)
        own = _class_in(a, key, e, split_keys, split_ids)
        counts[own] += 1
        classes[e] = own
        if a != b:
            classes[e] = _LEAVING
            counts[_class_in(b, key, e, split_keys, split_ids)] += 1
            at_u[a] += 1
            at_v[b] += 1
    return _LEAVING


@njit(inline="always")
def _class_in(block, key, e, split_keys, split_ids):
    """Return the class of an edge in no stretch, int64, in one of its blocks."""
    split = split_keys[block]
    above = (key > split) | ((key == split) & (np.int64(e) >= split_ids[block]))
    return _CLASSES * np.int64(block) + _HEAVY * above


@njit
def divide(schedule, edges, cut, classified, parts):
    """Write the edges to `Parts`, by class; `new_parts` has turned the counts of `classified` into places."""
    reset_queue(schedule.tallies, schedule.width)
    run(schedule.width, _divide_worker, schedule, edges, cut, classified, parts)


@njit
def _divide_worker(worker, schedule, edges, cut, classified, parts):
    """One worker of `divide`."""
    width, grain, tallies = schedule
    light, size = np.empty(_BLOCK + 1, np.uint64), edges.u.size
    first, last = next_chunk(tallies, worker, width, grain, size)
    while first < last:
        places = _of_chunk(classified, first // grain)
        for some in range(first, last, _BLOCK):
            block, end = parts.common[some // _BLOCK], min(some + _BLOCK, last)
            if block == _LEAVING:
                call(_divide_mixed, some, end, edges, cut, places, parts)
            else:
                call(_divide_stretch, some, end, edges.keys, cut, np.int64(block), places.counts, parts, light)
        first, last = next_chunk(tallies, worker, width, grain, size)


@njit
def _divide_stretch(first, last, keys, cut, block, places, parts, light):
    """Write the light ones of the edges ``first … last - 1``, all of which are in `block`; `light` is scratch."""
    window = Window(cut.lows[block], cut.highs[block], cut.shifts[block])
    classes, codes, own, count = parts.classes, parts.codes, np.uint8(_CLASSES * block), _ZERO
    for e in range(np.uint64(first), np.uint64(last)):
        light[count] = (level_of(key_at(keys, e), window) << _HALF) | e
        count += np.uint64(classes[e] == own)
    at = np.uint64(places[_CLASSES * block])
    for j in range(count):
        codes[at + j] = light[j]
    places[_CLASSES * block] += np.int64(count)


@njit
def _divide_mixed(first, last, edges, cut, next_places, parts):
    """Write the edges ``first … last - 1``."""
    (u, v, keys), codes, leaving = edges, parts.codes, parts.leaving
    classes, _, places, places_at_u, _ = next_places
    cells, shift, split_keys, split_ids = cut.cells, cut.shift, cut.split_keys, cut.split_ids
    lows, highs, shifts = cut.lows, cut.highs, cut.shifts
    for e in range(np.uint64(first), np.uint64(last)):
        own, key = np.int64(classes[e]), key_at(keys, e)
        if own != _LEAVING:
            b = own // _CLASSES
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


# -- one block --------------------------------------------------------------------------------------------------


@njit
def solve(schedule, edges, cut, parts, solved, whole):
    """Find the edges that each block takes.

    Parameters
    ----------
    schedule : Schedule
        Of one block a chunk; its ``tallies[FOREST]`` is the number of edges of the forest.
    edges : Edges
    cut : Cut
    parts : Parts
        Its codes are overwritten.
    solved : Solved
    whole : Whole
        Its parents are overwritten, and its edges written.
    """
    reset_queue(schedule.tallies, schedule.width)
    run(schedule.width, _solve_worker, schedule, edges, cut, parts, solved, whole)


@njit
def _solve_worker(worker, schedule, edges, cut, parts, solved, whole):
    """One worker of `solve`."""
    blocks, (width, grain, tallies) = solved.counts.size, schedule
    i, last = next_chunk(tallies, worker, width, grain, blocks)
    while i < last:
        light, heavy, stretches, stop = parts.starts[_CLASSES * i : _CLASSES * (i + 1) + 1]
        block = Block(cut.starts[i], cut.starts[i + 1], np.uint32(parts.firsts[i]), heavy == stop)
        at, deferred = slice(solved.places[i], solved.places[i + 1]), solved.deferred[light + i : stop + i + 1]
        across, state = np.arange(np.int64(block.first)).astype(np.uint32), np.array((1, 0, 1), np.int64)
        own = Forest(solved.parent[at], solved.taken[at], deferred, across, state, solved.records[light:stop])
        window = Window(cut.lows[i], cut.highs[i], cut.shifts[i])
        split = np.int64(level_of(cut.split_keys[i], window))
        rest = _Rest(parts.codes[heavy:stop], stretches - heavy, np.uint8(_CLASSES * i + _STRETCHES), window)
        size, held = call(_solve_block, edges, block, parts.codes[light:heavy], split, rest, parts, own)
        solved.counts[i] = held
        call(_append, own.edges, size, whole, fetch_add(tallies, FOREST, size))
        call(_write_roots, own.parent, block, state[2], own.edges, whole.parent)
        i, last = next_chunk(tallies, worker, width, grain, blocks)


@njit
def _append(edges, size, whole, place):
    """Append the first `size` of a block's edges to those of the graph, from `place` on."""
    ids, forest = whole.ids, whole.edges
    for j in range(size):
        forest[place + j] = _id_of(ids, edges[j])


@njit
def _write_roots(numbers, block, step, vertices, parent):
    """Write a root of each vertex of a block to `parent`, by vertex; `numbers` are the block's, flat.

    The first vertex of a tree stands for it where its root is that of a frozen tree, or where vertices are numbered
    downwards: roots have the smallest index. `vertices`, of the shape of `numbers`, is overwritten.
    """
    start, stop, first, _ = block
    base, by, below = _numbering(block, step), np.uint64(step), np.uint32(first if step > 0 else numbers.size)
    for x in range(np.int64(below)):
        vertices[x] = _NONE
    for x in range(np.uint64(start), np.uint64(stop)):
        root = numbers[base + by * x]
        if root < below:
            if vertices[root] == _NONE:
                vertices[root] = np.uint32(x)
            parent[x] = vertices[root]
        else:
            parent[x] = np.uint32(np.uint64(root) - base)


@njit
def _solve_block(edges, block, light, split, rest, parts, forest):
    """Find the edges that a block takes; return their number and that of deferred edges.

    `light` are the codes of its light edges, `split` their largest level, int64, and `rest` is a `_Rest`.
    """
    parent, codes, largest = forest.parent, rest.codes, np.int64(level_of(rest.window.high, rest.window))
    for x in range(parent.size):
        parent[x] = x
    size, held = call(_join, edges, block, light, split, forest, np.int64(0), np.int64(0))
    left, label = np.int64(codes.size), np.empty(parent.size if codes.size else 0, np.uint32)
    coded, first_time = np.int64(rest.coded), True
    while left > 0:
        call(_label, forest, np.int64(block.first), label)
        before, left = left, call(_keep_open, edges, block, codes, coded, label)
        if first_time:
            left = call(_add_open, edges, block, rest, parts, left, label)
            first_time = False
        wanted = max(np.int64(_LIGHT * (parent.size - size)), left // 4)
        if left <= max(_UNFILTERED, 2 * wanted) or left > _MOST_KEPT * before:
            size, held = call(_join, edges, block, codes[:left], largest, forest, size, held)
            break
        limit = call(_level_at, codes[:left], wanted)
        lighter, none = np.empty(left, np.uint64), np.empty(0, np.uint64)
        moved = call(move_light, codes, none, left, np.uint64(limit), lighter, none)
        size, held = call(_join, edges, block, lighter[:moved], limit, forest, size, held)
        left -= moved
        coded = left
    flatten(parent)
    return size, held


@njit
def _add_open(edges, block, rest, parts, count, label):
    """Add the codes of edges in stretches whose ends differ in `label` to the first `count`; return how many there are.

    They are in the order of ids before and afterwards: with few distinct weights, buckets need not be sorted then.
    """
    (u, v, keys), codes, (classes, common) = edges, rest.codes, (parts.classes, parts.common)
    if rest.coded == codes.size:
        return count
    own, window = rest.own, rest.window
    offset, found = np.uint64(block.first) - np.uint64(block.start), np.empty(_BLOCK + 1, np.uint64)
    others, taken, at = codes[:count].copy(), np.int64(0), _ZERO
    for stretch in range(common.size):
        first, last = np.uint64(stretch * _BLOCK), np.uint64(min((stretch + 1) * _BLOCK, u.size))
        if common[stretch] == _LEAVING:
            while taken < others.size and others[taken] & _LOW < last:
                codes[at] = others[taken]
                taken, at = taken + 1, at + _ONE
        if common[stretch] != own // np.uint8(_CLASSES):
            continue
        opened = _ZERO
        for e in range(first, last):
            found[opened] = e
            apart = label[np.uint64(u[e]) + offset] != label[np.uint64(v[e]) + offset]
            opened += np.uint64(apart & (classes[e] == own))
        for j in range(opened):
            codes[at] = (level_of(key_at(keys, found[j]), window) << _HALF) | found[j]
            at += _ONE
    return np.int64(at)


@njit
def _level_at(codes, wanted):
    """Return the level, int64, that about `wanted` of the codes do not exceed."""
    drawn = stratified(codes.size, 1024)
    levels, places = np.empty(drawn.size, np.uint64), np.empty(drawn.size, np.uint32)
    for i in range(drawn.size):
        levels[i], places[i] = codes[drawn[i]] >> _HALF, i
    levels, _ = _sorted(levels, places)
    return np.int64(levels[min(wanted * levels.size // codes.size, levels.size - 1)])


@njit
def _sorted(words, places):
    """Return words, uint64, ascending, and the places with them, uint32, stably; both are overwritten."""
    spare_words, spare_places = np.empty_like(words), np.empty_like(places)
    if call(sort_words, words, places, np.int64(0), np.int64(words.size), spare_words, spare_places):
        return spare_words, spare_places
    return words, places


@njit(inline="always")
def _number(x, block):
    """Return the number of vertex `x`, uint32, in a block, uint64."""
    start, stop, first, _ = block
    at = np.uint64(x) - np.uint64(start)
    return at + np.uint64(first) if at < np.uint64(stop - start) else _ZERO


@njit(inline="always")
def _numbering(block, step):
    """Return `base`, uint64, such that ``base + step * x`` is the number of vertex `x`, upwards or downwards."""
    return np.uint64(np.int64(block.first) - step * (block.start if step > 0 else block.stop - 1))


@njit
def _keep_open(edges, block, codes, count, label):
    """Of the first `count` edges, keep those whose ends differ in `label`, by number; return how many."""
    (u, v, _), kept = edges, _ZERO
    for j in range(np.uint64(count)):
        code = codes[j]
        e = code & _LOW
        codes[kept] = code
        kept += np.uint64(label[_number(u[e], block)] != label[_number(v[e], block)])
    return np.int64(kept)


@njit
def _label(forest, first, label):
    """Write the tree of each vertex to `label`, by number; frozen trees that `across` connects have one label."""
    parent, across = forest.parent, forest.across
    flatten(parent)
    flatten(across)
    for x in range(parent.size):
        root = parent[x]
        label[x] = across[root] if root < first else root


@njit
def _join(edges, block, codes, largest_level, forest, size, held):
    """Join edges that are lighter than any later one; return the new `size` and `held`. The codes are overwritten."""
    count = np.int64(codes.size)
    if count == 0:
        return size, held
    direction = call(_direction, edges.keys, codes)
    if direction != 0:
        return call(_join_rows, edges, block, codes, direction, forest, size, held)
    batch = max(np.int64(8), np.int64((forest.parent.size - size) ** (1 / 3)))
    bits = max(np.int64(0), _bit_length(largest_level) - max(np.int64(1), _bit_length(count // batch)))
    shift = np.uint64(32 + bits)
    buckets = np.zeros((largest_level >> bits) + 1, np.uint32)
    in_large = call(scatter.count_codes, codes, count, shift, 8 * batch, buckets)
    if in_large > count // 16 and bits > 0:
        finer = call(scatter.refine_buckets, codes, count, shift, buckets, np.uint64(batch))
        shift, buckets = np.uint64(32), np.zeros(finer, np.uint32)
        in_large = call(scatter.count_codes, codes, count, shift, 8 * batch, buckets)
    settled = np.zeros(buckets.size, np.bool_)
    if in_large > count // 16:
        settled = call(scatter.settled_buckets, codes, count, shift, edges.keys, buckets.size)
    records = forest.records[:count]
    call(_scatter, edges, block, codes, shift, buckets, records)
    smallest, largest = max(np.int64(4), batch // 2), 16 * batch
    if in_large:
        call(scatter.sort_large_buckets, records, buckets, largest, settled, edges.keys)
    ends, in_order = call(batch_ends, buckets, smallest, largest)
    return call(_join_batches, records, ends, in_order, edges.keys, block, forest, size, held)


@njit
def _direction(keys, codes):
    """Return 1 if edges of ascending ids ascend by (key, id), too, -1 if their keys descend, and 0 otherwise."""
    rises = falls = np.int64(0)
    before = codes[0] & _LOW
    key = key_at(keys, before)
    for j in range(1, codes.size):
        e = codes[j] & _LOW
        at = key_at(keys, e)
        rises += at >= key
        falls += at < key
        if (e < before) | ((rises > 0) & (falls > 0)):
            return np.int64(0)
        before, key = e, at
    return np.int64(1 if falls == 0 else -1)


@njit
def _join_rows(edges, block, codes, direction, forest, size, held):
    """As `_join`, of edges in the order of `_direction`: one by one, since each batch of them would close cycles."""
    (u, v, _), first, state = edges, block.first, forest.state
    parent, taken, deferred, across = forest.parent, forest.edges, forest.deferred, forest.across
    start, size_of_block = np.uint64(block.start), np.uint64(block.stop - block.start)
    if block.at_once:
        # Downwards, the tree that grows keeps its root, as upwards where edges ascend.
        state[2] = direction
    base, step = _numbering(block, state[2]), np.uint64(state[2])
    j = np.int64(0 if direction > 0 else codes.size - 1)
    for _ in range(codes.size):
        e = codes[np.uint64(j)] & _LOW
        j += direction
        # Mostly both are roots, or have the same one.
        a, b = np.uint64(u[e]), np.uint64(v[e])
        x = parent[base + step * a if a - start < size_of_block else _ZERO]
        y = parent[base + step * b if b - start < size_of_block else _ZERO]
        if x == y:
            continue
        x, y = find(parent, x), find(parent, y)
        x, y = max(x, y), min(x, y)
        if x != y and x >= first:
            if y == 0:
                parent[x] = state[0]
                state[0] += 1
            else:
                parent[x] = y
                taken[size] = np.uint32(e)
                size += 1
        elif x != y and y > 0 and unite(across, x, y):
            deferred[held] = np.uint32(e)
            held += 1
    return size, held


@njit
def _bit_length(x):
    """Return the number of bits of `x`, int64, without leading zeros."""
    bits = np.int64(0)
    while x >> bits:
        bits += 1
    return bits


@njit
def _scatter(edges, block, codes, shift, buckets, records):
    """As `mst.kernels.filter_boruvka.sequential.scatter.scatter`, with the numbers of the ends in the block."""
    u, v, _ = edges
    place = np.empty(_BLOCK, np.uint32)
    for start in range(0, codes.size, _BLOCK):
        size = min(_BLOCK, codes.size - start)
        for j in range(size):
            b = codes[start + j] >> shift
            place[j] = buckets[b]
            buckets[b] = np.uint32(place[j] + np.uint32(1))
        for j in range(size):
            prefetch_to_write(records, place[min(j + np.int64(_AHEAD), size - 1)])
            code = codes[start + j]
            e = code & _LOW
            records[place[j], 0] = _number(u[e], block) | (_number(v[e], block) << _HALF)
            records[place[j], 1] = code


@njit(inline="always")
def _may_be_taken(across, x, y):
    """Return whether an edge between two frozen trees is to be deferred: neither is the outside, and they are apart."""
    return (min(x, y) > 0) & (find(across, x) != find(across, y))


@njit
def _defer(keys, forest, batch, count, held):
    """Defer those of the first `count` edges between frozen trees of a batch that lighter ones do not connect.

    Returns the new `held`.
    """
    across, deferred = forest.across, forest.deferred
    _, _, _, a, b, ids = batch
    direction, order = call(_in_order, keys, ids, count)
    for j in range(count):
        i = _at(order, direction, j, count)
        if unite(across, a[i], b[i]):
            deferred[held] = ids[i]
            held += 1
    return held


@njit
def _in_order(keys, ids, count):
    """Return 1 if the first `count` edges of `ids` ascend by (key, id), -1 if they descend, else 0 and their order."""
    rises = falls = np.int64(0)
    if count > 1:
        before, key = ids[0], key_at(keys, ids[0])
        for i in range(1, count):
            e, at = ids[i], key_at(keys, ids[i])
            rise = (at > key) | ((at == key) & (e > before))
            rises += rise
            falls += not rise
            before, key = e, at
    order = np.empty(count if rises > 0 and falls > 0 else 0, np.uint32)
    if order.size:
        call(sort_by_key, keys, ids, order)
    return np.int64(falls == 0) - np.int64(rises == 0 and falls > 0), order


@njit(inline="always")
def _at(order, direction, j, count):
    """Return the place of the edge that is number `j` of the `count` in the order of `_in_order`."""
    if direction == 0:
        return np.int64(order[j])
    return j if direction > 0 else count - 1 - j


@njit
def _join_batches(records, ends, in_order, keys, block, forest, size, held):
    """Join the records in the batches of `batch_ends`; return the new `size` and `held`."""
    # Unpacked once: taking an array from a tuple counts its references.
    parent, edges, _, across, state, _ = forest
    longest = start = np.int64(0)
    for stop in ends:
        longest, start = max(longest, stop - start), stop
    root_a, root_b = np.empty(longest, np.uint32), np.empty(longest, np.uint32)
    a, b, ids = np.empty_like(root_a), np.empty_like(root_a), np.empty_like(root_a)
    arrays = _Batch(a, b, ids, np.empty_like(a), np.empty_like(a), np.empty_like(a))
    # Unsigned: a signed index might count from the end of an array. Two words are a record.
    words, at, first = records.reshape(-1), _ZERO, block.first
    last = np.uint64(words.size - 2)
    for end in range(ends.size):
        count = np.uint64(ends[end]) - (at >> _ONE)
        for i in range(count):
            far = words[min(at + ((i + _AHEAD) << _ONE), last)]
            prefetch_to_write(parent, far & _LOW)
            prefetch_to_write(parent, far >> _HALF)
            pair = words[at + (i << _ONE)]
            root_a[i] = fourth_ancestor(parent, pair & _LOW)
            root_b[i] = fourth_ancestor(parent, pair >> _HALF)
        kept = apart = _ZERO
        for i in range(count):
            x, y = root_a[i], root_b[i]
            if (parent[x] != x) | (parent[y] != y):
                x, y = find(parent, x), find(parent, y)
                root_a[i], root_b[i] = x, y
            a[kept], b[kept], ids[kept] = x, y, np.uint32(words[at + (i << _ONE) | _ONE])
            apart += np.uint64(x != y)
            kept += np.uint64((x != y) & (max(x, y) >= first))
        frozen = np.int64(0)
        if kept < apart:
            # A branch for the few edges between frozen trees would be mispredicted for others.
            for i in range(count):
                x, y = root_a[i], root_b[i]
                if (x != y) & (max(x, y) < first):
                    e = np.uint32(words[at + (i << _ONE) | _ONE])
                    frozen = call(_add_between_frozen, across, x, y, e, arrays, frozen)
        at += count << _ONE
        if in_order[end]:
            for i in range(kept):
                x, y = find(parent, a[i]), find(parent, b[i])
                x, y = max(x, y), min(x, y)
                if (x != y) & (x >= first):
                    if y > 0:
                        parent[x] = y
                        edges[np.uint64(size)] = ids[i]
                        size += 1
                    else:
                        parent[x] = state[0]
                        state[0] += 1
                elif x != y:
                    frozen = call(_add_between_frozen, across, x, y, ids[i], arrays, frozen)
        else:
            before, root, closed = size, state[0], state[1] > _CONFLICTS
            if not closed:
                for i in range(kept):
                    x, y = find(parent, a[i]), find(parent, b[i])
                    x, y = max(x, y), min(x, y)
                    if (x == y) | (x < first):
                        for j in range(i):
                            parent[a[j]], parent[b[j]] = a[j], b[j]
                        closed = True
                        break
                    if y > 0:
                        parent[x] = y
                        edges[np.uint64(size)] = ids[i]
                        size += 1
                    else:
                        parent[x] = root
                        root += 1
            if closed:
                size, frozen = call(_join_in_order, keys, block, forest, before, arrays, np.int64(kept), frozen)
            else:
                state[0], state[1] = root, 0
        if frozen:
            held = call(_defer, keys, forest, arrays, frozen, held)
    return size, held


@njit
def _add_between_frozen(across, x, y, e, batch, count):
    """Append edge `e` between the frozen trees `x` and `y` to the first `count` if it may be taken; return how many."""
    batch.frozen_a[count], batch.frozen_b[count], batch.frozen_ids[count] = x, y, e
    return count + np.int64(_may_be_taken(across, x, y))


@njit
def _join_in_order(keys, block, forest, size, batch, count, frozen):
    """Join the first `count` edges of a batch by (key, id), one by one; return the new `size` and `frozen`.

    Edges between frozen trees are appended to the first `frozen` of the batch.
    """
    parent, edges, _, across, state, _ = forest
    first = block.first
    a, b, ids, frozen_a, frozen_b, frozen_ids = batch
    linked = np.int64(0)
    direction, order = call(_in_order, keys, ids, count)
    for j in range(count):
        i = _at(order, direction, j, count)
        x, y = find(parent, a[i]), find(parent, b[i])
        x, y = max(x, y), min(x, y)
        if x != y and x >= first:
            linked += 1
            if y == 0:
                parent[x] = state[0]
                state[0] += 1
            else:
                parent[x] = y
                edges[size] = ids[i]
                size += 1
        elif x != y and _may_be_taken(across, x, y):
            frozen_a[frozen], frozen_b[frozen], frozen_ids[frozen] = x, y, ids[i]
            frozen += 1
    state[1] = state[1] + 1 if linked < count else 0
    return size, frozen


# -- the edges that are left ------------------------------------------------------------------------------------


@njit
def finish(edges, left, whole, size):
    """Join the few edges `left`, uint32 (k,), by (key, id), one by one; return the edges of the forest by now.

    They leave their block or are deferred. The other arguments are as for `solve`; `size` is the number of edges that
    the blocks took.
    """
    (u, v, keys), (ids, parent, forest), count = edges, whole, left.size
    places, words = np.empty(count, np.uint32), np.empty(count, np.uint64)
    a, b, key = np.empty(count, np.uint32), np.empty(count, np.uint32), np.empty(count, np.uint64)
    # All look-ups come first, so that they overlap: other cores have written what they find.
    for i in range(count):
        e = left[i]
        a[i], b[i], key[i] = parent[u[e]], parent[v[e]], key_at(keys, e)
        places[i], words[i] = i, e
    # By id, then by key, which leaves those of one key as they are.
    words, places = _sorted(words, places)
    for i in range(count):
        words[i] = key[places[i]]
    words, places = _sorted(words, places)
    for i in places:
        x, y = find(parent, a[i]), find(parent, b[i])
        if x != y:
            parent[max(x, y)] = min(x, y)
            forest[size] = _id_of(ids, left[i])
            size += 1
    return size


@njit(inline="always")
def _id_of(ids, e):
    """Return the id, int64, of the edge at place `e`; `ids` are those of `Whole`."""
    return np.int64(ids[e]) if ids.size > 0 else np.int64(e)
