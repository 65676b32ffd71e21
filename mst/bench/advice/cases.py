"""The graphs behind the table of advice, and others to check it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from mst.generators import generate
from mst.graph import Graph

SIZES = tuple(4**k for k in range(5, 12))
LARGE = 1 << 24
LARGEST = 1 << 27


@dataclass(frozen=True)
class Case:
    """A graph to measure: its cell in the table, from which its m may differ slightly, and how it is generated.

    Generator, parameters, seed and order are those of `mst.generators.generate`; for weights see `weigh`.
    """

    m: int
    density: float
    generator: str
    parameters: dict[str, Any] = field(hash=False)
    seed: int
    weights: str = "hashed"
    order: str = "shuffled"

    def make(self) -> Graph:
        graph = generate(self.generator, seed=self.seed, order=self.order, **self.parameters)
        return weigh(graph, self.weights, self.seed)


def weigh(graph: Graph, weights: str, seed: int) -> Graph:
    """Return the graph with other weights: a word and a number, such as ``values:2``.

    >>> set(weigh(generate("path", n=100), "values:2", 1).w.tolist())
    {0, 1}
    """
    word, _, number = weights.partition(":")
    if word == "hashed":
        return graph
    rng, m, size = np.random.default_rng(seed), graph.m, int(number or 1)
    u, v = np.minimum(graph.u, graph.v), np.maximum(graph.u, graph.v)
    made: dict[str, Callable[[], np.ndarray]] = {
        "values": lambda: rng.integers(0, size, m).astype(np.int32),
        "wide": lambda: rng.random(m),
        "wide-integers": lambda: rng.integers(-(2**60), 2**60, m),
        "normal": lambda: rng.standard_normal(m).astype(np.float32),
        "cubes": lambda: rng.exponential(1.0, m) ** 3,
        "ascending": lambda: np.sort(graph.w),
        "blocks": lambda: rng.integers(0, 1 << 24, graph.n // size + 1)[u // size].astype(np.int32),
        "noisy-blocks": lambda: (
            rng.integers(0, 1 << 24, graph.n // size + 1)[u // size] + rng.integers(0, 50, m)
        ).astype(np.int64),
        "slope": lambda: (u // size + u % size).astype(np.int32),
        "waves": lambda: np.sin(v // size / 31.0) + np.cos(v % size / 47.0),
    }
    return Graph(graph.n, graph.u, graph.v, made[word](), trusted=True)


def training(largest: int = LARGEST) -> list[Case]:
    """Return the cases of the table with at most `largest` edges, the most informative first."""
    layers = (
        chain.from_iterable(_even(m, "hashed") for m in SIZES),
        chain.from_iterable(_local(m) for m in SIZES),
        chain.from_iterable(_skewed(m, (4.0, 16.0), "hashed") for m in SIZES),
        chain.from_iterable(_even(m, "values:1", (1.5, 16.0)) for m in SIZES),
        _even(LARGE, "hashed", (1.5, 4.0, 16.0)),
        _dense(LARGE, "hashed"),
        chain.from_iterable(_even(m, "values:2", (4.0,)) for m in SIZES),
        chain.from_iterable(_even(m, "wide", (1.5, 16.0)) for m in SIZES),
        _skewed(LARGE, (16.0,), "hashed"),
        (case for case in _local(LARGE) if case.density != 4.0),
        chain.from_iterable(_road(m) for m in (*SIZES[::2], LARGE)),
        _even(LARGE, "values:1", (4.0,)),
        _even(LARGE, "wide", (4.0,)),
        _even(4 * LARGE, "hashed", (4.0,)),
        _skewed(4 * LARGE, (16.0,), "hashed"),
        chain.from_iterable(_even(m, "values:10", (16.0,)) for m in SIZES),
        chain.from_iterable(_skewed(m, (16.0,), "values:1") for m in SIZES),
        _even(LARGE, "values:2", (4.0,)),
        _even(4 * LARGE, "hashed", (1.5,)),
        _dense(4 * LARGE, "hashed"),
        chain.from_iterable(_skewed(m, (16.0,), "values:2") for m in SIZES[1::2]),
        chain.from_iterable(_skewed(m, (16.0,), "wide") for m in SIZES[1::2]),
        chain.from_iterable(_dense(m, w) for m in SIZES[1::2] for w in ("values:1", "values:2", "wide")),
        _even(8 * LARGE, "hashed", (16.0,)),
    )
    return [case for case in chain.from_iterable(layers) if case.m <= largest]


def _even(m: int, weights: str, densities: Sequence[float] = (1.5, 4.0, 16.0, 100.0)) -> Iterator[Case]:
    for density in densities:
        n = round(m / density)
        if n * (n - 1) // 2 > 1.2 * m:
            yield Case(m, density, "uniform", dict(n=n, m=m), 11, weights)
    if weights == "hashed" and m < LARGE:
        yield from _dense(m, weights)


def _dense(m: int, weights: str) -> Iterator[Case]:
    n = max(round((2 * m / 0.9) ** 0.5), 3)
    yield Case(m, round(m / n, 1), "dense", dict(n=n, share=0.9), 14, weights)


def _skewed(m: int, densities: Sequence[float], weights: str) -> Iterator[Case]:
    for density in densities:
        scale = round(m / density).bit_length() - 1
        if 4**scale > 8 * m:
            yield Case(m, density, "kronecker", dict(scale=scale, m=m), 13, weights)


def _road(m: int) -> Iterator[Case]:
    side = round((0.75 * m) ** 0.5)
    yield Case(m, 1.5, "road", dict(rows=side, columns=side), 12)


def _local(m: int) -> Iterator[Case]:
    for size, density in ((9, 4.0), (33, 16.0)):
        cliques = round(m / (size * (size - 1) // 2))
        if cliques > 3:
            parameters = dict(cliques=cliques, size=size)
            yield Case(m, density, "connected-caveman", parameters, 15, f"blocks:{size}")
    side = round((m / 2) ** 0.5)
    yield Case(m, 1.5, "grid", dict(rows=side, columns=side), 16, f"slope:{side}")


def unseen(largest: int = LARGEST) -> list[Case]:
    """Return cases of other generators, sizes, weights and seeds, small and large in alternation."""
    made: list[Case] = []
    weights = ("hashed", "normal", "values:1", "values:3", "hashed", "cubes", "values:100", "wide-integers")
    orders = ("shuffled", "sorted", "shuffled")
    for k, base in enumerate((*SIZES, LARGE // 2)):
        m = round(base * (1.7 if k % 2 else 0.6))
        side = max(int((m / 2) ** 0.5), 3)
        generators: list[tuple[str, dict[str, Any], str | None]] = [
            ("delaunay", dict(n=max(m // 3, 4)), None),
            ("kronecker", dict(scale=max((m // 8).bit_length() - 1, 4), edge_factor=8), None),
            ("grid", dict(rows=side, columns=side), f"waves:{side}"),
            ("watts-strogatz", dict(n=max(m // 6, 13), k=12), None),
            ("barabasi-albert", dict(n=max(m // 8, 20), k=8), None),
            ("caveman", dict(cliques=max(m // 105, 2), size=15), "noisy-blocks:15"),
            ("tree", dict(n=m + 1), None),
            ("dense", dict(n=max(int((2 * m / 0.5) ** 0.5), 3), share=0.5), None),
            ("k-out", dict(n=max(m // 3, 8), k=3), None),
            ("geometric", dict(n=max(m // 5, 10), radius=(10 / 3.1416 / max(m // 5, 10)) ** 0.5), None),
            ("rmat", dict(scale=max((m // 24).bit_length() - 1, 6), a=0.6, b=0.15, c=0.15, m=m), None),
        ]
        for j, (generator, parameters, own) in enumerate(generators):
            if generator == "rmat" and 4 ** parameters["scale"] < 8 * m:
                continue
            if generator in ("delaunay", "geometric") and m > 1 << 21:
                continue
            kind = own or weights[(j + 3 * k) % len(weights)]
            order = orders[(j + k) % 3]
            made.append(Case(m, 0.0, generator, parameters, 101 + 7 * k + j, kind, order))
    # A stride coprime to their number: all sizes and generators are covered, whenever the time is over.
    return [case for i in range(len(made)) if (case := made[i * 37 % len(made)]).m <= largest]
