"""What the claims' and exhibits' formulas ask of records besides times: phases and counters, by name."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cache

from test_claims import Everything

from mst import registry
from mst.reporting.papers import claims
from mst.reporting.papers.exhibits import exhibits, fill
from mst.reporting.papers.formula import Selection, evaluate

PROFILED = {"stall_cycles", "stalled_share", "largest_m"}
"""Counters that a profiler reads (`mst.bench.measure.profiler`), and one of which its claim says that nothing
has it."""


class Asking(Everything):
    """Has whatever it is asked for, and notes the names."""

    name = "asking"

    def __init__(self):
        self.found: set[tuple[str, Selection, str]] = set()

    def leaf(self, quantity, selection, graph, name=""):
        if name and name not in PROFILED:
            self.found.add((quantity, selection, name))
        return super().leaf(quantity, selection, graph, name)


@cache
def asked() -> frozenset[tuple[str, Selection, str]]:
    """Return (``phase``, ``share`` or ``counter``; selection; name) of every formula."""
    book, source = claims.document(), Asking()
    names = book.names()
    for made in book.claims.values():
        for claim in made:
            for criterion in (claim.there, claim.elsewhere, claim.anywhere):
                if criterion:
                    evaluate(criterion.quantity or claim.quantity, source, names)
    for paper, made in exhibits().items():
        for exhibit in made:
            fill(paper, exhibit, [source], names)
    return frozenset(source.found)


def lacking(paradigm: str, told: Callable[[Selection], tuple[Collection[str], Collection[str]]]) -> list[str]:
    """Return what formulas ask of the algorithms of a paradigm and their records do not have.

    Parameters
    ----------
    told : callable
        Returns the names of the counters and of the phases that a selection's record has.
    """
    known = registry.algorithms()
    wanted: dict[Selection, set[tuple[str, str]]] = {}
    for quantity, selection, name in asked():
        if known[selection.algorithm].paradigm == paradigm:
            # A seed changes no name, a place in a list none either.
            options = tuple((k, v) for k, v in selection.options if k != "seed")
            kind = "counter" if quantity == "counter" else "phase"
            wanted.setdefault(Selection(selection.algorithm, options), set()).add(
                (kind, name.partition("[")[0])
            )
    assert wanted
    found = []
    for selection, names in wanted.items():
        counters, phases = told(selection)
        for kind, name in sorted(names):
            if name not in (counters if kind == "counter" else phases):
                found.append(f"{selection}: {kind} {name}")
    return found
