"""Hashes, and counter-based randomness: numbers and permutations that are functions of (key, counter).

Without state, any thread can make any draw in any order, using integer arithmetic only, so a seed gives the same
numbers on every platform and at every width. The mixer is the finaliser of SplitMix64 (Steele, Lea and Flood,
OOPSLA 2014; constants of Stafford's variant 13), the unbiased range reduction is Lemire's (TOMACS 2019), and
permutations are Feistel networks with cycle walking (Black and Rogaway, CT-RSA 2002).
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import numpy as np
from numba import prange

from mst.kernels.primitives.jit import njit

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""2⁶⁴ divided by the golden ratio, odd."""

_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_THIRD = np.uint64(0xD6E8FEB86659FD93)
_LOW32 = np.uint64(0xFFFFFFFF)
_ZERO, _ONE = np.uint64(0), np.uint64(1)
_S27, _S30, _S31, _S32 = (np.uint64(s) for s in (27, 30, 31, 32))


class Permutation(NamedTuple):
    """A permutation of ``0 … size - 1``, as `permuted` and `unpermuted` take it; build it with `permutation`.

    Attributes
    ----------
    size, rows : numpy.uint64
        The domain, laid out as ``rows`` rows of ``2**shift`` columns (the last row may be incomplete).
    shift, mask : numpy.uint64
        The row of `x` is ``x >> shift``, its column ``x & mask``.
    keys : numpy.ndarray of uint64, shape (rounds,)
        One key per Feistel round; an even number.
    """

    size: np.uint64
    rows: np.uint64
    shift: np.uint64
    mask: np.uint64
    keys: np.ndarray


def stream(seed: int, label: str) -> np.uint64:
    """Return the key of an independent stream of draws, one for each `seed` and `label`.

    Examples
    --------
    >>> from mst.kernels.primitives.hashing import stream
    >>> int(stream(1, "weights")) == int(stream(1, "tree"))
    False
    """
    digest = hashlib.sha256(f"{seed} {label}".encode()).digest()
    return np.uint64(int.from_bytes(digest[:8], "little"))


