"""Borůvka's rounds over components ``0 … k - 1``, for edges that are spread over ranks.

An edge is its ends, ``a | b << 32`` in a uint64, and a record as in `mst.kernels.primitives.radix`: a *word*
that holds the
32-bit key above and the edge id below, or a 64-bit key with the id in an array beside it, which is else empty.
Between the steps the ranks reduce what these kernels write: the smallest word at each component, then the smallest
id among those of that word where ids lie beside, then the component that each one is hung under.
"""

from __future__ import annotations

import numpy as np

from mst.kernels.parallel.keys import key_of
from mst.kernels.primitives.bitmap import write_positions_of_ones
from mst.kernels.primitives.jit import njit

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
        for j in range(write_positions_of_ones(mask[base >> 6], base, picked, 0)):
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
def number_roots(above, best, best_id, keep_all):
    """Turn `above` into new numbers of components; return how many there are now.

    A component that no edge leaves gets a number only if `keep_all`. A key may be as large as `NOTHING`, an id not.
    """
    k = 0
    fresh = np.empty(above.size, np.uint32)
    lightest = best_id if best_id.size > 0 else best
    for x in range(above.size):
        if above[x] == NONE:
            fresh[x] = k
            k += keep_all or lightest[x] != NOTHING
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


# -- edges that stay while labels are spread over ranks -----------------------------------------------------------


@njit
def list_spots(values, places, spots):
    """Write each value above its place: where it is, or what `places` says if that is not empty."""
    for i in range(values.size):
        spots[i] = (np.uint64(values[i]) << _HALF) | np.uint64(places[i] if places.size > 0 else i)


@njit
def number_spots(spots, number):
    """Number the distinct upper halves of ascending `spots`; return how many there are.

    ``number[i]`` becomes the number of the spot whose lower half is `i`; the first spots become the distinct values.
    """
    count = 0
    last = np.uint64(0)
    for j in range(spots.size):
        value = spots[j] >> _HALF
        i = spots[j] & _LOW
        if j == 0 or value != last:
            # Never ahead of what is read.
            spots[count] = last = value
            count += 1
        number[i] = count - 1
    return count


@njit
def name(ends, names):
    """Replace the ends of all edges by their names."""
    for i in range(ends.size):
        ends[i] = np.uint64(names[ends[i] & _LOW]) | (np.uint64(names[ends[i] >> _HALF]) << _HALF)


@njit
def lightest(ends, words, ids, best):
    """Write where the lightest edge at each end `x` is to ``best[x]``, or leave it below 0."""
    for i in range(ends.size):
        pair = ends[i]
        for _ in range(2):
            x = pair & _LOW
            j = best[x]
            if j < 0 or words[i] < words[j] or (ids.size > 0 and words[i] == words[j] and ids[i] < ids[j]):
                best[x] = i
            pair >>= _HALF


@njit
def offers(begins, counts, asked, best, names, ends, words, ids, pairs, out_words, out_ids):
    """Write the lightest edges of `counts[r]` components from ``begins[r]`` on, for every rank `r`.

    Component `x` is known as ``asked[x]``, and ``best[x]`` is the place of its edge, whose ends have `names`.
    What is written is the component, the name of the other end above it, and the record.
    """
    at = 0
    for r in range(counts.size):
        for x in range(begins[r], begins[r] + counts[r]):
            i = best[x]
            own = asked[x]
            other = names[ends[i] & _LOW] ^ names[ends[i] >> _HALF] ^ own
            pairs[at] = np.uint64(own) | (np.uint64(other) << _HALF)
            out_words[at] = words[i]
            if ids.size > 0:
                out_ids[at] = ids[i]
            at += 1


@njit
def take_offers(pairs, words, ids, first, other, word, word_id):
    """Keep the lightest edge that is offered for each component ``first + x``: its record, and its other end."""
    for i in range(pairs.size):
        x = np.int64(pairs[i] & _LOW) - first
        lighter = words[i] < word[x] or (ids.size > 0 and words[i] == word[x] and ids[i] < word_id[x])
        if other[x] == NONE or lighter:
            other[x], word[x] = pairs[i] >> _HALF, words[i]
            if ids.size > 0:
                word_id[x] = ids[i]
