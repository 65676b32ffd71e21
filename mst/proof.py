"""Proofs that a forest is the minimum spanning forest, from the graph alone, trusting no algorithm.

Edges form *the* minimum spanning forest by (weight, edge id) if and only if they close no cycle, both ends of every
edge of the graph lie in one of their trees, and every other edge comes after the heaviest edge on the path between its
ends (the cycle property; Tarjan, *Data Structures and Network Algorithms*, 1983, chapter 6). There are three grades of
proofs:

- *identical*: `prove` proves a reference forest once per graph; every exact run must return the same edge ids.
- *edges*: `check_forest` checks forests of peers that break ties differently, and of approximate algorithms.
- *weight*: `check_weight` checks the total of a program that prints nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from mst import order
from mst.cores import whole_threads
from mst.errors import InputError, names_missing_numba, shorten
from mst.forest import fault_of, id_column
from mst.graph import Graph

if TYPE_CHECKING:
    from mst.kernels.proof.path_maximum import PathMaxima


@dataclass(frozen=True)
class Proof:
    """The outcome of a proof.

    Attributes
    ----------
    ok : bool
        Whether the forest passed the checks of its grade.
    grade : str
        ``identical``, ``edges`` or ``weight``: how much was checked.
    reason : str
        Why the forest failed, naming a witness; empty if it passed.
    n, m, forest_edges, components : int or None
        Vertices and edges of the graph; edges and trees of the forest. None where unknown.
    weight : int, float or None
        Total weight of the forest: exact for integers, correctly rounded for floats.
    seconds : float
        Wall time of the proof.
    details : mapping
        The witness of a failure (``edge``, ``path_maximum``, …) and the totals that were compared.
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
        Threads for large graphs; the outcome does not depend on their number.

    Returns
    -------
    Proof
        Of grade ``identical``. If it failed, `details` hold the witness: the offending ``edge``, and the
        ``path_maximum``, the edge on its path that contradicts it.

    Raises
    ------
    InputError
        `threads` is less than 1. Wrong edges raise no error; the proof reports them.

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
    return _timed(graph, edge_ids, "identical", lambda forest, width: _minimality(forest, True, width), threads)


