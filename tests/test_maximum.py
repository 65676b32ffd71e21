"""Maximum spanning forests: the minimum ones of the opposite weights, ties broken by the smaller edge id."""

from __future__ import annotations

import numpy as np
import pytest

import mst
from mst import UnsupportedError
from mst.graph import WEIGHT_DTYPES, Graph
from mst.interop.inputs import convert


@pytest.mark.parametrize("dtype", WEIGHT_DTYPES, ids=str)
@pytest.mark.parametrize("algorithm", ["auto", "kruskal", "filter-boruvka"])
def test_the_heaviest_forest_is_found_in_every_dtype(dtype, algorithm, rng):
    n, m = 60, 300
    u, v = rng.integers(0, n, (2, m))
    small = rng.integers(-9, 9, m)
    graph = Graph(n, u, v, small.astype(dtype))
    forest = mst.minimum_spanning_forest(graph, algorithm=algorithm, maximum=True)
    expected = mst.minimum_spanning_forest((n, u, v, -small), algorithm="kruskal")
    assert forest.edge_ids.tolist() == expected.edge_ids.tolist()
    assert forest.graph is graph and forest.weight == -expected.weight and forest.maximum
    assert repr(forest).startswith("<Maximum forest ")


def test_extreme_weights_have_an_opposite():
    low, high = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    forest = mst.minimum_spanning_forest((3, [0, 1, 2], [1, 2, 0], [low, high, low]), maximum=True)
    assert forest.edge_ids.tolist() == [0, 1]
    floats = mst.minimum_spanning_forest((3, [0, 1, 2], [1, 2, 0], [-np.inf, 0.0, np.inf]), maximum=True)
    assert floats.edge_ids.tolist() == [1, 2]


def test_queries_of_clusters_and_batches_are_refused():
    forest = mst.minimum_spanning_forest((3, [0, 1], [1, 2], [5, 7]), maximum=True)
    with pytest.raises(UnsupportedError, match="negate the weights"):
        forest.linkage()
    with pytest.raises(UnsupportedError, match="negate their weights"):
        mst.minimum_spanning_forest(iter([([0], [1], [5])]), maximum=True)


def test_a_table_of_the_forest_is_a_graph_again():
    forest = mst.minimum_spanning_forest((5, [0, 1, 2], [1, 2, 0], [5.5, 7.5, 6.5]))
    graph = convert(forest.to_table())
    assert (graph.n, graph.u.tolist(), graph.v.tolist(), graph.w.tolist()) == (5, [0, 2], [1, 0], [5.5, 6.5])
    assert forest.to_table().column("id").to_pylist() == [0, 2]


def test_maximum_given_as_text_is_refused():
    with pytest.raises(mst.InputError, match="maximum must be True or False, got 'no'"):
        mst.minimum_spanning_forest((2, [0], [1], [5]), maximum="no")
