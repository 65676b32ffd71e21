"""What is known of a graph before it is opened."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any


@dataclass(frozen=True)
class Facts:
    """What is known of a graph without loading it; None where it is not known."""

    n: int
    m: int
    weight_dtype: str = "int32"
    components: int | None = None
    weight_min: float | None = None
    weight_max: float | None = None
    loops: int | None = None
    parallel: int | None = None

    @classmethod
    def of(cls, graph: Any) -> Facts:
        """Return the facts of a `Graph` or `DeviceGraph` that cost nothing."""
        return cls(n=graph.n, m=graph.m, weight_dtype=_name(graph.w.dtype))


@cache
def _name(dtype: Any) -> str:
    return dtype.name  # numpy makes it anew each time: 3 µs
