"""Sources that have every number: they show which algorithms, graphs, phases and counters formulas name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import cache

from mst import catalog, registry
from mst.reporting.papers import claims
from mst.reporting.papers.exhibits import exhibits, fill
from mst.reporting.papers.formula import Leaf, Names, Selection, Source, evaluate, parse_selection
from mst.reporting.papers.published import published

PROFILED = ("stall_cycles", "stalled_share", "achieved_occupancy_")
"""Counters that a profiler reads (`mst.bench.measure.profiler`), by the beginnings of their names."""

OF_PROGRAMS = {"in all", "in_all"}
"""Phases and counters that the authors' programs print and no port has."""


class Everything(Source):
    """A source with every number of every known algorithm and graph; times fall with the width.

    `selections` collects the selections of all formulas, without their widths.
    """

    name = "everything"

    def __init__(self, names: Names):
        originals = claims.document().originals.values()
        self.names, self.selections, self.graphs = names, set(), frozenset(catalog.load())
        self.algorithms = {*registry.algorithms(), *(parse_selection(text).algorithm for text in originals)}

    def leaf(self, quantity, selection, graph, name=""):
        assert selection.algorithm in self.algorithms and graph in self.graphs, (selection, graph)
        self.selections.add(selection.name)
        if quantity in ("wrong", "excess"):
            return Leaf(0.0)
        return Leaf((1 + len(selection.name + graph) % 7) / max(selection.width, 1))

    def of_programs(self, originals):
        return self

    def fact(self, name, graph):
        assert graph in self.graphs, graph
        return {"n": 1000.0, "m": 5000.0, "degree": float(len(graph))}.get(name, 2.0)

    def published(self, table, column, row):
        return published(table).number(column, row)

    def has(self, graph):
        return graph in self.graphs

    measured = has


def claims_by_id() -> dict[str, claims.Claim]:
    """Return the claims of all papers."""
    return {claim.id: claim for made in claims.document().claims.values() for claim in made}


def every_formula() -> Iterator[tuple[str, str]]:
    """Yield every formula of the claims, each with its claim's id."""
    for id, claim in claims_by_id().items():
        criteria = [c for c in (claim.there, claim.elsewhere, claim.anywhere) if c]
        for formula in dict.fromkeys([claim.quantity, *(c.quantity or claim.quantity for c in criteria)]):
            yield id, formula


class Recording(Everything):
    """Notes the names of phases and counters."""

    def __init__(self, names: Names):
        super().__init__(names)
        self.found: set[tuple[str, Selection, str]] = set()

    def leaf(self, quantity, selection, graph, name=""):
        if name and name not in OF_PROGRAMS and not name.startswith(PROFILED):
            self.found.add((quantity, selection, name))
        return super().leaf(quantity, selection, graph, name)


@cache
def asked() -> frozenset[tuple[str, Selection, str]]:
    """Return (``phase``, ``share`` or ``counter``; selection; name) of every formula."""
    names = Names(claims.document().names().sets)
    source = Recording(names)
    for _, formula in every_formula():
        evaluate(formula, source, names)
    for paper, made in exhibits().items():
        for exhibit in made:
            fill(paper, exhibit, [source], names)
    return frozenset(source.found)


def lacking(
    paradigm: str, measured_names: Callable[[Selection], tuple[Collection[str], Collection[str]]]
) -> list[str]:
    """Return the counters and phases that formulas name and the records of a paradigm's algorithms lack.

    Parameters
    ----------
    measured_names : callable
        Returns the names of the counters and of the phases that a selection's record has.
    """
    known = registry.algorithms()
    wanted: dict[Selection, set[tuple[str, str]]] = {}
    for quantity, selection, name in asked():
        if known[selection.algorithm].paradigm == paradigm:
            # Neither a seed nor an index of a list changes the name.
            options = tuple((k, v) for k, v in selection.options if k != "seed")
            kind = "counter" if quantity == "counter" else "phase"
            wanted.setdefault(Selection(selection.algorithm, options), set()).add(
                (kind, name.partition("[")[0])
            )
    assert wanted
    found = []
    for selection, names in wanted.items():
        counters, phases = measured_names(selection)
        for kind, name in sorted(names):
            if name not in (counters if kind == "counter" else phases):
                found.append(f"{selection}: {kind} {name}")
    return found
