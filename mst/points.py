"""Minimum spanning trees of points, without a graph of all pairs."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

from mst.arrays import as_numpy, distinct_values, is_on_device
from mst.cores import MANY, cores_for, whole_threads
from mst.errors import DependencyError, InputError, OutOfMemoryError, UnsupportedError, names_missing_numba
from mst.forest import Forest
from mst.graph import Graph, frozen
from mst.interop.arrays import ArrayForest, in_library_of
from mst.rounding import converted
from mst.solver import code_seconds, minimum_spanning_forest, usable_gpu

if TYPE_CHECKING:
    from mst.interop.device import DeviceForest
    from mst.kernels.parallel.runtime import Schedule
    from mst.kernels.points.kd_tree import KdTree
    from mst.kernels.points.state import Edges, Lists

_PLACES, _FEWEST_PLACES, _BLOCKS = 2048, 256, 16
# Weights that tell whether most edges tie.
_SAMPLE = 1024
_ROWS = 1 << 13
# Coordinates for each thread at least: fewer take as long as waking it.
_FEWEST_EACH = 1 << 12
# Levels of the k-d tree in a part whose points are joined before those of others are looked at.
_PART_LEVELS, _FEWEST_PART_LEVELS = 9, 5
# Fewer points are joined sooner by cores than they get to a GPU and back.
_FEWEST_FOR_GPU = 1 << 16
# Squares of larger numbers overflow in float32, those of smaller ones vanish, and equal ones have no ranks: coordinates
# beyond are scaled.
_LARGEST_EXPONENT = 50
_LARGEST = np.finfo(np.float64).max


class Points(NamedTuple):
    """Points at distinct coordinates.

    Attributes
    ----------
    coordinates : numpy.ndarray of float64, shape (distinct points, dimensions)
    ids : numpy.ndarray of int32, shape (distinct points,) or (0,)
        Of all points at one place, the smallest, ascending; empty if each place has one point.
    counts : numpy.ndarray of int32, shape (distinct points,) or (0,)
        How many points are at each place.
    others : numpy.ndarray of int32, shape (2, points - distinct points)
        The first point at the coordinates of each other one, and that one.
    """

    coordinates: np.ndarray
    ids: np.ndarray
    counts: np.ndarray
    others: np.ndarray


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

    It is exact unless `k` is given, and needs O(n) memory: the graph of all pairs is never built.

    Parameters
    ----------
    X : array_like, shape (n, dimensions)
        One point per row: finite numbers, converted to float64. An array on a CUDA device stays there.
    min_samples : int, optional
        The weight of an edge is then the *mutual reachability* of its ends, as for HDBSCAN: the largest of their
        distance and their two core distances; the core distance of a point is that of the `min_samples`-th nearest
        point, itself included (as in scikit-learn). By default, and for 1, the weight is the distance.
    metric : {"euclidean"}
    k : int, optional
        Return an approximate tree: the minimum spanning forest of the `k`-nearest-neighbour graph, whose trees are
        then joined by shortest edges. Its weight is at least that of the exact tree, and its ``exact`` is
        always False.
    threads : int, optional
        Threads that may be used. By default all usable cores, or a GPU if this process has loaded CuPy and there are
        at least 65,536 points.

    Returns
    -------
    Forest, or ArrayForest if `X` is an array of a library such as PyTorch, or DeviceForest if that is on a device
        Its graph has only the edges of the tree, with ``u < v``, ordered by (weight, u, v), so that
        `Forest.is_unique` ignores other pairs of points. Ties between equal weights
        are broken by distance, then by the smaller end, then by the larger one, so the tree is the same
        for any number of threads. `Forest.labels` and `Forest.linkage` give its clusters.

    Raises
    ------
    InputError
        `X` is not a table of finite numbers, or has an integer that float64 cannot represent; or `min_samples` is
        above n; or a weight exceeds float64.
    UnsupportedError
        `metric` is another one; there are 2³¹ points or more, or more threads than usable cores; or `X` is on a device
        and has more than 16 dimensions, `k` is given, or `min_samples` is above 33.

    Notes
    -----
    Borůvka's rounds over a k-d tree: the nearest neighbours of every point are found once, and serve
    the first rounds. Later rounds search the tree for the points that may have the shortest edge of their
    component, and bounds rule out most of them. Time grows steeply with the dimension: above about 10, use `k`.

    Distances are compared by their squares in float64: those of less than about 1e-147 times the largest coordinate may
    be 0.

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
            f"X must be an array of points, got {type(X).__name__}: make a sparse one dense by toarray()"
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
    """Return the edges of the tree of points in host memory, by (weight, u, v)."""
    width = min(width, max(given.size // _FEWEST_EACH, 1))
    try:
        coordinates, exponent = _coordinates(np, given, samples, width)
        u, v, w = _tree(coordinates, samples, k, width)
    except MemoryError as error:
        raise OutOfMemoryError(
            f"not enough memory for the tree of {len(given):,} points: {error or 'none is left'}"
        ) from error
    return _unscaled(np, u, v, w, exponent)


def _by_gpu(given: np.ndarray, samples: int) -> tuple[Any, Any, Any] | None:
    """Return the same by the GPU; None if cores take less time, or it does not take the points."""
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
    """Return the tree of points that are on a device, which it does not leave."""
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
    """Return the edges of the tree of points in an array of CuPy, by (weight, u, v)."""
    import cupy

    from mst.algorithms.cuda.device.points import device_for, tree_of_points

    coordinates, exponent = _coordinates(cupy, given, samples)
    u, v, w = tree_of_points(device_for(coordinates.shape[1], samples), coordinates, samples)
    return _unscaled(cupy, u, v, w, exponent)


@np.errstate(all="ignore")
def _unscaled(xp: Any, u: Any, v: Any, w: Any, exponent: int) -> tuple[Any, Any, Any]:
    """Return edges by (weight, u, v) with weights times a power of two, some of which may round to one."""
    if exponent == 0:
        return u, v, w
    w = xp.ldexp(w, exponent)
    if len(w) and math.isinf(w[-1]):
        raise InputError(f"points {u[-1]} and {v[-1]} are farther apart than {_LARGEST}: scale X down")
    order = xp.lexsort(xp.stack((v, u, w)))
    return u[order], v[order], w[order]


@np.errstate(all="ignore")
def _coordinates(xp: Any, given: Any, samples: int, width: int = 1) -> tuple[Any, int]:
    """Return points as float64, divided by a power of two, and its exponent; refuse rows that are not points.

    `xp` is NumPy or CuPy, `width` the number of threads.
    """
    if given.ndim == 1 and given.size == 0:
        given = given.reshape(0, 1)
    _check_table(given)
    points = xp.ascontiguousarray(given, xp.float64)
    if xp is not np:
        # Zeros lose their sign: equal points then have equal bits. Threads see to that when they look for them.
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
    """Refuse an array whose shape or dtype is not that of points."""
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


def _tree(
    coordinates: np.ndarray, samples: int, k: int | None, width: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the edges of the tree, by (weight, u, v)."""
    from mst.kernels.parallel.runtime import Schedule, new_tallies, several_workers, touched_empty
    from mst.kernels.points.kd_tree import build
    from mst.kernels.points.rows import write_rows

    if len(coordinates) < 2:
        return np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0)
    with several_workers(width):
        schedule = Schedule(width, 1, new_tallies(width))
        points = _distinct(coordinates, schedule)
        tree = build(points.coordinates, schedule)
        lists = _lists(tree, points.counts, samples, k, schedule)
        if k is None:
            start, known = np.empty(0, np.int32), (np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0))
        else:
            start, known = _neighbour_forest(tree, lists, k, width)
        edges = _rounds(tree, lists, samples == 1, start, known, schedule)
        schedule = schedule._replace(grain=_ROWS)
        names, weights = tree.points, np.empty(0)
        if len(points.counts):
            # Points at one place are joined to the first of them: no other edge of theirs is before these.
            names = points.ids[tree.points]
            if samples > 1:
                cores = np.empty(len(coordinates))
                cores[names] = lists.core
                weights = cores[points.others[0]]
        rows = touched_empty((len(edges.a) + len(points.others[0]), 2), np.uint64, width, schedule.tallies)
        extremes = np.full(2, -1).view(np.uint64)
        write_rows(schedule, edges, names, points.others, weights, rows, extremes)
        return _in_order(rows, extremes, schedule)


