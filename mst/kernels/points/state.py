"""The state of `mst.kernels.points.rounds`: its arrays, their first values, and how limits are lowered."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mst.kernels.parallel.runtime import Schedule, next_chunk, touched_empty
from mst.kernels.points.lanes import LEAF
from mst.kernels.primitives.atomics import write_min
from mst.kernels.primitives.jit import njit


class Lists(NamedTuple):
    """The nearest neighbours and the core distances of all points.

    Attributes
    ----------
    places, distances : numpy.ndarray of int32 and of float64, shape (n, k)
        From `mst.kernels.points.neighbours.find_neighbours`.
    core : numpy.ndarray of float64, shape (n,)
        Squared core distance of the point at each place. Its memory extends to the end of the last block.
    node_core : numpy.ndarray of float64, shape (nodes,)
        The smallest core distance in each node of the k-d tree.
    """

    places: np.ndarray
    distances: np.ndarray
    core: np.ndarray
    node_core: np.ndarray


class Candidates(NamedTuple):
    """The state of each point, by place.

    Attributes
    ----------
    weights, distances : numpy.ndarray of float64, shape (n,)
        Squared weight and distance of the candidate; the same array if core distances do not count.
    ends : numpy.ndarray of int32, shape (n,)
        The place of its other end; -1 before the list is read, and if there is no candidate.
    bounds : numpy.ndarray of float64, shape (n,)
        A lower bound on the weights of all other edges that leave the component, except those in the list. Its memory
        extends to the end of the last block.
    awake : numpy.ndarray of int64, shape (blocks,)
        The points of a block that have a candidate or a list to be read, one bit each.
    inexact : numpy.ndarray of int64, shape (blocks,)
        The points whose candidate may not be their lightest edge that leaves the component, one bit each.
    """

    weights: np.ndarray
    distances: np.ndarray
    ends: np.ndarray
    bounds: np.ndarray
    awake: np.ndarray
    inexact: np.ndarray


class Components(NamedTuple):
    """The component of each place and node, and the limit of each component.

    Attributes
    ----------
    of : numpy.ndarray of int32, shape (n,)
        The component of each place: the place of one of its points. Its memory extends to the end of the last block.
    of_node : numpy.ndarray of int32, shape (nodes,)
        The component of all points of a node; -1 if there are several, -2 if there are no points.
    limits : numpy.ndarray of uint64, shape (n,)
        The limit of each component, as the bits of a float64, which have the same order as the numbers.
    """

    of: np.ndarray
    of_node: np.ndarray
    limits: np.ndarray


class Joins(NamedTuple):
    """The joins of components.

    Attributes
    ----------
    parent : numpy.ndarray of int32, shape (n,)
        Union-find of the components, each numbered by one of its places.
    choices : numpy.ndarray of int32, shape (n,)
        The place with the lightest candidate of each component, once it is chosen in a round; else -1.
    """

    parent: np.ndarray
    choices: np.ndarray


class State(NamedTuple):
    """Everything that the rounds change, except the edges.

    Attributes
    ----------
    candidates : Candidates
    components : Components
    joins : Joins
    roots, left : numpy.ndarray of int32, shape (n,)
        The components that are left, and scratch space.
    """

    candidates: Candidates
    components: Components
    joins: Joins
    roots: np.ndarray
    left: np.ndarray


class Edges(NamedTuple):
    """Edges of the tree.

    Attributes
    ----------
    a, b : numpy.ndarray of int32, shape (n - 1,)
        Places.
    weights : numpy.ndarray of float64, shape (n - 1,)
        Squared.
    """

    a: np.ndarray
    b: np.ndarray
    weights: np.ndarray


def allocate(lists: Lists, plain: bool, nodes: int, schedule: Schedule) -> State:
    """Return the state before the first round; `begin_worker` writes the rest of it.

    Parameters
    ----------
    lists : Lists
    plain : bool
        Whether core distances do not count.
    nodes : int
        Nodes of the k-d tree, plus one.
    schedule : mst.kernels.parallel.runtime.Schedule
    """
    n, width, tallies = len(lists.core), schedule.width, schedule.tallies
    blocks = -(-n // LEAF)

    def fresh(dtype: type, size: int = n) -> np.ndarray:
        return touched_empty(size, dtype, width, tallies)

    bounds, of = fresh(np.float64, blocks * LEAF), fresh(np.int32, blocks * LEAF)
    bounds[n:] = np.inf
    weights, lanes = fresh(np.float64), np.empty(blocks, np.int64)
    apart = weights if plain else fresh(np.float64)
    candidates = Candidates(weights, apart, fresh(np.int32), bounds[:n], lanes, np.empty_like(lanes))
    components = Components(of[:n], np.full(nodes, -1, np.int32), fresh(np.uint64))
    joins = Joins(fresh(np.int32), fresh(np.int32))
    return State(candidates, components, joins, fresh(np.int32), fresh(np.int32))


@njit
def begin_worker(worker, schedule, start, lists, candidates, components, joins):
    """One worker of the step before the first round: it writes the state before any list is read.

    `start`, int32 (n,), holds the component of each place; if it is empty, each place is a component. The other
    arguments are named tuples of this module.
    """
    width, grain, tallies = schedule
    _, distances, core, _ = lists
    _, _, ends, bounds, awake, inexact = candidates
    of, _, limits = components
    parent, choices = joins
    infinite = as_bits(np.inf)
    first, last = next_chunk(tallies, worker, width, grain, of.size)
    while first < last:
        for p in range(first, last):
            of[p] = start[p] if start.size > 0 else p
            parent[p], choices[p], ends[p], limits[p] = p, -1, -1, infinite
            bounds[p] = max(core[p], distances[p, distances.shape[1] - 1])
        for block in range(first // LEAF, (last + LEAF - 1) // LEAF):
            lanes = (1 << min(LEAF, of.size - block * LEAF)) - 1
            awake[block], inexact[block] = lanes, lanes
        first, last = next_chunk(tallies, worker, width, grain, of.size)


@njit
def as_float(bits):
    """Return the float64 that has these bits, a uint64."""
    return np.uint64(bits).view(np.float64)


@njit
def as_bits(number):
    """Return the bits, a uint64, of a float64 that is at least 0; bits have the same order as the numbers."""
    return np.float64(number).view(np.uint64)


@njit
def lower(limits, component, weight, alone):
    """Lower the limit of a component, in the array of `Components`, to a weight, a float64, if that is less.

    `alone` says whether no other thread handles points of the component.
    """
    bits = as_bits(weight)
    if alone:
        limits[component] = min(limits[component], bits)
    else:
        write_min(limits, component, bits)
