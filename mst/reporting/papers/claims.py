"""Published claims, and the verdicts of the records on them.

`report/claims.yaml` holds the claims of five papers, each as a formula over records with the criterion that confirms
it. A claim has a verdict for every machine that has records (``docs/papers.md`` has the rules). Several machines that
disagree are named; none of them outvotes another.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, model_validator

from mst import resources
from mst.errors import ConfigError, nearest
from mst.reporting.papers.evidence import SPREAD, in_words, known_graphs
from mst.reporting.papers.formula import Missing, Names, Result, evaluate, of_all_terms
from mst.reporting.papers.observations import Measured, Printed
from mst.yaml_models import StrictModel, parse, read_yaml

if TYPE_CHECKING:
    from mst.bench.planning.experiment import Experiment

CONFIRMED, CONTRADICTED, UNDECIDED = "confirmed", "contradicted", "undecided"
NOT_COMPARABLE, NOT_MEASURED, DISAGREE = "not comparable here", "not measured", "machines disagree"
VERDICTS = (CONFIRMED, CONTRADICTED, DISAGREE, UNDECIDED, NOT_COMPARABLE, NOT_MEASURED)
ON_STAND_INS = " on stand-ins"
Judge = Literal["original", "port", "facts"]
Member = str | int | float | tuple[str, ...]  # a member of a set: a name or a number, or alternatives


class Criterion(StrictModel):
    """The criterion of a claim: a range in which its value must lie, or a bound on one side of its interval."""

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

    def judge(self, result: Result) -> bool | None:
        """Return whether a result and its interval confirm (True), contradict (False) or leave open (None).

        A range must contain the value and, except for a tenth, its interval: mere noise must not confirm a claim.
        """
        value, low, high = result.value, result.low, result.high
        if self.range is not None:
            least, most = self.range
            slack, reach = (share * max(abs(least), abs(most), 1e-8) for share in (1e-9, SPREAD))
            if not least - slack <= value <= most + slack:
                return None if low <= most + slack and high >= least - slack else False
            return True if low >= least - reach and high <= most + reach else None
        if self.above is not None:
            return True if low > self.above else False if high <= self.above else None
        assert self.below is not None
        return True if high < self.below else False if low >= self.below else None

    def __str__(self) -> str:
        if self.range is not None:
            least, most = self.range
            return f"{least:.4g}" if least == most else f"{least:.4g} to {most:.4g}"
        return f"above {self.above:g}" if self.above is not None else f"below {self.below:g}"

    @property
    def undecided(self) -> str:
        """The reason why an interval decides nothing."""
        if self.range is not None:
            return f"the interval lies only partly within {self}"
        return f"the interval lies on both sides of {str(self).split()[-1]}"


class Needs(StrictModel):
    """Hardware without which a claim means nothing."""

    gpu: bool = False
    gpu_memory: bool = Field(False, description="a GPU of 80 GB, as its name shows")
    cores: int = 1
    threads: int = 1

    def lacking(self, machine: Mapping[str, Any]) -> str | None:
        """Return the hardware that the machine lacks, in words, or None."""
        if self.gpu and not machine.get("gpus"):
            return "needs a GPU, but this machine has none"
        if self.gpu_memory and not re.search(r"H[12]00|B[23]00|80 ?GB", (names := " ".join(machine["gpus"]))):
            return f"needs a GPU of 80 GB, but this machine has {names}"
        for name, needed in (("cores", self.cores), ("hardware_threads", self.threads)):
            if machine[name] < needed:
                return f"needs {needed} {name.replace('_', ' ')}, but this machine has {machine[name]}"
        return None


class Kind(StrictModel):
    """A kind of machine that a paper used, with regular expressions for the names of its GPU and processor."""

    title: str
    gpu: str | None = None
    cpu: str | None = None

    def matches(self, machine: Mapping[str, Any]) -> bool:
        """Return whether a machine is of this kind."""
        names = (self.gpu, " ".join(machine.get("gpus") or [])), (self.cpu, machine.get("cpu") or "")
        return all(re.search(pattern or "", text, re.IGNORECASE) for pattern, text in names)


class Claim(StrictModel):
    """One published claim; ``report/claims.yaml`` explains the keys."""

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
    refuted: str = Field(
        "", description="what tests show to be wrong in a published listing, and where they are"
    )
    goal: str = Field("", description="why nothing of it can be measured: the paper only aims at it")
    exhibit: str | None = None

    @model_validator(mode="after")
    def _whole(self) -> Claim:
        if self.anywhere is None and self.there is None:
            raise ValueError("give a criterion: there or anywhere")
        if self.anywhere is not None and (self.there or self.elsewhere):
            raise ValueError("anywhere excludes there and elsewhere")
        if (self.standing is None) != (not self.arithmetic):
            raise ValueError("give standing and arithmetic together")
        if self.counterexample and not self.every:
            raise ValueError("only a claim about every graph or width has a counterexample")
        return self

    def criterion(self, *, on_kind: bool) -> Criterion | None:
        """Return the criterion on the paper's kind of machine, or on others."""
        return self.anywhere or (self.there if on_kind else self.elsewhere)


