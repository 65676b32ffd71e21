"""The first solves of a process: by NumPy's Borůvka, until waiting for compiled code pays.

A process that has not solved anything yet would have to import numba, and to load machine code or compile it if the
machine has none (docs/design-notes/compile-time.md). `early_choice` compares this wait with the time that it would
save, the difference between ``numpy-boruvka``, which needs neither, and a compiled algorithm. Missed savings add up, as
in the ski rental problem: a process that solves many small graphs switches to compiled code once these savings exceed
the wait, and they start from zero again.

A machine compiles code once. `solved` records which code has been compiled, in a folder beside that code whose name
covers everything that the code depends on, so that this module finds out without importing numba.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mst import advice, atomic, registry
from mst.advice import Candidate, Choice
from mst.algorithms.sequential.numpy_boruvka import FEW
from mst.cache import cache_root
from mst.fingerprints.modules import PACKAGE

IN_NUMPY = Choice("numpy-boruvka", 1)

# Seconds on a Xeon with 2 cores; only their order of magnitude matters.
_STARTING, _LOADING = (
    0.9,
    0.2,
)  # importing numba and loading its first code; loading the code of another algorithm
_LOADING_MORE = 0.03  # loading more code of an algorithm that has run, such as for another dtype of weights
_COMPILING = {"kruskal": 2.5, "filter-boruvka": 6.0, "filter-boruvka-threads": 25.0}
_COMPILING_OTHERS = 10.0
_SOLVING, _EACH_EDGE, _EACH_VERTEX = 4e-4, 1.5e-7, 3e-7
# On an EPYC, since their ratios decide: solving with lists, for each vertex and edge, and calling any compiled code.
_SOLVING_FEW, _EACH_OF_FEW = 1e-5, 2.5e-7
_CALLING = 5e-5

_KEPT = 16
"""Compiled code is kept for later processes, so one process accounts for the time divided by this number."""

_LIKE = 2
"""The code for a graph also suffices for graphs whose m has up to this many more bits."""

_NEVER = -_LIKE - 1
"""In place of the bits of the largest m, for code that has not run: too few even for a graph without edges."""


class _Code(NamedTuple):
    """What machine code depends on, as far as it is known before solving."""

    algorithm: str
    options: tuple[tuple[str, Any], ...]
    weights: np.dtype
    wide: bool
    parallel: bool

    @classmethod
    def of(cls, graph: Any, algorithm: str, options: Mapping[str, Any], width: int) -> _Code:
        wide = max(graph.n, graph.m) >= 2**31
        given = tuple(sorted(options.items())) if options else ()
        return cls(algorithm, given, graph.w.dtype, wide, width > 1)


_solved: dict[_Code, int] = {}
"""For all code that this process has run, the bits of the largest m."""


class _Decision(NamedTuple):
    """The choice for graphs of one kind; None for the usual one.

    Each call adds `missed` to `_passed_up`; once this reaches `until`, another choice may be better.
    """

    choice: Choice | None
    missed: float
    until: float


_decided: dict[tuple, _Decision] = {}
"""Decisions by bits of n and m, dtype of weights, cores, and whether numba is loaded; cleared when new code has run."""

_passed_up = 0.0
"""Seconds that calls would have saved by compiled code, since this process last ran new code."""


def early_choice(graph: Any, width: int) -> Choice | None:
    """Return a choice for a graph if waiting for the code of the usual choice does not pay, else None.

    Parameters
    ----------
    graph : Graph
    width : int
        Cores that may be used.

    Returns
    -------
    Choice or None
        NumPy's Borůvka (always if numba is not installed); or an algorithm for one core whose code is compiled already,
        or takes less time to compile than the code for threads.
    """
    global _passed_up
    loaded = numba_is_loaded()
    if not (loaded or registry.is_importable("numba")):
        return IN_NUMPY
    kind = (graph.n.bit_length(), graph.m.bit_length(), graph.w.dtype, width, loaded)
    decision = _decided.get(kind)
    if decision is None or _passed_up >= decision.until:
        decision = _decided[kind] = _decide(graph, width)
    _passed_up += decision.missed
    return decision.choice


def _decide(graph: Any, width: int) -> _Decision:
    """Return the decision for all graphs of a graph's kind."""
    usual = advice.table().choose(graph.n, graph.m, width=width)
    best = _CALLING + usual.seconds * graph.m / max(usual.m, 1)
    if graph.n + graph.m <= FEW:
        in_numpy = _SOLVING_FEW + _EACH_OF_FEW * (graph.n + graph.m)
    else:
        in_numpy = _SOLVING + _EACH_EDGE * graph.m + _EACH_VERTEX * graph.n
    taken, least, seconds = IN_NUMPY, in_numpy, in_numpy
    waiting = []
    for choice, solving, may_compile in _alternatives(usual, best):
        code = _Code.of(graph, choice.algorithm, choice.options, choice.width)
        wait = _wait(code, graph.m, least - solving, may_compile)
        if wait + solving < least:
            taken, least, seconds = choice, wait + solving, solving
        if wait:
            waiting.append(wait + solving)
    if taken is usual:
        return _Decision(None, 0.0, float("inf"))
    # What is passed up counts towards the wait.
    until = _passed_up + min(waiting, default=float("inf")) - least
    return _Decision(taken, max(seconds - best, 0.0), until)


