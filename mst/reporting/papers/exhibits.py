"""Exhibits: the tables and figures of the papers, and their numbers.

`report/exhibits.yaml` describes every table and figure as rows, columns and a formula for each column. `fill` works
the formulas out from the printed numbers and from the records of each machine: `Grid` objects, which
`mst.reporting.papers.tables` writes and `mst.reporting.papers.drawing` draws.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from mst import resources
from mst.bench.statistics import FEWEST_PROCESSES
from mst.reporting.papers.claims import Member, document
from mst.reporting.papers.formula import Missing, Names, Source, Unfit, evaluate, text_of
from mst.reporting.papers.observations import Measured, Printed
from mst.units import counted
from mst.yaml_models import StrictModel, parse, read_yaml

As = Literal["seconds", "milliseconds", "ratio", "percent", "count", "rate", "bytes"]
Loop = dict[str, str | tuple[Member, ...]]
OUR_PORT, OUR_PORTS = ", our port", ", our ports"
_ROWS = {"g": "graph", "k": "phase", "p": "threads or processes"}
_ROWS |= {"b": "threads per block", "c": "chunk size", "r": "round"}


class Column(StrictModel):
    """One column: its formula, another formula for the printed numbers if needed, and its unit."""

    quantity: str
    printed: str | None = None
    unit: As | None = Field(None, alias="as")


class Exhibit(StrictModel, strict=False):
    """One table or figure; ``report/exhibits.yaml`` explains the keys."""

    id: str
    number: str
    title: str
    rows: Loop = Field(default_factory=dict)
    panels: Loop = Field(default_factory=dict)
    each: Loop = Field(default_factory=dict, description="columns for every value of a name")
    columns: dict[str, Column] = Field(default_factory=dict)
    means: dict[str, tuple[str, str]] = Field(default_factory=dict)
    printed_means: dict[str, str | dict[str, str]] = Field(default_factory=dict)
    unit: As = Field("ratio", alias="as")
    draw: Literal["table", "bars", "points", "curves", "boxes"] = "table"
    values: Literal["printed", "image", "none"] = "printed"
    static: str | None = None
    machine: str | None = None
    note: str = ""

    @field_validator("columns", mode="before")
    @classmethod
    def _plain(cls, value: Any) -> Any:
        return {k: {"quantity": v} if isinstance(v, str) else v for k, v in value.items()}

    @model_validator(mode="after")
    def _whole(self) -> Exhibit:
        if (self.static is None) == (not self.columns):
            raise ValueError("give columns, or the published table that is shown as it is")
        if self.columns and len(self.rows) != 1:
            raise ValueError("rows must be one name and its set")
        return self

    @property
    def corner(self) -> str:
        """The head of the rows' labels, such as graph, or the label of their axis."""
        (name,) = self.rows
        return _ROWS.get(name, name)


class Exhibits(StrictModel):
    """``report/exhibits.yaml``, by paper."""

    papers: dict[str, list[Exhibit]]


