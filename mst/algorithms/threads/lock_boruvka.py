"""Borůvka's algorithm with owner threads and permissions instead of spin locks: Durbhakula's first algorithm.

S. M. Durbhakula, "Parallel Minimum Spanning Tree Algorithms and Evaluation" (arXiv 2005.06913), §2.2.1; no program
was published, so this is a port of the listing. Every thread passes over all edges and keeps the minima of the
components that it owns; to unite two components it must hold permission for both, and skips them if it does not get
both.

The listing is wrong in five ways, in spite of its proof (`tests/test_published_failures.py` shows each). Numbers in
parentheses are lines of the listing; each item ends with the remedy here:

1. *Lost permissions* (45–51). Two threads may both read −1, then one writes its id and reads it back before the other
   writes and reads: both hold the component, one parent overwrites the other, and a union is lost. Here reading and
   writing are one compare-and-swap.
2. *Permissions kept forever* (51–62). A thread that gets only one of its two permissions does not release it, and no
   thread can unite that component again. Here the thread releases the permission; the smaller component comes first, so
   that one of several threads that want the same two components succeeds.
3. *Permission for components other than those united* (52–57). The representatives are looked up again under
   permission, and may then be components that another thread holds. Here both must still be roots, else the union is
   given up until the next round.
4. *Minima of no component* (28–38). Nothing separates the threads' steps, so a thread may unite a component while the
   component's owner is halfway through the edges. The minimum is then neither that of the old component nor that of the
   union, and the thread that united them, now the owner, adds it to the forest. The proof assumes that ownership guards
   against this, but ownership passes on after the union, and with it the unfinished minimum. Here all minima are found
   before anything is united. A union then makes no minimum wrong: it is still the lightest edge that leaves the
   component for which it was found, and so in the forest by the cut property, even after that component has been united
   with others.
5. *No termination* (15). On a graph of several components the last one is never reached. Here the rounds end with one
   that unites nothing: while a minimum is left, some thread succeeds, because a failure means that another holds a
   larger component.

Ties go by edge id, since staggered threads visit equal edges in different orders.
"""

from __future__ import annotations

from functools import partial

from mst.algorithms.threads import _owners
from mst.algorithms.threads._owners import collect, counters, solve

__all__ = ["ALGORITHM", "collect", "counters", "prepare", "solve"]

ALGORITHM = dict(
    id="lock-boruvka",
    paradigm="threads",
    paper="durbhakula",
    title="Borůvka with permissions (Durbhakula, port)",
    input="edges",
    options=dict(
        staggered=dict(default=True, help="threads start at edges that are spaced out evenly"),
        covered=dict(default=True, help="mark edges inside a component and skip them from then on"),
    ),
    requires=("numba",),
)

prepare = partial(_owners.prepare, locking=True)
