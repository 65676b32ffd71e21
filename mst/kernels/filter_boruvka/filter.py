"""Which edges to look at: the lightest few, and of the others those that a forest of the lightest leaves open.

An edge that is selected becomes a *tag*, a uint64: above, 32 bits of its key's *rank* within a window of keys,
below, its id. Ranks keep the order of keys, though keys wider than the window's resolution may share one.

Loops run over unsigned indices: a signed one might count from the array's end, and checking that would cost as
much as all the rest. What data decides at random is written always and kept by advancing an index, since there
is no branch then to mispredict.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.keys import key_at, keys_at

_BLOCK, _ROOM = np.uint64(64), np.uint64(1024)
_HALF, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)
_ZERO, _ONE, _FIVE, _31, _32 = (np.uint64(x) for x in (0, 1, 5, 31, 32))


class Split(NamedTuple):
    """Where light ends: at `key`, and of the edges of just that key, before the id `tie`.

    A few heavy ties, or all weights equal, are thus cut as finely as distinct weights. `about` so many edges are
    light.
    """

    key: np.unsignedinteger
    tie: int
    about: int

    @classmethod
    def of_all(cls, keys, m: int) -> Split:
        """Return the split that all of the `m` edges are below."""
        return cls(keys.words.dtype.type(np.iinfo(keys.words.dtype).max), m, m)


@njit
def is_rare(split, m):
    """Return whether most blocks of the vector loops have no light edge."""
    return 2 * split.about * np.int64(_BLOCK) < m


class Window(NamedTuple):
    """The keys that ranks tell apart: rank 0 at `low` and below, the largest rank at `high` and above."""

    low: np.unsignedinteger
    high: np.unsignedinteger
    shift: np.unsignedinteger

    @property
    def largest_rank(self) -> int:
        return (int(self.high) - int(self.low)) >> int(self.shift)


class Sample(NamedTuple):
    """A sample's ids and keys, the keys once more in order, and how many edges it stands for."""

    ids: np.ndarray
    keys: np.ndarray
    ordered: np.ndarray
    of: int

    def split(self, count: int) -> Split:
        """Return the split that about `count` edges are below."""
        at = min(len(self.ordered) - 1, count * len(self.ordered) // self.of)
        key = self.ordered[at]
        equals = np.sort(self.ids[self.keys == key])
        return Split(key, int(equals[at - np.searchsorted(self.ordered, key)]) + 1, count)

    def densest(self) -> float:
        """Return the largest share of the keys in one of 64 equal ranges."""
        offsets = (self.ordered - self.ordered[0]).astype(np.float64)
        return np.bincount((offsets * (63 / max(offsets[-1], 1.0))).astype(np.int64)).max() / len(offsets)

    def window(self, low=None, high=None) -> Window:
        """Return the finest window of 32-bit ranks over the keys `low` … `high`, by default of all the sample.

        A margin is for the keys beyond the sample's extremes.
        """
        kind = self.keys.dtype.type
        low, high = (
            int(self.ordered[0] if low is None else low),
            int(self.ordered[-1] if high is None else high),
        )
        margin = (high - low) // 64
        low, high = max(low - margin, 0), min(high + margin, int(np.iinfo(kind).max))
        return Window(kind(low), kind(high), kind(max(0, (high - low).bit_length() - 32)))


@njit
def stratified(m, size):
    """Return `size` places among ``0 … m - 1``, ascending: a hashed one in each of equal stretches.

    Sorted, reversed or periodic input biases it not, and it depends on nothing but `m` and `size`.
    """
    places = np.empty(min(size, m), np.int64)
    first = 0
    for i in range(places.size):
        last = (i + 1) * m // places.size
        hashed = np.uint64(i + 1) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(11)
        places[i] = first + np.int64(hashed * 2.0**-53 * (last - first))
        first = last
    return places


def sample(keys, places, ids, of: int) -> Sample:
    """Return the sample of the keys at `places`; `ids` are those of the edges there."""
    probed = keys_at(keys, places)
    return Sample(ids, probed, np.sort(probed), of)


@njit(inline="always")
def rank_of(key, window):
    """Return the rank of `key` within `window`, in a uint64."""
    return np.uint64((min(max(key, window.low), window.high) - window.low) >> window.shift)


@njit
def select_all(keys, window, tags):
    """Write the tags of all edges, by id; return how many."""
    for i in range(np.uint64(keys.words.size)):
        tags[i] = (rank_of(key_at(keys, i), window) << _HALF) | i
    return keys.words.size


@njit
def select_light(keys, split, window, tags):
    """Write the tags of all edges below `split`, by id; return how many.

    Where these are rare, blocks without any are passed over at the speed of a vector loop.
    """
    tie, m, count = np.uint64(split.tie), np.uint64(keys.words.size), _ZERO
    rare = is_rare(split, keys.words.size)
    count = _select_up_to(keys, _ZERO, tie, split.key, window, rare, tags, count)
    if split.key > 0:
        below = keys.words.dtype.type(split.key - keys.words.dtype.type(1))
        count = _select_up_to(keys, tie, m, below, window, rare, tags, count)
    return np.int64(count)


@njit
def _select_up_to(keys, start, stop, limit, window, rare, tags, count):
    block = start
    while block < stop:
        end = min(block + _BLOCK, stop)
        if rare:
            least = key_at(keys, block)
            for i in range(block, end):
                least = min(least, key_at(keys, i))
        if not rare or least <= limit:
            for i in range(block, end):
                key = key_at(keys, i)
                # Not above the window where it counts, and a comparison that chance decides would be a branch.
                rank = np.uint64((max(key, window.low) - window.low) >> window.shift)
                tags[count] = (rank << _HALF) | i
                count += np.uint64(key <= limit)
        block = end
    return count


@njit
def select_heavy(keys, split, u, v, label, outside, window, tags):
    """Write the tags of the edges not below `split` that may join two trees; return how many.

    `outside` is the bitmap of the vertices outside the giant tree (`mark_outside`), and an edge with an end
    there is selected; without a giant it is empty, and an edge whose ends differ in `label` is.
    """
    tie, m, count = np.uint64(split.tie), np.uint64(keys.words.size), _ZERO
    above = keys.words.dtype.type(split.key + keys.words.dtype.type(1))
    if above > split.key:
        count = _select_from(keys, _ZERO, tie, above, u, v, label, outside, window, tags, count)
    return np.int64(_select_from(keys, tie, m, split.key, u, v, label, outside, window, tags, count))


@njit
def _select_from(keys, start, stop, bound, u, v, label, outside, window, tags, count):
    ids = np.empty(_ROOM, np.uint64)
    for block in range(start, stop, _ROOM):
        # Ends first and keys of the few that are left: of both at once compilers make a branch.
        end, found = min(block + _ROOM, stop), _ZERO
        if outside.size > 0:
            for i in range(block, end):
                ids[found] = i
                found += bit_of_32(outside, u[i]) | bit_of_32(outside, v[i])
        else:
            for i in range(block, end):
                ids[found] = i
                found += np.uint64(label[u[i]] != label[v[i]])
        for j in range(found):
            key = key_at(keys, ids[j])
            rank = np.uint64((min(key, window.high) - window.low) >> window.shift)
            tags[count] = (rank << _HALF) | ids[j]
            count += np.uint64(key >= bound)
    return count


@njit(inline="always")
def bit_of_32(bits, x):
    """Return bit `x` of a bitmap of 32-bit words, such as that of `mark_outside`."""
    return (np.uint64(bits[np.uint64(x) >> _FIVE]) >> (np.uint64(x) & _31)) & _ONE


@njit
def mark_outside(label, giant):
    """Return a bitmap, 32 vertices a word, of the vertices whose label is not `giant`."""
    bits = np.empty((label.size + 31) // 32, np.uint32)
    for word in range(bits.size):
        mask, first = _ZERO, np.uint64(32 * word)
        for j in range(min(_32, np.uint64(label.size) - first)):
            mask |= np.uint64(label[first + j] != giant) << j
        bits[word] = np.uint32(mask)
    return bits


@njit
def flatten(parent):
    """Point every vertex at its root; parents have smaller indices, so one sweep does it."""
    for x in range(parent.size):
        parent[x] = parent[parent[x]]


def giant_label(label: np.ndarray, size: int = 512):
    """Return the commonest label of a sample of vertices, and its share of the sample."""
    giant, share = _commonest(label, size)
    return label.dtype.type(giant), share


@njit
def _commonest(label, size):
    seen = np.sort(label[stratified(label.size, size)])
    first = best = most = 0
    for i in range(seen.size):
        if seen[i] != seen[first]:
            first = i
        if i + 1 - first > most:
            best, most = i, i + 1 - first
    return seen[best], most / seen.size


class Ends(NamedTuple):
    """Where the ends of a tagged edge are found: at its id in `u` and `v`, or at its tag's place in `pairs`.

    `pairs` holds `u` below and `v` above, in a uint64; it is empty where the edge list itself is at hand.
    """

    u: np.ndarray
    v: np.ndarray
    pairs: np.ndarray


@njit(inline="always")
def ends_at(ends, tags, j):
    """Return both ends of the edge of tag `j`, packed into a uint64."""
    if ends.pairs.size > 0:
        return ends.pairs[j]
    e = tags[j] & _LOW
    return np.uint64(ends.u[e]) | (np.uint64(ends.v[e]) << _HALF)


@njit
def move_light(tags, pairs, count, limit, light_tags, light_pairs):
    """Move the edges of rank ≤ `limit` to the light arrays, close the gaps; return how many moved."""
    moved = kept = _ZERO
    for j in range(np.uint64(count)):
        tag = tags[j]
        light_tags[moved] = tags[kept] = tag
        if pairs.size > 0:
            light_pairs[moved] = pairs[kept] = pairs[j]
        below = (tag >> _HALF) <= limit
        moved += np.uint64(below)
        kept += np.uint64(not below)
    return np.int64(moved)


@njit
def keep_open(ends, tags, count, label):
    """Keep the tags, and pairs, of the edges whose ends differ in `label`; return how many."""
    kept = _ZERO
    for j in range(np.uint64(count)):
        pair = ends_at(ends, tags, j)
        tags[kept] = tags[j]
        if ends.pairs.size > 0:
            ends.pairs[kept] = pair
        kept += np.uint64(label[pair & _LOW] != label[pair >> _HALF])
    return np.int64(kept)
