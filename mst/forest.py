"""The minimum spanning forest: sorted edge ids, total weight, component count."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from mst.graph import Graph
from mst.order import total


@dataclass(frozen=True, eq=False)
class Forest:
    """A spanning forest of a graph, as edge ids.

    Attributes
    ----------
    graph : Graph
        The graph that it spans.
    edge_ids : numpy.ndarray of int64, shape (n - components,)
        Rows of the graph's edge list, ascending.
    algorithm : str
        Id of the algorithm that found it.
    seconds : dict of str to float
        Wall time by part (``init``, ``transfer``, ``compute``), in seconds.

    Examples
    --------
    >>> import mst
    >>> forest = mst.minimum_spanning_forest((4, [0, 0, 1], [1, 1, 2], [3, 2, 1]))
    >>> forest.edge_ids.tolist(), forest.weight, forest.components
    ([1, 2], 3, 2)
    """

    graph: Graph
    edge_ids: np.ndarray
    algorithm: str = ""
    seconds: dict[str, float] = field(default_factory=dict)

    def __post_init__(self):
        ids = np.sort(np.asarray(self.edge_ids).astype(np.int64, copy=False))
        ids.flags.writeable = False
        object.__setattr__(self, "edge_ids", ids)

    def __len__(self) -> int:
        return len(self.edge_ids)

    def __repr__(self) -> str:
        return f"<Forest {len(self):,} edges, weight {self.weight}, {self.components:,} components>"

    @cached_property
    def weight(self) -> int | float:
        """Total weight: an exact int for integer weights, the correctly rounded sum for floats."""
        return total(self.graph.w[self.edge_ids])

    @property
    def components(self) -> int:
        """Number of trees, isolated vertices included."""
        return self.graph.n - len(self.edge_ids)

    def edges(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the arrays ``(u, v, w)`` of the forest's edges, in the order of `edge_ids`.

        Examples
        --------
        >>> import mst
        >>> u, v, w = mst.minimum_spanning_forest((3, [0, 1, 2], [1, 2, 0], [5, 7, 6])).edges()
        >>> w.tolist()
        [5, 6]
        """
        g, ids = self.graph, self.edge_ids
        return g.u[ids], g.v[ids], g.w[ids]

    @property
    def digest(self) -> str:
        """SHA-256 of the edge ids as little-endian int64: equal digests are equal forests."""
        return digest(self.edge_ids)


def digest(edge_ids: np.ndarray) -> str:
    """Return the SHA-256 of sorted edge ids, as little-endian int64."""
    ids = np.sort(np.asarray(edge_ids)).astype("<i8", copy=False)
    return hashlib.sha256(np.ascontiguousarray(ids).data).hexdigest()
