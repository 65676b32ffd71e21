"""The proof accepts the one minimum spanning forest and nothing else, and its witnesses are true."""

from __future__ import annotations

import math
from unittest import mock

import adversarial
import drawn
import fake_records
import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mst import order
from mst.bench.records.store import save_ids
from mst.bench.records.verify import make_reference, verify_record
from mst.errors import InputError
from mst.formats.canonical import write_canonical
from mst.graph import Graph
from mst.kernels.primitives import radix
from mst.kernels.primitives.radix import Records, sorted_records
from mst.kernels.proof import building
from mst.proof import check_forest, check_weight, prove

TRIANGLE = Graph(3, [0, 1, 2], [1, 2, 0], [5, 7, 6])


def is_forest(graph, ids) -> bool:
    tree_of = list(range(graph.n))
    for e in ids:
        a, b = tree_of[graph.u[e]], tree_of[graph.v[e]]
        if a == b:
            return False
        tree_of = [a if tree == b else tree for tree in tree_of]
    return True


def proofs(graph, ids):
    """Every way to prove: by one thread or two, with a table for equal weights or without."""
    for many_weights in (0, 64):
        with mock.patch("mst.proof._MANY_WEIGHTS", many_weights):
            yield from (prove(graph, ids, threads=threads) for threads in (1, 2))


@given(data=st.data())
def test_only_the_minimum_spanning_forest_is_proved(data):
    graph = data.draw(drawn.graphs(most_vertices=6, most_edges=10))
    truth = oracles.by_python_kruskal(graph)
    assert all(proofs(graph, truth))
    ids = data.draw(st.lists(st.integers(0, max(graph.m - 1, 0)), max_size=8)) if graph.m else []
    proof = prove(graph, ids)
    assert proof.ok == (sorted(ids) == truth)
    assert bool(proof.reason) != proof.ok
    for again in proofs(graph, ids):
        assert (again.ok, again.reason, again.details) == (proof.ok, proof.reason, proof.details)


@given(data=st.data())
def test_check_forest_accepts_exactly_the_forests_of_least_weight(data):
    graph = data.draw(drawn.graphs(dtypes=[np.dtype(np.int32)], most_vertices=6, most_edges=10))
    truth = oracles.by_python_kruskal(graph)
    least = int(oracles.exact_total(graph, truth))
    candidates = st.lists(st.integers(0, max(graph.m - 1, 0)), max_size=6, unique=True)
    ids = data.draw(candidates) if graph.m else []
    spans = is_forest(graph, ids) and len(ids) == len(truth)
    light = oracles.exact_total(graph, ids) == least
    assert check_forest(graph, ids, reference_weight=least).ok == (spans and light)


@pytest.mark.parametrize("threads", (1, 2))
def test_every_exchange_of_one_edge_is_refused_with_a_true_witness(threads, rng, monkeypatch):
    for limit in ("LARGE", "OUT_OF_CACHE"):
        monkeypatch.setattr(building, limit, 0)
    graph = Graph(12, rng.integers(0, 12, 40), rng.integers(0, 12, 40), rng.integers(0, 9, 40))
    truth = oracles.by_python_kruskal(graph)
    rank = {e: (graph.w[e], e) for e in range(graph.m)}
    refused = 0
    for out in truth:
        for into in set(range(graph.m)) - set(truth):
            ids = sorted({*truth, into} - {out})
            proof = prove(graph, ids, threads=threads)
            assert not proof.ok
            if is_forest(graph, ids) and "path" in proof.reason:
                witness, heaviest = proof.details["edge"], proof.details["path_maximum"]
                assert rank[witness] < rank[heaviest] and heaviest in ids and witness not in ids
                better = sorted({*ids, witness} - {heaviest})
                assert is_forest(graph, better), "the path maximum does not lie on the witness's cycle"
                refused += 1
    assert refused > 20


