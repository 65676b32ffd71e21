"""The language of claims and exhibits: arithmetic over what was measured, a subset of Python's expressions.

::

    gm(T("jucele-cuda", g) / T("ecl-mst-cuda", g) for g in ECL9)
    max(T("boruvka", g) / T(f"cas-boruvka@{p}", g) for g in D9 for p in widths("cas-boruvka", g))

A *selection* says what was run: ``algorithm[option=value,…]@width``. Options that are not named have their
defaults; the width is 1 unless stated, ``@best`` is the fastest width measured, and ``@16+`` takes a run of 16
threads on fewer cores, too.

**Leaves**, whose values come from a `Source`:

==================================  ========================================================================
``T(selection, graph)``             seconds to find the forest (*compute*)
``I(selection, graph)``             seconds to build the own structure (*init*)
``X(selection, graph)``             seconds of copies to the device (*transfer*)
``M(selection, graph)``             arithmetic mean of all raw samples of *compute*
``phase(selection, graph, name)``   seconds of a named phase, from the instrumented run
``share(selection, graph, name)``   that phase over the sum of all
``counter(selection, graph, name)`` what the run counted itself; of a list ``"name[1]"`` is the second,
                                    ``"name[-1]"`` the last, ``"name[mean]"`` the mean
``memory(selection, graph)``        working memory in bytes
``spread(selection, graph)``        standard deviation over mean of the raw samples
``excess(selection, graph)``        weight of the forest over that of the minimum, less 1
``ran(selection, graph)``           1 if it ran and was proved, 0 if it did not fit, failed or was wrong
``wrong(selection, graph)``         records of the selection, whatever their width, that were proved wrong
``widths(selection, graph)``        the widths measured, ascending (to loop over)
``n(g)``, ``m(g)``                  vertices and undirected edges; ``components(g)``, ``degree(g)`` (2m/n)
                                    and ``max_degree(g)`` likewise
``published(table, column, row…)``  a number of ``report/published``, in the unit of its table
==================================  ========================================================================

**Aggregates** over a generator expression or several arguments: ``gm``, ``mean``, ``median``, ``sd``, ``min``,
``max``, ``sum``, and ``fastest``, a minimum that passes over what does not fit the graph; over pairs: ``pearson``,
``spearman``, ``kendall``. ``where_run`` around an aggregate's generator passes over runs that did not fit, failed
or were wrong, too. **Scalars**: ``abs``, ``log2``, ``sqrt``, ``ceil``. Operators: ``+ - * / **`` and comparisons,
which are 1 or 0. Names are sets of graphs, tuples of numbers or loop variables. Nothing else is accepted, and
nothing is ever executed.

Every quantity is an array of `DRAWS` + 1 numbers: the estimate, then bootstrap draws in which each run's process
medians were resampled. Arithmetic on such arrays carries the uncertainty of every run to the result, and a run that
occurs twice is the same draw both times. What is missing inside a generator is left out and told; outside it
nothing is left to compute.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Protocol

import numpy as np

from mst.errors import ConfigError, nearest

DRAWS = 1000
FEWEST_PROCESSES = 3
_SELECTION = re.compile(
    r"(?P<algorithm>[a-z][a-z0-9-]*)(?:\[(?P<options>[^\]]*)\])?(?:@(?P<width>\d+|best)(?P<over>\+)?)?"
)
_MEASURED = ("T", "I", "X", "M", "memory", "spread", "excess", "ran", "wrong")
_NAMED = ("phase", "share", "counter")
_FACTS = ("n", "m", "components", "degree", "max_degree")
LEAVES = (*_MEASURED, *_NAMED, *_FACTS, "widths", "published")
WHERE_RUN = "where_run"
Quantity = np.ndarray


class Missing(Exception):
    """What a formula needs was not measured; the message says what, and why if that is known."""


class Unfit(Missing):
    """It cannot be measured anywhere: the graph is none that the algorithm takes."""


class Failed(Missing):
    """It was run, and gave no forest or a wrong one."""


@dataclass(frozen=True)
class Selection:
    """What was run: an algorithm, the options that differ from its defaults, and the width (0: the best)."""

    algorithm: str
    options: tuple[tuple[str, str], ...] = ()
    width: int = 1
    over: bool = False

    @property
    def what(self) -> str:
        """The selection without its width."""
        options = ",".join(f"{k}={v}" for k, v in self.options)
        return f"{self.algorithm}[{options}]" if options else self.algorithm

    def __str__(self) -> str:
        width = {0: "@best", 1: ""}.get(self.width, f"@{self.width}")
        return self.what + width


@dataclass(frozen=True)
class Leaf:
    """A number that a source gives: its estimate, the process medians behind it, and the record."""

    value: float
    medians: tuple[float, ...] = ()
    record: str | None = None


class Source(Protocol):
    """Where leaves come from: the records of one machine, or the numbers of a paper."""

    @property
    def draws(self) -> int:
        """`DRAWS`, or 0 where nothing varies."""

    def leaf(self, quantity: str, selection: Selection, graph: str, name: str = "") -> Leaf:
        """Return a measured number, or raise `Missing`."""

    def fact(self, name: str, graph: str) -> float:
        """Return a fact of a graph, or raise `Missing`."""

    def widths(self, selection: Selection, graph: str) -> tuple[int, ...]:
        """Return the widths measured, or raise `Missing`."""

    def published(self, table: str, column: str, row: tuple[str, ...]) -> float:
        """Return a published number."""

    def has(self, graph: str) -> bool:
        """Return whether anything is known of the graph."""

    def measured(self, graph: str) -> bool:
        """Return whether anything was measured on the graph, whose facts may come from elsewhere."""


@dataclass(frozen=True)
class Names:
    """What formulas may name: sets of graphs (members with alternatives) and tuples of numbers or words.

    `stand_ins` are no names: for a graph that may not be to be had, what may be measured in its place.
    """

    sets: Mapping[str, tuple[Any, ...]]
    graphs: frozenset[str] = frozenset()
    algorithms: frozenset[str] = frozenset()
    stand_ins: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Result:
    """A formula's value.

    Attributes
    ----------
    value, low, high : float
        The estimate and its 95 % bootstrap interval; both ends are the estimate where nothing varies.
    missing : list of str
        What was left out; the value covers the rest.
    thin : bool
        Some run had fewer than `FEWEST_PROCESSES` processes, so that the interval says nothing.
    records : list of str
        Paths of the records that entered.
    used : list of str
        Graphs that entered; a stand-in under its own name.
    stood_in : dict
        The stand-ins among them, by the names of the graphs that they stand in for.
    failed : list of str
        Runs that failed or were wrong, which `where_run` passed over.
    """

    value: float
    low: float
    high: float
    missing: list[str] = field(default_factory=list)
    thin: bool = False
    records: list[str] = field(default_factory=list)
    used: list[str] = field(default_factory=list)
    stood_in: dict[str, str] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)


@cache
def parse_selection(text: str) -> Selection:
    """Return a selection from its text, or raise `ConfigError`.

    Examples
    --------
    >>> from mst.reporting.papers.formula import parse_selection
    >>> parse_selection("edge-boruvka[fused=true]@16").width
    16
    """
    found = _SELECTION.fullmatch(text)
    if not found:
        raise ConfigError(f"{text!r} is not a selection: write algorithm[option=value,…]@width")
    pairs = [pair.partition("=") for pair in (found["options"] or "").split(",") if pair]
    if any(not separator for _, separator, _ in pairs):
        raise ConfigError(f"{text!r}: options are written name=value")
    width = (
        {None: 1, "best": 0}.get(found["width"]) if found["width"] in (None, "best") else int(found["width"])
    )
    assert width is not None
    options = tuple(sorted((k.strip(), v.strip()) for k, _, v in pairs))
    return Selection(found["algorithm"], options, width, bool(found["over"]))


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
    bound: Mapping[str, Any] | None = None,
    *,
    stand_ins: bool = False,
    thin: bool = True,
) -> Result:
    """Return the value of a formula; raise `Missing` when nothing of it is there.

    Parameters
    ----------
    text : str
    source : Source
    names : Names
    bound : mapping, optional
        Values of names besides those of `names`, such as the row of a table.
    stand_ins : bool
        Take a graph on which nothing was measured from its stand-in, where that was. Printed numbers are looked up
        under the name of the graph itself all the same.
    thin : bool
        Whether runs of fewer than `FEWEST_PROCESSES` processes count; if not, they are missing.
    """
    run = _Evaluation(source, names, names.stand_ins if stand_ins else {}, thin)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = _quantity(run.value(parse(text), dict(bound or {})), text)
    if not np.isfinite(value).all():
        raise Missing("a number of it is zero or not defined")
    low, high = (float(x) for x in np.percentile(value[1:] if len(value) > 1 else value, [2.5, 97.5]))
    return Result(
        float(value[0]),
        low,
        high,
        run.missing,
        run.thin,
        list(dict.fromkeys(run.records)),
        list(dict.fromkeys(run.used)),
        {graph: other for graph, other in run.stood_in.items() if other in run.used},
        list(dict.fromkeys(run.failed)),
    )


class _Evaluation:
    """One walk over a formula's tree."""

    def __init__(self, source: Source, names: Names, stand_ins: Mapping[str, str], thin_counts: bool):
        self.source, self.names, self.stand_ins, self.thin_counts = source, names, stand_ins, thin_counts
        self.size = source.draws + 1
        self.missing: list[str] = []
        self.records: list[str] = []
        self.used: list[str] = []
        self.stood_in: dict[str, str] = {}
        self.failed: list[str] = []
        self.thin = False

    def value(self, node: ast.expr, bound: Mapping[str, Any]) -> Any:
        match node:
            case ast.Constant(value=bool()):
                raise ConfigError("formulas have no True and no False: write 1 or 0")
            case ast.Constant(value=int() | float() as number):
                return np.full(self.size, float(number))
            case ast.Constant(value=str() as word):
                return word
            case ast.JoinedStr(values=parts):
                return "".join(_text(self.value(_inner(part), bound)) for part in parts)
            case ast.Name(id=name):
                if name in bound:
                    return bound[name]
                if name in self.names.sets:
                    return self.names.sets[name]
                raise ConfigError(f"unknown name {name!r}{nearest(name, [*bound, *self.names.sets])}")
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                return tuple(self.value(part, bound) for part in parts)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -_quantity(self.value(operand, bound), operand)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
                return _BINARY[type(op)](*(_quantity(self.value(x, bound), x) for x in (left, right)))
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARE:
                a, b = (_quantity(self.value(x, bound), x) for x in (left, right))
                return _COMPARE[type(op)](a, b).astype(float)
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                return self.call(name, arguments, bound)
        raise ConfigError(f"{ast.unparse(node)!r} is not part of the formula language")

    def call(self, name: str, arguments: Sequence[ast.expr], bound: Mapping[str, Any]) -> Any:
        if name in SCALARS:
            (argument,) = arguments
            return SCALARS[name](_quantity(self.value(argument, bound), argument))
        if name == WHERE_RUN:
            return tuple(self.items(arguments, bound, (Unfit, Failed)))
        if name in AGGREGATES or name in PAIRED:
            items = list(self.items(arguments, bound, (Unfit,) if name == "fastest" else ()))
            if not items:
                raise Missing(_told(self.missing) or f"{name} of nothing")
            if name in PAIRED:
                return PAIRED[name](*(self.stacked([item[k] for item in items], name) for k in (0, 1)))
            return AGGREGATES[name](self.stacked(items, name))
        if name not in LEAVES:
            raise ConfigError(f"no function {name!r}{nearest(name, functions())}")
        return self.leaf(name, [_plain(self.value(a, bound)) for a in arguments])

    def stacked(self, items: Sequence[Any], name: str) -> Quantity:
        return np.stack([np.broadcast_to(_quantity(item, name), self.size) for item in items])

    def leaf(self, name: str, given: list[Any]) -> Any:
        if name == "published":
            table, column, *row = map(_text, given)
            return np.full(self.size, self.source.published(table, column, tuple(row)))
        if name in _FACTS:
            graph = self.graph(given[0])
            value = self.source.fact(name, graph)
            self.used.append(graph)
            return np.full(self.size, value)
        selection, graph = parse_selection(given[0]), self.graph(given[1])
        if name == "widths":
            return tuple(np.full(self.size, float(w)) for w in self.source.widths(selection, graph))
        found = self.source.leaf(name, selection, graph, *given[2:])
        thin = 0 < len(found.medians) < FEWEST_PROCESSES
        if thin and not self.thin_counts:
            raise Missing(f"{selection} on {graph}: fewer than three processes")
        if found.record:
            self.records.append(found.record)
        self.used.append(graph)
        if not found.medians:
            return np.full(self.size, found.value)
        self.thin |= thin
        return _draws(found.value, found.medians, f"{name} {selection} {graph}")

    def graph(self, member: Any) -> str:
        """Return the graph of a set's member: the first of its alternatives that is there, else of their stand-ins."""
        choices = member if isinstance(member, tuple) else (member,)
        here = next((choice for choice in choices if self.source.has(choice)), None)
        for choice in choices:
            other = self.stand_ins.get(choice)
            if other is None or (here is not None and self.source.measured(here)):
                continue
            if self.source.measured(other):
                self.stood_in[choice] = other
                return other
        return choices[0] if here is None else here

    def items(
        self, arguments: Sequence[ast.expr], bound: Mapping[str, Any], passing: tuple[type[Missing], ...]
    ) -> Iterator[Any]:
        if len(arguments) == 1 and isinstance(arguments[0], ast.GeneratorExp):
            yield from self.generated(arguments[0].elt, arguments[0].generators, bound, passing)
            return
        for argument in arguments:
            value = self.value(argument, bound)
            yield from value if isinstance(value, tuple) else (value,)

    def generated(
        self,
        element: ast.expr,
        loops: list[ast.comprehension],
        bound: Mapping[str, Any],
        passing: tuple[type[Missing], ...],
    ) -> Iterator[Any]:
        """Yield the element for every binding of the loops; leave out what is missing, noted unless passed over."""
        try:
            if not loops:
                yield self.value(element, bound)
                return
            first, *rest = loops
            members = self.value(first.iter, bound)
        except Missing as reason:
            if not isinstance(reason, passing):
                self.missing.append(str(reason))
            elif isinstance(reason, Failed):
                self.failed.append(str(reason))
            return
        if not isinstance(first.target, ast.Name) or first.ifs or not isinstance(members, tuple):
            raise ConfigError(f"a loop is written 'for name in SET', not {ast.unparse(first).strip()!r}")
        for member in members:
            yield from self.generated(element, rest, {**bound, first.target.id: member}, passing)


