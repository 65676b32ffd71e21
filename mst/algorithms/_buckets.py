"""Shared by the (1 + ε)-approximations: how finely weights are rounded, and which weights they take.

Rounding down reduces weights by at most a factor of 1 + ε. The minimum forest by rounded weights therefore
has a true weight of at most 1 + ε times its rounded weight, which is at most the optimal forest's.
Weights of 0 and infinity do not change.
"""

from __future__ import annotations

import numpy as np

from mst.errors import UnsupportedError


def refuse_negative(algorithm: str, weights: np.ndarray) -> None:
    """Raise `UnsupportedError`, naming the row, if a weight is below 0."""
    if len(weights) and weights.min() < 0:
        row = int((weights < 0).argmax())
        raise UnsupportedError(
            f"{algorithm} does not take this graph: w[{row}] = {weights[row]} is negative, and a factor of 1 + ε "
            "bounds nothing then; use an exact algorithm"
        )


def exact_in_float64(weights: np.ndarray) -> np.ndarray:
    """Return weights; integers above 2⁵³ lose the bits that float64 might round up."""
    if weights.dtype == np.int64 and len(weights) and weights.max() > 2**53:
        return np.where(weights > 2**53, weights & ~np.int64(2047), weights)
    return weights


def mantissa_bits(epsilon: float) -> int:
    """Return how many leading bits of a float's mantissa a bucket must fix for its weights to be within 1 + ε.

    Weights of a bucket differ by a factor below 1 + 2⁻ᵇ, and for negative b below 2^(2⁻ᵇ).
    """
    bits = -8
    while (1 + 2.0**-bits if bits >= 0 else 2.0**2.0**-bits) > 1 + epsilon:
        bits += 1
    return bits
