"""GPU codes side by side: ours from rows and from an edge list, our ECL-MST port, and the original if it is there.

``python -m mst.bench.cuda_suite [--ecl PROGRAM] [--graphs NAME,…] [--json FILE]``, or ``make bench-cuda``. All codes
run side by side on the same graphs and weights. Ours are timed by wall clock around `solve`, inputs resident, and
by CUDA events; the original by what it prints. Needs CuPy, a GPU, and SciPy for the Delaunay graph.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from mst import registry
from mst.algorithms.cuda import _resident as resident

REPETITIONS = 9
ECL_RUNS = 5


def main(arguments: list[str] | None = None) -> int:
    """Measure and print a table; return 1 if two codes disagree."""
    parser = argparse.ArgumentParser(prog="mst.bench.cuda_suite", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--ecl", type=Path, help="ECL-MST's executable; it gets one .egr file and prints its time"
    )
    parser.add_argument("--graphs", default=",".join(GRAPHS), help="names, separated by commas")
    parser.add_argument("--json", type=Path, help="where all figures go")
    options = parser.parse_args(arguments)
    rows = []
    print(
        f"{'graph':16}{'n':>10}{'m':>10}{'ECL-MST':>9}{'csr':>8}{'edges':>8}{'port':>8}  ratios (ms; ECL-MST/ours)"
    )
    for name in options.graphs.split(","):
        rows.append(row := measure(name, options.ecl))
        times = "".join(
            _text(row[key], width) for key, width in (("ecl", 9), ("csr", 8), ("edges", 8), ("port", 8))
        )
        print(f"{name:16}{row['n']:>10}{row['m']:>10}{times}  {_ratios(row)}", flush=True)
    for key in ("csr", "edges"):
        known = [row["ecl"] / row[key] for row in rows if row["ecl"]]
        if known:
            print(f"geometric mean, {key}: {math.exp(statistics.fmean(map(math.log, known))):.2f}")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    return int(not all(row["agree"] for row in rows))


def measure(name: str, ecl: Path | None) -> dict[str, Any]:
    """Return the figures of one graph, in ms, and whether all codes agree on the forest."""
    graph = make(name)
    row: dict[str, Any] = {"graph": name, "n": graph.n, "m": graph.m}
    problem, ids, row["csr"], row["csr_events"] = timed("filter-boruvka-cuda", graph)
    row["counters"] = problem
    _, port_ids, row["port"], row["port_events"] = timed("ecl-mst-cuda", graph)
    shuffled, _permutation = shuffle(graph)
    row["edge_counters"], edge_ids, row["edges"], row["edges_events"] = timed(
        "filter-boruvka-cuda", shuffled, start="edges"
    )
    weight = int(graph.w[ids].astype(np.int64).sum())
    agree = np.array_equal(ids, port_ids) and weight == int(shuffled.w[edge_ids].astype(np.int64).sum())
    row["ecl"] = None
    if ecl:
        row["ecl"] = statistics.median(original(ecl, graph) for _ in range(ECL_RUNS))
    row["agree"], row["weight"], row["forest"] = bool(agree), weight, len(ids)
    return row


def timed(name: str, graph: resident.DeviceGraph, **options: Any) -> tuple[dict, np.ndarray, float, float]:
    """Return counters, edge ids, and the medians by wall clock and by events, in ms."""
    import cupy

    algorithm = registry.get(name)
    module = algorithm.load()
    problem = module.transfer(module.prepare(graph, width=1, **algorithm.resolve(options)))
    stream = cupy.cuda.get_current_stream()
    walls, events = [], []
    for _ in range(REPETITIONS + 2):
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        stream.synchronize()
        began = perf_counter()
        start.record()
        result = module.solve(problem)
        walls.append((perf_counter() - began) * 1e3)
        end.record()
        end.synchronize()
        events.append(cupy.cuda.get_elapsed_time(start, end))
    ids = np.sort(module.collect(problem, result))
    return module.counters(problem, result), ids, statistics.median(walls[2:]), statistics.median(events[2:])


def original(program: Path, graph: resident.DeviceGraph) -> float:
    """Return the time that ECL-MST prints for a graph, in ms."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "graph.egr")
        write_egr(file, graph)
        run = subprocess.run([program, file], capture_output=True, text=True, check=True)
    line = next(line for line in run.stdout.splitlines() if line.startswith("Dev"))
    return float(line.split()[1]) * 1e3


def write_egr(file: Path, graph: resident.DeviceGraph) -> None:
    """Write rows as ECL-MST reads them: counts, offsets, neighbours and weights, all int32."""
    rows = resident.device_rows(graph.n, graph.u, graph.v, graph.w)
    with file.open("wb") as out:
        np.array([graph.n, len(rows.keys)], np.int32).tofile(out)
        for array in (rows.offsets, rows.pairs[:, 0], rows.keys):
            array.get().astype(np.int32).tofile(out)


