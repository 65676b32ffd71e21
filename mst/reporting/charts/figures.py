"""Figures of the report, drawn once: as SVG for the page, and as SVG, PDF and CSV beside it.

Only like is compared with like: a mean is over graphs on which every row or every width of its panel was measured.
Panels of fewer than three points are not drawn.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from mst.atomic import write_text
from mst.bench.statistics import geometric_mean
from mst.reporting.charts.axes import End, Figure, Panel, finished, name_ends, new_axes, readable, slug
from mst.reporting.charts.style import DASHES, GREY, MOST_MARKS, PARADIGMS, mark
from mst.reporting.charts.workers import Run, Task, one_by_one
from mst.reporting.data import by_machine, fastest, mean_interval, standard_errors
from mst.reporting.hardware import HARDWARE_KINDS
from mst.units import count, counted, seconds

MOST_ROWS = 18  # most rows of a panel; the explorer has all of them
FEWEST = 3  # fewest points of a panel
LIBRARY = "Best library without a GPU"
KINDS = {**{kind.name: PARADIGMS[kind.paradigms[0]] for kind in HARDWARE_KINDS}, LIBRARY: PARADIGMS["peer"]}
"""Colours of the kinds of hardware."""


class Bars(NamedTuple):
    """A figure with a row for each algorithm and a dot for each graph; `sign` is 1 if less is better."""

    name: str
    column: str
    title: str
    label: str
    sign: int = -1
    reference: float | None = None


def draw_all(rows: pd.DataFrame, folder: Path, baseline: str, run: Run = one_by_one) -> list[Figure]:
    """Draw every figure for which there are numbers, from prepared rows (`mst.reporting.data.prepared_rows`)."""
    shown = rows[rows["shown"]]
    if not len(shown):
        return []
    across = f"The paradigms side by side: speedup over {baseline}"
    bars = [
        Bars("speedup", "speedup", across, f"time of {baseline} / time", reference=1.0),
        Bars("throughput", "edges_per_second", "Throughput", "undirected edges per second"),
        Bars("memory", "bytes_per_edge", "Working memory", "peak resident bytes per edge beyond the input", 1),
        Bars("energy", "nanojoules_per_edge", "Energy", "nanojoules per edge", 1),
    ]
    tasks: list[Task] = [partial(_landscape, shown, folder), partial(_self_speedup, shown, folder)]
    tasks += [partial(_by_algorithm, shown, folder, one) for one in bars]
    return [figure for figure in run(tasks) if figure is not None]


def _landscape(shown: pd.DataFrame, folder: Path) -> Figure | None:
    """Draw throughput against m: the fastest run on each machine and graph for each kind of hardware.

    Many cores are only those of several. None where fewer than three points or two graphs were measured.
    """
    exact = shown[shown["exact"]]
    kinds = {LIBRARY: exact[exact["library"] & HARDWARE_KINDS[1].uses(exact)]}
    for hardware in HARDWARE_KINDS:
        own = exact[hardware.uses(exact) & ~exact["library"]]
        kinds[hardware.name] = own[own["width"] > 1] if hardware.id == "cores" else own
    rows = pd.concat(fastest(kinds[name], "machine", "graph").assign(hardware=name) for name in KINDS)
    if len(rows) < FEWEST or exact["graph"].nunique() < 2:
        return None
    columns = ["hardware", "machine", "graph", "n", "m", "algorithm", "options", "width"]
    columns += ["compute_seconds", "compute_low", "compute_high", "edges_per_second"]
    write_text(folder / "landscape.csv", rows[columns].to_csv(index=False))
    alt = "Edges per second against the number of edges, a dot for each graph and kind of hardware, as in the table."
    panel = _dots(rows, folder / "landscape")
    return Figure("landscape", "All hardware on one chart", alt, [panel], "All hardware")


def _dots(rows: pd.DataFrame, file: Path) -> Panel:
    axes = new_axes(10.6, 4.3)
    axes.set(xscale="log", yscale="log")
    titles = {}
    crowded = len(rows) > MOST_MARKS
    for hardware, colour in KINDS.items():
        for origin, own in rows[rows["hardware"] == hardware].groupby("origin"):
            look = mark(colour, elsewhere=origin == "reference")
            speed, name = own["m"] / own["compute_seconds"], f"{hardware} {origin}".replace(" ", "-").lower()
            look |= dict(markersize=5, markeredgewidth=1.2, alpha=0.85, rasterized=crowded)
            (dots,) = axes.plot(own["m"], speed, **look)
            dots.set_gid(name)
            low, high = own["m"] / own["compute_high"], own["m"] / own["compute_low"]
            whiskers = axes.vlines(
                own["m"], low, high, colors=colour, linewidth=2, alpha=0.4, rasterized=crowded
            )
            whiskers.set_gid(f"{name}-whiskers")
            titles[name] = [
                f"{r.series} on {r.graph}, {r.machine}: {seconds(r.compute_seconds)}, {count(r.m)} edges"
                for r in own.itertuples()
            ]
    readable(axes.xaxis)
    readable(axes.yaxis)
    panel = finished(axes, file, xlabel="undirected edges m", ylabel="undirected edges per second")
    if crowded:
        return panel
    svg = panel.svg
    for name, words in titles.items():
        svg = _titled(svg, f'<g id="landscape-{name}">', words)
    return panel._replace(svg=svg)


def _titled(svg: str, group: str, words: Sequence[str]) -> str:
    """Return an SVG with a tooltip for each mark of a group."""
    head, found, rest = svg.partition(group)
    left = iter(words)

    def one(use: re.Match[str]) -> str:
        return f"{use[1]}><title>{escape(next(left))}</title></use>"

    return head + found + re.sub(r"(<use [^>]*?)/>", one, rest, count=len(words)) if found else svg


def comparable(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return each algorithm's fastest exact run on each graph, of graphs on which all of these algorithms ran.

    The paradigms choose the graphs: of each, the algorithm that ran on most graphs takes part, and a paradigm that
    shares fewer than three graphs with the others does not. All other algorithms that ran on these graphs are kept.
    """
    best = fastest(rows[rows["exact"] & rows[column].gt(0)], "algorithm", "graph")
    graphs = best.groupby("algorithm")["graph"].agg(set)
    paradigm = best.drop_duplicates("algorithm").set_index("algorithm")["paradigm"]
    speed = best.groupby("algorithm")["nanoseconds_per_edge"].agg(geometric_mean)
    ranked = sorted(graphs.index, key=lambda name: (-len(graphs[name]), speed[name]))
    common: set[str] = set()
    for name in {paradigm[name]: name for name in reversed(ranked)}.values():
        shared = common & graphs[name] if common else graphs[name]
        if len(shared) >= FEWEST:
            common = shared
    kept = [name for name in ranked if common and common <= graphs[name]]
    return best[best["algorithm"].isin(kept) & best["graph"].isin(common)]


