"""Published claims, and what the records say of them.

`report/claims.yaml` holds what five papers claim, each as a formula over records with what would confirm it. A claim
has a verdict for every machine that has records:

*confirmed*, *contradicted*
    Its formula could be worked out whole, by those who may judge it. A range that counts on this kind of machine
    holds the value and meets its 95 % interval, or does neither; or all of the interval, or none, lies on one side.
*not comparable here*
    The machine lacks what the claim needs; or the claim is about another kind of machine only; or the programs that it
    is about were not measured, and ours only agrees or disagrees; or the interval lies on both sides of the bound, or
    meets a range that the value misses; or inputs were not to be had, and with others in their place, `stand_ins`, it
    would or would not be met.
*not measured*
    Something is missing. Of a claim about every graph or width a part can contradict, but nothing partial confirms. A
    smaller machine than a claim needs may do for that: its ``counterexample`` says which.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, model_validator

from mst import registry, resources
from mst.errors import ConfigError, nearest
from mst.reporting.papers.formula import Missing, Names, Result, check, evaluate, parse_selection
from mst.reporting.papers.observations import Measured, Printed
from mst.yaml_models import StrictModel, parse, read_yaml

if TYPE_CHECKING:
    from mst.bench.planning.experiment import Experiment

CONFIRMED, CONTRADICTED = "confirmed", "contradicted"
NOT_COMPARABLE, NOT_MEASURED = "not comparable here", "not measured"
VERDICTS = (CONFIRMED, CONTRADICTED, NOT_COMPARABLE, NOT_MEASURED)
Judge = Literal["original", "port", "facts"]


class Criterion(StrictModel):
    """What confirms a claim: a range in which the value must lie, or a side on which all of its interval must."""

    quantity: str | None = Field(None, description="a formula in place of the claim's own")
    near: float | None = None
    within: float | None = Field(None, description="share of near")
    plus_minus: float | None = None
    low: float | None = None
    high: float | None = None
    equals: float | None = None
    above: float | None = None
    below: float | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> Criterion:
        kinds = [
            self.near is not None and (self.within is None) != (self.plus_minus is None),
            self.low is not None and self.high is not None,
            self.equals is not None,
            self.above is not None,
            self.below is not None,
        ]
        if sum(kinds) != 1:
            raise ValueError("give near with within or plus_minus, low with high, equals, above, or below")
        return self

    @property
    def range(self) -> tuple[float, float] | None:
        """The range in which the value must lie; None for a direction."""
        if self.near is not None:
            width = self.plus_minus if self.plus_minus is not None else abs(self.near) * (self.within or 0)
            return self.near - width, self.near + width
        if self.equals is not None:
            return self.equals, self.equals
        return None if self.low is None or self.high is None else (self.low, self.high)

    def judge(self, value: float, low: float, high: float) -> bool | None:
        """Return whether a value and its interval confirm (True), contradict (False) or cannot tell (None).

        A value outside a range does not confirm it, however far noise stretches the interval.
        """
        if self.range is not None:
            least, most = self.range
            slack = 1e-9 * max(abs(least), abs(most), 1)
            meets = low <= most + slack and high >= least - slack
            return meets if meets == (least - slack <= value <= most + slack) else None
        if self.above is not None:
            return True if low > self.above else False if high <= self.above else None
        assert self.below is not None
        return True if high < self.below else False if low >= self.below else None


class Needs(StrictModel):
    """What a machine must have for a claim to mean anything on it."""

    gpu: bool = False
    cores: int = 1
    threads: int = 1
    threads_below: int | None = None

    def lacking(self, machine: Mapping[str, Any]) -> str | None:
        """Return what the machine lacks, or None."""
        if self.gpu and not machine.get("gpus"):
            return "needs a GPU, this machine has none"
        for name, unit in (("cores", "cores"), ("threads", "hardware threads")):
            has = machine["cores" if name == "cores" else "hardware_threads"]
            if has < getattr(self, name):
                return f"needs {getattr(self, name)} {unit}, this machine has {has}"
        threads = machine["hardware_threads"]
        if self.threads_below is not None and threads >= self.threads_below:
            return f"needs fewer than {self.threads_below} hardware threads, this machine has {threads}"
        return None


class Kind(StrictModel):
    """A kind of machine that a paper used: what its GPU's and processor's names contain (a regular expression)."""

    title: str
    gpu: str | None = None
    cpu: str | None = None

    def matches(self, machine: Mapping[str, Any]) -> bool:
        """Return whether a machine is of this kind."""
        gpus = " ".join(machine.get("gpus") or [])
        return all(
            pattern is None or re.search(pattern, text, re.IGNORECASE)
            for pattern, text in ((self.gpu, gpus), (self.cpu, machine.get("cpu") or ""))
        )


class Claim(StrictModel):
    """One published claim; ``report/claims.yaml`` says what the keys mean."""

    id: str
    place: str
    says: str
    quantity: str
    published: float | str | None = None
    unit: Literal["ratio", "percent", "count", "rate"] = Field("ratio", alias="as")
    machine: str | None = None
    judge: Judge | None = None
    needs: Needs = Needs()
    counterexample: Needs | None = None
    every: bool = False
    there: Criterion | None = None
    elsewhere: Criterion | None = None
    anywhere: Criterion | None = None
    standing: Literal["contradicted", "imprecise"] | None = None
    arithmetic: str = ""
    note: str = ""
    exhibit: str | None = None

    @model_validator(mode="after")
    def _whole(self) -> Claim:
        if self.anywhere is None and self.there is None:
            raise ValueError("say what confirms it: there or anywhere")
        if self.anywhere is not None and (self.there or self.elsewhere):
            raise ValueError("anywhere stands alone")
        if (self.standing is None) != (not self.arithmetic):
            raise ValueError("standing and arithmetic go together")
        if self.counterexample and not self.every:
            raise ValueError("only a claim about every graph or width has a counterexample")
        return self

    def criterion(self, *, on_kind: bool) -> Criterion | None:
        """Return what counts on the paper's kind of machine, or elsewhere."""
        return self.anywhere or (self.there if on_kind else self.elsewhere)


