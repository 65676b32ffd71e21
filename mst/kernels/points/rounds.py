"""Borůvka's rounds over points: in each, every component chooses its lightest edge to another component.

The weight of an edge is the largest of the squared distance of its ends and their core distances, and edges compare by
(weight, distance, smaller point, larger point). Every point keeps a *candidate*, an edge to another component, which is
*exact* once it is known to be the point's lightest. Candidates come from the list of nearest neighbours as long as it
leads out of the component, and then from a search of the k-d tree. The search is skipped if a lower bound shows that it
cannot lower the *limit*, the smallest weight that any point of the component has found in this round.

Each step is a module: in a round, `lists`, `limits`, `search` and `choose` find the edges, and `link` and `relabel`
join components by them. `parts` takes these steps within parts of the tree first. All share the arrays of `state`.

In the functions of these modules, `tree` is a `KdTree`; `lists`, `candidates`, `components` and `joins` are the named
tuples of `state`; `choices` is a field of `Joins`, `of_node` of `Components`, `roots` and `left` of `State`.
`schedule` is a `Schedule`; places, nodes and levels are int. `plain` says whether core distances do not count, and
`alone` whether no other thread has points of the component. If others have, all lower its limit and replace its choice
by atomics; any other element is written by the worker of its place, node or component only.
"""

from __future__ import annotations

from mst.kernels.parallel.launch import run
from mst.kernels.parallel.runtime import FOREST, LIVE, Schedule, reset_queue
from mst.kernels.points.choose import choose_worker
from mst.kernels.points.kd_tree import LEVELS_EACH
from mst.kernels.points.limits import limits_worker, lower_limits
from mst.kernels.points.link import link_worker, settle_worker
from mst.kernels.points.lists import lists_worker
from mst.kernels.points.parts import parts_worker
from mst.kernels.points.relabel import relabel
from mst.kernels.points.search import search_worker
from mst.kernels.points.state import begin_worker
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.out_of_line import call


@njit
def join_all(schedule, plain, top, start, tree, lists, state, edges, size):
    """Join components by shortest edges until one is left.

    Parameters
    ----------
    schedule : mst.kernels.parallel.runtime.Schedule
        A chunk is `grain` places, whole blocks.
    plain : bool
        Whether core distances do not count.
    top : int
        The level of the k-d tree whose nodes are the parts that are joined first.
    start : numpy.ndarray of int32, shape (n,) or (0,)
        The components; if it is empty, every place is one, and parts are joined first.
    tree : mst.kernels.points.kd_tree.KdTree
    lists : mst.kernels.points.state.Lists
    state : mst.kernels.points.state.State
        From `mst.kernels.points.state.allocate`; its roots are given unless `start` is empty.
    edges : mst.kernels.points.state.Edges
        The first `size` are given, the others are overwritten.
    size : int
        Number of edges that are given.
    """
    width, _, tallies = schedule
    candidates, components, joins, roots, left = state
    reset_queue(tallies, width)
    run(width, begin_worker, schedule, start, lists, candidates, components, joins)
    tallies[FOREST], tallies[LIVE] = size, 0
    if start.size == 0:
        reset_queue(tallies, width)
        run(width, parts_worker, schedule, plain, top, tree, lists, state, edges)
    roots = roots[: start.size - size if start.size > 0 else tallies[LIVE]]
    relabel(schedule, joins.parent, tree.levels, components)
    while roots.size > 1:
        _choose_edges(schedule, plain, tree, lists, candidates, components, joins.choices)
        roots, left = _join_chosen(schedule, roots, left, candidates, components, joins, edges), roots
        relabel(schedule, joins.parent, tree.levels, components)


@njit
def _choose_edges(schedule, plain, tree, lists, candidates, components, choices):
    """Write the lightest candidate of every component to `choices`, by all workers."""
    width, _, tallies = schedule
    reset_queue(tallies, width)
    run(width, lists_worker, schedule, plain, lists, candidates, components)
    reset_queue(tallies, width)
    run(width, limits_worker, schedule, tree, lists, components)
    above = 1 << max(tree.levels - LEVELS_EACH, 0)
    call(lower_limits, 1, min(2 * above, 1 << tree.levels), True, tree, lists, components)
    reset_queue(tallies, width)
    run(width, search_worker, schedule, tree, lists, candidates, components)
    reset_queue(tallies, width)
    run(width, choose_worker, schedule, tree, candidates, components, choices)


@njit
def _join_chosen(schedule, roots, left, candidates, components, joins, edges):
    """Append the chosen edges to `edges`, and join components by them; return the remaining ones, in `left`."""
    width, grain, tallies = schedule
    few = Schedule(1 if roots.size <= grain else width, grain, tallies)
    tallies[LIVE] = 0
    reset_queue(tallies, width)
    run(few.width, link_worker, few, roots, candidates, components, joins, edges)
    reset_queue(tallies, width)
    run(few.width, settle_worker, few, roots, left, components, joins)
    return left[: tallies[LIVE]]
