"""Shared parts of figures: the figure itself, readable logarithmic axes, names at the ends of lines."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from mst.reporting.charts.style import save
from mst.units import prefixed

_FEWEST_LABELS = 3  # with fewer labels no value can be read off a logarithmic axis

_STEPS = ((1.0,), (1.0, 3.0), (1.0, 2.0, 5.0), (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0))
"""Labelled steps of a decade, the coarsest first."""


class Panel(NamedTuple):
    """One picture of a figure: the stem of its files, and its SVG for the page."""

    name: str
    svg: str


@dataclass(frozen=True)
class Figure:
    """A figure of the page: the stem of its files, whose CSV has its numbers, and its pictures.

    The title is for the page, `alt` for screen readers, `short` for the navigation; the note says which of its numbers
    are not drawn.
    """

    name: str
    title: str
    alt: str
    panels: list[Panel]
    short: str
    note: str = ""


def new_axes(width: float, height: float) -> Any:
    """Return the axes of a new figure of this size, in inches."""
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(width, height))[1]


def finished(axes: Any, file: Path, *, title: str = "", **labels: str) -> Panel:
    """Set the labels of axes, write their figure as SVG and PDF, and return the panel; `file` has no suffix."""
    from matplotlib.ticker import ScalarFormatter

    axes.set(**labels)
    # Only a power of ten above the axis would push a title up: matplotlib looks for one several times.
    axes.set_title(title, y=None if isinstance(axes.yaxis.get_major_formatter(), ScalarFormatter) else 1.0)
    return Panel(file.name, save(axes.figure, file, title))


class End(NamedTuple):
    """The end of a line, and the name that belongs there."""

    name: str
    x: float
    y: float
    colour: str


def name_ends(axes: Any, ends: Sequence[End]) -> None:
    """Write each line's name to the right of the axes, without overlaps, joined to its end by a thin line."""
    axes.autoscale_view()
    height = axes.get_window_extent().height
    step = 11 * axes.figure.dpi / 72
    lowest = axes.transAxes.transform((0, 0))[1]
    at = {end: axes.transData.transform((end.x, end.y))[1] - lowest for end in ends}
    ordered = sorted(ends, key=lambda end: at[end])
    placed: list[float] = []
    for end in ordered:
        placed.append(max(at[end], placed[-1] + step if placed else 0.0))
    overflow = max(0.0, placed[-1] - height) if placed else 0.0
    for end, place in zip(ordered, placed, strict=True):
        axes.annotate(
            end.name,
            xy=(end.x, end.y),
            xycoords="data",
            xytext=(1.03, (place - overflow) / height),
            textcoords="axes fraction",
            va="center",
            fontsize=8.5,
            arrowprops={"arrowstyle": "-", "color": end.colour, "linewidth": 0.6, "alpha": 0.6, "shrinkB": 3},
        )


def readable(axis: Any) -> None:
    """Label a logarithmic axis in at least three places, by the coarsest steps of a decade that give as many.

    The steps of one level are about equally far apart, so that few labels do not overlap.
    """
    from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

    low, high = sorted(axis.get_view_interval())
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in _STEPS:
        if sum(low <= step * 10.0**decade <= high for decade in decades for step in steps) >= _FEWEST_LABELS:
            axis.set_major_locator(LogLocator(10, subs=steps, numticks=12))
            break
    else:
        axis.set_major_locator(MaxNLocator(4))
    axis.set_major_formatter(lambda value, _: prefixed(value, 6) if value >= 1e-4 else f"{value * 1e6:g} µ")
    axis.set_minor_locator(NullLocator())


def label_ratios(axis: Any) -> None:
    """Label an axis of ratios at powers of two, or, if too few of them are in view, as any other."""
    low, high = sorted(axis.get_view_interval())
    if math.floor(math.log2(high)) - math.ceil(math.log2(low)) + 1 < _FEWEST_LABELS:
        readable(axis)
    else:
        axis.set_major_formatter(lambda value, _: f"{value:g}")


def slug(text: str) -> str:
    """Return a text as the name of a file: letters, digits and dashes."""
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-").lower()
