"""One look for all figures: a colour and a marker for each algorithm, and SVG that follows the page.

Colours alone do not distinguish thirty algorithms, and some readers see fewer of them: the marker gives the paradigm,
and every series is also named, on an axis or at the end of its line.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

from mst import resources

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
"""Dashes of lines, by an algorithm's place."""
GREY = "#7A7A7A"
_FONT = re.compile(r"font: ([\d.]+)px [^;\"]+")


def places(algorithms: Sequence[str]) -> dict[str, int]:
    """Return the place of every algorithm within its paradigm, which decides its colour and dashes.

    The registry's order decides the place, so that an algorithm looks the same on every page.
    """
    from mst import registry

    paradigms = Counter[str]()
    place = {}
    for algorithm in registry.algorithms().values():
        place[algorithm.id] = paradigms[algorithm.paradigm]
        paradigms[algorithm.paradigm] += 1
    # Algorithms that the registry does not know keep their looks by their names.
    return {a: place.get(a, crc32(a.encode()) % len(LIGHT)) for a in algorithms}


def colours(algorithms: Sequence[str]) -> dict[str, str]:
    """Return a colour for every algorithm."""
    return {a: LIGHT[place % len(LIGHT)] for a, place in places(algorithms).items()}


def variables() -> str:
    """Return the CSS variables of every colour in both themes."""
    light = "".join(f"--c{i}:{c};" for i, c in enumerate(LIGHT))
    dark = "".join(f"--c{i}:{c};" for i, c in enumerate(DARK))
    return f":root{{{light}}}@media (prefers-color-scheme: dark){{:root{{{dark}}}}}"


def setup() -> Any:
    """Return matplotlib's pyplot, set up so that text stays text and files are reproducible."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt
    import seaborn as sns

    sns.set_theme(style="ticks")
    plt.style.use(resources.path("report/figures.mplstyle"))
    return plt


def save(figure: Any, file: Path) -> str:
    """Write a figure as SVG and PDF; return the SVG for the page, whose ink follows the page's colours and font.

    `file` is a path without suffix.
    """
    import matplotlib.pyplot as plt

    file.parent.mkdir(parents=True, exist_ok=True)
    text = io.StringIO()
    # Fixed metadata: the same table gives the same bytes.
    figure.draw_without_rendering()
    box = figure.get_tightbbox().padded(0.06)
    figure.savefig(text, format="svg", bbox_inches=box, metadata={"Date": None, "Creator": "mst"})
    figure.savefig(f"{file}.pdf", bbox_inches=box, metadata={"CreationDate": None, "Creator": "mst"})
    plt.close(figure)
    svg = text.getvalue()
    Path(f"{file}.svg").write_text(svg)
    return _for_page(svg, file.name)


def _for_page(svg: str, name: str) -> str:
    from matplotlib import rcParams

    body = svg[svg.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r"<!--.*?-->\s*", "", body, flags=re.DOTALL)
    # Ids must be unique in the page, which holds many figures.
    body = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', body)
    body = re.sub(r'(xlink:href="#|url\(#)([^")]+)', rf"\1{name}-\2", body)
    ink, line = rcParams["text.color"], rcParams["grid.color"]
    body = body.replace(ink, "currentColor").replace(line, "var(--line)")
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
