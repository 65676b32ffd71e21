"""Figures of the report, drawn once: as SVG for the page, and as SVG, PDF and CSV beside it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from mst.bench.statistics import geometric_mean
from mst.reporting.charts.axes import End, Figure, Panel, finished, name_ends, readable, slug
from mst.reporting.charts.landscape import landscape
from mst.reporting.charts.style import DASHES, GREY, MARKERS, colours, places
from mst.reporting.charts.workers import Run, Task, one_by_one
from mst.reporting.data import by_machine, machines_of, order_of_series, representative
from mst.units import prefixed

MOST_TIMES = 16
"""Most panels of times on the page; the explorer has the others."""

MOST_SERIES = 40
"""Most rows of a panel that has one for each series; where there are more, each algorithm has one."""

MOST_LINES = 12
"""Most lines of a panel: more cannot be distinguished."""


def draw_all(rows: pd.DataFrame, folder: Path, baseline: str, run: Run = one_by_one) -> list[Figure]:
    """Draw every figure for which there are numbers, from prepared rows (`mst.reporting.data.prepare`)."""
    shown = rows[rows["shown"]]
    if not len(shown):
        return []
    each = "(one dot a graph, bar: geometric mean)"
    throughput = Bars("throughput", "edges_per_second", "Throughput", f"undirected edges per second {each}")
    speedup = Bars(
        "speedup", "speedup", f"Speedup over {baseline}", f"time of {baseline} over time {each}", reference=1.0
    )
    memory = Bars(
        "memory", "bytes_per_edge", "Working memory", f"peak resident bytes per edge beyond the input {each}"
    )
    energy = Bars("energy", "nanojoules_per_edge", "Energy", f"nanojoules per edge {each}")
    tasks: list[Task] = [
        partial(landscape, shown, folder),
        partial(_times, shown, folder),
        partial(_per_series, shown, folder, throughput),
        partial(_per_series, shown[shown["algorithm"] != baseline], folder, speedup),
        partial(_self_speedup, shown, folder),
        partial(_per_series, shown, folder, memory),
        partial(_scaling, shown, folder, baseline),
        partial(_per_series, shown, folder, energy),
    ]
    return [figure for figure in run(tasks) if figure is not None]


class Bars(NamedTuple):
    """A figure with a row for each series and a dot for each graph."""

    name: str
    column: str
    title: str
    label: str
    reference: float | None = None


def _times(shown: pd.DataFrame, folder: Path) -> Figure:
    """Draw the times of every series: a panel for each machine and graph, in the machine's order of series."""
    palette = colours(sorted(shown["algorithm"].unique()))
    several = shown["machine"].nunique() > 1
    orders = {machine: order_of_series(own) for machine, own in by_machine(shown)}
    reference = shown["origin"] == "reference"
    panels = []
    for (machine, graph), group in _few(_by_size(shown[~reference]), _by_size(shown[reference])):
        order = [s for s in orders[machine] if s in set(group["series"])]
        n, m = (prefixed(float(group[name].iloc[0])) for name in ("n", "m"))
        title = f"{graph}\n{n} vertices, {m} edges" + (f", {machine}" if several else "")
        axes = _dots(group, order, "compute_seconds", palette)
        axes.hlines(
            [order.index(series) for series in group["series"]],
            group["compute_low"],
            group["compute_high"],
            colors=group["algorithm"].map(palette),
            linewidth=2,
            alpha=0.5,
            zorder=2,
        )
        readable(axes.xaxis)
        file = folder / slug(f"time-{machine}-{graph}")
        panels.append(finished(axes, file, xlabel="seconds", ylabel="", title=title))
    columns = ["machine", "graph", "n", "m", "series"]
    columns += ["compute_seconds", "compute_low", "compute_high", "grade"]
    shown[columns].to_csv(folder / "time.csv", index=False)
    alt = (
        "Time of each algorithm on each graph, medians with intervals, logarithmic; the table has the numbers."
    )
    return Figure("time", "Time to find the forest", alt, panels, "Time")


def _per_series(shown: pd.DataFrame, folder: Path, bars: Bars) -> Figure | None:
    """Draw one panel for each machine: a row for each series, a dot for each graph, a bar at the geometric mean."""
    name, column, title, label, reference = bars
    shown = shown[shown[column].notna() & (shown[column] > 0)]
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
        axes = _dots(group, order, column, palette)
        if reference is not None:
            axes.axvline(reference, color=GREY, linewidth=1, linestyle=(0, (4, 3)))
        for series, own in group.groupby("series"):
            place, mean = order.index(str(series)), geometric_mean(own[column])
            colour = palette[own["algorithm"].iloc[0]]
            axes.plot([mean, mean], [place - 0.36, place + 0.36], color=colour, linewidth=2.4, zorder=4)
        heading = machine if shown["machine"].nunique() > 1 else title
        wrapped = label.replace(" (", "\n(", 1)
        readable(axes.xaxis)
        file = folder / slug(f"{name}-{machine}")
        panels.append(finished(axes, file, xlabel=wrapped, ylabel="", title=heading))
    shown[["machine", "graph", "n", "m", "series", column]].to_csv(folder / f"{name}.csv", index=False)
    alt = f"{title} of each algorithm, one dot for each graph, logarithmic; the table has the numbers."
    return Figure(name, title, alt, panels, title.partition(" over ")[0], note)


