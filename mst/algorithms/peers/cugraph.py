"""RAPIDS cuGraph's `minimum_spanning_tree` (RAFT's Borůvka), through pylibcugraph."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from mst.algorithms.peers._simple import SimpleEdges, double_weights, simple_edges
from mst.errors import DependencyError, OutOfMemoryError, UnsupportedError
from mst.facts import Facts
from mst.graph import Graph

ALGORITHM = dict(
    id="cugraph",
    paradigm="peer",
    title="RAPIDS cuGraph",
    input="csr",
    options=dict(
        precision=dict(default="float64", choices=("float64", "float32"), help="type of the weights"),
    ),
    ties="any",
    requires=("cupy", "pylibcugraph"),
    limits=dict(n=67_108_864, m=1_073_741_823),  # RAFT gives a row 32 threads and counts threads in int32
)


def skip(facts: Facts, *, width: int, precision: str) -> str | None:
    return None if width == 1 else f"it runs on one GPU, not on {width}"


class Problem(NamedTuple):
    """Both arcs of every simple edge on the host; after `transfer`, also cuGraph's handle and graph."""

    edges: SimpleEdges
    sources: np.ndarray
    targets: np.ndarray
    weights: np.ndarray
    device: tuple[Any, Any] | None = None


def prepare(graph: Graph, *, width: int, precision: str) -> Problem:
    """Merge parallel edges and list each edge in both directions: cuGraph needs a simple, symmetric graph."""
    simple = simple_edges(graph)
    # RAFT breaks ties by noise smaller than the least gap between weights, but computes gaps between absolute values:
    # with both -1 and 1, noise changes the order. It also reads the largest float as "no edge".
    weights = double_weights(simple.w, positive=True)
    if precision == "float32":
        narrow = weights.astype(np.float32)
        if not np.array_equal(narrow, weights):
            raise UnsupportedError(
                "cugraph: these weights differ after rounding to float32: use precision=float64"
            )
        weights = narrow
    sources = np.concatenate((simple.u, simple.v)).astype(np.int32)
    targets = np.concatenate((simple.v, simple.u)).astype(np.int32)
    return Problem(simple, sources, targets, np.concatenate((weights, weights)))


def transfer(problem: Problem) -> Problem:
    import cupy
    import pylibcugraph

    if not hasattr(pylibcugraph, "minimum_spanning_tree"):
        version = getattr(pylibcugraph, "__version__", "of an unknown version")
        raise DependencyError(
            f"pylibcugraph {version} has no minimum_spanning_tree: install a release of 2025 or later"
        )
    simple, sources, targets, weights, _ = problem
    if len(sources) == 0:
        return problem
    with _memory_errors(simple):
        handle = pylibcugraph.ResourceHandle()
        graph = pylibcugraph.SGGraph(
            handle,
            pylibcugraph.GraphProperties(is_symmetric=True, is_multigraph=False),
            cupy.asarray(sources),
            cupy.asarray(targets),
            weight_array=cupy.asarray(weights),
            store_transposed=False,
            renumber=False,
            do_expensive_check=False,
        )
        cupy.cuda.runtime.deviceSynchronize()
    return problem._replace(device=(handle, graph))


def solve(problem: Problem) -> Any:
    if problem.device is None:
        return None
    import cupy
    import pylibcugraph

    with _memory_errors(problem.edges):
        found = pylibcugraph.minimum_spanning_tree(*problem.device, do_expensive_check=False)
        # The handle has a stream of its own, not CuPy's.
        cupy.cuda.runtime.deviceSynchronize()
    return found


@contextmanager
def _memory_errors(simple: SimpleEdges) -> Iterator[None]:
    """Turn RAPIDS' errors for exhausted memory into `OutOfMemoryError`."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        text = str(error)
        if not isinstance(error, MemoryError) and "bad_alloc" not in text and "out_of_memory" not in text:
            raise
        raise OutOfMemoryError(
            f"cugraph of n = {simple.n:,}, m = {len(simple.u):,} ran out of device memory ({text}): "
            "use a GPU with more memory, or filter-boruvka-cuda"
        ) from None


def collect(problem: Problem, result: Any) -> np.ndarray:
    if result is None:
        return np.empty(0, np.int64)
    n, (sources, targets) = problem.edges.n, (result[0].get(), result[1].get())
    once = sources < targets  # each edge comes in both directions
    # Sorted look-ups are near one another in memory: 12 million, with the sort, take a tenth of the time.
    pairs = np.sort(sources[once].astype(np.int64) * n + targets[once])
    return np.sort(problem.edges.edge_ids(*np.divmod(pairs, n)))
