"""Loads scripts, which are in no package."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType


def module_at(file: Path) -> ModuleType:
    """Return a new module with what a file defines."""
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
