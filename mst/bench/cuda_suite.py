"""GPU codes side by side: ours from rows and from an edge list, our ECL-MST port, the original and cuGraph if there.

``python -m mst.bench.cuda_suite [--ecl PROGRAM] [--graphs NAME-or-FILE,…] [--json FILE] [--huge]``, or ``make
bench-cuda``. All codes run side by side on the same graphs and weights. Ours are timed by wall clock around `solve`,
inputs resident, and by CUDA events around launches that queue up; the original by what it prints. ``--huge`` solves
a random graph of n = 2²⁶, m = 2²⁹ instead (or other powers of two) and proves its forest on the device. Needs CuPy, a
GPU, and SciPy for the Delaunay graph.
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
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from mst import registry
from mst.algorithms.cuda import _resident as resident
from mst.algorithms.cuda import filter_boruvka
from mst.facts import Facts

REPETITIONS = 15
ECL_RUNS = 5
HUGE = (26, 29)
TRAFFIC = ("bytes/edge", "random/edge", "floor µs", "× floor")


def main(arguments: list[str] | None = None) -> int:
    """Measure and print a table; return 1 if two codes disagree, or a proof fails."""
    parser = argparse.ArgumentParser(prog="mst.bench.cuda_suite", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--ecl", type=Path, help="ECL-MST's executable; it gets one .egr file and prints its time"
    )
    parser.add_argument("--graphs", default=",".join(GRAPHS), help="names or files, separated by commas")
    parser.add_argument("--json", type=Path, help="where all figures go")
    parser.add_argument(
        "--huge", nargs="*", type=int, metavar="LOG2", help=f"solve and prove n = 2^{HUGE[0]}, m = 2^{HUGE[1]}"
    )
    options = parser.parse_args(arguments)
    if options.huge is None:
        rows = table(options.graphs.split(","), options.ecl and options.ecl.resolve())
    else:
        rows = huge(*(1 << power for power in options.huge or HUGE))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    return int(not all(row["agree"] for row in rows))


def table(names: list[str], ecl: Path | None) -> list[dict[str, Any]]:
    """Print a line per graph and the geometric means; return the rows."""
    print("ms; adds: µs that a solve from rows takes beyond its kernel")
    print("ratios: ECL-MST / ours from rows and from edges, port / ECL-MST, cuGraph / ours from rows")
    print(
        f"{'graph':20}{'n':>10}{'m':>10}{'ECL-MST':>9}{'cuGraph':>9}{'csr':>8}{'edges':>8}{'port':>8}{'adds':>6}"
        f"{'csr':>7}{'edges':>7}{'port':>7}{'cuG.':>7}"
    )
    rows = []
    for name in names:
        rows.append(row := measure(name, ecl))
        times = "".join(
            _text(row[key], width, 3)
            for key, width in (("ecl", 9), ("cugraph", 9), ("csr", 8), ("edges", 8), ("port", 8))
        )
        ratios = "".join(_text(ratio, 7, 2) for ratio in _ratios(row).values())
        agree = "" if row["agree"] else "  THE FORESTS DIFFER"
        adds = 1e3 * (row["csr"] - row["csr_kernel"])
        print(f"{row['graph']:20}{row['n']:>10}{row['m']:>10}{times}{adds:>6.0f}{ratios}{agree}", flush=True)
    for key in ("csr", "edges", "port", "cugraph"):
        known = [ratio for row in rows if (ratio := _ratios(row)[key])]
        if known:
            mean = math.exp(statistics.fmean(map(math.log, known)))
            print(f"{key:8} geometric mean {mean:.2f}, least {min(known):.2f}, greatest {max(known):.2f}")
    floors(rows)
    return rows


def measure(name: str, ecl: Path | None) -> dict[str, Any]:
    """Return the figures of one graph, in ms, and whether all codes agree on the forest."""
    graph = make(name)
    row: dict[str, Any] = {"graph": Path(name).name.split(".")[0], "n": graph.n, "m": graph.m}
    row["csr_counters"], ids, row["csr"], row["csr_kernel"] = timed("filter-boruvka-cuda", graph)
    row["port_counters"], port_ids, row["port"], _ = timed("ecl-mst-cuda", graph)
    shuffled, _ = shuffle(graph)
    row["edges_counters"], edge_ids, row["edges"], row["edges_kernel"] = timed(
        "filter-boruvka-cuda", shuffled, start="edges"
    )
    weight = int(graph.w[ids].astype(np.int64).sum())
    agree = np.array_equal(ids, port_ids) and weight == int(shuffled.w[edge_ids].astype(np.int64).sum())
    row["ecl"] = original(ecl, graph) if ecl else None
    row["cugraph"] = cugraph(graph)
    row["agree"], row["weight"], row["forest"] = bool(agree), weight, len(ids)
    return row


def traffic(n: int, m: int, counters: dict[str, int], *, csr: bool) -> tuple[float, float]:
    """Return the bytes and the random accesses of a solve, per edge; 32-bit keys.

    Counted from the algorithm and its counters: keys, the first round, light and heavy records; not the later rounds,
    on at most half of the components. A random access is one at an address that data decide.

    Examples
    --------
    >>> from mst.bench.cuda_suite import traffic
    >>> traffic(10, 20, dict(light_records=20, heavy_records=0, outside=0), csr=True)
    (82.0, 5.5)
    """
    light, heavy = counters["light_records"], counters["heavy_records"]
    filtered = heavy > 0 or counters["outside"] > 0
    moved: float
    random: float
    if csr:
        # Row keys and list keys; per vertex: offset, slot, choice, hook and its target, label.
        moved, random = 12 * m + 44 * n + 48 * light, 3 * n + 4 * light
        rows = counters["outside"] * (12 + 8 * m / max(n, 1))
        moved, random = moved + rows + 36 * heavy, random + 3 * heavy
    else:
        # List keys, ends; per vertex: minimum, its record, hook and its target; light records made and relabelled.
        moved, random = (16 if filtered else 12) * m + 36 * n + 56 * light, 3 * n + 4 * light
        moved, random = moved + 40 * heavy, random + 4 * heavy
    if filtered:  # every vertex learns the component that it ended in
        moved, random = moved + 12 * n, random + n
    return moved / max(m, 1), random / max(m, 1)


def floor_milliseconds(n: int, m: int, *, csr: bool) -> float:
    """Return the time to stream the rows once, or the list, at 4 TB/s."""
    return (4 * n + 16 * m if csr else 12 * m) / 4e12 * 1e3


def floors(rows: list[dict[str, Any]]) -> None:
    """Print what `traffic` counts, and how far the kernels are from `floor_milliseconds`."""
    print(f"{'graph':20}" + "".join(f"{s + ' ' + c:>18}" for s in ("csr", "edges") for c in TRAFFIC))
    for row in rows:
        line = ""
        for start, csr in (("csr", True), ("edges", False)):
            moved, random = traffic(row["n"], row["m"], row[f"{start}_counters"], csr=csr)
            least = floor_milliseconds(row["n"], row["m"], csr=csr)
            line += f"{moved:>18.0f}{random:>18.1f}{1e3 * least:>18.1f}{row[f'{start}_kernel'] / least:>18.0f}"
        print(f"{row['graph']:20}{line}")


def timed(
    name: str, graph: resident.DeviceGraph, **options: Any
) -> tuple[dict, np.ndarray, float, float | None]:
    """Return counters, edge ids, and the medians in ms: by wall clock, and of the kernel where there is only one."""
    module = registry.get(name).load()
    problem = module.transfer(module.prepare(graph, width=1, **registry.get(name).resolve(options)))
    walls = []
    for _ in range(REPETITIONS + 2):
        began = perf_counter()
        result = module.solve(problem)
        walls.append((perf_counter() - began) * 1e3)
    ids = np.sort(module.collect(problem, result))
    kernel = queued(problem) if module is filter_boruvka else None
    return module.counters(problem, result), ids, statistics.median(walls[2:]), kernel


def queued(problem: filter_boruvka.Problem) -> float:
    """Return the median time of a solve's kernel, in ms, when several launches wait behind each other."""
    import cupy

    forest = cupy.empty(problem.n, cupy.uint32)
    problem.plan["forest"] = forest.data.ptr
    events = [cupy.cuda.Event() for _ in range(REPETITIONS + 1)]
    for event in events:
        problem.kernel.launch(problem.blocks, filter_boruvka.BLOCK, problem.arguments)
        event.record()
    events[-1].synchronize()
    return statistics.median(cupy.cuda.get_elapsed_time(a, b) for a, b in pairwise(events))


