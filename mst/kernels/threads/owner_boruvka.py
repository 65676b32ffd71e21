"""Borůvka's steps if every component has an owner thread (Durbhakula, §2.2).

`mst.algorithms.threads._owners` calls these kernels. A worker visits all edges and lowers the minima of the components
that it owns, so minima need no atomics; then it unites these components along their minima. ``edges`` are
`mst.kernels.primitives.packed_edges.PackedEdges`, shape (m,), in the order of their ids, so that an edge's position is
its id. Their ends `a` and `b` are vertices in all rounds. ``state`` is a `State`, ``x`` and ``y`` are roots, and
``worker`` is the number of a worker, an int.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import prange

from mst.kernels.parallel.runtime import FINISHED, FOREST, LIVE
from mst.kernels.primitives.atomics import compare_and_swap, fetch_add, load, store
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.packed_edges import lighter
from mst.kernels.union_find.concurrent import find

FREE = -1
FAILED = FINISHED
"""Place in the tallies: unions that were given up because another thread held or had linked a component."""
VISITS = LIVE
"""Place in the tallies: visits of edges by workers."""


class State(NamedTuple):
    """Components and their minima, shared by all workers.

    Attributes
    ----------
    parent : numpy.ndarray of int32 or int64, shape (n,)
        A union-find of `mst.kernels.union_find.concurrent`; roots are linked by index or, with permissions, either way.
    owner : numpy.ndarray of int32, shape (n,)
        The worker that owns each root's component; not used at other vertices.
    minimum : numpy.ndarray of int32 or int64, shape (n,)
        At each root the id of the lightest edge that leaves its component, or -1.
    covered : numpy.ndarray of uint8, shape (m,) or (0,)
        1 for edges found inside a component, which are skipped; empty if no edges are to be skipped.
    permissions : numpy.ndarray of int32, shape (n,) or (0,)
        A lock for each root: the worker that holds it, or `FREE`; empty if unions are by compare-and-swap.
    """

    parent: np.ndarray
    owner: np.ndarray
    minimum: np.ndarray
    covered: np.ndarray
    permissions: np.ndarray


@njit
def scan(worker, first, last, edges, state):
    """Lower the minima of the components owned by `worker` by the edges ``first … last - 1``.

    Edges inside a component are marked as covered. Returns the number of edges visited. Workers may scan at the same
    time, as long as none unites.
    """
    u, v, words, ids = edges
    parent, owner, minimum, covered, _ = state
    skip_covered = covered.size > 0
    visits = 0
    for e in range(first, last):
        visits += 1
        if skip_covered and load(covered, e):
            continue
        x, y = find(parent, u[e]), find(parent, v[e])
        if x == y:
            if skip_covered:
                store(covered, e, 1)
            continue
        if owner[x] == worker and (minimum[x] < 0 or lighter(words, ids, e, minimum[x])):
            minimum[x] = e
        if owner[y] == worker and (minimum[y] < 0 or lighter(words, ids, e, minimum[y])):
            minimum[y] = e
    return visits


@njit(parallel=True)
def find_minima(width, edges, state, staggered, tallies):
    """Write every root's minimum: each of `width` workers passes over all edges for the components it owns.

    If `staggered`, a bool, each worker starts at a different edge and wraps around, else all start at edge 0.
    ``tallies[VISITS]``, of `unite_minima`, counts the edges that each worker visits.
    """
    owner, minimum = state.owner, state.minimum
    m = edges.words.size
    for worker in prange(width):
        for x in range(owner.size):
            if owner[x] == worker:
                minimum[x] = -1
        start = worker * m // width if staggered else 0
        visits = scan(worker, start, m, edges, state)
        visits += scan(worker, 0, start, edges, state)
        fetch_add(tallies, VISITS, visits)


@njit
def acquire_permissions(permissions, x, y, worker):
    """Acquire the permissions of two different roots, both or neither, without waiting; return whether they were free.

    `permissions` is the field of `State`. The permission of the smaller root is acquired first, so that one of several
    threads that want the same two gets both.
    """
    low, high = min(x, y), max(x, y)
    if compare_and_swap(permissions, low, FREE, worker) != FREE:
        return False
    if compare_and_swap(permissions, high, FREE, worker) != FREE:
        store(permissions, low, FREE)
        return False
    return True


@njit
def link_with_permission(state, x, y, worker):
    """Link `y` below `x` if both permissions are acquired and both are still roots; return whether it was linked.

    The worker then owns the union. Permissions are released in any case.
    """
    parent, owner, permissions = state.parent, state.owner, state.permissions
    if not acquire_permissions(permissions, x, y, worker):
        return False
    linked = load(parent, x) == x and load(parent, y) == y
    if linked:
        store(parent, y, x)
        store(owner, x, worker)
    store(permissions, x, FREE)
    store(permissions, y, FREE)
    return linked


@njit
def link_by_cas(state, x, y, worker):
    """Link the larger of two vertices below the smaller if the larger is still a root; return whether it was linked.

    The link is a compare-and-swap. If it succeeds, the worker owns the union.
    """
    parent, owner = state.parent, state.owner
    low, high = min(x, y), max(x, y)
    if compare_and_swap(parent, high, high, low) != high:
        return False
    store(owner, low, worker)
    return True


@njit(parallel=True)
def unite_minima(width, edges, state, forest, tallies):
    """Unite components along their minima: each of `width` workers tries once for each component it owns.

    Ids are appended to `forest`, int64 of shape (n - 1,), in an order that depends on the schedule. `tallies` is int64,
    from `mst.kernels.parallel.runtime.new_tallies`: ``tallies[FOREST]`` is the size of the forest, and
    ``tallies[FAILED]`` counts the tries that failed; their components are tried again in the next round. Minima that
    unite components, or turn out to be inside a component, are marked as covered.
    """
    u, v = edges.a, edges.b
    parent, owner, minimum, covered, permissions = state
    locking = permissions.size > 0
    for worker in prange(width):
        me = owner.dtype.type(worker)
        for root in range(owner.size):
            if load(owner, root) != me or minimum[root] < 0 or load(parent, root) != root:
                continue
            e = minimum[root]
            x, y = find(parent, u[e]), find(parent, v[e])
            if x != y:
                if locking:
                    linked = link_with_permission(state, x, y, me)
                else:
                    linked = link_by_cas(state, x, y, me)
                if not linked:
                    fetch_add(tallies, FAILED, 1)
                    continue
                forest[fetch_add(tallies, FOREST, 1)] = e
            if covered.size:
                store(covered, e, 1)
