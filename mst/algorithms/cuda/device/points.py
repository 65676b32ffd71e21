"""Minimum spanning trees of points on one GPU: Borůvka's rounds over a k-d tree, by ``boruvka_points.cu``.

The method and the trees, edge by edge, are those of `mst.points`. A warp processes a block of 32 points. The points and
the tree stay on the device.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from mst.algorithms.cuda.device import memory
from mst.algorithms.cuda.device.launch import argument_dtype
from mst.errors import UnsupportedError
from mst.kernels.cuda import loader
from mst.kernels.points import listed_neighbours

SOURCE = "boruvka_points.cu"
KERNELS = (
    "frame_nodes",
    "key_places",
    "box_leaves",
    "join_boxes",
    "find_neighbours",
    "find_core_distances",
    "find_least_core_distances",
    "join_core_distances",
    "read_lists",
    "look_across",
    "search_tree",
    "find_distances",
    "find_pairs",
    "choose_edges",
    "link_components",
    "follow_links",
    "relabel",
    "join_components",
)
ARRAYS = (
    *("columns", "order", "frames", "keys", "x", "ids", "boxes", "counts", "core", "node_core", "near", "far"),
    *("ends", "weights", "apart", "bounds", "state", "of", "of_node", "limits", "distances", "pairs"),
    *("choices", "parent", "a", "b", "taken", "counters"),
)
ARGUMENT = argument_dtype(ARRAYS, ("n", "blocks", "levels", "level", "samples"))
BLOCK = 256
LEAF = 32
NONE = 2**32 - 1
MOST_DIMENSIONS, MOST_LISTED = 16, 32
"""A lane keeps its point and its list in registers."""


class Edges(NamedTuple):
    """A tree's edges on the device, sorted by (weight, u, v): ends (int32, ``u < v``) and weights (float64)."""

    u: Any
    v: Any
    w: Any


