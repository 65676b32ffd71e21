"""Two-dimensional grids, complete or with a random share of their edges."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from mst.generators.definition import MAX_VERTICES, Edges, Parameter, empty_pairs, generator, pack, require

_PARAMETERS = dict(
    rows=Parameter(int, "number of rows", low=1, high=MAX_VERTICES),
    columns=Parameter(int, "number of columns", low=1, high=MAX_VERTICES),
)


@generator(
    "two-dimensional grid: every vertex is joined to its right and its lower neighbour",
    _PARAMETERS,
    connected="always",
)
def grid(*, rows: int, columns: int, seed: int, connected: bool) -> Edges:
    """Join neighbours; the 2d-2e20 graph of the ECL-MST paper has 1024 rows and columns."""
    from mst.kernels.generate.grid import fill_grid

    require(rows * columns <= MAX_VERTICES, f"{rows:,} × {columns:,} is more than 2³² vertices")
    pairs = empty_pairs(rows * (columns - 1) + (rows - 1) * columns)
    fill_grid(pairs, rows, columns)
    return Edges(rows * columns, pairs, "sorted")


@generator(
    "similar to a road network: a random share of a grid's edges, with an average degree of 2.7 by default",
    dict(
        **_PARAMETERS,
        share=Parameter(float, "share of the grid's edges, rounded to a whole number", default=2 / 3, high=1),
        bends=Parameter(int, "vertices inserted into the kept edges, equally many into each", default=0),
        largest_degree=Parameter(
            int, "above 4, given to some of 64 random junctions by dead ends", default=4, low=4
        ),
    ),
    connected="on request",
)
def road(
    *, rows: int, columns: int, share: float, bends: int, largest_degree: int, seed: int, connected: bool
) -> Edges:
    """Keep random edges of a grid; with `connected`, they include all edges of a random spanning tree.

    Kruskal's algorithm finds this tree among the edges of the grid in random order. With `bends`, the kept edges become
    paths, as in road networks whose vertices are the points of a map. With `largest_degree` d > 4, up to 64 vertices
    of the grid get d - 4 dead ends each: those that had four roads have d then.
    """
    edges = _kept(rows, columns, share, seed, connected)
    if bends and len(edges.pairs):
        from mst.kernels.generate.grid import fill_bends

        edges.pairs.sort()  # so that the vertices of a path are near its ends
        bent = empty_pairs(len(edges.pairs) + bends)
        fill_bends(bent, edges.pairs, edges.n)
        edges = Edges(edges.n + bends, bent)
    if largest_degree == 4:
        return edges
    from mst.kernels.primitives import hashing

    grid_vertices, kept = rows * columns, len(edges.pairs)
    count = min(64, grid_vertices)
    pairs = empty_pairs(kept + count * (largest_degree - 4))
    permutation = hashing.permutation(seed, "junctions with dead ends", grid_vertices)
    junctions = hashing.permuted_range(permutation, count).astype(np.uint64)
    ends = np.repeat(junctions, largest_degree - 4)
    pairs[:kept], pairs[kept:] = edges.pairs, pack(ends, edges.n + np.arange(len(ends), dtype=np.uint64))
    return Edges(edges.n + len(ends), pairs)


def _kept(rows: int, columns: int, share: float, seed: int, connected: bool) -> Edges:
    from mst.kernels.primitives import hashing, pairs
    from mst.kernels.union_find import connectivity

    n, edges, _ = grid(rows=rows, columns=columns, seed=seed, connected=connected)
    m = round(Fraction(share) * len(edges))
    permutation = hashing.permutation(seed, "edges of the road", len(edges))
    if not connected:
        return Edges(n, pairs.gather(edges, permutation, m), "shuffled")
    require(
        m >= n - 1,
        f"a share of {share} is {m:,} edges, but {n:,} vertices need {n - 1:,} to be connected: raise share",
    )
    shuffled = pairs.gather(edges, permutation, len(edges))
    connectivity.keep_connected(n, shuffled, m)
    return Edges(n, shuffled[:m], "shuffled")
