"""Two independent implementations of the minimum spanning forest that share no code with each other or the package."""

from __future__ import annotations

from fractions import Fraction


def by_python_kruskal(graph) -> list[int]:
    """Return the ids of the forest, ascending, by Kruskal over Python numbers in order of (weight, edge id)."""
    weights, u, v = graph.w.tolist(), graph.u.tolist(), graph.v.tolist()
    tree_of = {x: {x} for x in range(graph.n)}
    taken = []
    for e in sorted(range(graph.m), key=lambda e: (weights[e], e)):
        a, b = tree_of[u[e]], tree_of[v[e]]
        if a is not b:
            if len(a) < len(b):
                a, b = b, a
            a |= b
            for x in b:
                tree_of[x] = a
            taken.append(e)
    return sorted(taken)


def by_networkx_ranks(graph) -> list[int]:
    """Return the ids of the forest by networkx's Prim over ranks for weights; as all differ, the forest is unique."""
    import networkx

    weights = graph.w.tolist()
    ranks = {e: rank for rank, e in enumerate(sorted(range(graph.m), key=lambda e: (weights[e], e)))}
    multigraph = networkx.MultiGraph()
    multigraph.add_nodes_from(range(graph.n))
    for e, (a, b) in enumerate(zip(graph.u.tolist(), graph.v.tolist())):
        if a != b:
            multigraph.add_edge(a, b, key=e, weight=ranks[e])
    edges = networkx.minimum_spanning_edges(multigraph, algorithm="prim", keys=True, data=False)
    return sorted(e for _, _, e in edges)


def exact_total(graph, edge_ids) -> Fraction:
    """Return the exact total of finite weights."""
    return sum((Fraction(weight) for weight in graph.w[list(edge_ids)].tolist()), Fraction(0))


def components(graph) -> int:
    """Return the number of connected components, counted by a graph search."""
    neighbours: list[list[int]] = [[] for _ in range(graph.n)]
    for a, b in zip(graph.u.tolist(), graph.v.tolist()):
        neighbours[a].append(b)
        neighbours[b].append(a)
    seen = [False] * graph.n
    count = 0
    for start in range(graph.n):
        if not seen[start]:
            count += 1
            seen[start] = True
            pending = [start]
            while pending:
                for y in neighbours[pending.pop()]:
                    if not seen[y]:
                        seen[y] = True
                        pending.append(y)
    return count
