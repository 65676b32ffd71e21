"""Distinct edges out of arcs that repeat: all of them, or an exact number."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mst.generators.definition import require

_MAX_ROUNDS = 64
_SMALL = 2**16


def distinct(pairs: np.ndarray) -> np.ndarray:
    """Sort in place; return the front part, with every pair once and without `DROPPED`."""
    from mst.kernels.primitives.pairs import unique

    pairs.sort()
    return pairs[: unique(pairs)]


def exactly(
    m: int, draw: Callable[[int, int], np.ndarray], at_least: int, generator: str, seed: int
) -> np.ndarray:
    """Draw until at least `m` pairs are distinct, then drop a random choice of the surplus.

    Parameters
    ----------
    m : int
        How many pairs to return.
    draw : callable
        ``draw(first, count)`` returns pairs number ``first … first + count - 1`` of an endless sequence.
    at_least : int
        How many of them to draw at first.
    generator : str
        For messages.
    seed : int
        Decides what is dropped.

    Returns
    -------
    numpy.ndarray of uint64, shape (m,)
        Sorted.

    Raises
    ------
    InputError
        When further draws hardly bring new pairs.
    """
    drawn = at_least
    pairs = distinct(draw(0, drawn))
    rounds = 1
    while len(pairs) < m:
        require(
            rounds < _MAX_ROUNDS,
            generator,
            f"{drawn:,} arcs gave only {len(pairs):,} distinct edges, and m = {m:,}: "
            "lower m, add vertices, or choose more even probabilities",
        )
        # As many as the rate so far suggests, and a sixteenth more, since later arcs repeat more often.
        expected = (m - len(pairs)) * drawn // max(len(pairs), 1) * 17 // 16
        more = min(expected + 64, max(m, _SMALL))
        pairs = distinct(np.concatenate([pairs, draw(drawn, more)]))
        drawn += more
        rounds += 1
    return _without_surplus(pairs, m, seed)


def _without_surplus(pairs: np.ndarray, m: int, seed: int) -> np.ndarray:
    """Return `m` of the pairs, chosen at random, in their order; works in place."""
    from mst.kernels.primitives import hashing
    from mst.kernels.primitives.pairs import compact, erase_random

    erase_random(pairs, hashing.permutation(seed, "surplus", len(pairs)), len(pairs) - m)
    return pairs[: compact(pairs)]
