"""A small picture for each family of graphs: a small member and its minimum spanning forest.

The pictures are committed as ``report/pictures/<family>.svg``; ``python -m mst.reporting.charts.pictures`` draws them
anew, byte for byte. A model stands in for a family of real graphs, and its description says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mst import resources

if TYPE_CHECKING:
    from mst.graph import Graph

WIDTH, HEIGHT, MARGIN = 120.0, 80.0, 4.0
Layout = Callable[["Graph", dict[str, Any]], np.ndarray]


@dataclass(frozen=True)
class Picture:
    """A graph by its generator, a layout that returns the places of its vertices, shape (n, 2), and a description."""

    generator: str
    parameters: dict[str, Any]
    layout: Layout
    words: str


def on_grid(graph: Graph, parameters: dict[str, Any]) -> np.ndarray:
    """Place vertices row by row, a little off the grid's points."""
    places = np.divmod(np.arange(graph.n), parameters["columns"])[::-1]
    off = np.random.default_rng(1).uniform(-0.32, 0.32, (graph.n, 2)) if "share" in parameters else 0
    return np.column_stack(places) + off


def on_points(graph: Graph, parameters: dict[str, Any]) -> np.ndarray:
    """Place vertices at the points that the generator joined."""
    from mst.generators.points import random_points

    label = "points 0" if "radius" in parameters else "points"
    points = random_points(graph.n, parameters["seed"], label)
    return np.column_stack((points.x, points.y)) * [WIDTH / HEIGHT, 1.0]


def on_circle(graph: Graph, parameters: dict[str, Any]) -> np.ndarray:
    """Place vertices on a circle, in their order."""
    angles = 2 * np.pi * np.arange(graph.n) / graph.n
    return np.column_stack((np.sin(angles), -np.cos(angles)))


def by_springs(graph: Graph, parameters: dict[str, Any]) -> np.ndarray:
    """Place joined vertices near and others apart (Fruchterman and Reingold 1991), from a seeded start."""
    n = graph.n
    places = np.random.default_rng(7).uniform(-1, 1, (n, 2)) * [1.5, 1.0]
    rest = 1.6 / np.sqrt(n)
    for step in np.linspace(0.25, 0.004, 300):
        apart = places[:, None] - places[None]
        distance = np.maximum(np.hypot(apart[..., 0], apart[..., 1]), 1e-3)
        force = (apart * (rest / distance)[..., None] ** 2).sum(axis=1)
        along = places[graph.v] - places[graph.u]
        pull = along * (np.hypot(along[:, 0], along[:, 1]) / rest)[:, None]
        np.add.at(force, graph.u, pull)
        np.subtract.at(force, graph.v, pull)
        # Keeps components from drifting away; weaker sideways, since pictures are wider than high.
        force -= places * [1.2, 2.2]
        length = np.maximum(np.hypot(force[:, 0], force[:, 1]), 1e-9)
        places += force * (np.minimum(length * 0.1, step) / length)[:, None]
    return places


def _picture(generator: str, layout: Layout, words: str, **parameters: Any) -> Picture:
    return Picture(generator, {"seed": 3, **parameters}, layout, words)