class Paper(StrictModel):
    """A paper: its title, and whose runs judge its claims."""

    title: str
    judge: Judge


class Document(StrictModel, strict=False):
    """``report/claims.yaml``."""

    papers: dict[str, Paper]
    machines: dict[str, Kind]
    originals: dict[str, str]
    selections: dict[str, str]
    sets: dict[str, tuple[Member, ...]]
    stand_ins: dict[str, str] = Field(default_factory=dict)
    claims: dict[str, list[Claim]]

    def names(self) -> Names:
        """Return the names that formulas may use."""
        return Names({**self.sets, **self.selections}, self.stand_ins)

    def checked(self) -> Document:
        """Return this document, or raise `ConfigError` if its stand-ins are unknown or ambiguous."""
        graphs, stated = known_graphs(), [*self.stand_ins, *self.stand_ins.values()]
        for graph in stated:
            if graph not in graphs:
                raise ConfigError(f"stand_ins: no graph {graph!r}{nearest(graph, graphs)}")
            if stated.count(graph) > 1:
                raise ConfigError(f"stand_ins: {graph!r} is named twice: a stand-in replaces only one graph")
        return self


@cache
def document() -> Document:
    """Return the claims, or raise `ConfigError` with the place of the error."""
    file = resources.path("report/claims.yaml")
    return parse(Document, read_yaml(file), str(file)).checked()


def stand_ins_of(experiment: Experiment) -> dict[str, str]:
    """Return the stand-ins of an experiment's graphs, those included that it leaves out, by the graphs' names."""
    known = {*experiment.graphs, *experiment.left_out}
    return {graph: other for graph, other in document().stand_ins.items() if graph in known}


@dataclass(frozen=True)
class Outcome:
    """Verdict of one machine's records on a claim, and on the same with stand-ins in place of missing inputs.

    The verdict is one of `VERDICTS`, that of `on_stand_ins` one of these followed by `ON_STAND_INS`. The reason says
    what is missing if there is no verdict, how stand-ins differ from inputs, or else which criterion was applied.
    `on_kind` says whether this is the paper's kind of machine, and `by` which runs gave the result: ``original``,
    ``port``, ``facts`` or ``tests``.
    """

    machine: str
    verdict: str
    reason: str
    on_kind: bool
    by: str = ""
    result: Result | None = None
    on_stand_ins: Outcome | None = None


def judge(claim: Claim, paper: Paper, source: Measured, book: Document) -> Outcome:
    """Return the verdict of one machine's records on one claim."""
    case = _Case(claim, claim.judge or paper.judge, replace(source, judging=True), book)
    if claim.refuted:
        return case.outcome(CONTRADICTED, claim.refuted, by="tests")
    if claim.goal:
        return case.outcome(NOT_COMPARABLE, claim.goal)
    lacking = claim.needs.lacking(source.machine)
    if lacking is None:
        found = case.judged()
        return replace(found, on_stand_ins=case.with_stand_ins()) if found.verdict == NOT_MEASURED else found
    if claim.counterexample is not None and not claim.counterexample.lacking(source.machine):
        found = case.judged()
        if found.verdict == NOT_MEASURED:
            return replace(found, reason=f"{found.reason}; confirming it {lacking}")
        if found.verdict == CONTRADICTED:
            return found
    return case.outcome(NOT_COMPARABLE, lacking)