def check_forest(
    graph: Graph, edge_ids: Any, *, reference_weight: int | float, epsilon: float = 0.0, threads: int = 1
) -> Proof:
    """Check that `edge_ids` are a spanning forest of `graph` of minimum total weight.

    However ties are broken, all minimum spanning forests of a graph have the same weights, and totals are exact or
    correctly rounded; so the total of an exact forest must equal the reference's, without any tolerance. With floats, a
    heavier forest may round to the same total, and infinite totals prove nothing, so every edge is also compared with
    the path between its ends.

    Parameters
    ----------
    graph : Graph
    edge_ids : array_like of int, shape (k,)
    reference_weight : int or float
        Total of a proved forest.
    epsilon : float
        The total may reach (1 + `epsilon`) times the reference: 0 for exact algorithms. A positive `epsilon` requires
        weights that are not negative, without which the bound is meaningless.
    threads : int
        As for `prove`.

    Returns
    -------
    Proof
        Of grade ``edges``.

    Raises
    ------
    InputError
        `epsilon` is negative or not finite, or positive although a weight is negative; or `threads` is less than 1.

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
    if not 0 <= epsilon < math.inf:
        raise InputError(f"epsilon must be a finite number ≥ 0, got {epsilon!r}")
    if epsilon and graph.m and graph.w.min() < 0:
        raise InputError(f"epsilon = {epsilon} is not a bound if weights are negative: leave it out")

    def check(forest: _Forest, width: int) -> tuple[str, dict[str, Any]]:
        by_paths = epsilon == 0 and isinstance(forest.weight, float)
        reason, witness = _minimality(forest, False, width) if by_paths else _split(forest)
        if reason or not (math.isfinite(forest.weight) or epsilon):
            return reason, witness
        return _excess(forest.weight, reference_weight, epsilon), {"reference_weight": reference_weight}

    return _timed(graph, edge_ids, "edges", check, threads)


def check_weight(total: int | float | str, reference: int | float, *, forest_edges: int = 0) -> Proof:
    """Check the total that a program printed without the edges.

    Parameters
    ----------
    total : int, float or str
        A string may be rounded to the digits that it shows: ``"1.25e6"`` stands for 1,245,000 to 1,255,000. An int must
        equal an int reference.
    reference : int or float
        Total of a proved forest.
    forest_edges : int
        The number of weights, all of one sign, that the program added up in double precision in any order. If the
        reference is a float, a relative error of `forest_edges` · 2⁻⁵³ is then allowed (Higham, *Accuracy and
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
        ok = abs(found - known) <= allowed
    else:
        ok = found == known or repr(found) == repr(known) == "nan"
    reason = "" if ok else f"total {total} is not the minimum {reference}"
    weight = None if isinstance(total, str) else total
    return Proof(ok, "weight", reason, weight=weight, details={"total": total, "reference_weight": reference})


_MOST_PLACES = 1000
"""More digits before or after the decimal point than any total has; fractions of millions of digits take minutes."""


def _as_known(total: int | float | str) -> tuple[Fraction | float, Fraction]:
    """Return a total, as a fraction if it is finite, and the largest error by which a string may be rounded."""
    if not isinstance(total, str):
        finite = isinstance(total, int) or math.isfinite(total)
        return Fraction(total) if finite else total, Fraction(0)
    number = Decimal(total.strip().replace(",", ""))
    exponent = number.as_tuple().exponent
    if not isinstance(exponent, int) or abs(number.adjusted()) > _MOST_PLACES:
        return float(number), Fraction(0)
    return Fraction(number), Fraction(10) ** exponent / 2


_MANY_WEIGHTS = 64


@dataclass(frozen=True, eq=False)
class _Forest:
    """A forest of a graph, with the structures that proofs share.

    Attributes
    ----------
    graph : Graph
    ids : numpy.ndarray of int64, shape (k,)
        Ascending.
    weights : numpy.ndarray, shape (k,)
        In the order of `ids`.
    ranked, links : numpy.ndarray
        From `mst.kernels.proof.reconstruction.link_trees`.
    ties : int
        Number of edges that weigh as much as the edge before them in ascending order.
    """

    graph: Graph
    ids: np.ndarray
    weights: np.ndarray
    ranked: np.ndarray
    links: np.ndarray
    ties: int

    @cached_property
    def weight(self) -> int | float:
        return order.total(self.weights)

    @cached_property
    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """The ends of all edges of the graph: two arrays of uint32 or uint64, each of shape (m,)."""
        return _unsigned(self.graph.u), _unsigned(self.graph.v)

    @cached_property
    def path_maxima(self) -> PathMaxima:
        from mst.kernels.proof.path_maximum import PathMaxima
        from mst.kernels.proof.reconstruction import find_root_paths, find_tie_bounds, id_dtype, root_path_dtype

        n, m = self.graph.n, self.graph.m
        root_paths = np.empty(n, root_path_dtype(self.links.dtype, self.graph.w.dtype))
        find_root_paths(self.ranked, root_paths)
        # With many distinct weights, few edges weigh as much as the maximum of their path; comparing these one by one
        # takes less time than building this table.
        distinct = len(self.ids) - self.ties
        tie_bounds: np.ndarray = np.empty(n if distinct < _MANY_WEIGHTS else 0, id_dtype(m))
        if len(tie_bounds):
            find_tie_bounds(self.ranked, tie_bounds)
        return PathMaxima(self.ids, self.ranked, self.links, root_paths, tie_bounds)

    def edge_of(self, rank: int) -> int:
        return int(self.ranked[rank]["id"])


@names_missing_numba
def _timed(
    graph: Graph,
    edge_ids: Any,
    grade: str,
    check: Callable[[_Forest, int], tuple[str, dict[str, Any]]],
    threads: int,
) -> Proof:
    started, width = perf_counter(), _width(threads)
    ids, reason, witness = _ascending_ids(graph, edge_ids)
    facts: dict[str, Any] = dict(n=graph.n, m=graph.m, forest_edges=len(ids))
    scanned = not reason and grade == "identical" and width == 1
    if scanned and _is_minimum(graph, ids):
        facts.update(components=graph.n - len(ids), weight=order.total(graph.w, ids))
    elif not reason:
        forest, reason, witness = _forest(graph, ids, width)
        if forest is not None:
            facts.update(components=graph.n - len(ids), weight=forest.weight)
            reason, witness = check(forest, width)
        if scanned and not reason:
            raise AssertionError(f"two proofs for {graph!r} contradict each other: report this as a bug in mst")
    return Proof(not reason, grade, reason, **facts, seconds=perf_counter() - started, details=witness)


def _is_minimum(graph: Graph, ids: np.ndarray) -> bool:
    """Return whether ascending distinct rows are the minimum spanning forest, by Kruskal's algorithm.

    The lightest edges are scanned first; the others are dropped unscanned if their ends are in one tree by then.
    """
    from mst.kernels.filter_boruvka.policy import PROOF
    from mst.kernels.filter_boruvka.sequential.trees import flatten, giant_label, mark_outside
    from mst.kernels.primitives.bitmap import set_bits, zeroed
    from mst.kernels.proof.reconstruction import id_dtype
    from mst.kernels.proof.replay import drop_cycle_edges, replay

    u, v = _unsigned(graph.u), _unsigned(graph.v)
    inside = zeroed(graph.m, np.uint32)
    set_bits(ids, inside)
    parent = np.arange(graph.n, dtype=u.dtype)
    pending: np.ndarray = np.arange(graph.m, dtype=id_dtype(graph.m))
    joined, share = 0, 0.0
    while len(pending) and joined < graph.n - 1:
        light, pending = _lightest(graph.w, pending, graph.n - joined, share)
        found, ascending = replay(*_in_order(graph, u, v, light), inside, parent)
        if not ascending:
            raise AssertionError(f"sorting the weights of {graph!r} failed: report this as a bug in mst")
        if found < 0:
            return False
        joined += found
        if len(pending):
            flatten(parent)
            giant, share = giant_label(parent)
            outside = mark_outside(parent, giant) if share > PROOF.giant else np.empty(0, np.uint32)
            kept = drop_cycle_edges(u, v, parent, outside, pending, len(pending))
            share = kept / len(pending)
            pending = pending[:kept]
    return joined == len(ids)


def _lightest(w: np.ndarray, ids: np.ndarray, trees: int, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Split edges into the lightest, somewhat more than there are trees to join, and the rest: none if that is faster.

    `w` are the weights of all edges, shape (m,); `ids` are the edges to split, shape (k,); `share` is the share of its
    edges that the last filter kept.
    """
    from mst.kernels.filter_boruvka.policy import PROOF, light_edges_by_density, takes_all
    from mst.kernels.filter_boruvka.sequential.sample import Sample, stratified
    from mst.kernels.proof.replay import move_light

    wanted = light_edges_by_density(len(ids), trees, PROOF)
    if share > PROOF.max_kept_share or takes_all(wanted, len(ids), PROOF):
        return ids, ids[:0]
    some = ids[stratified(len(ids), 8192)]
    split = Sample(some, w[some], np.sort(w[some]), len(ids)).split(wanted)
    light = np.empty(len(ids), ids.dtype)
    moved = move_light(w, split, ids, len(ids), light)
    return light[:moved], ids[: len(ids) - moved]


def _in_order(
    graph: Graph, u: np.ndarray, v: np.ndarray, ids: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return records of the edges `ids`, shape (k,), and the positions that sort them: none if they are sorted."""
    from mst.kernels.primitives.radix import records, sorted_records
    from mst.kernels.proof.reconstruction import edge_dtype, gather_edges
    from mst.kernels.proof.replay import is_ascending

    weights = graph.w if len(ids) == graph.m else graph.w[ids]
    edges = np.empty(len(ids), edge_dtype(u.dtype, graph.m, graph.w.dtype))
    gather_edges(u, v, weights, ids, edges)
    if is_ascending(weights):
        return edges, *records(order.keys(weights[:0]))
    return edges, *sorted_records(*records(order.keys(weights)))


def _ascending_ids(graph: Graph, edge_ids: Any) -> tuple[np.ndarray, str, dict[str, Any]]:
    """Return edge ids as ascending, read-only int64, or why they are not distinct rows of edges, and a witness."""
    try:
        ids = id_column(edge_ids)
    except InputError as error:
        return np.empty(0, np.int64), str(error), {}
    if (ids[1:] < ids[:-1]).any():
        ids = np.sort(ids)
    if fault := fault_of(ids, graph.m):
        return ids, fault[0], {"edge": fault[1]}
    ids = ids.astype(np.int64, copy=False).view()
    ids.flags.writeable = False  # kernels are compiled for read-only arrays, such as those of a Forest
    return ids, "", {}


def _forest(graph: Graph, ids: np.ndarray, width: int) -> tuple[_Forest | None, str, dict[str, Any]]:
    """Return the forest that ascending distinct rows form, or why they do not form one, and a witness."""
    from mst.kernels.proof.building import Forest, reconstruct

    u, v, weights = _unsigned(graph.u), _unsigned(graph.v), graph.w[ids]
    edges = Forest(u, v, ids, weights, order.keys(weights))
    ranked, links, _, ties, cycle = reconstruct(graph.n, edges, width, False)
    if ties < 0:
        raise AssertionError(f"sorting the weights of {graph!r} failed: report this as a bug in mst")
    forest = _Forest(graph, ids, weights, ranked, links, ties)
    if cycle < 0:
        return forest, "", {}
    edge = forest.edge_of(cycle)
    if u[edge] == v[edge]:
        return None, f"{_named(graph, edge)} is a self-loop", {"edge": edge}
    other = forest.edge_of(_joining_rank(links, u[edge], v[edge]))
    reason = f"{_named(graph, edge)} closes a cycle whose next heaviest is {_named(graph, other)}"
    return None, reason, {"edge": edge, "path_maximum": other}


def _joining_rank(links: np.ndarray, a: int, b: int) -> int:
    """Return the rank of the edge that joined vertices `a` and `b`, by the result `links` of `link_trees`."""
    from mst.kernels.proof.reconstruction import find_joining_ranks

    ends = np.array([[a, a], [b, b]], links.dtype)
    ranks = np.empty(1, np.uint64)
    find_joining_ranks(links, ends[0], ends[1], 1, np.empty(2, np.uint32), ranks)
    return int(ranks[0])


def _unsigned(ends: np.ndarray) -> np.ndarray:
    """Return a view of int32 or int64 ends as unsigned integers of the same width."""
    return ends.view(f"u{ends.itemsize}")


def _split(forest: _Forest) -> tuple[str, dict[str, Any]]:
    """Return why the forest does not span its graph, or an empty reason."""
    from mst.kernels.proof.path_maximum import first_between_trees

    edge = int(first_between_trees(*forest.ends, forest.path_maxima.root_paths))
    return _unspanned(forest.graph, edge) if edge >= 0 else ("", {})


def _minimality(forest: _Forest, strict: bool, width: int) -> tuple[str, dict[str, Any]]:
    """Return why the forest is not spanning and minimum, with ties broken by edge id if `strict`; or no reason."""
    edge, rank = _first_violation(forest, strict, width)
    graph = forest.graph
    if edge < 0:
        return "", {}
    if rank >= graph.n:
        return _unspanned(graph, edge)
    heaviest = forest.edge_of(rank)
    reason = not_minimum(
        _named(graph, edge), _named(graph, heaviest), lighter=graph.w[edge] < graph.w[heaviest]
    )
    return reason, {"edge": edge, "path_maximum": heaviest}


def _first_violation(forest: _Forest, strict: bool, width: int) -> tuple[int, int]:
    from mst.kernels.parallel.runtime import several_workers
    from mst.kernels.proof.path_maximum import ALLOWED, BY_ID, EdgeList, first_violation_by

    edges = EdgeList(*forest.ends, forest.graph.w)
    with several_workers(width):
        return first_violation_by(width, edges, forest.path_maxima, BY_ID if strict else ALLOWED)


def _width(threads: int) -> int:
    """Return the smaller of `threads` and the number of threads that this process can run."""
    wanted = whole_threads(threads) or 1
    if wanted == 1:
        return 1
    from mst.kernels.parallel.runtime import launched

    return min(wanted, launched())


def _excess(total: int | float, reference: int | float, epsilon: float) -> str:
    """Return why the total of a spanning forest violates the bound (1 + epsilon) · reference, or an empty string."""
    if epsilon == 0:
        if total == reference:
            return ""
        side = "above" if total > reference else "below"
        return f"total {total} is {side} the minimum {reference}"
    if total < reference:
        return f"total {total} is below the minimum {reference}: the reference is not minimum"
    if total == reference:
        return ""
    rounding = 0 if isinstance(total, int) and isinstance(reference, int) else Fraction(1, 2**52)
    factor = (1 + Fraction(epsilon)) * (1 + rounding)
    if math.isfinite(total) and math.isfinite(reference) and Fraction(total) <= factor * Fraction(reference):
        return ""
    return f"total {total} is above (1 + {epsilon}) times the minimum {reference}"


def _unspanned(graph: Graph, edge: int) -> tuple[str, dict[str, Any]]:
    return not_spanning(_named(graph, edge)), {"edge": edge}


def _named(graph: Graph, edge: int) -> str:
    names = getattr(graph, "labels", range(graph.n))
    return described(edge, names[graph.u[edge]], names[graph.v[edge]], graph.w[edge])


def described(edge: int, u: Any, v: Any, weight: Any) -> str:
    """Return an edge as the reasons of failed proofs name it."""
    return f"edge {edge} ({u}–{v}, weight {weight})"


def not_minimum(edge: str, heaviest: str, *, lighter: bool) -> str:
    """Return the reason of a failed proof: an edge comes before the heaviest one on its path, by weight or by id."""
    above = "lighter than" if lighter else "as heavy as, and before,"
    return f"{edge} is {above} {heaviest} on its path: the forest is not minimum"


def not_spanning(edge: str) -> str:
    """Return the reason of a failed proof: no path of the forest joins the ends of an edge."""
    return f"{edge} joins two trees: the forest does not span its graph"
