"""Edges as 64-bit words that compare by the order: one type for every weight dtype.

A word is ``key << 32 | edge id`` if keys and ids fit in 32 bits each, so words are distinct. If not, it is the key
alone, ids are in a separate array, and equal words compare by their ids.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mst.kernels.primitives.jit import njit

NONE = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
"""A word above every packed one. A 64-bit key may equal it without harm: the minimum of such keys is still right."""

_HALF = np.uint64(32)
_LOW_HALF = np.uint64(0xFFFF_FFFF)


class PackedEdges(NamedTuple):
    """An edge list in words; k is the number of edges.

    Attributes
    ----------
    a, b : numpy.ndarray of int32 or int64, shape (k,)
        Both ends, or the components they belong to.
    words : numpy.ndarray of uint64, shape (k,)
    ids : numpy.ndarray of int64, shape (k,) or (0,)
        Empty if the words hold the ids.
    """

    a: np.ndarray
    b: np.ndarray
    words: np.ndarray
    ids: np.ndarray

    def empty(self) -> PackedEdges:
        """Return uninitialised edges of the same length and dtypes."""
        return PackedEdges(*(np.empty_like(column) for column in self))


class PackedRows(NamedTuple):
    """Symmetric compressed sparse rows in words.

    Attributes
    ----------
    offsets : numpy.ndarray of int64, shape (n + 1,)
        Row `x` has the slots ``offsets[x] … offsets[x + 1] - 1``.
    neighbours : numpy.ndarray of int32 or int64, shape (slots,)
    words : numpy.ndarray of uint64, shape (slots,)
    ids : numpy.ndarray of int64, shape (slots,) or (0,)
        Empty if the words hold the ids.
    """

    offsets: np.ndarray
    neighbours: np.ndarray
    words: np.ndarray
    ids: np.ndarray


def pack(keys: np.ndarray, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ``(words, ids)`` of edges, or of the slots of a CSR.

    Parameters
    ----------
    keys : numpy.ndarray of uint32 or uint64, shape (k,)
        Order-preserving keys of the weights.
    ids : numpy.ndarray of int, shape (k,)
        Edge ids.

    Returns
    -------
    words : numpy.ndarray of uint64, shape (k,)
    ids : numpy.ndarray of int64, shape (k,) or (0,)
        Empty if the words hold the ids.
    """
    words = keys.astype(np.uint64)
    if keys.dtype != np.uint32 or (len(ids) and int(ids.max()) >= 2**32):
        return words, ids.astype(np.int64)
    words <<= _HALF
    words |= ids.astype(np.uint64)
    return words, np.empty(0, np.int64)


@njit(inline="always")
def edge_id(words, ids, i):
    """Return the edge id (int64) of word `i`.

    `words` has dtype uint64 and shape (k,), `ids` int64 and shape (k,) or (0,).
    """
    return ids[i] if ids.size else np.int64(words[i] & _LOW_HALF)


@njit(inline="always")
def lighter(words, ids, i, j):
    """Return whether word `i` comes before word `j` in the order; `words` and `ids` are as for `edge_id`."""
    if words[i] != words[j]:
        return words[i] < words[j]
    return ids.size > 0 and ids[i] < ids[j]
