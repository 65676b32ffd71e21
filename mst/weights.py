"""Weights for graphs that have none: hashes of the seed and the ends of each edge."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from mst.errors import InputError, nearest
from mst.graph import WEIGHT_DTYPES

ORDERS = ("random", "ascending", "descending", "local")
"""Orders of weights along the rows."""

_NEAR = 64
"""Size of the groups of rows within which *local* weights are out of order."""

_NAMES = tuple(dtype.name for dtype in WEIGHT_DTYPES)
_SIGNIFICAND_BITS = {"float32": 24, "float64": 53}
_LEAST_EXPONENT = {"float32": -149, "float64": -1074}


@dataclass(frozen=True)
class WeightSpec:
    """The weights to make: their dtype, range and order, and whether all must differ.

    Parameters
    ----------
    dtype : {"int32", "int64", "float32", "float64"}
        The dtype of the weights.
    low, high : int or float
        Integers are drawn from ``low … high``, both included; floats from ``[low, high)``. All values in the range
        are equally likely. For floats, the values are the multiples of a power of two: the spacing of the dtype just
        below the bound of larger magnitude. In float64, ``[0, 1)`` thus stands for the usual multiples of 2⁻⁵³.
    distinct : bool
        Whether all edges must have different weights.
    order : {"random", "ascending", "descending", "local"}
        Order in which the weights are finally assigned to the rows. Sorted weights follow the positions of edges, such
        as from one end of a grid or a path to the other. *local* weights ascend, but not within each group of 64 rows.

    Raises
    ------
    InputError
        The dtype is not one of these, a bound does not fit it, or the range is empty.

    Examples
    --------
    >>> from mst.weights import WeightSpec
    >>> WeightSpec("int64", 1, 1000).count
    1000
    >>> str(WeightSpec("float32", 0, 1, distinct=True))
    'float32:0.0:1.0:distinct'
    """

    dtype: str = "int32"
    low: int | float = 1
    high: int | float = 2**24 - 1
    distinct: bool = False
    order: str = "random"

    def __post_init__(self) -> None:
        name = self.dtype if isinstance(self.dtype, str) else getattr(self.dtype, "__name__", str(self.dtype))
        if name not in _NAMES:
            raise InputError(
                f"no dtype {name!r} for weights{nearest(name, _NAMES)}: use one of {', '.join(_NAMES)}"
            )
        if not isinstance(self.distinct, bool):
            raise InputError(f"distinct must be true or false, got {self.distinct!r}")
        if self.order not in ORDERS:
            raise InputError(f"no order {self.order!r} of weights: use one of {', '.join(ORDERS)}")
        object.__setattr__(self, "dtype", name)
        for field in ("low", "high"):
            object.__setattr__(self, field, _bound(getattr(self, field), field, name))
        if self.count < 1:
            ends = "high ≥ low" if self.is_integer else "high > low, with a float in between"
            raise InputError(f"weights {self} are an empty range: give {ends}")

    @classmethod
    def parse(cls, text: str) -> WeightSpec:
        """Read ``dtype[:low:high[:distinct][:order]]``, the form used on the command line.

        Examples
        --------
        >>> from mst.weights import WeightSpec
        >>> WeightSpec.parse("int32:1:1000:descending")
        WeightSpec(dtype='int32', low=1, high=1000, distinct=False, order='descending')
        """
        parts = text.split(":")
        dtype, bounds, rest = parts[0], parts[1:3], parts[3:]
        distinct = rest[:1] == ["distinct"]
        order = rest[distinct:]
        if len(bounds) == 1 or len(order) > 1 or (order and order[0] not in ORDERS[1:]):
            raise InputError(
                f"weights {text!r} must be dtype:low:high or dtype:low:high:distinct, optionally followed by "
                ":ascending, :descending or :local, for instance int32:1:1000 or float64:0:1:distinct"
            )
        given: dict[str, Any] = dict(zip(("low", "high"), bounds, strict=False))
        return cls(dtype, **given, distinct=distinct, order=order[0] if order else "random")

    def __str__(self) -> str:
        order = "" if self.order == "random" else f":{self.order}"
        return f"{self.dtype}:{self.low}:{self.high}" + (":distinct" if self.distinct else "") + order

    @property
    def is_integer(self) -> bool:
        """Whether the dtype is int32 or int64."""
        return self.dtype.startswith("int")

    @property
    def count(self) -> int:
        """Number of values that a weight can take."""
        first, stop, _ = self.lattice
        return stop - first

    @property
    def lattice(self) -> tuple[int, int, int]:
        """``(first, stop, exponent)``: the possible weights are ``j * 2**exponent`` for ``first ≤ j < stop``.

        So every weight is exact, and rounding causes neither bias nor collisions.
        """
        if self.is_integer:
            return int(self.low), int(self.high) + 1, 0
        # The bounds are rounded to the dtype, in which weights are compared with them.
        low, high = (float(np.dtype(self.dtype).type(bound)) for bound in (self.low, self.high))
        significand, exponent = math.frexp(max(abs(low), abs(high)))
        if significand == 0.5:  # a power of two: the numbers below it have half the spacing
            exponent -= 1
        exponent = max(exponent - _SIGNIFICAND_BITS[self.dtype], _LEAST_EXPONENT[self.dtype])
        unit = Fraction(2) ** exponent
        return math.ceil(Fraction(low) / unit), math.ceil(Fraction(high) / unit), exponent


def hash_weights(u: Any, v: Any, *, seed: int, spec: WeightSpec) -> np.ndarray:
    """Return a weight for every edge, as a function of the seed and the edge's two ends.

    An edge has the same weight in either direction, in any row, and on every platform. Parallel edges have equal
    weights, unless weights must be distinct. Unless ``spec.order`` is random, the weights are finally sorted by row.

    With ``spec.distinct``, edges are ranked by (smaller end, larger end, row), and a seeded permutation of the whole
    range maps ranks to weights, which are thus a random sample without replacement. A weight then depends on the set of
    edges, but neither on their order in the file nor on their directions.

    Parameters
    ----------
    u, v : array_like of int, shape (m,)
        Ends of each edge, at least 0.
    seed : int
        Any integer.
    spec : WeightSpec
        Dtype, range, and whether the weights must be distinct.

    Returns
    -------
    numpy.ndarray, shape (m,)
        Of dtype ``spec.dtype``.

    Raises
    ------
    InputError
        Weights must be distinct, but there are more edges than values in the range.

    Examples
    --------
    >>> from mst.weights import WeightSpec, hash_weights
    >>> spec = WeightSpec("int32", 1, 1000)
    >>> a = hash_weights([0, 1], [1, 2], seed=1, spec=spec)
    >>> b = hash_weights([2, 1], [1, 0], seed=1, spec=spec)
    >>> a.tolist() == b.tolist()[::-1]
    True
    """
    out = _in_random_order(u, v, seed, spec)
    if spec.order != "random":
        out.sort()
    if spec.order == "local":
        near = out[: len(out) // _NEAR * _NEAR].reshape(-1, _NEAR)
        near[:] = near[:, np.arange(_NEAR) * 29 % _NEAR]
    return out[::-1].copy() if spec.order == "descending" else out


def ecl_weights(u: Any, v: Any, n: int) -> np.ndarray:
    """Return the weights that the artifact of ECL-MST assigns to files without weights: |1 + (u·v) mod n|.

    As in its C code, the product is a 32-bit integer that wraps around, and the remainder has the product's sign, so
    weights lie in 0 … n.

    Parameters
    ----------
    u, v : array_like of int, shape (m,)
        Ends of each edge, in the numbering of the file.
    n : int
        Vertices.

    Returns
    -------
    numpy.ndarray of int32, shape (m,)

    Examples
    --------
    >>> from mst.weights import ecl_weights
    >>> ecl_weights([2, 65536, 50000], [3, 32767, 60000], 100_000).tolist()
    [7, 18113, 67295]
    """
    u, v = (np.asarray(ends).astype(np.int64) for ends in (u, v))
    product = (u * v).astype(np.int32)
    return np.abs(1 + np.fmod(product, np.int32(n))).astype(np.int32)


def _in_random_order(u: Any, v: Any, seed: int, spec: WeightSpec) -> np.ndarray:
    from mst.kernels.primitives import hashing

    u, v = (np.asarray(ends if np.size(ends) else np.empty(0, np.int32)) for ends in (u, v))
    if u.shape != v.shape or u.ndim != 1:
        raise InputError(f"u and v must have the same length, got shapes {u.shape} and {v.shape}")
    if u.dtype.kind not in "iu" or v.dtype.kind not in "iu":
        raise InputError(f"u and v must hold integers, got dtypes {u.dtype} and {v.dtype}")
    seed = operator.index(seed)
    first, _, exponent = spec.lattice
    start = np.uint64(first % 2**64)
    unit = 1 if spec.is_integer else 2.0**exponent
    if not spec.distinct:
        out = np.empty(len(u), spec.dtype)
        hashing.fill_hashed(
            out, u, v, hashing.stream(seed, "weights"), np.uint64(spec.count % 2**64), start, unit
        )
        return out
    if spec.count < len(u):
        raise InputError(
            f"{len(u):,} edges cannot have distinct weights from the {spec.count:,} of {spec}: "
            "widen the range, or use int64 or float64"
        )
    permutation = hashing.permutation(seed, "distinct weights", min(spec.count, 2**64 - 1))
    rows = _rows_by_rank(u, v)
    out = np.empty(len(u), spec.dtype)
    hashing.fill_permuted(out, rows, permutation, start, unit)
    return out


def _rows_by_rank(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return the rows in the order of (smaller end, larger end, row): int32 or int64, shape (m,)."""
    from mst.kernels.primitives.pairs import pack_ends
    from mst.kernels.primitives.radix import sort_words

    rows = np.arange(len(u), dtype=np.int32 if len(u) < 2**31 else np.int64)
    bits = int(max(u.max(), v.max())).bit_length() if len(u) else 0
    if bits > 32:
        return np.lexsort((rows, np.maximum(u, v), np.minimum(u, v)))
    # As few bits as both ends need: fewer passes.
    pairs = pack_ends(u, v, bits)
    if not (pairs[:-1] < pairs[1:]).all():
        spare = np.empty_like(rows)
        if sort_words(pairs, rows, 0, len(rows), np.empty_like(pairs), spare):
            return spare
    return rows


def _bound(value: Any, field: str, dtype: str) -> int | float:
    """Return a bound as a Python number that the dtype can hold."""
    try:
        if not dtype.startswith("int"):
            bound: int | float = float(value)
            legal = abs(bound) <= float(np.finfo(dtype).max)
        else:
            bound = int(value) if isinstance(value, str) else int(Fraction(value))
            info = np.iinfo(dtype)
            legal = (isinstance(value, str) or bound == value) and info.min <= bound <= info.max
    except (TypeError, ValueError, OverflowError):
        legal = False
    if not legal:
        raise InputError(f"weights: {field} = {value!r} is not a value of {dtype}")
    return bound
