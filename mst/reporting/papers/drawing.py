"""An exhibit as pictures: a colour for each column, the marks of `mst.reporting.charts.style` for each source."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from mst.reporting.charts.axes import Panel, finished, label_ratios, new_axes, readable, slug
from mst.reporting.charts.style import GREY, LIGHT, mark, published_mark
from mst.reporting.papers.exhibits import Cell, Exhibit, Filled
from mst.reporting.papers.tables import SCALE, UNITS

_LABELS = {"milliseconds": "time (ms)", "rate": "arcs per second", "ratio": "speedup", "count": "number"}
FEWEST = 3  # fewest points of a picture


class _Numbers(NamedTuple):
    """The measured and the printed numbers of a picture by row and column, NaN if there is none."""

    here: pd.DataFrame
    there: pd.DataFrame
    hollow: bool

    def series(self) -> Iterator[tuple[str, str, dict[str, Any], pd.Series, pd.Series]]:
        """Yield each column that has numbers with its colour, the look of its mark, measured and printed numbers."""
        for place, name in enumerate(self.here):
            here, there = self.here[name], self.there[name]
            if here.notna().any() or there.notna().any():
                colour = LIGHT[place % len(LIGHT)]
                yield name, colour, mark(colour, elsewhere=self.hollow), here, there


def draw(filled: Filled, folder: Path, elsewhere: Collection[str] = ()) -> list[Panel]:
    """Draw every panel of an exhibit, one picture for each machine; none of fewer than three points or level lines.

    A panel without measured numbers is drawn once, from printed ones, if there are any. Numbers of the machines
    `elsewhere` have hollow marks.
    """
    exhibit, drawn = filled.exhibit, []
    for grid in filled.shown if exhibit.draw != "table" else ():
        # The axis of curves has no place for the marks of rows.
        curves = exhibit.draw == "curves"
        cells = pd.DataFrame(grid.cells, grid.rows if curves else grid.labels, grid.columns)
        numbers = _numbers(cells, grid.is_printed, {*grid.source.split(", ")} <= {*elsewhere})
        both = pd.concat((numbers.here, numbers.there), axis=1)
        level = curves and numbers.here.count().min() == 0 and both.nunique().max() < 2
        if level or both.count().sum() < FEWEST:
            continue
        axes = _DRAWERS[exhibit.draw](exhibit, numbers)
        if axes is not None:
            name = (filled.slug, grid.panel, grid.source, "ports" * grid.ports)
            title = grid.title() + " (stand-in)" * (curves and any(grid.marks))
            drawn.append(finished(axes, folder / slug(" ".join(filter(None, name))), title=title))
    return drawn


def _numbers(cells: pd.DataFrame, is_printed: bool, hollow: bool) -> _Numbers:
    def scaled(cell: Cell | None) -> float:
        return np.nan if cell is None or cell.value is None else cell.value * SCALE.get(cell.unit, 1.0)

    if is_printed:
        # Values that are only published have the marks of published ones.
        return _Numbers(cells.map(lambda _: np.nan), cells.map(scaled), hollow)
    return _Numbers(cells.map(scaled), cells.map(lambda cell: scaled(cell.printed)), hollow)


def _with_numbers(numbers: _Numbers) -> _Numbers:
    """Return the rows with a measured or printed number; the table has the reasons of the others."""
    known = (numbers.here.notna() | numbers.there.notna()).any(axis=1)
    return numbers._replace(here=numbers.here[known], there=numbers.there[known])


def _rows(labels: pd.Index, width: float, height: float) -> Any:
    """Return axes with rows from top to bottom."""
    axes = new_axes(width, height)
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    return axes


def _legend(axes: Any, below: float) -> None:
    anchor = (0.4, -below / axes.figure.get_size_inches()[1])
    axes.legend(loc="upper center", bbox_to_anchor=anchor, ncol=2, frameon=False, fontsize=8)


def _points(exhibit: Exhibit, numbers: _Numbers) -> Any:
    """Rows from top to bottom, a marker for each column; a thin line joins printed and measured."""
    numbers = _with_numbers(numbers)
    labels, places = numbers.here.index, range(len(numbers.here))
    axes = _rows(labels, 5.2, 0.27 * len(labels) + 1.3 + 0.17 * numbers.here.shape[1])
    for name, colour, look, here, there in numbers.series():
        axes.plot([there, here], [places, places], color=colour, linewidth=0.6, alpha=0.6)
        axes.plot(there, places, **published_mark(colour))
        axes.plot(here, places, **look, markersize=5)
        axes.plot([], [], color=colour, label=name, linewidth=3)
    axes.set_xscale("log")
    every = pd.concat((numbers.here, numbers.there)).stack()
    if (every > 0).any():
        axes.set_xlim(every[every > 0].min() / 1.3, every[every > 0].max() * 1.3)
        readable(axes.xaxis)
    axes.set_xlabel(_label(exhibit))
    _legend(axes, 0.9)
    return axes


def _bars(exhibit: Exhibit, numbers: _Numbers) -> Any:
    """Rows from top to bottom, a bar for each column and a diamond for its printed number."""
    numbers = _with_numbers(numbers)
    series = list(numbers.series())
    rows, columns = len(numbers.here), len(series)
    high = max(1.6, 0.2 * rows * max(columns, 1.3) + 1.1 + 0.17 * columns)
    axes = _rows(numbers.here.index, 4.6, high)
    height = 0.8 / columns
    for place, (name, colour, _, here, there) in enumerate(series):
        at = np.arange(rows) - 0.4 + height * (place + 0.5)
        face = "none" if numbers.hollow else colour
        known = here.notna()
        axes.barh(at[known], here[known], height * 0.8, facecolor=face, edgecolor=colour, linewidth=1.2)
        axes.plot(there, at, **published_mark(colour))
        axes.barh([0], [0], color=colour, label=name)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(_label(exhibit))
    if exhibit.unit == "ratio":
        axes.axvline(1, color=GREY, linewidth=1)
    if numbers.here.shape[1] > 1:
        _legend(axes, 0.65)
    return axes


def _curves(exhibit: Exhibit, numbers: _Numbers) -> Any:
    """Numeric rows along the axis, a line for each column: measured in full, printed dashed."""
    axes = new_axes(4.2, 3.0)
    xs = [float(label) for label in numbers.here.index]
    for name, colour, look, here, there in numbers.series():
        looks = ((here, "-", {**look, "markersize": 4.5}), (there, "--", published_mark(colour)))
        for ys, style, marks in looks:
            known = pd.Series(ys.to_numpy(), xs).dropna()
            if len(known):
                axes.plot(known, color=colour, linestyle=style)
                axes.plot(known, **marks)
        axes.plot([], [], color=colour, label=name)
    if "r" not in exhibit.rows:  # Rounds are counted one by one.
        axes.set_xscale("log", base=2)
    axes.set_xticks(xs, [f"{x:g}" for x in xs])
    if exhibit.unit == "ratio":
        axes.set_yscale("log", base=2)
        axes.axhline(1, color=GREY, linewidth=0.8)
        label_ratios(axes.yaxis)
    else:
        axes.set_ylim(0, 1.05 * axes.get_ylim()[1])
    axes.minorticks_off()
    axes.set_xlabel(exhibit.corner)
    axes.set_ylabel(_label(exhibit))
    if numbers.here.shape[1] > 1:
        _legend(axes, 0.65)
    return axes


def _boxes(exhibit: Exhibit, numbers: _Numbers) -> Any:
    """The columns of a row are a sample: whiskers to its ends, a box over the middle half."""
    rows = numbers.here[numbers.here.count(axis=1) > 2]
    if rows.empty:
        return None
    axes = new_axes(4.6, 0.27 * len(rows) + 1.0)
    axes.boxplot(
        [row.dropna() for _, row in rows.iterrows()],
        orientation="horizontal",
        whis=(0, 100),
        medianprops={"color": LIGHT[1]},
        **{key: {"color": LIGHT[0]} for key in ("boxprops", "whiskerprops", "capprops")},
    )
    axes.set_yticks(range(1, len(rows) + 1), rows.index)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel(_label(exhibit))
    return axes


_DRAWERS = {"points": _points, "bars": _bars, "curves": _curves, "boxes": _boxes}


def _label(exhibit: Exhibit) -> str:
    return {**UNITS, **_LABELS}[exhibit.unit]
