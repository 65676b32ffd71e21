"""The language of claims and exhibits: arithmetic over measurements, a subset of Python's expressions.

``gm(T("jucele-cuda", g) / T("ecl-mst-cuda", g) for g in ECL9)`` is one. ``docs/papers.md`` describes selections of
runs, leaves, whose values come from a `Source`, and aggregates. Nothing else is accepted; no Python code is executed.

**Uncertainty.** A quantity is an array: the estimate, then `DRAWS` draws of each run's median
(`mst.bench.statistics.median_draws`). Arithmetic on such arrays carries the uncertainty of every run to the result, and
a run that occurs twice is the same draw both times. A ratio of two runs whose processes took turns is the median of the
turns' ratios, so that noise that lasted longer than a turn cancels out. Terms that are missing inside a generator are
left out and listed; a missing term elsewhere leaves nothing to compute.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, Protocol

import numpy as np

from mst.bench.statistics import FEWEST_PROCESSES, median_draws, of_extremes
from mst.errors import ConfigError, nearest
from mst.reporting.papers.published import Missing, published
from mst.units import counted

DRAWS = 1000
_SELECTION = re.compile(
    r"(?P<algorithm>[a-z][a-z0-9-]*)(?:\[(?P<options>[^\]]*)\])?(?:@(?P<width>\d+|best)(?P<over>[+!])?)?"
)
_FACTS = ("n", "m", "components", "degree", "max_degree")
_ARITY = {
    **dict.fromkeys(("T", "I", "M", "memory", "spread", "excess", "ran", "wrong"), 2),
    **dict.fromkeys(("phase", "share", "counter"), 3),
    **dict.fromkeys(_FACTS, 1),
}
LEAVES = (*_ARITY, "published")
BY_TURN = ("T", "M")  # times that a ratio compares turn by turn
WHERE_RUN = "where_run"
Quantity = np.ndarray | float | int
Values = Mapping[str, Any]
Silently = tuple[type[Missing], ...]  # the kinds of missing terms that an aggregate leaves out without a note


class Unfit(Missing):
    """It cannot be measured on any machine: the algorithm does not take this graph."""


class Failed(Missing):
    """The run ended without a forest, or with a wrong one."""


@dataclass(frozen=True)
class Selection:
    """Runs of an algorithm: the options that differ from its defaults, and the width (0: the best).

    `over` says whether runs on fewer cores than their width count: not (empty), too (``+``), or alone (``!``).
    """

    algorithm: str
    options: tuple[tuple[str, str], ...] = ()
    width: int = 1
    over: str = ""

    @property
    def name(self) -> str:
        """The selection without its width."""
        options = ",".join(f"{k}={v}" for k, v in self.options)
        return f"{self.algorithm}[{options}]" if options else self.algorithm

    def __str__(self) -> str:
        return self.name + {0: "@best", 1: ""}.get(self.width, f"@{self.width}")


@dataclass(frozen=True)
class Leaf:
    """A number from a source: its estimate, and the numbers of the processes behind it; none if it does not vary.

    It has the path and the width of its record, and the objection to its judging a claim, if there is one. A time has
    its session, with the σ of the logarithm of a session's speed.
    """

    value: float
    medians: tuple[float, ...] = ()
    record: str | None = None
    width: int = 1
    objection: str = ""
    session: tuple[str, float] | None = None


class Source(Protocol):
    """Origin of leaves: the records of one machine, or the numbers of a paper."""

    def leaf(self, quantity: str, selection: Selection, graph: str, name: str = "") -> Leaf:
        """Return a measured number, or raise `Missing`."""

    def turns(self, quantity: str, over: Selection, under: Selection, graph: str) -> tuple[Leaf, Leaf] | None:
        """Return the times of two runs whose processes took turns, one a turn; None if they did not."""
        return None

    def fact(self, name: str, graph: str) -> float:
        """Return a fact of a graph, or raise `Missing`."""

    def has(self, graph: str) -> bool:
        """Return whether anything is known of the graph."""

    def measured(self, graph: str) -> bool:
        """Return whether anything was measured on the graph, whose facts may come from another machine."""
        return self.has(graph)

    def of_programs(self, originals: Mapping[str, str]) -> Source:
        """Return the source in which each port is replaced by its program, if there is one."""
        return self

    def stands_in(self, other: str, graph: str) -> bool:
        """Return whether another graph was measured and may stand in for a graph."""
        return False


@dataclass(frozen=True)
class Names:
    """Names that formulas may use: sets of graphs (members with alternatives), tuples of numbers or words.

    `stand_ins` maps a graph that may be unavailable to the graph that may be measured in its place, and only there.
    """

    sets: Mapping[str, Any]
    stand_ins: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Result:
    """A formula's value and an interval that contains it; both ends are the value if nothing varies.

    The interval covers 95 %, or as much as that of the run with the fewest `processes`
    (`mst.bench.statistics.interval_ranks`); that number is None if nothing varies. The value leaves out `missing` terms
    and the `failed` or wrong runs that `where_run` skipped. `objections` say why some records judge no claim. If a
    minimum or maximum was taken of `compared` quantities, missing ones included, the interval allows for their number.
    `best` has the widths that ``@best`` chose, by selection and graph, `used` the graphs, stand-ins by their own names,
    and `stood_in` the stand-ins by the names of the graphs that they replace.
    """

    value: float = np.nan
    low: float = np.nan
    high: float = np.nan
    missing: list[str] = field(default_factory=list)
    processes: int | None = None
    objections: list[str] = field(default_factory=list)
    compared: int = 0
    best: dict[str, dict[str, int]] = field(default_factory=dict)
    records: list[str] = field(default_factory=list)
    used: list[str] = field(default_factory=list)
    stood_in: dict[str, str] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)


@cache
def parse_selection(text: str) -> Selection:
    """Return a selection from its text, or raise `ConfigError`.

    >>> parse_selection("edge-boruvka[fused=true]@16").width
    16
    """
    found = _SELECTION.fullmatch(text)
    if not found:
        raise ConfigError(f"{text!r} is not a selection: write algorithm[option=value,…]@width")
    pairs = [pair.partition("=") for pair in (found["options"] or "").split(",") if pair]
    if any(not separator for _, separator, _ in pairs):
        raise ConfigError(f"{text!r}: options are written name=value")
    width = 0 if found["width"] == "best" else int(found["width"] or 1)
    options = tuple(sorted((k.strip(), v.strip()) for k, _, v in pairs))
    return Selection(found["algorithm"], options, width, found["over"] or "")


@cache
def parse(text: str) -> ast.expr:
    """Return a formula's tree, or raise `ConfigError`."""
    try:
        return ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        raise ConfigError(f"formula {text!r}: {error.msg}") from None


