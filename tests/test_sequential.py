"""Every sequential algorithm against an oracle of its own, on the graphs that break such algorithms."""

from __future__ import annotations

import numpy as np
import pytest

from mst import registry
from mst.graph import Graph
from mst.order import total

DTYPES = (np.int32, np.int64, np.float32, np.float64)


def cases():
    """Yield (id, options) of every sequential exact algorithm and each choice of its options."""
    for name, algorithm in registry.algorithms().items():
        if algorithm.paradigm == "sequential" and algorithm.exact:
            yield name, {}
            for option in algorithm.options.values():
                values = option.choices or ((True, False) if isinstance(option.default, bool) else (1, 5))
                yield from ((name, {option.name: value}) for value in values if value != option.default)


CASES = list(cases())


def oracle(graph):
    """Kruskal in plain Python over (weight, id): no code shared with the package."""
    parent = list(range(graph.n))

    def root(x):
        while parent[x] != x:
            x = parent[x]
        return x

    taken = []
    weights, u, v = graph.w.tolist(), graph.u.tolist(), graph.v.tolist()
    for e in sorted(range(graph.m), key=lambda e: (weights[e], e)):
        a, b = root(u[e]), root(v[e])
        if a != b:
            parent[max(a, b)] = min(a, b)
            taken.append(e)
    return sorted(taken)


def solve(name, graph, **options):
    algorithm = registry.get(name)
    module = algorithm.load()
    problem = module.prepare(graph, width=1, **algorithm.resolve(options))
    first = np.sort(module.collect(problem, module.solve(problem)))
    again = np.sort(module.collect(problem, module.solve(problem)))
    assert np.array_equal(first, again), "solve changed its problem"
    return first.tolist()


def extreme_weights(dtype, m, rng):
    """Few distinct values, among them zero of both signs, the extremes and infinities."""
    if np.dtype(dtype).kind == "i":
        info = np.iinfo(dtype)
        pool = np.array([info.min, info.min + 1, -1, 0, 1, info.max - 1, info.max], dtype)
    else:
        info = np.finfo(dtype)
        pool = np.array(
            [-np.inf, info.min, -1, -info.tiny, -0.0, 0.0, info.smallest_subnormal, 1, info.max, np.inf], dtype
        )
    return pool[rng.integers(0, len(pool), m)]


def small_graphs(rng):
    """Yield named graphs of at most some hundred edges."""

    def random(n, m, w):
        return Graph(n, rng.integers(0, n, m), rng.integers(0, n, m), w)

    yield "empty", Graph(0, [], [], [])
    yield "one vertex", Graph(1, [], [], [])
    yield "one loop", Graph(1, [0], [0], [3])
    yield "no edges", Graph(7, [], [], np.empty(0, np.float32))
    yield "one edge", Graph(2, [1], [0], [-4])
    yield "parallel", Graph(3, [0, 1, 0, 1, 2, 2], [1, 0, 1, 2, 1, 2], [2, 1, 1, 7, 7, 0])
    yield "star", Graph(50, np.zeros(49, int), np.arange(1, 50), rng.integers(0, 9, 49))
    yield "path", Graph(60, np.arange(59), np.arange(1, 60), np.arange(59)[::-1].copy())
    yield "equal", random(40, 300, np.full(300, 5))
    yield "isolated", Graph(90, rng.integers(0, 9, 60), rng.integers(0, 9, 60), rng.random(60))
    pairs = np.array([(i, j) for i in range(20) for j in range(i)])
    yield "complete", Graph(20, pairs[:, 0], pairs[:, 1], rng.integers(0, 40, len(pairs)))
    many = rng.integers(0, 100, 200)
    yield "components", Graph(300, many + 100, (many // 4) * 4 + rng.integers(0, 4, 200) + 100, rng.random(200))
    for dtype in DTYPES:
        yield f"extreme {np.dtype(dtype)}", random(30, 120, extreme_weights(dtype, 120, rng))
        yield f"sparse {np.dtype(dtype)}", random(200, 220, rng.integers(0, 50, 220).astype(dtype))
    yield "wide int64", random(50, 400, rng.integers(-(2**62), 2**62, 400))
    yield "fine float64", random(50, 400, rng.random(400) - 0.5)


@pytest.mark.parametrize("name,options", CASES, ids=lambda value: str(value))
def test_small_graphs(name, options, rng):
    for label, graph in small_graphs(rng):
        assert solve(name, graph, **options) == oracle(graph), label


@pytest.mark.parametrize("name,options", CASES, ids=lambda value: str(value))
@pytest.mark.parametrize("dtype", (np.int32, np.float64), ids=("32-bit", "64-bit"))
def test_larger_graphs_agree_with_kruskal(name, options, dtype, rng):
    n, m = 3_000, 40_000
    u, v = rng.integers(0, n, m), (rng.integers(0, n, m) * rng.random(m)).astype(int)
    w = rng.integers(0, 5_000, m).astype(dtype) if dtype == np.int32 else rng.random(m)
    graph = Graph(n, u, v, w)
    assert solve(name, graph, **options) == solve("kruskal", graph)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("epsilon", (0.01, 0.25, 1.0, 20.0))
def test_bucket_keeps_its_bound(epsilon, dtype, rng):
    n, m = 300, 1_500
    scale = rng.integers(0, 2**15, m) if dtype == np.int32 else 2.0 ** rng.uniform(0, 60, m)
    for weights in (rng.integers(0, 100, m), scale):
        graph = Graph(n, rng.integers(0, n, m), rng.integers(0, n, m), weights.astype(dtype))
        exact, close = solve("kruskal", graph), solve("bucket", graph, epsilon=epsilon)
        assert len(exact) == len(close)
        assert total(graph.w[close]) <= (1 + epsilon) * total(graph.w[exact])
