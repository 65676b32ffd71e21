"""Throughput across all hardware: the fastest of each kind on each graph, and the best library beside them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mst.reporting.charts.axes import End, Figure, Panel, finished, name_ends, readable, slug
from mst.reporting.charts.style import LIGHT
from mst.reporting.data import by_machine, fastest
from mst.reporting.hardware import HARDWARE

if TYPE_CHECKING:
    import pandas as pd

_LIBRARY = "Best library"
# Colour, marker and dashes of each kind of hardware. Lines are also named, so that none of these is needed.
_LOOKS = {
    "One core": (LIGHT[2], "o", (0, ())),
    "Many cores": (LIGHT[0], "s", (0, (6, 2))),
    "GPU": (LIGHT[1], "^", (0, ())),
    "MPI": (LIGHT[5], "D", (0, (2, 1.5))),
    _LIBRARY: (LIGHT[9], "X", (0, (8, 2, 2, 2))),
}


def landscape(shown: pd.DataFrame, folder: Path) -> Figure | None:
    """Draw throughput against m; None where fewer than two graphs or only one kind of line was measured."""
    import pandas as pd

    exact = shown[shown["exact"]]
    machines = {machine: _kinds(own) for machine, own in by_machine(exact)}
    lines = [best.assign(hardware=name) for own in machines.values() for name, best in own.items()]
    if len(lines) < 2 or exact["graph"].nunique() < 2:
        return None
    rows = pd.concat(lines)
    m, ends = rows["m"], rows[["compute_low", "compute_high"]]
    speeds = ends.where(ends > 0).rdiv(m, axis=0)
    # Common to all machines, so that their panels compare.
    limits = {
        "xlim": (m.min() / 1.4, m.max() * 1.4),
        "ylim": (speeds.min(axis=None) / 1.6, speeds.max(axis=None) * 1.6),
    }
    panels = [
        _panel(own, machine, limits, folder / slug(f"landscape-{machine}"))
        for machine, own in machines.items()
        if own
    ]
    columns = ["hardware", "machine", "graph", "n", "m", "algorithm", "options", "width"]
    columns += ["compute_seconds", "compute_low", "compute_high", "edges_per_second"]
    rows[columns].to_csv(folder / "landscape.csv", index=False)
    alt = "Edges per second against the number of edges, a line for each kind of hardware; the table has the numbers."
    title = "From one core to all hardware"
    return Figure("landscape", title, alt, panels, "All hardware")


def _kinds(own: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the fastest run on each graph for each kind of hardware; many cores only where a run used several."""
    found = {_LIBRARY: own[own["library"] & HARDWARE[1].uses(own)]}
    for hardware in HARDWARE:
        paradigms = ("sequential", "threads") if hardware.id in ("core", "cores") else hardware.paradigms
        rows = own[hardware.uses(own) & own["paradigm"].isin(paradigms)]
        if hardware.id != "cores" or (rows["width"] > 1).any():
            found[hardware.name] = rows
    return {
        name: fastest(found[name], "graph").sort_values("m", kind="stable")
        for name in _LOOKS
        if len(found.get(name, ()))
    }


def _panel(
    lines: Mapping[str, pd.DataFrame], machine: str, limits: Mapping[str, tuple[float, float]], file: Path
) -> Panel:
    import matplotlib.pyplot as plt

    axes: Any
    _, axes = plt.subplots(figsize=(6.4, 3.6))
    axes.set(xscale="log", yscale="log", **limits)
    ends = []
    for name, best in lines.items():
        colour, marker, dashes = _LOOKS[name]
        m, speed = best["m"], best["m"] / best["compute_seconds"]
        axes.plot(m, speed, color=colour, linestyle=dashes, linewidth=1.6, marker=marker, markersize=4.5)
        low, high = m / best["compute_high"], m / best["compute_low"]
        axes.vlines(m, low, high, colors=colour, linewidth=2.2, alpha=0.5)
        ends.append(End(name, m.iloc[-1], speed.iloc[-1], colour))
    readable(axes.xaxis)
    readable(axes.yaxis)
    name_ends(axes, ends)
    labels = {"xlabel": "undirected edges m", "ylabel": "undirected edges per second"}
    return finished(axes, file, title=machine, **labels)
