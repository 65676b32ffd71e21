"""An exhibit as pictures: a colour for each column, the marks of `mst.reporting.charts.style` for each source."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mst.reporting.charts.axes import Panel, label_ratios, new_axes, readable, slug
from mst.reporting.charts.style import GREY, LIGHT, mark, published_mark, save
from mst.reporting.papers.exhibits import Cell, Filled, Grid
from mst.reporting.papers.tables import SCALE, kind_of, unit_of

_LOOPS = {"p": "threads or processes", "b": "block or grid size", "c": "chunk size", "r": "round"}
FEWEST = 3
"""Fewest points of a picture."""


def draw(filled: Filled, folder: Path, elsewhere: Collection[str] = ()) -> list[Panel]:
    """Draw every panel of an exhibit, one picture for each machine; not those of fewer than three points.

    A panel without measured numbers is drawn once, from printed ones, if there are any. Numbers of the machines
    `elsewhere` have hollow marks.
    """
    if filled.exhibit.draw == "table":
        return []
    drawn = []
    for panel in filled.panels:
        for grid, beside in panel.shown:
            if grid.known + (beside.known if beside else 0) < FEWEST:
                continue
            name = slug(" ".join(filter(None, (filled.slug, panel.name, grid.source, "ports" * grid.ports))))
            title = panel.title(grid)
            if filled.exhibit.draw == "curves" and any(grid.marks):
                # Its axis has no place for the marks of rows.
                title += " (stand-in)"
            hollow = set(grid.source.split(", ")) <= set(elsewhere)
            axes = _DRAWERS[filled.exhibit.draw](filled, grid, beside, title, hollow)
            if axes is not None:
                drawn.append(Panel(name, save(axes.figure, folder / name)))
    return drawn


def _rows(grid: Grid, rows: Sequence[int], width: float, height: float, title: str) -> Any:
    """Return axes with these rows of a grid from top to bottom."""
    axes = new_axes(width, height, title)
    axes.set_yticks(range(len(rows)), [grid.labels[row] for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    return axes


class _Series(NamedTuple):
    """A column: its colour and mark, and its measured and printed numbers by row, None where there is none."""

    name: str
    colour: str
    look: dict[str, Any]
    here: list[float | None]
    there: list[float | None]


def _series(
    filled: Filled, grid: Grid, printed: Grid | None, rows: Iterable[int], hollow: bool
) -> list[_Series]:
    # Values that are only published have the marks of published ones.
    own, other = (None, grid) if grid.source == "printed" else (grid, printed)

    def numbers(place: int, source: Grid | None) -> list[float | None]:
        column = grid.columns[place]
        return [_scaled(filled, column, source.cells[row][place]) if source else None for row in rows]

    return [
        _Series(name, colour, mark(colour, elsewhere=hollow), numbers(place, own), numbers(place, other))
        for place, name in enumerate(grid.columns)
        for colour in [LIGHT[place % len(LIGHT)]]
    ]


def _legend(axes: Any, below: float) -> None:
    anchor = (0.4, -below / axes.figure.get_size_inches()[1])
    axes.legend(loc="upper center", bbox_to_anchor=anchor, ncol=2, frameon=False, fontsize=8)


def _points(filled: Filled, grid: Grid, printed: Grid | None, title: str, hollow: bool) -> Any:
    """Rows from top to bottom, a marker for each column; a thin line joins printed and measured."""
    rows = _with_numbers(grid, printed)
    axes = _rows(grid, rows, 5.2, 0.27 * len(rows) + 1.3 + 0.17 * len(grid.columns), title)
    series = _series(filled, grid, printed, rows, hollow)
    for one in series:
        for at, (here, there) in enumerate(zip(one.here, one.there)):
            if here is not None and there is not None:
                axes.plot([there, here], [at, at], color=one.colour, linewidth=0.6, alpha=0.6)
            if there is not None:
                axes.plot(there, at, **published_mark(one.colour))
            if here is not None:
                axes.plot(here, at, **one.look, markersize=5)
        axes.plot([], [], color=one.colour, label=one.name, linewidth=3)
    axes.set_xscale("log")
    if known := [v for one in series for v in (*one.here, *one.there) if v is not None and v > 0]:
        axes.set_xlim(min(known) / 1.3, max(known) * 1.3)
        readable(axes.xaxis)
    axes.set_xlabel(_label(filled))
    _legend(axes, 0.9)
    return axes


def _bars(filled: Filled, grid: Grid, printed: Grid | None, title: str, hollow: bool) -> Any:
    """Rows from top to bottom, a bar for each column and a diamond for its printed number."""
    number, rows = len(grid.columns), _with_numbers(grid, printed)
    high = max(1.6, 0.2 * len(rows) * max(number, 1.3) + 1.1 + 0.17 * (number > 1) * number)
    axes = _rows(grid, rows, 4.6, high, title)
    height = 0.8 / number
    for place, one in enumerate(_series(filled, grid, printed, rows, hollow)):
        face = "none" if hollow else one.colour
        for row, (here, there) in enumerate(zip(one.here, one.there)):
            at = row - 0.4 + height * (place + 0.5)
            if here is not None:
                axes.barh(at, here, height * 0.8, facecolor=face, edgecolor=one.colour, linewidth=1.2)
            if there is not None:
                axes.plot(there, at, **published_mark(one.colour))
        axes.barh([0], [0], color=one.colour, label=one.name)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(_label(filled))
    if filled.exhibit.unit == "ratio":
        axes.axvline(1, color=GREY, linewidth=1)
    if number > 1:
        _legend(axes, 0.65)
    return axes


def _curves(filled: Filled, grid: Grid, printed: Grid | None, title: str, hollow: bool) -> Any:
    """Numeric rows along the axis, a line for each column: measured in full, printed dashed."""
    xs = [float(row) for row in grid.rows[: len(grid.rows) - grid.means]]
    axes = new_axes(4.2, 3.0, title)
    for one in _series(filled, grid, printed, range(len(xs)), hollow):
        looks = (
            (one.here, "-", {**one.look, "markersize": 4.5}),
            (one.there, "--", published_mark(one.colour)),
        )
        for ys, style, look in looks:
            if known := [(x, y) for x, y in zip(xs, ys) if y is not None]:
                axes.plot(*zip(*known), color=one.colour, linestyle=style)
                axes.plot(*zip(*known), **look)
        axes.plot([], [], color=one.colour, label=one.name)
    (name,) = filled.exhibit.rows
    if name != "r":
        axes.set_xscale("log", base=2)
    axes.set_xticks(xs, [f"{x:g}" for x in xs])
    if filled.exhibit.unit == "ratio":
        axes.set_yscale("log", base=2)
        axes.axhline(1, color=GREY, linewidth=0.8)
        label_ratios(axes.yaxis)
    else:
        axes.set_ylim(bottom=0)
    axes.minorticks_off()
    axes.set_xlabel(_LOOPS.get(name, name))
    axes.set_ylabel(_label(filled))
    if len(grid.columns) > 1:
        axes.legend(frameon=False, fontsize=8)
    return axes


def _boxes(filled: Filled, grid: Grid, printed: Grid | None, title: str, hollow: bool) -> Any:
    """The columns of a row are a sample: whiskers to its ends, a box over the middle half."""
    rows = []
    for label, cells in zip(grid.labels, grid.cells, strict=True):
        known = [_scaled(filled, c, cell) for c, cell in zip(grid.columns, cells, strict=True)]
        if len(values := [v for v in known if v is not None]) > 2:
            rows.append((label, values))
    if not rows:
        return None
    axes = new_axes(4.6, 0.27 * len(rows) + 1.0, title)
    axes.boxplot(
        [values for _, values in rows],
        orientation="horizontal",
        whis=(0, 100),
        medianprops={"color": LIGHT[1]},
        **{key: {"color": LIGHT[0]} for key in ("boxprops", "whiskerprops", "capprops")},
    )
    axes.set_yticks(range(1, len(rows) + 1), [label for label, _ in rows])
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel(_label(filled))
    return axes


_DRAWERS = {"points": _points, "bars": _bars, "curves": _curves, "boxes": _boxes}


def _with_numbers(grid: Grid, printed: Grid | None) -> list[int]:
    """Return the rows with a measured or printed number; the table has the reasons of the others."""
    grids = [g for g in (grid, printed) if g]
    return [
        row
        for row in range(len(grid.rows))
        if any(_number(cell) is not None for g in grids for cell in g.cells[row])
    ]


def _number(cell: Cell) -> float | None:
    return cell.value if cell.value is not None and math.isfinite(cell.value) else None


def _scaled(filled: Filled, column: str, cell: Cell) -> float | None:
    value = _number(cell)
    return None if value is None else value * SCALE.get(kind_of(filled, column), 1.0)


def _label(filled: Filled) -> str:
    unit = filled.exhibit.unit
    return {"ratio": "ratio", "count": "number", "rate": "per second"}.get(unit, unit_of(unit))