@cache
def _draws(value: float, medians: tuple[float, ...], key: str) -> Quantity:
    # The same run gives the same draws wherever it occurs, different runs independent ones.
    rng = np.random.default_rng(list(key.encode()))
    data = np.asarray(medians)
    resampled = np.median(data[rng.integers(0, len(data), (DRAWS, len(data)))], axis=1)
    return np.concatenate(([value], resampled))


def _told(missing: Sequence[str]) -> str:
    """Return the first two of what is missing, and how many more there are."""
    known = list(dict.fromkeys(missing))
    return "; ".join(known[:2]) + (f"; and {len(known) - 2} more" if len(known) > 2 else "")


def _quantity(value: Any, where: str | ast.expr) -> Quantity:
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, int | float):
        return np.full(1, float(value))
    text = where if isinstance(where, str) else ast.unparse(where)
    raise ConfigError(f"{text}: expected a number, got {value!r}")


def _plain(value: Any) -> Any:
    return float(value[0]) if isinstance(value, np.ndarray) else value


def _text(value: Any) -> str:
    value = _plain(value)
    if isinstance(value, tuple):
        return str(value[0])
    return f"{value:g}" if isinstance(value, float) else str(value)


def _inner(part: ast.expr) -> ast.expr:
    return part.value if isinstance(part, ast.FormattedValue) else part


