"""Machine code on disk, keyed by everything that determines it.

numba's own cache only checks the function's file: editing a callee in another file leaves stale machine code. Here
every file gets its own cache folder, named by the fingerprint of everything it reaches, the versions of numba, llvmlite
and numpy, and the processor; a change to any of these leads to a new folder.
"""

from __future__ import annotations

import contextlib
import fcntl
import glob
import hashlib
import importlib.util
import os
import pickle
import sys
import time
import uuid
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core import config
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, _CacheLocator
from numba.core.compiler_lock import global_compiler_lock

from mst.cache import cache_root, is_writable
from mst.errors import ConfigError
from mst.fingerprints import fingerprint
from mst.kernels.primitives import (
    forks,  # noqa: F401  (before any thread is launched)
    machine_code,  # noqa: F401  (says when compiling takes long)
)

_LAYOUT = 2
"""Version of the layout of kept code: code with another version is not loaded."""

_ORPHANED = 3600.0
"""Seconds after which a file that no index names is removed."""

_PATIENCE = 60.0
"""Longest wait in seconds for another process that compiles the same function: it may have been stopped."""

# After the pickled code, where unpickling ignores it.
_MARK = b"sha256:"


def _load_numba_without_linear_algebra() -> None:
    """Load the numba module that looks for SciPy's linear algebra, which no kernel calls, without loading SciPy.

    numba loads it with the first compiled function only to learn whether there is a BLAS: 0.2 of a first call's 0.4
    seconds of CPU time. Here SciPy's presence is the answer. Compiled code that does call BLAS loads it then.
    """
    from numba.np import linalg

    if "numba.np.arraymath" in sys.modules or not hasattr(linalg, "ensure_blas"):
        return
    complete = linalg.ensure_blas

    def find_scipy() -> None:
        if importlib.util.find_spec("scipy") is None:
            raise ImportError("no SciPy")
        getattr(linalg, "_check_lapack_int_width", bool)()

    linalg.ensure_blas = find_scipy
    try:
        from numba.np import arraymath
    finally:
        linalg.ensure_blas = complete
    arraymath.ensure_blas = complete


if config.DISABLE_JIT:  # type: ignore[attr-defined]
    raise ConfigError("NUMBA_DISABLE_JIT is set, but kernels run only as compiled code: unset it")
_load_numba_without_linear_algebra()


def keep_code(dispatcher: Any, function: Callable) -> None:
    """Have a function's numba dispatcher keep its machine code on disk, if the function comes from a file.

    Without a writable cache nothing is kept.
    """
    known = Path(function.__code__.co_filename).is_file()
    if known and is_writable(cache_root() / "numba"):
        dispatcher._cache = cache = _Cache(function)
        dispatcher.compile = partial(_compile, dispatcher.compile, cache)


def _compile(compile: Callable[[Any], Any], cache: _Cache, signature: Any) -> Any:
    """Load or compile a function; while compiling, hold a lock that keeps other processes from doing the same."""
    with global_compiler_lock:
        was_locked = cache.locked
        try:
            return compile(signature)
        finally:
            if not was_locked:
                cache.unlock()


@cache
def _toolchain() -> str:
    """Return 8 hex digits over the versions of the compilers and the processor."""
    import llvmlite.binding as llvm

    compilers = (numba.__version__, llvmlite.__version__, np.__version__, llvm.get_host_cpu_name(), sys.version)
    parts = (*compilers, _LAYOUT)
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:8]


class _Locator(_CacheLocator):
    """The place of a function's machine code: a folder that is valid by its name alone.

    Neither the path of the source nor its time stamp counts, so clones and virtual environments share code.
    """

    def __init__(self, function: Callable, file: str):
        self._py_file = file
        self._line = function.__code__.co_firstlineno
        # Decided once: if MST_CACHE changed later, numba would make one folder and write to another.
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

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        """Return loaded code that records, for its callers, which functions must be loaded before it.

        numba forgets these. A caller compiled with this code inside would be kept without them, and call the address 0.
        """
        loaded = super().rebuild(target_context, payload)
        loaded.library._reload_init.update(loaded.reload_init or ())
        return loaded


