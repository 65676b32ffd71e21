"""Every registered algorithm on every kind of graph; a new algorithm is covered without changes here.

Exact algorithms must return the unique forest of the order by (weight, edge id); peers that break ties differently
must return a forest of the same weight, and approximate algorithms a spanning forest within their bound.
"""

from __future__ import annotations

import itertools
import os

import adversarial
import drawn
import numpy as np
import oracles
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mst import registry
from mst.algorithm_files import Option
from mst.execute import execute, implementation_of
from mst.facts import Facts
from mst.graph import Graph
from mst.order import keys, total
from mst.proof import check_forest, prove

ALGORITHMS = {name: a for name, a in registry.algorithms().items() if a.program is None}


def values_of(option: Option) -> list:
    """Return the values of an option that are worth a run: its choices, or its default and its bounds."""
    if isinstance(option.default, bool):
        return [option.default, not option.default]
    if option.choices:
        return list(option.choices)
    bounds = [type(option.default)(b) for b in (option.min, option.max) if b is not None]
    return list(dict.fromkeys([option.default, *bounds]))


def one_by_one(algorithm: registry.Algorithm) -> list[dict]:
    """Return the defaults, and each other value of each option alone."""
    changed = [
        {option.name: value}
        for option in algorithm.options.values()
        for value in values_of(option)
        if value != option.default
    ]
    return [{}, *changed]


def widths_of(algorithm: registry.Algorithm) -> list[int]:
    if algorithm.paradigm != "threads":
        return [1]
    cores = len(os.sched_getaffinity(0))
    return sorted({1, min(2, cores), cores})


def reason_to_skip(algorithm: registry.Algorithm) -> str | None:
    """Return why an algorithm cannot be run here at all, or None."""
    if reason := algorithm.missing():
        return reason
    if algorithm.paradigm == "mpi":
        return "MPI ranks are started by another runner"
    if algorithm.paradigm == "cuda":
        from mst.bench.machine import this_machine

        return None if this_machine().gpus else "needs a CUDA device, but this machine has none"
    return None


def facts_of(graph: Graph) -> Facts:
    return Facts(
        n=graph.n,
        m=graph.m,
        weight_dtype=graph.w.dtype.name,
        components=oracles.components(graph),
        weight_min=graph.w.min() if graph.m else None,
        weight_max=graph.w.max() if graph.m else None,
        loops=int((graph.u == graph.v).sum()),
    )


def solve(algorithm: registry.Algorithm, graph: Graph, width: int = 1, **options) -> np.ndarray | None:
    """Return the edge ids of a second solve of one problem, or None where the graph does not fit."""
    options = algorithm.resolve(options)
    if algorithm.skip(facts_of(graph), width=width, options=options):
        return None
    implementation = implementation_of(algorithm)
    problem = implementation.ready(graph, width, options).problem
    # Twice, because a run solves one problem many times: a solve must not change it.
    first, second = (
        np.sort(implementation.collect_edges(problem, implementation.solve(problem))) for _ in range(2)
    )
    if algorithm.ties == "order":
        assert np.array_equal(first, second), f"{graph.name}: solve changed its problem"
    return second


def judge(algorithm: registry.Algorithm, graph: Graph, found: np.ndarray, expected: list[int], options) -> None:
    if algorithm.exact and algorithm.ties == "order":
        assert found.tolist() == expected, graph.name
        return
    epsilon = 0.0 if algorithm.exact else algorithm.resolve(options)["epsilon"]
    proof = check_forest(graph, found, reference_weight=total(graph.w[expected]), epsilon=epsilon)
    assert proof.ok, f"{graph.name}: {proof.reason}"


# Published variants that share no kernels with other algorithms: half of the code to compile.
LATER = ("component-boruvka", "contract-boruvka", "edge-boruvka", "parlay-boruvka", "reservation-kruskal")


def runs() -> list:
    """Return all runs: each option, width and size of keys is more code to compile, and so a longer test."""
    ours = ("kruskal", "filter-boruvka", "filter-boruvka-threads")
    return [
        pytest.param(
            name,
            width,
            options,
            bits,
            id=f"{name}-w{width}-{algorithm.options_slug(options)}-{bits}",
            marks=[pytest.mark.slow]
            if options or width < widths_of(algorithm)[-1] or (bits == 64 and name not in ours) or name in LATER
            else [],
        )
        for name, algorithm in ALGORITHMS.items()
        for width in widths_of(algorithm)
        for options in one_by_one(algorithm)
        for bits in (32, 64)
    ]


@pytest.fixture(scope="module")
def expected() -> list[tuple[Graph, list[int]]]:
    graphs = list(adversarial.small(np.random.default_rng(20)))
    return [(graph, oracles.by_python_kruskal(graph)) for graph in graphs]


