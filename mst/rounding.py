"""Whole numbers that change when NumPy stores them beside fractions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mst.errors import InputError


def refuse_rounded(given: Sequence[Any], stored: np.ndarray, named: Callable[[int], str]) -> None:
    """Refuse numbers whose array of floats, as NumPy made it, does not hold each whole number exactly.

    Parameters
    ----------
    given : sequence
        As the caller gave them.
    stored : numpy.ndarray, shape (m,)
        The array ``numpy.asarray(given)``.
    named : callable
        Names the row of that number in the message.

    Raises
    ------
    InputError

    Examples
    --------
    >>> import numpy as np
    >>> from mst.rounding import refuse_rounded
    >>> refuse_rounded([2**53, 0.5], np.asarray([2**53, 0.5]), "w[{}]".format)
    """
    if stored.dtype.kind != "f":
        return
    for row, (number, kept) in enumerate(zip(given, stored.tolist())):
        if isinstance(number, int | np.integer) and kept != int(number):
            raise InputError(f"{named(row)} has weight {number}, which no float64 holds: use one dtype")
