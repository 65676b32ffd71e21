"""Compare every real file of the mirror with its manifest and independent counts (FACTS.csv)."""

from __future__ import annotations

import csv

import numpy as np
import pytest

import mst
from mst import Graph
from mst.formats import read_raw
from mst.simplify import simplify

FORMATS = {
    "dimacs9-gr": "dimacs",
    "pace-tw-gr": "dimacs",
    "pace2018-steiner-gr": "steinlib",
    "lifeifei-cedge": "edges",
    "tntp-net": "tntp",
    "matrix-market": "matrix-market",
    "snap-txt": "edges",
    "csv-edges": "edges",
    "metis": "metis",
    "weighted-tsv": "edges",
    "tsplib-explicit": "tsplib",
    "tsplib-euc2d": "tsplib",
    "algs4-ewg": "headed",
    "stanford-edges": "headed",
}
# The only headed list whose line `n m` was replaced by a row of column names.
EXCEPTIONS = {"stanford-edges": "edges"}
COMPLETE_GRAPH = "tsplib-usa13509"
COORDINATES = "USA-road-d.NY-coordinates"

# `_counted` counts as FACTS.csv does, which differs from the reader:
#   edge_lines of METIS files are neighbours: every edge counts twice, but the reader returns it once;
#   edge_lines of TSPLIB matrices are pairs, but the file holds the diagonal as well;
#   distinct_directed_pairs include self-loops, and components include isolated vertices.


def _table(path):
    with path.open(newline="") as file:
        return {row["name"]: row for row in csv.DictReader(file)}


@pytest.fixture(scope="session")
def manifest(mirror):
    return _table(mirror / "MANIFEST.csv")


@pytest.fixture(scope="session")
def facts(mirror):
    return _table(mirror / "FACTS.csv")


def _counted(raw, graph: Graph) -> dict:
    """Return counts by the columns of FACTS.csv."""
    simple, merged = simplify(graph)
    diagonal = raw.n if raw.format == "tsplib" else 0
    rows = raw.summary.rows - diagonal
    return {
        "vertices_declared_or_used": raw.n,
        "edge_lines": rows,
        "ids_used": len(np.union1d(graph.u, graph.v)),
        "self_loops": merged.loops,
        "distinct_undirected_edges_without_loops": simple.m,
        "distinct_directed_pairs": rows - merged.parallel,
        "components": mst.minimum_spanning_forest(simple, algorithm="kruskal").components,
    }


@pytest.mark.slow
def test_every_file_agrees_with_manifest_and_facts(mirror, manifest, facts):
    disagreements = {}
    for name, entry in manifest.items():
        if name in (COMPLETE_GRAPH, COORDINATES) or name not in facts or not (mirror / entry["file"]).is_file():
            continue
        raw = read_raw(mirror / entry["file"])
        counts = _counted(raw, raw.graph())
        seen = {"format": raw.format, "weighted": raw.w is not None, **counts}
        wanted = {
            "format": EXCEPTIONS.get(name, FORMATS[entry["format"]]),
            "weighted": entry["weighted(yes/no)"] == "yes",
            **{column: int(facts[name][column]) for column in counts},
        }
        if raw.w is not None:
            seen["weights"] = (float(raw.w.min()), float(raw.w.max()))
            wanted["weights"] = (float(facts[name]["weight_min"]), float(facts[name]["weight_max"]))
        if seen != wanted:
            disagreements[name] = {key: (seen[key], wanted[key]) for key in wanted if seen[key] != wanted[key]}
    assert disagreements == {}


@pytest.mark.slow
def test_tsplib_points_become_a_complete_graph(mirror, manifest):
    """The graph has 91 million edges, 1.1 GB."""
    file = mirror / manifest[COMPLETE_GRAPH]["file"]
    if not file.is_file():
        pytest.skip(f"{file.name} is not in the mirror")
    raw = read_raw(file)
    assert (raw.n, raw.m) == (13509, int(manifest[COMPLETE_GRAPH]["arcs_or_edges"]))
    assert raw.w.dtype == np.int32 and raw.w.min() >= 0
