"""The first answers of a process: NumPy's Borůvka, until compiled code is worth the wait for it.

A process that has not solved anything yet would import numba and load machine code, or compile it where this machine
has none (docs/design-notes/compile-time.md). `early_choice` compares that wait with the time that it saves: that of
``numpy-boruvka``, which needs neither, less that of a compiled algorithm. Missed savings add up, as in renting or
buying: a process that solves many small graphs switches to compiled code once it would have paid. Then they are spent.

A machine's code is compiled once. `solved` records which code has been compiled, in a folder next to it whose name
stands for everything that the code depends on, so that this module finds out without importing numba.
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

# Seconds on a Xeon of 2 cores; only their order of magnitude matters.
_STARTING, _LOADING = 0.9, 0.2  # importing numba and loading its first code; loading that of another algorithm
_LOADING_MORE = 0.03  # of an algorithm that has run, such as for weights of another dtype
_COMPILING = {"kruskal": 2.5, "filter-boruvka": 6.0, "filter-boruvka-threads": 25.0}
_COMPILING_OTHERS = 10.0
_SOLVING, _EACH_EDGE, _EACH_VERTEX = 4e-4, 1.5e-7, 3e-7
# These three on an EPYC, since their ratios decide: lists, for each vertex and edge, and calls of any compiled code.
_SOLVING_FEW, _EACH_OF_FEW = 1e-5, 2.5e-7
_CALLING = 5e-5

_KEPT = 16
"""Compiled code is kept for later processes, so only this part of its time weighs on one of them."""

_LIKE = 2
"""Code that has solved a graph counts as enough for any graph whose m has up to this many more bits."""

_NEVER = -_LIKE - 1
"""Stands for the bits of the largest m of code that has not run: too few even for a graph without edges."""


class _Code(NamedTuple):
    """The conditions that machine code depends on, as far as they are known before solving."""

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
"""The code that this process has run, with the bits of the largest m."""


class _Decision(NamedTuple):
    """A choice for graphs of one kind: None for the usual one.

    Each call passes up `missed` seconds; once `_passed_up` comes to `until`, another choice may be better.
    """

    choice: Choice | None
    missed: float
    until: float


_decided: dict[tuple, _Decision] = {}
"""By bits of n and of m, the weights' dtype, the cores, and whether numba is loaded; none once other code has run."""

_passed_up = 0.0
"""Seconds that calls would have saved with all compiled code, since this process last ran other code than before."""


def early_choice(graph: Any, width: int) -> Choice | None:
    """Return the choice for a graph where code for the usual one is not worth its wait, else None.

    Parameters
    ----------
    graph : Graph
    width : int
        Cores that may be used.

    Returns
    -------
    Choice or None
        NumPy's Borůvka, always where numba is not installed; or an algorithm of one core whose code is compiled, or
        compiled sooner than that for threads.
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
    """Return the decision for a graph, and graphs of its kind."""
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
    # A wait shortens by what is passed up.
    until = _passed_up + min(waiting, default=float("inf")) - least
    return _Decision(taken, max(seconds - best, 0.0), until)


def _alternatives(usual: Choice, best: float) -> Iterator[tuple[Choice, float, bool]]:
    """Yield the usual choice and those of one core, the seconds that each takes, and whether it is worth compiling.

    That is the usual one, and the fastest on one core if the usual one is for threads, whose code takes longer to
    compile. The others would soon be followed by those, and are taken only if their code is kept.
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
    """Return the seconds until code can run, as they weigh on one solve; above `patience`, a lower bound.

    They are infinite for code that is neither kept nor worth compiling.
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
    """Return the seconds of compiling, as they weigh on one process: all of them if the code cannot be kept."""
    folder = cache_root() / "numba"
    there = next(parent for parent in (folder, *folder.parents) if os.access(parent, os.F_OK))
    seconds = _COMPILING.get(algorithm, _COMPILING_OTHERS)
    return seconds / _KEPT if there.is_dir() and os.access(there, os.W_OK) else seconds


def numba_is_loaded() -> bool:
    """Return whether this process has imported numba."""
    return "numba" in sys.modules


def compiled_code_pays(saving: float) -> bool:
    """Return whether this process has loaded compiled code, or has passed up as many seconds as waiting for it takes.

    `saving` is how many a call passes up now without it. Whether the code is kept on this machine is not looked up.
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
    """Note that an algorithm has solved a graph, so that its code is loaded here and kept on this machine.

    Parameters
    ----------
    graph : Graph
    algorithm : Algorithm
    options : mapping
        Those that differ from the defaults.
    width : int
        Threads.
    bits : int
        Its code serves graphs of up to that many bits of m, if these are more than the graph's.
    """
    global _passed_up
    if "numba" not in algorithm.requires:
        return
    code, bits = _Code.of(graph, algorithm.id, options, width), max(bits, graph.m.bit_length())
    if _solved.get(code, _NEVER) >= bits:
        return
    _solved[code], _passed_up = bits, 0.0
    _decided.clear()
    # A cache that cannot be written keeps no code either.
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
