"""Checks that ranks run: ``mpiexec -n RANKS python ranks.py CHECK [ARGUMENT…] [and CHECK [ARGUMENT…]]…``.

One start checks many graphs, since starting costs more than solving. Every rank makes each graph and passes its own
slice to the algorithms; rank 0 compares their forests with Kruskal's. Prints ``passed CHECK`` after each check.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
import traceback
import tracemalloc
from dataclasses import replace
from functools import partial
from itertools import groupby
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import adversarial
from expected import by_kruskal
from mpi4py import MPI
from numba.core.dispatcher import Dispatcher
from option_combinations import option_combinations

from mst import edge_slice, registry
from mst.algorithms.mpi import _distributed, _host, filter_boruvka
from mst.bench.measure.ranks import RankMemory, compile_in_ranks
from mst.errors import InputError
from mst.execute import Implementation, implementation_of
from mst.graph import Graph
from mst.kernels.filter_boruvka.policy import RANKS
from mst.kernels.mpi import exchange as mpi_exchange
from mst.kernels.proof.tree_paths import longest_path
from mst.mpi import minimum_spanning_forest

COMM = MPI.COMM_WORLD


def part_of(graph: Graph) -> edge_slice.EdgeSlice:
    """Return this rank's edges."""
    return edge_slice.of_graph(graph, COMM.rank, COMM.size)


def solve(algorithm: str, graph: Graph, **options) -> tuple[np.ndarray, dict]:
    """Return all ids (on rank 0) and the counters of a second solve; on four ranks or more, of the first."""
    chosen = registry.get(algorithm)
    implementation = implementation_of(chosen)
    problem = implementation.ready(part_of(graph), options=chosen.resolve(options), comm=COMM).problem
    if COMM.size < 4:
        implementation.solve(problem)
    result = implementation.solve(problem)
    return np.sort(implementation.collect(problem, result)), implementation.counters(problem, result)


def ours_and_options() -> tuple[Implementation, dict]:
    """Return the functions and the default options of filter-boruvka-mpi."""
    chosen = registry.get("filter-boruvka-mpi")
    return implementation_of(chosen), chosen.resolve()


def wait_asleep() -> None:
    """Wait for all ranks without polling: those that wait in a collective take cores from those that work."""
    arrived = COMM.Ibarrier()
    while not arrived.Test():
        time.sleep(0.005)


def assert_forest(graph: Graph, ids: np.ndarray, context: object) -> None:
    """Assert on rank 0 that `ids` are those of Kruskal's forest; `context` goes into the message."""
    if COMM.rank == 0:
        expected = by_kruskal(graph)
        assert np.array_equal(ids, expected), f"{graph.name}: {context}: {ids} is not {expected}"


def small(every: int, first: int = 0) -> list[Graph]:
    return list(adversarial.small(np.random.default_rng(5)))[first::every]


def medium(n: int, m: int, every: int = 1) -> list[Graph]:
    return list(adversarial.medium(np.random.default_rng(7), n, m))[::every]


def united(graphs: list[Graph]) -> list[Graph]:
    """Return disjoint unions of graphs, one for each dtype and width of keys, with their edges in random order.

    One solve of a union checks all of its graphs: with more ranks than cores, collectives take most of the time.
    """
    groups: dict[tuple[str, bool], list[Graph]] = {}
    for graph in graphs:
        wide = graph.w.itemsize == 8 and not np.isin(graph.w, np.arange(-1000, 1000)).all()
        groups.setdefault((graph.w.dtype.name, wide), []).append(graph)
    rng, found = np.random.default_rng(11), []
    for kind, group in groups.items():
        firsts = np.cumsum([0, *(graph.n for graph in group)])
        order = rng.permutation(sum(graph.m for graph in group))
        ends = (np.concatenate([getattr(g, end) + at for g, at in zip(group, firsts)]) for end in "uv")
        columns = (*ends, np.concatenate([graph.w for graph in group]))
        found.append(Graph(firsts[-1], *(column[order] for column in columns), name=f"union of {kind}"))
    return found


def degenerate() -> list[Graph]:
    """Return graphs with no vertices, fewer edges than ranks, and all edges in the last rank's rows or loops."""
    found = []
    for dtype in adversarial.DTYPES:
        few = np.arange(COMM.size - 1)
        found += [
            Graph(0, [], [], np.empty(0, dtype), name=f"nothing {dtype}"),
            Graph(
                2 * COMM.size, few, few + 1, (-few % 3).astype(dtype), name=f"fewer edges than ranks {dtype}"
            ),
        ]
    loops = np.repeat([0, 1], [10 * COMM.size, COMM.size])
    # Keys with all bits set, and more components than one round joins.
    most = np.iinfo(np.int64).max
    i = np.arange(64)
    heaviest = np.array([-most, *[most] * 63])
    return [
        *found,
        Graph(
            65,
            np.append(i[:32] * 2, i[:32] * 2 + 1),
            np.append(i[:32] * 2 + 1, i[:32] * 2 + 2),
            heaviest,
            name="heaviest",
        ),
        Graph(3, loops, loops * 2, np.arange(len(loops)), name="edges in the last rows, else loops"),
    ]


