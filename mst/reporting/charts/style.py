"""One look for every figure: a colour and a marker for each algorithm, the same everywhere; SVG that follows the page.

Colours alone would not tell thirty algorithms apart, and some people see fewer of them: the marker says the
paradigm, and every series is also named in words, on an axis or at the end of its line.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

# Chosen together so that the closest pair stays apart under simulated protanopia, deuteranopia and tritanopia
# (Machado, Oliveira and Fernandes 2009; distances in OKLab), on white and on the dark page.
LIGHT = (
    "#183d6b", "#dd8123", "#247996", "#874657", "#5da37f",
    "#5f49ab", "#7b702b", "#642724", "#b876e5", "#8b8f96",
)  # fmt: skip
DARK = (
    "#6088bc", "#ffc089", "#6abad9", "#d18999", "#94dcb5",
    "#a08ef7", "#bbaf6b", "#b6706b", "#e6b8ff", "#aeb4bd",
)  # fmt: skip
MARKERS = {"sequential": "o", "threads": "s", "cuda": "^", "mpi": "D", "peer": "X"}
DASHES: tuple[Any, ...] = ("", (6, 2), (2, 1.5), (8, 2, 2, 2))
"""Of lines, by an algorithm's place: with ten colours, twenty looks before marker and name."""
INK, FAINT = "#1b1f24", "#d0d4da"
_FONT = re.compile(r"font: ([\d.]+)px [^;\"]+")


def places(algorithms: Sequence[str]) -> dict[str, int]:
    """Return the place of every algorithm among those of its paradigm: its colour, and how its lines are dashed.

    The registry's order decides, so an algorithm looks the same whatever else was measured.
    """
    from mst import registry

    known = registry.algorithms()
    peers: dict[str, list[str]] = {}
    for algorithm in known.values():
        peers.setdefault(algorithm.paradigm, []).append(algorithm.id)
    place = {name: i for names in peers.values() for i, name in enumerate(names)}
    # Those of a user's own, or of another version, keep their looks by their names.
    return {a: place.get(a, crc32(a.encode()) % len(LIGHT)) for a in algorithms}


def colours(algorithms: Sequence[str]) -> dict[str, str]:
    """Return a colour for every algorithm, by its place among those of its paradigm, whose marker it shares."""
    return {a: LIGHT[place % len(LIGHT)] for a, place in places(algorithms).items()}


def variables() -> str:
    """Return the CSS that gives every colour in both themes."""
    light = "".join(f"--c{i}:{c};" for i, c in enumerate(LIGHT))
    dark = "".join(f"--c{i}:{c};" for i, c in enumerate(DARK))
    return f":root{{{light}}}@media (prefers-color-scheme: dark){{:root{{{dark}}}}}"


def setup():
    """Return matplotlib's pyplot, set up for text that stays text and files that are the same every time."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt
    import seaborn as sns

    sns.set_theme(
        style="ticks",
        rc={
            "svg.fonttype": "none",
            "svg.hashsalt": "mst",
            "pdf.fonttype": 3,
            "font.family": "sans-serif",
            "font.sans-serif": ["DejaVu Sans"],
            "font.size": 9,
            "axes.titlesize": 10,
            "axes.titleweight": "bold",
            "axes.titlelocation": "left",
            "axes.labelsize": 9,
            "xtick.labelsize": 8.5,
            "ytick.labelsize": 8.5,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.edgecolor": INK,
            "axes.labelcolor": INK,
            "text.color": INK,
            "xtick.color": INK,
            "ytick.color": INK,
            "axes.grid": True,
            "grid.color": FAINT,
            "grid.linewidth": 0.6,
            "axes.axisbelow": True,
            "figure.facecolor": "none",
            "axes.facecolor": "none",
            "savefig.facecolor": "none",
            "savefig.transparent": True,
        },
    )
    return plt


def save(figure, folder: Path, name: str) -> str:
    """Write a figure as SVG and PDF; return the SVG for the page: its ink follows the page's colours and font."""
    import matplotlib.pyplot as plt

    folder.mkdir(parents=True, exist_ok=True)
    text = io.StringIO()
    # Fixed metadata: the same table gives the same bytes.
    figure.draw_without_rendering()
    box = figure.get_tightbbox().padded(0.06)
    figure.savefig(text, format="svg", bbox_inches=box, metadata={"Date": None, "Creator": "mst"})
    figure.savefig(folder / f"{name}.pdf", bbox_inches=box, metadata={"CreationDate": None, "Creator": "mst"})
    plt.close(figure)
    svg = text.getvalue()
    (folder / f"{name}.svg").write_text(svg)
    return _for_page(svg, name)


def _for_page(svg: str, name: str) -> str:
    body = svg[svg.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r"<!--.*?-->\s*", "", body, flags=re.DOTALL)
    # Ids must be unique in the page, which holds many figures.
    body = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', body)
    body = re.sub(r'(xlink:href="#|url\(#)([^")]+)', rf"\1{name}-\2", body)
    body = body.replace(INK, "currentColor").replace(FAINT, "var(--line)")
    for i, colour in enumerate(LIGHT):
        body = body.replace(colour, f"var(--c{i})")
    body = _FONT.sub(r"font-size: \1px", body)
    # A width in points would not shrink on a phone; smaller than this, its words could not be read there.
    found = re.search(r'<svg[^>]*? width="([\d.]+)pt"', body)
    width = round(float(found.group(1)) * 96 / 72) if found else 600
    head_end = body.index(">") + 1
    head = re.sub(r' (width|height)="[\d.]+pt"', "", body[:head_end])
    size = f"width: 100%; max-width: {width}px; min-width: {round(0.72 * width)}px"
    head = head.replace("<svg", f'<svg role="img" style="{size}"', 1)
    return head + re.sub(r"\n\s*", "\n", body[head_end:])
