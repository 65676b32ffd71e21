"""Minimum spanning trees of points, without a graph of all pairs."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from contextlib import suppress
from time import perf_counter
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from mst.arrays import as_numpy, is_on_device
from mst.cores import MANY, cores_for, whole_threads
from mst.errors import DependencyError, InputError, OutOfMemoryError, UnsupportedError, names_missing_numba
from mst.forest import Forest
from mst.graph import Graph, frozen
from mst.interop.arrays import ArrayForest, in_library_of
from mst.rounding import converted
from mst.solver import code_seconds, usable_gpu

if TYPE_CHECKING:
    from mst.interop.device import DeviceForest

# Fewest coordinates per thread, and most points for one thread alone: waking another would take longer than it saves.
_FEWEST_EACH, _TOO_FEW = 1 << 12, 1 << 9
# Cores join fewer points in less time than it takes to copy them to a GPU and back.
_FEWEST_FOR_GPU = 1 << 16
# Coordinates with larger exponents are scaled: their squares would overflow or vanish in float32.
_LARGEST_EXPONENT = 50
_LARGEST = np.finfo(np.float64).max


@overload
def from_points(
    X: np.ndarray | Sequence[Sequence[float]],
    *,
    min_samples: int | None = None,
    metric: str = "euclidean",
    k: int | None = None,
    threads: int | None = None,
) -> Forest: ...


@overload
def from_points(
    X: Any,
    *,
    min_samples: int | None = None,
    metric: str = "euclidean",
    k: int | None = None,
    threads: int | None = None,
) -> Forest | ArrayForest | DeviceForest: ...


@names_missing_numba
def from_points(
    X: Any,
    *,
    min_samples: int | None = None,
    metric: str = "euclidean",
    k: int | None = None,
    threads: int | None = None,
) -> Forest | ArrayForest | DeviceForest:
    """Return the minimum spanning tree of points, by their distances.

    The tree is exact unless `k` is given. Memory is O(n), since the graph of all pairs is never built.

    Parameters
    ----------
    X : array_like, shape (n, dimensions)
        One point per row: finite numbers, converted to float64. An array on a CUDA device stays there.
    min_samples : int, optional
        If given, the weight of an edge is the *mutual reachability distance* of its ends, as in HDBSCAN: the maximum of
        their distance and their core distances. The core distance of a point is its distance to the `min_samples`-th
        nearest point, counting itself (as in scikit-learn). By default, as for 1, the weight is the distance.
    metric : {"euclidean"}
    k : int, optional
        Return an approximate tree, whose ``exact`` is False: the minimum spanning forest of the `k`-nearest-neighbour
        graph, with its trees joined by shortest edges. It weighs at least as much as the exact tree.
    threads : int, optional
        The most threads to use. By default, all usable cores, or a GPU if the process has loaded CuPy and there are
        at least 65,536 points.

    Returns
    -------
    Forest, or ArrayForest if `X` is an array of a library such as PyTorch, or DeviceForest if that is on a device
        A forest whose graph has only the edges of the tree, with ``u < v``, sorted by (weight, u, v); so
        `Forest.is_unique` ignores all other pairs of points. Edges of equal weight are compared by distance, then by
        their smaller end, then by their larger end, so the tree is the same for any number of threads. `Forest.labels`
        and `Forest.linkage` return its clusters.

    Raises
    ------
    InputError
        `X` is not a table of finite numbers, or holds an integer that float64 cannot represent; `min_samples` is above
        n; or a weight exceeds the range of float64.
    UnsupportedError
        The metric is not supported; there are 2³¹ points or more; `threads` is above the number of usable cores; or `X`
        is on a device and has more than 16 dimensions, or `k` or a `min_samples` above 33 is given.

    Notes
    -----
    The algorithm is Borůvka's over a k-d tree. The nearest neighbours of every point are found once and suffice for the
    first rounds. Later rounds search the tree for the shortest edge of each component; bounds rule out most points.
    Time grows steeply with the dimension: above about 10 dimensions, use `k`.

    Distances are compared by their squares in float64, so a distance below about 1e-147 times the largest coordinate
    may become 0.

    Examples
    --------
    >>> import mst
    >>> forest = mst.from_points([[0, 0], [0, 3], [4, 3], [0, 1]])
    >>> [array.tolist() for array in forest.edges()]
    [[0, 1, 1], [3, 3, 2], [1.0, 2.0, 4.0]]
    >>> mst.from_points([[0], [1], [3], [9]], min_samples=2, threads=1).edges()[2].tolist()
    [1.0, 2.0, 6.0]
    """
    if not isinstance(metric, str) or metric != "euclidean":
        raise UnsupportedError(f"metric {metric!r} is not supported: transform the points and use 'euclidean'")
    samples = 1 if min_samples is None else _count(min_samples, "min_samples")
    neighbours = None if k is None else _count(k, "k")
    if is_on_device(X):
        return _device_forest(X, samples, neighbours, threads)
    given = as_numpy(X, "X")
    if given.ndim == 0:
        raise InputError(
            f"X must be an array of points, got {type(X).__name__}: convert a sparse array by its toarray()"
        )
    if np.ma.is_masked(X):
        place = ", ".join(str(places[0]) for places in np.nonzero(np.ma.getmaskarray(X)))
        raise InputError(f"X[{place}] is masked: drop that point, or give it a value")
    started, code = perf_counter(), code_seconds()
    found = _by_gpu(given, samples) if k is None and threads is None and usable_gpu() else None
    name = "boruvka-points-cuda" if found else "boruvka-points"
    u, v, w = found or _by_threads(given, samples, neighbours, cores_for(threads))
    graph = Graph(len(given), u, v, w, trusted=True)
    if k is not None:
        name = "nearest-neighbours (approximate)"
    code = code_seconds() - code
    seconds = {"compute": perf_counter() - started - code} | ({"code": code} if code else {})
    ids = np.arange(len(w))
    forest = Forest(graph, ids, algorithm=name, seconds=seconds, exact=k is None, trusted=True)
    return in_library_of(forest, X)


def _by_threads(given: np.ndarray, samples: int, k: int | None, width: int) -> tuple[Any, Any, Any]:
    """Return the columns u, v and w of the tree of points in host memory, sorted by (weight, u, v)."""
    width = 1 if len(given) <= _TOO_FEW else min(width, max(given.size // _FEWEST_EACH, 1))
    try:
        coordinates, exponent = _coordinates(np, given, samples, width)
        # After the checks, since this loads numba.
        from mst.points.tree import tree_of_points

        u, v, w = tree_of_points(coordinates, samples, k, width)
    except MemoryError as error:
        raise OutOfMemoryError(
            f"not enough memory for the tree of {len(given):,} points: {error or 'none is left'}"
        ) from error
    return _unscaled(np, u, v, w, exponent)


def _by_gpu(given: np.ndarray, samples: int) -> tuple[Any, Any, Any] | None:
    """Return the result of `_by_threads`, computed by a GPU; None if cores are faster or the GPU cannot do it."""
    if given.ndim != 2 or given.dtype.kind not in "fiu" or not _FEWEST_FOR_GPU <= len(given) < 2**31:
        return None
    from mst.algorithms.cuda.device import staging
    from mst.algorithms.cuda.device.points import macros_of

    try:
        import cupy

        macros_of(given.shape[1], samples)  # before a copy that might not be needed
        there = cupy.empty(given.shape, given.dtype)
        staging.upload([(np.ascontiguousarray(given), there)])
        u, v, w = map(staging.download_array, _tree_on_device(there, samples))
        return u, v, w
    except (UnsupportedError, OutOfMemoryError, DependencyError, RuntimeError):  # CuPy's own are RuntimeErrors
        return None


def _device_forest(X: Any, samples: int, k: int | None, threads: int | None) -> DeviceForest:
    """Return the tree of points on a device; the arrays do not leave the device."""
    if k is not None:
        raise UnsupportedError("k takes points in host memory: copy them there, or leave k out")
    if whole_threads(threads) not in (None, 1):
        raise UnsupportedError(
            f"points on a device are solved there, not on {threads} threads: leave threads out"
        )
    from mst.interop.device import as_cupy, forest_of_tree

    points = as_cupy(X, "X")
    return forest_of_tree(len(points), *_tree_on_device(points, samples), "boruvka-points-cuda", X)


def _tree_on_device(given: Any, samples: int) -> tuple[Any, Any, Any]:
    """Return the columns u, v and w of the tree of points in a CuPy array, sorted by (weight, u, v)."""
    import cupy

    from mst.algorithms.cuda.device.points import device_for, tree_of_points

    coordinates, exponent = _coordinates(cupy, given, samples)
    u, v, w = tree_of_points(device_for(coordinates.shape[1], samples), coordinates, samples)
    return _unscaled(cupy, u, v, w, exponent)


@np.errstate(all="ignore")
def _unscaled(xp: Any, u: Any, v: Any, w: Any, exponent: int) -> tuple[Any, Any, Any]:
    """Multiply weights by a power of two and sort the edges again, since rounding may have made weights equal."""
    if exponent == 0:
        return u, v, w
    w = xp.ldexp(w, exponent)
    if len(w) and math.isinf(w[-1]):
        raise InputError(f"points {u[-1]} and {v[-1]} are farther apart than {_LARGEST}: scale X down")
    order = xp.lexsort(xp.stack((v, u, w)))
    return u[order], v[order], w[order]


@np.errstate(all="ignore")
def _coordinates(xp: Any, given: Any, samples: int, width: int = 1) -> tuple[Any, int]:
    """Return points as float64, divided by a power of two, and its exponent; raise `InputError` for illegal points.

    `xp` is NumPy or CuPy, `width` the number of threads.
    """
    if given.ndim == 1 and given.size == 0:
        given = given.reshape(0, 1)
    _check_table(given)
    points = xp.ascontiguousarray(given, xp.float64)
    if xp is not np:
        # Zeros lose their sign, so that equal points have equal bits; on the host, `equal_points` sees to that.
        points = points + 0.0
    elif not points.flags.aligned:
        points = points.copy()
    if width > 1 and points.size >= MANY:
        from mst.kernels.parallel.extremes import largest

        bits = largest(frozen(points.reshape(-1).view(np.uint64)), 2**63 - 1, width)
        greatest = float(np.uint64(bits).view(np.float64))
    else:
        greatest = max(-float(points.min()), float(points.max())) if points.size else 0.0
    if not math.isfinite(greatest):
        row, column = (int(place[0]) for place in xp.nonzero(~xp.isfinite(points)))
        raise InputError(
            f"X[{row}, {column}] is {points[row, column]}: drop that point, or give it a finite value"
        )
    if greatest >= 2**53 and given.dtype.kind in "iu":
        whole = given if xp is np else given.get()
        rounded = np.argwhere(converted(whole, np.dtype(np.float64))[1])
        if len(rounded):
            row, column = rounded[0]
            raise InputError(
                f"X[{row}, {column}] is {whole[row, column]}, which float64 cannot represent: subtract the same number "
                "from all of its column, or round X by X.astype(float)"
            )
    if samples > max(len(points), 1):
        raise InputError(f"min_samples = {samples} is above the number of points, {len(points)}")
    _, exponent = math.frexp(greatest)
    if abs(exponent) <= _LARGEST_EXPONENT:
        return points, 0
    return xp.ldexp(points, -exponent), exponent


def _check_table(given: Any) -> None:
    """Raise an error if an array cannot be points because of its shape or dtype."""
    if given.ndim != 2:
        raise InputError(f"X must have one row per point and one column per dimension, got shape {given.shape}")
    if given.dtype.kind not in "fiub":
        remedy = (
            ": convert it first, for example a pandas frame with X.to_numpy(float)"
            if given.dtype.kind == "O"
            else ""
        )
        raise InputError(f"X must hold numbers, got dtype {given.dtype}{remedy}")
    if given.shape[0] >= 2**31:
        raise UnsupportedError(f"{given.shape[0]:,} points are too many: at most {2**31 - 1:,}")
    if given.shape[1] == 0 and len(given):
        raise InputError(f"X has {len(given)} points without coordinates: give one column or more")


def _count(number: Any, name: str) -> int:
    with suppress(TypeError):
        whole = operator.index(number)
        if whole >= 1:
            return whole
    raise InputError(f"{name} must be a whole number of at least 1, got {number!r}")