def evaluate(
    text: str,
    source: Source,
    names: Names,
    bound: Values | None = None,
    *,
    stand_ins: bool = False,
    whole: bool = False,
) -> Result:
    """Return the value of a formula; raise `Missing` if it has none, or, if it must be `whole`, if any term is missing.

    `bound` has the values of further names, such as the row of a table. With `stand_ins`, a stand-in replaces a graph
    on which nothing was measured; published numbers are always looked up by the name of the graph itself.
    """
    tree, values = parse(text), {**names.sets, **(bound or {})}
    run = _Evaluation(source, names, stand_ins, whole)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = run.number(tree, values)
        # Processes vary, and so does the speed of a session, which cancels between its own times.
        several = len({name for name, _ in run.sessions}) > 1
        drifting = _Evaluation(source, names, stand_ins, drifting=True)
        drifted = drifting.number(tree, values) if several else np.atleast_1d(value)[:1]
    if not np.isfinite(value).all():
        raise Missing("one of its numbers is zero or undefined")
    result, value, drifted = run.result, np.atleast_1d(value), np.atleast_1d(drifted)
    result.value, result.processes = float(value[0]), min(run.processes, default=None)
    to, back = (np.log, np.exp) if min(value.min(), drifted.min()) > 0 else (np.positive, np.positive)
    ends = [
        np.percentile(to(each[1:]), [2.5, 97.5]) - to(value[0]) if len(each) > 1 else np.zeros(2)
        for each in (value, drifted)
    ]
    below, above = (np.hypot(*(max(side * end[k], 0) for end in ends)) for k, side in enumerate((-1, 1)))
    result.low, result.high = (float(back(to(value[0]) + by)) if by else result.value for by in (-below, above))
    for texts in (result.records, result.used, result.failed, result.objections):
        texts[:] = dict.fromkeys(texts)
    result.stood_in = {graph: other for graph, other in result.stood_in.items() if other in result.used}
    return result