def original(program: Path, graph: resident.DeviceGraph) -> float:
    """Return the median of the times that ECL-MST prints for a graph, in ms; a program that prints many runs once."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "graph.egr")
        write_egr(file, graph)
        times: list[float] = []
        while len(times) < ECL_RUNS:
            run = subprocess.run([program, file], capture_output=True, text=True, check=True)
            printed = [float(line.split()[1]) for line in run.stdout.splitlines() if line.startswith("Dev")]
            times += printed[2:] or printed
    return statistics.median(times) * 1e3


def cugraph(graph: resident.DeviceGraph) -> float | None:
    """Return cuGraph's median time with float32 weights, in ms, or None where it is not installed."""
    from mst import Graph

    peer = registry.get("cugraph")
    if peer.missing():
        return None
    module = peer.load()
    host = Graph(graph.n, graph.u.get(), graph.v.get(), graph.w.get())
    problem = module.transfer(module.prepare(host, width=1, precision="float32"))
    walls = []
    for _ in range(5):
        began = perf_counter()
        module.solve(problem)
        walls.append((perf_counter() - began) * 1e3)
    return statistics.median(walls[1:])


def huge(n: int, m: int) -> list[dict[str, Any]]:
    """Solve a uniform random multigraph from its edge list and from rows; prove the forest on the device."""
    import cupy

    from mst.algorithms.cuda import _proof

    rng = cupy.random.default_rng(1)
    u, v = (rng.integers(0, n, m, dtype=cupy.int32) for _ in range(2))
    graph = resident.DeviceGraph(n, u, v, rng.integers(0, 1 << 30, m, dtype=cupy.int32))
    rows, first = [], None
    algorithm = registry.get("filter-boruvka-cuda")
    for start in ("edges", "csr"):
        facts = Facts(n=n, m=m, weight_dtype="int32")
        if reason := algorithm.skip(facts, width=1, options={"start": start}):
            print(f"from {start}: {reason}")
            continue
        problem = filter_boruvka.transfer(
            filter_boruvka.prepare(graph, width=1, **algorithm.resolve({"start": start}))
        )
        walls = []
        for _ in range(3):
            began = perf_counter()
            result = filter_boruvka.solve(problem)
            walls.append((perf_counter() - began) * 1e3)
        ids = cupy.sort(result.edge_ids)
        row = {"graph": f"huge-{start}", "n": n, "m": m, "ms": statistics.median(walls), "forest": len(ids)}
        row["counters"] = filter_boruvka.counters(problem, result)
        row["bytes"] = filter_boruvka.device_bytes(problem)
        del problem, result
        cupy.get_default_memory_pool().free_all_blocks()
        if first is None:
            proof = _proof.prove(graph, ids)
            first, row["agree"], row["reason"], row["proof_s"] = ids, proof.ok, proof.reason, proof.seconds
        else:
            row["agree"] = len(ids) == len(first) and bool((ids == first).all())
        print(json.dumps(row), flush=True)
        rows.append(row)
    return rows


