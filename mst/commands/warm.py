"""``mst warm``: compiles the library's code, so that no later process waits for it."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from mst.commands._arguments import add_threads
from mst.errors import ConfigError
from mst.progress import step
from mst.units import seconds

if TYPE_CHECKING:
    from mst.registry import Algorithm

HELP = "compile the library's code for this machine in advance"

_CODE_BYTES = 32 * 2**20
"""More than the code takes on disk, 24 MB for two cores of an EPYC."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "algorithms",
        nargs="*",
        metavar="ALGORITHM",
        help="algorithms for one core or threads (default: those that auto uses on this machine)",
    )
    add_threads(parser, "cores that later processes may use (default: all)")


def run(arguments: argparse.Namespace) -> int:
    """Solve small graphs of every kind by each algorithm, and a matrix of few entries; read files of text."""
    from mst.advice import first
    from mst.cache import cache_root
    from mst.cores import cores_for
    from mst.facts import Facts
    from mst.kernels.primitives.machine_code import code_seconds
    from mst.solver import minimum_spanning_forest

    cores, began = cores_for(arguments.threads), perf_counter()
    ways = _ways(arguments.algorithms, cores)
    folder = cache_root() / "numba"
    _require_writable(folder)
    with step("compiling") as working:
        for graph in graphs(cores):
            for algorithm, options in ways:
                working.update(f"compiling {algorithm.id} for weights of {graph.w.dtype}")
                width = cores if algorithm.paradigm == "threads" else 1
                if not algorithm.skip(Facts.of(graph), width=width, options=options):
                    forest = minimum_spanning_forest(graph, algorithm=algorithm.id, threads=width, **options)
                    _ = forest.weight  # compiles the sum of weights, too
                    first.solved(graph, algorithm, options, width, bits=64)
        working.update("compiling the solver of small matrices")
        solve_rows()
        working.update("compiling the readers of text files")
        read_texts()
    names = ", ".join(dict.fromkeys(algorithm.id for algorithm, _ in ways))
    print(
        f"{names}: machine code in {folder}, compiled or loaded in {seconds(code_seconds())} "
        f"of {seconds(perf_counter() - began)}"
    )
    return 0


def _ways(named: list[str], cores: int) -> list[tuple[Algorithm, dict[str, Any]]]:
    """Return the algorithms that are named, or those that `auto` uses on `cores`, with their options."""
    from mst import registry
    from mst.advice import table
    from mst.errors import UnsupportedError

    if not named:
        winners = [(registry.get(one.algorithm), one.slug) for one in table().winners(cores)]
        return [(algorithm, algorithm.changed_options(slug)) for algorithm, slug in winners]
    algorithms = [registry.get(name) for name in named]
    for algorithm in algorithms:
        if algorithm.paradigm not in ("sequential", "threads"):
            raise UnsupportedError(
                f"mst warm compiles nothing for {algorithm.id}: name an algorithm for one core or for threads"
            )
    return [(algorithm, {}) for algorithm in algorithms]


def _require_writable(folder: Path) -> None:
    """Refuse a cache that keeps nothing: the next process would compile everything again."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(_CODE_BYTES))
    except OSError as error:
        raise ConfigError(
            f"{folder}: {error.strerror}: set MST_CACHE to a folder that keeps the code"
        ) from None


def graphs(cores: int) -> Iterator[Any]:
    """Yield graphs with weights of every dtype; solving them on `cores` cores reaches all code.

    They are sparse, dense, and large; ids and weights follow the rows or do not, and some weights are equal.
    """
    import numpy as np

    from mst.graph import WEIGHT_DTYPES, Graph
    from mst.kernels.filter_boruvka.policy import THREADS

    random = np.random.default_rng(1)
    scattered = (400_000, 1_000_000, None), (3_000, 9_000, None), (2_000, 32_000, None)
    shapes = *scattered, (60_000, 240_000, 9), (400_000, 1_600_000, 9)
    for dtype in WEIGHT_DTYPES:
        wide = 2.0**40 if dtype.itemsize == 8 else 2.0**20
        for n, m, reach in shapes:
            u, v = random.integers(0, n, (2, m))
            far = np.zeros(m, np.bool_)
            if reach:
                # Edges that leave tiles and blocks of vertices are joined by one thread if few, by all if many.
                u, far = np.sort(u), random.random(m) < 1 / 40
                v = np.where(far, v, (u + random.integers(1, reach, m)) % n)
            for weights in (
                wide * random.standard_normal(m),
                wide * random.random(m) ** 16,  # most of them share their first bits
                random.integers(0, 2, m),
                np.ones(m),
                # Most batches close cycles, or the lightest edge at each vertex is joined first.
                np.maximum(u, v),
                1000.0 * (u // 33) + random.integers(0, 1000, m),
            ):
                weights[far] = weights.max()
                yield Graph(n, u, v, weights.astype(dtype), threads=cores)
        if cores > 1:
            # The fewest edges that several threads join, in the order of weight, or in rounds if few per vertex.
            m = max(2 * THREADS.fewest_edges // cores, THREADS.fewest_for_many)
            for n in (m // max(10, cores), m // 2):
                u, v = random.integers(0, n, (2, m))
                yield Graph(n, u, v, np.arange(m, dtype=dtype), threads=cores)
            # The fewest that all threads join by the lightest edge at each vertex, in one table or in one each.
            m = max(THREADS.fewest_for_few, cores * THREADS.fewest_at_vertices)
            for n in (m // 4, m // (8 * cores)):
                u, v = random.integers(0, n, (2, m))
                yield Graph(n, u, v, np.maximum(u, v).astype(dtype), threads=cores)


def solve_rows() -> None:
    """Solve a matrix of few entries, as `mst.csgraph` does."""
    import numpy as np

    from mst.graph import frozen
    from mst.kernels.sequential.kruskal_rows import forest_of_rows

    index = frozen(np.zeros(1, np.int32))
    forest_of_rows(index, index[1:], frozen(np.empty(0)), False)


def read_texts() -> None:
    """Read a graph in each format of text, with whole weights and with fractions."""
    from mst import formats
    from mst.graph import Graph

    ends = [0, 1, 2], [1, 2, 3]
    whole, fractions = Graph(4, *ends, [1, 2, 3]), Graph(4, *ends, [0.5, 1.5, 2.5])
    with tempfile.TemporaryDirectory(prefix="mst-") as folder:
        for suffix in ("gr", "mtx", "txt", "csv", "graph"):
            for graph in [whole] if suffix == "graph" else [whole, fractions]:  # METIS has only whole weights
                file = Path(folder, f"path.{suffix}")
                formats.write(file, graph)
                formats.read(file)