class _Evaluation:
    """A traversal of a formula's tree: it checks names, computes values, and fills in the result."""

    def __init__(
        self, source: Source, names: Names, stand_ins: bool, whole: bool = False, drifting: bool = False
    ):
        self.source, self.names = source, names
        self.stand_ins, self.whole, self.drifting = stand_ins, whole, drifting
        self.sessions: set[tuple[str, float]] = set()
        self.result = Result()
        self.processes: list[int] = []
        """The number of processes of each run that was read."""

    def value(self, node: ast.expr, values: Values) -> Any:
        # The commonest first: a page has half a million.
        match node:
            case ast.Name(id=name):
                if name not in values:
                    raise ConfigError(f"unknown name {name!r}{nearest(name, values)}")
                return values[name]
            case ast.Constant(value=str() as word):
                return word
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                return self.call(name, arguments, values)
            case ast.BinOp(
                left=ast.Call(func=ast.Name(id=name), args=[over, graph]),
                op=ast.Div(),
                right=ast.Call(func=ast.Name(id=other), args=[under, same]),
            ) if (
                name == other
                and name in BY_TURN
                and self.value(graph, values) == self.value(same, values)
                and (ratio := self.ratio_by_turns(name, over, under, graph, values)) is not None
            ):
                return ratio
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                return _OPERATORS[type(op)](self.number(left, values), self.number(right, values))
            case ast.Constant(value=bool()):
                raise ConfigError("formulas have no True and no False: write 1 or 0")
            case ast.Constant(value=int() | float() as number):
                return float(number)
            case ast.FormattedValue(value=inner):
                return self.value(inner, values)
            case ast.JoinedStr(values=parts):
                return "".join(text_of(self.value(part, values)) for part in parts)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                return tuple(self.value(part, values) for part in parts)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.number(operand, values)
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _OPERATORS:
                return _OPERATORS[type(op)](self.number(left, values), self.number(right, values)).astype(float)
        raise ConfigError(f"{ast.unparse(node)!r} is not part of the formula language")

    def number(self, node: ast.expr, values: Values) -> Quantity:
        value = self.value(node, values)
        if isinstance(value, Quantity):
            return value
        raise ConfigError(f"{ast.unparse(node)}: expected a number, got {value!r}")

    def call(self, name: str, arguments: Sequence[ast.expr], values: Values) -> Any:
        wanted = _ARITY.get(name, 1 if name in SCALARS else len(arguments))
        if len(arguments) != wanted:
            raise ConfigError(f"{name} takes {counted(wanted, 'argument')}, got {len(arguments)}")
        if name in SCALARS:
            return SCALARS[name](self.number(arguments[0], values))
        if name == WHERE_RUN:
            return tuple(self.terms(arguments, values, (Unfit, Failed)))
        if name in AGGREGATES:
            return self.aggregate(name, arguments, values)
        if name not in LEAVES:
            raise ConfigError(f"no function {name!r}{nearest(name, functions())}")
        return self.leaf(name, [self.value(argument, values) for argument in arguments])

    def aggregate(self, name: str, arguments: Sequence[ast.expr], values: Values) -> Quantity:
        result, terms, fewest = self.result, [], []
        before, read = len(result.missing), len(self.processes)
        for term in self.terms(arguments, values, (Unfit,) if name == "fastest" else ()):
            terms.append(term)
            fewest.append(min(self.processes[read:], default=FEWEST_PROCESSES))
            read = len(self.processes)
        if not terms:
            known = list(dict.fromkeys(result.missing))
            more = f"; and {len(known) - 2} more" if len(known) > 2 else ""
            raise Missing("; ".join(known[:2]) + more if known else f"{name} of nothing")
        if name in _PAIRED:
            return AGGREGATES[name](*map(_stacked, zip(*terms, strict=True)))
        rows = _stacked(terms)
        if name not in _EXTREMES:
            return AGGREGATES[name](rows)
        # Whichever part is measured counts, so the interval allows for the other terms, too.
        number = len(rows) + len(result.missing) - before
        # A number that never varies, such as a counter, is not random.
        if np.ptp(rows, axis=1).any():
            result.compared = max(result.compared, number)
        return of_extremes(rows, _EXTREMES[name], fewest, number)

    def terms(self, arguments: Sequence[ast.expr], values: Values, silently: Silently) -> Iterator[Any]:
        """Yield an aggregate's terms: those of its generator, or its arguments."""
        match arguments:
            case [ast.GeneratorExp(elt=element, generators=loops)]:
                yield from self.generated(element, loops, values, silently)
                return
        for argument in arguments:
            value = self.value(argument, values)
            yield from value if isinstance(value, tuple) else (value,)

    def generated(
        self, element: ast.expr, loops: list[ast.comprehension], values: Values, silently: Silently
    ) -> Iterator[Any]:
        """Yield the element for every binding of the loops; missing ones are left out, and listed unless silently."""
        try:
            if not loops:
                yield self.value(element, values)
                return
            first, *rest = loops
            members = self.value(first.iter, values)
        except Missing as reason:
            if not isinstance(reason, silently):
                if self.whole:
                    # No aggregate around this one leaves out an error of this kind.
                    raise Missing(str(reason)) from None
                self.result.missing.append(str(reason))
            elif isinstance(reason, Failed):
                self.result.failed.append(str(reason))
            return
        if not isinstance(first.target, ast.Name) or first.ifs or not isinstance(members, tuple):
            raise ConfigError(f"a loop is written 'for name in SET', not {ast.unparse(first).strip()!r}")
        for member in members:
            yield from self.generated(element, rest, {**values, first.target.id: member}, silently)

    def leaf(self, name: str, given: Sequence[Any]) -> Any:
        if name == "published":
            table, column, *row = map(text_of, given)
            return published(table).number(column, tuple(row))
        if name in _FACTS:
            graph = self.graph(given[0])
            fact = partial(self.source.fact, graph=graph)
            value = 2 * fact("m") / fact("n") if name == "degree" else fact(name)
            self.result.used.append(graph)
            return value
        selection, graph = parse_selection(given[0]), self.graph(given[1])
        found = self.source.leaf(name, selection, graph, *given[2:])
        self.note(found, selection, graph)
        if not found.medians:
            return found.value
        if found.session:
            self.sessions.add(found.session)
        if self.drifting:
            self.processes.append(DRAWS)  # σ is known
            return found.value * _speeds(found.session or ("", 0.0))
        self.processes.append(len(found.medians))
        return _draws(found.value, found.medians, f"{name} {selection.name} {found.width} {graph} {given[2:]}")

    def ratio_by_turns(
        self, name: str, over: ast.expr, under: ast.expr, member: ast.expr, values: Values
    ) -> Quantity | None:
        """Return the ratio of the times of two runs on one graph, turn by turn; None if they did not take turns."""
        first, second = (parse_selection(self.value(text, values)) for text in (over, under))
        graph = self.graph(self.value(member, values))
        found = self.source.turns(name, first, second, graph)
        if found is None:
            return None
        for leaf, selection in zip(found, (first, second), strict=True):
            self.note(leaf, selection, graph)
        ratios = tuple(a / b for a, b in zip(*(leaf.medians for leaf in found), strict=True))
        value = float(np.median(ratios))
        if self.drifting:
            return value  # the speed of their session cancels out
        self.processes.append(len(ratios))
        runs = f"{first.name} {found[0].width} / {second.name} {found[1].width}"
        return _draws(value, ratios, f"{name} {runs} {graph}")

    def note(self, found: Leaf, selection: Selection, graph: str) -> None:
        """Note in the result where a number is from."""
        result = self.result
        if found.record:
            result.records.append(found.record)
            if not selection.width:
                result.best.setdefault(selection.name, {})[graph] = found.width
        if found.objection:
            result.objections.append(found.objection)
        result.used.append(graph)

    def graph(self, member: Any) -> str:
        """Return the graph that stands for a set's member: its first known alternative, else a stand-in."""
        known, choices = self.names.stand_ins, member if isinstance(member, tuple) else (member,)
        true = [choice for choice in choices if choice not in known.values()]
        if not true:
            raise Missing(f"{choices[0]} only stands in for a graph")
        here = next(filter(self.source.has, true), true[0])
        if self.stand_ins and not self.source.measured(here):
            for graph in filter(known.get, true):
                if self.source.stands_in(known[graph], graph):
                    self.result.stood_in[graph] = known[graph]
                    return known[graph]
        return here


