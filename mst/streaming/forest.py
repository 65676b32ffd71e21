"""The forest of a stream of edges: without a graph in memory, it holds its edges and their ids."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from mst import order
from mst.units import counted


@dataclass(frozen=True, eq=False)
class StreamForest:
    """A minimum spanning forest of a stream of edges.

    For clusters, paths and bottlenecks, solve its edges again in memory, which returns a `mst.Forest`:
    ``mst.minimum_spanning_forest((forest.n, *forest.edges()))``.

    Attributes
    ----------
    n, m : int
        Number of vertices, and of edges in the stream.
    u, v : numpy.ndarray of int32 or int64, shape (n - components,)
        Ends of the forest's edges.
    w : numpy.ndarray of int32, int64, float32 or float64, shape (n - components,)
        Their weights.
    edge_ids : numpy.ndarray of int64, shape (n - components,)
        Their positions in the stream, counted from 0, ascending.
    algorithm : str
        Id of the algorithm of the last solve in memory.
    seconds : dict of str to float
        Wall time in seconds: ``read``, waiting for batches; ``solve``, solves in memory; ``trees``, preparing the
        filter after each solve; ``filter``, all other time, mostly waiting for the threads that filter.

    Examples
    --------
    >>> import mst
    >>> forest = mst.minimum_spanning_forest(iter([([0, 0], [1, 1], [3, 2]), ([1], [2], [1])]))
    >>> forest.n, forest.m, forest.edge_ids.tolist(), forest.weight
    (3, 3, [1, 2], 3)
    """

    n: int
    m: int
    u: np.ndarray
    v: np.ndarray
    w: np.ndarray
    edge_ids: np.ndarray
    algorithm: str = ""
    seconds: dict[str, float] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.edge_ids)

    def __repr__(self) -> str:
        edges, components = counted(len(self), "edge"), counted(self.components, "component")
        return f"<StreamForest {edges}, weight {self.weight}, {components}>"

    @cached_property
    def weight(self) -> int | float:
        """Total weight, as in `mst.Forest`."""
        return order.total(self.w)

    @property
    def components(self) -> int:
        """Number of trees, isolated vertices included."""
        return self.n - len(self)

    def edges(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the arrays ``(u, v, w)`` of the forest's edges, in the order of `edge_ids`."""
        return self.u, self.v, self.w
