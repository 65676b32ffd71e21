"""The picture that opens the README, from the committed reference measurements.

``python docs/opening.py`` draws it: the time to find a forest on a few graphs, of other libraries and programs and of
this package on one core, on sixteen threads and on a GPU.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from mst.bench.records.reference import references
from mst.bench.records.store import CLAIMED, Record, load_records, table_row
from mst.reporting.charts.style import LIGHT, setup

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs/opening.svg"
Times = Mapping[tuple[str, str, int], float]
GRAPHS = {
    "USA-road-d.NY": "roads of New York\n0.37 M edges",
    "sparse-medium": "random, sparse\n1.5 M edges",
    "dense-medium": "random, dense\n0.45 M edges",
    "rmat16.sym": "R-MAT\n0.48 M edges",
}
# By algorithm and width: words, colour, marker.
SHOWN = {
    ("scipy", 1): ("SciPy", LIGHT[9], "X"),
    ("rustworkx", 1): ("rustworkx", LIGHT[9], "P"),
    ("ecl-mst-cuda", 1): ("ECL-MST (our port), GPU", LIGHT[3], "D"),
    ("filter-boruvka", 1): ("mst, one core", LIGHT[2], "o"),
    ("filter-boruvka-threads", 16): ("mst, 16 threads", LIGHT[0], "s"),
    ("filter-boruvka-cuda", 1): ("mst, GPU", LIGHT[1], "^"),
}


def milliseconds(records: Iterable[Record]) -> Times:
    """Return the median time of every proved run with default options, by graph, algorithm and width."""
    return {
        (row["graph"], row["algorithm"], row["width"]): 1e3 * row["compute_seconds"]
        for row in map(table_row, records)
        if row["grade"] not in (None, CLAIMED) and row["compute_seconds"] and row["options"] == "default"
    }


def draw(times: Times, out: Path) -> None:
    """Write the picture as SVG."""
    plt = setup()
    figure, axes = plt.subplots(figsize=(8.2, 3.4))
    rows = [graph for graph in GRAPHS if any((graph, *key) in times for key in SHOWN)]
    for key, (words, colour, marker) in SHOWN.items():
        points = [(times[graph, *key], -i) for i, graph in enumerate(rows) if (graph, *key) in times]
        size = 70 if words.startswith("mst") else 42
        axes.scatter(*zip(*points), s=size, c=colour, marker=marker, label=words, zorder=3, linewidths=0)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("time to find the minimum spanning forest, ms (logarithmic; further left is faster)")
    axes.set_yticks([-i for i in range(len(rows))], [GRAPHS[graph] for graph in rows])
    axes.set_ylim(-len(rows) + 0.5, 0.5)
    axes.grid(axis="y", visible=True)
    figure.legend(*axes.get_legend_handles_labels(), loc="upper center", ncol=4, frameon=False, fontsize=8.5)
    figure.tight_layout(rect=(0, 0, 1, 0.87))
    out.parent.mkdir(parents=True, exist_ok=True)
    # GitHub shows it on white and on black.
    figure.savefig(
        out, format="svg", facecolor="white", transparent=False, metadata={"Date": None, "Creator": "mst"}
    )
    plt.close(figure)


def fullest(bundles: Iterable[Times]) -> Times:
    """Return the times of the machine that measured most of the drawn runs: times of two machines do not compare."""
    shown = {(graph, *key) for graph in GRAPHS for key in SHOWN}
    return max(bundles, key=lambda times: len(shown & times.keys()))


def main(out: Path = PICTURE) -> None:
    """Draw the committed reference measurements of one machine."""
    found = references(ROOT / "results")
    draw(fullest(milliseconds(load_records(reference.records)) for reference in found), out)


if __name__ == "__main__":
    main()