def _ranks(rows: Quantity) -> Quantity:
    """Return ranks along the first axis, equal values sharing their mean rank."""
    below = (rows[None, :] < rows[:, None]).sum(axis=1)
    equal = (rows[None, :] == rows[:, None]).sum(axis=1)
    return below + (equal - 1) / 2


def _pearson(x: Quantity, y: Quantity) -> Quantity:
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.nan_to_num((x * y).sum(axis=0) / np.sqrt((x * x).sum(axis=0) * (y * y).sum(axis=0)))


def _kendall(x: Quantity, y: Quantity) -> Quantity:
    i, j = np.triu_indices(len(x), 1)
    if not len(i):
        return np.zeros(x.shape[1])
    return (np.sign(x[i] - x[j]) * np.sign(y[i] - y[j])).mean(axis=0)


_BINARY: dict[type, Callable[[Quantity, Quantity], Quantity]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.Pow: np.power,
}
_COMPARE: dict[type, Callable[[Quantity, Quantity], np.ndarray]] = {
    ast.Lt: np.less,
    ast.LtE: np.less_equal,
    ast.Gt: np.greater,
    ast.GtE: np.greater_equal,
    ast.Eq: np.equal,
    ast.NotEq: np.not_equal,
}
SCALARS: dict[str, Callable[[Quantity], Quantity]] = {
    "abs": np.abs,
    "log2": np.log2,
    "sqrt": np.sqrt,
    "ceil": np.ceil,
}
AGGREGATES: dict[str, Callable[[Quantity], Quantity]] = {
    "gm": lambda rows: np.exp(np.log(rows).mean(axis=0)),
    "mean": lambda rows: rows.mean(axis=0),
    "median": lambda rows: np.median(rows, axis=0),
    "sd": lambda rows: rows.std(axis=0, ddof=1) if len(rows) > 1 else np.zeros(rows.shape[1]),
    "min": lambda rows: rows.min(axis=0),
    "max": lambda rows: rows.max(axis=0),
    "fastest": lambda rows: rows.min(axis=0),
    "sum": lambda rows: rows.sum(axis=0),
}
PAIRED: dict[str, Callable[[Quantity, Quantity], Quantity]] = {
    "pearson": _pearson,
    "spearman": lambda x, y: _pearson(_ranks(x), _ranks(y)),
    "kendall": _kendall,
}


