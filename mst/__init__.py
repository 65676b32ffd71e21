"""Minimum spanning forests, fast and reproducible.

>>> import mst
>>> forest = mst.minimum_spanning_forest((3, [0, 1, 2], [1, 2, 0], [5, 7, 6]))
>>> forest.weight, forest.edge_ids.tolist()
(11, [0, 2])
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
from mst.version import __version__

if TYPE_CHECKING:
    from mst import csgraph as csgraph
    from mst import interop as interop
    from mst import mpi as mpi
    from mst.forest import Forest
    from mst.graph import Graph
    from mst.points import from_points
    from mst.solver import minimum_spanning_forest, read_graph

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
    "from_points",
    "minimum_spanning_forest",
    "read_graph",
]

# Imported on first access, with NumPy: `import mst` alone takes no time.
_MODULES = {
    "Forest": "mst.forest",
    "Graph": "mst.forest",  # which registers how graphs are pickled
    "from_points": "mst.points",
    "minimum_spanning_forest": "mst.solver",
    "read_graph": "mst.solver",
}
_SUBMODULES = ("csgraph", "interop", "mpi")


def __getattr__(name: str) -> Any:
    import importlib

    if name in _SUBMODULES:
        return importlib.import_module(f"mst.{name}")
    if name not in _MODULES:
        raise AttributeError(f"module 'mst' has no attribute {name!r}")
    value = getattr(importlib.import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, *_SUBMODULES])
