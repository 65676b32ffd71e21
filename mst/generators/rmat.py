"""R-MAT and Kronecker graphs: each arc chooses a quarter of the adjacency matrix, recursively."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from mst.generators.definition import Edges, Parameter, empty_pairs, generator, pair_count, require
from mst.generators.distinct import distinct, draw_distinct
from mst.generators.spanning import SpanningTree


class _Values(NamedTuple):
    """Values of the parameters, in the order of `_parameters`."""

    scale: int
    edge_factor: int | None
    m: int | None
    a: float
    b: float
    c: float
    simple: bool


def _parameters(a: float, b: float, c: float, edge_factor: int) -> dict[str, Parameter]:
    return dict(
        scale=Parameter(int, "2^scale vertices", high=31),
        edge_factor=Parameter(int, f"arcs per vertex; {edge_factor} unless m is given", default=None),
        m=Parameter(
            int, "exact number of edges, reached by more arcs, or by dropping random ones", default=None
        ),
        a=Parameter(float, "probability of the upper left quarter", default=a, high=1),
        b=Parameter(float, "probability of the upper right quarter", default=b, high=1),
        c=Parameter(
            float, "probability of the lower left quarter; the lower right one has the rest", default=c, high=1
        ),
        simple=Parameter(
            bool, "drop self-loops and parallel edges; false keeps all arcs as drawn", default=True
        ),
    )


@generator(
    "recursive matrix with GTgraph's probabilities .45 .15 .15 .25",
    _parameters(0.45, 0.15, 0.15, 8),
    connected="on request",
)
def rmat(*, seed: int, connected: bool, **values: Any) -> Edges:
    """Draw arcs recursively (Chakrabarti, Zhan and Faloutsos, SDM 2004), with defaults as in GTgraph.

    Unlike in GTgraph, the probabilities are not perturbed at every level. Without `m`, duplicates and self-loops are
    dropped from the arcs; with `m`, arcs are drawn until m edges are distinct, and random ones beyond m are dropped.

    The rmat16 graph of the ECL-MST paper (483,933 edges, 3,900 components, maximum degree 569) was not made with these
    defaults, which make 520,805 edges, 569 components and degree 271. With a, b, c = .55, .1, .1, the numbers are
    similar: 484,918 edges, 4,135 components and degree 550.
    """
    return _make(seed, connected, 8, _Values(**values))


@generator(
    "like rmat, with Graph500's probabilities .57 .19 .19 .05 and random vertex ids",
    _parameters(0.57, 0.19, 0.19, 16),
    connected="on request",
    relabels=True,
)
def kronecker(*, seed: int, connected: bool, **values: Any) -> Edges:
    """Draw arcs as `rmat` does, then permute the vertices at random (Graph500 specification, section 3)."""
    return _make(seed, connected, 16, _Values(**values))


def _make(seed: int, connected: bool, default_factor: int, values: _Values) -> Edges:
    from mst.kernels.generate.rmat import fill_rmat
    from mst.kernels.primitives.hashing import stream

    scale, edge_factor, m, a, b, c, simple = values
    thresholds = _thresholds(a, b, c)
    require(m is None or edge_factor is None, "give edge_factor or m, not both")
    n = 2**scale
    tree = SpanningTree(n, seed) if connected else None
    reserved = tree.edges if tree else 0
    total = (default_factor if edge_factor is None else edge_factor) * n if m is None else m
    require(
        total >= reserved, f"{total:,} edges cannot connect {n:,} vertices: they must be at least {reserved:,}"
    )
    key = stream(seed, "arcs")

    def draw(first: int, count: int) -> np.ndarray:
        """Return the arcs ``first … first + count - 1`` of an endless sequence, except edges of the tree."""
        arcs = empty_pairs(count)
        fill_rmat(arcs, first, scale, thresholds, key, simple)
        return arcs[: tree.drop_tree_edges(arcs)] if tree and simple else arcs

    wanted = total - reserved
    if not simple:
        others = draw(0, wanted)
    elif m is None:
        others = distinct(draw(0, wanted))
    else:
        require(m <= pair_count(n), f"{n:,} vertices have fewer than m = {m:,} pairs: lower m or raise scale")
        others = draw_distinct(wanted, draw, wanted, seed)
    if tree is None:
        return Edges(n, others, "sorted" if simple else "any")
    pairs = empty_pairs(reserved + len(others))
    pairs[tree.fill(pairs) :] = others
    return Edges(n, pairs)


def _thresholds(a: float, b: float, c: float) -> tuple[np.uint64, ...]:
    """Return the cumulative probabilities in units of 2⁻³²; raise `InputError` if their sum is above 1."""
    require(
        Fraction(a) + Fraction(b) + Fraction(c) <= 1 + Fraction(1, 2**40),
        f"a + b + c = {a + b + c:.6g} is above 1: lower one of them",
    )
    return tuple(np.uint64(min(round(Fraction(x) * 2**32), 2**32)) for x in (a, a + b, a + b + c))