def write_egr(file: Path, graph: resident.DeviceGraph) -> None:
    """Write rows as ECL-MST reads them: counts, offsets, neighbours and weights, all int32."""
    rows = resident.device_rows(graph.n, graph.u, graph.v, graph.w)
    with file.open("wb") as out:
        np.array([graph.n, len(rows.keys)], np.int32).tofile(out)
        for array in (rows.offsets, rows.pairs[:, 0], rows.keys):
            array.get().astype(np.int32).tofile(out)


def make(name: str, seed: int = 7) -> resident.DeviceGraph:
    """Return a graph on the device: a named one with random weights below 2²⁴, or a file's."""
    import cupy

    if name not in GRAPHS:
        return from_file(Path(name))
    n, u, v = GRAPHS[name]()
    weights = cupy.random.default_rng(seed).integers(0, 1 << 24, len(u)).astype(cupy.int32)
    return resident.DeviceGraph(n, u, v, weights)


def from_file(file: Path) -> resident.DeviceGraph:
    """Return a file's graph, made simple; where all weights are equal, hashed ones below 2²⁴ replace them."""
    import cupy

    from mst.simplify import simplify
    from mst.solver import read_graph
    from mst.weights import WeightSpec, hash_weights

    graph, _ = simplify(read_graph(file))
    weights = graph.w
    if graph.m and weights.min() == weights.max():
        weights = hash_weights(graph.u, graph.v, seed=1, spec=WeightSpec())
    return resident.DeviceGraph(
        graph.n, *(cupy.asarray(array.astype(np.int32)) for array in (graph.u, graph.v, weights))
    )


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


def _text(number: float | None, width: int, digits: int) -> str:
    return f"{'-':>{width}}" if number is None else f"{number:>{width}.{digits}f}"


def _ratios(row: dict[str, Any]) -> dict[str, float | None]:
    """Return ECL-MST's time over ours, the port's over ECL-MST's, and cuGraph's over ours."""
    ecl, peer = row["ecl"], row["cugraph"]
    return {
        "csr": ecl and ecl / row["csr"],
        "edges": ecl and ecl / row["edges"],
        "port": ecl and row["port"] / ecl,
        "cugraph": peer and peer / row["csr"],
    }


if __name__ == "__main__":
    sys.exit(main())