def check_united(algorithm: str, *options: str) -> None:
    """Check the union of all small graphs of a dtype, and the graphs that leave ranks without edges."""
    given = dict(option.split("=") for option in options)
    unions, others = united(small(1)), degenerate()
    if algorithm == "ghs-mpi" or given:
        # These take hundreds of supersteps or look-ups: check one width of keys for each dtype.
        unions = list({graph.w.dtype: graph for graph in unions[:: 1 if COMM.size % 2 else -1]}.values())
        others = others[COMM.size % 2 :: 2] if given else others
    for graph in [*unions, *others]:
        ids, counters = solve(algorithm, graph, **given)
        assert_forest(graph, ids, (given, counters))


def check_every(algorithm: str, every: str, sizes: str, *options: str) -> None:
    """Check every `every`-th small graph (none at 0) and the medium graphs of a size ``NxM`` (none at 0x0)."""
    n, m = map(int, sizes.split("x"))
    given = dict(option.split("=") for option in options)
    chosen = small(int(every), COMM.size % int(every)) if int(every) else []
    for graph in chosen + (medium(n, m) if n else []):
        ids, counters = solve(algorithm, graph, **given)
        assert_forest(graph, ids, (given, counters))
        if algorithm == "ghs-mpi" and given.get("contract", "off") == "off":
            bound = 2 * graph.m + 5 * graph.n * np.log2(max(graph.n, 2))
            assert counters["messages"] <= bound, (graph.name, counters, bound)
            kinds = [counters[f"messages_{kind}"] for kind in ("connect", "initiate", "test", "report")]
            assert sum(kinds) <= counters["messages"]
            forest = ids.astype(np.int64)
            hops = longest_path(graph.n, graph.u[forest], graph.v[forest]) if COMM.rank == 0 else 0
            assert COMM.bcast(hops) == counters["longest_path"] >= counters["broadcast_hops"]


def check_algorithms(every: str, sizes: str, sizes_ghs: str) -> None:
    """Check all algorithms with default options. ghs-mpi takes a superstep for each edge of a path."""
    check_exchange()
    if COMM.size > 1:
        check_phases()
    for algorithm in ("allreduce-boruvka-mpi", "filter-boruvka-mpi", "ghs-mpi"):
        check_united(algorithm)
    check_united("allreduce-boruvka-mpi", "rounds=relabelled")
    filter_boruvka.SMALL, most = 0, filter_boruvka.SMALL
    check_united("filter-boruvka-mpi")
    filter_boruvka.SMALL = most
    _distributed.FEW, few = 1, _distributed.FEW
    check_united("filter-boruvka-mpi", "scheme=distributed", "share=off")
    _distributed.FEW = few
    check_every("allreduce-boruvka-mpi", every, sizes)
    check_every("filter-boruvka-mpi", every, sizes)
    check_every("ghs-mpi", every, sizes_ghs)


def check_defaults(algorithm: str, n: str, m: str) -> None:
    """Check an algorithm with default options on one graph."""
    graph = medium(int(n), int(m))[0]
    assert_forest(graph, solve(algorithm, graph)[0], algorithm)


def check_phases() -> None:
    """An instrumented solve returns the same phases on all ranks, with and without shared memory."""
    filter_boruvka.SMALL, most = 0, filter_boruvka.SMALL
    rounds = {"lightest", "reduce", "hook", "relabel"}
    host = {"init", "sample", "select", "place", "scatter", "join", "giant", "filter"}
    graph = medium(300, 2400)[0]
    part = part_of(graph)
    for algorithm, given, named in (
        ("allreduce-boruvka-mpi", {}, {"init", *rounds}),
        ("allreduce-boruvka-mpi", {"rounds": "relabelled"}, {"init", *rounds}),
        ("filter-boruvka-mpi", {}, host),
        ("filter-boruvka-mpi", {"share": "off", "sparsify": "on"}, {"sparsify", "select", *rounds}),
    ):
        chosen = registry.get(algorithm)
        implementation = implementation_of(chosen)
        seconds = implementation.phases(
            implementation.ready(part, options=chosen.resolve(given), comm=COMM).problem
        )
        assert set(seconds) == named and min(seconds.values()) >= 0, (algorithm, seconds)
        assert COMM.bcast(seconds) == seconds
    filter_boruvka.SMALL = most


