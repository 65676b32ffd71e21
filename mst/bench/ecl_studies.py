"""The two studies that ECL-MST's authors made of its threshold (Fallin et al., section 5.4), on our port.

``python -m mst.bench.ecl_studies [--graphs NAME-or-FILE,…] [--seeds 99] [--csv FILE] [--summary FILE]``

*Figure 6*: throughput with many seeds of the sample, as the five numbers of a box-and-whisker plot. *Figure 7*: how
far, at the seed of median throughput, the slots up to the threshold are from what it aims at: `factor` times the
edges of the forest. Like the paper, both count slots: an undirected edge is two. ``--csv`` gets a row per graph and
seed, ``--summary`` a row per graph. Graphs are those of `mst.bench.cuda_suite`. Needs CuPy and a GPU.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from mst.algorithms.cuda import ecl_mst

SEEDS = 99
REPETITIONS = 5
WHISKERS = ("least", "first_quartile", "median", "third_quartile", "greatest")


def main(arguments: list[str] | None = None) -> int:
    """Run both studies, print the summary, write what was asked for."""
    from mst.bench import cuda_suite

    parser = argparse.ArgumentParser(prog="mst.bench.ecl_studies", description=__doc__.splitlines()[0])
    parser.add_argument("--graphs", default=",".join(cuda_suite.GRAPHS), help="names or files")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="seeds 1, 2, …")
    parser.add_argument("--factor", type=int, choices=(3, 4), default=3, help="slots per vertex aimed at")
    parser.add_argument("--repetitions", type=int, default=REPETITIONS, help="solves per seed")
    parser.add_argument("--csv", type=Path, help="where a row per graph and seed goes")
    parser.add_argument("--summary", type=Path, help="where a row per graph goes")
    options = parser.parse_args(arguments)
    rows: list[dict[str, Any]] = []
    boxes: list[dict[str, Any]] = []
    for name in options.graphs.split(","):
        problem = prepared(cuda_suite.make(name), factor=options.factor)
        label = Path(name).name.split(".")[0]
        rows += (found := study(label, problem, range(1, options.seeds + 1), options.repetitions))
        boxes.append(summary(found))
        print("  ".join(f"{key} {_shown(value)}" for key, value in boxes[-1].items()), flush=True)
        for file, table in ((options.csv, rows), (options.summary, boxes)):
            if file:
                write_csv(file, table)
    return 0


def prepared(graph: Any, **options: Any) -> ecl_mst.Problem:
    """Return the port's problem on the device."""
    from mst import registry

    resolved = registry.get("ecl-mst-cuda").resolve(options)
    return ecl_mst.transfer(ecl_mst.prepare(graph, width=1, **resolved))


def study(name: str, problem: ecl_mst.Problem, seeds: Iterable[int], repetitions: int) -> list[dict[str, Any]]:
    """Return a row per seed: threshold, slots up to it, median time and throughput.

    Parameters
    ----------
    problem : Problem
        Of ``ecl-mst-cuda``, transferred. It keeps the last seed.
    repetitions : int
        Timed solves per seed, after one that is not.
    """
    rows = []
    for seed in seeds:
        ecl_mst.reseed(problem, seed)
        times = []
        for _ in range(repetitions + 1):
            began = perf_counter()
            result = ecl_mst.solve(problem)
            times.append(perf_counter() - began)
        seconds = statistics.median(times[1:])
        row = dict(graph=name, n=problem.n, m=problem.m, seed=seed, filtered=int(problem.filtered))
        row |= dict(milliseconds=1e3 * seconds, million_slots_per_second=problem.slots / seconds / 1e6)
        if problem.filtered:
            light = ecl_mst.light_slots(problem)
            target = problem.options["factor"] * int(result.chosen.sum(dtype=np.int64))
            row |= dict(threshold=problem.threshold, light=light, target=target)
            row["distance_percent"] = distance_percent(light, target)
        rows.append(row)
    return rows


def distance_percent(light: int, target: int) -> float:
    """Return by how many percent of the target there are more light slots than aimed at.

    Examples
    --------
    >>> from mst.bench.ecl_studies import distance_percent
    >>> distance_percent(450, 300), distance_percent(150, 300)
    (50.0, -50.0)
    """
    return 100 * (light - target) / target


def summary(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return a graph's line of both figures: the box of its throughputs, and the distance at the median seed.

    Examples
    --------
    >>> from mst.bench.ecl_studies import summary
    >>> rows = [dict(graph="g", n=9, m=20, seed=s, filtered=0, million_slots_per_second=x)
    ...         for s, x in enumerate((5.0, 1.0, 3.0))]
    >>> found = summary(rows)
    >>> found["least"], found["first_quartile"], found["median"], found["median_seed"]
    (1.0, 2.0, 3.0, 2)
    """
    throughputs = [row["million_slots_per_second"] for row in rows]
    middle = sorted(rows, key=lambda row: row["million_slots_per_second"])[len(rows) // 2]
    five = np.percentile(throughputs, (0, 25, 50, 75, 100)).tolist()
    return {
        **{key: middle[key] for key in ("graph", "n", "m", "filtered")},
        "seeds": len(rows),
        **dict(zip(WHISKERS, five, strict=True)),
        "median_seed": middle["seed"],
        "distance_percent": middle.get("distance_percent"),
    }


def write_csv(file: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Write rows; a column that a row lacks stays empty."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    with file.open("w", newline="") as out:
        writer = csv.DictWriter(out, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _shown(value: Any) -> str:
    return "-" if value is None else f"{value:.1f}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    sys.exit(main())