def _by_algorithm(shown: pd.DataFrame, folder: Path, bars: Bars) -> Figure | None:
    """Draw a panel for each machine: rows sorted by their means, a dot for each graph, a bar for the mean."""
    panels, notes, kept = [], [], []
    for machine, own in by_machine(shown):
        rows = comparable(own, bars.column)
        groups = rows.groupby("algorithm")
        means = {str(name): mean_interval(group[bars.column], standard_errors(group)) for name, group in groups}
        order = sorted(means, key=lambda name: bars.sign * means[name][0])
        if len(order) < FEWEST or rows["graph"].nunique() < FEWEST:
            continue
        if len(order) > MOST_ROWS:
            notes.append(f"Only the first {MOST_ROWS} of {len(order)} rows of {machine} are drawn.")
        rows = rows[rows["algorithm"].isin(order[:MOST_ROWS])]
        panels.append(_rows(rows, order[:MOST_ROWS], means, bars, folder / slug(f"{bars.name}-{machine}")))
        kept.append(rows)
    if not panels:
        return None
    columns = ["machine", "graph", "n", "m", "series", bars.column]
    write_text(folder / f"{bars.name}.csv", pd.concat(kept)[columns].to_csv(index=False))
    alt = f"{bars.title} of each algorithm, one dot for each graph, logarithmic; the table has the numbers."
    return Figure(bars.name, bars.title, alt, panels, bars.title.partition(":")[0], " ".join(notes))


def _rows(rows: pd.DataFrame, order: Sequence[str], means: dict[str, Any], bars: Bars, file: Path) -> Panel:
    axes = new_axes(5.4, 0.235 * len(order) + 1.0)
    axes.set_xscale("log")
    if bars.reference is not None:
        axes.axvline(bars.reference, color=GREY, linewidth=1, linestyle=(0, (4, 3)))
    labels = []
    for place, name in enumerate(order):
        own = rows[rows["algorithm"] == name]
        colour = PARADIGMS[own["paradigm"].iloc[0]]
        look = mark(colour, elsewhere=(own["origin"] == "reference").any())
        look |= dict(markersize=4.2, alpha=0.75, rasterized=len(rows) > MOST_MARKS)
        axes.plot(own[bars.column], [place] * len(own), **look)
        mean, low, high = means[name]
        axes.plot([mean, mean], [place - 0.38, place + 0.38], color=colour, linewidth=2.4)
        # Energy and memory are known by their medians alone.
        if low == low and bars.name in ("speedup", "throughput"):
            axes.plot([low, high], [place, place], color=colour, linewidth=5, alpha=0.35, solid_capstyle="butt")
        labels.append(f"{name} · {_widths(own)}" if own["width"].max() > 1 else name)
    axes.set_yticks(range(len(order)), labels)
    axes.set_ylim(len(order) - 0.4, -0.6)
    axes.grid(axis="y", visible=False)
    readable(axes.xaxis)
    title = f"{rows['machine'].iloc[0]}, the same {rows['graph'].nunique()} graphs in every row"
    return finished(axes, file, xlabel=bars.label, ylabel="", title=title)


