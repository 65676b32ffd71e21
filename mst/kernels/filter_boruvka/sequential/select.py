"""Which edges to look at: the lightest few, and of the others those that a forest of the lightest does not cover.

An edge that is selected becomes a *code*, a uint64: above, the 32 bits of its key's level within a window of keys
(`sample.Window`), below, its id. Levels keep the order of keys, though keys wider than the window's resolution may
share one.

Loops run over unsigned indices: a signed one might count from the array's end, and checking that would cost as
much as all the rest. What data decides at random is written always and kept by advancing an index, since there
is no branch then to mispredict.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mst.kernels.filter_boruvka.sequential.sample import is_selective, level_of
from mst.kernels.primitives.bitmap import get_bit
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.keys import key_at

_BLOCK, _LONG_BLOCK = np.uint64(64), np.uint64(1024)
_HALF, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)
_ZERO = np.uint64(0)


class Ends(NamedTuple):
    """Where the ends of an edge are found: at its id in `u` and `v`, or at its code's place in `pairs`.

    Attributes
    ----------
    u, v : numpy.ndarray of uint32, shape (m,) or (0,)
    pairs : numpy.ndarray of uint64, shape (0,) or (k,)
        ``u | v << 32``; empty where the edge list itself is at hand.
    """

    u: np.ndarray
    v: np.ndarray
    pairs: np.ndarray


class Trees(NamedTuple):
    """What says whether an edge lies within one tree.

    Attributes
    ----------
    label : numpy.ndarray of uint32, shape (n,)
        The root of each vertex's tree.
    outside : numpy.ndarray of uint32, shape (n // 32 + 1,) or (0,)
        The bitmap of the vertices outside the giant tree (`trees.mark_outside`): an edge with an end there is selected.
        Empty without a giant: an edge whose ends differ in `label` is.
    """

    label: np.ndarray
    outside: np.ndarray


class Stretch(NamedTuple):
    """The edge ids ``start … stop - 1`` (uint64), and the key that a selected one is not above, or not below."""

    start: np.unsignedinteger
    stop: np.unsignedinteger
    key: np.unsignedinteger


@njit(inline="always")
def ends_at(ends, codes, j):
    """Return both ends of the edge of code `j`, packed into a uint64."""
    if ends.pairs.size > 0:
        return ends.pairs[j]
    e = codes[j] & _LOW
    return np.uint64(ends.u[e]) | (np.uint64(ends.v[e]) << _HALF)


@njit
def select_all(keys, window, codes):
    """Write the codes of all edges, by id; return how many.

    `keys` are `LazyKeys` of m edges; `codes`, uint64 of shape (m,), is written.
    """
    for i in range(np.uint64(keys.words.size)):
        codes[i] = (level_of(key_at(keys, i), window) << _HALF) | i
    return keys.words.size


@njit
def select_light(keys, split, window, codes):
    """Write the codes of all edges below `split`, by id; return how many. Arguments as of `select_all`.

    Where these are few, blocks without any are passed over at the speed of a vector loop.
    """
    tie, m = np.uint64(split.tie), np.uint64(keys.words.size)
    selective = is_selective(split, keys.words.size)
    count = _select_up_to(keys, Stretch(_ZERO, tie, split.key), window, selective, codes, _ZERO)
    if split.key > 0:
        below = keys.words.dtype.type(split.key - keys.words.dtype.type(1))
        count = _select_up_to(keys, Stretch(tie, m, below), window, selective, codes, count)
    return np.int64(count)


@njit
def _select_up_to(keys, stretch, window, selective, codes, count):
    """Append the codes of the edges of a stretch whose keys are not above its key; return how many there are then."""
    block = stretch.start
    while block < stretch.stop:
        end = min(block + _BLOCK, stretch.stop)
        if selective:
            least = key_at(keys, block)
            for i in range(block, end):
                least = min(least, key_at(keys, i))
        if not selective or least <= stretch.key:
            for i in range(block, end):
                key = key_at(keys, i)
                # Not above the window where it counts, and a comparison that chance decides would be a branch.
                level = np.uint64((max(key, window.low) - window.low) >> window.shift)
                codes[count] = (level << _HALF) | i
                count += np.uint64(key <= stretch.key)
        block = end
    return count


@njit
def select_heavy(keys, split, ends, trees, window, codes):
    """Write the codes of the edges not below `split` that may join two trees (`Trees`); return how many.

    `ends` holds the edge list's columns; `codes`, uint64 of shape (m,), is written.
    """
    tie, m, count = np.uint64(split.tie), np.uint64(keys.words.size), _ZERO
    above = keys.words.dtype.type(split.key + keys.words.dtype.type(1))
    if above > split.key:
        count = _select_from(keys, Stretch(_ZERO, tie, above), ends, trees, window, codes, count)
    return np.int64(_select_from(keys, Stretch(tie, m, split.key), ends, trees, window, codes, count))


@njit
def _select_from(keys, stretch, ends, trees, window, codes, count):
    """Append the codes of the edges of a stretch not below its key that may join two trees; return the new count."""
    u, v, label, outside = ends.u, ends.v, trees.label, trees.outside
    ids = np.empty(_LONG_BLOCK, np.uint64)
    for block in range(stretch.start, stretch.stop, _LONG_BLOCK):
        # Ends first and keys of the few that are left: of both at once compilers make a branch.
        end, found = min(block + _LONG_BLOCK, stretch.stop), _ZERO
        if outside.size > 0:
            for i in range(block, end):
                ids[found] = i
                found += get_bit(outside, u[i]) | get_bit(outside, v[i])
        else:
            for i in range(block, end):
                ids[found] = i
                found += np.uint64(label[u[i]] != label[v[i]])
        for j in range(found):
            key = key_at(keys, ids[j])
            level = np.uint64((min(key, window.high) - window.low) >> window.shift)
            codes[count] = (level << _HALF) | ids[j]
            count += np.uint64(key >= stretch.key)
    return count


@njit
def move_light(codes, pairs, count, largest, light_codes, light_pairs):
    """Move the edges of level ≤ `largest` to the light arrays, close the gaps; return how many moved.

    The first `count` of `codes` and, unless it is empty, of `pairs` count; all four are uint64 of at least that length.
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
    """Keep of the first `count` codes and pairs those whose ends differ in `label`; return how many.

    `codes` and ``ends.pairs`` are overwritten; `label` is uint32 of shape (n,).
    """
    kept = _ZERO
    for j in range(np.uint64(count)):
        pair = ends_at(ends, codes, j)
        codes[kept] = codes[j]
        if ends.pairs.size > 0:
            ends.pairs[kept] = pair
        kept += np.uint64(label[pair & _LOW] != label[pair >> _HALF])
    return np.int64(kept)
