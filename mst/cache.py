"""The folder of all caches: compiled kernels, downloaded files and canonical graphs."""

from __future__ import annotations

import os
import tempfile
from functools import cache
from pathlib import Path


def cache_root() -> Path:
    """Return the folder of all caches: ``$MST_CACHE``, else ``$XDG_CACHE_HOME/mst``, else ``~/.cache/mst``.

    For a user without a home folder, as in some containers, it is a folder that cannot be written.
    """
    try:
        if named := os.environ.get("MST_CACHE"):
            return Path(named).expanduser()
        return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "mst"
    except RuntimeError:
        return Path(os.devnull, "mst")


@cache
def is_writable(folder: Path) -> bool:
    """Return whether files can be created in a folder, which is created if missing."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True
