"""Borůvka's steps where every component has an owner thread (Durbhakula, §2.2).

A thread looks at all edges and keeps the minima of the components that it owns, so that minima need no atomics;
then it joins its components along them. `words` and `ids` are those of `mst.kernels.primitives.packed_edges`,
in the order of
ids, so that an edge's place is its id.
"""

from __future__ import annotations

from numba import prange

from mst.kernels.parallel.runtime import FINISHED, FOREST
from mst.kernels.primitives.atomics import compare_and_swap, fetch_add, load, store
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.packed_edges import lighter
from mst.kernels.union_find.concurrent import find

FREE = -1
FAILED = FINISHED
"""Where counters keep how many unions were given up for another thread's."""


@njit
def scan(worker, first, last, u, v, words, ids, parent, owner, minimum, covered):
    """Let edges lower the minima of the components that a worker owns; without room, `covered` is off."""
    skip_covered = covered.size > 0
    for e in range(first, last):
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


@njit(parallel=True)
def find_minima(width, u, v, words, ids, parent, owner, minimum, covered, staggered):
    """Every worker passes over all edges, from a start of its own if `staggered`."""
    m = u.size
    for worker in prange(width):
        for x in range(owner.size):
            if owner[x] == worker:
                minimum[x] = -1
        start = worker * m // width if staggered else 0
        scan(worker, start, m, u, v, words, ids, parent, owner, minimum, covered)
        scan(worker, 0, start, u, v, words, ids, parent, owner, minimum, covered)


@njit
def permit(permissions, x, y, worker):
    """Get permission for both of two components, or none of them; never waits.

    The smaller one first: of threads that want each other's components one gets both.
    """
    low, high = min(x, y), max(x, y)
    if compare_and_swap(permissions, low, FREE, worker) != FREE:
        return False
    if compare_and_swap(permissions, high, FREE, worker) != FREE:
        store(permissions, low, FREE)
        return False
    return True


@njit
def join_with_permission(permissions, parent, owner, x, y, worker):
    """Hang root `y` under root `x` if permission is to be had and both are roots still."""
    if not permit(permissions, x, y, worker):
        return False
    joined = load(parent, x) == x and load(parent, y) == y
    if joined:
        store(parent, y, x)
        store(owner, x, worker)
    store(permissions, x, FREE)
    store(permissions, y, FREE)
    return joined


@njit
def join_by_swap(permissions, parent, owner, x, y, worker):
    """Hang the larger of two roots under the smaller one, if it is a root still."""
    low, high = min(x, y), max(x, y)
    if compare_and_swap(parent, high, high, low) != high:
        return False
    store(owner, low, worker)
    return True


@njit(parallel=True)
def unite_minima(width, u, v, parent, owner, minimum, covered, permissions, forest, counters):
    """Every worker joins the components that it owns along their minima; `permissions` without room are off."""
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
                    joined = join_with_permission(permissions, parent, owner, x, y, me)
                else:
                    joined = join_by_swap(permissions, parent, owner, x, y, me)
                if not joined:
                    fetch_add(counters, FAILED, 1)
                    continue
                forest[fetch_add(counters, FOREST, 1)] = e
            if covered.size:
                store(covered, e, 1)
