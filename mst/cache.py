"""The folder of all caches: compiled kernels, raw files as fetched, canonical graphs."""

from __future__ import annotations

import os
from pathlib import Path


def cache_root() -> Path:
    """Return the folder of all caches: ``$MST_CACHE``, else ``$XDG_CACHE_HOME/mst``, else ``~/.cache/mst``.

    A user without a home, as in some containers, gets an unwritable one.
    """
    try:
        if named := os.environ.get("MST_CACHE"):
            return Path(named).expanduser()
        return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "mst"
    except RuntimeError:
        return Path(os.devnull, "mst")
