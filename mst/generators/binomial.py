"""Random graphs G(n, p): every pair of vertices is joined with probability p, independently."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

from mst.generators.definition import MAX_VERTICES, Edges, Parameter, generator, pair_count, require
from mst.generators.uniform import sample

_DIGITS = 60
# Coefficients B(2k) / (2k (2k - 1)) of Stirling's series, as numerators and denominators.
_STIRLING = ((1, 12), (-1, 360), (1, 1260), (-1, 1680), (1, 1188), (-691, 360360), (1, 156), (-3617, 122400))


@generator(
    "random graph G(n, p): each pair is joined with probability p",
    dict(
        n=Parameter(int, "vertices", high=MAX_VERTICES),
        p=Parameter(float, "probability of each pair", high=1),
    ),
    connected="on request",
)
def binomial(*, n: int, p: float, seed: int, connected: bool) -> Edges:
    """Draw m from the binomial distribution, then a graph G(n, m), which is distributed as G(n, p) (Gilbert 1959)."""
    from mst.kernels.primitives import hashing

    pairs = pair_count(n)
    require(pairs * p < 2**40, f"p = {p} makes about {pairs * p:.2g} edges: lower it")
    bits = int(hashing.hash1(hashing.stream(seed, "number of edges"), 0))
    return sample(n, binomial_quantile(pairs, p, bits), seed, connected)


def binomial_quantile(trials: int, p: float, bits: int) -> int:
    """Return the binomial variate for 64 random bits, by inversion.

    The probabilities of mode, mode + 1, mode - 1, mode + 2, … are subtracted from the bits, a number in [0, 1), until
    it is negative. The probability of the mode is computed in decimal arithmetic, and the others by multiplication and
    division, so the result does not depend on the platform's logarithm. The number of steps is proportional to the
    distance of the variate from the mode, about √(trials·p).

    Parameters
    ----------
    trials : int
    p : float
        Probability of success.
    bits : int
        From 0 to 2⁶⁴ - 1.

    Returns
    -------
    int
        From 0 to `trials`.

    Examples
    --------
    >>> from mst.generators.binomial import binomial_quantile
    >>> [binomial_quantile(4, 0.5, k * 2**60) for k in (0, 5, 6, 9, 10, 13, 14, 15)]
    [2, 2, 3, 3, 1, 1, 4, 0]
    """
    if p in (0, 1) or trials == 0:
        return trials if p == 1 else 0
    mode = math.floor((trials + 1) * p)
    at_mode = _mass(trials, p, mode)
    odds = p / (1 - p)
    left = math.ldexp(bits >> 11, -53) - at_mode
    up = down = mode
    mass_up = mass_down = at_mode
    while left >= 0:
        mass_up = mass_up * ((trials - up) / (up + 1) * odds) if up < trials else 0.0
        up += 1
        if (left := left - mass_up) < 0:
            return up
        mass_down = mass_down * (down / (trials - down + 1) / odds) if down > 0 else 0.0
        down -= 1
        if (left := left - mass_down) < 0:
            return down
        if mass_up == mass_down == 0.0:
            break  # rounding errors left a remainder
    return mode


def _mass(trials: int, p: float, k: int) -> float:
    """Return the probability of `k` successes, computed with logarithms of 60 digits."""
    with localcontext(prec=_DIGITS):
        chance = Decimal(p)
        log = _log_factorial(trials) - _log_factorial(k) - _log_factorial(trials - k)
        log += k * chance.ln() + (trials - k) * (1 - chance).ln()
        return float(log.exp())


def _log_factorial(k: int) -> Decimal:
    """Return ln k!, by Stirling's series for large k."""
    if k < 256:
        return Decimal(math.factorial(k)).ln()
    x = Decimal(k)
    series = sum(
        (
            Decimal(numerator) / denominator / x ** (2 * i + 1)
            for i, (numerator, denominator) in enumerate(_STIRLING)
        ),
        Decimal(0),
    )
    return (x + Decimal("0.5")) * x.ln() - x + (2 * _pi()).ln() / 2 + series


def _pi() -> Decimal:
    """Return π by Machin's formula, 16 arctan(1/5) - 4 arctan(1/239)."""
    return 16 * _arctan_of_inverse(5) - 4 * _arctan_of_inverse(239)


def _arctan_of_inverse(x: int) -> Decimal:
    """Return arctan(1/x) by its power series."""
    total, power, k = Decimal(0), Decimal(1) / x, 0
    while abs(power) > Decimal(10) ** -(_DIGITS + 2):
        total += power / (2 * k + 1)
        power, k = -power / (x * x), k + 1
    return total
