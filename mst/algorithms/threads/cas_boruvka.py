"""Borůvka's algorithm with owner threads and unions by compare-and-swap: Durbhakula's second.

S. M. Durbhakula, "Parallel Minimum Spanning Tree Algorithms and Evaluation" (arXiv 2005.06913), §2.2.2; no program
was published, so this is a port of the listing. It is `lock-boruvka` without permissions: the parent of one root is
set to the other by compare-and-swap, and where another thread was faster, the edge is left for the next round.

The paper gives no proof but points to that of the other algorithm, whose gaps 4 (minima of no component) and 5 (no
end) are here too, and closed in the same way. One more belongs to this algorithm alone:

- *Cycles of parents* (38–45). The representatives of the two ends are read one after the other, and the swap guards
  only the second. While a thread is between them, the first may be hung under a third component, and the second, by
  another thread and along this very edge, under the same: the thread then hangs that third component under what is
  below it, and the next look-up never ends. Here the larger root is always hung under the smaller one, so that
  parents descend and no interleaving makes a cycle (`tests/test_published_failures.py` shows one without).
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