class Paper(StrictModel):
    """A paper: its title, and who judges its claims."""

    title: str
    judge: Judge


class Document(StrictModel):
    """``report/claims.yaml``."""

    papers: dict[str, Paper]
    machines: dict[str, Kind]
    originals: dict[str, str]
    selections: dict[str, str]
    sets: dict[str, list[Any]]
    stand_ins: dict[str, str] = Field(default_factory=dict)
    claims: dict[str, list[Claim]]

    def names(self) -> Names:
        """Return what formulas may name."""
        from mst import catalog

        sets: dict[str, Any] = {name: _frozen(members) for name, members in self.sets.items()}
        algorithms = {*registry.algorithms(), *(parse_selection(o).algorithm for o in self.originals.values())}
        return Names(
            sets | dict(self.selections), frozenset(catalog.load()), frozenset(algorithms), self.stand_ins
        )


def _frozen(value: Any) -> Any:
    return tuple(_frozen(v) for v in value) if isinstance(value, list) else value


@cache
def document(file: Path | None = None) -> Document:
    """Return the claims, or raise `ConfigError` with the place of what is wrong."""
    file = file or resources.path("report/claims.yaml")
    return parse(Document, read_yaml(file), str(file))


def stand_ins_of(experiment: Experiment) -> dict[str, str]:
    """Return the stand-ins of an experiment's graphs, those included that it leaves out, by the graphs' names."""
    known = {*experiment.graphs, *experiment.left_out}
    return {graph: other for graph, other in document().stand_ins.items() if graph in known}


@dataclass(frozen=True)
class Outcome:
    """What the records of one machine say of a claim.

    Attributes
    ----------
    verdict : str
        One of `VERDICTS`.
    reason : str
        Why it is not comparable or not measured; what the interval was held against otherwise.
    value, low, high : float or None
        What was measured, with its interval; of a part where `partial`.
    by : str
        ``original``, ``port`` or ``facts``: whose runs gave the value.
    agrees : bool or None
        Where a port or stand-ins cannot judge: whether they go the same way.
    on_kind : bool
        Whether this is the paper's kind of machine.
    stood_in : mapping
        What was measured in place of inputs that could not be had.
    """

    claim: str
    machine: str
    verdict: str
    reason: str
    on_kind: bool
    by: str = ""
    value: float | None = None
    low: float | None = None
    high: float | None = None
    partial: bool = False
    agrees: bool | None = None
    records: tuple[str, ...] = ()
    graphs: tuple[str, ...] = ()
    missing: tuple[str, ...] = field(default=())
    stood_in: Mapping[str, str] = field(default_factory=dict)


def judge(claim: Claim, paper: Paper, source: Measured, book: Document, names: Names) -> Outcome:
    """Return the verdict of one machine's records on one claim."""
    lacking = claim.needs.lacking(source.machine)
    if lacking is None:
        found = _judged(claim, paper, source, book, names)
        if found.verdict == NOT_MEASURED:
            return _with_stand_ins(claim, paper, source, book, names) or found
        return found
    if claim.counterexample is not None and not claim.counterexample.lacking(source.machine):
        found = _judged(claim, paper, source, book, names)
        if found.verdict == CONTRADICTED:
            return found
    return Outcome(claim.id, source.name, NOT_COMPARABLE, lacking, _on_kind(claim, source, book))


