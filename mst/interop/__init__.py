"""Graphs from other libraries' objects, and our algorithms behind their interfaces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mst.interop import inputs as inputs


def __getattr__(name: str) -> Any:
    import importlib

    if name == "inputs":
        return importlib.import_module("mst.interop.inputs")
    raise AttributeError(f"module 'mst.interop' has no attribute {name!r}")
