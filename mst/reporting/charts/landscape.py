"""The cross-paradigm picture: the fastest of each kind of hardware on each graph, and the best library beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mst.reporting.charts.figures import Figure, name_ends, readable, slug
from mst.reporting.charts.style import LIGHT, save
from mst.reporting.data import approximate, by_machine, is_library
from mst.reporting.page.answer import HARDWARE, fastest_of_each

if TYPE_CHECKING:
    import pandas as pd

_LIBRARY = "Best library"
# Colour, marker and dashes of each kind of hardware: neither is needed to tell them apart, each line is named.
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

    exact = shown[~shown["algorithm"].isin(approximate())]
    lines: dict[tuple[str, str], Mapping[str, Mapping[str, Any]]] = {}
    for machine, own in by_machine(exact):
        records = own.to_dict("records")
        for name, rows in _kinds(records):
            if best := fastest_of_each(rows):
                lines[name, machine] = best
    if len(lines) < 2 or exact["graph"].nunique() < 2:
        return None
    limits = _limits([row for best in lines.values() for row in best.values()])
    panels = []
    for machine in dict.fromkeys(machine for _, machine in lines):
        own = {name: best for (name, where), best in lines.items() if where == machine}
        panels.append((file := slug(f"landscape-{machine}"), _drawn(own, machine, limits, folder, file)))
    numbers = [
        {
            "hardware": name,
            **{key: row[key] for key in ("machine", "graph", "n", "m", "algorithm", "options", "width")},
            **{key: row[key] for key in ("compute_seconds", "compute_low", "compute_high", "edges_per_second")},
        }
        for (name, _), best in lines.items()
        for row in sorted(best.values(), key=lambda row: row["m"])
    ]
    pd.DataFrame(numbers).to_csv(folder / "landscape.csv", index=False)
    alt = "Edges per second against the number of edges, a line for each kind of hardware; the table has the numbers."
    title = "From one core to everything there is"
    return Figure("landscape", title, alt, tuple(panels), "landscape.csv", "All hardware")


def _kinds(records: Sequence[Mapping[str, Any]]):
    """Yield each kind of hardware that was used, with its runs; many cores only where more than one was."""
    for hardware in HARDWARE:
        rows = [row for row in records if hardware.uses(row) and row["paradigm"] in _own(hardware)]
        if hardware.id != "cores" or any(row["width"] > 1 for row in rows):
            yield hardware.name, rows
    yield _LIBRARY, [row for row in records if is_library(row) and HARDWARE[1].uses(row)]


def _own(hardware) -> tuple[str, ...]:
    return ("sequential", "threads") if hardware.id in ("core", "cores") else hardware.paradigms


def _limits(rows: Sequence[Mapping[str, Any]]) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the ends of both axes: those of all machines, so that their panels compare."""
    m = [row["m"] for row in rows]
    speeds = [row["m"] / row[end] for row in rows for end in ("compute_low", "compute_high") if row[end] > 0]
    return (min(m) / 1.4, max(m) * 1.4), (min(speeds) / 1.6, max(speeds) * 1.6)


def _drawn(
    lines: Mapping[str, Mapping[str, Mapping[str, Any]]],
    machine: str,
    limits: tuple[tuple[float, float], tuple[float, float]],
    folder: Path,
    file: str,
) -> str:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 3.6))
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(limits[0])
    axes.set_ylim(limits[1])
    ends = []
    for name, best in lines.items():
        colour, marker, dashes = _LOOKS[name]
        rows = sorted(best.values(), key=lambda row: row["m"])
        m = [row["m"] for row in rows]
        speed = [row["m"] / row["compute_seconds"] for row in rows]
        axes.plot(m, speed, color=colour, linestyle=dashes, linewidth=1.6, marker=marker, markersize=4.5)
        low = [row["m"] / row["compute_high"] for row in rows]
        high = [row["m"] / row["compute_low"] for row in rows]
        axes.vlines(m, low, high, colors=colour, linewidth=2.2, alpha=0.5)
        ends.append((name, m[-1], speed[-1], colour))
    readable(axes.xaxis)
    readable(axes.yaxis)
    name_ends(axes, ends)
    axes.set_xlabel("undirected edges m")
    axes.set_ylabel("undirected edges per second")
    axes.set_title(machine)
    return save(figure, folder, file)
