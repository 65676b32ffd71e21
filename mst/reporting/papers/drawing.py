"""An exhibit as pictures: printed numbers hollow, measured ones filled, one colour for each column."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mst.reporting.charts.axes import Panel, label_ratios, readable, slug
from mst.reporting.charts.style import GREY, LIGHT, save
from mst.reporting.papers.exhibits import Cell, Filled, Grid
from mst.reporting.papers.tables import kind_of, unit_of

_SHAPES = "os^DvPX<>*"
_SCALE = {"milliseconds": 1e3, "percent": 100.0, "bytes": 2**-20}
_LOOPS = {"p": "threads or processes", "b": "block or grid size", "c": "chunk size", "r": "round"}


def draw(filled: Filled, folder: Path) -> list[Panel]:
    """Draw every panel of an exhibit, one picture for each machine.

    A panel without measured numbers is drawn once, from printed ones, if there are any.
    """
    if filled.exhibit.draw == "table":
        return []
    drawn = []
    for panel in filled.panels:
        for grid, beside in panel.shown:
            name = slug(" ".join(filter(None, (filled.slug, panel.name, grid.source))))
            title = panel.title(grid)
            if filled.exhibit.draw == "curves" and any(grid.marks):
                # Its axis has no place for the marks of rows.
                title += " (stand-in)"
            figure = _DRAWERS[filled.exhibit.draw](filled, grid, beside, title)
            if figure is not None:
                drawn.append(Panel(name, save(figure, folder / name)))
    return drawn


def _axes(width: float, height: float, title: str) -> tuple[Any, Any]:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(width, height))
    axes.set_title(title)
    return figure, axes


def _points(filled: Filled, grid: Grid, printed: Grid | None, title: str) -> Any:
    """Rows from top to bottom, a marker for each column; a thin line joins printed and measured."""
    rows = _with_numbers(grid, printed)
    figure, axes = _axes(5.2, 0.27 * len(rows) + 1.3 + 0.17 * len(grid.columns), title)
    for place, column in enumerate(grid.columns):
        colour, shape = LIGHT[place % len(LIGHT)], _SHAPES[place % len(_SHAPES)]
        for at, row in enumerate(rows):
            here = _scaled(filled, column, grid.cells[row][place])
            there = _scaled(filled, column, printed.cells[row][place]) if printed else None
            if here is not None and there is not None:
                axes.plot([there, here], [at, at], color=colour, linewidth=0.6, alpha=0.6)
            if there is not None:
                axes.plot(there, at, shape, color=colour, markerfacecolor="none", markersize=5)
            if here is not None:
                axes.plot(here, at, shape, color=colour, markersize=5)
        axes.plot([], [], shape, color=colour, markersize=5, label=column)
    axes.set_yticks(range(len(rows)), [grid.labels[row] for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    _logarithmic(axes.xaxis, filled, grid, printed)
    axes.set_xlabel(_label(filled))
    axes.legend(
        loc="upper center",
        bbox_to_anchor=(0.4, -0.9 / figure.get_size_inches()[1]),
        ncol=2,
        frameon=False,
        fontsize=8,
    )
    return figure


def _bars(filled: Filled, grid: Grid, printed: Grid | None, title: str) -> Any:
    """Rows from top to bottom, a bar for each column and an outline for its printed number."""
    number, rows = len(grid.columns), _with_numbers(grid, printed)
    height = 0.8 / number
    figure, axes = _axes(
        4.6, max(1.6, 0.2 * len(rows) * max(number, 1.3) + 1.1 + 0.17 * (number > 1) * number), title
    )
    for place, column in enumerate(grid.columns):
        colour = LIGHT[place % len(LIGHT)]
        for i, row in enumerate(rows):
            at = i - 0.4 + height * (place + 0.5)
            here = _scaled(filled, column, grid.cells[row][place])
            there = _scaled(filled, column, printed.cells[row][place]) if printed else None
            if here is not None:
                axes.barh(at, here, height * 0.9, color=colour)
            if there is not None:
                axes.barh(
                    at, there, height * 0.9, facecolor="none", edgecolor=GREY, linewidth=1, linestyle="--"
                )
        axes.barh([0], [0], color=colour, label=column)
    axes.set_yticks(range(len(rows)), [grid.labels[row] for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(_label(filled))
    if filled.exhibit.unit == "ratio":
        axes.axvline(1, color=GREY, linewidth=1)
    if number > 1:
        axes.legend(
            loc="upper center",
            bbox_to_anchor=(0.4, -0.65 / figure.get_size_inches()[1]),
            ncol=2,
            frameon=False,
            fontsize=8,
        )
    return figure


def _curves(filled: Filled, grid: Grid, printed: Grid | None, title: str) -> Any:
    """Numeric rows along the axis, a line for each column: measured in full, printed dashed."""
    xs = [float(row) for row in grid.rows[: len(grid.rows) - grid.means]]
    figure, axes = _axes(4.2, 3.0, title)
    for place, column in enumerate(grid.columns):
        colour = LIGHT[place % len(LIGHT)]
        for source, style, face in ((grid, "-", colour), (printed, "--", "none")):
            if source is None:
                continue
            ys = [_scaled(filled, column, source.cells[i][place]) for i in range(len(xs))]
            known = [(x, y) for x, y in zip(xs, ys, strict=True) if y is not None]
            if known:
                axes.plot(
                    *zip(*known, strict=True),
                    style,
                    marker="o",
                    markersize=4,
                    color=colour,
                    markerfacecolor=face,
                )
        axes.plot([], [], color=colour, label=column)
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
    return figure


def _boxes(filled: Filled, grid: Grid, printed: Grid | None, title: str) -> Any:
    """The columns of a row are a sample: whiskers to its ends, a box over the middle half."""
    rows = []
    for label, cells in zip(grid.labels, grid.cells, strict=True):
        known = [_scaled(filled, c, cell) for c, cell in zip(grid.columns, cells, strict=True)]
        values = [v for v in known if v is not None]
        if len(values) > 2:
            rows.append((label, values))
    if not rows:
        return None
    figure, axes = _axes(4.6, 0.27 * len(rows) + 1.0, title)
    axes.boxplot(
        [values for _, values in rows],
        orientation="horizontal",
        whis=(0, 100),
        medianprops={"color": LIGHT[1]},
        boxprops={"color": LIGHT[0]},
        whiskerprops={"color": LIGHT[0]},
        capprops={"color": LIGHT[0]},
    )
    axes.set_yticks(range(1, len(rows) + 1), [label for label, _ in rows])
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel(_label(filled))
    return figure


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
    return None if value is None else value * _SCALE.get(kind_of(filled, column), 1.0)


def _label(filled: Filled) -> str:
    unit = filled.exhibit.unit
    return {"ratio": "ratio", "count": "number", "rate": "per second"}.get(unit, unit_of(unit))


def _logarithmic(axis: Any, filled: Filled, grid: Grid, printed: Grid | None) -> None:
    grids: Sequence[Grid] = [g for g in (grid, printed) if g]
    values = [
        _scaled(filled, c, cell)
        for g in grids
        for row in g.cells
        for c, cell in zip(g.columns, row, strict=True)
    ]
    known = [v for v in values if v is not None and v > 0]
    axis.axes.set_xscale("log")
    if known:
        axis.axes.set_xlim(min(known) / 1.3, max(known) * 1.3)
        readable(axis)
