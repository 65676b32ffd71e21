"""One look for all figures: a colour for each paradigm, a mark for each source, and SVG that follows the page.

Filled marks were measured here and hollow ones on reference machines; diamonds were published. Some readers see fewer
colours: every series is also named, on an axis or at the end of its line.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Any

from mst import resources
from mst.atomic import write_bytes

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
PARADIGMS = {"sequential": LIGHT[0], "threads": LIGHT[4], "cuda": LIGHT[1], "mpi": LIGHT[8], "peer": LIGHT[9]}
"""Colours of our paradigms, and the grey of other libraries and programs."""
PUBLISHED = LIGHT[6]
DASHES: tuple[Any, ...] = ("", (6, 2), (2, 1.5), (8, 2, 2, 2))
"""Dashes of lines, by their place among those of one paradigm."""
GREY = "#7A7A7A"
MOST_MARKS = 500
"""A panel of more marks holds them as one picture: a thousand marks of SVG take as much as the page's text."""
_FONT = re.compile(r"font: ([\d.]+)px [^;\"]+")


def mark(colour: str, *, elsewhere: bool) -> dict[str, Any]:
    """Return the look of a measured value's mark: filled if measured here, hollow if on a reference machine."""
    return dict(marker="o", color=colour, markerfacecolor="none" if elsewhere else colour, linestyle="none")


def published_mark(colour: str) -> dict[str, Any]:
    """Return the look of a published value's mark: a diamond of one fill, edged in the colour of its column."""
    return dict(marker="D", color=PUBLISHED, markeredgecolor=colour, linestyle="none", markersize=4.5)


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

    with _without_scipy():
        import seaborn as sns

    sns.set_theme(style="ticks")
    plt.style.use(resources.path("report/figures.mplstyle"))
    return plt


@contextmanager
def _without_scipy() -> Iterator[None]:
    """Hide SciPy, which takes a second to load: seaborn has it for densities and clusters, which no figure shows."""
    hidden = [name for name in ("scipy.stats", "scipy.cluster", "scipy.spatial") if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]


def save(figure: Any, file: Path, label: str = "") -> str:
    """Write `file`.svg and `file`.pdf; return the SVG for the page, whose ink follows the page's colours and font.

    The `label` is for screen readers, which do not read the words of a picture.
    """
    import matplotlib.pyplot as plt

    file.parent.mkdir(parents=True, exist_ok=True)
    text, pdf = io.StringIO(), io.BytesIO()
    box = figure.get_tightbbox().padded(0.06)
    figure.savefig(text, format="svg", bbox_inches=box, metadata={"Date": None, "Creator": "mst"})
    figure.savefig(pdf, format="pdf", bbox_inches=box, metadata={"CreationDate": None, "Creator": "mst"})
    plt.close(figure)
    svg = text.getvalue()
    write_bytes(f"{file}.svg", svg.encode())
    write_bytes(f"{file}.pdf", pdf.getvalue())
    return _for_page(svg, file.name, label)


def _for_page(svg: str, name: str, label: str) -> str:
    from matplotlib import rcParams

    body = svg[svg.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r"<!--.*?-->\s*", "", body, flags=re.DOTALL)
    # Ids must be unique in the page, which holds many figures.
    body = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', body)
    body = re.sub(r'(xlink:href="#|url\(#)([^")]+)', rf"\1{name}-\2", body)
    body = body.replace(rcParams["text.color"], "currentColor").replace(rcParams["grid.color"], "var(--line)")
    for i, colour in enumerate(LIGHT):
        body = body.replace(colour, f"var(--c{i})")
    body = _FONT.sub(r"font-size: \1px", body)
    # A width in points would not shrink on a phone; smaller than this, its words could not be read there.
    found = re.search(r'<svg[^>]*? width="([\d.]+)pt"', body)
    width = round(float(found.group(1)) * 96 / 72) if found else 600
    head_end = body.index(">") + 1
    head = re.sub(r' (width|height)="[\d.]+pt"', "", body[:head_end])
    size = f"width: 100%; max-width: {width}px; min-width: {round(0.72 * width)}px"
    head = head.replace("<svg", f'<svg role="img" aria-label="{escape(label)}" style="{size}"', 1)
    return head + re.sub(r"\n\s*", "\n", body[head_end:])
