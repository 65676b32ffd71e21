"""`njit` whose machine code is cached on disk, keyed by everything that it is made of.

numba's own cache looks only at the file that holds the function: editing a callee in another file leaves stale
machine code. Here every file gets a cache folder of its own, named by the fingerprint of all the sources that
it reaches, the versions of numba, llvmlite and numpy, and the processor; a change anywhere finds an empty
folder.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

# PyPI's TBB is preferred by numba when found, and not found everywhere: one layer, always the same.
os.environ.setdefault("NUMBA_THREADING_LAYER", "omp")

import llvmlite
import numba
import numpy as np
from numba.core import config

from mst.kernels.cache import cache_root
from mst.kernels.sources import fingerprint


@cache
def _toolchain() -> str:
    import llvmlite.binding as llvm

    parts = (numba.__version__, llvmlite.__version__, np.__version__, llvm.get_host_cpu_name(), sys.version)
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:8]


@contextmanager
def _cache_dir(folder: Path):
    before = config.CACHE_DIR
    config.CACHE_DIR = str(folder)
    try:
        yield
    finally:
        config.CACHE_DIR = before


def njit(*args: Any, **options: Any) -> Any:
    """Like `numba.njit`, with the disk cache described above; usable with and without arguments.

    Parameters
    ----------
    **options
        Passed on. ``error_model="numpy"`` and ``boundscheck=False`` are the defaults here.
    """

    def decorate(function: Callable) -> Any:
        dispatcher = numba.njit(**{"error_model": "numpy", "boundscheck": False, **options})(function)
        source = Path(function.__code__.co_filename)
        if config.DISABLE_JIT or not source.is_file():
            return dispatcher
        folder = cache_root() / "numba" / f"{source.stem}-{fingerprint(source)}-{_toolchain()}"
        with _cache_dir(folder):
            dispatcher.enable_caching()
        return dispatcher

    if len(args) == 1 and callable(args[0]) and not options:
        return decorate(args[0])
    if args:
        raise TypeError("give njit its options by name")
    return decorate
