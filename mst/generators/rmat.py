"""R-MAT and Kronecker graphs: arcs fall into quarters of the adjacency matrix, recursively."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from mst.generators.definition import Edges, Parameter, empty_pairs, generator, require
from mst.generators.distinct import distinct, exactly
from mst.generators.spanning import SpanningTree


def _parameters(a: float, b: float, c: float, edge_factor: int) -> dict[str, Parameter]:
    return dict(
        scale=Parameter(int, "2^scale vertices", high=31),
        edge_factor=Parameter(int, f"arcs drawn per vertex, {edge_factor} unless m is given", default=None),
        m=Parameter(int, "edges, exactly: draw until there are as many", default=None),
        a=Parameter(float, "probability of the upper left quarter", default=a, high=1),
        b=Parameter(float, "of the upper right", default=b, high=1),
        c=Parameter(float, "of the lower left; the lower right has the rest", default=c, high=1),
        simple=Parameter(bool, "drop loops and parallel edges; false keeps all arcs as drawn", default=True),
    )


@generator(
    "recursive matrix with GTgraph's probabilities .45 .15 .15 .25",
    _parameters(0.45, 0.15, 0.15, 8),
    connected="on request",
)
def rmat(*, seed: int, connected: bool, **values) -> Edges:
    """Draw arcs recursively (Chakrabarti, Zhan and Faloutsos, SDM 2004), with defaults as in GTgraph.

    GTgraph perturbs the probabilities at every level; here they stay as given. Without `m`, the arcs drawn
    are made simple; with `m`, arcs are drawn until at least m edges are distinct, and a random choice of the
    surplus is dropped.

    The rmat16 of the ECL-MST paper (483,933 edges, 3,900 components, maximum degree 569) is not one of these
    defaults, which give 520,805 edges, 569 components and degree 271; a, b, c = .55, .1, .1 come near with
    484,918 edges, 4,135 components and degree 550.
    """
    return _make("rmat", seed, connected, 8, **values)


@generator(
    "as rmat, with Graph500's probabilities .57 .19 .19 .05 and random vertex names",
    _parameters(0.57, 0.19, 0.19, 16),
    connected="on request",
    relabels=True,
)
def kronecker(*, seed: int, connected: bool, **values) -> Edges:
    """Draw as `rmat` does, then rename the vertices at random (Graph500 specification, section 3)."""
    return _make("kronecker", seed, connected, 16, **values)


def _make(
    generator: str,
    seed: int,
    connected: bool,
    default_factor: int,
    *,
    scale: int,
    edge_factor: int | None,
    m: int | None,
    a: float,
    b: float,
    c: float,
    simple: bool,
) -> Edges:
    from mst.kernels.generate.rmat import fill_rmat
    from mst.kernels.primitives.hashing import stream

    require(
        Fraction(a) + Fraction(b) + Fraction(c) <= 1 + Fraction(1, 2**40),
        generator,
        f"a + b + c = {a + b + c:.6g} is above 1: lower one of them",
    )
    require(m is None or edge_factor is None, generator, "give edge_factor or m, not both")
    n = 2**scale
    tree = SpanningTree(n, seed) if connected else None
    reserved = tree.edges if tree else 0
    stated = (default_factor if edge_factor is None else edge_factor) * n if m is None else m
    require(
        stated >= reserved,
        generator,
        f"{stated:,} edges cannot connect {n:,} vertices: they must be at least {reserved:,}",
    )
    key = stream(seed, "arcs")
    cuts = tuple(np.uint64(min(round(Fraction(x) * 2**32), 2**32)) for x in (a, a + b, a + b + c))

    def draw(first: int, count: int) -> np.ndarray:
        """Arcs ``first … first + count - 1`` of an endless sequence; with a tree, without those in it."""
        arcs = empty_pairs(count)
        fill_rmat(arcs, first, scale, cuts, key, simple)
        return arcs[: tree.keep_others(arcs)] if tree and simple else arcs

    wanted = stated - reserved
    if not simple:
        others = draw(0, wanted)
    elif m is None:
        others = distinct(draw(0, wanted))
    else:
        require(m <= n * (n - 1) // 2, generator, f"{n:,} vertices have fewer than m = {m:,} pairs")
        others = exactly(wanted, draw, wanted, generator, seed)
    if tree is None:
        return Edges(n, others, "sorted" if simple else "any")
    pairs = empty_pairs(reserved + len(others))
    pairs[tree.fill(pairs) :] = others
    return Edges(n, pairs)
