"""Proof on the device that a forest is the minimum spanning forest, for graphs too large to copy to the host.

Borůvka's rounds over the forest alone produce a tree of components of at most log₂ n levels. Each component stores the
edge that it chose. The heaviest edge on the forest's path between two vertices is the heaviest edge chosen on the way
up to their common component (King, "A simpler minimum spanning tree verification algorithm", Algorithmica 18, 1997). So
one short climb checks an edge of the graph against its path; `mst.proof` explains why that suffices. The kernels, in
``prove_forest.cu``, are independent of the solvers' kernels.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from mst.algorithms.cuda.device import memory
from mst.algorithms.cuda.device.graph import keys_of
from mst.algorithms.cuda.device.launch import argument_dtype
from mst.errors import InputError
from mst.kernels.cuda import loader
from mst.proof import Proof

if TYPE_CHECKING:
    from mst.algorithms.cuda.device.graph import DeviceGraph

SOURCE = "prove_forest.cu"
KERNELS = ("choose_lightest", "check_edges")
ARGUMENT = argument_dtype(
    (
        "a",
        "b",
        "lightest",
        "parent",
        "heaviest",
        "tree_keys",
        "tree_ids",
        "u",
        "v",
        "keys",
        "violations",
        "count",
    ),
    (),
)
NONE = 2**32 - 1
BLOCK = 256
MAX_BLOCKS = 1 << 14


class ProofDevice:
    """CuPy as the array module, and the launches of a proof."""

    def __init__(self, key_bits: int):
        import cupy

        self.xp = cupy
        self._kernels = {name: loader.Kernel(SOURCE, name, {"KEY_BITS": key_bits}) for name in KERNELS}

    def launch(self, kernel: str, count: int, **arrays: Any) -> None:
        """Run a kernel over `count` items; `arrays` are the fields of its argument."""
        if count == 0:
            return
        argument = np.zeros(1, ARGUMENT)
        argument["count"] = count
        for name, array in arrays.items():
            argument[name] = array.data.ptr
        blocks = min(-(-count // BLOCK), MAX_BLOCKS)
        self._kernels[kernel].launch(blocks, BLOCK, loader.Arguments(argument))


@dataclass(frozen=True, eq=False)
class ComponentTree:
    """The components of Borůvka's rounds over a forest, as a tree whose leaves are the vertices.

    Attributes
    ----------
    parent : array of uint32, shape (nodes,)
        The node above; a root is its own parent.
    heaviest : array of uint32, shape (nodes,)
        1 + the rank of the edge chosen by the node's component, or 0 if it chose none.
    roots : int
        Trees of the forest, including isolated vertices.
    """

    parent: Any
    heaviest: Any
    roots: int


def prove(graph: DeviceGraph, edge_ids: Any) -> Proof:
    """Return a proof that edge ids on the device are the minimum spanning forest, or the reason why they are not.

    Parameters
    ----------
    graph : DeviceGraph
        A graph with fewer than 2³² - 1 edges.
    edge_ids : cupy.ndarray of integers
        Edge ids in any order.

    Raises
    ------
    OutOfMemoryError
        The graph, its keys and the tree do not fit in device memory together.
    """
    keys = keys_of(graph)
    memory.ensure_free(32 * graph.n + 24 * len(edge_ids), f"proving a forest of n = {graph.n:,}")
    return prove_on(ProofDevice(keys.itemsize * 8), graph, keys, edge_ids)


def prove_on(device: Any, graph: Any, keys: Any, edge_ids: Any) -> Proof:
    """Do what `prove` does on a given device. Tests pass an emulated one, with numpy as its array module."""
    began, xp = perf_counter(), device.xp
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
    tree = component_tree(device, graph.n, graph.u[ordered], graph.v[ordered])
    if tree.roots != graph.n - len(ids):
        excess = tree.roots - (graph.n - len(ids))
        return verdict(f"the edges close {excess} cycle{'s' * (excess > 1)}", cycles=excess)
    violations = xp.full(4, 0, xp.uint32)
    violations[2:] = NONE
    device.launch(
        "check_edges",
        graph.m,
        parent=tree.parent,
        heaviest=tree.heaviest,
        tree_keys=keys[ordered],
        tree_ids=ordered.astype(xp.uint32),
        u=graph.u,
        v=graph.v,
        keys=keys,
        violations=violations,
    )
    apart, lighter, first_apart, first_lighter = (int(word) for word in violations)
    if apart:
        return verdict(f"{apart} edges join two trees, the first is edge {first_apart}", edge=first_apart)
    if lighter:
        return verdict(
            f"{lighter} edges come before the heaviest edge on their tree path, the first is edge {first_lighter}",
            edge=first_lighter,
        )
    return verdict("", levels=len(tree.parent))


def component_tree(device: Any, n: int, a: Any, b: Any) -> ComponentTree:
    """Return the tree of components of Borůvka's rounds over a forest (King, section 2).

    Parameters
    ----------
    n : int
        Vertices.
    a, b : array of int32, shape (forest edges,)
        Ends of the forest's edges, in ascending order of the edges, so that an edge's row is its rank.
    """
    xp = device.xp
    rank = xp.arange(len(a), dtype=xp.uint32)
    a, b = a.astype(xp.uint32), b.astype(xp.uint32)
    parents, heaviest, first, components = [], [], 0, n
    while True:
        kept = a != b
        rank, a, b = rank[kept], a[kept], b[kept]
        if not len(rank):
            break
        lightest = xp.full(components, NONE, xp.uint32)
        device.launch("choose_lightest", len(rank), a=a, b=b, lightest=lightest)
        chose = lightest != NONE
        row = xp.where(chose, lightest, 0)
        heaviest.append(xp.where(chose, rank[row] + xp.uint32(1), xp.uint32(0)))
        label = _contracted(xp, chose, a[row] + b[row], components)
        parents.append(label + xp.uint32(first + components))
        a, b = label[a], label[b]
        first += components
        components = int(label.max()) + 1
    parents.append(xp.arange(first, first + components, dtype=xp.uint32))
    heaviest.append(xp.full(components, 0, xp.uint32))
    return ComponentTree(xp.concatenate(parents), xp.concatenate(heaviest), components)


def _contracted(xp: Any, chose: Any, end_sums: Any, components: int) -> Any:
    """Return each component's label after every component has hooked across its chosen edge.

    Parameters
    ----------
    xp : module
        numpy or CuPy.
    chose : array of bool, shape (components,)
        Whether a component chose an edge.
    end_sums : array of uint32, shape (components,)
        Sum of the two ends of the chosen edge; the sum minus one end is the other end.
    """
    index = xp.arange(components, dtype=xp.uint32)
    hook = xp.where(chose, end_sums - index, index)
    # Two components that chose each other chose the same edge; the lower one is the root.
    hook = xp.where((hook[hook] == index) & (index < hook), index, hook)
    while bool(((jumped := hook[hook]) != hook).any()):
        hook = jumped
    label = xp.cumsum(hook == index, dtype=xp.uint32) - xp.uint32(1)
    return label[hook]