@dataclass(frozen=True)
class Cell:
    """One number of an exhibit, and why it judges no claim; or the reason why there is none.

    `widths` are those that ``@best`` chose. `printed` is the paper's number in its place, if it has another source.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    reason: str = ""
    unfit: bool = False
    objection: str = ""
    graphs: tuple[str, ...] = ()
    stood_in: Mapping[str, str] = field(default_factory=dict)
    widths: tuple[int, ...] = ()
    unit: As = "ratio"
    printed: Cell | None = None


@dataclass(frozen=True)
class Grid:
    """One panel of an exhibit, by its name: rows × columns of cells from one source, ``printed`` or a machine.

    The last `means` rows are means. `marks` says for each row that its graph, or how many of its graphs, are stand-ins.
    `ports` says that the columns of programs have the numbers of our ports of them, and say so.
    """

    panel: str
    source: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[Cell, ...], ...]
    means: int
    marks: tuple[str, ...]
    ports: bool = False

    @property
    def is_printed(self) -> bool:
        """Whether its numbers are the paper's."""
        return self.source == Printed.name

    @property
    def labels(self) -> tuple[str, ...]:
        """The rows as they are shown, with their marks."""
        return tuple(f"{row} ({mark})" if mark else row for row, mark in zip(self.rows, self.marks))

    @property
    def heads(self) -> list[tuple[str, As]]:
        """The columns with their units."""
        return [(column, cell.unit) for column, cell in zip(self.columns, self.cells[0])]

    @property
    def known(self) -> int:
        """The number of cells with a value."""
        return sum(cell.value is not None for row in self.cells for cell in row)

    @property
    def widths(self) -> list[str]:
        """The widths that ``@best`` chose in each column that has it."""
        chosen = [sorted({w for cell in own for w in cell.widths}) for own in zip(*self.cells)]
        return [f"{name} {' and '.join(map(str, own))}" for name, own in zip(self.columns, chosen) if own]

    @property
    def has_ports(self) -> bool:
        """Whether a column of a port has a value."""
        columns = zip(self.columns, zip(*self.cells))
        return any(title.endswith(OUR_PORT) and any(c.value is not None for c in own) for title, own in columns)

    def title(self, before: str = "") -> str:
        """Return the panel's name and where the numbers are from."""
        measured = before + self.source + OUR_PORTS * self.ports
        origin = "as printed" if self.is_printed else measured
        return f"{self.panel}, {origin}" if self.panel else origin

    def with_printed(self, printed: Grid) -> Grid:
        """Return this grid with the printed number in each cell."""
        pairs = (zip(*rows) for rows in zip(self.cells, printed.cells))
        return replace(self, cells=tuple(tuple(replace(c, printed=p) for c, p in row) for row in pairs))


@dataclass(frozen=True)
class Filled:
    """An exhibit with its numbers: the printed grid of each panel, if there is one, and the machines' grids."""

    paper: str
    exhibit: Exhibit
    grids: list[Grid] = field(default_factory=list)

    @property
    def slug(self) -> str:
        """Name of its files."""
        return f"{self.paper}-{self.exhibit.id}"

    @property
    def measured(self) -> list[Grid]:
        """The machines' grids."""
        return [grid for grid in self.grids if not grid.is_printed]

    @property
    def shown(self) -> list[Grid]:
        """The machines' grids, and the printed ones of panels of which nothing was measured."""
        known = {grid.panel for grid in self.measured}
        return [grid for grid in self.grids if not grid.is_printed or grid.panel not in known]


@cache
def exhibits() -> dict[str, list[Exhibit]]:
    """Return every exhibit by paper, or raise `ConfigError` with the place of the error."""
    file = resources.path("report/exhibits.yaml")
    return parse(Exhibits, {"papers": read_yaml(file)}, str(file)).papers


def fill(paper: str, exhibit: Exhibit, sources: Sequence[Measured], names: Names) -> Filled:
    """Work out an exhibit's numbers from a source for each machine; machines without a single number are left out.

    If a column is about programs that are available, it has the numbers of the programs; those of our ports are another
    grid, whose columns say so.
    """
    filled, book = Filled(paper, exhibit), document()
    if exhibit.static:
        return filled
    programs = book.originals if book.papers[paper].judge == "original" else {}
    about = any(_about_programs(column, programs) for column in exhibit.columns.values())
    kinds = (False, True) if about else (False,)
    for bound in _bindings(exhibit.panels, names):
        own = [_grid(exhibit, s, names, bound, programs, ports=ports) for s in sources for ports in kinds]
        measured = _merged([g for g in own if (g.has_ports if g.ports else g.known)])
        if exhibit.values == "printed":
            printed = _grid(exhibit, Printed(paper, exhibit.machine), Names(names.sets), bound, {})
            if printed.known:
                measured = [printed, *(grid.with_printed(printed) for grid in measured)]
        filled.grids.extend(measured)
    return filled