def _dots(group: pd.DataFrame, order: list[str], column: str, palette: dict[str, str]) -> Any:
    """Return axes with one row of dots for each series, in this order."""
    import matplotlib.pyplot as plt
    import seaborn as sns

    _, axes = plt.subplots(figsize=(4.6, 0.235 * len(order) + 0.95))
    axes.set_xscale("log")
    sns.scatterplot(
        data=group.assign(place=group["series"].map({series: i for i, series in enumerate(order)})),
        x=column,
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
    axes.set_yticks(range(len(order)), order)
    axes.set_ylim(len(order) - 0.4, -0.6)
    axes.grid(axis="y", visible=False)
    return axes


def _one_of_each(rows: pd.DataFrame, order: list[str]) -> list[str]:
    """Return the first series of each algorithm, of those with default options where there are any."""
    series = rows.drop_duplicates("series").set_index("series")
    chosen: dict[str, str] = {}
    for name in sorted(order, key=lambda name: series.loc[name, "options"] != "default"):
        chosen.setdefault(series.loc[name, "algorithm"], name)
    return [name for name in order if name in chosen.values()]


class Lines(NamedTuple):
    """The axes of a figure with a line for each algorithm; `ideal` are widths whose self-speedup would be p."""

    x: str
    y: str
    xlabel: str
    ylabel: str
    ideal: list[int] | None = None


def _self_speedup(shown: pd.DataFrame, folder: Path) -> Figure | None:
    """Draw the geometric mean over graphs of T(1)/T(p): a line for each algorithm, a panel for each machine."""
    wide = shown[shown["self_speedup"].notna() & shown["paradigm"].isin(["threads", "mpi"])]
    if not len(wide) or wide["width"].max() < 2:
        return None
    keys = ["machine", "origin", "algorithm", "options", "paradigm", "width"]
    points = wide.groupby(keys)["self_speedup"].agg(geometric_mean).reset_index()
    label = "T(1) / T(p), geometric mean over graphs"
    panels = [
        _lines(
            group,
            Lines("width", "self_speedup", "threads or ranks", label, sorted(group["width"].unique())),
            machine,
            folder / slug(f"self-speedup-{machine}"),
        )
        for machine, group in by_machine(points)
    ]
    points.drop(columns="origin").to_csv(folder / "self-speedup.csv", index=False)
    alt = "Self-speedup of each parallel algorithm by width, against the ideal; the table has the numbers."
    return Figure("self-speedup", "Self-speedup", alt, panels, "Self-speedup")


def _scaling(shown: pd.DataFrame, folder: Path, baseline: str) -> Figure | None:
    """Draw the time per edge against m, for representative algorithms at default options and the widest width."""
    rows = shown[shown["options"] == "default"]
    widest = rows.groupby(["machine", "algorithm"])["width"].transform("max")
    rows = rows[rows["width"] == widest]
    axes = Lines("m", "nanoseconds_per_edge", "undirected edges m", "nanoseconds per edge")
    panels, note = [], ""
    for machine, group in by_machine(rows):
        if group["m"].nunique() < 2:
            continue
        chosen = representative(group, baseline, MOST_LINES)
        if len(chosen) < group["algorithm"].nunique():
            group = group[group["algorithm"].isin(chosen)]
            note = (
                f"At most {MOST_LINES} algorithms of a machine are drawn: {baseline}, the fastest of each paradigm, "
                "and the next fastest on at least half as many graphs as any."
            )
        panels.append(_lines(group.sort_values("m"), axes, machine, folder / slug(f"scaling-{machine}")))
    if not panels:
        return None
    columns = ["machine", "graph", "family", "n", "m", "algorithm", "width", "nanoseconds_per_edge"]
    rows[columns].to_csv(folder / "scaling.csv", index=False)
    alt = "Nanoseconds per edge against the number of edges, a line for each algorithm, both axes logarithmic."
    title = "Time per edge as graphs grow"
    return Figure("scaling", title, alt, panels, "Scaling in m", note)


def _lines(group: pd.DataFrame, lines: Lines, title: str, file: Path) -> Panel:
    """Draw a line for each algorithm, named at its end."""
    import matplotlib.pyplot as plt
    import seaborn as sns

    x, y, xlabel, ylabel, ideal = lines
    names = sorted(group["algorithm"].unique())
    palette = colours(names)
    _, axes = plt.subplots(figsize=(6.4, max(3.4, 0.19 * len(names) + 1.2)))
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
        axes.plot(ideal, ideal, color=GREY, linestyle=(0, (4, 3)), linewidth=1)
        axes.set_xticks(ideal, [str(w) for w in ideal])
        axes.yaxis.set_major_formatter(lambda v, _: f"{v:g}")
        axes.minorticks_off()
    else:
        readable(axes.xaxis)
        readable(axes.yaxis)
    last = group.sort_values(x).groupby("algorithm").last()
    name_ends(axes, [End(a, last.loc[a, x], last.loc[a, y], palette[a]) for a in names])
    return finished(axes, file, xlabel=xlabel, ylabel=ylabel, title=title)


Group = tuple[tuple[str, str], pd.DataFrame]


def _by_size(rows: pd.DataFrame) -> list[Group]:
    """Return the rows of each machine and graph, each machine's smallest graph first."""
    machines = machines_of(rows)
    groups: Iterable[Any] = rows.groupby(["machine", "graph"], sort=False)
    return sorted(groups, key=lambda item: (machines.index(item[0][0]), item[1]["m"].iloc[0], item[0][1]))


def _few(*groups: list[Group]) -> list[Group]:
    """Return at most `MOST_TIMES` panels: the first group's, then the next one's, evenly through their order."""
    chosen: list[Group] = []
    for panels in groups:
        most = MOST_TIMES - len(chosen)
        if len(panels) > most:
            panels = [panels[round(i * (len(panels) - 1) / max(most - 1, 1))] for i in range(most)]
        chosen += panels
    return chosen
