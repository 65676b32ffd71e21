"""Every combination of options of the ports for many cores has Kruskal's forest, on graphs that break such programs."""

from __future__ import annotations

import adversarial
import numpy as np
import oracles
import pytest
from option_combinations import option_combinations

from mst import registry
from mst.execute import execute
from mst.facts import Facts
from mst.graph import Graph

# Each combination is more code to compile; the defaults are solved in test_every_algorithm.py.
pytestmark = pytest.mark.slow

PORTS = [
    algorithm
    for algorithm in registry.algorithms().values()
    if algorithm.paradigm == "threads" and algorithm.exact and algorithm.paper
]
NUMBERS = {"chunk": (1, 1024), "sample": (0, 2), "prefix": (0.1, 1.25)}
CASES = [
    pytest.param(port, options, id=f"{port.id}-{port.options_slug(options)}")
    for port in PORTS
    for options in option_combinations(
        port, **{name: NUMBERS[name] for name in NUMBERS if name in port.options}
    )
    if port.skip(Facts(n=10, m=10), options=options) is None
]


@pytest.fixture(scope="module")
def solved() -> list[tuple[Graph, list[int]]]:
    """Graphs and their forests."""
    graphs = list(adversarial.small(np.random.default_rng(31)))[::5]
    graphs += list(adversarial.medium(np.random.default_rng(32), n=120, m=400))
    return [(graph, oracles.by_python_kruskal(graph)) for graph in graphs]


@pytest.mark.parametrize("port,options", CASES)
def test_combination_of_options_has_the_forest(port, options, solved):
    for width in (1, 2):
        for graph, expected in solved:
            assert np.sort(execute(port, graph, width, options).collect()).tolist() == expected, graph.name
