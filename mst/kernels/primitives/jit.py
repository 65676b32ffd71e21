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
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

# PyPI's TBB is preferred by numba when found, and not found everywhere: one layer, always the same.
os.environ.setdefault("NUMBA_THREADING_LAYER", "omp")
# GNU's OpenMP lets idle threads spin for some 10 ms by default: on a busy machine they take the core away from
# the very thread that they wait for. Half a millisecond bridges the serial steps between two passes.
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")

import llvmlite
import numba
import numpy as np
from numba.core import config
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.extending import intrinsic as _intrinsic

from mst.kernels.primitives.cache import cache_root
from mst.kernels.primitives.sources import fingerprint


@cache
def _toolchain() -> str:
    import llvmlite.binding as llvm

    parts = (numba.__version__, llvmlite.__version__, np.__version__, llvm.get_host_cpu_name(), sys.version)
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:8]


class _Locator(_CacheLocator):
    """Says where a function's machine code lies: a folder that is valid by its name alone.

    Neither the path of the source nor its time stamp counts, so clones and virtual environments share code.
    """

    def __init__(self, function: Callable, file: str):
        self._py_file = file
        self._line = function.__code__.co_firstlineno
        # Fixed here: were MST_CACHE to change later, numba would make one folder and write to another.
        source = Path(file)
        self._folder = cache_root() / "numba" / f"{source.stem}-{fingerprint(source)}-{_toolchain()}"

    @classmethod
    def from_function(cls, function: Callable, file: str) -> _Locator:
        return cls(function, file)

    def get_cache_path(self) -> str:
        return str(self._folder)

    def get_source_stamp(self) -> str:
        return "by name"

    def get_disambiguator(self) -> str:
        return str(self._line)


class _CacheImpl(CompileResultCacheImpl):
    _locator_classes = [_Locator]  # noqa: RUF012


class _Cache(FunctionCache):
    _impl_class = _CacheImpl


@cache
def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


def njit(*args: Any, **options: Any) -> Any:
    """Like `numba.njit`, with the disk cache described above; usable with and without arguments.

    Parameters
    ----------
    **options
        Passed on. ``error_model="numpy"`` and ``boundscheck=False`` are the defaults here.
    """

    def decorate(function: Callable) -> Any:
        dispatcher = numba.njit(**{"error_model": "numpy", "boundscheck": False, **options})(function)
        known = Path(function.__code__.co_filename).is_file()
        if known and not config.DISABLE_JIT and _writable(cache_root() / "numba"):
            dispatcher._cache = _Cache(function)
        return dispatcher

    if len(args) == 1 and callable(args[0]) and not options:
        return decorate(args[0])
    if args:
        raise TypeError("give njit its options by name")
    return decorate


def intrinsic(function: Callable) -> Callable[..., Any]:
    """Like `numba.extending.intrinsic`, with the type of a call inside compiled code, which has no typing context."""
    return _intrinsic(function)
