"""The minimum spanning tree of points, computed by threads: the steps of `mst.kernels.points` in turn."""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

import numpy as np

from mst.arrays import distinct_values
from mst.graph import Graph, frozen
from mst.kernels.parallel import radix as by_threads
from mst.kernels.parallel.runtime import Schedule, grain_for, new_tallies, several_workers, touched_empty
from mst.kernels.points import listed_neighbours
from mst.kernels.points.core_distances import core_distances
from mst.kernels.points.equal import equal_points, without_equal
from mst.kernels.points.kd_tree import KdTree, build
from mst.kernels.points.lanes import LEAF, ROW
from mst.kernels.points.neighbours import find_neighbours
from mst.kernels.points.rounds import join_all
from mst.kernels.points.rows import keys_of_rows, look_up, read_rows, write_rows
from mst.kernels.points.state import Edges, Lists, allocate
from mst.kernels.primitives import radix
from mst.solver import minimum_spanning_forest

# Places per chunk of a round: the most, and the fewest; and leaves per chunk of the search for neighbours.
_PLACES, _FEWEST_PLACES, _BLOCKS = 2048, 256, 16
# Weights that are sampled to find out whether most edges tie.
_SAMPLE = 1024
_ROWS = 1 << 13
# Up to this many edges, NumPy sorts faster than a series of compiled functions.
_FEW = 1 << 9
# Levels of the parts of the k-d tree within which points are joined before the whole tree is considered.
_PART_LEVELS, _FEWEST_PART_LEVELS = 9, 5


class Points(NamedTuple):
    """Points at distinct coordinates.

    Attributes
    ----------
    coordinates : numpy.ndarray of float64, shape (distinct points, dimensions)
    ids : numpy.ndarray of int32, shape (distinct points,) or (0,)
        The smallest id of the points at each place, ascending; empty if all points are distinct.
    counts : numpy.ndarray of int32, shape (distinct points,) or (0,)
        Number of points at each place.
    others : numpy.ndarray of int32, shape (2, points - distinct points)
        For each further point at a place: the place's smallest id, and the point's own.
    """

    coordinates: np.ndarray
    ids: np.ndarray
    counts: np.ndarray
    others: np.ndarray


def tree_of_points(
    coordinates: np.ndarray, samples: int, k: int | None, width: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the columns u, v and w of the edges of the minimum spanning tree of points, sorted by (weight, u, v).

    Parameters
    ----------
    coordinates : numpy.ndarray of float64, shape (n, dimensions)
        Finite.
    samples, k : int
        The `min_samples` and the `k` of `mst.from_points`; `k` is None for the exact tree.
    width : int
        Threads.
    """
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
            # Points at one place are joined to the first of them, by their first edges in the order.
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
    coordinates, first, others = equal_points(frozen(given), schedule)
    if others:
        return Points(*without_equal(coordinates, first, others, schedule))
    none = np.empty((2, 0), np.int32)
    return Points(coordinates, none[0], none[0], none)


def _lists(tree: KdTree, counts: np.ndarray, samples: int, k: int | None, schedule: Schedule) -> Lists:
    """Return the nearest neighbours of every point and the core distances."""
    n = len(tree.points)
    dimensions = tree.blocks.shape[1]
    listed = listed_neighbours(dimensions, samples) if k is None else max(k, samples - 1)
    shape = n, max(min(listed, n - 1), 1)
    # Rows are read in whole vectors, even the last one.
    size = math.prod(shape)
    places = np.empty(size + ROW, np.int32)[:size].reshape(shape)
    distances = np.empty(size + ROW)[:size].reshape(shape)
    find_neighbours(schedule._replace(grain=_BLOCKS), tree, places, distances)
    # Blocks are read in whole vectors, even the last one.
    core = np.zeros(len(tree.blocks) * LEAF)[:n]
    lists = Lists(places, distances, core, np.zeros(len(tree.boxes)))
    if samples > 1:
        core_distances(schedule, tree, counts, samples, lists)
    return lists


def _neighbour_forest(
    tree: KdTree, lists: Lists, k: int, width: int
) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Return the components of the `k`-nearest-neighbour graph, as a member of each, and the edges of its forest."""
    n = len(tree.points)
    # Edges are listed in the order of the points, so that ties do not depend on the shape of the k-d tree.
    place_of = np.empty(n, np.int32)
    place_of[tree.points] = np.arange(n)
    near = lists.places[place_of, :k]
    a, column = np.nonzero(near >= 0)
    b = near[a, column]
    weights = np.maximum(
        np.maximum(lists.distances[place_of[a], column], lists.core[place_of[a]]), lists.core[b]
    )
    forest = minimum_spanning_forest(Graph(n, a, tree.points[b], weights), threads=width)
    labels = forest.labels(k=forest.components)[tree.points]
    _, first, labels = np.unique(labels, return_index=True, return_inverse=True)
    u, v, w = forest.edges()
    return first.astype(np.int32)[labels], (place_of[u], place_of[v], w)


def _rounds(
    tree: KdTree,
    lists: Lists,
    plain: bool,
    start: np.ndarray,
    known: tuple[np.ndarray, np.ndarray, np.ndarray],
    schedule: Schedule,
) -> Edges:
    """Join components by shortest edges; return the `known` edges within components, then the new ones.

    `start`, int32 of shape (n,), holds the component of each point; if it is empty, each point is its own. `plain` says
    that core distances do not matter.
    """
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
    """Return the columns u, v and w, sorted by (weight, u, v), of edges that `write_rows` has written."""
    if len(rows) <= _FEW:
        ends, weights = rows[np.lexsort((rows[:, 0], rows[:, 1]))].T
        # The low 32 bits hold the larger end.
        return (ends >> 32).astype(np.int32), ends.astype(np.int32), weights.view(np.float64).copy()
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
    # Sorting by the high 32 bits of weights is faster, and few weights of random points share them.
    in_order = sorted_by(1, shift, np.uint32, order)
    if not read_rows(schedule, rows, in_order, least, shift, by_ends, u, v, w):
        order = order if by_ends else sorted_by(0, unused, np.uint64, as_they_lie)
        none = np.uint64(0)
        in_order = sorted_by(1, none, np.uint64, order)
        read_rows(schedule, rows, in_order, least, none, True, u, v, w)
    return u, v, w
