"""Solves each block by one worker, light edges first, and joins the edges that are left.

`mst.algorithms.threads.filter_boruvka_threads` calls `solve` after `division` has arranged the edges.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mst.kernels.filter_boruvka.parallel.blocks.division import CLASSES, LEAVING, STRETCH, STRETCHES, Cut, Parts
from mst.kernels.filter_boruvka.parallel.blocks.joining import (
    Block,
    Forest,
    join,
    number_of,
    numbering,
    sorted_pairs,
)
from mst.kernels.filter_boruvka.policy import ONE_CORE
from mst.kernels.filter_boruvka.sequential.sample import Window, level_of, stratified
from mst.kernels.filter_boruvka.sequential.select import move_light
from mst.kernels.filter_boruvka.sequential.trees import flatten
from mst.kernels.parallel.launch import run
from mst.kernels.parallel.runtime import FOREST, next_chunk, reset_queue
from mst.kernels.primitives.atomics import fetch_add
from mst.kernels.primitives.bitmap import move_ones, write_positions_of_ones
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.keys import key_at
from mst.kernels.primitives.out_of_line import call
from mst.kernels.union_find.sequential import find, unite

_HALF, _LOW, _ZERO, _ONE = np.uint64(32), np.uint64(0xFFFFFFFF), np.uint64(0), np.uint64(1)
_NONE, _WORD = np.uint32(0xFFFFFFFF), np.uint64(64)
_LIGHT, _UNFILTERED, _MOST_KEPT = ONE_CORE.light, ONE_CORE.max_unfiltered, ONE_CORE.max_kept_share


class Solved(NamedTuple):
    """The forests of the blocks, one after the other.

    Attributes
    ----------
    places : numpy.ndarray of int64, shape (blocks + 1,)
        The place at which each block's numbers begin, and the end.
    parent, taken : numpy.ndarray of uint32, shape (``places[-1]``,)
        The trees, and the edge ids of the forest.
    deferred : numpy.ndarray of uint32, shape (k + blocks,)
        Ids of deferred edges. Those of block `b` begin `b` places after ``Parts.starts[3 * b]``.
    records : numpy.ndarray of uint64, shape (k, 2)
        Scratch space; that of block `b` begins at ``Parts.starts[3 * b]``.
    counts : numpy.ndarray of int64, shape (blocks,)
        The number of deferred edges of each block.
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
        Ids of the edges, ascending; empty if each edge's id is its place.
    parent : numpy.ndarray of uint32, shape (n,)
        For each vertex, the root of its tree.
    edges : numpy.ndarray of int32 or int64, shape (n - 1,)
        Edge ids, written from the front.
    """

    ids: np.ndarray
    parent: np.ndarray
    edges: np.ndarray


class _Rest(NamedTuple):
    """The edges of a block that are not light.

    Attributes
    ----------
    codes : numpy.ndarray of uint64
        The codes of the edges outside stretches, and space for those in stretches.
    coded : int
        The number of edges outside stretches.
    own : uint8
        The class of the edges in stretches.
    window : Window
    """

    codes: np.ndarray
    coded: int
    own: np.unsignedinteger
    window: Window


def new_solved(cut: Cut, parts: Parts, empty: Callable[..., Any]) -> Solved:
    """Return arrays for `solve` to fill; ``empty(name, likely)`` returns an allocator as in `select.new_copy`."""
    places = np.concatenate(([0], np.cumsum(np.diff(cut.starts) + parts.firsts)))
    vertices, size, blocks = int(places[-1]), len(parts.codes), len(parts.firsts)
    parent, taken = (empty(name, vertices)(vertices, np.uint32) for name in ("numbers", "taken"))
    deferred, records = empty("deferred", 0)(size + blocks, np.uint32), empty("edges", 0)((size, 2), np.uint64)
    return Solved(places, parent, taken, deferred, records, np.empty(blocks, np.int64))


def edges_left(parts: Parts, solved: Solved) -> np.ndarray:
    """Return the ids, uint32, of the edges that leave their block or are deferred."""
    starts = parts.starts[:-1:CLASSES] + np.arange(len(solved.counts))
    held = zip(starts.tolist(), solved.counts.tolist())
    return np.concatenate([parts.leaving, *(solved.deferred[first : first + count] for first, count in held)])


@njit
def solve(schedule, edges, cut, parts, solved, whole):
    """Write the forest of each block to the forest of the graph, and the ids of deferred edges to `solved`.

    Parameters
    ----------
    schedule : Schedule
        With one block per chunk; ``tallies[FOREST]`` becomes the number of edges in the forest.
    edges : Edges
    cut : Cut
    parts : Parts
        The codes are overwritten.
    solved : Solved
    whole : Whole
        Its parents and edges are written.
    """
    reset_queue(schedule.tallies, schedule.width)
    run(schedule.width, _solve_worker, schedule, edges, cut, parts, solved, whole)


@njit
def _solve_worker(worker, schedule, edges, cut, parts, solved, whole):
    """One worker of `solve`."""
    blocks, (width, grain, tallies) = solved.counts.size, schedule
    i, last = next_chunk(tallies, worker, width, grain, blocks)
    while i < last:
        light, heavy, stretches, stop = parts.starts[CLASSES * i : CLASSES * (i + 1) + 1]
        block = Block(cut.starts[i], cut.starts[i + 1], np.uint32(parts.firsts[i]), heavy == stop)
        at, deferred = slice(solved.places[i], solved.places[i + 1]), solved.deferred[light + i : stop + i + 1]
        across, state = np.arange(np.int64(block.first)).astype(np.uint32), np.array((1, 0, 1), np.int64)
        own = Forest(solved.parent[at], solved.taken[at], deferred, across, state, solved.records[light:stop])
        window = Window(cut.lows[i], cut.highs[i], cut.shifts[i])
        split = np.int64(level_of(cut.split_keys[i], window))
        rest = _Rest(parts.codes[heavy:stop], stretches - heavy, np.uint8(CLASSES * i + STRETCHES), window)
        begun = np.int64(0)
        call(_make_singletons, own.parent)
        if cut.at_vertices:
            begun = call(_join_lightest, edges, block, rest, parts, own)
        size, held = call(_solve_block, edges, block, parts.codes[light:heavy], split, rest, parts, own, begun)
        solved.counts[i] = held
        call(_append, own.edges, size, whole, fetch_add(tallies, FOREST, size))
        call(_write_roots, own.parent, block, state[2], own.edges, whole.parent)
        i, last = next_chunk(tallies, worker, width, grain, blocks)


@njit
def _append(edges, size, whole, place):
    """Write the ids of the first `size` of a block's `edges`, uint32, to the forest of the graph, from `place` on."""
    ids, forest = whole.ids, whole.edges
    for j in range(size):
        forest[place + j] = _id_of(ids, edges[j])


