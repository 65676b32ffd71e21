"""The forest of a road network, drawn where its vertices lie on the map, as a small PNG.

DIMACS publishes the coordinates of its road graphs beside them (``.co`` files of the 9th challenge). The picture is
drawn where such a file is available, and left out otherwise.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mst.errors import FormatError, MSTError

if TYPE_CHECKING:
    from mst.graph import Graph

MOST_EDGES = 5_000_000
SIDE = 760
COLOUR = (0x3B, 0x82, 0xC4)
"""Visible on the light and on the dark page."""
LEVELS = 16


@dataclass(frozen=True)
class Roads:
    """A picture of a forest with its size in pixels and its number of edges, or the reason why there is none."""

    graph: str
    png: bytes = b""
    width: int = 0
    height: int = 0
    edges: int = 0
    reason: str = ""


def roads(manifests: Mapping[Path, Mapping[str, Any]], folders: Iterable[Path]) -> Roads | None:
    """Draw the smallest road network whose graph and coordinates are available; None where no graph has coordinates.

    Parameters
    ----------
    manifests : mapping of Path to mapping
        Manifests by their files; the graphs lie beside them.
    folders : iterable of Path
        Folders that may hold coordinates: mirrors, caches.
    """
    known = {path: m for path, m in manifests.items() if m.get("m") and _coordinates_name(m)}
    if not known:
        return None
    folders = list(folders)
    reason = ""
    for path, manifest in sorted(known.items(), key=lambda item: item[1]["m"]):
        name = _coordinates_name(manifest)
        file = next(
            (f for folder in folders for f in (folder / name, folder / f"{name}.gz") if f.is_file()), None
        )
        graph = path.with_name("graph.arrow")
        if file is None:
            reason = reason or f"{name} is in no mirror folder"
        elif not graph.is_file():
            reason = reason or f"{manifest['name']} itself is not kept here"
        elif manifest["m"] > MOST_EDGES:
            reason = reason or f"{manifest['name']} has more than {MOST_EDGES:,} edges"
        else:
            try:
                return _drawn(manifest["name"], graph, file)
            except MSTError as error:
                reason = str(error)
    return Roads(next(iter(known.values()))["name"], reason=reason)


def _coordinates_name(manifest: Mapping[str, Any]) -> str:
    """Return the name of the file of coordinates that belongs to a DIMACS graph, if it is one with its own ids."""
    raw = manifest.get("raw") or {}
    name = str(raw.get("location", "")).rsplit("/", 1)[-1]
    stem, found, _ = name.partition(".gr")
    ours = raw.get("format") == "dimacs" and str(raw.get("ids", "")).startswith("as in the file")
    # Travel times (t) and distances (d) share the coordinates of the distances.
    return f"{stem.replace('-road-t.', '-road-d.')}.co" if found and ours and "USA-road-" in stem else ""


def _drawn(name: str, graph_file: Path, coordinates: Path) -> Roads:
    from mst import minimum_spanning_forest
    from mst.formats.canonical import read_canonical

    graph = read_canonical(graph_file, trusted=True)
    places = read_coordinates(coordinates, graph.n)
    forest = minimum_spanning_forest(graph, algorithm="kruskal", threads=1).edge_ids
    shades = shade(places, graph, forest)
    height, width = shades.shape
    return Roads(name, png(shades), width, height, len(forest))


def read_coordinates(file: Path, n: int) -> np.ndarray:
    """Return longitude and latitude in degrees, shape (n, 2), from a DIMACS ``.co`` file, packed or not.

    Raises
    ------
    FormatError
        It is not one, or not of `n` vertices.
    """
    opened = gzip.open if file.suffix == ".gz" else open
    try:
        with opened(file, "rb") as stream:
            lines = stream.read()
        start = lines.index(b"\nv ") + 1
        numbers = np.array(lines[start:].replace(b"v ", b"").split(), np.int64).reshape(-1, 3)
    except (OSError, ValueError, EOFError, zlib.error) as error:
        raise FormatError(file, f"not a DIMACS file of coordinates: {error}") from None
    if len(numbers) != n or not np.array_equal(np.sort(numbers[:, 0]), np.arange(1, n + 1)):
        raise FormatError(file, f"has {len(numbers)} places, the graph has {n} vertices")
    places = np.empty((n, 2))
    places[numbers[:, 0] - 1] = numbers[:, 1:] * 1e-6
    return places


def shade(places: np.ndarray, graph: Graph, forest: np.ndarray, side: int = SIDE) -> np.ndarray:
    """Return how dark each pixel is, uint8 below `LEVELS`, the longer side of `side` pixels.

    Every edge is sampled about three times a pixel; where many roads meet, a pixel grows darker, with saturation.
    """
    at = places * [np.cos(np.radians(places[:, 1].mean())), -1.0]
    at -= at.min(axis=0)
    extent = at.max(axis=0)
    at *= (side - 5) / max(extent.max(), 1e-12)
    width, height = (np.ceil(at.max(axis=0)) + 5).astype(int)
    at += 2
    begin, end = at[graph.u[forest]], at[graph.v[forest]]
    samples = np.maximum(np.ceil(np.hypot(*(end - begin).T) * 3), 1).astype(np.int64)
    edge = np.repeat(np.arange(len(forest)), samples)
    first = np.repeat(np.cumsum(samples) - samples, samples)
    share = (np.arange(len(edge)) - first + 0.5) / samples[edge]
    dots = begin[edge] + (end - begin)[edge] * share[:, None]
    pixel = np.rint(dots[:, 1]).astype(np.int64) * width + np.rint(dots[:, 0]).astype(np.int64)
    hits = np.bincount(pixel, minlength=int(width * height)).reshape(height, width)
    return np.ceil((LEVELS - 1) * (1 - np.exp(-hits / 3.0))).astype(np.uint8)


def png(shades: np.ndarray) -> bytes:
    """Return shades of one colour, from clear to opaque, as a PNG of four bits a pixel."""
    from PIL import Image

    image = Image.fromarray(shades).convert("P")
    image.putpalette(bytes(COLOUR) * LEVELS)
    opacity = np.rint(np.linspace(0, 255, LEVELS)).astype(np.uint8)
    file = io.BytesIO()
    image.save(file, "PNG", bits=4, transparency=opacity.tobytes(), optimize=True)
    return file.getvalue()