def test_a_wrong_edge_is_named():
    assert prove(TRIANGLE, [0, 1, 2]).reason.startswith("edge 1 (1–2, weight 7) closes a cycle")
    assert prove(TRIANGLE, [0]).details == {"edge": 1}
    assert check_forest(Graph(2, [0], [1], [0]), [], reference_weight=0).details == {"edge": 0}
    assert prove(TRIANGLE, [0]).reason == (
        "edge 1 (1–2, weight 7) joins two trees: the forest does not span its graph"
    )
    assert prove(TRIANGLE, [0, 0]).reason == "edge 0 occurs more than once"
    assert prove(TRIANGLE, [0, 3]).reason == "3 is not an edge: ids run from 0 to 2"
    assert prove(TRIANGLE, [-1, 0]).reason == "-1 is not an edge: ids run from 0 to 2"
    assert prove(TRIANGLE, np.array([2**63], np.uint64)).reason.startswith("9223372036854775808 is not an edge")
    assert prove(TRIANGLE, [0.0, 2.0]).reason == "edge_ids must hold integers, got dtype float64"
    assert prove(TRIANGLE, [[0, 2]]).reason == "edge_ids must be one-dimensional, got shape (1, 2)"
    assert prove(TRIANGLE, np.ma.array([0, 2], mask=[0, 1])).reason.startswith("edge_ids[1] is masked")
    loop = Graph(2, [0, 1], [1, 1], [4, 1])
    assert prove(loop, [0, 1]).reason == "edge 1 (1–1, weight 1) is a self-loop"
    ties = Graph(2, [0, 0], [1, 1], [3, 3])
    assert "as heavy as, and before," in prove(ties, [1]).reason
    assert check_forest(ties, [1], reference_weight=3).ok
    ring = Graph(4, [0, 2, 0, 1], [1, 3, 3, 2], [5] * 4)
    for proof in proofs(ring, [0, 1, 3]):
        assert proof.details == {"edge": 2, "path_maximum": 3}


def test_the_order_of_ids_and_their_dtype_do_not_matter():
    for ids in ([2, 0], np.array([2, 0], np.uint8), np.array([0, 2], np.int32), (2, 0)):
        proof = prove(TRIANGLE, ids)
        assert proof.ok and proof.weight == 11 and proof.components == 1 and proof.forest_edges == 2
    assert (proof.n, proof.m, proof.grade) == (3, 3, "identical") and proof.seconds > 0


@pytest.mark.slow
def test_wide_vertex_ids_are_proved_too():
    ends = np.array([0, 1, 2], np.int64), np.array([1, 2, 0], np.int64)
    graph = Graph(3, *ends, np.array([5, 7, 6]), trusted=True)
    assert graph.u.dtype == np.int64
    assert prove(graph, [0, 2]).ok and prove(graph, [0, 2], threads=2).ok and not prove(graph, [0, 1]).ok


def test_a_broken_key_transform_cannot_pass(monkeypatch):
    monkeypatch.setattr(order, "keys", lambda weights: np.zeros(len(weights), np.uint32))
    for ids in ([1, 2], [0, 1]):  # the right forest, and that of the wrong order
        with pytest.raises(AssertionError, match="bug in mst"):
            prove(Graph(3, [0, 1, 2], [1, 2, 0], [9, 8, 7]), ids)


def test_a_refusal_by_the_scan_is_not_overruled(monkeypatch):
    monkeypatch.setattr("mst.proof._is_minimum", lambda *_: False)
    with pytest.raises(AssertionError, match="bug in mst"):
        prove(TRIANGLE, [0, 2])


def test_a_sort_that_repeats_an_edge_cannot_pass(monkeypatch):
    def repeating(words, ids):
        found = sorted_records(words, ids)
        found.words[1] = found.words[0]  # edge 2 in place of edge 1
        return found

    monkeypatch.setattr(radix, "sorted_records", repeating)
    with pytest.raises(AssertionError, match="bug in mst"):
        prove(Graph(3, [0, 1, 2], [1, 2, 0], [9, 8, 7]), [0, 2])


