"""Attack solvers with unions of tiny adversarial graphs: ``python solver_attack.py [--graphs N] [--seconds S] …``.

Every algorithm solves every union at every width, with options at random, and its edge ids are compared with those of
`oracles.by_python_kruskal`, which shares no code with the package. Prints the counts as JSON; a wrong forest ends it by
an AssertionError that names the seed. Run it with NUMBA_NUM_THREADS as large as the largest width; under mpiexec it
attacks the algorithms of ranks.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import Counter

import numpy as np
import oracles
import tiny_graphs
from test_every_algorithm import ALGORITHMS, facts_of, reason_to_skip, values_of

from mst import registry
from mst.execute import implementation_of
from mst.graph import Graph

SIZES = (1000, 1, 100, 1, 10, 1, 2)
"""Graphs of successive unions: many solves are of a single tiny graph, most graphs are in large unions.

Every other union is connected, since some algorithms take no others.
"""


def options_at_random(rng: np.random.Generator, algorithm: registry.Algorithm) -> dict:
    """Return the defaults, or a value for every option."""
    if rng.random() < 0.3:
        return {}
    values = {option.name: values_of(option) for option in algorithm.options.values()}
    return {name: some[rng.integers(len(some))] for name, some in values.items()}


def solve(algorithm, graph: Graph, width: int, options: dict, comm=None) -> np.ndarray | None:
    """Return the ids of the forest on the host (under MPI on rank 0), or None where the graph does not fit."""
    resolved = algorithm.resolve(options)
    if algorithm.skip(facts_of(graph), width=width, options=resolved):
        return None
    implementation = implementation_of(algorithm)
    if comm is None:
        problem = implementation.ready(graph, width, resolved).problem
    else:
        from mst.edge_slice import of_graph

        problem = implementation.ready(
            of_graph(graph, comm.rank, comm.size), options=resolved, comm=comm
        ).problem
    return np.sort(implementation.collect(problem, implementation.solve(problem)))


def attacked(paradigms: tuple[str, ...], names: list[str]) -> list[registry.Algorithm]:
    """Return the exact algorithms that break ties by edge id and can run here."""
    return [
        algorithm
        for name, algorithm in ALGORITHMS.items()
        if algorithm.paradigm in paradigms
        and (not names or name in names)
        and algorithm.exact
        and algorithm.ties == "order"
        and (algorithm.paradigm == "mpi" or reason_to_skip(algorithm) is None)
    ]


def attack(algorithms, widths: list[int], graphs: int, seconds: float, seed: int, comm=None) -> Counter:
    """Solve unions until each algorithm and width has had so many graphs, or the time is over; return the counts.

    The time begins after the first union, which loads machine code.
    """
    runs = [
        (a, w) for a in algorithms for w in (widths if a.paradigm == "threads" else [comm.size if comm else 1])
    ]
    counts = Counter({f"{algorithm.id} w{width}": 0 for algorithm, width in runs})
    stop = np.inf
    turn = 0
    while _all(comm, min(counts.values()) < graphs and time.monotonic() < stop):
        rng = np.random.default_rng([seed, turn])
        size = SIZES[turn % len(SIZES)]
        graph = tiny_graphs.union(rng, size, connected=turn % 2 == 1)
        expected = oracles.by_python_kruskal(graph) if comm is None or comm.rank == 0 else None
        for algorithm, width in runs:
            options = options_at_random(rng, algorithm)
            found = solve(algorithm, graph, width, options, comm)
            if found is None:
                continue
            if expected is not None:
                assert found.tolist() == expected, (algorithm.id, width, options, [seed, turn], size)
            counts[f"{algorithm.id} w{width}"] += size
        if turn == 0:
            stop = time.monotonic() + seconds
        turn += 1
    return counts


def _all(comm, value: bool) -> bool:
    return value if comm is None else comm.bcast(value)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--graphs", type=int, default=10**9)
    parser.add_argument("--seconds", type=float, default=10**9)
    parser.add_argument("--widths", type=lambda text: [int(w) for w in text.split(",")], default=[1])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--paradigms", default="sequential,threads,peer")
    parser.add_argument("--algorithms", default="")
    given = parser.parse_args()
    comm = None
    if given.paradigms == "mpi":
        from mpi4py import MPI

        comm = MPI.COMM_WORLD
    algorithms = attacked(tuple(given.paradigms.split(",")), [a for a in given.algorithms.split(",") if a])
    started = time.monotonic()
    counts = attack(algorithms, given.widths, given.graphs, given.seconds, given.seed, comm)
    if comm is None or comm.rank == 0:
        clocks = {"seconds": round(time.monotonic() - started, 1), "cpu_seconds": round(time.process_time(), 1)}
        print(json.dumps({**clocks, "cores": len(os.sched_getaffinity(0)), "graphs": counts}))


if __name__ == "__main__":
    main()
