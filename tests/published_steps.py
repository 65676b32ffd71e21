"""Published algorithms step by step, as generators that yield before they read or write shared memory.

A yield names the line that is executed next, so that a test can choose how far a thread runs before another one
continues. Written from the papers' listings alone, mistakes included; the package uses nothing of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator


class EndlessError(AssertionError):
    """A find followed a cycle of parents, or a thread did not terminate."""


class Thread:
    """A thread whose steps a test executes one by one; `place` is the line that is executed next."""

    def __init__(self, steps: Iterator):
        self.steps = steps
        self.place = next(steps)
        self.done = False

    def step(self) -> None:
        try:
            self.place = next(self.steps)
        except StopIteration:
            self.done = True

    def until(self, place: object, most: int = 10_000) -> None:
        """Run until `place` is about to be executed, or raise `EndlessError` after `most` steps."""
        for _ in range(most):
            if self.place == place:
                return
            assert not self.done, f"ended without reaching {place}"
            self.step()
        raise EndlessError(f"still at {self.place}, not at {place}")

    def finish(self, most: int = 10_000) -> None:
        """Run to the end, or raise `EndlessError` after `most` steps."""
        for _ in range(most):
            if self.done:
                return
            self.step()
        raise EndlessError(f"still at {self.place}")


def take_turns(*threads: Thread) -> None:
    """Run threads to their ends, one step of each in turn, or raise `EndlessError` after 10,000 turns."""
    for _ in range(10_000):
        if all(thread.done for thread in threads):
            return
        for thread in threads:
            if not thread.done:
                thread.step()
    raise EndlessError(f"still at {[thread.place for thread in threads]}")


def root(parent: list[int], x: int) -> int:
    """Return the root of `x`, or raise `EndlessError` if its path is a cycle."""
    for _ in range(len(parent) + 1):
        if parent[x] == x:
            return x
        x = parent[x]
    raise EndlessError(f"the parents of {x} form a cycle: {parent}")


def roots(parent: list[int]) -> int:
    return sum(parent[x] == x for x in range(len(parent)))


class Components:
    """The shared arrays of Durbhakula's threads (§2.2.1, *Data structures*)."""

    def __init__(self, n: int, edges: list[tuple[int, int, int]], owners: list[int]):
        self.edges, self.owner = edges, list(owners)
        self.parent = list(range(n))
        self.minimum, self.lock = [-1] * n, [-1] * n
        self.covered = [False] * len(edges)
        self.forest: list[int] = []

    def ends(self, e: int) -> tuple[int, int]:
        return root(self.parent, self.edges[e][0]), root(self.parent, self.edges[e][1])

    def lower(self, x: int, e: int, thread: int) -> None:
        lightest = self.minimum[x]
        if self.owner[x] == thread and (lightest == -1 or self.edges[lightest][2] > self.edges[e][2]):
            self.minimum[x] = e

    def scan(self, thread: int) -> Iterator:
        """Lines 16 to 35 of the listing with locks, 15 to 34 of the one with compare-and-swap."""
        for x in range(len(self.parent)):
            if self.owner[x] == thread:
                self.minimum[x] = -1
        for e in range(len(self.edges)):
            yield "edge", e
            if self.covered[e]:
                continue
            x, y = self.ends(e)
            if x == y:
                self.covered[e] = True
                continue
            self.lower(x, e, thread)
            self.lower(y, e, thread)

    def mine(self, x: int, thread: int) -> bool:
        return self.owner[x] == thread and self.parent[x] == x and self.minimum[x] != -1


def with_locks(shared: Components, thread: int) -> Iterator:
    """Durbhakula's first listing (§2.2.1)."""
    while roots(shared.parent) > 1:
        yield "round"
        yield from shared.scan(thread)
        for v in range(len(shared.parent)):
            yield 38, v
            if not shared.mine(v, thread):
                continue
            e = shared.minimum[v]
            x, y = shared.ends(e)
            if x == y:
                shared.covered[e] = True
                continue
            yield 45, v
            if shared.lock[x] == -1 and shared.lock[y] == -1:
                yield 46, v
                shared.lock[x] = shared.lock[y] = thread
            yield 51, v
            if shared.lock[x] == thread and shared.lock[y] == thread:
                yield 53, v
                a, b = shared.ends(e)
                if a != b:
                    yield 56, v
                    shared.forest.append(e)
                    shared.parent[b] = a
                    shared.owner[a] = thread
                    shared.covered[e] = True
                shared.lock[x] = shared.lock[y] = -1


