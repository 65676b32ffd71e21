"""Selects light edges, and heavy edges whose ends are in different trees of the light edges' forest.

The drivers call this after sampling; `mst.kernels.filter_boruvka.sequential.scatter` follows. A selected edge becomes a
*code*, a uint64: the level of its key in a window (`sample.Window`) in the upper 32 bits, its id in the lower 32.
Levels keep the order of keys, but different keys may share one.

Loops use unsigned indices: a signed index might count from the array's end, and checking for that would cost as much
as all the rest. Edges are tested 64 at a time, into the bits of a word, before any is written: a store whose address
depends on a test delays the loads after it, on some processors until that test is done
(docs/design-notes/one-core.md), and a branch for each edge would be mispredicted.

In the kernels, `keys` are `LazyKeys` by edge id, `split` is a `Split`, `window` a `Window`, `id_range` an `IdRange`;
`codes` are uint64.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mst.kernels.filter_boruvka.sequential.sample import is_selective, level_of
from mst.kernels.primitives.bitmap import bits_of_bytes, count_trailing_zeros, get_bit
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.keys import key_at, read_keys
from mst.kernels.primitives.out_of_line import call
from mst.kernels.primitives.prefetch import prefetch

_AHEAD = np.uint64(64)
_BLOCK = np.uint64(64)
_HALF, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)
_ZERO, _ONE = np.uint64(0), np.uint64(1)


class Ends(NamedTuple):
    """The ends of edges: by edge id in `u` and `v`, or by the place of the code in `pairs`.

    Attributes
    ----------
    u, v : numpy.ndarray of uint32, shape (m,) or (0,)
    pairs : numpy.ndarray of uint64, shape (0,) or (k,)
        ``u | v << 32``; empty if the ends are in `u` and `v`.
    """

    u: np.ndarray
    v: np.ndarray
    pairs: np.ndarray


class Trees(NamedTuple):
    """The trees of the forest so far, as labels, or as a bitmap if one tree is a giant.

    Attributes
    ----------
    label : numpy.ndarray of uint32, shape (n,)
        The root of each vertex's tree.
    outside : numpy.ndarray of uint32, shape (⌈n / 32⌉,) or more, or (0,)
        Bitmap of the vertices outside the giant tree (`trees.mark_outside`): edges with an end there are selected.
        Empty if there is no giant; edges whose ends differ in `label` are then selected.
    """

    label: np.ndarray
    outside: np.ndarray


class IdRange(NamedTuple):
    """The edge ids ``start … stop - 1``, uint64, and the bound for their keys: the largest, or the least, to select."""

    start: np.unsignedinteger
    stop: np.unsignedinteger
    key: np.unsignedinteger


@njit(inline="always")
def ends_at(ends, codes, j):
    """Return both ends of the edge of code `j`, packed into a uint64; `ends` is an `Ends`, `codes` uint64 (k,)."""
    if ends.pairs.size > 0:
        return ends.pairs[j]
    e = codes[j] & _LOW
    return np.uint64(ends.u[e]) | (np.uint64(ends.v[e]) << _HALF)


@njit
def select_all(keys, window, codes):
    """Write the codes of all edges, in order of id; return how many.

    `keys` are `LazyKeys` of m edges, `window` is a `Window`; `codes`, uint64 of shape (m,), is overwritten.
    """
    for i in range(np.uint64(keys.words.size)):
        codes[i] = (level_of(key_at(keys, i), window) << _HALF) | i
    return keys.words.size


@njit
def select_light(keys, split, window, codes):
    """Write the codes of the light edges of a `Split`, in order of id; return how many.

    `keys` are `LazyKeys` of m edges; `codes`, uint64 of shape (m,), is overwritten.
    """
    m = keys.words.size
    return np.int64(call(light_from, _ZERO, np.uint64(m), keys, split, window, is_selective(split, m), codes))


@njit
def light_from(start, stop, keys, split, window, selective, codes):
    """Write the codes of the light edges among ``start … stop - 1``, both uint64; return how many, a uint64.

    If few edges are light (`selective`, a bool), a vector loop skips blocks without light edges.
    """
    tie = min(max(np.uint64(split.tie), start), stop)
    count = call(_select_up_to, keys, IdRange(start, tie, split.key), window, selective, codes, _ZERO)
    if split.key > 0:
        below = keys.words.dtype.type(split.key - keys.words.dtype.type(1))
        count = call(_select_up_to, keys, IdRange(tie, stop, below), window, selective, codes, count)
    return count


@njit
def _select_up_to(keys, id_range, window, selective, codes, count):
    """Append the codes of the edges of an `IdRange` whose keys are not above its key to the first `count` codes.

    Returns the new `count`, a uint64.
    """
    some, light = np.empty(_BLOCK, keys.words.dtype), np.zeros(_BLOCK, np.uint8)
    light_words = light.view(np.uint64)
    for block in range(id_range.start, id_range.stop, _BLOCK):
        size = min(_BLOCK, id_range.stop - block)
        if selective:
            least = key_at(keys, block)
            for j in range(size):
                least = min(least, key_at(keys, block + j))
            if least > id_range.key:
                continue
        light[:] = 0
        read_keys(keys, block, some[:size])
        for j in range(size):
            light[j] = some[j] <= id_range.key
        ones = bits_of_bytes(light_words)
        while ones:
            place = count_trailing_zeros(ones)
            ones &= ones - _ONE
            level = np.uint64((max(some[place], window.low) - window.low) >> window.shift)
            codes[count] = (level << _HALF) | (block + np.uint64(place))
            count += _ONE
    return count


@njit
def select_heavy(keys, split, ends, trees, window, codes):
    """Write the codes of the heavy edges of a `Split` that may join two of the `Trees`; return how many.

    `keys` are `LazyKeys` of m edges, `ends` holds `u` and `v`; `codes`, uint64 of shape (m,), is overwritten.
    """
    m = np.uint64(keys.words.size)
    return np.int64(call(heavy_from, _ZERO, m, keys, split, ends, trees, window, codes))


@njit
def heavy_from(start, stop, keys, split, ends, trees, window, codes):
    """Write the codes that `select_heavy` writes for the edges ``start … stop - 1``, both uint64; return how many."""
    tie, count = min(max(np.uint64(split.tie), start), stop), _ZERO
    above = keys.words.dtype.type(split.key + keys.words.dtype.type(1))
    if above > split.key:
        count = call(_select_from, keys, IdRange(start, tie, above), ends, trees, window, codes, count)
    return call(_select_from, keys, IdRange(tie, stop, split.key), ends, trees, window, codes, count)


@njit
def _select_from(keys, id_range, ends, trees, window, codes, count):
    """Append the codes of the edges of an `IdRange` that may join two of the `Trees` and are not below its key.

    Returns the new `count`, a uint64.
    """
    u, v, label, outside = ends.u, ends.v, trees.label, trees.outside
    for block in range(id_range.start, id_range.stop, _BLOCK):
        # Ends are tested before keys, so that only the keys of the few edges left are read.
        end, open_edges = min(block + _BLOCK, id_range.stop), _ZERO
        if outside.size > 0:
            for i in range(block, end):
                open_edges |= (get_bit(outside, u[i]) | get_bit(outside, v[i])) << (i - block)
        else:
            for i in range(block, end):
                open_edges |= np.uint64(label[u[i]] != label[v[i]]) << (i - block)
        while open_edges:
            i = block + count_trailing_zeros(open_edges)
            open_edges &= open_edges - _ONE
            key = key_at(keys, i)
            level = np.uint64((min(key, window.high) - window.low) >> window.shift)
            codes[count] = (level << _HALF) | i
            count += np.uint64(key >= id_range.key)
    return count


@njit
def move_light(codes, pairs, count, largest, light_codes, light_pairs):
    """Move those of the first `count` codes with level ≤ `largest` to `light_codes`; close the gaps, return how many.

    Unless `pairs` is empty, the pair of each code moves to `light_pairs`. `largest` is a uint64, and all four arrays
    are uint64, of shape (count,) or more.
    """
    moved = kept = _ZERO
    for j in range(np.uint64(count)):
        code = codes[j]
        light_codes[moved] = codes[kept] = code
        if pairs.size > 0:
            light_pairs[moved] = pairs[kept] = pairs[j]
        below = (code >> _HALF) <= largest
        moved += np.uint64(below)
        kept += np.uint64(not below)
    return np.int64(moved)


@njit
def keep_between_trees(ends, codes, count, label):
    """Of the first `count` codes, keep those of edges whose ends differ in `label`; return how many.

    `ends` is an `Ends`; `codes`, uint64 (k,), and ``ends.pairs`` are overwritten; `label` is uint32 of shape (n,).
    """
    u, kept, size = ends.u, _ZERO, np.uint64(count)
    for block in range(_ZERO, size, _BLOCK):
        end, open_edges = min(block + _BLOCK, size), _ZERO
        for j in range(block, end):
            if u.size > 0:
                e = codes[min(j + _AHEAD, size - _ONE)] & _LOW
                prefetch(u, e)
                prefetch(ends.v, e)
            pair = ends_at(ends, codes, j)
            open_edges |= np.uint64(label[pair & _LOW] != label[pair >> _HALF]) << (j - block)
        # With calls of `move_ones`, the whole function takes 1.3 times as long.
        while open_edges:
            j = block + count_trailing_zeros(open_edges)
            open_edges &= open_edges - _ONE
            codes[kept] = codes[j]
            if ends.pairs.size > 0:
                ends.pairs[kept] = ends.pairs[j]
            kept += _ONE
    return np.int64(kept)
