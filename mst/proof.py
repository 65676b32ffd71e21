"""That a forest is the minimum spanning forest: proved from the graph alone, trusting no algorithm.

A forest is *the* minimum spanning forest under the order by (weight, edge id) exactly when its ids are edges,
they close no cycle, the ends of every edge of the graph lie in one tree, and every edge outside it is above the
heaviest edge on the tree path between its ends (the cycle property; Tarjan, *Data Structures and Network
Algorithms*, 1983, chapter 6). Three grades of trust follow:

- *identical*: `prove` once for a graph's reference, then `compare_ids` for each exact run;
- *edges*: `check_forest` for peers that break ties otherwise and for approximate algorithms;
- *weight*: `check_weight` where a program prints a total and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np

from mst import order
from mst.errors import InputError, shorten
from mst.graph import Graph

GRADES = ("identical", "edges", "weight")


@dataclass(frozen=True)
class Proof:
    """What was found of a forest.

    Attributes
    ----------
    ok : bool
        True when it holds.
    grade : str
        ``identical``, ``edges`` or ``weight``: how much was checked.
    reason : str
        Why it does not hold, naming a witness; empty when it does.
    n, m, forest_edges, components : int or None
        Of the graph and of the forest; None where they are not known.
    weight : int, float or None
        Total weight of the forest: exact for integers, correctly rounded for floats.
    seconds : float
        Wall time of the proof.
    details : mapping
        The witness of a failure (``edge``, ``path_maximum``, …) and what the proof counted.
    """

    ok: bool
    grade: str
    reason: str = ""
    n: int | None = None
    m: int | None = None
    forest_edges: int | None = None
    components: int | None = None
    weight: int | float | None = None
    seconds: float = 0.0
    details: Mapping[str, Any] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return self.ok


def prove(graph: Graph, edge_ids: Any, *, threads: int = 1) -> Proof:
    """Prove that `edge_ids` are the minimum spanning forest of `graph` under (weight, edge id).

    Parameters
    ----------
    graph : Graph
    edge_ids : array_like of int, shape (k,)
        In any order.
    threads : int
        Threads that share the comparison of the edges with their path maxima; what is found never depends on
        it.

    Returns
    -------
    Proof
        Of grade ``identical``. A failure names its witness in `details`: the offending ``edge``, and the
        ``path_maximum`` that contradicts it.

    Examples
    --------
    >>> from mst import Graph
    >>> from mst.proof import prove
    >>> graph = Graph(3, [0, 1, 2], [1, 2, 0], [5, 7, 6])
    >>> prove(graph, [0, 2]).ok
    True
    >>> prove(graph, [0, 1]).reason
    'edge 2 (2–0, weight 6) is lighter than edge 1 (1–2, weight 7) on its path: the forest is not minimum'
    """
    return _timed(graph, edge_ids, "identical", lambda forest: _minimality(forest, True, threads))


def check_forest(
    graph: Graph, edge_ids: Any, *, reference_weight: int | float, epsilon: float = 0.0, threads: int = 1
) -> Proof:
    """Check that `edge_ids` are a spanning forest of `graph` whose total is right.

    All minimum forests of a graph hold the same weights, whatever their ties, and totals are exact or correctly
    rounded: so an exact forest has exactly the reference's total, without any tolerance. Totals that are not
    finite say nothing; then every edge is compared with its path instead.

    Parameters
    ----------
    graph : Graph
    edge_ids : array_like of int, shape (k,)
    reference_weight : int or float
        Total of a proved forest.
    epsilon : float
        0 for exact algorithms, else the total may reach (1 + `epsilon`) times the reference; negative weights
        are refused with it, because they make the bound meaningless.
    threads : int
        As for `prove`.

    Returns
    -------
    Proof
        Of grade ``edges``.

    Examples
    --------
    >>> from mst import Graph
    >>> from mst.proof import check_forest
    >>> graph = Graph(3, [0, 1, 2], [1, 2, 0], [5, 5, 6])
    >>> check_forest(graph, [0, 2], reference_weight=10).reason
    'total 11 is above the minimum 10'
    >>> check_forest(graph, [0, 2], reference_weight=10, epsilon=0.25).ok
    True
    """
    if not epsilon >= 0:
        raise InputError(f"epsilon must be a number ≥ 0, got {epsilon!r}")
    if epsilon and graph.m and graph.w.min() < 0:
        raise InputError(f"epsilon = {epsilon} bounds nothing when weights are negative: leave it out")

    def check(forest: _Forest) -> tuple[str, dict[str, Any]]:
        if epsilon == 0 and not math.isfinite(forest.weight):
            return _minimality(forest, False, threads)
        reason, witness = _split(forest)
        if reason:
            return reason, witness
        return _excess(forest.weight, reference_weight, epsilon), {"reference_weight": reference_weight}

    return _timed(graph, edge_ids, "edges", check)


def check_weight(total: int | float | str, reference: int | float, *, forest_edges: int = 0) -> Proof:
    """Check a total that a program printed, where its edges are not known.

    Parameters
    ----------
    total : int, float or str
        A text may have been rounded to the digits that it shows: ``"1.25e6"`` says no more than 1 245 000 to
        1 255 000. Two integers must be equal.
    reference : int or float
        Total of a proved forest.
    forest_edges : int
        How many weights of one sign the program added up in double precision, in whatever order, when the
        reference is a float. That allows a relative error of `forest_edges` · 2⁻⁵³ (Higham, *Accuracy and
        Stability of Numerical Algorithms*, 2002, §4.2).

    Returns
    -------
    Proof
        Of grade ``weight``.

    Examples
    --------
    >>> from mst.proof import check_weight
    >>> check_weight(11, 11).ok, check_weight("1.1e1", 11).ok, check_weight("12", 11).reason
    (True, True, 'total 12 is not the minimum 11')
    """
    try:
        found, allowed = _as_known(total)
    except InvalidOperation:
        return Proof(False, "weight", f"total {shorten(str(total))} is not a number", details={"total": total})
    known, _ = _as_known(reference)
    if isinstance(found, Fraction) and isinstance(known, Fraction):
        if isinstance(reference, float):
            allowed += abs(known) * forest_edges / 2**53
        elif allowed == Fraction(1, 2):
            allowed = Fraction(0)
        ok = abs(found - known) <= allowed
    else:
        ok = found == known or repr(found) == repr(known) == "nan"
    reason = "" if ok else f"total {total} is not the minimum {reference}"
    weight = None if isinstance(total, str) else total
    return Proof(ok, "weight", reason, weight=weight, details={"total": total, "reference_weight": reference})


def _as_known(total: int | float | str) -> tuple[Fraction | float, Fraction]:
    """Return a total, exact where it is finite, and half a unit of its last digit where it is a text."""
    if not isinstance(total, str):
        finite = isinstance(total, int) or math.isfinite(total)
        return Fraction(total) if finite else total, Fraction(0)
    number = Decimal(total.strip().replace(",", ""))
    exponent = number.as_tuple().exponent
    if not isinstance(exponent, int):
        return float(number), Fraction(0)
    return Fraction(number), Fraction(10) ** exponent / 2


def compare_ids(digest: str, reference_digest: str) -> Proof:
    """Compare the digest of a forest's edge ids with that of the proved reference.

    Returns
    -------
    Proof
        Of grade ``identical``.

    Examples
    --------
    >>> import mst
    >>> from mst.proof import compare_ids
    >>> forest = mst.minimum_spanning_forest((2, [0, 0], [1, 1], [7, 7]))
    >>> compare_ids(forest.digest, forest.digest).ok
    True
    """
    ok = digest == reference_digest
    reason = "" if ok else f"edge ids differ from the proved forest's: digest {digest}, not {reference_digest}"
    return Proof(ok, "identical", reason)


@dataclass(frozen=True, eq=False)
class _Forest:
    """Edges of a graph that close no cycle, and how they joined its vertices, lightest first."""

    graph: Graph
    ids: np.ndarray
    by_rank: np.ndarray
    ranked_weights: np.ndarray
    hooks: np.ndarray
    links: np.ndarray

    @cached_property
    def weight(self) -> int | float:
        return order.total(self.ranked_weights)

    @cached_property
    def summits(self) -> np.ndarray:
        from mst.kernels.reconstruction import find_summits, summit_dtype

        graph = self.graph
        summits = np.empty(graph.n, summit_dtype(graph.u.dtype, graph.m, graph.w.dtype))
        find_summits(self.hooks, self.links, self.ids, self.by_rank, self.ranked_weights, summits)
        return summits

    def edge_of(self, rank: int) -> int:
        return int(self.ids[self.by_rank[rank]])


def _timed(graph: Graph, edge_ids: Any, grade: str, check) -> Proof:
    started = perf_counter()
    ids, reason, witness = _distinct_rows(graph, edge_ids)
    facts: dict[str, Any] = dict(n=graph.n, m=graph.m, forest_edges=len(ids))
    if not reason:
        forest, reason, witness = _forest(graph, ids)
        if forest is not None:
            facts.update(components=graph.n - len(ids), weight=forest.weight)
            reason, witness = check(forest)
    return Proof(not reason, grade, reason, **facts, seconds=perf_counter() - started, details=witness)


def _distinct_rows(graph: Graph, edge_ids: Any) -> tuple[np.ndarray, str, dict[str, Any]]:
    """Return the ids ascending, or why they are not distinct rows of the edge list."""
    given = np.asarray(edge_ids)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        return np.empty(0, np.int64), f"edge ids are {given.dtype} of shape {given.shape}, not integers", {}
    ids = given.astype(np.int64, copy=False)
    if (ids[1:] <= ids[:-1]).any():
        ids = np.sort(ids)
    ids = ids.view()
    ids.flags.writeable = False  # numba compiles once for read-only arrays, which a Forest's are
    for edge in ids[[0, -1]].tolist() if ids.size else ():
        if not 0 <= edge < graph.m:
            return ids, f"{edge} is not an edge: ids run from 0 to {graph.m - 1}", {"edge": edge}
    twice = np.flatnonzero(ids[1:] == ids[:-1])
    if twice.size:
        edge = int(ids[twice[0]])
        return ids, f"edge {edge} occurs more than once", {"edge": edge}
    return ids, "", {}


def _forest(graph: Graph, ids: np.ndarray) -> tuple[_Forest | None, str, dict[str, Any]]:
    """Return the forest that distinct rows form, or why they close a cycle."""
    from mst.kernels.path_maximum import ascends
    from mst.kernels.radix import argsort
    from mst.kernels.reconstruction import gather_ends, join, joined_by

    weights = graph.w[ids]
    by_rank = argsort(order.keys(weights))
    ranked_weights = weights[by_rank]
    if not ascends(by_rank, ranked_weights):
        raise AssertionError(f"sorting the weights of {graph!r} failed: report this as a bug of mst")
    links, ends = (np.empty((len(ids), 2), graph.u.dtype) for _ in range(2))
    gather_ends(graph.u, graph.v, ids, by_rank, links, ends)
    hooks = np.empty((graph.n, 2), graph.u.dtype)
    cycle = join(ends, hooks, links)
    forest = _Forest(graph, ids, by_rank, ranked_weights, hooks, links)
    if cycle < 0:
        return forest, "", {}
    edge, rank = forest.edge_of(cycle), int(joined_by(hooks, *ends[cycle]))
    if rank < 0:
        return None, f"{_named(graph, edge)} is a self-loop", {"edge": edge}
    other = forest.edge_of(rank)
    reason = f"{_named(graph, edge)} closes a cycle whose next heaviest is {_named(graph, other)}"
    return None, reason, {"edge": edge, "path_maximum": other}


def _split(forest: _Forest) -> tuple[str, dict[str, Any]]:
    """Return why the forest does not span its graph, or an empty reason."""
    from mst.kernels.path_maximum import first_split

    edge = int(first_split(forest.graph.u, forest.graph.v, forest.summits))
    return _unspanned(forest.graph, edge) if edge >= 0 else ("", {})


def _minimality(forest: _Forest, strict: bool, threads: int) -> tuple[str, dict[str, Any]]:
    """Return why the forest is not spanning and minimum (with `strict`, by edge id as well)."""
    edge, rank = _first_offender(forest, strict, threads)
    graph = forest.graph
    if edge < 0:
        return "", {}
    if rank == graph.n:
        return _unspanned(graph, edge)
    heaviest = forest.edge_of(rank)
    above = "lighter than" if graph.w[edge] < graph.w[heaviest] else "as heavy as, and before,"
    reason = (
        f"{_named(graph, edge)} is {above} {_named(graph, heaviest)} on its path: the forest is not minimum"
    )
    return reason, {"edge": edge, "path_maximum": heaviest}


# Blocks of edges differ in cost, so each thread gets several.
_BLOCKS_PER_THREAD = 16


def _first_offender(forest: _Forest, strict: bool, threads: int) -> tuple[int, int]:
    from mst.kernels.path_maximum import first_offender, first_offender_parallel

    graph, edges = forest.graph, (forest.ids, forest.by_rank, forest.ranked_weights)
    arguments = (graph.u, graph.v, graph.w, forest.hooks, forest.summits, edges, strict)
    if threads == 1:
        edge, rank = first_offender(*arguments)
    else:
        with _numba_threads(threads) as granted:
            edge, rank = first_offender_parallel(*arguments, _BLOCKS_PER_THREAD * granted)
    return int(edge), int(rank)


class _numba_threads:
    """Lends numba at most `threads` threads and says how many it has."""

    def __init__(self, threads: int):
        if threads < 1:
            raise InputError(f"threads must be at least 1, got {threads}")
        self.wanted = threads

    def __enter__(self) -> int:
        import numba

        self.before = numba.get_num_threads()
        granted = min(self.wanted, numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]
        numba.set_num_threads(granted)
        return granted

    def __exit__(self, *exception: object) -> None:
        import numba

        numba.set_num_threads(self.before)


def _excess(total: int | float, reference: int | float, epsilon: float) -> str:
    """Return how a finite or infinite spanning total misses (1 + epsilon) times the reference, or nothing."""
    if epsilon == 0:
        if total == reference:
            return ""
        side = "above" if total > reference else "below"
        return f"total {total} is {side} the minimum {reference}"
    if total < reference:
        return f"total {total} is below the minimum {reference}: the reference is not minimum"
    if total == reference or math.isinf(reference):
        return ""
    rounding = 0 if isinstance(total, int) and isinstance(reference, int) else Fraction(1, 2**52)
    bound = (1 + Fraction(epsilon)) * (1 + rounding) * Fraction(reference)
    if math.isfinite(total) and Fraction(total) <= bound:
        return ""
    return f"total {total} is above (1 + {epsilon}) times the minimum {reference}"


def _unspanned(graph: Graph, edge: int) -> tuple[str, dict[str, Any]]:
    return f"{_named(graph, edge)} joins two trees: the forest does not span its graph", {"edge": edge}


def _named(graph: Graph, edge: int) -> str:
    return f"edge {edge} ({graph.u[edge]}–{graph.v[edge]}, weight {graph.w[edge]})"