@cache
def _draws(value: float, medians: tuple[float, ...], run: str) -> np.ndarray:
    return np.concatenate(([value], median_draws(medians, DRAWS, run)))


@cache
def _speeds(session: tuple[str, float]) -> np.ndarray:
    drawn = np.random.default_rng(list(str(session).encode())).standard_normal(DRAWS)
    return np.exp(session[1] * np.concatenate(([0.0], drawn)))


def _stacked(terms: Sequence[Any]) -> np.ndarray:
    for term in terms:
        if not isinstance(term, Quantity):
            raise ConfigError(f"a term: expected a number, got {term!r}")
    return np.stack(np.broadcast_arrays(*map(np.atleast_1d, terms))).astype(float)


def text_of(value: Any) -> str:
    """Return a value or a member of a set as text."""
    if isinstance(value, tuple):
        # The last alternative is the name that the papers use.
        return str(value[-1])
    return f"{value:g}" if isinstance(value, float) else str(value)


def _pearson(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    return np.nan_to_num((x * y).sum(axis=0) / np.sqrt((x * x).sum(axis=0) * (y * y).sum(axis=0)))


def _kendall(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    i, j = np.triu_indices(len(x), 1)
    if not len(i):
        return np.zeros(x.shape[1])
    return (np.sign(x[i] - x[j]) * np.sign(y[i] - y[j])).mean(axis=0)


_OPERATORS: dict[type, np.ufunc] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.Pow: np.power,
    ast.Lt: np.less,
    ast.LtE: np.less_equal,
    ast.Gt: np.greater,
    ast.GtE: np.greater_equal,
    ast.Eq: np.equal,
    ast.NotEq: np.not_equal,
}
SCALARS: dict[str, np.ufunc] = {"abs": np.abs, "log2": np.log2, "ceil": np.ceil}
_PAIRED: dict[str, Callable[..., np.ndarray]] = {"pearson": _pearson, "kendall": _kendall}
_EXTREMES: dict[str, Callable[..., np.ndarray]] = {"min": np.min, "max": np.max}
AGGREGATES: dict[str, Callable[..., np.ndarray]] = {
    "gm": lambda rows: np.exp(np.log(rows).mean(axis=0)),
    "mean": lambda rows: rows.mean(axis=0),
    "median": lambda rows: np.median(rows, axis=0),
    **_EXTREMES,
    "fastest": lambda rows: rows.min(axis=0),
    "sum": lambda rows: rows.sum(axis=0),
    **_PAIRED,
}


def of_all_terms(text: str) -> bool:
    """Return whether a formula is a mean or a correlation, whose value over a part of its terms is not one of all.

    >>> of_all_terms("gm(T('kruskal', g) for g in D9)"), of_all_terms("max(T('kruskal', g) for g in D9)")
    (True, False)
    """
    match parse(text):
        case ast.Call(func=ast.Name(id=name)):
            return name in ("gm", "mean", "median", *_PAIRED)
    return False


def functions() -> tuple[str, ...]:
    """Return the names of all functions."""
    return (*LEAVES, *SCALARS, *AGGREGATES, WHERE_RUN)