def functions() -> tuple[str, ...]:
    """Return the names of all functions."""
    return (*LEAVES, *SCALARS, *AGGREGATES, *PAIRED, WHERE_RUN)


def check(text: str, names: Names, bound: Sequence[str] = ()) -> set[str]:
    """Refuse a formula that names what there is not; return the selections that it names (``{…}`` left open).

    Raises
    ------
    ConfigError
        It does not parse, or names a function, set, graph or algorithm that is unknown.
    """
    found: set[str] = set()
    _check(parse(text), names, frozenset(bound), found)
    return found


def _check(node: ast.AST, names: Names, bound: frozenset[str], found: set[str]) -> None:
    if isinstance(node, ast.GeneratorExp):
        for loop in node.generators:
            _check(loop.iter, names, bound, found)
            if not isinstance(loop.target, ast.Name) or loop.ifs:
                raise ConfigError(f"a loop is written 'for name in SET', not {ast.unparse(loop).strip()!r}")
            bound |= {loop.target.id}
        _check(node.elt, names, bound, found)
        return
    if isinstance(node, ast.Name) and node.id not in bound and node.id not in names.sets:
        raise ConfigError(f"unknown name {node.id!r}{nearest(node.id, [*bound, *names.sets])}")
    if isinstance(node, ast.Call):
        name = getattr(node.func, "id", ast.unparse(node.func))
        if name not in functions() or node.keywords:
            raise ConfigError(f"no function {name!r}{nearest(name, functions())}")
        _check_leaf(name, node.args, names, found)
        for argument in node.args:
            _check(argument, names, bound, found)
        return
    chained = isinstance(node, ast.Compare) and len(node.ops) > 1
    if chained or not isinstance(node, _ACCEPTED) or isinstance(getattr(node, "value", None), bool):
        raise ConfigError(f"{ast.unparse(node)!r} is not part of the formula language")
    for child in ast.iter_child_nodes(node):
        _check(child, names, bound, found)


