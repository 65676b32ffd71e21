"""Borůvka's algorithm with owner threads and unions by compare-and-swap: Durbhakula's second algorithm.

S. M. Durbhakula, "Parallel Minimum Spanning Tree Algorithms and Evaluation" (arXiv 2005.06913), §2.2.2; no program
was published, so this is a port of the listing. It is `lock-boruvka` without permissions: the parent of one root is
set to the other by compare-and-swap; if another thread changed it first, the edge waits for the next round.

The paper refers to the proof of its first algorithm. Of the gaps that `lock_boruvka` lists, 4 (minima of no component)
and 5 (no termination) also concern this algorithm, and are closed in the same way. One more is specific to it:

- *Cycles of parents* (38–45). The representatives of the two ends are read one after the other, and the swap guards
  only the second. Between the two reads, the first may be linked to a third component, and the second, by another
  thread and along the same edge, to that component too: the thread then links the third component to one of its
  descendants, and the next find never ends. Here the larger root is always linked to the smaller one, so that
  parents descend and no interleaving makes a cycle (`tests/test_published_failures.py` shows one in the original).
"""

from __future__ import annotations

from functools import partial

from mst.algorithms.threads import _owners
from mst.algorithms.threads._owners import collect, counters, solve

__all__ = ["ALGORITHM", "collect", "counters", "prepare", "solve"]

ALGORITHM = dict(
    id="cas-boruvka",
    paradigm="threads",
    paper="durbhakula",
    title="Borůvka with compare-and-swap unions (Durbhakula, port)",
    input="edges",
    options=dict(
        staggered=dict(default=True, help="threads start at edges that are spaced out evenly"),
        covered=dict(default=True, help="mark edges inside a component and skip them from then on"),
    ),
    requires=("numba",),
)

prepare = partial(_owners.prepare, locking=False)
