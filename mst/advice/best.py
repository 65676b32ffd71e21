"""The algorithm measured to be best for a graph, whose weights are inspected only if they matter."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any

from mst import registry
from mst.advice.candidates import Choice
from mst.advice.cells import Table
from mst.advice.kinds import weights_along_rows
from mst.errors import ConfigError
from mst.facts import Facts
from mst.resources import path as resource


@cache
def table() -> Table:
    """Return the table for ``"auto"``: the file named by ``$MST_ADVICE``, or else ``config/advice.json``."""
    file = Path(os.environ.get("MST_ADVICE") or resource("config/advice.json"))
    try:
        return Table(json.loads(file.read_text()))
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise ConfigError(
            f"{file} is not a table of advice ({type(error).__name__}: {error}): make one with python -m "
            "mst.bench.advice, or unset MST_ADVICE"
        ) from error


def measured_best(graph: Any, *, width: int = 1, gpu: str | None = None) -> Choice:
    """Return the measured best of the algorithms that support a graph.

    Parameters
    ----------
    graph : Graph or DeviceGraph
    width, gpu
        As for `Table.choose`.
    """
    at = table()
    choice = _uninspected(at, graph.n, graph.m, graph.w.dtype, width, gpu)
    if choice is not None:
        return choice
    weights = weights_along_rows(graph.w)
    return _accepting(
        Facts.of(graph), partial(at.choose, graph.n, graph.m, weights=weights, width=width, gpu=gpu)
    )


def is_for_one_core(graph: Any) -> bool:
    """Return whether `measured_best` is the same one-core algorithm for any number of cores and any weights."""
    return _is_for_one_core(table(), graph.n, graph.m, graph.w.dtype)


@lru_cache(maxsize=1024)
def _is_for_one_core(at: Table, n: int, m: int, dtype: Any) -> bool:
    first, *others = (_uninspected(at, n, m, dtype, width, None) for width in (1, *at.widths))
    if first is None or None in others:
        return False
    wanted = first.algorithm, 1, first.options
    return all(choice and (choice.algorithm, choice.width, choice.options) == wanted for choice in others)


@lru_cache(maxsize=1024)  # a loop over small graphs asks for each
def _uninspected(at: Table, n: int, m: int, dtype: Any, width: int, gpu: str | None) -> Choice | None:
    facts = Facts(n=n, m=m, weight_dtype=dtype.name)
    wide = dtype.itemsize == 8
    return _accepting(facts, partial(at.choose_uninspected, n, m, wide=wide, width=width, gpu=gpu))


def _accepting(facts: Facts, choose: Callable[..., Any]) -> Any:
    """Return the best choice whose algorithm supports such a graph; None if `choose` returns None."""
    without: frozenset[str] = frozenset()
    while True:
        choice = choose(without=without)
        if choice is None or choice.algorithm in without:
            return choice
        if not registry.get(choice.algorithm).skip(facts, width=choice.width, options=choice.options):
            return choice
        without |= {choice.algorithm}