def _distinct(given: np.ndarray, schedule: Schedule) -> Points:
    from mst.kernels.points.equal import equal_points, without_equal

    coordinates, first, others = equal_points(frozen(given), schedule)
    if others:
        return Points(*without_equal(coordinates, first, others, schedule))
    none = np.empty((2, 0), np.int32)
    return Points(coordinates, none[0], none[0], none)


def _lists(tree: KdTree, counts: np.ndarray, samples: int, k: int | None, schedule: Schedule) -> Lists:
    """Return the nearest neighbours of every point and the core distances."""
    from mst.kernels.points import listed_neighbours
    from mst.kernels.points.core_distances import core_distances
    from mst.kernels.points.lanes import LEAF, ROW
    from mst.kernels.points.neighbours import find_neighbours
    from mst.kernels.points.state import Lists

    n = len(tree.points)
    dimensions = tree.blocks.shape[1]
    listed = listed_neighbours(dimensions, samples) if k is None else max(k, samples - 1)
    shape = n, max(min(listed, n - 1), 1)
    # Vectors of a row are read, also of the last one.
    size = math.prod(shape)
    places = np.empty(size + ROW, np.int32)[:size].reshape(shape)
    distances = np.empty(size + ROW)[:size].reshape(shape)
    find_neighbours(schedule._replace(grain=_BLOCKS), tree, places, distances)
    # A vector of all points of the last block is read.
    core = np.zeros(len(tree.blocks) * LEAF)[:n]
    lists = Lists(places, distances, core, np.zeros(len(tree.boxes)))
    if samples > 1:
        core_distances(schedule, tree, counts, samples, lists)
    return lists


