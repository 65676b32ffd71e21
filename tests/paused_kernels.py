"""Kernels of the papers' threads that pause at random between any two statements, so that all interleavings occur.

A race needs another thread between two accesses that are a few nanoseconds apart. Here, before each statement, a thread
sleeps now and then, and others go on meanwhile: they need not run at the same time, nor have a core of their own. What
the kernels compute is the same. Import this before the modules in `PAUSED`, in a process of its own.
"""

from __future__ import annotations

import ast
import importlib.util
import sys

import numba
import numpy as np
from llvmlite import ir
from numba.core.caching import NullCache

from mst.kernels.primitives import code_cache
from mst.kernels.primitives.atomics import sleep
from mst.kernels.primitives.jit import BY_NAME, intrinsic

PAUSED = (
    "mst.kernels.union_find.concurrent",
    "mst.kernels.threads.owner_boruvka",
    "mst.kernels.threads.component_boruvka",
)
_NOW_AND_THEN = np.uint64(1 << 61)  # at one statement in eight
# Loops over edges, in which nothing races but shortcuts: threads would sleep nowhere else.
_UNPAUSED = ("scan", "find")


@intrinsic
def clock(typing_context):
    """Return the processor's cycle counter."""

    def generate(context, builder, signature, arguments):
        kind = ir.FunctionType(ir.IntType(64), [])
        return builder.call(builder.module.declare_intrinsic("llvm.readcyclecounter", fnty=kind), [])

    return numba.uint64(), generate


@numba.njit
def pause():
    if clock() * np.uint64(0x9E3779B97F4A7C15) < _NOW_AND_THEN:
        sleep(1)


def load(name: str) -> None:
    """Load a module, with a call of `pause` before each statement of its functions."""
    spec = importlib.util.find_spec(name)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    tree = ast.parse(spec.loader.get_source(name))
    functions = [f for f in ast.walk(tree) if isinstance(f, ast.FunctionDef) and f.name not in _UNPAUSED]
    for function in functions:
        for node in ast.walk(function):
            for field in ("body", "orelse"):
                if isinstance(statements := getattr(node, field, None), list):
                    calls = [ast.parse("pause()").body[0] for _ in statements]
                    setattr(node, field, [each for pair in zip(calls, statements) for each in pair])
    module.pause = pause
    exec(compile(ast.fix_missing_locations(tree), spec.origin, "exec"), module.__dict__)
    for (place, _), dispatcher in BY_NAME.items():
        if place == name:
            dispatcher._cache = NullCache()


assert not set(PAUSED) & set(sys.modules)
# Callers would be compiled with them, and kept.
code_cache._Cache.save_overload = lambda *_: None
for name in PAUSED:
    load(name)