def check_options(every: str) -> None:
    """Check all combinations of the ports' options, and filter-boruvka-mpi without shared memory."""
    for algorithm in ("ghs-mpi", "allreduce-boruvka-mpi"):
        for number, options in enumerate(option_combinations(registry.get(algorithm))):
            for graph in small(int(every), number % 7):
                assert_forest(graph, solve(algorithm, graph, **options)[0], options)
    check_every("ghs-mpi", "0", "70x200", "send=single", "partition=root")
    check_broadcast_along_a_path()
    check_every("filter-boruvka-mpi", every, "100x800", "share=off", "sparsify=on")


def check_broadcast_along_a_path() -> None:
    """With weights that rise along a path, its first edge absorbs one vertex after the other, and none far away."""
    i = np.arange(40)
    rising = Graph(41, i, i + 1, i)
    # Two halves whose last edge is the heaviest: the broadcast after their merger goes through a whole half.
    halves = Graph(41, i, i + 1, np.where(i == 20, 99, np.minimum(i, 40 - i)))
    for graph, least in ((rising, 1), (halves, 19)):
        counters = solve("ghs-mpi", graph)[1]
        assert least <= counters["broadcast_hops"] <= counters["longest_path"] == 40, counters


def check_shared(every: str, sizes: str) -> None:
    """Check ranks that share memory on graphs of any size, also as if every two ranks were on one host."""
    filter_boruvka.SMALL = 0
    implementation, options = ours_and_options()
    # Two ranks compile the kernels for both widths of keys, and the others load the code.
    for graph in medium(300, 2400)[:2]:
        compile_in_ranks(implementation, part_of(graph), COMM, options)
    check_every("filter-boruvka-mpi", every, sizes)
    real = filter_boruvka._node_of
    filter_boruvka._node_of = lambda comm: comm.Split(comm.rank // 2, comm.rank)
    for scheme in ("replicated", "distributed"):
        check_every("filter-boruvka-mpi", str(2 * int(every)), sizes, f"scheme={scheme}")
    filter_boruvka._node_of = real


def check_distributed(every: str, sizes: str) -> None:
    """Check distributed labels down to the last component, with every MPI call cut into small chunks."""
    _distributed.FEW, mpi_exchange.CHUNK = 1, 500
    check_every("filter-boruvka-mpi", every, sizes, "scheme=distributed", "share=off", "sparsify=off")


def check_warm_up() -> None:
    """After the warm-up no kernel is compiled or loaded, even for graphs that take other code paths."""
    implementation, options = ours_and_options()
    compiled = None
    for n, m in ((9_000, 60_000), (2_000, 3_000), (200, 17_000), (50_000, 70_000)):
        rng = np.random.default_rng(m)
        graph = Graph(n, *rng.integers(0, n, (2, m)), rng.integers(0, 2**24, m).astype(np.int32))
        part = part_of(graph)
        if compiled is None:
            compile_in_ranks(implementation, part, COMM, options)
            compiled = specialisations()
        result = implementation.solve(implementation.ready(part, options=options, comm=COMM).problem)
        assert specialisations() == compiled, (n, m, specialisations() - compiled)
        assert COMM.allreduce(len(result.edge_ids)) > n / 2


def check_rounds() -> None:
    """Edges that a filter keeps are joined in rounds, with another filter in between where that saves work."""
    filter_boruvka.Host, n = partial(_host.Host, policy=replace(RANKS, round_cost=0)), 5_000
    rng = np.random.default_rng(3)
    graph = Graph(n, *rng.integers(0, n, (2, 16 * n)), rng.permutation(16 * n))
    ids, counted = solve("filter-boruvka-mpi", graph)
    assert_forest(graph, ids, "rounds")
    assert counted["scheme"] == "shared" and counted["light"] < 3 * n, counted


def specialisations() -> set[tuple[str, str]]:
    """Return every kernel that has machine code in this process, with the types of its arguments."""
    modules = [module for name, module in sys.modules.items() if name.startswith("mst.")]
    kernels = {id(k): k for module in modules for k in vars(module).values() if isinstance(k, Dispatcher)}
    return {(kernel.__qualname__, str(types)) for kernel in kernels.values() for types in kernel.signatures}


def check_exchange() -> None:
    """Exchanges in chunks of any size give the same result as one call."""
    rng = np.random.default_rng(COMM.rank)
    size, rank = COMM.size, COMM.rank
    for columns in ((), (3,)):
        counts = rng.integers(0, 9, size)
        rows = np.stack([np.repeat(np.arange(size), counts), np.full(counts.sum(), rank)], axis=1)
        rows = rows @ np.ones((2, 3), np.int64) if columns else rows @ np.array([1000, 1])
        whole, incoming = mpi_exchange.exchange(COMM, rows, counts)
        for chunk in (1, 5, 64):
            pieces, again = mpi_exchange.exchange(COMM, rows, counts, chunk=chunk)
            assert np.array_equal(pieces, whole) and np.array_equal(again, incoming)
            everywhere = mpi_exchange.allgather(COMM, rows, chunk=chunk)
            assert np.array_equal(everywhere, mpi_exchange.allgather(COMM, rows))
            root = mpi_exchange.gather(COMM, rows, chunk=chunk)
            assert np.array_equal(root, everywhere if rank == 0 else everywhere[:0])
        if not columns:
            assert np.array_equal(whole, np.repeat(1000 * rank + np.arange(size), incoming))
    low = mpi_exchange.allreduce(COMM, np.arange(20) * (rank + 1), chunk=3)
    assert np.array_equal(low, np.arange(20))
    bounds = edge_slice.bounds(50, size)
    table = np.arange(bounds[rank], bounds[rank + 1]) ** 2
    wanted = rng.integers(0, 50, 7 * (rank % 3)).astype(np.uint32)
    for at_once in (1, 5, 64):
        assert np.array_equal(
            mpi_exchange.lookup(COMM, table, bounds, wanted, at_once), wanted.astype(np.int64) ** 2
        )
    # All from the last rank, a few at a time.
    wanted = np.arange(bounds[-2], 50, dtype=np.uint32)
    for most in (1, 3, 64):
        assert np.array_equal(
            mpi_exchange.lookup_sorted(COMM, table, bounds, wanted, most), wanted.astype(np.int64) ** 2
        )


def check_library(path: str) -> None:
    """The library takes a file or each rank's edges; bad input raises the same error on all ranks."""
    graph = medium(300, 2400)[1]
    expected, part = by_kruskal(graph), part_of(graph)
    for given in (path, (graph.n, part.u, part.v, part.w)):
        forest = minimum_spanning_forest(given)
        assert np.array_equal(forest.edge_ids, expected if COMM.rank == 0 else expected[:0])
        mine = expected[(expected >= part.start) & (expected < part.start + part.rows)]
        assert np.array_equal(forest.local_ids, mine) and forest.start == part.start
        from math import fsum

        assert forest.weight == fsum(graph.w[expected]) and forest.components == graph.n - len(expected)
    # Only the last rank has edges; the others' empty weights take their dtype.
    last = COMM.rank == COMM.size - 1
    forest = minimum_spanning_forest((3, [0, 1], [1, 2], [5, 7]) if last else (3, [], [], []))
    assert (forest.edges, forest.weight) == (2, 12)
    bad = COMM.size - 1
    for given, message in (
        ((3, [0], [9 if COMM.rank == bad else 1], [1]), "v[0] = 9 is not a vertex"),
        ((3 + COMM.rank, [0], [1], [1]), "different vertex counts"),
        ((3, [0], [1], np.array([1], ["i4", "f4"][COMM.rank % 2])), "different dtypes"),
        (path + ".no", "cannot be read"),
    ):
        if COMM.size > 1 or message in ("v[0] = 9 is not a vertex", "cannot be read"):
            try:
                minimum_spanning_forest(given)
            except InputError as error:
                assert message in str(error), error
            else:
                raise AssertionError(message)


def check_memory() -> None:
    """A rank of p uses at most 2/p of the memory of a single rank, without the interpreter."""
    n, m, held = 20_000, 1_500_000, {}
    implementation, options = ours_and_options()
    for ranks in (1, 4, COMM.size):
        wait_asleep()
        some = COMM.Split(0 if COMM.rank < ranks else MPI.UNDEFINED, COMM.rank)
        if some == MPI.COMM_NULL:
            continue
        start, stop = edge_slice.bounds(m, ranks)[some.rank : some.rank + 2].tolist()
        rng = np.random.default_rng(some.rank)
        u, v = (rng.integers(0, n, stop - start).astype(np.int32) for _ in range(2))
        w = rng.integers(0, 2**24, stop - start).astype(np.int32)
        for column in (u, v, w):
            column.flags.writeable = (
                False  # as a graph's: others are other types, for which all code is compiled again
            )
        part = edge_slice.EdgeSlice(n, m, start, u, v, w)
        # The first solves load code, and MPI allocates its buffers.
        problem = implementation.ready(part, options=options, comm=some).problem
        for _ in range(4):
            implementation.solve(problem)
        problem = None
        memory = RankMemory(some)
        problem = implementation.ready(part, options=options, comm=some).problem
        implementation.solve(problem)
        result = implementation.solve(problem)
        working = memory.at_peak()["working_bytes"]
        held[ranks] = implementation.counters(problem, result)["rank_bytes"] + working
    if COMM.rank == 0:
        print({ranks: f"{size / 1e6:.2f} MB" for ranks, size in held.items()})
        assert all(size * ranks <= 2 * held[1] for ranks, size in held.items()), held


def check_spread() -> None:
    """With distributed labels, a rank of p uses at most 2/p of the memory of a single rank at its peak.

    The memory is that of rows and arrays. A giant component, or the hub of a star, does not change the bound.
    """
    n, m = 200_000, 300_000
    rng, chosen = np.random.default_rng(3), registry.get("filter-boruvka-mpi")
    implementation, options = (
        implementation_of(chosen),
        chosen.resolve(dict(scheme="distributed", share=False, sparsify="off")),
    )
    i, side = np.arange(m - 1), 400
    cell = np.arange(side * side).reshape(side, side)
    across = [
        np.concatenate([cell[:, at : side - 1 + at].ravel(), cell[at : side - 1 + at].ravel()]) for at in (0, 1)
    ]
    # Most ends at few vertices, as in R-MAT.
    skewed = (20_000 * rng.random((2, 16 * 20_000)) ** 4).astype(np.int64)
    mixed = rng.permutation(m)
    for name, size, (u, v) in (
        ("uniform, 64-bit keys", n, rng.integers(0, n, (2, m))),
        ("skewed degrees", 20_000, skewed),
        ("grid", side * side, across),
        ("star", m, (i * 0, i + 1)),
        ("path, at random", m, (mixed[:-1], mixed[1:])),
    ):
        w = rng.random(len(u)) if "64" in name else rng.integers(0, 2**24, len(u)).astype(np.int32)
        graph, held = Graph(size, u, v, w, name=name), {}
        for ranks in (1, COMM.size):
            wait_asleep()
            some = COMM.Split(0 if COMM.rank < ranks else MPI.UNDEFINED, COMM.rank)
            if some == MPI.COMM_NULL:
                continue
            part = edge_slice.of_graph(graph, some.rank, some.size)
            # The first solve loads code.
            result = implementation.solve(implementation.ready(part, options=options, comm=some).problem)
            tracemalloc.start()
            problem = implementation.ready(part, options=options, comm=some).problem
            result = implementation.solve(problem)
            held[ranks] = some.allreduce(part.bytes + tracemalloc.get_traced_memory()[1], MPI.MAX)
            tracemalloc.stop()
            assert_forest(graph, np.sort(implementation.collect(problem, result)), held)
            some.Free()
        if COMM.rank == 0:
            print(name, {ranks: f"{size / 1e6:.2f} MB" for ranks, size in held.items()})
            assert COMM.size * held[COMM.size] <= 2 * held[1], (name, held)


class Unreadable:
    """Weights for which there is no memory."""

    def __array__(self, *_: object, **__: object) -> np.ndarray:
        raise MemoryError("no memory for this rank")


def check_failing(how: str) -> None:
    """One rank fails, or is killed, while the others enter a collective call that it never joins."""
    if how == "reads":
        minimum_spanning_forest((3, [0], [1], Unreadable() if COMM.rank == COMM.size - 1 else [1]))
    module = registry.get("allreduce-boruvka-mpi").load()
    real_solve = module.solve

    def solve(problem):
        if COMM.rank == COMM.size - 1:
            if how == "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            raise MemoryError("no memory for this rank")
        return real_solve(problem)

    module.solve = solve
    minimum_spanning_forest((3, [0], [1], [1]), algorithm="allreduce-boruvka-mpi")


def checks(words: list[str]) -> list[list[str]]:
    """Return each check with its arguments."""
    return [list(group) for is_and, group in groupby(words, "and".__eq__) if not is_and]


if __name__ == "__main__":
    if COMM.size > 4:
        # Sleep 0.2 ms, not 0.05, between two polls: else the ranks that wait take a core.
        PR_SET_TIMERSLACK = 29
        ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, 200_000, 0, 0, 0)
    for name, *arguments in checks(sys.argv[1:]):
        started = time.monotonic()
        try:
            globals()[f"check_{name}"](*arguments)
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
            COMM.Abort(1)
        wait_asleep()
        if COMM.rank == 0:
            print(f"passed {name}: {time.monotonic() - started:.1f} s", flush=True)