def _neighbour_forest(
    tree: KdTree, lists: Lists, k: int, width: int
) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Return the components of the graph of `k` neighbours, by a place of each, and the edges of its forest."""
    n = len(tree.points)
    # In the order of the points: edges of equal weight are then chosen in the same way whatever the tree looks like.
    at = np.empty(n, np.int32)
    at[tree.points] = np.arange(n)
    near = lists.places[at, :k]
    a, column = np.nonzero(near >= 0)
    b = near[a, column]
    weights = np.maximum(np.maximum(lists.distances[at[a], column], lists.core[at[a]]), lists.core[b])
    forest = minimum_spanning_forest(Graph(n, a, tree.points[b], weights), threads=width)
    labels = forest.labels(k=forest.components)[tree.points]
    _, first, labels = np.unique(labels, return_index=True, return_inverse=True)
    u, v, w = forest.edges()
    return first.astype(np.int32)[labels], (at[u], at[v], w)


def _rounds(
    tree: KdTree,
    lists: Lists,
    plain: bool,
    start: np.ndarray,
    known: tuple[np.ndarray, np.ndarray, np.ndarray],
    schedule: Schedule,
) -> Edges:
    """Join components by shortest edges; return these after the `known` edges within them.

    `start`, int32 (n,), has the components; it is empty where every point is one. `plain` says that no core distance
    counts.
    """
    from mst.kernels.parallel.runtime import grain_for, touched_empty
    from mst.kernels.points.lanes import LEAF
    from mst.kernels.points.rounds import join_all
    from mst.kernels.points.state import Edges, allocate

    n = len(tree.points)
    smallest = _FEWEST_PLACES if schedule.width > 1 else _PLACES
    grain = grain_for(n, schedule.width, smallest=smallest, largest=_PLACES, multiple=LEAF)
    schedule = schedule._replace(grain=grain)
    state = allocate(lists, plain, len(tree.boxes), schedule)
    size = len(known[0])
    edges = Edges(*(touched_empty(n - 1, column.dtype, schedule.width, schedule.tallies) for column in known))
    for column, first in zip(edges, known):
        column[:size] = first
    top = max(tree.levels - _PART_LEVELS, 0)
    if schedule.width > 1:
        # Eight parts for each worker, unless they are small.
        top = max(top, min((8 * schedule.width - 1).bit_length(), tree.levels - _FEWEST_PART_LEVELS))
    if len(start):
        state.roots[: n - size] = np.flatnonzero(start == np.arange(n))
    join_all(schedule, plain, top, start, tree, lists, state, edges, size)
    return edges


def _in_order(
    rows: np.ndarray, extremes: np.ndarray, schedule: Schedule
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return edges by (weight, u, v), the ends as int32, of the arrays of `mst.kernels.points.rows.write_rows`."""
    from mst.kernels.parallel import radix as by_threads
    from mst.kernels.parallel.runtime import touched_empty
    from mst.kernels.points.rows import keys_of_rows, look_up, read_rows
    from mst.kernels.primitives import radix

    least, greatest = extremes[0], ~extremes[1]
    argsort = partial(by_threads.argsort, width=schedule.width) if schedule.width > 1 else radix.argsort

    def fresh(dtype: type) -> np.ndarray:
        return touched_empty(len(rows), dtype, schedule.width, schedule.tallies)

    def sorted_by(column: int, shift: np.uint64, dtype: type, order: np.ndarray) -> np.ndarray:
        keys = fresh(dtype)
        keys_of_rows(schedule, rows, order, column, least, shift, keys)
        places = argsort(keys)
        if len(order):
            look_up(schedule, order, places)
        return places

    as_they_lie = np.empty(0, np.int32)
    unused = np.uint64(32 - len(rows).bit_length())
    shift = np.uint64(max(int(greatest - least).bit_length() - 32, 0))
    sample = (rows[:: -(-len(rows) // _SAMPLE), 1] - least) >> shift
    by_ends = 2 * len(distinct_values(sample)) < len(sample)
    order = sorted_by(0, unused, np.uint64, as_they_lie) if by_ends else as_they_lie
    u, v, w = fresh(np.int32), fresh(np.int32), fresh(np.float64)
    # The first 32 bits of weights are sorted in less time; few weights of random points share them.
    in_order = sorted_by(1, shift, np.uint32, order)
    if not read_rows(schedule, rows, in_order, least, shift, by_ends, u, v, w):
        order = order if by_ends else sorted_by(0, unused, np.uint64, as_they_lie)
        none = np.uint64(0)
        in_order = sorted_by(1, none, np.uint64, order)
        read_rows(schedule, rows, in_order, least, none, True, u, v, w)
    return u, v, w
