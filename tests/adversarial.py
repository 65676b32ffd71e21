"""Graphs that break minimum spanning forest algorithms, by name; `drawn` has hypothesis strategies for more of them.

Shared by every suite: `small` (at most some hundred edges, for oracles in pure Python) and `medium` (some ten thousand
edges, for filters, rounds and races).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mst.graph import WEIGHT_DTYPES, Graph

DTYPES = WEIGHT_DTYPES


def extremes(dtype) -> np.ndarray:
    """Return the values of a dtype that break keys, sentinels and sums."""
    dtype = np.dtype(dtype)
    if dtype.kind == "i":
        info = np.iinfo(dtype)
        return np.array([info.min, info.min + 1, -1, 0, 1, info.max - 1, info.max], dtype)
    finfo = np.finfo(dtype)
    tiny, least = finfo.smallest_normal, finfo.smallest_subnormal
    positive = [0.0, least, tiny, 1.0, 1.0 + float(finfo.eps), finfo.max, np.inf]
    return np.array([*(-np.array(positive, dtype)[::-1]), *positive], dtype)


def small(rng: np.random.Generator) -> Iterator[Graph]:
    """Yield small named graphs: every shape, and every kind of weights in every dtype."""
    yield from _degenerate()
    for name, n, u, v in _shapes(rng):
        m = len(u)
        yield Graph(n, u, v, np.full(m, 7), name=f"{name}, equal")
        yield Graph(n, u, v, np.arange(m), name=f"{name}, ascending")
        yield Graph(n, u, v, np.arange(m, 0, -1, dtype=np.float32), name=f"{name}, descending")
        yield Graph(n, u, v, rng.integers(-3, 4, m).astype(np.float64), name=f"{name}, few values")
        yield Graph(n, u, v, rng.integers(-(2**62), 2**62, m), name=f"{name}, wide")
    for name, w in _weights(rng, 150):
        yield Graph(40, rng.integers(0, 40, 150), rng.integers(0, 40, 150), w, name=f"random, {name}")
        yield Graph(150, rng.integers(0, 150, 150), rng.integers(0, 150, 150), w, name=f"sparse, {name}")


def medium(rng: np.random.Generator, n: int = 3_000, m: int = 24_000) -> Iterator[Graph]:
    """Yield named graphs that need several rounds and filters, and that expose races between threads."""

    def ends() -> tuple[np.ndarray, np.ndarray]:
        return rng.integers(0, n, m), rng.integers(0, n, m)

    yield Graph(n, *ends(), rng.integers(0, 2**24, m).astype(np.int32), name="uniform")
    yield Graph(n, *ends(), rng.random(m), name="uniform, 64-bit keys")
    yield Graph(n, *ends(), np.zeros(m, np.float32), name="all equal")
    yield Graph(n, *ends(), rng.integers(0, 3, m), name="few values")
    yield Graph(n, *ends(), np.sort(rng.integers(0, 2**20, m)), name="sorted")
    yield Graph(n, *ends(), np.sort(rng.random(m))[::-1], name="reversed")
    skewed = (n * rng.random((2, m)) ** 4).astype(np.int64)
    yield Graph(n, *skewed, rng.random(m).astype(np.float32), name="skewed degrees")
    u, v = ends()
    yield Graph(n, u, v, np.where(u // 50 == v // 50, 1.0, 0.0) + rng.random(m) / 2, name="heavy communities")
    yield Graph(n, u, v, np.where(u // 50 == v // 50, 0.0, 1.0) + rng.random(m) / 2, name="light communities")
    yield Graph(2 * n, u // 9 * 9, v // 9 * 9 + u % 2, rng.integers(0, 99, m), name="many components")
    few = rng.integers(0, 60, (2, m))
    yield Graph(n, *few, rng.integers(0, 1000, m), name="dense and parallel, most vertices isolated")
    i = np.arange(m)
    yield Graph(m + 1, i, i + 1, i, name="long path, ascending: one chain of links")
    yield Graph(m + 1, i, i + 1, _ruler(m), name="long path, ruler: as many rounds as can be")
    yield Graph(m + 1, np.zeros(m, np.int64), i + 1, rng.integers(0, 50, m), name="star: every edge at one hub")
    yield Graph(m, i, (i + 1) % m, np.full(m, 3.5, np.float32), name="cycle of ties")


def _degenerate() -> Iterator[Graph]:
    for dtype in DTYPES:
        none = np.empty(0, dtype)
        yield Graph(0, [], [], none, name=f"empty {dtype}")
        yield Graph(1, [], [], none, name=f"one vertex {dtype}")
        yield Graph(9, [], [], none, name=f"no edges {dtype}")
        yield Graph(1, [0, 0], [0, 0], np.array([3, 2], dtype), name=f"only loops {dtype}")
        yield Graph(2, [0] * 3, [0] * 3, np.array([2] * 3, dtype), name=f"equal loops {dtype}")
        yield Graph(2, [1], [0], np.array([-4], dtype), name=f"one edge {dtype}")
        for value in extremes(dtype):
            w = np.full(3, value, dtype)
            yield Graph(3, [0, 1, 2], [1, 2, 0], w, name=f"triangle of {value} {dtype}")
    yield Graph(
        4, [1, 2, 1, 2, 1], [2, 1, 2, 1, 1], [5, 5, 3, 3, -9], name="parallel both ways, loop, isolated"
    )


def _shapes(rng: np.random.Generator) -> Iterator[tuple[str, int, np.ndarray, np.ndarray]]:
    i = np.arange(40)
    yield "star", 41, np.zeros(40, np.int64), i + 1
    yield "star, last is hub", 41, i, np.full(40, 40)
    yield "path", 41, i, i + 1
    shuffled = rng.permutation(41)
    yield "shuffled path", 41, shuffled[:-1], shuffled[1:]
    yield "cycle", 40, i, (i + 1) % 40
    yield "two cycles", 42, np.r_[i[:20], i[20:] + 1], np.r_[(i[:20] + 1) % 20, (i[:20] + 1) % 20 + 21]
    low, high = np.triu_indices(11, 1)
    yield "complete", 11, low, high
    left, right = (x.ravel() for x in np.meshgrid(np.arange(6), np.arange(6, 13)))
    yield "bipartite", 13, left, right
    yield "binary tree", 41, (i + 1 - 1) // 2, i + 1
    yield "caterpillar", 41, np.r_[i[:20], i[:20]], np.r_[i[:20] + 1, i[:20] + 21]
    yield "matching", 80, 2 * i, 2 * i + 1
    cells = np.arange(42).reshape(6, 7)
    u = np.r_[cells[:, :-1].ravel(), cells[:-1].ravel()]
    v = np.r_[cells[:, 1:].ravel(), cells[1:].ravel()]
    yield "grid", 42, u, v
    yield "parallel", 5, rng.integers(0, 5, 80), rng.integers(0, 5, 80)
    yield "loops", 9, np.r_[i % 9, i % 9], np.r_[i % 9, (i * 4) % 9]
    yield "isolated ends", 90, rng.integers(30, 60, 60), rng.integers(30, 60, 60)
    clique = np.array([(7 * c + a, 7 * c + b) for c in range(5) for a in range(7) for b in range(a)])
    yield "cliques", 35, clique[:, 0], clique[:, 1]


def _weights(rng: np.random.Generator, m: int) -> Iterator[tuple[str, np.ndarray]]:
    for dtype in DTYPES:
        yield f"extreme {dtype}", rng.choice(extremes(dtype), m)
        yield f"ties {dtype}", rng.integers(-2, 3, m).astype(dtype)
        yield f"zeros {dtype}", np.zeros(m, dtype)
        if dtype.kind == "f":
            yield f"zeros of both signs {dtype}", rng.choice(np.array([0.0, -0.0], dtype), m)
            yield f"infinities {dtype}", rng.choice(np.array([np.inf, -np.inf, 0], dtype), m)
            yield f"huge {dtype}", rng.choice(extremes(dtype)[-3:-1], m)
            yield f"one step apart {dtype}", _steps(dtype, rng.integers(0, 40, m))
        else:
            yield f"negative {dtype}", -rng.integers(1, 2**30, m).astype(dtype)
            top = np.iinfo(dtype).max
            yield f"top {dtype}", (top - rng.integers(0, 9, m)).astype(dtype)
    # The limit between 32- and 64-bit keys, for integers and for fractions.
    for span in (2**32 - 1, 2**32):
        w = rng.integers(-(2**40), -(2**40) + span, m)
        w[:2] = -(2**40), -(2**40) + span
        yield f"int64 of range {span}", w
    yield "beyond 2**53", 2**53 + rng.integers(0, 5, m)
    yield "float64 alike in float32", 1.0 + rng.integers(0, 9, m) * 2.0**-40
    yield "float64 exact in float32", rng.integers(0, 9, m) / 8.0


def _steps(dtype, steps: np.ndarray) -> np.ndarray:
    """Return the floats that lie the given numbers of steps (ulps) above 1."""
    dtype = np.dtype(dtype)
    return (np.ones(len(steps), dtype).view(f"i{dtype.itemsize}") + steps.astype(f"i{dtype.itemsize}")).view(
        dtype
    )


def _ruler(m: int) -> np.ndarray:
    """1 2 1 3 1 2 1 4 …: Borůvka merges pairs, then pairs of pairs."""
    i = np.arange(1, m + 1)
    return np.log2(i & -i).astype(np.int32)