def with_swaps(shared: Components, thread: int) -> Iterator:
    """Durbhakula's second listing (§2.2.2)."""
    while roots(shared.parent) > 1:
        yield "round"
        yield from shared.scan(thread)
        for v in range(len(shared.parent)):
            yield 37, v
            if not shared.mine(v, thread):
                continue
            e = shared.minimum[v]
            x = root(shared.parent, shared.edges[e][0])
            yield 39, v
            y = root(shared.parent, shared.edges[e][1])
            if x == y:
                shared.covered[e] = True
                continue
            yield 45, v
            if shared.parent[y] == y:
                shared.parent[y] = x
                shared.owner[x] = thread
                shared.forest.append(e)
                shared.covered[e] = True


def link_to_grandparent(parent: list[int], x: int) -> Iterator:
    """Grandparent-linking without a check: ``parent[x] = parent[parent[x]]``, one step for each read and write."""
    while True:
        yield "parent"
        p = parent[x]
        yield "grandparent"
        g = parent[p]
        yield "write"
        parent[x] = g
        if g == x:
            return
        x = g


def link_to_other_grandparent(parent: list[int], x: int) -> Iterator:
    """As `mst.kernels.threads.parlay_boruvka.find_halving`: write only if the grandparent is not the parent."""
    while True:
        yield "parent"
        p = parent[x]
        if p == x:
            return
        yield "grandparent"
        g = parent[p]
        if g == p:
            return
        yield "write"
        parent[x] = g
        x = g


def link_root(parent: list[int], x: int, y: int) -> Iterator:
    """Link root `x` below `y` by compare-and-swap."""
    yield "swap"
    if parent[x] == x:
        parent[x] = y


def union_by_exchange(parent: list[int], x: int, y: int) -> Iterator:
    """Bhargava and Zaia's union: a root's parent is -1, and a failed exchange overwrites its expected value."""
    expected = -1
    while True:
        yield "find"
        while parent[x] != -1:
            x = parent[x]
        yield "compare"
        if parent[x] != expected:
            continue
        yield "exchange"
        if parent[x] == expected:
            parent[x] = y
            return
        expected = parent[x]


def boruvka_by_arrival(
    n: int, edges: list[tuple[int, int, int]], key: Callable, arrivals: Callable
) -> list[int]:
    """Return the forest of Borůvka rounds in which a component keeps the first of the edges of equal key.

    Parameters
    ----------
    key : callable
        Takes (edge id, lower end, higher end, weight), with components as ends; returns the sort key of the edge.
    arrivals : callable
        Takes a component; returns the edge ids in the order in which threads bring them there.
    """
    component = list(range(n))
    forest: list[int] = []
    while True:
        cheapest: dict[int, int] = {}
        for c in set(component):
            for e in arrivals(c):
                x, y = component[edges[e][0]], component[edges[e][1]]
                if x == y or c not in (x, y):
                    continue
                order = key(e, min(x, y), max(x, y), edges[e][2])
                if c not in cheapest or order < key_of_edge(key, edges, component, cheapest[c]):
                    cheapest[c] = e
        if not cheapest:
            return forest
        for e in sorted(set(cheapest.values())):
            forest.append(e)
            x, y = component[edges[e][0]], component[edges[e][1]]
            component = [x if c == y else c for c in component]


def key_of_edge(key: Callable, edges: list[tuple[int, int, int]], component: list[int], e: int) -> tuple:
    x, y = component[edges[e][0]], component[edges[e][1]]
    return key(e, min(x, y), max(x, y), edges[e][2])
