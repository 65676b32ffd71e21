"""Graphs in device memory, and the inputs of kernels, made from a graph on host or device: ends, keys and rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mst import order

if TYPE_CHECKING:
    from mst.graph import Graph


@dataclass(frozen=True, eq=False)
class DeviceGraph:
    """An edge list in device memory, which CUDA algorithms accept in place of a `Graph`.

    Attributes
    ----------
    n : int
        Vertices.
    u, v : cupy.ndarray of int32, shape (m,)
        Ends.
    w : cupy.ndarray of int32, int64, float32 or float64, shape (m,)
        Weights.
    """

    n: int
    u: Any
    v: Any
    w: Any

    @property
    def m(self) -> int:
        """Number of edges, including self-loops and parallel edges."""
        return len(self.w)

    @classmethod
    def of(cls, graph: Graph) -> DeviceGraph:
        """Return a copy in device memory of a host graph, which has fewer than 2³¹ vertices."""
        import cupy

        return cls(graph.n, *(cupy.asarray(array) for array in (graph.u, graph.v, graph.w)))


@dataclass(frozen=True, eq=False)
class DeviceRows:
    """Symmetric CSR rows in device memory, without self-loops; edge ids ascend within a row.

    Attributes
    ----------
    offsets : cupy.ndarray of uint32, shape (n + 1,)
    keys : cupy.ndarray of uint32 or uint64, shape (slots,)
    pairs : cupy.ndarray of uint32, shape (slots, 2)
        Neighbour and edge id of each slot.
    """

    offsets: Any
    keys: Any
    pairs: Any


def keys_of(graph: Graph | DeviceGraph) -> Any:
    """Return the order-preserving keys of the weights, uint32 or uint64, on host or device like the graph."""
    return device_keys(graph.w) if isinstance(graph, DeviceGraph) else order.keys(graph.w)


def device_keys(weights: Any) -> Any:
    """Return the order-preserving keys of device weights, as `mst.order.keys` does on the host."""
    import cupy

    if weights.dtype == np.int64 and len(weights):
        low, high = int(weights.min()), int(weights.max())
        if high - low < 2**32:
            return (weights - low).astype(cupy.uint32)
    if weights.dtype == np.float64:
        narrow = weights.astype(cupy.float32)
        if bool((narrow == weights).all()):
            weights = narrow
    bits = weights.dtype.itemsize * 8
    unsigned = cupy.dtype(f"uint{bits}")
    top = unsigned.type(1 << (bits - 1))
    raw = weights.view(unsigned)
    if weights.dtype.kind == "i":
        return raw ^ top
    raw = cupy.where(raw == top, unsigned.type(0), raw)
    return cupy.where(raw & top, ~raw, raw | top)


def device_rows(graph: DeviceGraph, keys: Any) -> DeviceRows:
    """Return the CSR rows of a device graph, built there by sorting (end, edge id)."""
    import cupy

    m = graph.m
    slots = cupy.empty(2 * m, cupy.uint64)
    for half, ends in ((slots[:m], graph.u), (slots[m:], graph.v)):
        cupy.left_shift(ends.astype(cupy.uint64), 32, out=half)
        half |= cupy.arange(m, dtype=cupy.uint64)
    loops = graph.u == graph.v
    if bool(loops.any()):
        slots = slots[~cupy.concatenate((loops, loops))]
    slots.sort()
    rows = (slots >> 32).astype(cupy.int32)
    offsets = cupy.searchsorted(rows, cupy.arange(graph.n + 1, dtype=cupy.int32)).astype(cupy.uint32)
    ids = slots.astype(cupy.uint32)
    del slots
    pairs = cupy.empty((len(ids), 2), cupy.uint32)
    pairs[:, 0] = graph.u[ids] + graph.v[ids] - rows
    pairs[:, 1] = ids
    return DeviceRows(offsets, keys[ids], pairs)


def edge_inputs(graph: Graph | DeviceGraph) -> dict[str, Any]:
    """Return the kernels' inputs ``u``, ``v`` (uint32) and ``keys`` from the edge list, on host or device like it."""
    if isinstance(graph, DeviceGraph):
        u, v = (ends.view(np.uint32) for ends in (graph.u, graph.v))
    else:
        u, v = (ends.astype(np.uint32, copy=False) for ends in (graph.u, graph.v))
    return {"u": u, "v": v, "keys": keys_of(graph)}


def row_inputs(graph: Graph | DeviceGraph) -> dict[str, Any]:
    """Return symmetric rows without self-loops as inputs of kernels, on host or device like the graph.

    Returns
    -------
    dict of str to array
        ``offsets`` (uint32, n + 1), and for each slot ``neighbours``, ``ids`` (uint32) and ``keys``.
    """
    if isinstance(graph, DeviceGraph):
        rows = device_rows(graph, keys_of(graph))
        neighbours, ids = rows.pairs[:, 0].copy(), rows.pairs[:, 1].copy()
        return {"offsets": rows.offsets, "neighbours": neighbours, "keys": rows.keys, "ids": ids}
    host = graph.csr()
    return {
        "offsets": host.offsets.astype(np.uint32),
        "neighbours": host.neighbours.astype(np.uint32, copy=False),
        "keys": keys_of(graph)[host.edge_ids],
        "ids": host.edge_ids.astype(np.uint32, copy=False),
    }


def interleaved_row_inputs(graph: Graph | DeviceGraph, keys: Any) -> dict[str, Any]:
    """Return `row_inputs` for given keys, with (neighbour, edge id) pairs as ``neighbours``: one access per slot."""
    if isinstance(graph, DeviceGraph):
        rows = device_rows(graph, keys)
        return {"offsets": rows.offsets, "keys": rows.keys, "neighbours": rows.pairs}
    host = graph.csr()
    pairs = np.empty((len(host.edge_ids), 2), np.uint32)
    pairs[:, 0], pairs[:, 1] = host.neighbours, host.edge_ids
    return {"offsets": host.offsets.astype(np.uint32), "keys": keys[host.edge_ids], "neighbours": pairs}
