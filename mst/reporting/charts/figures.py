"""Figures of the report, drawn once, as SVG for the page and as SVG, PDF and CSV beside it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from mst.bench.statistics import geometric_mean
from mst.reporting.charts.painters import Paint, Task, one_by_one
from mst.reporting.charts.style import DASHES, MARKERS, colours, places, save
from mst.reporting.data import by_machine, machines_of, order_of_series, telling

MOST_TIMES = 16
"""Panels of times on the page; the explorer has the others."""

MOST_SERIES = 40
"""Rows of a panel that has one for each series; where there are more, each algorithm has one."""

MOST_LINES = 12
"""Lines of a panel: more cannot be told apart."""

_FEWEST_LABELS = 3
"""On a logarithmic axis: from fewer, no value can be read."""

_STEPS = ((1.0,), (1.0, 3.0), (1.0, 2.0, 5.0), (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0))
"""Of a decade, the coarsest first."""


@dataclass(frozen=True)
class Figure:
    """A figure of the page.

    Attributes
    ----------
    name : str
        Names its files in the folder of figures.
    short, title, alt : str
        For the navigation, for people who see it and for those who do not.
    panels : tuple of (str, str)
        File name and SVG of each panel.
    csv : str
        File name of its numbers.
    note : str
        What of these numbers is not drawn.
    """

    name: str
    title: str
    alt: str
    panels: tuple[tuple[str, str], ...]
    csv: str
    short: str
    note: str = ""


def draw_all(rows: pd.DataFrame, folder: Path, baseline: str, paint: Paint = one_by_one) -> list[Figure]:
    """Draw every figure for which there are numbers, from prepared rows (`mst.reporting.data.prepare`)."""
    from mst.reporting.charts.landscape import landscape

    shown = rows[rows["shown"]]
    if not len(shown):
        return []
    tasks: list[Task] = [
        partial(landscape, shown, folder),
        partial(_times, shown, folder),
        partial(
            _per_series,
            shown,
            folder,
            "throughput",
            "edges_per_second",
            "Throughput",
            "undirected edges per second (one dot a graph, bar: geometric mean)",
        ),
        partial(
            _per_series,
            shown[shown["algorithm"] != baseline],
            folder,
            "speedup",
            "speedup",
            f"Speedup over {baseline}",
            f"time of {baseline} over time (one dot a graph, bar: geometric mean)",
            reference=1.0,
        ),
        partial(_self_speedup, shown, folder),
        partial(
            _per_series,
            shown[shown["bytes_per_edge"] > 0],
            folder,
            "memory",
            "bytes_per_edge",
            "Working memory",
            "peak resident bytes per edge beyond the input (one dot a graph, bar: geometric mean)",
        ),
        partial(_scaling, shown, folder, baseline),
        partial(
            _per_series,
            shown[shown["energy_joules"].notna()],
            folder,
            "energy",
            "nanojoules_per_edge",
            "Energy",
            "nanojoules per edge (one dot a graph, bar: geometric mean)",
        ),
    ]
    return [figure for figure in paint(tasks) if figure is not None]


def _times(shown: pd.DataFrame, folder: Path) -> Figure:
    """Time of every series on each graph: a panel for each machine and graph, the same order in all."""
    palette = colours(sorted(shown["algorithm"].unique()))
    panels = []
    several = shown["machine"].nunique() > 1
    orders = {machine: order_of_series(own) for machine, own in by_machine(shown)}
    for (machine, graph), group in _few(*_here_and_elsewhere(shown)):
        order = [s for s in orders[machine] if s in set(group["series"])]
        title = f"{graph}\n{_count(group['n'].iloc[0])} vertices, {_count(group['m'].iloc[0])} edges"
        title += f", {machine}" if several else ""
        name = slug(f"time-{machine}-{graph}")
        svg = _dots(group, order, "compute_seconds", palette, "seconds", title, _intervals, folder, name)
        panels.append((name, svg))
    columns = [
        "machine",
        "graph",
        "n",
        "m",
        "series",
        "compute_seconds",
        "compute_low",
        "compute_high",
        "grade",
    ]
    shown[columns].to_csv(folder / "time.csv", index=False)
    alt = (
        "Time of each algorithm on each graph, medians with intervals, logarithmic; the table has the numbers."
    )
    return Figure("time", "Time to find the forest", alt, tuple(panels), "time.csv", "Time")


def _dots(
    group: pd.DataFrame,
    order: list[str],
    value: str,
    palette: dict[str, str],
    label: str,
    title: str,
    decorate: Callable,
    folder: Path,
    name: str,
    reference: float | None = None,
) -> str:
    """Draw one row of dots for each series; `decorate` adds intervals or means."""
    import matplotlib.pyplot as plt
    import seaborn as sns

    figure, axes = plt.subplots(figsize=(4.6, 0.235 * len(order) + 0.95))
    axes.set_xscale("log")
    places = {series: i for i, series in enumerate(order)}
    if reference is not None:
        axes.axvline(reference, color="#7A7A7A", linewidth=1, linestyle=(0, (4, 3)))
    sns.scatterplot(
        data=group.assign(place=group["series"].map(places)),
        x=value,
        y="place",
        hue="algorithm",
        palette=palette,
        style="paradigm",
        markers={p: MARKERS[p] for p in group["paradigm"].unique()},
        s=30,
        linewidth=0,
        alpha=0.9,
        legend=False,
        zorder=3,
        ax=axes,
    )
    decorate(axes, group, value, places, palette)
    axes.set_yticks(range(len(order)), order)
    axes.set_ylim(len(order) - 0.4, -0.6)
    axes.set_xlabel(label)
    axes.set_ylabel("")
    axes.set_title(title)
    axes.grid(axis="y", visible=False)
    readable(axes.xaxis)
    return save(figure, folder, name)


def _intervals(axes, group: pd.DataFrame, value: str, places: dict[str, int], palette: dict[str, str]) -> None:
    axes.hlines(
        group["series"].map(places),
        group["compute_low"],
        group["compute_high"],
        colors=group["algorithm"].map(palette),
        linewidth=2,
        alpha=0.5,
        zorder=2,
    )


def _means(axes, group: pd.DataFrame, value: str, places: dict[str, int], palette: dict[str, str]) -> None:
    for series, rows in group.groupby("series"):
        place, mean = places[series], geometric_mean(rows[value])
        colour = palette[rows["algorithm"].iloc[0]]
        axes.plot([mean, mean], [place - 0.36, place + 0.36], color=colour, linewidth=2.4, zorder=4)


def _per_series(
    shown: pd.DataFrame,
    folder: Path,
    name: str,
    value: str,
    title: str,
    label: str,
    reference: float | None = None,
) -> Figure | None:
    """One panel for each machine: a row for each series, a dot for each graph, a bar at the geometric mean."""
    shown = shown[shown[value].notna() & (shown[value] > 0)]
    if not len(shown):
        return None
    palette = colours(sorted(shown["algorithm"].unique()))
    panels, note = [], ""
    for machine, group in by_machine(shown):
        order = order_of_series(group)
        if len(order) > MOST_SERIES:
            order = _one_of_each(group, order)
            group = group[group["series"].isin(order)]
            note = f"Where a machine has over {MOST_SERIES} rows, an algorithm has one: its fastest at default options."
        file = slug(f"{name}-{machine}")
        heading = machine if shown["machine"].nunique() > 1 else title
        svg = _dots(group, order, value, palette, _wrap(label), heading, _means, folder, file, reference)
        panels.append((file, svg))
    shown[["machine", "graph", "n", "m", "series", value]].to_csv(folder / f"{name}.csv", index=False)
    alt = f"{title} of each algorithm, one dot for each graph, logarithmic; the table has the numbers."
    return Figure(name, title, alt, tuple(panels), f"{name}.csv", title.partition(" over ")[0], note)


def _one_of_each(rows: pd.DataFrame, order: list[str]) -> list[str]:
    """Return the first series of each algorithm, of those with default options where there are any."""
    series = rows.drop_duplicates("series").set_index("series")
    chosen: dict[str, str] = {}
    for name in sorted(order, key=lambda name: series.loc[name, "options"] != "default"):
        chosen.setdefault(series.loc[name, "algorithm"], name)
    return [name for name in order if name in chosen.values()]


def _self_speedup(shown: pd.DataFrame, folder: Path) -> Figure | None:
    """Geometric mean over graphs of T(1)/T(p), one line for each algorithm, one panel for each machine."""
    wide = shown[shown["self_speedup"].notna() & shown["paradigm"].isin(["threads", "mpi"])]
    if not len(wide) or wide["width"].max() < 2:
        return None
    panels = []
    points = (
        wide.groupby(["machine", "origin", "algorithm", "options", "paradigm", "width"])["self_speedup"]
        .agg(geometric_mean)
        .reset_index()
    )
    for machine, group in by_machine(points):
        widths = sorted(group["width"].unique())
        panels.append(
            _lines(
                group,
                x="width",
                y="self_speedup",
                xlabel="threads or ranks",
                ylabel="T(1) / T(p), geometric mean over graphs",
                title=machine,
                folder=folder,
                name=slug(f"self-speedup-{machine}"),
                ideal=widths,
            )
        )
    points.drop(columns="origin").to_csv(folder / "self-speedup.csv", index=False)
    alt = "Self-speedup of each parallel algorithm by width, against the ideal; the table has the numbers."
    return Figure("self-speedup", "Self-speedup", alt, tuple(panels), "self-speedup.csv", "Self-speedup")


def _scaling(shown: pd.DataFrame, folder: Path, baseline: str) -> Figure | None:
    """Cost of an edge against m, the algorithms that tell most at default options and their widest width."""
    rows = shown[shown["options"] == "default"]
    widest = rows.groupby(["machine", "algorithm"])["width"].transform("max")
    rows = rows[rows["width"] == widest]
    if rows["m"].nunique() < 2:
        return None
    panels, note = [], ""
    for machine, group in by_machine(rows):
        if group["m"].nunique() < 2:
            continue
        told = telling(group, baseline, MOST_LINES)
        if len(told) < group["algorithm"].nunique():
            group = group[group["algorithm"].isin(told)]
            note = (
                f"At most {MOST_LINES} algorithms of a machine are drawn: {baseline}, the fastest of each paradigm, "
                "and the next fastest on at least half as many graphs as any."
            )
        panels.append(
            _lines(
                group.sort_values("m"),
                x="m",
                y="nanoseconds_per_edge",
                xlabel="undirected edges m",
                ylabel="nanoseconds per edge",
                title=machine,
                folder=folder,
                name=slug(f"scaling-{machine}"),
            )
        )
    if not panels:
        return None
    columns = ["machine", "graph", "family", "n", "m", "algorithm", "width", "nanoseconds_per_edge"]
    rows[columns].to_csv(folder / "scaling.csv", index=False)
    alt = "Nanoseconds per edge against the number of edges, a line for each algorithm, both axes logarithmic."
    title = "Cost of an edge as graphs grow"
    return Figure("scaling", title, alt, tuple(panels), "scaling.csv", "Scaling in m", note)


def _lines(
    group: pd.DataFrame,
    *,
    x: str,
    y: str,
    xlabel: str,
    ylabel: str,
    title: str,
    folder: Path,
    name: str,
    ideal: list[int] | None = None,
) -> tuple[str, str]:
    """Draw a line for each algorithm, named at its end."""
    import matplotlib.pyplot as plt
    import seaborn as sns

    names = sorted(group["algorithm"].unique())
    palette = colours(names)
    height = max(3.4, 0.19 * len(names) + 1.2)
    figure, axes = plt.subplots(figsize=(6.4, height))
    sns.lineplot(
        data=group,
        x=x,
        y=y,
        hue="algorithm",
        palette=palette,
        hue_order=names,
        style="algorithm",
        style_order=names,
        dashes={name: DASHES[place % len(DASHES)] for name, place in places(names).items()},
        errorbar=None,
        legend=False,
        ax=axes,
    )
    for (algorithm, paradigm), rows in group.groupby(["algorithm", "paradigm"]):
        axes.scatter(
            rows[x], rows[y], c=palette[algorithm], marker=MARKERS[paradigm], s=22, linewidths=0, zorder=3
        )
    axes.set_xscale("log", base=2 if ideal else 10)
    axes.set_yscale("log", base=2 if ideal else 10)
    if ideal:
        axes.plot(ideal, ideal, color="#7A7A7A", linestyle=(0, (4, 3)), linewidth=1)
        axes.set_xticks(ideal, [str(w) for w in ideal])
        axes.yaxis.set_major_formatter(lambda v, _: f"{v:g}")
        axes.minorticks_off()
    else:
        for axis in (axes.xaxis, axes.yaxis):
            readable(axis)
    ends = group.sort_values(x).groupby("algorithm").last()
    name_ends(axes, [(a, ends.loc[a, x], ends.loc[a, y], palette[a]) for a in names])
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    axes.set_title(title)
    return name, save(figure, folder, name)


def name_ends(axes, ends: list[tuple[str, float, float, str]]) -> None:
    """Write each line's name to the right of the axes, apart from one another, with a thin line to its end."""
    axes.figure.canvas.draw()
    height = axes.get_window_extent().height
    step = 11 * axes.figure.dpi / 72
    placed: list[float] = []
    todo = sorted(ends, key=lambda end: axes.transData.transform((end[1], end[2]))[1])
    lowest = axes.transAxes.transform((0, 0))[1]
    for _, x, y, _ in todo:
        at = axes.transData.transform((x, y))[1] - lowest
        at = max(at, placed[-1] + step) if placed else max(at, 0.0)
        placed.append(at)
    overflow = max(0.0, placed[-1] - height) if placed else 0.0
    placed = [at - overflow for at in placed]
    for (algorithm, x, y, colour), at in zip(todo, placed, strict=True):
        axes.annotate(
            algorithm,
            xy=(x, y),
            xycoords="data",
            xytext=(1.03, at / height),
            textcoords="axes fraction",
            color=colour,
            va="center",
            fontsize=8.5,
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.6, "alpha": 0.6, "shrinkB": 3},
        )


