"""Throughput across all hardware: the fastest of each kind on each graph and machine, and the best library."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from pathlib import Path

import pandas as pd

from mst.reporting.charts.axes import Figure, Panel, finished, new_axes, readable
from mst.reporting.charts.style import MOST_MARKS, PARADIGMS, mark
from mst.reporting.data import fastest
from mst.reporting.hardware import HARDWARE_KINDS
from mst.units import count, seconds

FEWEST = 3
LIBRARY = "Best library without a GPU"
_ORDER = ("sequential", "threads", "cuda", "mpi", "peer")
COLOURS = {
    name: PARADIGMS[p] for name, p in zip([*(h.name for h in HARDWARE_KINDS), LIBRARY], _ORDER, strict=True)
}


def landscape(shown: pd.DataFrame, folder: Path) -> Figure | None:
    """Draw throughput against m: the fastest run on each machine and graph for each kind of hardware.

    Many cores are only those of several. None where fewer than three points or two graphs were measured.
    """
    exact = shown[shown["exact"]]
    kinds = {LIBRARY: exact[exact["library"] & HARDWARE_KINDS[1].uses(exact)]}
    for hardware in HARDWARE_KINDS:
        own = exact[hardware.uses(exact) & ~exact["library"]]
        kinds[hardware.name] = own[own["width"] > 1] if hardware.id == "cores" else own
    rows = pd.concat(fastest(kinds[name], "machine", "graph").assign(hardware=name) for name in COLOURS)
    if len(rows) < FEWEST or exact["graph"].nunique() < 2:
        return None
    columns = ["hardware", "machine", "graph", "n", "m", "algorithm", "options", "width"]
    columns += ["compute_seconds", "compute_low", "compute_high", "edges_per_second"]
    rows[columns].to_csv(folder / "landscape.csv", index=False)
    alt = "Edges per second against the number of edges, a dot for each graph and kind of hardware, as in the table."
    panel = _drawn(rows, folder / "landscape")
    return Figure("landscape", "All hardware on one chart", alt, [panel], "All hardware")


def _drawn(rows: pd.DataFrame, file: Path) -> Panel:
    axes = new_axes(10.6, 4.3)
    axes.set(xscale="log", yscale="log")
    titles = {}
    crowded = len(rows) > MOST_MARKS
    for hardware, colour in COLOURS.items():
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
