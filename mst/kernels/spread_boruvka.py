"""Borůvka's rounds over components ``0 … k - 1``, for edges that are spread over ranks.

An edge is its ends, ``a | b << 32`` in a uint64, and a record as in `mst.kernels.radix`: a *word* that holds the
32-bit key above and the edge id below, or a 64-bit key with the id in an array beside it, which is else empty.
Between the steps the ranks reduce what these kernels write: the smallest word at each component, then the smallest
id among those of that word where ids lie beside, then the component that each one is hung under.
"""

from __future__ import annotations

import numpy as np

from mst.kernels.jit import njit
from mst.kernels.parallel_compact import positions_of_ones
from mst.kernels.parallel_keys import key_of

NONE = np.uint32(2**32 - 1)
NOTHING = np.uint64(2**64 - 1)
_HALF, _LOW = np.uint64(32), np.uint64(2**32 - 1)


@njit
def gather_marked(mask, words, kind, u, v, label, start, ends, out_words, out_ids):
    """Write the edges whose bit is set in `mask` and whose ends have different labels; return how many.

    Ends are replaced by their labels, unless `label` is empty. Row `i` has the edge id ``start + i``.
    """
    picked = np.empty(64, np.int64)
    count = 0
    for base in range(0, words.size, 64):
        for j in range(positions_of_ones(mask[base >> 6], base, picked, 0)):
            i = picked[j]
            a, b = np.uint64(u[i]), np.uint64(v[i])
            if label.size > 0:
                a, b = np.uint64(label[a]), np.uint64(label[b])
            e = np.uint64(start + i)
            ends[count] = a | (b << _HALF)
            key = np.uint64(key_of(words[i], kind))
            if out_ids.size > 0:
                out_words[count], out_ids[count] = key, e
            else:
                out_words[count] = (key << _HALF) | e
            count += a != b
    return count


@njit
def offer_words(ends, words, best):
    """Lower ``best[c]`` to the smallest word of the edges at component `c`."""
    for i in range(words.size):
        a, b, word = ends[i] & _LOW, ends[i] >> _HALF, words[i]
        best[a] = min(best[a], word)
        best[b] = min(best[b], word)


@njit
def offer_ids(ends, words, ids, best, best_id):
    """Lower ``best_id[c]`` to the smallest id of the edges at component `c` whose word is ``best[c]``."""
    for i in range(words.size):
        a, b, word = ends[i] & _LOW, ends[i] >> _HALF, words[i]
        if best[a] == word:
            best_id[a] = min(best_id[a], ids[i])
        if best[b] == word:
            best_id[b] = min(best_id[b], ids[i])


@njit
def hook(ends, words, ids, best, best_id, above, taken):
    """Hang components by the edges that are the lightest at an end; their ids go to `taken`, returns how many.

    An edge that is the lightest at both ends hangs the larger component under the smaller: links make no cycle.
    """
    count = 0
    for i in range(words.size):
        a, b, word = ends[i] & _LOW, ends[i] >> _HALF, words[i]
        at_a, at_b = best[a] == word, best[b] == word
        if ids.size > 0:
            at_a, at_b = at_a and best_id[a] == ids[i], at_b and best_id[b] == ids[i]
        if at_a and at_b:
            above[max(a, b)] = min(a, b)
        elif at_a:
            above[a] = b
        elif at_b:
            above[b] = a
        if at_a or at_b:
            taken[count] = ids[i] if ids.size > 0 else word & _LOW
            count += 1
    return count


@njit
def number_roots(above, best, keep_all):
    """Turn `above` into new numbers of components; return how many there are now.

    A component that no edge leaves gets a number only if `keep_all`.
    """
    k = 0
    fresh = np.empty(above.size, np.uint32)
    for x in range(above.size):
        if above[x] == NONE:
            fresh[x] = k
            k += keep_all or best[x] != NOTHING
    for x in range(above.size):
        r = np.int64(x)
        while above[r] != NONE:
            r = np.int64(above[r])
        y = np.int64(x)
        while y != r:
            above[y], y = r, np.int64(above[y])
    for x in range(above.size):
        r = np.int64(x) if above[x] == NONE else np.int64(above[x])
        fresh[x] = fresh[r]
    above[:] = fresh
    return k


@njit
def relabel(ends, words, ids, number):
    """Renumber the ends of all edges, keep those between two components; return how many."""
    kept = 0
    for i in range(words.size):
        a, b = number[ends[i] & _LOW], number[ends[i] >> _HALF]
        ends[kept] = np.uint64(a) | (np.uint64(b) << _HALF)
        words[kept] = words[i]
        if ids.size > 0:
            ids[kept] = ids[i]
        kept += a != b
    return kept


@njit
def compose(label, number):
    """Replace every label by its number."""
    for x in range(label.size):
        label[x] = number[label[x]]


# -- edges that go to the ranks that own their ends -------------------------------------------------------------


@njit
def deal(ends, words, ids, k, counts, dealt_ends, dealt_words, dealt_ids):
    """Write every edge twice, by the ranks that own its ends, with the owned end below; count those of each rank.

    Rank `r` of `p` owns the components from ``k * r // p`` on, as `mst.edge_slice.bounds` has it.
    """
    size = np.uint64(counts.size)
    for i in range(ends.size):
        counts[_owner(ends[i] & _LOW, k, size)] += 1
        counts[_owner(ends[i] >> _HALF, k, size)] += 1
    places = np.cumsum(counts) - counts
    for i in range(ends.size):
        pair = ends[i]
        for _ in range(2):
            owner = _owner(pair & _LOW, k, size)
            j = places[owner]
            places[owner] += 1
            dealt_ends[j], dealt_words[j] = pair, words[i]
            if ids.size > 0:
                dealt_ids[j] = ids[i]
            pair = (pair >> _HALF) | (pair << _HALF)


@njit(inline="always")
def _owner(x, k, size):
    return ((x + np.uint64(1)) * size - np.uint64(1)) // np.uint64(k)


@njit
def lightest_arcs(ends, words, ids, first, best):
    """Write where the lightest arc from each component ``first + x`` is to ``best[x]``, or leave it below 0."""
    for i in range(ends.size):
        x = np.int64(ends[i] & _LOW) - first
        j = best[x]
        if j < 0 or words[i] < words[j] or (ids.size > 0 and words[i] == words[j] and ids[i] < ids[j]):
            best[x] = i


@njit
def rename(ends, words, ids, number, first, others):
    """Renumber the lower ends by `number`, from `first` on, and the upper ones to `others`; keep no loops.

    The smaller end is below afterwards. Returns how many are kept.
    """
    kept = 0
    for i in range(ends.size):
        a, b = np.uint64(number[np.int64(ends[i] & _LOW) - first]), np.uint64(others[i])
        ends[kept] = min(a, b) | (max(a, b) << _HALF)
        words[kept] = words[i]
        if ids.size > 0:
            ids[kept] = ids[i]
        kept += a != b
    return kept
