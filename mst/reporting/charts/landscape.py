"""Throughput across all hardware: the fastest of each kind on each graph, and the best library beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mst.reporting.charts.axes import End, Figure, Panel, name_ends, readable, slug
from mst.reporting.charts.style import LIGHT, save
from mst.reporting.data import by_machine
from mst.reporting.hardware import HARDWARE, Row, approximate, fastest_of_each, is_library, seconds_of

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


class _Limits(NamedTuple):
    """Ends of both axes, common to all machines so that their panels compare."""

    m: tuple[float, float]
    speed: tuple[float, float]


def landscape(shown: pd.DataFrame, folder: Path) -> Figure | None:
    """Draw throughput against m; None where fewer than two graphs or only one kind of line was measured."""
    import pandas as pd

    exact = shown[~shown["algorithm"].isin(approximate())]
    machines = {
        machine: {
            name: best for name, rows in _kinds(own.to_dict("records")) if (best := fastest_of_each(rows))
        }
        for machine, own in by_machine(exact)
    }
    lines = [(name, best) for own in machines.values() for name, best in own.items()]
    if len(lines) < 2 or exact["graph"].nunique() < 2:
        return None
    rows = [row for _, best in lines for row in best.values()]
    m = [row["m"] for row in rows]
    speeds = [row["m"] / row[end] for row in rows for end in ("compute_low", "compute_high") if row[end] > 0]
    limits = _Limits((min(m) / 1.4, max(m) * 1.4), (min(speeds) / 1.6, max(speeds) * 1.6))
    panels = [
        _panel(own, machine, limits, folder / slug(f"landscape-{machine}"))
        for machine, own in machines.items()
        if own
    ]
    columns = ["machine", "graph", "n", "m", "algorithm", "options", "width"]
    columns += ["compute_seconds", "compute_low", "compute_high", "edges_per_second"]
    numbers = [
        {"hardware": name, **{column: row[column] for column in columns}}
        for name, best in lines
        for row in sorted(best.values(), key=lambda row: row["m"])
    ]
    pd.DataFrame(numbers).to_csv(folder / "landscape.csv", index=False)
    alt = "Edges per second against the number of edges, a line for each kind of hardware; the table has the numbers."
    title = "From one core to all hardware"
    return Figure("landscape", title, alt, tuple(panels), "landscape.csv", "All hardware")


def _kinds(records: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    """Yield each kind of hardware with its runs; many cores only where a run used more than one."""
    for hardware in HARDWARE:
        paradigms = ("sequential", "threads") if hardware.id in ("core", "cores") else hardware.paradigms
        rows = [row for row in records if hardware.uses(row) and row["paradigm"] in paradigms]
        if hardware.id != "cores" or any(row["width"] > 1 for row in rows):
            yield hardware.name, rows
    yield _LIBRARY, [row for row in records if is_library(row) and HARDWARE[1].uses(row)]


def _panel(lines: Mapping[str, Mapping[str, Row]], machine: str, limits: _Limits, file: Path) -> Panel:
    import matplotlib.pyplot as plt

    axes: Any
    figure, axes = plt.subplots(figsize=(6.4, 3.6))
    axes.set(xscale="log", yscale="log", xlim=limits.m, ylim=limits.speed)
    ends = []
    for name, best in lines.items():
        colour, marker, dashes = _LOOKS[name]
        rows = sorted(best.values(), key=lambda row: row["m"])
        m = [row["m"] for row in rows]
        speed = [row["m"] / seconds_of(row) for row in rows]
        axes.plot(m, speed, color=colour, linestyle=dashes, linewidth=1.6, marker=marker, markersize=4.5)
        low = [row["m"] / row["compute_high"] for row in rows]
        high = [row["m"] / row["compute_low"] for row in rows]
        axes.vlines(m, low, high, colors=colour, linewidth=2.2, alpha=0.5)
        ends.append(End(name, m[-1], speed[-1], colour))
    readable(axes.xaxis)
    readable(axes.yaxis)
    name_ends(axes, ends)
    axes.set(xlabel="undirected edges m", ylabel="undirected edges per second", title=machine)
    return Panel(file.name, save(figure, file))