def _merged(grids: Sequence[Grid]) -> list[Grid]:
    """Merge the grids of machines with the same numbers, as the facts of graphs are."""
    merged: dict[tuple, Grid] = {}
    for grid in grids:
        values = (grid.columns, grid.marks, *(tuple(cell.value for cell in row) for row in grid.cells))
        known = merged.get(values)
        merged[values] = replace(known, source=f"{known.source}, {grid.source}") if known else grid
    return list(merged.values())


def _about_programs(column: Column, programs: Mapping[str, str]) -> bool:
    """Return whether a column names a port of an available program."""
    other = (port for port, program in programs.items() if program.split("[")[0] != port.split("[")[0])
    return bool(
        programs and re.search(rf"(?<![\w-])({'|'.join(map(re.escape, other))})(?![\w-])", column.quantity)
    )


def _bindings(loop: Loop, names: Names) -> list[dict[str, Any]]:
    """Return the name of a loop with each of its members, or nothing once if there is no loop."""
    return [{name: m} for name, chosen in loop.items() for m in _members(chosen, names)] or [{}]


def _members(chosen: str | tuple[Member, ...], names: Names) -> tuple[Member, ...]:
    return names.sets[chosen] if isinstance(chosen, str) else chosen


def _grid(
    exhibit: Exhibit,
    source: Measured | Printed,
    names: Names,
    bound: Mapping[str, Any],
    programs: Mapping[str, str],
    *,
    ports: bool = False,
) -> Grid:
    ((name, chosen),) = exhibit.rows.items()
    printed = isinstance(source, Printed)
    columns = {}
    for title, column in exhibit.columns.items():
        available = _about_programs(column, programs)
        origin = source.of_programs(programs) if available and not ports else source
        cell = partial(_cell, origin, names, column.unit or exhibit.unit)
        for extra in _bindings(exhibit.each, names):
            label = title.format(**extra) + OUR_PORT * (available and ports)
            columns[label] = (column, cell, {**bound, **extra})
    rows = []
    for member in _members(chosen, names):
        cells = tuple(
            cell(c.printed if printed and c.printed else c.quantity, {**own, name: member})
            for c, cell, own in columns.values()
        )
        rows.append((text_of(member), cells, _mark(member, cells)))
    for mean, (aggregate, over) in exhibit.means.items():
        stated = exhibit.printed_means.get(mean, {}) if printed else {}
        if isinstance(stated, str):
            cells = tuple(cell(c.quantity, {**own, name: stated}) for c, cell, own in columns.values())
        else:
            cells = tuple(
                cell(stated.get(title, f"{aggregate}({c.quantity} for {name} in {over})"), own, whole=True)
                for title, (c, cell, own) in columns.items()
            )
        rows.append((mean, cells, _mark("", cells)))
    labels, lines, marks = zip(*rows)
    panel = " ".join(map(text_of, bound.values()))
    return Grid(panel, source.name, labels, tuple(columns), lines, len(exhibit.means), marks, ports)


def _mark(member: Any, cells: Sequence[Cell]) -> str:
    stood_in = {graph for cell in cells for graph in cell.stood_in}
    if stood_in and stood_in <= set(member if isinstance(member, tuple) else (member,)):
        return "stand-in"
    return counted(len(stood_in), "stand-in") if stood_in else ""


def _cell(
    source: Source, names: Names, unit: As, formula: str, bound: Mapping[str, Any], *, whole: bool = False
) -> Cell:
    try:
        result = evaluate(formula, source, names, bound, stand_ins=True)
        if whole and result.missing:
            # A mean over a part would be compared with one over all.
            raise Missing(f"{len(result.missing)} missing, the first: {result.missing[0]}")
    except Missing as reason:
        return Cell(reason=str(reason), unfit=isinstance(reason, Unfit), unit=unit)
    varies = result.processes is not None and result.processes >= FEWEST_PROCESSES
    return Cell(
        result.value,
        result.low if varies else None,
        result.high if varies else None,
        objection="; ".join(result.objections[:1]),
        graphs=tuple(result.used),
        stood_in=result.stood_in,
        widths=tuple(sorted({width for of in result.best.values() for width in of.values()})),
        unit=unit,
    )