def _alternatives(usual: Choice, best: float) -> Iterator[tuple[Choice, float, bool]]:
    """Yield the usual choice and those for one core, the seconds that each takes, and whether it may be compiled.

    The usual choice may be compiled, and, if that is for threads, whose code takes longer to compile, the fastest for
    one core. The process would soon switch from any other one, which is thus only chosen if its code is kept on disk.
    """
    yield usual, best, True
    may_compile = usual.width > 1
    for name, ratio in usual.times.items():
        candidate = Candidate.parse(name)
        if candidate.algorithm != usual.algorithm and candidate.width == 1 and not candidate.gpu:
            options = registry.get(candidate.algorithm).changed_options(candidate.slug)
            choice = replace(usual, algorithm=candidate.algorithm, width=1, options=options)
            yield choice, best * ratio, may_compile
            may_compile = False


def _wait(code: _Code, m: int, patience: float, may_compile: bool) -> float:
    """Return the seconds until code can run, less those passed up; above `patience`, a lower bound.

    Infinity for code that is neither kept on disk nor may be compiled.
    """
    bits = m.bit_length()
    if _solved.get(code, _NEVER) + _LIKE >= bits:
        return 0.0
    has_run = any(code.algorithm == other.algorithm for other in tuple(_solved))  # to which threads add
    loading = (_LOADING_MORE if has_run else _LOADING if numba_is_loaded() else _STARTING) - _passed_up
    if loading >= patience:
        return loading
    if _bits_on_disk(code) + _LIKE >= bits:
        return max(0.0, loading)
    return max(0.0, loading + (_compiling(code.algorithm) if may_compile else float("inf")))


@cache
def _compiling(algorithm: str) -> float:
    """Return the share of one process in the seconds of compiling: all of them if the code cannot be kept."""
    folder = cache_root() / "numba"
    there = next(parent for parent in (folder, *folder.parents) if os.access(parent, os.F_OK))
    seconds = _COMPILING.get(algorithm, _COMPILING_OTHERS)
    return seconds / _KEPT if there.is_dir() and os.access(there, os.W_OK) else seconds


def numba_is_loaded() -> bool:
    """Return whether this process has imported numba."""
    return "numba" in sys.modules


def compiled_code_pays(saving: float) -> bool:
    """Return whether this process has loaded compiled code, or has passed up as many seconds as loading it takes.

    `saving` is the number of seconds that this call passes up without compiled code. Whether this machine has kept the
    code is not looked up.
    """
    global _passed_up
    if "mst.kernels.primitives.jit" in sys.modules:
        return True
    _passed_up += saving
    wait = _STARTING + _compiling("kruskal")
    return _passed_up >= wait and registry.is_importable("numba")


def solved(
    graph: Any, algorithm: registry.Algorithm, options: Mapping[str, Any], width: int, *, bits: int = 0
) -> None:
    """Record that an algorithm has solved a graph, so its code is loaded in this process and kept on this machine.

    Parameters
    ----------
    graph : Graph
    algorithm : Algorithm
    options : mapping
        The options that differ from the defaults.
    width : int
        Threads.
    bits : int
        Bits of the largest m for which the code suffices, if more than the graph's.
    """
    global _passed_up
    if "numba" not in algorithm.requires:
        return
    code, bits = _Code.of(graph, algorithm.id, options, width), max(bits, graph.m.bit_length())
    if _solved.get(code, _NEVER) >= bits:
        return
    _solved[code], _passed_up = bits, 0.0
    _decided.clear()
    # If the cache is not writable, no code is kept, either.
    with contextlib.suppress(OSError):
        if _bits_on_disk(code) < bits:
            _file(code).parent.mkdir(parents=True, exist_ok=True)
            atomic.write_text(_file(code), str(bits))


def _bits_on_disk(code: _Code) -> int:
    """Return the bits of the largest m that this machine's code has solved, or `_NEVER`."""
    try:
        return int(_file(code).read_text())
    except (OSError, ValueError):
        return _NEVER


def _file(code: _Code) -> Path:
    name = hashlib.sha256(repr(tuple(code)).encode()).hexdigest()[:16]
    return cache_root() / "numba" / f"solved-{_stamp()}" / f"{code.algorithm}-{name}"


@cache
def _stamp() -> str:
    """Return 16 hex digits over the sources of all algorithms, the versions that compile them, and the processor."""
    from importlib import metadata

    sources = sorted(file for part in ("kernels", "algorithms") for file in (PACKAGE / part).rglob("*.py"))
    versions = [metadata.version(package) for package in ("numba", "llvmlite", "numpy")]
    total = hashlib.sha256(repr((versions, sys.version, _processor())).encode())
    for file in sources:
        total.update(file.read_bytes())
    return total.hexdigest()[:16]


def _processor() -> str:
    """Return the processor's name and features."""
    try:
        with Path("/proc/cpuinfo").open() as lines:
            described = dict.fromkeys(line for line in lines if line.startswith(("model name", "flags")))
        return "".join(described)
    except OSError:
        return platform.machine()
