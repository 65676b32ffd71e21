"""Two-dimensional grids, whole or with a share of their edges."""

from __future__ import annotations

import numpy as np

from mst.generators.family import MAX_VERTICES, Edges, Parameter, family, require


@family(
    "two-dimensional grid: every vertex is joined to its right and lower neighbour",
    connected="always",
    rows=Parameter(int, "rows", low=1),
    cols=Parameter(int, "columns", low=1),
)
def grid(*, rows: int, cols: int, seed: int, connected: bool) -> Edges:
    """Join neighbours; ECL-MST's 2d-2e20 has 1024 rows and columns."""
    from mst.kernels.generate_grid import fill_grid

    require(rows * cols <= MAX_VERTICES, "grid", f"{rows:,} × {cols:,} is more than 2³² vertices")
    pairs = np.empty(rows * (cols - 1) + (rows - 1) * cols, np.uint64)
    fill_grid(pairs, rows, cols)
    return Edges(rows * cols, pairs, "sorted")
