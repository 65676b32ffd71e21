"""Bugs of the published algorithms, each reproduced by a scripted interleaving and detected by the test suite.

They explain why `lock-boruvka`, `cas-boruvka` and `parlay-boruvka` differ from their papers, and which errors a test
of such an algorithm must detect.
"""

from __future__ import annotations

import itertools
import random

import numpy as np
import oracles
import published_steps as published
import pytest
from published_steps import Components, EndlessError, Thread, take_turns
from test_every_algorithm import judge

from mst import registry
from mst.graph import Graph


def graph_of(n, edges):
    u, v, w = np.array(edges).T
    return Graph(n, u, v, w, name="scripted")


def is_detected(algorithm, n, edges, forest):
    """Return True after checking that the suite over every algorithm rejects a wrong forest."""
    graph = graph_of(n, edges)
    with pytest.raises(AssertionError):
        judge(registry.get(algorithm), graph, np.sort(forest), oracles.by_python_kruskal(graph), {})
    return True


TRIANGLE = [(0, 1, 1), (2, 1, 2), (0, 2, 3)]


@pytest.mark.parametrize("listing", [published.with_locks, published.with_swaps])
def test_published_listings_are_right_on_one_thread(listing):
    rng = random.Random(1)
    for _ in range(100):
        n = rng.randint(2, 6)
        tree = [(rng.randrange(i), i) for i in range(1, n)]
        pairs = tree + [tuple(rng.sample(range(n), 2)) for _ in range(rng.randint(0, 6))]
        edges = [(u, v, w) for (u, v), w in zip(pairs, rng.sample(range(100), len(pairs)))]
        shared = Components(n, edges, [0] * n)
        Thread(listing(shared, 0)).finish()
        assert sorted(shared.forest) == oracles.by_python_kruskal(graph_of(n, edges))


def test_non_atomic_locks_are_held_by_two_threads():
    """Both threads read −1 for component 1, and each reads its own id back before the other one writes."""
    shared = Components(3, TRIANGLE, [0, 0, 1])
    first, second = (Thread(published.with_locks(shared, t)) for t in (0, 1))
    first.until((46, 0))
    second.until((46, 2))
    first.until((53, 0))
    second.until((53, 2))
    first.until((56, 0))
    second.until((56, 2))
    take_turns(first, second)
    assert len(shared.forest) == 3, "component 1 was linked below both others, so 0 and 2 were joined again"
    assert is_detected("lock-boruvka", 3, TRIANGLE, shared.forest)


def test_lost_lock_leaves_the_other_lock_held_forever():
    """The thread that loses one of its locks keeps the other one."""
    path = TRIANGLE[:2]
    shared = Components(3, path, [0, 0, 1])
    first, second = (Thread(published.with_locks(shared, t)) for t in (0, 1))
    first.until((46, 0))
    second.until((46, 2))
    first.until((51, 0))
    second.until((51, 2))
    with pytest.raises(EndlessError):
        take_turns(first, second)
    assert shared.lock[0] == 0
    assert published.roots(shared.parent) == 2


def test_locks_may_protect_other_components_than_those_joined():
    """Component 0 is linked below 1 before thread 0 locks it; thread 0 then joins 1, which thread 1 has locked."""
    edges = [(1, 0, 1), (2, 0, 2), (3, 1, 3), (3, 2, 9)]
    shared = Components(4, edges, [2, 2, 0, 1])
    threads = [Thread(published.with_locks(shared, t)) for t in range(3)]
    threads[0].until((45, 2))
    threads[1].until((38, 0))
    threads[2].until((38, 1))
    assert shared.parent[0] == 1
    threads[1].until((56, 3))
    threads[0].until((56, 2))
    threads[1].step()
    threads[0].step()
    take_turns(*threads)
    assert len(shared.forest) == 4, "component 1 was linked below 3 and below 2, so 3 and 2 were joined again"
    assert is_detected("lock-boruvka", 4, edges, shared.forest)


@pytest.mark.parametrize("listing", [published.with_locks, published.with_swaps])
def test_published_listings_do_not_terminate_on_a_disconnected_graph(listing):
    shared = Components(4, [(0, 1, 1), (2, 3, 1)], [0, 0, 0, 0])
    with pytest.raises(EndlessError):
        Thread(listing(shared, 0)).finish()
    assert sorted(shared.forest) == [0, 1]