PICTURES = {
    "road": _picture("road", on_grid, "a small road-like grid", rows=11, columns=16, share=0.7),
    "grid": _picture("grid", on_grid, "a small grid", rows=9, columns=13),
    "random": _picture("uniform", by_springs, "60 vertices, 95 random edges", n=60, m=95),
    "structured": _picture("hypercube", by_springs, "a hypercube of 32 vertices", dimension=5),
    "rmat": _picture("rmat", by_springs, "an R-MAT graph of 64 vertices", scale=6, edge_factor=3),
    "known-answer": _picture("uniform", on_circle, "8 vertices, 16 edges", n=8, m=16),
    "mesh": _picture("delaunay", on_points, "a Delaunay triangulation of 90 points", n=90),
    "geometric": _picture("geometric", on_points, "120 points, joined where near", n=120, radius=0.15),
    "dense": _picture("complete", on_circle, "the complete graph of 16 vertices", n=16),
    "scale-free": _picture("barabasi-albert", by_springs, "preferential attachment, 80 vertices", n=80, k=2),
    "social": _picture("barabasi-albert", by_springs, "in its place: preferential attachment, k = 3", n=80, k=3),
    "collaboration": _picture("connected-caveman", by_springs, "in its place: a ring of cliques", cliques=8, size=5),
    "internet": _picture("barabasi-albert", by_springs, "in its place: an attachment tree", n=90, k=1),
    "citation": _picture("k-out", by_springs, "in its place: two arcs from each of 60 vertices", n=60, k=2),
    "web": _picture("rmat", by_springs, "in its place: an R-MAT graph", scale=6, edge_factor=4, seed=5),
    "communication": _picture("barabasi-albert", by_springs, "in its place: attachment, k = 2", n=70, k=2, seed=9),
    "co-purchase": _picture("watts-strogatz", by_springs, "in its place: a small world", n=60, k=4, p=0.1),
    "infrastructure": _picture("road", on_grid, "in its place: a thin grid", rows=9, columns=13, share=0.62),
}  # fmt: skip


def draw(picture: Picture) -> str:
    """Return a family's picture as SVG: all edges faint, those of the forest strong."""
    from mst import Graph, minimum_spanning_forest
    from mst.generators import generate

    graph = generate(picture.generator, **picture.parameters)
    places = picture.layout(graph, picture.parameters)
    at = _fitted(places)
    if picture.generator != "grid":
        # With lengths as weights the forest follows the drawing; a grid's are all equal.
        along = at[graph.u] - at[graph.v]
        graph = Graph(graph.n, graph.u, graph.v, np.hypot(along[:, 0], along[:, 1]))
    chosen = np.zeros(graph.m, bool)
    chosen[minimum_spanning_forest(graph, algorithm="kruskal").edge_ids] = True
    faint, strong = _path(at, graph, ~chosen), _path(at, graph, chosen)
    view = f"0 0 {WIDTH:g} {HEIGHT:g}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{view}" fill="none" stroke-linecap="round">'
        f'<path class="faint" stroke="currentColor" stroke-opacity=".3" stroke-width=".5" d="{faint}"/>'
        f'<path class="strong" stroke="var(--accent, #0060a0)" stroke-width="1" d="{strong}"/></svg>\n'
    )


def _fitted(places: np.ndarray) -> np.ndarray:
    """Scale places into the picture; a circle stays one."""
    low, high = places.min(axis=0), places.max(axis=0)
    room = np.array([WIDTH, HEIGHT]) - 2 * MARGIN
    factor = room / np.maximum(high - low, 1e-9)
    factor = np.where(factor / factor.min() > 1.6, factor.min() * 1.6, factor)
    return (places - (low + high) / 2) * factor + [WIDTH / 2, HEIGHT / 2]


def _path(at: np.ndarray, graph: Graph, some: np.ndarray) -> str:
    ends = np.column_stack((at[graph.u[some]], at[graph.v[some]]))
    return "".join(f"M{x:.1f} {y:.1f}L{a:.1f} {b:.1f}" for x, y, a, b in ends)


def symbols(families: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return, for each family with a picture, its description and the picture as an SVG symbol."""
    folder = resources.path("report/pictures")
    found = {}
    for family in dict.fromkeys(families):
        file = folder / f"{family}.svg"
        if family in PICTURES and file.is_file():
            symbol = re.sub(r'<svg xmlns="[^"]*"', f'<symbol id="family-{family}"', file.read_text().strip())
            found[family] = (PICTURES[family].words, symbol.replace("</svg>", "</symbol>"))
    return found


def main() -> None:
    """Draw every picture into ``report/pictures``."""
    folder = Path(resources.path("report")) / "pictures"
    folder.mkdir(exist_ok=True)
    for family, picture in PICTURES.items():
        (folder / f"{family}.svg").write_text(draw(picture))


if __name__ == "__main__":
    main()