def _widths(rows: pd.DataFrame) -> str:
    return "–".join(str(width) for width in dict.fromkeys((rows["width"].min(), rows["width"].max())))


def all_widths(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of one algorithm on graphs that were measured at all of its widths.

    Graphs differ in their widths: those are taken, with width 1 among them, that most runs share.
    """
    widths = rows.groupby("graph")["width"].agg(set)
    candidates = [own for own in widths if 1 in own and len(own) >= FEWEST]
    if not candidates:
        return rows.iloc[:0]

    def runs(chosen: set[int]) -> tuple[int, int]:
        return sum(chosen <= own for own in widths) * len(chosen), len(chosen)

    chosen = max(candidates, key=runs)
    graphs = widths.index[[chosen <= own for own in widths]]
    return rows[rows["graph"].isin(graphs) & rows["width"].isin(chosen)]


def _self_speedup(shown: pd.DataFrame, folder: Path) -> Figure | None:
    """Draw the geometric mean over graphs of T(1)/T(p): a line for each algorithm, a panel for each machine."""
    wide = shown[shown["self_speedup"].notna() & shown["paradigm"].isin(["threads", "mpi"])]
    panels, points, notes = [], [], []
    for machine, group in by_machine(wide):
        lines = []
        for _, own in group.groupby("name"):
            if len(own := all_widths(own)):
                narrow = standard_errors(own[own["width"] == 1])
                for width, at in own.groupby("width"):
                    # T(1) has its own interval.
                    noise = (standard_errors(at), narrow) if width > 1 else (narrow,)
                    mean, low, high = mean_interval(at["self_speedup"], *noise)
                    same = at[["machine", "name", "paradigm", "origin"]].iloc[0].to_dict()
                    point = {"graphs": len(at), "width": width, "self_speedup": mean, "low": low, "high": high}
                    lines.append(same | point)
        if lines:
            table = pd.DataFrame(lines)
            points.append(table.drop(columns="origin"))
            best = table.groupby("name")["self_speedup"].max().sort_values(ascending=False).index
            if len(best) > MOST_ROWS:
                notes.append(f"Only the {MOST_ROWS} steepest of {len(best)} lines of {machine} are drawn.")
            panels.append(_lines(table, best[:MOST_ROWS], folder / slug(f"self-speedup-{machine}")))
    if not panels:
        return None
    write_text(folder / "self-speedup.csv", pd.concat(points).to_csv(index=False))
    alt = "Self-speedup of each parallel algorithm by width, against the ideal; the table has the numbers."
    return Figure("self-speedup", "Self-speedup", alt, panels, "Self-speedup", " ".join(notes))


def _lines(points: pd.DataFrame, names: Sequence[str], file: Path) -> Panel:
    axes = new_axes(4.0, max(3.0, 0.19 * len(names) + 1.2))
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    ideal = sorted(points["width"].unique())
    axes.plot(ideal, ideal, color=GREY, linestyle=(0, (4, 3)), linewidth=1)
    ends, used = [], dict.fromkeys(PARADIGMS, 0)
    for name in names:
        own = points[points["name"] == name]
        paradigm, colour = own["paradigm"].iloc[0], PARADIGMS[own["paradigm"].iloc[0]]
        dash = DASHES[used[paradigm] % len(DASHES)]
        used[paradigm] += 1
        look = mark(colour, elsewhere=(own["origin"] == "reference").any())
        axes.plot(own["width"], own["self_speedup"], color=colour, linestyle=(0, dash or ()), linewidth=1.4)
        axes.plot(own["width"], own["self_speedup"], **look, markersize=4.5)
        axes.vlines(own["width"], own["low"], own["high"], colors=colour, linewidth=2.4, alpha=0.5)
        last, graphs = own.iloc[-1], own["graphs"].iloc[0]
        label = f"{name} ({counted(int(graphs), 'graph')})"
        ends.append(End(label, last["width"], last["self_speedup"], colour))
    axes.set_xticks(ideal, [str(width) for width in ideal])
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.minorticks_off()
    name_ends(axes, ends)
    labels = {"xlabel": "threads or ranks", "ylabel": "T(1) / T(p), geometric mean"}
    return finished(axes, file, title=points["machine"].iloc[0], **labels)
