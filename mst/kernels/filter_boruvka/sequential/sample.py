"""Where light ends, and how finely keys are told apart: read off a sample of the edges."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mst.kernels.primitives.hashing import multiplicative_hash
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.keys import LazyKeys, keys_at

_11 = np.uint64(11)
_BLOCK = 64


class Split(NamedTuple):
    """Where light ends: at `key`, and of the edges of just that key, before the id `tie`.

    A few heavy ties, or all weights equal, are thus cut as finely as distinct weights.

    Attributes
    ----------
    key : unsigned integer of 32 or 64 bits
    tie : int
    about : int
        So many edges are light.
    """

    key: np.unsignedinteger
    tie: int
    about: int

    @classmethod
    def of_all(cls, keys: LazyKeys, m: int) -> Split:
        """Return the split that all of the `m` edges are below."""
        return cls(keys.words.dtype.type(np.iinfo(keys.words.dtype).max), m, m)


@njit
def is_selective(split, m):
    """Return whether most blocks of the vector loops over `m` edges have no light edge."""
    return 2 * split.about * _BLOCK < m


class Window(NamedTuple):
    """The keys that levels tell apart: level 0 at `low` and below, the largest level at `high` and above.

    Attributes
    ----------
    low, high : unsigned integer of 32 or 64 bits
    shift : unsigned integer of the same width
        A level is ``(key - low) >> shift`` and has 32 bits.
    """

    low: np.unsignedinteger
    high: np.unsignedinteger
    shift: np.unsignedinteger

    @property
    def largest_level(self) -> int:
        return (int(self.high) - int(self.low)) >> int(self.shift)


@njit(inline="always")
def level_of(key, window):
    """Return the level of `key` within `window`, in a uint64."""
    return np.uint64((min(max(key, window.low), window.high) - window.low) >> window.shift)


class Sample(NamedTuple):
    """Some edges that stand for all.

    Attributes
    ----------
    ids : numpy.ndarray of int64, shape (k,)
    keys : numpy.ndarray of uint32 or uint64, shape (k,)
    ordered : numpy.ndarray, shape (k,)
        The keys once more, ascending.
    of : int
        How many edges the sample stands for.
    """

    ids: np.ndarray
    keys: np.ndarray
    ordered: np.ndarray
    of: int

    def split(self, wanted: int) -> Split:
        """Return the split that about `wanted` edges are below."""
        at = min(len(self.ordered) - 1, wanted * len(self.ordered) // self.of)
        key = self.ordered[at]
        equals = np.sort(self.ids[self.keys == key])
        return Split(key, int(equals[at - np.searchsorted(self.ordered, key)]) + 1, wanted)

    def densest(self) -> float:
        """Return the largest share of the keys in one of 64 equal ranges."""
        offsets = (self.ordered - self.ordered[0]).astype(np.float64)
        ranges = (offsets * (63 / max(offsets[-1], 1.0))).astype(np.int64)
        return float(np.bincount(ranges).max() / len(offsets))

    def window(self, low=None, high=None) -> Window:
        """Return the finest window of 32-bit levels over the keys `low` … `high`, by default of all the sample.

        A margin is for the keys beyond the sample's extremes.
        """
        kind = self.keys.dtype.type
        least, greatest = (
            int(self.ordered[0] if low is None else low),
            int(self.ordered[-1] if high is None else high),
        )
        margin = (greatest - least) // 64
        least, greatest = max(least - margin, 0), min(greatest + margin, int(np.iinfo(kind).max))
        return Window(kind(least), kind(greatest), kind(max(0, (greatest - least).bit_length() - 32)))


@njit
def stratified(m, size):
    """Return ``min(size, m)`` places among ``0 … m - 1``, ascending, int64: a hashed one in each of equal stretches.

    Sorted, reversed or periodic input biases it not, and it depends on nothing but `m` and `size`.
    """
    places = np.empty(min(size, m), np.int64)
    first = 0
    for i in range(places.size):
        last = (i + 1) * m // places.size
        hashed = multiplicative_hash(i + 1) >> _11
        places[i] = first + np.int64(hashed * 2.0**-53 * (last - first))
        first = last
    return places


def sample(keys: LazyKeys, places: np.ndarray, ids: np.ndarray, of: int) -> Sample:
    """Return the sample of the keys at `places`; `ids` are those of the edges there, both int64 of one length."""
    drawn = keys_at(keys, places)
    return Sample(ids, drawn, np.sort(drawn), of)
