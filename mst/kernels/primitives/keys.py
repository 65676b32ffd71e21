"""Order-preserving transforms from weights to unsigned keys."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mst.kernels.primitives.jit import njit


@njit
def extremes(values):
    """Return the least and the greatest of `values`, int64 of shape (m,); ``(0, 0)`` if there are none."""
    if values.size == 0:
        return np.int64(0), np.int64(0)
    low = high = values[0]
    for value in values:
        low, high = min(low, value), max(high, value)
    return low, high


@njit
def offset_keys(weights, low):
    """Return ``weights - low`` as uint32, shape (m,), for int64 weights whose least is `low` and whose range fits."""
    out = np.empty(weights.size, np.uint32)
    for i in range(weights.size):
        out[i] = np.uint32(np.uint64(weights[i]) - np.uint64(low))
    return out


@njit
def fits_float32(weights):
    """Return whether all of `weights`, float64 of shape (m,), are exact in float32."""
    for weight in weights:
        if np.float64(np.float32(weight)) != weight:
            return False
    return True


class LazyKeys(NamedTuple):
    """Weights as they are in memory, and the masks that convert them to keys when read: see `key_at`.

    An integer's key has the sign bit flipped, which turns two's complement into offset binary. That also moves positive
    floats above negative ones; the order of negative ones is reversed, and ``-0.0`` becomes ``0.0`` first.

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
    """Return key `i` of `LazyKeys`, of the dtype of their words.

    It uses only masks: a conditional might be compiled to a branch, which prevents vectorisation.
    """
    kind = keys.words.dtype.type
    word = np.uint64(keys.words[i])
    minus_zero = _none_or_all(np.uint64(word == keys.top) & np.uint64(keys.rest != 0))
    word ^= keys.top & minus_zero
    negative = _none_or_all(word >> np.uint64(keys.words.itemsize * 8 - 1))
    return kind(word ^ keys.top ^ (keys.rest & negative))


@njit
def read_keys(keys, first, out):
    """Write the keys from `first`, a uint64, on of `LazyKeys` to `out`, of the dtype of their words and shape (k,)."""
    words, top = keys.words, keys.top
    if keys.rest == 0:
        for j in range(np.uint64(out.size)):
            out[j] = words[first + j] ^ top
    else:
        for j in range(np.uint64(out.size)):
            out[j] = key_at(keys, first + j)


@njit(inline="always")
def _none_or_all(bit):
    """Return a uint64 with all bits equal to `bit`, a uint64 of 0 or 1."""
    return np.uint64(0) - bit


def plain_keys(weights: np.ndarray) -> np.ndarray:
    """Return the keys of int32, int64, float32 or float64 weights: unsigned, of the same width and shape (m,).

    Examples
    --------
    >>> import numpy as np
    >>> from mst.kernels.primitives.keys import plain_keys
    >>> plain_keys(np.array([-1, 0, 1], np.int32)).tolist()
    [2147483647, 2147483648, 2147483649]
    """
    keys = lazy_keys(weights)
    out = np.empty(len(weights), keys.words.dtype)
    read_keys(keys, np.uint64(0), out)
    return out


@njit
def keys_at(keys, positions):
    """Return the keys of `LazyKeys` at `positions`, int of shape (k,): of the dtype of their words, shape (k,)."""
    out = np.empty(positions.size, keys.words.dtype)
    for j in range(positions.size):
        out[j] = key_at(keys, positions[j])
    return out
