"""Which algorithm suits a graph and the hardware at hand: a table of measurements, looked up.

The table (``config/advice.json``) is made by ``python -m mst.bench.advise`` on real machines. A *cell* is a number of
edges and a density; it holds, for each width that was measured, how the candidates did over several graph families.
`choose` takes the nearest cell, so ``algorithm="auto"`` does exactly what the table says.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import log
from typing import Any

from mst.resources import path as resource


@dataclass(frozen=True)
class Choice:
    """What to run, and what that rests on.

    Attributes
    ----------
    algorithm : str
    width : int
    margin : float or None
        How many times as long the next best algorithm took in this cell (geometric mean over families); None
        where there was no other candidate.
    times : mapping of str to float
        Every candidate's time over the best one's, ``algorithm@width``.
    machine : str
        Where it was measured.
    """

    algorithm: str
    width: int
    margin: float | None
    times: Mapping[str, float]
    machine: str


FALLBACK = Choice("filter-boruvka", 1, None, {}, "")
"""Where nothing was measured."""


def choose(n: int, m: int, *, width: int = 1) -> Choice:
    """Return the measured best for a graph of `n` vertices and `m` undirected edges on `width` cores.

    Parameters
    ----------
    n, m : int
    width : int
        Cores that may be used; the choice may take fewer.

    Examples
    --------
    >>> from mst.advice import choose
    >>> choose(1_000_000, 1_500_000).algorithm
    'filter-boruvka'
    """
    return choose_from(table(), n, m, width=width)


def choose_from(cells: Sequence[Mapping[str, Any]], n: int, m: int, *, width: int) -> Choice:
    """Return the best candidate of the cell nearest to (n, m) among those measured at no more than `width`."""
    fitting = [cell for cell in cells if cell["cores"] <= width]
    if not fitting:
        return FALLBACK
    widest = max(cell["cores"] for cell in fitting)
    density = m / max(n, 1)

    def distance(cell: Mapping[str, Any]) -> float:
        return abs(log(max(m, 1) / cell["m"])) + abs(log(max(density, 0.1) / cell["density"]))

    cell = min((cell for cell in fitting if cell["cores"] == widest), key=distance)
    ranked = sorted(cell["times"].items(), key=lambda item: item[1])
    algorithm, _, at = ranked[0][0].partition("@")
    # Where the widest that was measured did best, all cores are taken.
    chosen = width if int(at) == widest > 1 else int(at)
    others = [time for name, time in ranked[1:] if not name.startswith(f"{algorithm}@")]
    margin = others[0] / ranked[0][1] if others else None
    return Choice(algorithm, chosen, margin, dict(ranked), cell["machine"])


@cache
def table() -> list[dict[str, Any]]:
    """Return the cells of ``config/advice.json``."""
    return json.loads(resource("config/advice.json").read_text())["cells"]