@dataclass(frozen=True)
class _Case:
    """One claim and one machine's records."""

    claim: Claim
    judge: Judge
    source: Measured
    book: Document

    @cached_property
    def on_kind(self) -> bool:
        kind = self.book.machines.get(self.claim.machine or "")
        return kind is not None and kind.matches(self.source.machine)

    @cached_property
    def criterion(self) -> Criterion | None:
        return self.claim.criterion(on_kind=self.on_kind)

    @property
    def formula(self) -> str:
        return (self.criterion.quantity if self.criterion else None) or self.claim.quantity

    def outcome(self, verdict: str, reason: str, result: Result | None = None, by: str = "") -> Outcome:
        if result and result.failed and verdict != NOT_MEASURED:
            reason += f"; skipped: {'; '.join(result.failed)}"
        if result and result.best:
            reason += f"; {_best_widths(result.best)}"
        return Outcome(self.source.name, verdict, reason, self.on_kind, by, result)

    def value(self, *, programs: bool, stand_ins: bool = False) -> Result:
        """Return the formula's value, of the original programs or of our ports; one on stand-ins has to be whole.

        A range counts wide intervals only where they contradict it: noise may lead into a range, but not all out of it.
        """
        source = self.source.of_programs(self.book.originals) if programs else self.source

        def of(*, wide: bool) -> Result:
            counted = replace(source, wide=wide)
            return evaluate(self.formula, counted, self.book.names(), stand_ins=stand_ins, whole=stand_ins)

        if self.criterion is None or self.criterion.range is None:
            return of(wide=self.criterion is not None)
        with suppress(Missing):
            result = of(wide=True)
            if not result.missing and self.criterion.judge(result) is False:
                return result
        return of(wide=False)

    def measure(self) -> tuple[Result, str, str]:
        """Return the formula's value, whose runs gave it, and which run of a program is missing.

        The original programs give it where they decide, else our port.
        """
        if self.judge != "original":
            return self.value(programs=False), self.judge, ""
        try:
            result = self.value(programs=True)
            if not result.missing or self.counterexample(result):
                return result, "original", ""
            lacks = result.missing[0]
        except Missing as reason:
            lacks = str(reason)
        return self.value(programs=False), "port", lacks

    def counterexample(self, result: Result) -> bool:
        """Return whether a part of a claim about every graph or width contradicts it."""
        if not self.claim.every or self.criterion is None or of_all_terms(self.formula):
            return False
        return self.criterion.judge(result) is False

    def judged(self) -> Outcome:
        """Return the verdict on a machine with the hardware that the claim needs, stand-ins aside."""
        machine, criterion = self.claim.machine, self.criterion
        stated = self.book.machines[machine].title if machine else "another machine"
        elsewhere = f"stated for {stated}; this is another machine"
        try:
            result, by, lacks = self.measure()
        except Missing as reason:
            # Even if it were measured, it could not be judged here without a criterion.
            verdict = (NOT_MEASURED, str(reason)) if criterion else (NOT_COMPARABLE, elsewhere)
            return self.outcome(*verdict)
        if criterion is None:
            return self.outcome(NOT_COMPARABLE, elsewhere, result, by)
        holds = criterion.judge(result)
        if not result.used:
            return self.outcome(NOT_MEASURED, "computed from printed numbers alone", result, by)
        if lacks:
            way = {True: "agrees", False: "disagrees", None: "cannot tell"}[holds]
            port = f"the program itself was not measured ({lacks}); our port {way}"
            return self.outcome(NOT_MEASURED, port, result, by)
        if result.missing and not self.counterexample(result):
            missing = list(dict.fromkeys(result.missing))
            text = f"{len(missing)} numbers missing, the first: {missing[0]}"
            return self.outcome(NOT_MEASURED, text, result, by)
        if by == "facts" and holds and any(map(self.source.generated, result.used)):
            files = "needs the paper's own files: these graphs were generated with the numbers stated"
            return self.outcome(NOT_COMPARABLE, files, result, by)
        return self.outcome(*_decided(holds, criterion), result, by)

    def with_stand_ins(self) -> Outcome | None:
        """Return the verdict with stand-ins for missing graphs; None where numbers or programs are still missing.

        Facts of graphs have no stand-ins: these were made to have the same.
        """
        if self.judge == "facts" or self.criterion is None:
            return None
        try:
            result = self.value(programs=self.judge == "original", stand_ins=True)
        except Missing:
            return None
        if not result.stood_in:
            return None
        verdict, reason = _decided(self.criterion.judge(result), self.criterion)
        inputs = "; ".join(
            in_words(graph, other, self.source.facts.get(other, {})) for graph, other in result.stood_in.items()
        )
        number = f"{len(result.stood_in)} of {len(result.used)} inputs"
        return self.outcome(verdict + ON_STAND_INS, f"{reason}; {number}: {inputs}", result, self.judge)


def _decided(holds: bool | None, criterion: Criterion) -> tuple[str, str]:
    if holds is None:
        return UNDECIDED, criterion.undecided
    return CONFIRMED if holds else CONTRADICTED, f"criterion: {criterion}"


def _best_widths(best: Mapping[str, Mapping[str, int]]) -> str:
    """Return the widths that ``@best`` chose, and the graphs on which they differ between compared selections."""
    chosen = (f"{name} {' and '.join(map(str, sorted({*of.values()})))}" for name, of in best.items())
    graphs = dict.fromkeys(graph for of in best.values() for graph in of)
    unlike = [graph for graph in graphs if len({of[graph] for of in best.values() if graph in of}) > 1]
    more = f" and {len(unlike) - 3} more" * (len(unlike) > 3)
    apart = f", which differ between the sides on {', '.join(unlike[:3])}{more}" * bool(unlike)
    return f"best widths: {', '.join(chosen)}{apart}"


def own_value(claim: Claim, paper: str, names: Names) -> Result | None:
    """Return a claim's formula over printed numbers; None if they do not suffice."""
    with suppress(Missing):
        result = evaluate(claim.quantity, Printed(paper, claim.machine), Names(names.sets))
        return None if result.missing else result
    return None


def overall(outcomes: Iterable[Outcome]) -> str:
    """Return one verdict of several machines, of the paper's kind before others.

    Machines that disagree give `DISAGREE`: which of them confirms, and which contradicts, is for the reader to see.
    """
    known = list(outcomes)
    for chosen in ([o for o in known if o.on_kind], known):
        decided = {o.verdict for o in chosen} & {CONFIRMED, CONTRADICTED}
        if decided:
            return DISAGREE if len(decided) > 1 else decided.pop()
    # Not measured where any machine could still measure it; not comparable where none can.
    found = {o.verdict for o in known} or {NOT_MEASURED}
    return next(verdict for verdict in (UNDECIDED, NOT_MEASURED, NOT_COMPARABLE) if verdict in found)
