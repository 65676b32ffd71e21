"""Many cores side by side: ours at several widths, on one core, PBBS's method, and programs on disk, by turns.

``python -m mst.bench.threads_suite`` is what ``make bench-threads`` runs: `mst.bench.side_by_side` by the wall clock, a
row for every width. ``--command NAME=TEMPLATE`` adds a program, run once a turn at the largest width
(`mst.bench.side_by_side.Command`); a few lines around the authors' function are enough for that.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from mst.bench import side_by_side
from mst.bench.side_by_side import Case, Command, Comparison, Contender, sequential_cases
from mst.errors import MSTError

PER_VERTEX, PER_EDGE = 32, 24
"""Bytes that a solve may take at its peak, beyond the input."""

OURS, SEQUENTIAL, PBBS = "filter-boruvka-threads", "filter-boruvka", "reservation-kruskal"
APPROXIMATE = "bucket-threads"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the suite; return 0 if all forests were right."""
    cores = len(os.sched_getaffinity(0))
    parser = side_by_side.parser_of("python -m mst.bench.threads_suite", __doc__.split("\n\n")[0])
    parser.add_argument("--widths", nargs="*", type=int, default=_widths(cores), help="of ours")
    chosen = parser.parse_args(arguments)
    widest = max(chosen.widths)
    try:
        contenders = [*contenders_at(chosen.widths), *(Command.parse(text, widest) for text in chosen.command)]
        wanted = side_by_side.chosen_cases(cases(chosen.scale), chosen.graphs)
        facts = dict(widths=chosen.widths, runtime=runtime())
        report = side_by_side.run("threads", wanted, contenders, chosen, "wall", **facts)
    except MSTError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return side_by_side.tell(report, page(report), chosen.out)


def _widths(cores: int) -> list[int]:
    """Return the powers of two up to the cores, and the cores."""
    return sorted({1 << i for i in range(cores.bit_length())} | {cores})


def _row(algorithm: str, width: int, options: dict[str, Any] | None = None) -> Contender:
    return Contender(algorithm, options or {}, width=width)


def contenders_at(widths: Sequence[int]) -> list[Contender]:
    """Return what is timed at these widths, beside programs."""
    widest = max(widths)
    return [
        _row(SEQUENTIAL, 1),
        *(_row(OURS, width) for width in widths),
        _row(OURS, widest, {"input": "csr"}),
        _row(PBBS, widest),
        _row(APPROXIMATE, widest),
    ]


def cases(scale: str) -> list[Case]:
    """Return the graphs of the sequential suite and two large ones."""
    part = 1 if scale == "full" else 100
    return [
        *sequential_cases(scale),
        Case("R-MAT 22", "rmat", dict(scale=22 if scale == "full" else 15, m=33_500_000 // part), "24 bits"),
        Case("r4-2e23", "uniform", dict(n=(1 << 23) // part, m=(1 << 25) // part), "24 bits"),
    ]


def runtime() -> dict[str, Any]:
    """Return what parallel kernels run on, asked of a process of its own."""
    code = "import json; from mst.kernels.parallel.runtime import facts; print(json.dumps(facts()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def page(report: dict[str, Any]) -> str:
    """Return the times, ratios and geometric means as Markdown, and the memory of our rows."""
    results, widths = report["results"], report["widths"]
    widest = max(widths)
    ours, alone = _row(OURS, widest).label, _row(OURS, 1).label
    named = tuple(Command.parse(text, widest).label for text in report["commands"])
    comparisons = [
        Comparison(alone, (_row(SEQUENTIAL, 1).label,), "width 1 / filter-boruvka"),
        *(
            Comparison(_row(OURS, width).label, (alone,), f"width {width} / width 1")
            for width in widths
            if width > 1
        ),
        Comparison(ours, (_row(PBBS, widest).label,), f"× {widest} / {PBBS}"),
        Comparison(ours, named, f"× {widest} / fastest program"),
    ]
    parts = [
        side_by_side.header(report),
        side_by_side.times(results, "wall"),
        side_by_side.speedups(results, comparisons, "wall"),
        "Threads: " + ", ".join(f"{name} {value}" for name, value in report["runtime"].items()) + ".",
        side_by_side.shares(results, PER_VERTEX, PER_EDGE, lambda label: label.startswith((OURS, APPROXIMATE))),
        side_by_side.left_out(report),
    ]
    return "\n\n".join(part for part in parts if part)


if __name__ == "__main__":
    sys.exit(main())
