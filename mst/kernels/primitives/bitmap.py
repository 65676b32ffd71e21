"""Bitmaps: element `i` is bit ``i % b`` of word ``i // b``, in words of `b` = 32 or 64 bits.

With 32-bit words, random single-word reads take half the cache; 64-bit words are compacted with fewer instructions.
"""

from __future__ import annotations

from typing import Any

import numba  # noqa: F401
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import overload

from mst.kernels.primitives.jit import intrinsic, njit

_ONE = np.uint64(1)
_BYTES_TO_TOP = np.uint64(0x0102040810204080)


def zeroed(size: int, dtype: type = np.uint64) -> np.ndarray:
    """Return a bitmap of `size` elements, all clear; its words have the given dtype.

    Examples
    --------
    >>> from mst.kernels.primitives.bitmap import zeroed
    >>> zeroed(65).shape
    (2,)
    """
    bits = 8 * np.dtype(dtype).itemsize
    return np.zeros(-(-size // bits), dtype)


def get_bit(words: Any, i: Any) -> Any:
    """Return bit `i`, as a uint64, of `words`: uint32 or uint64, shape (k,)."""
    raise NotImplementedError("for compiled code only")


@overload(get_bit, inline="always")
def _get_bit(words, i):
    shift, mask = np.uint64(words.dtype.bitwidth.bit_length() - 1), np.uint64(words.dtype.bitwidth - 1)
    return lambda words, i: (np.uint64(words[np.uint64(i) >> shift]) >> (np.uint64(i) & mask)) & _ONE


@njit
def set_bits(ids, words):
    """Set the bits `ids`, int of shape (k,), in `words`, uint32 of shape (⌈m / 32⌉,)."""
    for e in ids:
        words[np.uint64(e) >> np.uint64(5)] |= np.uint32(_ONE << (np.uint64(e) & np.uint64(31)))


@intrinsic
def count_ones(typing_context, word):
    """Return the number of set bits of a uint64, as int64."""

    def generate(context, builder, signature, arguments):
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), generate


@intrinsic
def count_trailing_zeros(typing_context, word):
    """Return the number of zeros below the lowest set bit of a uint64, as int64."""

    def generate(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.IntType(1)(0))

    return types.int64(types.uint64), generate


@njit(inline="always")
def bits_of_bytes(words):
    """Return a uint64 whose bit `i` is byte `i`, which is 0 or 1, of the 64 bytes in `words`, uint64 (8,)."""
    bits = np.uint64(0)
    for i in range(np.uint64(8)):
        # The product has byte j of the word, a single bit, at bit 56 + j.
        bits |= ((words[i] * _BYTES_TO_TOP) >> np.uint64(56)) << (i << np.uint64(3))
    return bits


@njit
def write_positions_of_ones(word, base, out, at):
    """Write ``base + i`` for each set bit `i` of `word`, a uint64, to `out`, ascending from ``out[at]`` on.

    `base`, `at` and `out`, of shape (k,), have any integer dtypes. Returns the place after the last one.
    """
    while word:
        out[at] = base + count_trailing_zeros(word)
        at += _ONE
        word &= word - _ONE
    return at


@njit
def move_ones(word, base, values, at):
    """Move ``values[base + i]`` for each set bit `i` of `word`, a uint64, to the places from `at` on, in their order.

    `values` is of shape (k,) and any dtype; `base` and `at`, which is at most `base`, are uint64. Returns the place
    after the last one.
    """
    while word:
        values[at] = values[base + np.uint64(count_trailing_zeros(word))]
        at += _ONE
        word &= word - _ONE
    return at
