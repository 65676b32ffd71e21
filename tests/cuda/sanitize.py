"""Small solves of CUDA algorithms, for compute-sanitizer; docs/cuda.md names them."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

import cupy
from oracles import by_python_kruskal

from mst import Graph, registry
from mst.algorithms.cuda.device.graph import DeviceGraph
from mst.algorithms.cuda.device.proof import prove
from mst.execute import implementation_of


def graphs(rng):
    """Yield few graphs that reach every path: filter, heavy phase, long rows, ties, 64-bit keys."""
    n = 3000
    u, v = rng.integers(0, n, (2, 24_000))
    yield Graph(n, u, v, rng.integers(0, 2**24, 24_000).astype(np.int32))
    yield Graph(n, u, v, rng.integers(0, 3, 24_000).astype(np.int32))
    yield Graph(n, np.where(rng.random(24_000) < 0.5, 0, u), v, rng.random(24_000))
    yield Graph(60, *rng.integers(0, 60, (2, 9_000)), rng.integers(-(2**62), 2**62, 9_000))
    yield Graph(50, [], [], np.zeros(0, np.float32))


def variants():
    """Yield algorithm ids with options that between them reach every kernel."""
    yield "filter-boruvka-cuda", {}
    yield "filter-boruvka-cuda", {"factor": 0.6}
    yield "filter-boruvka-cuda", {"start": "edges"}
    yield "filter-boruvka-cuda", {"start": "edges", "factor": 0.6}
    for rung in range(9):
        yield "ecl-mst-cuda", {"rung": rung}
    yield "edge-boruvka-cuda", {}
    yield "edge-boruvka-cuda", {"worklist": False, "compression": True}
    yield "edge-boruvka-cuda", {"minimum": "vertex"}
    yield "flat-boruvka-cuda", {}
    yield "flat-boruvka-cuda", {"union_find": "wait-free", "edges": "both", "order": "shuffled"}
    yield "flat-boruvka-cuda", {"flatten": "merged", "check": "flag", "walk": "contiguous"}
    yield "contract-boruvka-cuda", {}
    yield "contract-boruvka-cuda", {"minimum": "segmented", "work": "edge", "scan": "host", "block": 64}


def edge_ids(implementation, problem):
    """Solve and return the edge ids; without CuPy's own `nonzero`, which racecheck warns of."""
    result = implementation.solve(problem)
    if hasattr(result, "chosen"):
        return np.flatnonzero(cupy.asnumpy(result.chosen)).tolist()
    return implementation.collect(problem, result).tolist()


def main():
    """Exit with 1 if any forest is wrong."""
    cupy.cuda.set_allocator(None)  # a separate allocation for each array, so that overruns are detected
    wrong = 0
    for graph in graphs(np.random.default_rng(1)):
        expected = by_python_kruskal(graph)
        for name, options in variants():
            algorithm = registry.get(name)
            implementation = implementation_of(algorithm)
            there = DeviceGraph.of(graph)
            problem = implementation.ready(there, options=algorithm.resolve(options)).problem
            found = sorted(edge_ids(implementation, problem))
            if found != expected:
                wrong += 1
                print(f"wrong: {name} {options} on {graph}")
        proof = prove(there, cupy.asarray(np.array(expected, np.int64)))
        if not proof.ok:
            wrong += 1
            print(f"wrong proof: {proof.reason} on {graph}")
    print(f"{wrong} wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
