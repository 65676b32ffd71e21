"""Graph generators, one per module; the same seed makes the same graph on every platform.

Random numbers are hashes of counters (`mst.kernels.primitives.hashing`), and all decisions use integers, so neither the
number of threads nor the platform's mathematical library can change a graph.
"""

from __future__ import annotations

import importlib
import operator
import pkgutil
from typing import Any

import numpy as np

import mst.forest  # noqa: F401 - registers how graphs are pickled
from mst.errors import ConfigError, InputError, nearest
from mst.generators.definition import Edges, Generator, Parameter, generators_of
from mst.graph import Graph
from mst.weights import WeightSpec, hash_weights

__all__ = ["GENERATORS", "ROW_ORDERS", "Generator", "Parameter", "generate"]

ROW_ORDERS = ("shuffled", "sorted")

GENERATORS: dict[str, Generator] = {
    generator.name: generator
    for generator in sorted(
        (
            generator
            for module in pkgutil.iter_modules(__path__)
            for generator in generators_of(importlib.import_module(f"{__name__}.{module.name}"))
        ),
        key=lambda generator: generator.name,
    )
}
"""All generators by name; a module of this package adds one with the decorator `definition.generator`."""


def generate(
    generator: str,
    *,
    seed: int = 1,
    weights: WeightSpec = WeightSpec(),  # noqa: B008 - immutable
    connected: bool = False,
    order: str = "shuffled",
    relabel: bool | None = None,
    name: str = "",
    **parameters: Any,
) -> Graph:
    """Generate a graph.

    Parameters
    ----------
    generator : str
        A name of `GENERATORS`.
    seed : int
        Any integer; the same seed makes the same graph, on every platform and with any number of threads.
    weights : WeightSpec
        Dtype, range and order of the weights, which are hashes of the edges' ends.
    connected : bool
        Require a connected graph. Generators with a given number of edges include a random spanning tree among them,
        others try several graphs; generators of graphs that are always connected ignore this option.
    order : {"shuffled", "sorted"}
        Order of the rows. *Shuffled* rows, as benchmarks often use them, hide the structure of the graph. *Sorted* rows
        ascend by (smaller end, larger end), as in most published files.
    relabel : bool, optional
        Permute the vertex ids at random. By default, only generators whose definition requires it do so
        (``kronecker``); the others number vertices by the graph's structure, such as a grid row by row.
    name : str
        Name of the graph; by default, the name of the generator.
    **parameters
        Parameters of the generator, which ``GENERATORS[generator].parameters`` describes.

    Returns
    -------
    Graph
        A simple graph with ``u < v`` in every row, except that ``rmat`` with ``simple=False`` makes a multigraph.

    Raises
    ------
    ConfigError
        There is no such generator or parameter, or a required parameter is missing.
    InputError
        The value of a parameter is invalid.
    OutOfMemoryError
        The graph does not fit into memory.

    Examples
    --------
    >>> from mst.generators import generate
    >>> generate("uniform", n=1000, m=5000, connected=True, seed=7)
    <Graph 'uniform': n=1,000 m=5,000 weights int32>
    """
    chosen = known(generator)
    if order not in ROW_ORDERS:
        raise ConfigError(f"no row order {order!r}{nearest(str(order), ROW_ORDERS)}: use shuffled or sorted")
    seed = _seed(seed)
    values = chosen.resolve(parameters)
    edges = chosen.build(seed, connected, values)
    if chosen.relabels if relabel is None else relabel:
        edges = _relabelled(edges, seed)
    u, v = _in_order(edges, order, seed)
    n = edges.n
    del edges  # frees the packed pairs before the weights are allocated
    w = hash_weights(u, v, seed=seed, spec=weights)
    return Graph(n, u, v, w, name=name or generator, trusted=True)


def known(generator: str) -> Generator:
    """Return the generator of this name; if there is none, raise `ConfigError` with the most similar name."""
    if generator not in GENERATORS:
        raise ConfigError(
            f"no generator {generator!r}{nearest(generator, GENERATORS)}; the generators are {', '.join(GENERATORS)}"
        )
    return GENERATORS[generator]


def _seed(seed: Any) -> int:
    try:
        return operator.index(seed)
    except TypeError:
        raise InputError(f"the seed must be an integer, got {seed!r}") from None


def _relabelled(edges: Edges, seed: int) -> Edges:
    from mst.kernels.primitives import hashing, pairs

    new_ids = hashing.permutation(seed, "vertex names", edges.n)
    pairs.relabel(edges.pairs, new_ids)
    return edges._replace(arrangement="any")


def _in_order(edges: Edges, order: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns ``(u, v)`` of the edges in the requested order."""
    from mst.kernels.primitives import hashing, pairs

    m = len(edges.pairs)
    id_dtype = np.int32 if edges.n < 2**31 else np.int64
    u, v = np.empty(m, id_dtype), np.empty(m, id_dtype)
    if order == "shuffled" and edges.arrangement != "shuffled":
        pairs.unpack_permuted(u, v, edges.pairs, hashing.permutation(seed, "order of edges", m))
    else:
        if order == "sorted" and edges.arrangement != "sorted":
            edges.pairs.sort()
        pairs.unpack(u, v, edges.pairs)
    return u, v
