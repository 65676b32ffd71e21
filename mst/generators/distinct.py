"""Selects the distinct edges among random arcs: all of them, or a given number."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mst.generators.definition import require

_MAX_ROUNDS = 64
_SMALL = 2**16


def distinct(pairs: np.ndarray) -> np.ndarray:
    """Sort pairs in place; return the front part, which has each pair once and no `DROPPED`."""
    from mst.kernels.primitives.pairs import unique

    pairs.sort()
    return pairs[: unique(pairs)]


def draw_distinct(m: int, draw: Callable[[int, int], np.ndarray], at_least: int, seed: int) -> np.ndarray:
    """Draw pairs until at least `m` of them are distinct, then drop randomly chosen ones beyond `m`.

    Parameters
    ----------
    m : int
        Number of pairs to return.
    draw : callable
        ``draw(first, count)`` returns the pairs ``first … first + count - 1`` of an endless sequence, packed, as a
        numpy.ndarray of uint64.
    at_least : int
        Number of pairs to draw at first.
    seed : int
        Decides which pairs are dropped.

    Returns
    -------
    numpy.ndarray of uint64, shape (m,)
        Sorted.

    Raises
    ------
    InputError
        Further draws yield hardly any new pairs.
    """
    drawn = at_least
    pairs = distinct(draw(0, drawn))
    rounds = 1
    while len(pairs) < m:
        require(
            rounds < _MAX_ROUNDS,
            f"{drawn:,} arcs gave only {len(pairs):,} distinct edges, but m = {m:,}: "
            "lower m, add vertices, or choose more even probabilities",
        )
        # One sixteenth more than the rate so far requires, since later arcs are more often repeated ones.
        expected = (m - len(pairs)) * drawn // max(len(pairs), 1) * 17 // 16
        more = min(expected + 64, max(m, _SMALL))
        pairs = distinct(np.concatenate([pairs, draw(drawn, more)]))
        drawn += more
        rounds += 1
    return _without_surplus(pairs, m, seed)


def _without_surplus(pairs: np.ndarray, m: int, seed: int) -> np.ndarray:
    """Return `m` randomly chosen pairs in their order; the array is overwritten."""
    from mst.kernels.primitives import hashing
    from mst.kernels.primitives.pairs import compact, erase_random

    erase_random(pairs, hashing.permutation(seed, "surplus", len(pairs)), len(pairs) - m)
    return pairs[: compact(pairs)]