@pytest.mark.parametrize("wrong", [1023, 5])
def test_a_wrong_sort_by_threads_cannot_pass(wrong, monkeypatch):
    """It is wrong where two parts of 1,024 edges meet, or within one of them."""
    i = np.arange(4096)
    places = i.astype(np.uint32)
    places[[wrong, wrong + 1]] = wrong + 1, wrong
    monkeypatch.setattr(building, "sorted_by", lambda *_: Records(np.empty(0, np.uint64), places))
    monkeypatch.setattr(building, "LARGE", 0)
    with pytest.raises(AssertionError, match="bug in mst"):
        prove(Graph(4097, i, i + 1, i // 2), i, threads=2)


def test_threads_name_a_self_loop_that_is_the_lightest_edge(monkeypatch):
    for limit in ("LARGE", "OUT_OF_CACHE"):
        monkeypatch.setattr(building, limit, 0)
    assert prove(Graph(2, [0, 1], [1, 1], [4, 1]), [0, 1], threads=2).reason.endswith("is a self-loop")


@pytest.mark.parametrize("threads", (0, -3))
def test_threads_must_be_positive(threads):
    for ids in ([0, 2], [0, 1], [0, 0]):
        with pytest.raises(InputError, match="threads must be at least 1"):
            prove(TRIANGLE, ids, threads=threads)
        with pytest.raises(InputError, match="threads must be at least 1"):
            check_forest(TRIANGLE, ids, reference_weight=11, threads=threads)


def test_approximate_forests_keep_their_bound():
    assert check_forest(TRIANGLE, [0, 1], reference_weight=11, epsilon=0.0910).ok
    assert check_forest(TRIANGLE, [0, 1], reference_weight=11, epsilon=0.0909).reason == (
        "total 12 is above (1 + 0.0909) times the minimum 11"
    )
    assert "below" in check_forest(TRIANGLE, [0, 2], reference_weight=12).reason
    found = check_forest(TRIANGLE, [0, 2], reference_weight=12, epsilon=0.5)
    assert "the reference is not minimum" in found.reason
    floats = Graph(3, [0, 1, 2], [1, 2, 0], [5.0, 7.0, 6.0])
    assert check_forest(floats, [0, 1], reference_weight=11.0, epsilon=0.0910).ok
    assert check_forest(Graph(2, [], [], []), [], reference_weight=0, epsilon=0.1).ok
    with pytest.raises(InputError, match="negative"):
        check_forest(Graph(2, [0, 0], [1, 1], [5, -1]), [1], reference_weight=-1, epsilon=0.1)
    for epsilon in (-0.1, math.nan, math.inf):
        with pytest.raises(InputError, match="epsilon must be a finite number ≥ 0"):
            check_forest(TRIANGLE, [0, 2], reference_weight=11, epsilon=epsilon)
    for reference in (-math.inf, math.nan):
        assert not check_forest(TRIANGLE, [0, 2], reference_weight=reference, epsilon=0.1).ok


def test_totals_that_are_not_finite_hide_nothing():
    graph = Graph(3, [0, 1, 2], [1, 2, 0], [np.inf, np.inf, 5.0])
    assert check_forest(graph, [1, 2], reference_weight=math.inf).ok
    assert not check_forest(graph, [0, 1], reference_weight=math.inf).ok
    assert not check_forest(graph, [0], reference_weight=math.inf).ok
    assert not check_forest(graph, [0, 1], reference_weight=6.0, epsilon=0.1).ok
    opposite = Graph(4, [0, 1, 2], [1, 2, 0], [np.inf, -np.inf, 5.0])
    assert check_forest(opposite, [1, 2], reference_weight=-math.inf).ok
    both = Graph(4, [0, 2, 2], [1, 3, 3], [np.inf, -np.inf, 0.0])
    assert check_forest(both, [0, 1], reference_weight=math.nan).ok
    assert not check_forest(both, [0, 2], reference_weight=math.nan).ok


INF, NAN = math.inf, math.nan


@pytest.mark.parametrize(
    "total,reference,edges,ok",
    [
        ("11", 11, 0, True),
        ("11.0", 11, 0, True),
        (" 1,234 ", 1234, 0, True),
        ("12", 11, 0, False),
        ("1.2e3", 1234, 0, True),
        ("1.2e3", 1260, 0, False),
        ("11", 11.3, 0, True),
        ("11", 11.6, 0, False),
        (-0.1 - 0.2, -0.3, 2, True),
        (1 + 2**-52, 1.0, 1, False),
        ("inf", INF, 0, True),
        ("-inf", INF, 0, False),
        ("nan", NAN, 0, True),
        ("nan", 5, 0, False),
        ("none", NAN, 0, False),
        (INF, 5, 0, False),
        (5, INF, 0, False),
        (0.1 + 0.2, 0.3, 2, True),
        (0.1 + 0.2, 0.3, 0, False),
        (2**60 + 1, 2**60, 10**9, False),
        (10**400, 10**400, 0, True),
        ("1e999999999", 5, 2, False),
        ("-1e999999999", -INF, 0, True),
        ("1e-999999999", 5, 2, False),
        ("0e999999999", 0, 0, True),
    ],
)
def test_printed_totals(total, reference, edges, ok):
    proof = check_weight(total, reference, forest_edges=edges)
    assert proof.ok is ok and proof.grade == "weight" and bool(proof.reason) != ok


@pytest.mark.parametrize("weights", (1, 5, 10**6))
def test_one_wrong_edge_among_thousands_is_found(weights, rng):
    n, m = 3_000, 12_000
    u, v, w = rng.integers(0, n, m), rng.integers(0, n, m), rng.integers(0, weights, m)
    # The last edge is the twin of one of the forest: as heavy, and later in the order.
    ids = oracles.by_python_kruskal(Graph(n, u, v, w))
    place = len(ids) // 2
    twin = ids[place]
    graph = Graph(n, np.append(u, u[twin]), np.append(v, v[twin]), np.append(w, w[twin]))
    swapped = [*ids[:place], *ids[place + 1 :], m]
    assert all(proofs(graph, ids))
    for proof in proofs(graph, swapped):
        assert not proof.ok and proof.details == {"edge": twin, "path_maximum": m}
    for proof in proofs(graph, [*ids, m]):
        assert "closes a cycle" in proof.reason
    for proof in proofs(graph, [e for e in ids if e != twin]):
        assert "joins two trees" in proof.reason
    assert check_forest(graph, swapped, reference_weight=int(oracles.exact_total(graph, ids))).ok


@pytest.mark.parametrize("threads, part", [(1, 1024), (2, 1250)])
def test_first_and_last_rows_of_all_blocks_are_compared(threads, part):
    """Of 40,000 rows, two threads share 32 equal parts, and each compares 1,024 rows at a time."""
    u, v = np.zeros(40_000, np.int32), np.ones(40_000, np.int32)
    for start in range(0, len(u), part):
        for row in (start, start + 1, start + 1022, start + 1023, start + 1024, start + part - 1):
            w = np.full(len(u), 6)
            w[0], w[row % len(u)] = 5, 4
            if row % len(u):
                assert prove(Graph(2, u, v, w), [0], threads=threads).details["edge"] == row % len(u)


def test_medium_graphs_are_proved_alike_by_one_thread_and_two(rng):
    for graph in adversarial.medium(rng, n=500, m=4_000):
        ids = oracles.by_python_kruskal(graph)
        assert prove(graph, ids).ok and prove(graph, ids, threads=2).ok, graph.name
        if len(ids) > 1:
            one, two = prove(graph, ids[1:]), prove(graph, ids[1:], threads=2)
            assert not one.ok and one.reason == two.reason, graph.name


@pytest.mark.parametrize("parts", (1, 10))
def test_forests_of_light_edges_alone_are_refused(parts, rng):
    """With ten parts, no tree is so large that a bitmap replaces the roots of heavy edges."""
    n, m = 300, 3_000
    first = rng.integers(0, parts, m) * (n // parts)
    ends = first + rng.integers(0, n // parts, (2, m))
    graph = Graph(n, *ends, rng.integers(0, 1000, m))
    ids = sorted(oracles.by_python_kruskal(graph), key=lambda e: (graph.w[e], e))
    assert prove(graph, ids).ok and len(ids) == n - parts
    for size in range(len(ids)):
        assert not prove(graph, ids[:size]).ok, size


def test_rounding_of_a_total_hides_no_heavier_edge():
    """The totals of both forests round to 2⁶⁰: only the path shows that the second is heavier."""
    graph = Graph(4, [0, 1, 2, 2], [1, 2, 0, 3], [1.0, 1.5, 1.25, 2.0**60])
    assert check_forest(graph, [0, 2, 3], reference_weight=2.0**60).ok
    proof = check_forest(graph, [0, 1, 3], reference_weight=2.0**60)
    assert not proof.ok and proof.details["edge"] == 2 and "on its path" in proof.reason


TOTAL = -(2**53) - 1  # float64 rounds it


@pytest.mark.parametrize(
    ("forest", "run", "ids", "verdict"),
    [
        ({}, {}, None, ("wrong", None, "its edge ids differ from the reference")),
        ({}, {"ties": "any"}, None, ("unproved", None, ".ids.npz")),
        ({}, {"ties": "any"}, [1, 2], ("ok", "edges", "")),
        ({}, {"ties": "any"}, [0, 2], ("wrong", None, "")),
        ({"digest": None}, {}, None, ("ok", "weight", "")),
        ({"digest": None, "weight": str(TOTAL + 1)}, {}, None, ("wrong", None, "")),
        (None, {}, None, ("unproved", None, "the run ended as error")),
    ],
)
def test_records_are_proved_by_digest_ids_or_total(tmp_path, forest, run, ids, verdict):
    graph = Graph(3, [0, 1, 2], [1, 2, 0], np.array([-(2**52), -(2**52) - 1, -(2**52)]))
    file, reference = tmp_path / "graph.arrow", tmp_path / "reference.json"
    write_canonical(file, graph, {"name": "g"})
    fake = fake_records.FakeAlgorithm("a", "a", "sequential", 1e-9)
    status = {"status": "error", "reason": "failed"} if forest is None else {"samples": [[1.0]]}
    made, value = fake_records.measurement("fake-desktop", fake_records.GRAPHS[0], fake, 1, **status)
    value["run"] |= run
    if forest is not None:
        value["forest"] |= {"edges": 2, "components": 1, "weight": str(TOTAL)} | forest
    record = fake_records.write_record(tmp_path, made, value, grade=None)
    if ids:
        save_ids(record, np.array(ids), graph.m)
    make_reference(file, {"name": "g", "digest": value["graph"]["digest"]}, reference)
    found = verify_record(record, reference)
    assert (found["status"], found["grade"]) == verdict[:2] and verdict[2] in (found["reason"] or "")
    make_reference(file, {"name": "g", "digest": "0" * 64}, reference)
    if forest is not None:
        other = verify_record(record, reference)
        assert other["status"] == "unproved" and other["reason"].endswith("the reference is of 000000000000")
