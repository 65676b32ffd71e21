"""Bottlenecks and clusters on a GPU, where the reconstruction tree of a forest is kept. Kernels: ``climb_links.cu``."""

from __future__ import annotations

from typing import Any

import numpy as np

from mst.kernels.cuda import loader

SOURCE = "climb_links.cu"
KERNELS = ("join_pairs", "find_roots", "mark_firsts", "number_vertices")
ARGUMENT = np.dtype(
    [(name, np.uint64) for name in ("links", "x", "y", "of_ranks", "values", "roots", "lowest", "firsts")]
    + [(name, np.uint64) for name in ("numbers", "labels", "count", "same", "apart")]
    + [(name, np.uint32) for name in ("edges", "limit")]
)
PAIRS, VERTICES = 1 << 18, 1 << 19
"""Pairs, and vertices to be labelled, from which on copying takes less time than threads do."""

_NONE = np.uint32(2**32 - 1)
_BLOCK, _MOST_BLOCKS = 256, 1 << 14


class Device:
    """CuPy as the array module, and launches on the device that is current when this is made."""

    def __init__(self) -> None:
        import cupy

        self.xp, self.current = cupy, cupy.cuda.Device()
        self.to_host = cupy.asnumpy
        self._kernels = {name: loader.Kernel(SOURCE, name, {}) for name in KERNELS}

    def launch(self, kernel: str, count: int, numbers: dict[str, int], **arrays: Any) -> None:
        """Run a kernel over `count` items; the others are the fields of its argument."""
        argument = np.zeros(1, ARGUMENT)
        for name, number in {**numbers, "count": count}.items():
            argument[name] = number
        for name, array in arrays.items():
            argument[name] = array.data.ptr
        blocks = min(-(-count // _BLOCK), _MOST_BLOCKS)
        self._kernels[kernel].launch(blocks, _BLOCK, loader.Arguments(argument))


class Climber:
    """A reconstruction tree on a device.

    Parameters
    ----------
    links : numpy.ndarray of uint32, shape (n, 2)
        From `mst.kernels.proof.reconstruction.link_trees`.
    edges : int
        Edges of the forest.
    device : Device
    """

    def __init__(self, links: np.ndarray, edges: int, device: Any) -> None:
        self._device, self._n, self._edges = device, len(links), edges
        self._of_ranks: dict[np.dtype, Any] = {}
        with device.current:
            self._links = device.xp.asarray(links)

    def joining(self, x: np.ndarray, y: np.ndarray, of_ranks: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
        """Return what `mst.kernels.tree.joining.find_joining` writes for pairs of vertices.

        `x` and `y` are uint32 of shape (q,), not empty, `otherwise` is int64 or float64 of shape (2,), and `of_ranks`,
        which casts to its dtype, of shape (k,): the first call of a dtype copies it, later ones expect the same.
        """
        xp, dtype = self._device.xp, otherwise.dtype
        with self._device.current:
            if dtype not in self._of_ranks:
                self._of_ranks[dtype] = xp.asarray(of_ranks.astype(dtype))
            values = xp.empty(len(x), dtype)
            same, apart = otherwise.view(np.uint64).tolist()
            self._device.launch(
                "join_pairs",
                len(x),
                dict(same=same, apart=apart, edges=self._edges),
                links=self._links,
                x=xp.asarray(x),
                y=xp.asarray(y),
                of_ranks=self._of_ranks[dtype],
                values=values,
            )
            return self._device.to_host(values)

    def labels(self, limit: int) -> np.ndarray:
        """Return the cluster of each vertex by the edges of ranks below `limit`: int64, shape (n,).

        Clusters are numbered from 0 in the order of their smallest vertices.
        """
        xp, n, numbers = self._device.xp, self._n, dict(limit=limit)
        with self._device.current:
            roots, firsts, labels = xp.empty(n, np.uint32), xp.empty(n, np.uint32), xp.empty(n, np.int64)
            found = dict(roots=roots, lowest=xp.full(n, _NONE, np.uint32))
            self._device.launch("find_roots", n, numbers, links=self._links, **found)
            self._device.launch("mark_firsts", n, numbers, firsts=firsts, **found)
            sums = xp.cumsum(firsts, dtype=np.uint32)
            self._device.launch("number_vertices", n, numbers, numbers=sums, labels=labels, **found)
            return self._device.to_host(labels)
