"""That a forest is the minimum spanning forest, proved on the device: for graphs too large to bring to the host.

Borůvka's rounds over the forest alone make a tree of components, at most log₂ n levels high. Each component carries the
edge that it chose, and the heaviest edge on the path between two vertices is the heaviest that was chosen on the
way up to where their components meet (King, "A simpler minimum spanning tree verification algorithm", Algorithmica
18, 1997). So an edge of the graph is checked against its path by one short climb: `mst.proof` says why that
suffices. No kernel of a solver is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from mst.algorithms.cuda import _resident as resident
from mst.errors import InputError
from mst.kernels.cuda import loader
from mst.proof import Proof

SOURCE = "prove.cu"
KERNELS = ("choose", "check")
_POINTERS = (
    "one",
    "other",
    "chosen",
    "parent",
    "heaviest",
    "tree_keys",
    "tree_ids",
    "u",
    "v",
    "keys",
    "found",
)
STRUCT = np.dtype([(name, np.uint64) for name in (*_POINTERS, "count")])
NONE = 2**32 - 1
_BLOCK = 256
_BLOCKS = 1 << 14


class Device:
    """Where a proof runs: arrays and launches."""

    def __init__(self, bits: int):
        import cupy

        self.arrays = cupy
        self._kernels = {name: loader.Kernel(SOURCE, name, KEY_BITS=bits) for name in KERNELS}

    def launch(self, name: str, count: int, **operands: Any) -> None:
        """Run a kernel over `count` items; operands are the arrays that it reads and writes."""
        if count == 0:
            return
        struct = np.zeros(1, STRUCT)
        struct["count"] = count
        for field, array in operands.items():
            struct[field] = array.data.ptr
        blocks = min(-(-count // _BLOCK), _BLOCKS)
        self._kernels[name].launch(blocks, _BLOCK, loader.Arguments(struct))


@dataclass(frozen=True)
class Climb:
    """The tree of components: node to the node above, and to 1 + the rank of the edge chosen there, or 0."""

    parent: Any
    heaviest: Any
    tops: int


def prove(graph: resident.DeviceGraph, edge_ids: Any) -> Proof:
    """Return the proof, or what speaks against it, that edge ids on the device are the minimum spanning forest.

    Parameters
    ----------
    graph : DeviceGraph
        At most 2³² - 1 edges.
    edge_ids : cupy.ndarray of integers
        In any order.

    Raises
    ------
    OutOfMemoryError
        The graph, its keys and the tree do not fit together.
    """
    keys = resident.device_keys(graph.w)
    resident.ensure_free(32 * graph.n + 24 * len(edge_ids), f"proving a forest of n = {graph.n:,}")
    return proved(Device(keys.itemsize * 8), graph, keys, edge_ids)


def proved(device: Any, graph: Any, keys: Any, edge_ids: Any) -> Proof:
    """`prove` over any device: numpy's arrays and an emulator will do."""
    began, xp = perf_counter(), device.arrays
    if graph.m >= NONE:
        raise InputError(f"m = {graph.m:,} edges: a proof on the device takes fewer than 2³² - 1")

    def verdict(reason: str, **details: int) -> Proof:
        return Proof(
            ok=not reason,
            grade="identical",
            reason=reason,
            n=graph.n,
            m=graph.m,
            forest_edges=len(edge_ids),
            components=graph.n - len(edge_ids),
            seconds=perf_counter() - began,
            details=details,
        )

    ids = xp.sort(edge_ids.astype(xp.int64))
    if len(ids) and (int(ids[0]) < 0 or int(ids[-1]) >= graph.m):
        return verdict(f"edge ids run from 0 to {graph.m - 1}, and one is {int(ids[0])} or {int(ids[-1])}")
    if len(ids) > 1 and bool((ids[1:] == ids[:-1]).any()):
        return verdict("an edge id comes twice")
    ordered = ids[xp.lexsort(xp.stack((ids.astype(xp.uint64), keys[ids].astype(xp.uint64))))]
    climb = climbing_tree(device, graph.n, graph.u[ordered], graph.v[ordered])
    if climb.tops != graph.n - len(ids):
        excess = climb.tops - (graph.n - len(ids))
        return verdict(f"the edges close {excess} cycle{'s' * (excess > 1)}", cycles=excess)
    found = xp.full(4, 0, xp.uint32)
    found[2:] = NONE
    device.launch(
        "check",
        graph.m,
        parent=climb.parent,
        heaviest=climb.heaviest,
        tree_keys=keys[ordered],
        tree_ids=ordered.astype(xp.uint32),
        u=graph.u,
        v=graph.v,
        keys=keys,
        found=found,
    )
    apart, below, first_apart, first_below = (int(word) for word in found)
    if apart:
        return verdict(f"{apart} edges join two trees, the first is edge {first_apart}", edge=first_apart)
    if below:
        return verdict(
            f"{below} edges come before the heaviest edge on their tree path, the first is edge {first_below}",
            edge=first_below,
        )
    return verdict("", levels=len(climb.parent))


def climbing_tree(device: Any, n: int, one: Any, other: Any) -> Climb:
    """Return the tree of components of a forest's edges.

    Parameters
    ----------
    one, other : array of int32, shape (forest edges,)
        Ends, ascending in the order: an edge's rank is its row.
    """
    xp = device.arrays
    rank = xp.arange(len(one), dtype=xp.uint32)
    one, other = one.astype(xp.uint32), other.astype(xp.uint32)
    parents, heaviest, first, count = [], [], 0, n
    while True:
        kept = one != other
        rank, one, other = rank[kept], one[kept], other[kept]
        if not len(rank):
            break
        chosen = xp.full(count, NONE, xp.uint32)
        device.launch("choose", len(rank), one=one, other=other, chosen=chosen)
        chose = chosen != NONE
        place = xp.where(chose, chosen, 0)
        heaviest.append(xp.where(chose, rank[place] + xp.uint32(1), xp.uint32(0)))
        above = _components(xp, chose, one[place] + other[place], count)
        parents.append(above + xp.uint32(first + count))
        one, other = above[one], above[other]
        first += count
        count = int(above.max()) + 1
    parents.append(xp.arange(first, first + count, dtype=xp.uint32))
    heaviest.append(xp.full(count, 0, xp.uint32))
    return Climb(xp.concatenate(parents), xp.concatenate(heaviest), count)


def _components(xp: Any, chose: Any, ends: Any, count: int) -> Any:
    """Return the new number of each component, when each hooks across its edge, whose ends add up to `ends`."""
    own = xp.arange(count, dtype=xp.uint32)
    hook = xp.where(chose, ends - own, own)
    # Two that chose each other chose the same edge; the lower one is the root.
    hook = xp.where((hook[hook] == own) & (own < hook), own, hook)
    while bool(((further := hook[hook]) != hook).any()):
        hook = further
    number = xp.cumsum(hook == own, dtype=xp.uint32) - xp.uint32(1)
    return number[hook]