@pytest.fixture(scope="module")
def expected_medium() -> dict[bool, list[tuple[Graph, list[int]]]]:
    """The medium graphs with their forests: False has the full size, True a smaller one for slow pure Python."""
    sizes = {False: {}, True: {"n": 400, "m": 3_000}}
    graphs = {key: list(adversarial.medium(np.random.default_rng(21), **size)) for key, size in sizes.items()}
    return {key: [(g, oracles.by_python_kruskal(g)) for g in some] for key, some in graphs.items()}


def usable(name: str) -> registry.Algorithm:
    if reason := reason_to_skip(ALGORITHMS[name]):
        pytest.skip(reason)
    return ALGORITHMS[name]


@pytest.mark.parametrize("name,width,options,bits", runs())
def test_small_graphs_have_the_expected_forest(name, width, options, bits, expected):
    """Run the graphs whose keys have a number of bits."""
    algorithm = usable(name)
    run, graphs = 0, [(graph, ids) for graph, ids in expected if 8 * keys(graph.w).itemsize == bits]
    for graph, ids in graphs:
        found = solve(algorithm, graph, width, **options)
        if found is not None:
            judge(algorithm, graph, found, ids, options)
            run += 1
    assert run >= len(graphs) // 6, f"{name} skipped all but {run} of {len(graphs)} graphs"


@pytest.mark.slow
@pytest.mark.parametrize("name,width", [(n, w) for n, a in ALGORITHMS.items() for w in widths_of(a)])
def test_medium_graphs_have_the_expected_forest(name, width, expected_medium):
    algorithm = usable(name)
    graphs = expected_medium[algorithm.paradigm == "peer"]
    run = 0
    for graph, ids in graphs:
        found = solve(algorithm, graph, width)
        if found is not None:
            judge(algorithm, graph, found, ids, {})
            run += 1
    assert run >= 8, f"{name} skipped all but {run} of {len(graphs)} graphs"


@pytest.mark.slow
@pytest.mark.parametrize("name", ALGORITHMS)
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(data=st.data())
def test_random_graphs_with_random_options_have_the_expected_forest(name, data):
    algorithm = usable(name)
    graph = data.draw(drawn.graphs())
    options = {
        option.name: data.draw(st.sampled_from(values_of(option)), label=option.name)
        for option in algorithm.options.values()
    }
    width = data.draw(st.sampled_from(widths_of(algorithm)), label="width")
    ids = oracles.by_python_kruskal(graph)
    assert oracles.by_networkx_ranks(graph) == ids, "the oracles disagree"
    found = solve(algorithm, graph, width, **options)
    if found is not None:
        judge(algorithm, graph, found, ids, options)


def test_proof_accepts_the_forests_of_the_oracles(expected, expected_medium):
    for graph, ids in itertools.chain(expected, expected_medium[False]):
        proof = prove(graph, ids)
        assert proof.ok, f"{graph.name}: {proof.reason}"
        assert proof.components == oracles.components(graph), graph.name


def test_oracles_agree_on_every_small_graph(expected):
    for graph, ids in expected:
        assert oracles.by_networkx_ranks(graph) == ids, graph.name


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name in LATER))
        for name, algorithm in ALGORITHMS.items()
        if algorithm.paradigm in ("sequential", "threads")
    ],
)
def test_counters_and_phases_are_plain_values(name):
    algorithm = usable(name)
    graph = Graph(40, *np.random.default_rng(1).integers(0, 40, (2, 200)), np.arange(200))
    found = execute(algorithm, graph)
    counters = found.counters()
    assert all(isinstance(value, int | float | str | list) for value in counters.values()), counters
    phases = found.implementation.phases
    seconds = phases(found.problem) if phases else {}
    assert all(isinstance(spent, float) and spent >= 0 for spent in seconds.values()), seconds


@pytest.mark.slow
def test_integer_totals_beyond_2_to_the_53_are_exact():
    """The total of every exact algorithm's forest equals that of Python's integers."""
    graph = Graph(4, [0, 1, 2, 0], [1, 2, 3, 3], np.array([2**62, 2**62 + 1, 2**62 + 3, 2**62 + 7]))
    solved = {}
    for name, algorithm in ALGORITHMS.items():
        if reason_to_skip(algorithm) is None and algorithm.exact:
            found = solve(algorithm, graph)
            if found is not None:
                solved[name] = total(graph.w[found])
    assert solved.keys() >= {"kruskal", "boruvka", "prim-heap", "filter-boruvka", "filter-boruvka-threads"}
    assert set(solved.values()) == {3 * 2**62 + 4}, solved