def make(name: str, seed: int = 7) -> resident.DeviceGraph:
    """Return a graph on the device, with random weights below 2²⁴."""
    import cupy

    n, u, v = GRAPHS[name]()
    weights = cupy.random.default_rng(seed).integers(0, 1 << 24, len(u)).astype(cupy.int32)
    return resident.DeviceGraph(n, u, v, weights)


def shuffle(graph: resident.DeviceGraph, seed: int = 3) -> tuple[resident.DeviceGraph, Any]:
    """Return the graph with its edges in random order, and that order."""
    import cupy

    order = cupy.random.RandomState(seed).permutation(graph.m)
    return resident.DeviceGraph(graph.n, graph.u[order], graph.v[order], graph.w[order]), order


def simple(n: int, a: Any, b: Any) -> tuple[int, Any, Any]:
    """Return n and the distinct edges without loops, sorted by (u, v) with u < v."""
    import cupy

    a, b = a.astype(cupy.int64), b.astype(cupy.int64)
    low, high = cupy.minimum(a, b), cupy.maximum(a, b)
    pairs = cupy.unique((low * n + high)[low != high])
    return n, (pairs // n).astype(cupy.int32), (pairs % n).astype(cupy.int32)


def grid(side: int, kept: float = 1.0) -> tuple[int, Any, Any]:
    """Return a square grid in row-major order, a random part `kept` of its edges."""
    import cupy

    i = cupy.arange(side * side, dtype=cupy.int64)
    right, down = i[i % side < side - 1], i[i // side < side - 1]
    a, b = cupy.concatenate((right, down)), cupy.concatenate((right + 1, down + side))
    if kept < 1:
        chosen = cupy.random.default_rng(1).random(len(a), dtype=cupy.float32) < kept
        a, b = a[chosen], b[chosen]
    return simple(side * side, a, b)


def uniform(n: int, m: int) -> tuple[int, Any, Any]:
    """Return a uniform random graph; repeated edges and loops go."""
    import cupy

    rng = cupy.random.default_rng(1)
    return simple(n, rng.integers(0, n, m), rng.integers(0, n, m))


def rmat(scale: int, m: int) -> tuple[int, Any, Any]:
    """Return an R-MAT graph with probabilities .45, .15, .15 and .25."""
    import cupy

    rng = cupy.random.default_rng(1)
    a, b = cupy.zeros(m, cupy.int64), cupy.zeros(m, cupy.int64)
    for _ in range(scale):
        r = rng.random(m, dtype=cupy.float32)
        a = 2 * a + (r >= 0.6)
        b = 2 * b + (((r >= 0.45) & (r < 0.6)) | (r >= 0.75))
    return simple(1 << scale, a, b)


def dense(n: int, m: int) -> tuple[int, Any, Any]:
    """Return about m random edges of the complete graph."""
    import cupy

    u, v = np.triu_indices(n, 1)
    kept = np.random.default_rng(1).random(len(u)) < m / len(u)
    return n, cupy.asarray(u[kept].astype(np.int32)), cupy.asarray(v[kept].astype(np.int32))


def delaunay(n: int) -> tuple[int, Any, Any]:
    """Return the Delaunay triangulation of random points, numbered along strips."""
    import cupy
    from scipy.spatial import Delaunay

    points = np.random.default_rng(1).random((n, 2))
    strips = (points * math.isqrt(n)).astype(int)
    triangles = Delaunay(points[np.lexsort((points[:, 0], strips[:, 1]))]).simplices
    a = triangles.ravel()
    b = np.roll(triangles, -1, axis=1).ravel()
    return simple(n, cupy.asarray(a), cupy.asarray(b))


GRAPHS: dict[str, Callable[[], tuple[int, Any, Any]]] = {
    "2d-2e20": lambda: grid(1024),
    "road-4M": lambda: grid(2000, 2 / 3),
    "delaunay-2e20": lambda: delaunay(1 << 20),
    "sparse-medium": lambda: uniform(10**6, 1_500_000),
    "sparse-large": lambda: uniform(10**7, 15 * 10**6),
    "r4-2e23": lambda: uniform(1 << 23, 1 << 25),
    "rmat16": lambda: rmat(16, 600_000),
    "rmat22": lambda: rmat(22, 34_300_000),
    "dense-medium": lambda: dense(1000, 450_000),
    "dense-large": lambda: dense(5000, 11_200_000),
}


def _text(time: float | None, width: int) -> str:
    return f"{'-':>{width}}" if time is None else f"{time:>{width}.3f}"


def _ratios(row: dict[str, Any]) -> str:
    agree = "" if row["agree"] else "  THE FORESTS DIFFER"
    if row["ecl"] is None:
        return agree
    return " ".join(f"{row['ecl'] / row[key]:.1f}" for key in ("csr", "edges", "port")) + agree


if __name__ == "__main__":
    sys.exit(main())
