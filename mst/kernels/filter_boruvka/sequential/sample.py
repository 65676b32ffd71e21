"""The threshold between light and heavy edges, and the levels of keys, estimated from a sample of the edges.

This is the first step of Filter-Borůvka on one core.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mst.kernels.primitives.hashing import multiplicative_hash
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.keys import LazyKeys, keys_at

_SURPLUS_BITS = np.uint64(11)
_BLOCK = 64


class Split(NamedTuple):
    """The threshold between light and heavy edges: an edge is light if its (key, id) is below (`key`, `tie`).

    Since the threshold includes an id, edges of equal weight are split as finely as those of distinct weights.

    Attributes
    ----------
    key : unsigned integer of 32 or 64 bits
    tie : int
    expected : int
        The estimated number of light edges.
    """

    key: np.unsignedinteger
    tie: int
    expected: int

    @classmethod
    def of_all(cls, keys: LazyKeys, m: int) -> Split:
        """Return a split that makes all `m` edges light."""
        return cls(keys.words.dtype.type(np.iinfo(keys.words.dtype).max), m, m)


@njit
def is_selective(split, m):
    """Return whether a `Split` makes so few of `m` edges light that most blocks of a vector loop have none."""
    return 2 * split.expected * _BLOCK < m


class Window(NamedTuple):
    """A range of keys divided into levels: level 0 at `low` and below, the largest level at `high` and above.

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
        """The level of `high`."""
        return (int(self.high) - int(self.low)) >> int(self.shift)


@njit(inline="always")
def level_of(key, window):
    """Return the level of `key` in a `Window`, as a uint64."""
    return np.uint64((min(max(key, window.low), window.high) - window.low) >> window.shift)


class Sample(NamedTuple):
    """A sample of the edges.

    Attributes
    ----------
    ids : numpy.ndarray of int64, shape (k,)
    keys : numpy.ndarray of uint32 or uint64, shape (k,)
    ordered : numpy.ndarray of the dtype of `keys`, shape (k,)
        The same keys, ascending.
    population : int
        The number of edges from which the sample was drawn.
    """

    ids: np.ndarray
    keys: np.ndarray
    ordered: np.ndarray
    population: int

    def split(self, wanted: int) -> Split:
        """Return the split that makes about `wanted` edges light."""
        at = min(len(self.ordered) - 1, wanted * len(self.ordered) // self.population)
        key = self.ordered[at]
        equals = np.sort(self.ids[self.keys == key])
        return Split(key, int(equals[at - np.searchsorted(self.ordered, key)]) + 1, wanted)

    def densest(self) -> float:
        """Return the largest share of the keys in one of 64 equal ranges."""
        offsets = (self.ordered - self.ordered[0]).astype(np.float64)
        ranges = (offsets * (63 / max(offsets[-1], 1.0))).astype(np.int64)
        return float(np.bincount(ranges).max() / len(offsets))

    def window(self, low=None, high=None) -> Window:
        """Return the window with the finest 32-bit levels over keys `low` … `high`, by default the sample's.

        The window extends a little beyond these, since keys outside the sample may lie beyond its extremes.
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
    """Return ``min(size, m)`` places in ``0 … m - 1``, ascending, int64: one from each of equal ranges.

    Each is chosen by a hash, so that sorted, reversed or periodic input does not bias a sample at these places.
    """
    places = np.empty(min(size, m), np.int64)
    first = 0
    for i in range(places.size):
        last = (i + 1) * m // places.size
        hashed = multiplicative_hash(i + 1) >> _SURPLUS_BITS
        places[i] = first + np.int64(hashed * 2.0**-53 * (last - first))
        first = last
    return places


def sample(keys: LazyKeys, places: np.ndarray, ids: np.ndarray, population: int) -> Sample:
    """Return the sample of `keys` at `places`, whose edge ids are `ids`; both are int64 of shape (k,)."""
    drawn = keys_at(keys, places)
    return Sample(ids, drawn, np.sort(drawn), population)