_ACCEPTED = (
    ast.Constant, ast.JoinedStr, ast.FormattedValue, ast.Name, ast.Load, ast.Tuple, ast.List, ast.UnaryOp, ast.USub,
    ast.BinOp, ast.Compare, *_BINARY, *_COMPARE,
)  # fmt: skip


def _check_leaf(name: str, arguments: Sequence[ast.expr], names: Names, found: set[str]) -> None:
    wanted = 3 if name in _NAMED else 1 if name in _FACTS else 2
    if name in LEAVES and name != "published" and len(arguments) != wanted:
        raise ConfigError(f"{name} takes {wanted} argument{'s' * (wanted > 1)}, got {len(arguments)}")
    if name in (*_MEASURED, *_NAMED, "widths"):
        first = arguments[0]
        text = names.sets.get(first.id) if isinstance(first, ast.Name) else _literal(first)
        if isinstance(text, str) and not text.startswith("{}"):
            selection = parse_selection(re.sub(r"(?<=@)\{\}", "1", text))
            if selection.algorithm not in names.algorithms:
                told = nearest(selection.algorithm, names.algorithms)
                raise ConfigError(f"no algorithm {selection.algorithm!r}{told}")
            found.add(selection.what)
    place = 0 if name in _FACTS else 1
    if name in LEAVES and name != "published":
        graph = _literal(arguments[place])
        if graph is not None and "{}" not in graph and graph not in names.graphs:
            raise ConfigError(f"no graph {graph!r}{nearest(graph, names.graphs)}")


def _literal(node: ast.expr) -> str | None:
    """Return the text of a string, ``{}`` in place of what is put in; None for anything else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return None
