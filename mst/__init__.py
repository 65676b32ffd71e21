"""Minimum spanning forests, fast and reproducible.

>>> import mst
>>> forest = mst.minimum_spanning_forest((3, [0, 1, 2], [1, 2, 0], [5, 7, 6]))
>>> forest.weight, forest.edge_ids.tolist()
(11, [0, 2])
"""

from __future__ import annotations

from typing import Any

from mst.errors import (
    ConfigError,
    DependencyError,
    FormatError,
    InputError,
    MSTError,
    OutOfMemoryError,
    UnavailableError,
    UnsupportedError,
)
from mst.forest import Forest
from mst.graph import Graph
from mst.solver import minimum_spanning_forest, read_graph
from mst.version import __version__

__all__ = [
    "ConfigError",
    "DependencyError",
    "Forest",
    "FormatError",
    "Graph",
    "InputError",
    "MSTError",
    "OutOfMemoryError",
    "UnavailableError",
    "UnsupportedError",
    "__version__",
    "minimum_spanning_forest",
    "read_graph",
]


def __getattr__(name: str) -> Any:
    """Load `mst.csgraph` on first access."""
    if name == "csgraph":
        import importlib

        return importlib.import_module("mst.csgraph")
    raise AttributeError(f"module 'mst' has no attribute {name!r}")