def _here_and_elsewhere(rows: pd.DataFrame) -> tuple[list, list]:
    """Return the panels of graphs that were measured here, and those of reference measurements."""
    here = rows["origin"] != "reference"
    return _by_size(rows[here]), _by_size(rows[~here])


def _by_size(rows: pd.DataFrame):
    """Return the rows of each machine and graph, each machine's smallest graph first."""
    machines = machines_of(rows)
    groups = list(rows.groupby(["machine", "graph"], sort=False))
    return sorted(groups, key=lambda item: (machines.index(item[0][0]), item[1]["m"].iloc[0], item[0][1]))


def _few(*groups: list) -> list:
    """Return at most `MOST_TIMES` panels: the first group's, then the next one's, evenly through their order."""
    chosen: list = []
    for panels in groups:
        most = MOST_TIMES - len(chosen)
        if len(panels) > most:
            panels = [panels[round(i * (len(panels) - 1) / max(most - 1, 1))] for i in range(most)]
        chosen += panels
    return chosen


def readable(axis) -> None:
    """Label a logarithmic axis at three places at least, by the coarsest steps of a decade that have so many.

    Steps are about as far apart as each other, so that labels that are few do not overlap.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    low, high = sorted(axis.get_view_interval())
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in _STEPS:
        if sum(low <= step * 10.0**decade <= high for decade in decades for step in steps) >= _FEWEST_LABELS:
            axis.set_major_locator(LogLocator(10, subs=steps, numticks=12))
            break
    else:
        axis.set_major_locator(MaxNLocator(4))
    axis.set_major_formatter(FuncFormatter(_short))
    axis.set_minor_formatter(NullFormatter())
    axis.set_tick_params(which="minor", length=0)


def label_ratios(axis) -> None:
    """Label an axis of ratios at powers of two, or, where too few of them are in view, as any other."""
    low, high = sorted(axis.get_view_interval())
    if math.floor(math.log2(high)) - math.ceil(math.log2(low)) + 1 < _FEWEST_LABELS:
        readable(axis)
    else:
        axis.set_major_formatter(lambda value, _: f"{value:g}")


def _short(value: float, _: Any = None) -> str:
    """Write a tick: 0.01, 5, 20 k, 3 M, 1 G."""
    for limit, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if value >= limit:
            return f"{value / limit:g}{unit}"
    return f"{value:g}" if value >= 1e-4 else f"{value * 1e6:g} µ"


def _count(value: float) -> str:
    value = float(value)
    for limit, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if value >= limit:
            return f"{value / limit:.3g}{unit}"
    return f"{value:.0f}"


def _wrap(text: str) -> str:
    head, separator, tail = text.partition(" (")
    return f"{head}\n({tail}" if separator else text


def slug(text: str) -> str:
    """Return a text as the name of a file: letters, digits and dashes."""
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-").lower()