def _on_kind(claim: Claim, source: Measured, book: Document) -> bool:
    kind = book.machines.get(claim.machine or "")
    return kind is not None and kind.matches(source.machine)


def _judged(claim: Claim, paper: Paper, source: Measured, book: Document, names: Names) -> Outcome:
    on_kind = _on_kind(claim, source, book)
    who = claim.judge or paper.judge

    def outcome(verdict: str, reason: str, **more: Any) -> Outcome:
        return Outcome(claim.id, source.name, verdict, reason, on_kind, **more)

    criterion = claim.criterion(on_kind=on_kind)
    stated = book.machines[claim.machine].title if claim.machine else "another machine"
    elsewhere = f"stated for {stated}, which this machine is not"
    formula = (criterion.quantity if criterion else None) or claim.quantity
    try:
        result, by = _measure(formula, who, source, book, names)
    except Missing as reason:
        # Whatever were measured, it could not be judged here.
        return outcome(NOT_MEASURED, str(reason)) if criterion else outcome(NOT_COMPARABLE, elsewhere)
    told = _told(result, by)
    if criterion is None:
        return outcome(NOT_COMPARABLE, elsewhere, **told)
    holds = criterion.judge(result.value, result.low, result.high)
    if not result.used:
        return outcome(NOT_MEASURED, "it was worked out from printed numbers alone", **told)
    if result.thin:
        if claim.every and (found := _counterexample(formula, who, source, book, names, criterion)):
            few = "; runs of fewer than three processes were left out"
            why = _stated(criterion) + few + _passed_over(found[0])
            return outcome(CONTRADICTED, why, **_told(*found))
        return outcome(NOT_MEASURED, "a run had fewer than three processes: no interval", **told)
    if result.missing and not (claim.every and holds is False):
        count = len(told["missing"])
        return outcome(
            NOT_MEASURED, f"{count} of its numbers are missing, the first: {told['missing'][0]}", **told
        )
    if who == "original" and by == "port":
        way = {True: "agrees", False: "disagrees", None: "cannot tell"}[holds]
        return outcome(
            NOT_COMPARABLE,
            f"the program itself was not measured; our port {way}{_passed_over(result)}",
            agrees=holds,
            **told,
        )
    if holds is None:
        why = f"cannot tell: {_undecided(criterion)}{_passed_over(result)}"
        return outcome(NOT_COMPARABLE, why, **told)
    return outcome(CONFIRMED if holds else CONTRADICTED, _stated(criterion) + _passed_over(result), **told)


def _told(result: Result, by: str) -> dict[str, Any]:
    return {
        "by": by,
        "value": result.value,
        "low": result.low,
        "high": result.high,
        "partial": bool(result.missing),
        "records": tuple(result.records),
        "graphs": tuple(result.used),
        "missing": tuple(dict.fromkeys(result.missing)),
    }


def _passed_over(result: Result) -> str:
    return f"; passed over: {'; '.join(result.failed)}" if result.failed else ""


def _counterexample(
    formula: str, who: str, source: Measured, book: Document, names: Names, criterion: Criterion
) -> tuple[Result, str] | None:
    """Return a claim's value over its runs of enough processes, and whose they are, if that does not meet it."""
    try:
        result, by = _measure(formula, who, source, book, names, thin=False)
    except Missing:
        return None
    judged = result.used and not (who == "original" and by == "port")
    return (result, by) if judged and criterion.judge(result.value, result.low, result.high) is False else None


def _with_stand_ins(
    claim: Claim, paper: Paper, source: Measured, book: Document, names: Names
) -> Outcome | None:
    """Return what stand-ins tell of a claim that inputs are missing for; None where the whole of it still is not there.

    They never confirm and never contradict. Facts of graphs are not asked of them: they were made to have the same.
    """
    who, on_kind = claim.judge or paper.judge, _on_kind(claim, source, book)
    criterion = claim.criterion(on_kind=on_kind)
    if who == "facts" or criterion is None:
        return None
    formula = criterion.quantity or claim.quantity
    try:
        result, by = _measure(formula, who, source, book, names, stand_ins=True)
    except Missing:
        return None
    if not result.stood_in or result.missing or result.thin:
        return None
    holds = criterion.judge(result.value, result.low, result.high)
    would = "our port would" if who == "original" and by == "port" else "would"
    way = {True: f"{would} meet the claim", False: f"{would} not meet the claim", None: "cannot tell"}[holds]
    count = len(result.stood_in)
    are = "is a stand-in" if count == 1 else "are stand-ins"
    told = f"{count} of {len(result.used)} inputs {are} (for {', '.join(result.stood_in)}): {way}{_passed_over(result)}"
    return Outcome(
        claim.id,
        source.name,
        NOT_COMPARABLE,
        told,
        on_kind,
        by=by,
        value=result.value,
        low=result.low,
        high=result.high,
        agrees=holds,
        records=tuple(result.records),
        graphs=tuple(result.used),
        stood_in=result.stood_in,
    )


