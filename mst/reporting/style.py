"""One look for every figure: a colour and a marker for each algorithm, the same everywhere; SVG that follows the page.

Colours alone would not tell thirty algorithms apart, and some people see fewer of them: the marker says the
paradigm, and every series is also named in words, on an axis or at the end of its line.
"""

from __future__ import annotations

import io
import re
from pathlib import Path

# Okabe and Ito's palette (2008), made for colour blindness; its yellow and black are left out, since one fades on
# white and the other on black.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8A6BBE", "#7A7A7A")
MARKERS = {"sequential": "o", "threads": "s", "cuda": "^", "mpi": "D", "peer": "X"}
INK, FAINT = "#1b1f24", "#d0d4da"
_FONT = re.compile(r"font: ([\d.]+)px [^;\"]+")


def colours(algorithms: list[str]) -> dict[str, str]:
    """Return a colour for every algorithm; the registry's order decides, so figures agree between pages."""
    from mst import registry

    known = list(registry.algorithms())
    ordered = [a for a in known if a in algorithms] + sorted(set(algorithms) - set(known))
    places = {a: known.index(a) if a in known else len(known) + i for i, a in enumerate(ordered)}
    return {a: COLOURS[places[a] % len(COLOURS)] for a in ordered}


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
    body = _FONT.sub(r"font-size: \1px", body)
    # A width in points would not shrink on a phone.
    found = re.search(r'<svg[^>]*? width="([\d.]+)pt"', body)
    width = round(float(found.group(1)) * 96 / 72) if found else 600
    head_end = body.index(">") + 1
    head = re.sub(r' (width|height)="[\d.]+pt"', "", body[:head_end])
    head = head.replace("<svg", f'<svg role="img" style="width: 100%; max-width: {width}px"', 1)
    return head + re.sub(r"\n\s*", "\n", body[head_end:])
