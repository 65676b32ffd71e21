"""Borůvka's rounds over components ``0 … k - 1``, for edges distributed over ranks.

Between steps the ranks reduce the arrays these kernels write: the smallest word at each component; then, if
words do not hold the ids, the smallest id of edges with that word; then the component that each is linked below.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mst.kernels.parallel.keys import key_of
from mst.kernels.primitives.bitmap import count_trailing_zeros, write_positions_of_ones
from mst.kernels.primitives.jit import njit

NONE = np.uint32(2**32 - 1)
NOTHING = np.uint64(2**64 - 1)
_HALF, _LOW = np.uint64(32), np.uint64(2**32 - 1)
_ZERO, _ONE = np.uint64(0), np.uint64(1)


class Edges(NamedTuple):
    """Edges of one rank, with words and ids as in `mst.kernels.primitives.radix`.

    Attributes
    ----------
    ends : numpy.ndarray of uint64, shape (k,)
        ``a | b << 32``: both components.
    words : numpy.ndarray of uint64, shape (k,)
        The 32-bit key above and the edge id below, or a 64-bit key.
    ids : numpy.ndarray of uint64, shape (k,) or (0,)
        Edge ids, if words do not hold them.
    """

    ends: np.ndarray
    words: np.ndarray
    ids: np.ndarray

    def first(self, size: int) -> Edges:
        """Return views of the first `size` edges."""
        return Edges(self.ends[:size], self.words[:size], self.ids[:size])

    def chosen(self, which: np.ndarray) -> Edges:
        """Return copies of the edges at an index array or mask `which`."""
        return Edges(self.ends[which], self.words[which], self.ids[which] if len(self.ids) else self.ids)

    @property
    def size(self) -> int:
        return len(self.words)

    @property
    def bytes(self) -> int:
        return self.ends.nbytes + self.words.nbytes + self.ids.nbytes


class Lightest(NamedTuple):
    """The lightest edge at each of `k` components; `NOTHING` where there is none.

    Attributes
    ----------
    words : numpy.ndarray of uint64, shape (k,)
    ids : numpy.ndarray of uint64, shape (k,) or (0,)
        Empty if words hold the ids.
    """

    words: np.ndarray
    ids: np.ndarray


class Offered(NamedTuple):
    """The lightest edge offered by any rank for each of the `k` components this rank owns.

    Attributes
    ----------
    other : numpy.ndarray of uint32, shape (k,)
        The component at its other end, `NONE` if no edge was offered.
    words : numpy.ndarray of uint64, shape (k,)
    ids : numpy.ndarray of uint64, shape (k,) or (0,)
        As for `Edges`.
    """

    other: np.ndarray
    words: np.ndarray
    ids: np.ndarray


# -- labels on every rank ---------------------------------------------------------------------------------------


@njit
def gather_marked(mask, rows, label, edges):
    """Write the edges of `rows` with a set bit and ends of different labels to `edges`; return how many.

    Parameters
    ----------
    mask : numpy.ndarray of uint64, shape (⌈rows / 64⌉,)
    rows : mst.kernels.filter_boruvka.parallel.storage.EdgeList
    label : numpy.ndarray of uint32, shape (n,) or (0,)
        Ends are replaced by labels unless it is empty.
    edges : Edges
        Written.
    """
    words, ends = rows.words, np.empty(64, np.uint64)
    picked, count = np.empty(64, np.uint64), _ZERO
    for base in range(_ZERO, np.uint64(words.size), np.uint64(64)):
        size, apart = write_positions_of_ones(mask[base >> np.uint64(6)], base, picked, _ZERO), _ZERO
        for j in range(size):
            a, b = np.uint64(rows.u[picked[j]]), np.uint64(rows.v[picked[j]])
            if label.size > 0:
                a, b = np.uint64(label[a]), np.uint64(label[b])
            ends[j] = a | (b << _HALF)
            apart |= np.uint64(a != b) << j
        while apart:
            lowest = np.uint64(count_trailing_zeros(apart))
            apart &= apart - _ONE
            i = picked[lowest]
            key, e = np.uint64(key_of(words[i], rows.kind)), np.uint64(rows.start) + i
            edges.ends[count] = ends[lowest]
            if edges.ids.size > 0:
                edges.words[count], edges.ids[count] = key, e
            else:
                edges.words[count] = (key << _HALF) | e
            count += _ONE
    return np.int64(count)


@njit
def lower_words(edges, words):
    """Lower ``words[c]``, uint64 of shape (k,), to the smallest word of the `Edges` at component `c`."""
    for i in range(edges.words.size):
        a, b, word = edges.ends[i] & _LOW, edges.ends[i] >> _HALF, edges.words[i]
        words[a] = min(words[a], word)
        words[b] = min(words[b], word)


@njit
def lower_ids(edges, lightest):
    """Lower ``lightest.ids[c]`` to the smallest id of the `Edges` at component `c` with word ``lightest.words[c]``."""
    best, best_id = lightest
    for i in range(edges.words.size):
        a, b, word = edges.ends[i] & _LOW, edges.ends[i] >> _HALF, edges.words[i]
        if best[a] == word:
            best_id[a] = min(best_id[a], edges.ids[i])
        if best[b] == word:
            best_id[b] = min(best_id[b], edges.ids[i])


@njit
def hook(edges, lightest, parent, taken):
    """Link components by the edges that are lightest at an end.

    An edge that is lightest at both ends links the larger component below the smaller, so links form no cycle.

    Parameters
    ----------
    edges : Edges
    lightest : Lightest
        Of all ranks' edges.
    parent : numpy.ndarray of uint32, shape (k,)
        `NONE` at first; written if a component is linked below another.
    taken : numpy.ndarray of uint64, shape (as many as edges can link,)
        Written from the front: the ids of these edges.

    Returns
    -------
    int
        The number of these edges.
    """
    best, best_id = lightest
    count = 0
    for i in range(edges.words.size):
        a, b, word = edges.ends[i] & _LOW, edges.ends[i] >> _HALF, edges.words[i]
        at_a, at_b = best[a] == word, best[b] == word
        if edges.ids.size > 0:
            at_a, at_b = at_a and best_id[a] == edges.ids[i], at_b and best_id[b] == edges.ids[i]
        if at_a and at_b:
            parent[max(a, b)] = min(a, b)
        elif at_a:
            parent[a] = b
        elif at_b:
            parent[b] = a
        if at_a or at_b:
            taken[count] = edges.ids[i] if edges.ids.size > 0 else word & _LOW
            count += 1
    return count


@njit
def number_roots(parent, lightest, keep_all):
    """Replace `parent`, from `hook`, by the new number of each component's tree; return the number of trees.

    `lightest` is as for `hook`. A tree that no edge leaves is numbered only if `keep_all`, a bool. (If words are keys,
    ids show this: a key may equal `NOTHING`, an id may not.)
    """
    k = 0
    fresh = np.empty(parent.size, np.uint32)
    offers = lightest.ids if lightest.ids.size > 0 else lightest.words
    for x in range(parent.size):
        if parent[x] == NONE:
            fresh[x] = k
            k += keep_all or offers[x] != NOTHING
    for x in range(parent.size):
        r = np.int64(x)
        while parent[r] != NONE:
            r = np.int64(parent[r])
        y = np.int64(x)
        while y != r:
            parent[y], y = r, np.int64(parent[y])
    for x in range(parent.size):
        r = np.int64(x) if parent[x] == NONE else np.int64(parent[x])
        fresh[x] = fresh[r]
    for x in range(parent.size):  # no slice: numba would compile its shape error (compile-time.md)
        parent[x] = fresh[x]
    return k


@njit
def relabel(edges, number):
    """Replace ends of `Edges` by ``number[end]``, uint32 (k,); keep edges between two components; return how many."""
    ends, words, ids = edges
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
    """Replace every ``label[x]`` by ``number[label[x]]``; both are uint32, of shapes (n,) and (k,)."""
    for x in range(label.size):
        label[x] = number[label[x]]


# -- labels distributed over the ranks --------------------------------------------------------------------------


@njit
def pack_values(values, places, packed):
    """Write ``value << 32 | place`` of each of the `values`, uint32 (k,), to `packed`, uint64 (k,).

    The place of value `i` is ``places[i]``, uint32 (k,), or `i` if `places` is empty.
    """
    for i in range(values.size):
        packed[i] = (np.uint64(values[i]) << _HALF) | np.uint64(places[i] if places.size > 0 else i)


@njit
def number_values(packed, number):
    """Number the distinct values of `packed`, uint64 (k,), ascending, from `pack_values`; return how many there are.

    ``number[i]``, uint32 (k,), becomes the number of the value whose place is `i`. The front of `packed` is overwritten
    with the distinct values.
    """
    count = 0
    last = np.uint64(0)
    for j in range(packed.size):
        value = packed[j] >> _HALF
        i = packed[j] & _LOW
        if j == 0 or value != last:
            # Never beyond the place just read.
            packed[count] = last = value
            count += 1
        number[i] = count - 1
    return count


@njit
def rename_ends(ends, names):
    """Replace both halves of each of `ends`, uint64 (k,), by ``names[half]``, uint32 (distinct ends,)."""
    for i in range(ends.size):
        ends[i] = np.uint64(names[ends[i] & _LOW]) | (np.uint64(names[ends[i] >> _HALF]) << _HALF)


@njit
def lightest_at_ends(edges, place):
    """Write the place of the lightest of the `Edges` at each end `x` to ``place[x]``: int32 (k,), negative at first."""
    words, ids = edges.words, edges.ids
    for i in range(words.size):
        pair = edges.ends[i]
        for _ in range(2):
            x = pair & _LOW
            j = place[x]
            if j < 0 or words[i] < words[j] or (ids.size > 0 and words[i] == words[j] and ids[i] < ids[j]):
                place[x] = i
            pair >>= _HALF


@njit
def write_offers(begins, counts, components, place, names, edges, offers):
    """Write the lightest edges of the components ``begins[r] … begins[r] + counts[r] - 1``, for every rank `r`.

    Parameters
    ----------
    begins, counts : numpy.ndarray of int64, shape (ranks,)
    components : numpy.ndarray of uint32, shape (k,)
        Ascending.
    place : numpy.ndarray of int32, shape (k,)
        The place in `edges` of the lightest edge of each, from `lightest_at_ends`.
    names : numpy.ndarray of uint32, shape (distinct ends,)
        The component each end of `edges` stands for.
    edges : Edges
    offers : Edges
        Written: the component itself in the lower half of ``ends``, the other in the upper half; word and id.
    """
    at = 0
    for r in range(counts.size):
        for x in range(begins[r], begins[r] + counts[r]):
            i = place[x]
            own = components[x]
            other = names[edges.ends[i] & _LOW] ^ names[edges.ends[i] >> _HALF] ^ own
            offers.ends[at] = np.uint64(own) | (np.uint64(other) << _HALF)
            offers.words[at] = edges.words[i]
            if edges.ids.size > 0:
                offers.ids[at] = edges.ids[i]
            at += 1


@njit
def take_offers(offers, first, offered):
    """Lower element `x` of `offered`, an `Offered`, to the lightest edge offered for component ``first + x``.

    `offers` are `Edges` from `write_offers`, `first` is an int.
    """
    words, ids = offers.words, offers.ids
    other, word, word_id = offered
    for i in range(words.size):
        x = np.int64(offers.ends[i] & _LOW) - first
        lighter = words[i] < word[x] or (ids.size > 0 and words[i] == word[x] and ids[i] < word_id[x])
        if other[x] == NONE or lighter:
            other[x], word[x] = offers.ends[i] >> _HALF, words[i]
            if ids.size > 0:
                word_id[x] = ids[i]
