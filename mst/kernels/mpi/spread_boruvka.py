"""Borůvka's rounds over components ``0 … k - 1``, for edges distributed over ranks.

After each step the ranks reduce the array that it wrote: first the smallest word at each component; then, if words do
not hold the ids, the smallest id of the edges with that word; then the component below which each component is linked.
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
        ``a | b << 32`` for an edge between components `a` and `b`.
    words : numpy.ndarray of uint64, shape (k,)
        A 32-bit key in the high half and the edge id in the low half; or a 64-bit key.
    ids : numpy.ndarray of uint64, shape (k,) or (0,)
        Edge ids; empty if words hold them.
    """

    ends: np.ndarray
    words: np.ndarray
    ids: np.ndarray

    def first(self, size: int) -> Edges:
        """Return views of the first `size` edges."""
        return Edges(self.ends[:size], self.words[:size], self.ids[:size])

    def chosen(self, which: np.ndarray) -> Edges:
        """Return copies of the edges selected by `which`, an array of indices or a mask."""
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
    """The lightest edge that any rank offered for each of the `k` components that this rank owns.

    Attributes
    ----------
    other : numpy.ndarray of uint32, shape (k,)
        The component at the edge's other end; `NONE` if no edge was offered.
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
    """Write the edges of `rows` that are marked in `mask` and join two labels to `edges`; return their number.

    Parameters
    ----------
    mask : numpy.ndarray of uint64, shape (⌈rows / 64⌉,)
        A bit for each row.
    rows : mst.kernels.filter_boruvka.parallel.storage.EdgeList
    label : numpy.ndarray of uint32, shape (n,) or (0,)
        The label of each vertex, which replaces it as an end; if empty, vertices are their own labels.
    edges : Edges
        Overwritten from the front; must have space.
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
    """Lower ``words[c]``, uint64 of shape (k,), to the smallest word of the edges at component `c`, an `Edges`."""
    for i in range(edges.words.size):
        a, b, word = edges.ends[i] & _LOW, edges.ends[i] >> _HALF, edges.words[i]
        words[a] = min(words[a], word)
        words[b] = min(words[b], word)


@njit
def lower_ids(edges, lightest):
    """Lower ``lightest.ids[c]`` to the smallest id of the edges at component `c` with word ``lightest.words[c]``.

    `edges` is an `Edges`, `lightest` a `Lightest`.
    """
    best, best_id = lightest
    for i in range(edges.words.size):
        a, b, word = edges.ends[i] & _LOW, edges.ends[i] >> _HALF, edges.words[i]
        if best[a] == word:
            best_id[a] = min(best_id[a], edges.ids[i])
        if best[b] == word:
            best_id[b] = min(best_id[b], edges.ids[i])


@njit
def hook(edges, lightest, parent, taken):
    """Link each component across its lightest edge, if this rank has that edge.

    An edge that is lightest at both ends links the larger component below the smaller, so links form no cycle.

    Parameters
    ----------
    edges : Edges
    lightest : Lightest
        The minima over the edges of all ranks.
    parent : numpy.ndarray of uint32, shape (k,)
        `NONE` on entry; overwritten for each component that is linked below another.
    taken : numpy.ndarray of uint64, shape (as many as edges can link,)
        Its front is overwritten with the ids of the edges that link.

    Returns
    -------
    int
        The number of edges that link.
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
    """Replace `parent`, as reduced after `hook`, by the number of each component's tree; return the number of trees.

    `lightest` is the argument of `hook`. A component without an edge gets a number of its own only if `keep_all`, a
    bool. (If words are keys, ids show which components have none: a key may equal `NOTHING`, an id may not.)
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
    """Replace the ends of `edges`, an `Edges`, by ``number[end]``; return the number of edges between two components.

    These edges are moved to the front. `number` is uint32 of shape (k,).
    """
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
    """Write ``values[i] << 32 | places[i]`` to ``packed[i]``; the place is `i` if `places` is empty.

    `values` and `places` are uint32, `packed` is uint64, all of shape (k,).
    """
    for i in range(values.size):
        packed[i] = (np.uint64(values[i]) << _HALF) | np.uint64(places[i] if places.size > 0 else i)


@njit
def number_values(packed, number):
    """Number the distinct values in ascending order; return their number.

    `packed`, uint64 of shape (k,), is the sorted output of `pack_values`; its front is overwritten with the distinct
    values. ``number[i]``, uint32 of shape (k,), becomes the number of the value whose place is `i`.
    """
    count = 0
    last = np.uint64(0)
    for j in range(packed.size):
        value = packed[j] >> _HALF
        i = packed[j] & _LOW
        if j == 0 or value != last:
            # `count` never exceeds `j`, so no unread element is overwritten.
            packed[count] = last = value
            count += 1
        number[i] = count - 1
    return count


@njit
def rename_ends(ends, names):
    """Replace both 32-bit halves `x` of each element of `ends` by ``names[x]``.

    `ends` is uint64 of shape (k,), `names` is uint32 of shape (distinct ends,).
    """
    for i in range(ends.size):
        ends[i] = np.uint64(names[ends[i] & _LOW]) | (np.uint64(names[ends[i] >> _HALF]) << _HALF)


@njit
def lightest_at_ends(edges, place):
    """Write to ``place[x]`` the position in `edges`, an `Edges`, of the lightest edge at each end `x`.

    `place` is int32 of shape (k,) and negative on entry.
    """
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
    """Write the lightest edges of the components at ``begins[r] … begins[r] + counts[r] - 1``, rank `r` by rank.

    Parameters
    ----------
    begins, counts : numpy.ndarray of int64, shape (ranks,)
        Ranges of positions in `components`.
    components : numpy.ndarray of uint32, shape (k,)
        Ascending.
    place : numpy.ndarray of int32, shape (k,)
        The position in `edges` of each component's lightest edge, from `lightest_at_ends`.
    names : numpy.ndarray of uint32, shape (distinct ends,)
        The component that each end in `edges` stands for.
    edges : Edges
    offers : Edges
        Overwritten. The low half of ``ends`` is the component for which the edge is offered, the high half the other.
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

    `offers` is an `Edges` from `write_offers`; `first`, an int, is the first component that this rank owns.
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
