"""Adversarial graphs by the thousand: disjoint unions of tiny graphs, made by array operations.

The forest of a union is the union of the forests, since edges compare by (weight, edge id): one solve checks every
graph of it, and the next solve finds other sizes, other weights and other options.
"""

from __future__ import annotations

import numpy as np
from adversarial import DTYPES, extremes

from mst.graph import Graph

SHAPES = ("random", "path", "star", "cycle", "parallel", "loops", "two halves")
WEIGHTS = ("equal", "few", "ascending", "descending", "extreme", "one step apart", "wide")


def union(rng: np.random.Generator, graphs: int, *, connected: bool = False) -> Graph:
    """Return the disjoint union of that many graphs, of 1 to 9 vertices, rarely of up to 200.

    A connected one has further edges, which join all vertices to a path; they are heavy, or of weights that occur.
    """
    sizes = rng.integers(1, 10, graphs)
    large = rng.random(graphs) < 0.01
    sizes[large] = rng.integers(10, 201, large.sum())
    counts = rng.integers(0, 3 * sizes)
    owner = np.repeat(np.arange(graphs), counts)
    row = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    u, v = _ends(rng, sizes[owner], row, rng.integers(0, len(SHAPES), graphs)[owner])
    w = _weights(rng, row, rng.integers(0, len(WEIGHTS), graphs)[owner], DTYPES[rng.integers(len(DTYPES))])
    n, first = sizes.sum(), (np.cumsum(sizes) - sizes)[owner]
    u, v = u + first, v + first
    if connected:
        u, v = np.append(u, np.arange(n - 1)), np.append(v, np.arange(1, n))
        w = np.append(w, rng.choice(extremes(w.dtype) if rng.random() < 0.5 or not len(w) else w, n - 1))
    names = rng.permutation(n) if rng.random() < 0.5 else np.arange(n)
    places = rng.permutation(len(w)) if rng.random() < 0.5 else np.arange(len(w))
    return Graph(n, names[u][places], names[v][places], w[places], name="union")


def _ends(rng, n: np.ndarray, row: np.ndarray, shape: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of edges: `n` vertices, `row` and `shape` of the graph are given for each edge."""
    a, b = rng.integers(0, 2**40, (2, len(n))) % n
    half = (n + 1) // 2
    chosen = [shape == SHAPES.index(name) for name in SHAPES[1:]]
    u = np.select(chosen, [row % n, 0 * n, row % n, 0 * n, a, np.where(a < half, a % half, a)], a)
    same_half = np.where(a < half, b % half, np.where(n > half, half + b % np.maximum(n - half, 1), a))
    v = np.select(
        chosen,
        [np.minimum(row % n + 1, n - 1), b, (row + 1) % n, n - 1, np.where(row % 2, b, a), same_half],
        b,
    )
    return u, v


def _weights(rng, row: np.ndarray, kind: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return weights of each edge's `kind`; of the whole union few kinds are kept, so that keys are of both widths."""
    kept = rng.integers(0, len(WEIGHTS), rng.integers(1, 4))
    kind = kept[kind % len(kept)]
    m = len(row)
    special = rng.choice(extremes(dtype), m)
    steps = rng.integers(-2, 3, m)
    if dtype.kind == "i":
        info = np.iinfo(dtype)
        near = rng.choice(np.array([info.min + 2, 0, info.max - 2], dtype)) + steps.astype(dtype)
        wide = rng.integers(info.min, info.max, m, dtype=dtype, endpoint=True)
    else:
        bits = np.dtype(f"i{dtype.itemsize}")
        near = np.full(m, rng.choice([1.0, -1.0, 1e-3, 2.0**24, 1e30]), dtype)
        near = (near.view(bits) + steps.astype(bits)).view(dtype)
        wide = rng.standard_normal(m).astype(dtype)
    few = rng.choice(np.array([-1, 0, -0.0, 1], np.float64), m).astype(dtype)
    equal, ascending = np.full(m, 7, dtype), row.astype(dtype)
    return np.choose(kind, [equal, few, ascending, -ascending, special, near, wide])
