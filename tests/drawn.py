"""Hypothesis strategies for graphs and weights; apart from `adversarial`, which ranks load without hypothesis."""

from __future__ import annotations

import numpy as np
from adversarial import DTYPES, extremes
from hypothesis import strategies as st

from mst.graph import Graph


def weights(dtype, m: int) -> st.SearchStrategy[np.ndarray]:
    """Strategy: `m` weights of a dtype; few values for ties, extremes, or anything but NaN."""
    dtype = np.dtype(dtype)
    few = st.sampled_from([dtype.type(x) for x in (-2, -1, 0, 1, 2)])
    special = st.sampled_from(list(extremes(dtype)))
    if dtype.kind == "i":
        info = np.iinfo(dtype)
        wide = st.integers(int(info.min), int(info.max))
    else:
        wide = st.floats(allow_nan=False, width=8 * dtype.itemsize)
    values = st.one_of(few, few, special, wide)
    return st.lists(values, min_size=m, max_size=m).map(lambda given: np.array(given, dtype))


@st.composite
def graphs(draw, *, dtypes=DTYPES, most_vertices: int = 12, most_edges: int = 30) -> Graph:
    """Strategy: multigraphs with loops, isolated vertices and weights of any dtype."""
    n = draw(st.integers(0, most_vertices))
    m = draw(st.integers(0, most_edges)) if n else 0
    vertex = st.integers(0, max(n - 1, 0))
    ends = draw(st.lists(st.tuples(vertex, vertex), min_size=m, max_size=m))
    u, v = np.array(ends, np.int32).reshape(-1, 2).T
    return Graph(n, u, v, draw(weights(draw(st.sampled_from(dtypes)), m)), name="drawn")