def _measure(
    formula: str,
    who: str,
    source: Measured,
    book: Document,
    names: Names,
    *,
    stand_ins: bool = False,
    thin: bool = True,
) -> tuple[Result, str]:
    """Return the formula's value and whose runs gave it; originals first, where they are to be had."""

    def value(runs: Any) -> Result:
        return evaluate(formula, runs, names, stand_ins=stand_ins, thin=thin)

    if who != "original":
        return value(source), who
    try:
        originals = value(_Originals(source, book.originals))
        if not originals.missing:
            return originals, "original"
    except Missing:
        pass
    return value(source), "port"


class _Originals:
    """A source in which programs stand in place of our ports of them; a port without one is missing."""

    def __init__(self, source: Measured, originals: Mapping[str, str]):
        self._all, self._source = originals, source.with_aliases(originals)
        self.draws = source.draws

    def leaf(self, quantity: str, selection: Any, graph: str, name: str = "") -> Any:
        """Return a number of the program's record."""
        self._known(selection)
        return self._source.leaf(quantity, selection, graph, name)

    def widths(self, selection: Any, graph: str) -> tuple[int, ...]:
        """Return the widths that the program was run at."""
        self._known(selection)
        return self._source.widths(selection, graph)

    def _known(self, selection: Any) -> None:
        if selection.what not in self._all:
            raise Missing(f"no program is known as {selection.what}")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)


def _stated(criterion: Criterion) -> str:
    if criterion.range is not None:
        return f"counts: {_span(*criterion.range)}"
    if criterion.above is not None:
        return f"counts: above {criterion.above:g}"
    return f"counts: below {criterion.below:g}"


def _undecided(criterion: Criterion) -> str:
    if criterion.range is not None:
        return f"only one of the value and its interval meets {_span(*criterion.range)}"
    bound = criterion.above if criterion.above is not None else criterion.below
    return f"the interval lies on both sides of {bound:g}"


def _span(least: float, most: float) -> str:
    return f"{least:.4g}" if least == most else f"{least:.4g} to {most:.4g}"


@dataclass(frozen=True)
class Own:
    """What the paper's own printed numbers give for its claim."""

    value: float
    partial: bool
    holds: bool | None


def own_value(claim: Claim, paper: str, names: Names) -> Own | None:
    """Work a claim's formula out from what the paper prints; None where that does not suffice."""
    source = Printed(paper, claim.machine)
    try:
        result = evaluate(claim.quantity, source, names)
    except Missing:
        return None
    criterion = claim.criterion(on_kind=True)
    assert criterion is not None
    return Own(result.value, bool(result.missing), criterion.judge(result.value, result.value, result.value))


def overall(outcomes: Iterable[Outcome]) -> str:
    """Return one verdict of several machines: the paper's kind first, then what is worse, then what is known."""
    known = list(outcomes)
    for chosen in ([o for o in known if o.on_kind], known):
        for verdict in (CONTRADICTED, CONFIRMED):
            if any(o.verdict == verdict for o in chosen):
                return verdict
    if any(o.verdict == NOT_COMPARABLE and o.value is not None for o in known):
        return NOT_COMPARABLE
    # A machine that could measure it has not yet; where none could, that is what is to be said.
    return NOT_MEASURED if not known or any(o.verdict == NOT_MEASURED for o in known) else NOT_COMPARABLE


def check_document(book: Document | None = None) -> set[str]:
    """Refuse formulas and stand-ins that name what there is not; return the selections that formulas name.

    Raises
    ------
    ConfigError
        A formula does not parse, or names an unknown function, set, graph or algorithm; or a stand-in is unknown, or
        stands in for two inputs, or for one that is a stand-in itself.
    """
    book = book or document()
    names = book.names()
    _check_stand_ins(book.stand_ins, names)
    found: set[str] = set()
    for claims in book.claims.values():
        for claim in claims:
            for formula in (
                claim.quantity,
                *(c.quantity for c in (claim.there, claim.elsewhere, claim.anywhere) if c),
            ):
                if formula:
                    found |= check(formula, names)
    return found


def _check_stand_ins(stand_ins: Mapping[str, str], names: Names) -> None:
    known = [*stand_ins, *stand_ins.values()]
    for graph in known:
        if graph not in names.graphs:
            raise ConfigError(f"stand_ins: no graph {graph!r}{nearest(graph, names.graphs)}")
    twice = next((graph for graph in known if known.count(graph) > 1), None)
    if twice is not None:
        raise ConfigError(
            f"stand_ins: {twice!r} is named twice: a stand-in is of one input, and an input is no stand-in"
        )
