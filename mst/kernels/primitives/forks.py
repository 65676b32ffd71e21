"""Parallel kernels in a fork of a process that has launched threads: their workers take turns on one thread.

GNU's OpenMP would end the process, since its threads do not exist in a fork.
"""

from __future__ import annotations

import contextlib
import ctypes
import os

import llvmlite.binding as llvm
import numba  # noqa: F401
from numba.np.ufunc import parallel

_forked = ctypes.c_int32(0)
# A stand-in for numba's thread pool, with the same arguments. The task takes the four that follow it; in a fork, one
# call of it runs all workers.
_POOL = """
target triple = "{triple}"
define void @pool(ptr %task, ptr %0, ptr %1, ptr %2, ptr %3, i64 %4, i64 %5, i64 %6) {{
  %read = load i32, ptr inttoptr (i64 {flag} to ptr)
  %forked = icmp ne i32 %read, 0
  br i1 %forked, label %alone, label %threads
alone:
  call void %task(ptr %0, ptr %1, ptr %2, ptr %3)
  ret void
threads:
  call void inttoptr (i64 {pool} to ptr)(ptr %task, ptr %0, ptr %1, ptr %2, ptr %3, i64 %4, i64 %5, i64 %6)
  ret void
}}
"""


def forked_after_use() -> bool:
    """Return whether this process was forked after threads had been launched for parallel kernels."""
    return bool(_forked.value)


def _note_fork() -> None:
    _forked.value |= parallel._is_initialized


def _pool_for_forks(pool: int) -> tuple[int, object]:
    """Return the address of a stand-in for numba's function at the address `pool`, and the owner of its code."""
    text = _POOL.format(triple=llvm.get_process_triple(), flag=ctypes.addressof(_forked), pool=pool)
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(text), machine)
    engine.finalize_object()
    return engine.get_function_address("pool"), engine


# Other versions of numba may have no such pool: without it, forks are ended as before.
with contextlib.suppress(ImportError, AttributeError):
    from numba.np.ufunc import omppool  # type: ignore[attr-defined]

    omppool.parallel_for, _owner = _pool_for_forks(omppool.parallel_for)
    os.register_at_fork(after_in_child=_note_fork)