class _Files(IndexDataCacheFile):
    """An index and machine code on disk, with a checksum after the code: damaged code counts as missing."""

    def _load_index(self) -> dict[Any, str]:
        # Unpickling damaged bytes may raise any exception.
        with contextlib.suppress(Exception):
            return super()._load_index()
        return {}

    def save(self, key: Any, data: Any) -> None:
        super().save(key, data)
        self._remove_orphans()

    def _remove_orphans(self) -> None:
        """Remove the function's files that its index does not name, left by damage or by processes that were killed.

        An index is written before the code that it names, and another process may have replaced it since it was read:
        files stay for an hour.
        """
        index, before = Path(self._index_path), time.time() - _ORPHANED
        named = {index.name, *self._load_index().values()}
        for file in index.parent.glob(glob.escape(index.stem) + ".*"):
            with contextlib.suppress(OSError):
                if file.name not in named and file.stat().st_mtime < before:
                    file.unlink()

    def _load_data(self, name: str) -> Any:
        kept = Path(self._data_path(name)).read_bytes()
        body, mark, digest = kept[: -len(_MARK) - 32], kept[-len(_MARK) - 32 : -32], kept[-32:]
        # Code kept before checksums were introduced has no mark.
        if mark == _MARK and hashlib.sha256(body).digest() != digest:
            raise OSError(f"{name} is damaged")
        try:
            return pickle.loads(kept)
        except Exception as error:
            raise OSError(f"{name} is damaged: {error}") from None

    def _data_name(self, number: int) -> str:
        """Return a unique name: if processes counted, two could give the code of two signatures the same name."""
        return self._data_name_pattern.format(number=uuid.uuid4().int >> 80)

    def _save_data(self, name: str, data: Any) -> None:
        body = self._dump(data)
        with self._open_for_write(self._data_path(name)) as file:
            file.write(body + _MARK + hashlib.sha256(body).digest())


class _Cache(FunctionCache):
    """A cache whose faults only cost time: damaged code is compiled again, and a full disk keeps none.

    A missing function is compiled by one process at a time, for instance one rank of a node: the others wait, and load
    it. That also preserves the entries that two processes add to one index.
    """

    _impl_class = _CacheImpl
    _lock: int | None = None

    def __init__(self, function: Callable):
        super().__init__(function)
        locator = self._impl.locator
        self._cache_file = _Files(self._cache_path, self._impl.filename_base, locator.get_source_stamp())

    @property
    def locked(self) -> bool:
        """Whether this process holds the function's lock, as it does while compiling it."""
        return self._lock is not None

    def unlock(self) -> None:
        """Let other processes compile the function."""
        if self._lock is not None:
            # Closing is not enough: a process forked in the meantime has the file open, too.
            with contextlib.suppress(OSError):
                fcntl.flock(self._lock, fcntl.LOCK_UN)
            os.close(self._lock)
            self._lock = None

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        found = super().load_overload(sig, target_context)
        if found is None and not self.locked and self._waited():
            found = super().load_overload(sig, target_context)
        return found

    def _waited(self) -> bool:
        """Take the lock; return whether another process held it before, which may have compiled the function."""
        try:
            folder = Path(self._cache_path)
            place = folder.with_name("locks") / f"{folder.name}.{self._impl.filename_base}"
            place.parent.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            deadline, waited = time.monotonic() + _PATIENCE, False
            while time.monotonic() < deadline:
                with contextlib.suppress(BlockingIOError):
                    fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                waited = True
                time.sleep(0.02)
        except OSError:
            # A file system without locks, or a full one: compiling twice only takes time.
            return False
        return waited

    def save_overload(self, sig: Any, data: Any) -> None:
        with contextlib.suppress(OSError):
            super().save_overload(sig, data)
