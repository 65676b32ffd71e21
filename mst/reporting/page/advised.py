"""The table of advice for reading: the algorithm to use on some hardware, for graphs of some density and size.

Every entry is an answer of `mst.advice` at a size of its table; neighbouring sizes with one answer are joined. Even
degrees and random weights come first, then the kinds of graph that have other answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from mst.advice import Candidate, Choice, Table
from mst.advice.traits import DEGREES, SKEWED, WEIGHTS
from mst.units import count

COMPLETE = 0.45
"""Edges over squared vertices of a graph that has nine tenths of all pairs."""

DENSITIES = (1.5, 4.0, 16.0, 100.0, None)
"""Edges a vertex; None is nearly complete."""

Sizes = dict[int, Choice]


@dataclass(frozen=True)
class Range:
    """One answer for neighbouring sizes: in words, with the range of its margins over the next best algorithm.

    `place` is empty where the hardware leaves no choice, `margin` where there is no other algorithm.
    """

    edges: str
    algorithm: str
    place: str
    margin: str


@dataclass(frozen=True)
class Row:
    """Answers for one kind of graph, by size."""

    name: str
    ranges: list[Range]


@dataclass(frozen=True)
class Panel:
    """Answers for some hardware: `rows` by density, and, by kind of graph, those `others` that the kind changes."""

    hardware: str
    rows: list[Row]
    others: dict[str, list[Row]]


def panels(table: Table) -> list[Panel]:
    """Return a panel for each hardware that the table tells apart, at both ends of its widths."""
    sizes = sorted({cell["m"] for cell in table.cells})
    return [_panel(table, sizes, *setting) for setting in settings(table)] if sizes else []


def settings(table: Table) -> list[tuple[str, int, str | None]]:
    """Return hardware in words, cores, and where the graph lies if there is a GPU."""
    cores = max(table.widths, default=1)
    places = {Candidate.parse(name).gpu for cell in table.cells for name in cell["times"]}
    found: list[tuple[str, int, str | None]] = [("One core", 1, None)]
    if cores > 1:
        found.append((f"{cores} cores", cores, None))
    if "host" in places:
        found.append((f"{cores} cores and a GPU, the graph in host memory", cores, "host"))
    if "device" in places:
        found.append(("A GPU, the graph and the forest on it", 1, "device"))
    return found


def _panel(table: Table, sizes: Sequence[int], hardware: str, cores: int, gpu: str | None) -> Panel:
    def answered(density: float | None, degrees: str, weights: str) -> Sizes:
        vertices = {m: round(m / density if density else (m / COMPLETE) ** 0.5) for m in sizes}
        return {
            m: table.choose(n, m, skew=SKEWED * (degrees == DEGREES[1]), weights=weights, width=cores, gpu=gpu)
            for m, n in vertices.items()
            if n * (n - 1) // 2 >= m
        }

    apart = cores > 1 or gpu == "host"
    usual: list[tuple[str, Sizes]] = []
    others: dict[str, list[tuple[str, Sizes]]] = {}
    for density in DENSITIES:
        name = "nearly complete" if density is None else f"{density:g}"
        answers = {(d, w): answered(density, d, w) for d in DEGREES for w in WEIGHTS}
        usual.append((name, answers[DEGREES[0], WEIGHTS[0]]))
        for (degrees, weights), own in answers.items():
            # Skewed degrees are compared with even ones of the same weights, and these with random weights.
            than = (DEGREES[0], weights if degrees == DEGREES[1] else WEIGHTS[0])
            if different := {
                m: choice
                for m, choice in own.items()
                if _answer(choice) != _answer(answers[than][m]) and f"{degrees} {weights}" in choice.kinds
            }:
                others.setdefault(kind_in_words(degrees, weights), []).append((name, different))

    def rows(joined: list[tuple[str, Sizes]]) -> list[Row]:
        return [Row(name, _ranges(own, sizes, apart)) for name, own in joined]

    changed = {kind: rows(_joined(others[kind], _equal)) for kind in sorted(others)}
    return Panel(hardware, rows(_joined(usual, _agree)), changed)


def kind_in_words(degrees: str, weights: str) -> str:
    """Return a kind of graph in words, without the usual random weights and even degrees.

    Examples
    --------
    >>> from mst.reporting.page.advised import kind_in_words
    >>> kind_in_words("even", "few"), kind_in_words("skewed", "random"), kind_in_words("skewed", "equal")
    ('few weights', 'skewed degrees', 'equal weights and skewed degrees')
    """
    words = [f"{weights} weights"] * (weights != WEIGHTS[0]) + ["skewed degrees"] * (degrees == DEGREES[1])
    return " and ".join(words)


def _answer(choice: Choice) -> tuple:
    return choice.algorithm, *sorted(choice.options.items()), choice.gpu, choice.width


def _joined(rows: Iterable[tuple[str, Sizes]], same: Callable[[Sizes, Sizes], bool]) -> list[tuple[str, Sizes]]:
    """Return neighbouring densities with the same answers as one."""
    joined: list[tuple[list[str], list[Sizes]]] = []
    for name, own in rows:
        if not own:
            continue
        if joined and all(same(own, before) for before in joined[-1][1]):
            joined[-1][0].append(name)
            joined[-1][1].append(own)
        else:
            joined.append(([name], [own]))
    return [(" to ".join(dict.fromkeys((names[0], names[-1]))), _closest(parts)) for names, parts in joined]


def _agree(one: Sizes, other: Sizes) -> bool:
    """Whether answers are the same at the sizes that both densities can have."""
    return all(_answer(one[m]) == _answer(other[m]) for m in one.keys() & other.keys())


def _equal(one: Sizes, other: Sizes) -> bool:
    return one.keys() == other.keys() and _agree(one, other)


def _span(margins: Sequence[float]) -> str:
    """Return the least and the greatest ratio, to two digits.

    Examples
    --------
    >>> from mst.reporting.page.advised import _span
    >>> _span([1.04, 12.3]), _span([2.0]), _span([])
    ('1.0–12×', '2.0×', '')
    """
    ends = [min(margins), max(margins)] if margins else []
    texts = [f"{ratio:.1f}" if ratio < 10 else f"{ratio:.0f}" for ratio in ends]
    return "–".join(dict.fromkeys(texts)) + "×" * bool(texts)


def _closest(parts: Sequence[Sizes]) -> Sizes:
    """Return at each size the choice with the least margin."""
    sizes = sorted(set().union(*parts))
    return {m: min((own[m] for own in parts if m in own), key=lambda c: c.margin or 0.0) for m in sizes}


def _ranges(own: Sizes, sizes: Sequence[int], apart: bool) -> list[Range]:
    """Return runs of neighbouring sizes with one answer."""
    at = {m: place for place, m in enumerate(sizes)}
    runs = groupby(enumerate(sorted(own)), lambda it: (at[it[1]] - it[0], _answer(own[it[1]])))
    ranges = []
    for _, run in runs:
        here = [m for _, m in run]
        choice = own[here[0]]
        options = "".join(f" {k}={_text(v)}" for k, v in choice.options.items())
        margins = [margin for m in here if (margin := own[m].margin) is not None]
        ranges.append(
            Range(
                _edges(here, sizes), choice.algorithm + options, _place(choice) if apart else "", _span(margins)
            )
        )
    return ranges


def _edges(here: Sequence[int], sizes: Sequence[int]) -> str:
    first, last = (count(m).replace(" ", "\u00a0") for m in (here[0], here[-1]))
    if here[0] == sizes[0]:
        return "any" if here[-1] == sizes[-1] else f"up to {last}"
    if here[-1] == sizes[-1]:
        return f"from {first}"
    return first if len(here) == 1 else f"{first} to {last}"


def _place(choice: Choice) -> str:
    if choice.gpu:
        return "GPU"
    return f"{choice.width}\u00a0cores" if choice.width > 1 else "1\u00a0core"


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
