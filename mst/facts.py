"""Facts about a graph that are known before it is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any


@dataclass(frozen=True)
class Facts:
    """Facts about a graph that are known without loading it; None where unknown.

    Attributes
    ----------
    n, m : int
        Numbers of vertices and edges.
    weight_dtype : str
        Name of the weights' dtype.
    components : int or None
        Number of connected components.
    weight_min, weight_max : float or None
    loops, parallel : int or None
        Numbers of self-loops, and of edges beyond the first between the same two vertices.
    """

    n: int
    m: int
    weight_dtype: str = "int32"
    components: int | None = None
    weight_min: float | None = None
    weight_max: float | None = None
    loops: int | None = None
    parallel: int | None = None

    @classmethod
    def of_manifest(cls, manifest: Mapping[str, Any]) -> Facts:
        """Return the facts in the manifest of a canonical graph, which has neither self-loops nor parallel edges."""
        stated = {each.name: manifest[each.name] for each in fields(cls) if each.name in manifest}
        return cls(**stated, loops=0, parallel=0)

    @classmethod
    def of(cls, graph: Any) -> Facts:
        """Return the facts that a `Graph` or `DeviceGraph` tells at no cost."""
        return _of(graph.n, graph.m, graph.w.dtype)


@lru_cache(maxsize=256)
def _of(n: int, m: int, dtype: Any) -> Facts:
    return Facts(n=n, m=m, weight_dtype=dtype.name)  # cached, since it takes 4 µs and a call needs it twice
