"""The samples of a fresh process of a run, or of all ranks of one, and its reports of memory and failures."""

from __future__ import annotations

import contextlib
import gc
import json
import traceback
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mst.errors import ConfigError, OutOfMemoryError
from mst.solver import code_seconds

_STEADY = 0.1
_WARMUPS = 4
# A longer first solve is not dominated by loading code: for code not loaded before, and for loaded code.
_QUICK_FIRST, _QUICK_FIRST_LOADED = 1.0, 0.1
_LONG_SOLVE = 1.0
_SHORT_RUN_SECONDS = 0.05
_MOST_SAMPLES = 40


@dataclass(frozen=True)
class Samples:
    """The last solve's result, the seconds of the warm-up and of each sample, and the reading of `meter` over them."""

    result: Any
    warmup: list[float]
    compute: list[float]
    metered: Any = None


def take_samples(
    solve: Callable[[], tuple[Any, float]],
    measure: Mapping[str, Any],
    init: float,
    *,
    loaded: bool,
    alone: bool = False,
    meter: Callable[[], AbstractContextManager] = contextlib.nullcontext,
    code_seconds: Callable[[], float] = code_seconds,
) -> Samples:
    """Solve until warm, then take as many samples as are requested and fit a process's share of the budget.

    `solve` returns a result and its seconds, under MPI the same on all ranks, so that they agree on when to end;
    `measure` has the fields of `mst.bench.planning.experiment.Measure`, `init` is the part of the share already
    spent. If all code was `loaded` before, a solve of seconds needs no other to warm up, unless it loaded more, as
    `code_seconds` tells. If each solve is a process of its own (`alone`), none warms another, and short ones are not
    repeated. `meter` opens a context around the samples, for example to measure energy.

    >>> measure = dict(processes=1, samples=3, budget=10.0)
    >>> taken = take_samples(lambda: ("forest", 0.5), measure, 0.0, loaded=True)
    >>> taken.result, taken.warmup, taken.compute
    ('forest', [0.5, 0.5], [0.5, 0.5, 0.5])
    """
    gc.collect()
    gc.disable()
    share = measure["budget"] / measure["processes"]
    warm: list[float] = []
    if not alone:
        before = code_seconds()
        with meter() as metered:
            result, first = solve()
        loaded = loaded and not _loading_counts(code_seconds() - before, first)
        if loaded and first > _LONG_SOLVE and not still_cold([first], share, loaded):
            gc.enable()
            return Samples(result, [], [first], metered)
        result, warm = None, [first]
        while still_cold(warm, share, loaded):
            warm.append(solve()[1])
    short = 0 if alone else int(_SHORT_RUN_SECONDS / max(warm[-1], 1e-9))
    wanted = min(max(measure["samples"], short), _MOST_SAMPLES)
    left = share - init - warm_seconds(warm)
    samples: list[float] = []
    with meter() as metered:
        while len(samples) < wanted and (not samples or sum(samples) + samples[-1] < left):
            # Two results at once would count as the algorithm's memory.
            result = None
            result, seconds = solve()
            samples.append(seconds)
    gc.enable()
    return Samples(result, warm, samples, metered)


def take_calls(
    call: Callable[[], float],
    expected: float,
    left: float,
    code_seconds: Callable[[], float] = code_seconds,
) -> list[float]:
    """Return the seconds of whole calls after a warm-up call, or none if that exceeds the time left.

    `call` returns its seconds; `expected` is a call's time as far as it is known; all calls may take `left`. A first
    call of seconds needs no other to warm up, unless it loaded code, as `code_seconds` tells.
    """
    if 2 * expected > left:
        return []
    gc.collect()
    gc.disable()
    before = code_seconds()
    first = call()
    counts = first > _LONG_SOLVE and not _loading_counts(code_seconds() - before, first)
    seconds = [first] if counts else []
    while not seconds or (sum(seconds) < _SHORT_RUN_SECONDS and len(seconds) < _MOST_SAMPLES):
        seconds.append(call())
    gc.enable()
    return seconds


def _loading_counts(code: float, seconds: float) -> bool:
    """Return whether loading or compiling code took a tenth or more of these seconds."""
    return code >= seconds / 10


def still_cold(warm: list[float], share: float, loaded: bool = False) -> bool:
    """Return whether to warm up further after solves of these seconds, given a share of the run's budget.

    The first solve loads machine code unless it was `loaded` before; only later ones show how long a solve takes.
    """
    if len(warm) == 1:
        quick = _QUICK_FIRST_LOADED if loaded else _QUICK_FIRST
        return warm[0] < quick or 2 * warm[0] < share / 2
    steady = abs(warm[-1] - warm[-2]) < _STEADY * warm[-2]
    return not steady and len(warm) < _WARMUPS and warm_seconds(warm) + warm[-1] < share / 2


def warm_seconds(warm: list[float]) -> float:
    """Return the seconds of the warm-up that count against a budget: not the loading of machine code."""
    return sum(warm[1:] or warm)


def reset_peak() -> int:
    """Reset the peak of resident memory; return the memory resident now, in bytes."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return memory_status("VmRSS")


def peak() -> int:
    """Return the peak of resident memory since `reset_peak`, in bytes."""
    return memory_status("VmHWM")


def memory_status(field: str, file: str = "status") -> int:
    """Return a field of a file in ``/proc/self``, in bytes."""
    for line in Path("/proc/self", file).read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    return 0


def storable(function: str, values: Any, kind: Any = object) -> dict[str, Any]:
    """Return the values by name that a function of an algorithm returned, if a record can hold them.

    Raises
    ------
    ConfigError
        They are not a dict, or one of them is not of this kind, infinite, or of a type that JSON lacks.
    """
    if not isinstance(values, dict):
        raise ConfigError(f"{function} must return a dict, got {type(values).__name__}")
    for name, value in values.items():
        try:
            json.dumps({name: value}, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise ConfigError(
                f"{function} returned {name}={value!r}, which a record cannot hold: {error}"
            ) from error
        if not isinstance(value, kind):
            raise ConfigError(f"{function} returned {name}={value!r}: give seconds")
    return values


def failure(error: BaseException) -> dict[str, Any]:
    """Return an error as the status, reason and detail of a measurement."""
    memory = isinstance(error, MemoryError | OutOfMemoryError) or "OutOfMemory" in type(error).__name__
    return {
        "status": "out-of-memory" if memory else "error",
        "reason": f"{type(error).__name__}: {error}".strip().splitlines()[0][:500],
        "detail": traceback.format_exc()[-4000:],
    }