def permutation(seed: int, label: str, size: int) -> Permutation:
    """Return the pseudo-random permutation of ``0 … size - 1`` of a seed and label, for any size up to 2⁶⁴ - 1.

    Examples
    --------
    >>> from mst.kernels.primitives.hashing import permutation, permuted_range
    >>> sorted(permuted_range(permutation(1, "example", 7), 7).tolist())
    [0, 1, 2, 3, 4, 5, 6]
    """
    bits = max(size - 1, 0).bit_length()
    shift = max(1, (bits + 1) // 2)
    # Six rounds are enough for large domains. Small ones need more for all permutations to be equally likely:
    # for 6 elements, 6 and 12 rounds fail a chi-square test over the 720 permutations, 24 pass.
    rounds = max(6, 32 - bits) // 2 * 2
    digests = (hashlib.sha256(f"{seed} {label} round {r}".encode()).digest() for r in range(rounds))
    return Permutation(
        size=np.uint64(size),
        rows=np.uint64(-(-size // 2**shift)),
        shift=np.uint64(shift),
        mask=np.uint64(2**shift - 1),
        keys=np.array([int.from_bytes(d[:8], "little") for d in digests], np.uint64),
    )


@njit(inline="always")
def half_mix(x):
    """Return a uint64 whose highest bits depend on all bits of `x`, a uint64; a bijection, the first half of `mix`."""
    x = (x ^ (x >> _S30)) * _FIRST
    return x ^ (x >> _S27)


@njit
def mix(x):
    """Return a uint64 whose every bit depends on all bits of `x`, a uint64; a bijection."""
    x = half_mix(x) * _SECOND
    return x ^ (x >> _S31)


@njit(inline="always")
def multiplicative_hash(x):
    """Return a uint64 whose highest bits are a hash of the integer `x` (Knuth, *TAOCP*, volume 3, §6.4)."""
    return np.uint64(x) * GOLDEN


@njit
def short_hash(key, i):
    """Return a uint64 whose highest 32 bits are random, for counter `i` of the stream `key`; cheaper than `hash1`."""
    x = multiplicative_hash(np.uint64(i) + multiplicative_hash(key))
    return (x ^ (x >> _S32)) * _THIRD


@njit
def hash1(key, i):
    """Return 64 pseudo-random bits, a uint64, for counter `i` of the stream `key`, both uint64."""
    return mix(key + GOLDEN * np.uint64(i))


@njit
def hash2(key, i, j):
    """Return 64 pseudo-random bits, a uint64, for the counters ``(i, j)`` of the stream `key`, all uint64."""
    return hash1(hash1(key, i), j)


@njit
def wide_product(x, y):
    """Return the high and the low 64 bits of the 128-bit product of two uint64."""
    x0, x1, y0, y1 = x & _LOW32, x >> _S32, y & _LOW32, y >> _S32
    low, middle = x0 * y0, x1 * y0
    middle += low >> _S32
    high = x1 * y1 + (middle >> _S32)
    middle = (middle & _LOW32) + x0 * y1
    return high + (middle >> _S32), x * y


@njit
def below(bits, count):
    """Map 64 random bits to ``0 … count - 1``, every number equally likely; all uint64, and count 0 stands for 2⁶⁴.

    The few bit patterns that would favour some numbers are replaced by their hash.
    """
    if count == _ZERO:
        return bits
    high, low = wide_product(bits, count)
    if low < count:
        unfair = (~count + _ONE) % count  # 2⁶⁴ mod count
        while low < unfair:
            bits = mix(bits + GOLDEN)
            high, low = wide_product(bits, count)
    return high


@njit
def permuted(permutation, x):
    """Return the image of `x`, a uint64, under a `Permutation`."""
    size, rows, shift, mask, keys = permutation
    x = np.uint64(x)
    while True:
        row, column = x >> shift, x & mask
        for r in range(0, keys.size, 2):
            row += ((hash1(keys[r], column) >> _S32) * rows) >> _S32
            if row >= rows:
                row -= rows
            column = (column + (hash1(keys[r + 1], row) >> _S32)) & mask
        x = (row << shift) | column
        if x < size:
            return x


@njit
def unpermuted(permutation, x):
    """Return the uint64 whose image under a `Permutation` is `x`."""
    size, rows, shift, mask, keys = permutation
    x = np.uint64(x)
    while True:
        row, column = x >> shift, x & mask
        for r in range(keys.size - 2, -1, -2):
            column = (column - (hash1(keys[r + 1], row) >> _S32)) & mask
            step = ((hash1(keys[r], column) >> _S32) * rows) >> _S32
            row = row - step if row >= step else row + rows - step
        x = (row << shift) | column
        if x < size:
            return x


@njit(parallel=True)
def permuted_range(permutation, count):
    """Return the images of ``0 … count - 1`` under a `Permutation`: uint64, shape (count,)."""
    out = np.empty(count, np.uint64)
    for i in prange(count):
        out[i] = permuted(permutation, i)
    return out


@njit(parallel=True)
def fill_hashed(out, u, v, key, count, start, unit):
    """Write the weight of each edge: ``out[i] = (start + number) * unit``, `number` a hash of its ends below `count`.

    Arithmetic is modulo 2⁶⁴ and read as signed, so `start` may stand for a negative integer.

    Parameters
    ----------
    out : numpy.ndarray of any weight dtype, shape (m,)
        Overwritten.
    u, v : numpy.ndarray of int, shape (m,)
    key : numpy.uint64
        From `stream`.
    count, start : int
    unit : int or float
    """
    count, start = np.uint64(count), np.uint64(start)
    for i in prange(u.size):
        number = below(hash2(key, min(u[i], v[i]), max(u[i], v[i])), count)
        out[i] = np.int64(start + number) * unit


@njit(parallel=True)
def fill_permuted(out, rows, permutation, start, unit):
    """Like `fill_hashed`, but edge ``rows[i]`` gets the image of `i` under a `Permutation`: no two are equal.

    `rows`, int of shape (m,), holds every edge once.
    """
    start = np.uint64(start)
    for i in prange(rows.size):
        out[rows[i]] = np.int64(start + permuted(permutation, i)) * unit
