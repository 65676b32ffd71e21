"""Numbers that change when they are stored in another dtype."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mst.errors import InputError

_LEAST_ROUNDED = np.float64(2**53)
"""Smaller whole numbers are exact, since NumPy uses float64 wherever float32 would round integers."""


def refuse_rounded(given: Sequence[Any], stored: np.ndarray, named: Callable[[int], str]) -> None:
    """Raise an error if NumPy has rounded a whole number by storing it as a float.

    Parameters
    ----------
    given : sequence
        The numbers as the caller gave them.
    stored : numpy.ndarray, shape (m,)
        The array ``numpy.asarray(given)``.
    named : callable
        Returns the name of a row, for the message.

    Raises
    ------
    InputError
        A whole number was rounded; the message names its row.

    Examples
    --------
    >>> import numpy as np
    >>> from mst.rounding import refuse_rounded
    >>> refuse_rounded([2**53, 0.5], np.asarray([2**53, 0.5]), "w[{}]".format)
    """
    if stored.dtype.kind != "f":
        return
    for row in np.nonzero(np.abs(stored) >= _LEAST_ROUNDED)[0].tolist():
        number = given[row]
        whole = isinstance(number, int | np.integer) or (
            isinstance(number, np.ndarray) and number.dtype.kind in "iu"
        )
        if whole and stored[row].item() != int(number):
            raise InputError(f"{named(row)} has weight {number}, which float64 cannot represent: use one dtype")


def converted(numbers: np.ndarray, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers converted to a dtype, and which of them the dtype does not represent exactly.

    Examples
    --------
    >>> import numpy as np
    >>> from mst.rounding import converted
    >>> converted(np.array([2**53, 2**53 + 1]), np.dtype(np.float64))[1].tolist()
    [False, True]
    """
    with np.errstate(all="ignore"):
        stored = numbers.astype(dtype, copy=False)
    if stored is numbers:
        return stored, np.zeros(numbers.shape, np.bool_)
    # Comparing integers with floats would round the integers; long doubles represent all of them exactly.
    return stored, stored.astype(np.longdouble) != numbers.astype(np.longdouble)
