"""Generated graphs: a file for each generator, the same graph for the same seed on every platform.

Randomness is a hash of counters (`mst.kernels.primitives.hashing`) and every decision is taken in integers, so
neither the number of threads nor the platform's mathematical library can change a graph.
"""

from __future__ import annotations

import importlib
import operator
import pkgutil
from typing import Any

import numpy as np

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
"""Every generator by name: a file of this package that defines one with `definition.generator` adds it."""


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
    """Make a graph.

    Parameters
    ----------
    generator : str
        A name of `GENERATORS`.
    seed : int
        Any integer; the same seed makes the same graph, on every platform and at every number of threads.
    weights : WeightSpec
        Weights to hash from the edges' ends.
    connected : bool
        Insist on a connected graph. Generators with a stated number of edges put a seeded random spanning tree
        among them, so that the number stays exact; those whose graphs are always connected ignore it; others
        refuse.
    order : {"shuffled", "sorted"}
        Order of the rows. Shuffled is the default, since neither ids nor memory accesses then tell anything
        of the structure, which is what edge lists in random order are benchmarked for; sorted is by
        (smaller end, larger end), as most published files are.
    relabel : bool, optional
        Permute the vertices' names at random. By default only the generators whose definition says so do
        (``kronecker``); others keep the names that follow from the structure, such as a grid's row by row.
    name : str
        For messages and tables; by default the generator's name.
    **parameters
        The generator's own, as ``GENERATORS[generator].parameters`` describes them.

    Returns
    -------
    Graph
        Simple, with ``u < v`` in every row, unless the generator says otherwise.

    Raises
    ------
    ConfigError
        No such generator or parameter, or one is missing.
    InputError
        A parameter's value is out of range.

    Examples
    --------
    >>> from mst.generators import generate
    >>> generate("uniform", n=1000, m=5000, connected=True, seed=7)
    <Graph 'uniform': n=1,000 m=5,000 weights int32>
    """
    if generator not in GENERATORS:
        raise ConfigError(
            f"no generator {generator!r}{nearest(generator, GENERATORS)}: there are {', '.join(GENERATORS)}"
        )
    if order not in ROW_ORDERS:
        raise ConfigError(f"no row order {order!r}{nearest(str(order), ROW_ORDERS)}: use shuffled or sorted")
    seed = _seed(seed)
    chosen = GENERATORS[generator]
    values = chosen.resolve(parameters)
    edges = chosen.build(seed, connected, values)
    if chosen.relabels if relabel is None else relabel:
        edges = _relabelled(edges, seed)
    u, v = _in_order(edges, order, seed)
    n = edges.n
    del edges  # the packed pairs make room for the weights
    w = hash_weights(u, v, seed=seed, spec=weights)
    return Graph(n, u, v, w, name=name or generator, trusted=True)


def _seed(seed: Any) -> int:
    try:
        return operator.index(seed)
    except TypeError:
        raise InputError(f"the seed must be an integer, got {seed!r}") from None


def _relabelled(edges: Edges, seed: int) -> Edges:
    from mst.kernels.primitives import hashing, pairs

    names = hashing.permutation(seed, "vertex names", edges.n)
    pairs.relabel(edges.pairs, names)
    return edges._replace(arrangement="any")


def _in_order(edges: Edges, order: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Unpack the pairs in the order asked for."""
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