@njit
def _write_roots(numbers, block, step, vertices, parent):
    """Write the root of each vertex of a block to `parent`, uint32 (n,).

    `numbers`, uint32, holds the root of each number within the block. Roots must be the smallest vertices of their
    trees. If a tree is frozen, or vertices are numbered downwards (`step` is -1, not 1), its root in `numbers` is not
    that vertex, and the first vertex of the tree becomes the root. `vertices`, of the shape and dtype of `numbers`, is
    overwritten.
    """
    start, stop, first, _ = block
    base, by, below = numbering(block, step), np.uint64(step), np.uint32(first if step > 0 else numbers.size)
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
def _make_singletons(parent):
    """Make every number of a block a separate tree."""
    for x in range(parent.size):
        parent[x] = x


@njit
def _join_lightest(edges, block, rest, parts, forest):
    """Take the lightest edge at each vertex of a block, unless it leaves the block; return the number of edges taken.

    Before the call, every vertex is a separate tree; no edge of the block is light.
    """
    (u, v, keys), parent, taken = edges, forest.parent, forest.edges
    least, lightest = np.full(parent.size, ~keys.words.dtype.type(0)), np.full(parent.size, _NONE, np.uint32)
    call(_lower_by_codes, edges, block, rest.codes, np.uint64(rest.coded), least, lightest)
    common, own = parts.common, rest.own // np.uint8(CLASSES)
    for stretch in range(common.size):
        if common[stretch] == own:
            call(_lower_in_stretch, edges, block, np.uint64(stretch * STRETCH), least, lightest)
    size = np.int64(0)
    for x in range(np.uint64(block.first), np.uint64(parent.size)):
        e = lightest[x]
        if e != _NONE:
            a, b = number_of(u[e], block), number_of(v[e], block)
            if min(a, b) > 0 and unite(parent, a, b):
                taken[size] = e
                size += 1
    return size


@njit
def _lower_by_codes(edges, block, codes, count, least, lightest):
    """Lower the lightest edge at each number of a block by the edges of the first `count` codes.

    `least`, of the dtype of the keys, and `lightest`, uint32, hold that edge's key and id; `count` is a uint64.
    """
    u, v, keys = edges
    for j in range(count):
        e = codes[j] & _LOW
        key = key_at(keys, e)
        for x in (number_of(u[e], block), number_of(v[e], block)):
            if (key < least[x]) | ((key == least[x]) & (e < lightest[x])):
                least[x], lightest[x] = key, np.uint32(e)


@njit
def _lower_in_stretch(edges, block, first, least, lightest):
    """Do what `_lower_by_codes` does, by the edges of the stretch that begins with edge `first`, uint64."""
    u, v, keys = edges
    offset = np.uint64(block.first) - np.uint64(block.start)
    for e in range(first, min(first + np.uint64(STRETCH), np.uint64(u.size))):
        key = key_at(keys, e)
        for x in (np.uint64(u[e]) + offset, np.uint64(v[e]) + offset):
            if (key < least[x]) | ((key == least[x]) & (e < lightest[x])):
                least[x], lightest[x] = key, np.uint32(e)