def test_an_incomplete_minimum_is_joined():
    """Thread 0 has seen one edge of component 1 when thread 1 joins and owns it, and uses that edge as its minimum."""
    edges = [(1, 3, 9), (1, 2, 2), (3, 2, 3), (1, 0, 1)]
    for listing, done in ((published.with_locks, (38, 2)), (published.with_swaps, (37, 2))):
        shared = Components(4, edges, [1, 0, 0, 0])
        first, second = (Thread(listing(shared, t)) for t in (0, 1))
        first.until(("edge", 1))
        second.until(done)
        assert shared.forest == [3, 0], "edge 0 is the heaviest edge and lies on a cycle"
        take_turns(first, second)
        assert is_detected("lock-boruvka", 4, edges, shared.forest)


def test_swaps_make_a_cycle_of_parents():
    """Between the finds of its two ends, both are linked below component 2, which is then linked below the first."""
    edges = [(0, 1, 1), (2, 0, 2)]
    shared = Components(3, edges, [0, 1, 2])
    threads = [Thread(published.with_swaps(shared, t)) for t in (0, 1, 2)]
    for thread in threads:
        thread.until((37, 0))
    threads[0].until((39, 0))
    threads[2].until((45, 2))
    threads[2].step()
    threads[1].until((45, 1))
    threads[1].step()
    threads[0].until((45, 0))
    threads[0].step()
    with pytest.raises(EndlessError, match="cycle"):
        published.root(shared.parent, 1)


@pytest.mark.parametrize(
    "find,undone", [(published.link_to_grandparent, True), (published.link_to_other_grandparent, False)]
)
def test_grandparent_linking_may_undo_a_union(find, undone):
    """All interleavings of a find of vertex 0 and a union that links it below vertex 1."""
    outcomes = set()
    for order in itertools.product((0, 1), repeat=8):
        parent = [0, 1, 0]
        threads = [Thread(find(parent, 0)), Thread(published.link_root(parent, 0, 1))]
        for turn in order:
            if not threads[turn].done:
                threads[turn].step()
        for thread in threads:
            thread.finish()
        outcomes.add(parent[0])
    assert outcomes == ({0, 1} if undone else {1})


def test_a_failed_exchange_overwrites_its_expected_value():
    """The comparison before the exchange then always fails, and the union never terminates."""
    parent = [-1, -1, -1]
    first = Thread(published.union_by_exchange(parent, 0, 1))
    first.until("exchange")
    second = Thread(published.union_by_exchange(parent, 0, 2))
    second.finish()
    with pytest.raises(EndlessError):
        first.finish()


# Two edges of weight 5 between {0, 1} and {2, 3}: parallel from the second round on.
SQUARE = [(0, 1, 1), (2, 3, 1), (0, 2, 5), (1, 3, 5)]


def by_ends(e, low, high, weight):
    return weight, low, high


def by_id(e, low, high, weight):
    return weight, e


def test_ties_by_contracted_ends_make_a_cycle_that_the_suite_detects():
    """Each of two components takes the parallel edge that arrives first."""
    arrivals = {c: range(4) if c < 2 else range(3, -1, -1) for c in range(4)}
    wrong = published.boruvka_by_arrival(4, SQUARE, by_ends, arrivals.__getitem__)
    assert sorted(wrong) == [0, 1, 2, 3]
    assert is_detected("parlay-boruvka", 4, SQUARE, wrong)


def test_ties_by_id_never_make_a_cycle():
    expected = oracles.by_python_kruskal(graph_of(4, SQUARE))
    for one, other in itertools.product(itertools.permutations(range(4)), repeat=2):
        found = published.boruvka_by_arrival(4, SQUARE, by_id, lambda c: one if c < 2 else other)  # noqa: B023
        assert sorted(found) == expected


def test_ties_by_contracted_ends_are_right_in_a_sequential_program():
    """If all components see the edges in one order, both choose the same edge: only parallel runs have the bug."""
    expected = oracles.by_python_kruskal(graph_of(4, SQUARE))
    for order in itertools.permutations(range(4)):
        found = published.boruvka_by_arrival(4, SQUARE, by_ends, lambda c: order)  # noqa: B023
        assert len(found) == len(expected)