class PointsDevice:
    """CuPy as the array module, and the kernels for points.

    Parameters
    ----------
    macros : dict of str to int
        From `macros_of`.
    """

    block = BLOCK

    def __init__(self, macros: dict[str, int]):
        import cupy

        self.xp = cupy
        self._kernels = {name: loader.Kernel(SOURCE, name, macros) for name in KERNELS}

    def ensure_free(self, size: int, purpose: str) -> None:
        """Raise `OutOfMemoryError` unless `size` bytes are free."""
        memory.ensure_free(size, purpose)

    def address(self, array: Any) -> int:
        """Return the address of an array."""
        return array.data.ptr

    def launch(self, kernel: str, threads: int, argument: np.ndarray) -> None:
        """Run a kernel with at least the given number of threads."""
        self._kernels[kernel].launch(-(-threads // BLOCK), BLOCK, loader.Arguments(argument))


def macros_of(dimensions: int, samples: int) -> dict[str, int]:
    """Return the macros of the kernels for points, or raise `UnsupportedError` if there are no such kernels."""
    listed = listed_neighbours(dimensions, samples)
    if dimensions > MOST_DIMENSIONS:
        raise UnsupportedError(
            f"points on a GPU may have up to {MOST_DIMENSIONS} dimensions, not {dimensions}: copy them to the host"
        )
    if listed > MOST_LISTED:
        raise UnsupportedError(
            f"min_samples may be up to {MOST_LISTED + 1} on a GPU, not {samples}: copy the points to the host"
        )
    return {"DIMENSIONS": dimensions, "LISTED": listed, "CORES": int(samples > 1)}


def device_for(dimensions: int, samples: int) -> PointsDevice:
    """Return the current device with the kernels for points; see `macros_of`."""
    macros = macros_of(dimensions, samples)
    import cupy

    return _device(int(cupy.cuda.runtime.getDevice()), tuple(macros.items()))


@cache
def _device(device: int, macros: tuple[tuple[str, int], ...]) -> PointsDevice:
    return PointsDevice(dict(macros))


def tree_of_points(device: Any, points: Any, samples: int) -> Edges:
    """Return the minimum spanning tree of points by squared mutual-reachability distance.

    Parameters
    ----------
    device : PointsDevice
        Tests pass an emulated one, with numpy as its array module.
    points : array of float64, shape (n, dimensions)
        On the device; finite, without negative zeros.
    samples : int
        The core distance is the distance of this neighbour, counting the point itself. With 1, it is not used: an edge
        weighs its length.

    Raises
    ------
    OutOfMemoryError
        The tree does not fit on the device.
    """
    xp, (n, dimensions) = device.xp, points.shape
    if n < 2:
        return Edges(xp.empty(0, xp.int32), xp.empty(0, xp.int32), xp.empty(0))
    each = 20 * dimensions + 12 * listed_neighbours(dimensions, samples) + 120
    device.ensure_free(each * n, f"the tree of {n:,} points in {dimensions} dimensions")
    first, others = _distinct(xp, points)
    rounds = _Rounds(device, points if first is None else points[first], first, others, samples)
    u, v, weights = rounds.run()
    if others is not None:
        # Points with equal coordinates are joined to the first of them: none of their other edges comes before these.
        points_there, place = others
        u = xp.concatenate((u, first[place].astype(xp.uint32)))
        v = xp.concatenate((v, points_there.astype(xp.uint32)))
        weights = xp.concatenate((weights, rounds.core_of_points()[place]))
    pairs = xp.minimum(u, v).astype(xp.uint64) << xp.uint64(32) | xp.maximum(u, v)
    w = xp.sqrt(weights)
    by_ends = xp.argsort(pairs)
    order = by_ends[xp.argsort(w[by_ends], kind="stable")]
    pairs = pairs[order]
    return Edges((pairs >> xp.uint64(32)).astype(xp.int32), pairs.astype(xp.uint32).view(xp.int32), w[order])


def _distinct(xp: Any, points: Any) -> tuple[Any, Any]:
    """Return the first point of each group of equal points, ascending, and (the other points, their groups) or None."""
    bits = points.view(xp.uint64)
    for seed in range(1, 1 << 16):  # until no two different points share a hash
        hashes = xp.full(len(points), seed, xp.uint64)
        for k in range(points.shape[1]):
            hashes = (hashes ^ bits[:, k]) * xp.uint64(0x9E3779B97F4A7C15)
            hashes ^= hashes >> xp.uint64(29)
        in_order = xp.sort(hashes)
        if not bool((in_order[1:] == in_order[:-1]).any()):
            return None, None
        order = xp.argsort(hashes, kind="stable")
        in_order = hashes[order]
        equal = in_order[1:] == in_order[:-1]
        alike = (points[order[1:]] == points[order[:-1]]).all(axis=1)
        if not bool((equal & ~alike).any()):
            break
    is_first = xp.ones(len(points), bool)
    is_first[order[1:]] = ~equal
    first = xp.flatnonzero(is_first)
    # In hash order, each run of equal hashes begins with the first of its points.
    starts = xp.flatnonzero(xp.concatenate((xp.ones(1, bool), ~equal)))
    run = xp.cumsum(xp.concatenate((xp.zeros(1, bool), ~equal)))
    place = xp.empty(len(points), xp.int64)
    place[order] = xp.searchsorted(first, order[starts])[run]
    (others,) = xp.nonzero(~is_first)
    return first, (others, place[others])


@dataclass(eq=False)
class _Rounds:
    """Distinct points on the device, and Borůvka's rounds that join them.

    Attributes
    ----------
    device
    points : array of float64, shape (n, dimensions)
        Distinct.
    ids : array of int64, shape (n,), or None
        The original point of each; None if all are distinct.
    others : tuple or None
        From `_distinct`.
    samples : int
    """

    device: Any
    points: Any
    ids: Any
    others: Any
    samples: int

    def __post_init__(self) -> None:
        self.n = len(self.points)
        self.blocks = -(-self.n // LEAF)
        self.levels = (self.blocks - 1).bit_length()
        self._argument = np.zeros(1, ARGUMENT)
        self._arrays: dict[str, Any] = {}
        self._set(n=self.n, blocks=self.blocks, levels=self.levels, samples=self.samples)

    def run(self) -> tuple[Any, Any, Any]:
        """Return the ends of the tree's edges, as points (uint32), and their squared weights, unordered."""
        xp = self.device.xp
        if self.n == 1:
            return xp.empty(0, xp.uint32), xp.empty(0, xp.uint32), xp.empty(0)
        self._build()
        self._list_neighbours()
        self._join()
        a, b, taken, ids = (self._arrays[name] for name in ("a", "b", "taken", "ids"))
        return ids[a], ids[b], taken

    def core_of_points(self) -> Any:
        """Return the squared core distance of each distinct point; zero for a single point. Call it after `run`."""
        core = self.device.xp.zeros(self.n)
        if self.samples > 1 and self.n > 1:
            core[self._order] = self._arrays["core"]
        return core

    def _build(self) -> None:
        """Sort the points by the leaves of a balanced k-d tree, and find the boxes of its nodes."""
        xp, n = self.device.xp, self.n
        columns, order = xp.ascontiguousarray(self.points.T), xp.arange(n, dtype=xp.uint32)
        self._set(columns=columns, frames=xp.empty(3 << self.levels), keys=xp.empty(n, xp.uint32))
        for level in range(self.levels):
            self._set(order=order, level=level)
            self._launch("frame_nodes", LEAF << level)
            self._launch("key_places", n)
            order = order[xp.argsort(self._arrays["keys"], kind="stable")]
        ids = order if self.ids is None else self.ids[order].astype(xp.uint32)
        nodes = 2 << self.levels
        self._set(x=xp.ascontiguousarray(columns[:, order]), ids=ids, boxes=xp.empty((nodes, 2 * len(columns))))
        self._forget("columns", "order", "frames", "keys")
        self._order = order
        self._launch("box_leaves", LEAF << self.levels)
        self._launch_upwards("join_boxes")

    def _list_neighbours(self) -> None:
        xp, n = self.device.xp, self.n
        listed = listed_neighbours(self.points.shape[1], self.samples)
        self._set(near=xp.empty((listed, n), xp.uint32), far=xp.empty((listed, n)))
        self._launch("find_neighbours", LEAF * self.blocks)
        if self.samples == 1:
            return
        if self.others is not None:
            counts = 1 + xp.bincount(self.others[1], minlength=n)
            self._set(counts=counts[self._order].astype(xp.uint32))
        self._set(core=xp.empty(n), node_core=xp.empty(2 << self.levels))
        self._launch("find_core_distances", n)
        self._launch("find_least_core_distances", LEAF << self.levels)
        self._launch_upwards("join_core_distances")

    def _join(self) -> None:
        """Join components by rounds; at first, each point is a component."""
        xp, n = self.device.xp, self.n
        numbers = {name: xp.arange(n, dtype=xp.uint32) for name in ("of", "parent")}
        self._set(of_node=xp.empty(2 << self.levels, xp.uint32), state=xp.zeros(n, xp.uint8), **numbers)
        self._set(ends=xp.full(n, NONE, xp.uint32), choices=xp.empty(n, xp.uint32))
        self._set(**{name: xp.empty(n) for name in ("weights", "bounds", "limits", "pairs")})
        if self.samples > 1:
            self._set(apart=xp.empty(n), distances=xp.empty(n))
        self._set(a=xp.empty(n, xp.uint32), b=xp.empty(n, xp.uint32), taken=xp.empty(n - 1))
        counters = xp.zeros(2, xp.uint32)
        self._set(counters=counters)
        self._relabel()
        while int(counters[0]) < n - 1:
            self._launch("read_lists", n)
            self._launch("look_across", 2 << self.levels)
            self._launch("search_tree", LEAF * self.blocks)
            if self.samples > 1:
                self._launch("find_distances", n)
            self._launch("find_pairs", n)
            self._launch("choose_edges", n)
            self._launch("link_components", n)
            moved = True
            while moved:
                counters[1] = 0
                self._launch("follow_links", n)
                moved = int(counters[1]) > 0
            self._relabel()
        self._arrays["a"], self._arrays["b"] = (self._arrays[name][: n - 1] for name in "ab")

    def _relabel(self) -> None:
        self._launch("relabel", LEAF << self.levels)
        self._launch_upwards("join_components")

    def _set(self, **fields: Any) -> None:
        """Set fields of the kernels' argument to the addresses of arrays or to numbers."""
        for name, value in fields.items():
            if isinstance(value, int):
                self._argument[name] = value
            else:
                self._arrays[name] = value
                self._argument[name] = self.device.address(value)

    def _forget(self, *names: str) -> None:
        """Free arrays that no later kernel reads."""
        for name in names:
            self._arrays.pop(name, None)
            self._argument[name] = 0

    def _launch(self, kernel: str, threads: int) -> None:
        self.device.launch(kernel, threads, self._argument)

    def _launch_upwards(self, kernel: str) -> None:
        """Run a kernel that joins nodes, by as many launches as lead from the leaves to the root."""
        level = self.levels
        while level:
            self._set(level=level)
            self._launch(kernel, 1 << (level - 1))
            level -= min(level, self.device.block.bit_length())