@njit
def _solve_block(edges, block, light, split, rest, parts, forest, size):
    """Complete a block's `forest`, which has `size` edges; return the numbers of its edges and of deferred edges.

    `light` are the codes of the block's light edges, `split`, int64, is their largest level, and `rest` a `_Rest`.
    """
    parent, codes, largest = forest.parent, rest.codes, np.int64(level_of(rest.window.high, rest.window))
    size, held = call(join, edges, block, light, split, forest, size, np.int64(0))
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
            size, held = call(join, edges, block, codes[:left], largest, forest, size, held)
            break
        limit = call(_level_at, codes[:left], wanted)
        lighter, none = np.empty(left, np.uint64), np.empty(0, np.uint64)
        moved = call(move_light, codes, none, left, np.uint64(limit), lighter, none)
        size, held = call(join, edges, block, lighter[:moved], limit, forest, size, held)
        left -= moved
        coded = left
    flatten(parent)
    return size, held


@njit
def _add_open(edges, block, rest, parts, count, label):
    """Insert the codes of edges in stretches whose ends differ in `label` into the first `count` of ``rest.codes``.

    Returns the new count. Codes are in the order of ids before and after, so that buckets need not be sorted if there
    are few distinct weights.
    """
    (u, v, keys), codes, (classes, common) = edges, rest.codes, (parts.classes, parts.common)
    if rest.coded == codes.size:
        return count
    own, window = rest.own, rest.window
    offset, found = np.uint64(block.first) - np.uint64(block.start), np.empty(STRETCH, np.uint64)
    others, taken, at = codes[:count].copy(), np.int64(0), _ZERO
    for stretch in range(common.size):
        first, last = np.uint64(stretch * STRETCH), np.uint64(min((stretch + 1) * STRETCH, u.size))
        if common[stretch] == LEAVING:
            while taken < others.size and others[taken] & _LOW < last:
                codes[at] = others[taken]
                taken, at = taken + 1, at + _ONE
        if common[stretch] != own // np.uint8(CLASSES):
            continue
        opened = _ZERO
        for start in range(first, last, _WORD):
            ones = _ZERO
            for e in range(start, min(start + _WORD, last)):
                apart = label[np.uint64(u[e]) + offset] != label[np.uint64(v[e]) + offset]
                ones |= np.uint64(apart & (classes[e] == own)) << (e - start)
            opened = write_positions_of_ones(ones, start, found, opened)
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
    levels, _ = sorted_pairs(levels, places)
    return np.int64(levels[min(wanted * levels.size // codes.size, levels.size - 1)])


@njit
def _keep_open(edges, block, codes, count, label):
    """Of the first `count` codes, keep the ones of edges whose ends differ in `label`; return how many."""
    (u, v, _), kept, stop = edges, _ZERO, np.uint64(count)
    for start in range(_ZERO, stop, _WORD):
        apart = _ZERO
        for j in range(start, min(start + _WORD, stop)):
            e = codes[j] & _LOW
            joins = label[number_of(u[e], block)] != label[number_of(v[e], block)]
            apart |= np.uint64(joins) << (j - start)
        kept = move_ones(apart, start, codes, kept)
    return np.int64(kept)


@njit
def _label(forest, first, label):
    """Write the root of each number to `label`, and one root for all frozen trees that `across` joins.

    The roots of frozen trees are below `first`.
    """
    parent, across = forest.parent, forest.across
    flatten(parent)
    flatten(across)
    for x in range(parent.size):
        root = parent[x]
        label[x] = across[root] if root < first else root


@njit
def finish(edges, left, whole, size):
    """Join the few edges `left`, uint32 (k,), in the order of (key, id); return the number of edges in the forest.

    The edges left are those that leave their block or are deferred. `size` is the number of edges that the blocks took;
    `whole` is written by `solve`, and extended.
    """
    (u, v, keys), (ids, parent, forest), count = edges, whole, left.size
    places, words = np.empty(count, np.uint32), np.empty(count, np.uint64)
    a, b, key = np.empty(count, np.uint32), np.empty(count, np.uint32), np.empty(count, np.uint64)
    # All look-ups come first, so that they overlap: other cores have written the parents.
    for i in range(count):
        e = left[i]
        a[i], b[i], key[i] = parent[u[e]], parent[v[e]], key_at(keys, e)
        places[i], words[i] = i, e
    # Sorted by id and then, stably, by key.
    words, places = sorted_pairs(words, places)
    for i in range(count):
        words[i] = key[places[i]]
    words, places = sorted_pairs(words, places)
    for i in places:
        x, y = find(parent, a[i]), find(parent, b[i])
        if x != y:
            parent[max(x, y)] = min(x, y)
            forest[size] = _id_of(ids, left[i])
            size += 1
    return size


@njit(inline="always")
def _id_of(ids, e):
    """Return the id, int64, of the edge at place `e`; `ids` is the field of `Whole`."""
    return np.int64(ids[e]) if ids.size > 0 else np.int64(e)
