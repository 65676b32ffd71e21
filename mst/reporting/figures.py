"""Figures of the report, drawn once for each datum, as SVG for the page and SVG, PDF and CSV beside it."""

from __future__ import annotations

import io
from pathlib import Path


def times(rows, folder: Path) -> str:
    """Draw the time of each algorithm on each graph; return the SVG."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt
    import seaborn as sns

    proved = rows[(rows["status"] == "ok") & rows["grade"].notna() & rows["compute_seconds"].notna()]
    figure, axes = plt.subplots(figsize=(8, 4.5))
    if len(proved):
        sns.stripplot(proved, x="compute_seconds", y="graph", hue="algorithm", ax=axes)
        axes.set_xscale("log")
    axes.set_xlabel("compute time (s)")
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    text = io.StringIO()
    figure.savefig(text, format="svg", bbox_inches="tight")
    figure.savefig(folder / "times.pdf", bbox_inches="tight")
    plt.close(figure)
    svg = text.getvalue()
    (folder / "times.svg").write_text(svg)
    proved.to_csv(folder / "times.csv", index=False)
    return svg[svg.index("<svg") :]
