"""Order-preserving transforms from weights to unsigned keys."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mst.kernels.primitives.jit import njit

_TOP32 = np.uint32(0x80000000)
_TOP64 = np.uint64(0x8000000000000000)


def int32_keys(weights: np.ndarray) -> np.ndarray:
    """Flip the sign bit: two's complement becomes offset binary."""
    return weights.view(np.uint32) ^ _TOP32


def int64_keys(weights: np.ndarray) -> np.ndarray:
    """Flip the sign bit, in 64 bits."""
    return weights.view(np.uint64) ^ _TOP64


@njit
def extremes(values):
    """Smallest and largest of an int64 array; ``(0, 0)`` when it is empty."""
    if values.size == 0:
        return np.int64(0), np.int64(0)
    low = high = values[0]
    for value in values:
        low, high = min(low, value), max(high, value)
    return low, high


@njit
def offset_keys(weights, low):
    """uint32 distances from `low`, for int64 weights of a range below 2³²."""
    out = np.empty(weights.size, np.uint32)
    for i in range(weights.size):
        out[i] = np.uint32(np.uint64(weights[i]) - np.uint64(low))
    return out


@njit
def float32_keys(weights):
    """Negative floats reverse, positive ones move above them; -0.0 becomes 0.0 first."""
    bits = weights.view(np.uint32)
    out = np.empty(weights.size, np.uint32)
    for i in range(weights.size):
        x = bits[i]
        if x == _TOP32:
            x = np.uint32(0)
        out[i] = ~x if x & _TOP32 else x | _TOP32
    return out


@njit
def float64_keys(weights):
    """As `float32_keys`, in 64 bits."""
    bits = weights.view(np.uint64)
    out = np.empty(weights.size, np.uint64)
    for i in range(weights.size):
        x = bits[i]
        if x == _TOP64:
            x = np.uint64(0)
        out[i] = ~x if x & _TOP64 else x | _TOP64
    return out


@njit
def fits_float32(weights):
    """True when every float64 survives the round trip through float32."""
    for weight in weights:
        if np.float64(np.float32(weight)) != weight:
            return False
    return True


@njit
def narrowed_keys(weights):
    """`float32_keys` of float64 weights that `fits_float32` has accepted."""
    return float32_keys(weights.astype(np.float32))


class LazyKeys(NamedTuple):
    """Weights as they lie in memory, and what turns one into its key when it is read: see `key_at`.

    Attributes
    ----------
    words : numpy.ndarray of uint32 or uint64, shape (m,)
        The bits of the weights.
    top : unsigned integer of the same width
        The sign bit.
    rest : unsigned integer of the same width
        All other bits for floats, whose negative half runs backwards; 0 for integers.
    """

    words: np.ndarray
    top: np.unsignedinteger
    rest: np.unsignedinteger


def lazy_keys(weights: np.ndarray) -> LazyKeys:
    """Return the keys of int32, int64, float32 or float64 weights, of the same width, without writing them."""
    unsigned = np.uint32 if weights.itemsize == 4 else np.uint64
    top = unsigned(1 << (weights.itemsize * 8 - 1))
    return LazyKeys(weights.view(unsigned), top, unsigned(top - 1 if weights.dtype.kind == "f" else 0))


@njit(inline="always")
def key_at(keys, i):
    """Return key `i` by masks alone: what might be compiled to a branch could not be part of a vector loop."""
    kind = keys.words.dtype.type
    word = np.uint64(keys.words[i])
    minus_zero = _none_or_all(np.uint64(word == keys.top) & np.uint64(keys.rest != 0))
    word ^= keys.top & minus_zero
    negative = _none_or_all(word >> np.uint64(keys.words.itemsize * 8 - 1))
    return kind(word ^ keys.top ^ (keys.rest & negative))


@njit(inline="always")
def _none_or_all(bit):
    return np.uint64(0) - bit


@njit
def keys_at(keys, positions):
    """Return the keys at `positions`."""
    out = np.empty(positions.size, keys.words.dtype)
    for j in range(positions.size):
        out[j] = key_at(keys, positions[j])
    return out
