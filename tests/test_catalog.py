"""The catalogue: its model, its entries, and graphs that are fetched or generated into a folder."""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import math
import os
import re
import tarfile
import zipfile
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from mst import catalog, config, resources
from mst.catalog import Manifest, materialise, read_manifest
from mst.catalog.conversion import fetch_raw
from mst.catalog.download import Sources
from mst.catalog.locations import basename
from mst.errors import ConfigError, FormatError, InputError, MSTError, UnavailableError
from mst.formats import FORMATS
from mst.formats.canonical import content_digest, read_canonical, read_metadata
from mst.generators import GENERATORS, ROW_ORDERS
from mst.kernels.graph.degrees import degrees
from mst.kernels.union_find.connectivity import count_components
from mst.reporting.papers.claims import document
from mst.reporting.papers.evidence import facts_of_input, resembles
from mst.weights import ecl_weights

LISTED = catalog.load()

ROADS = ["NY", "BAY", "COL", "FLA", "NW", "NE", "CAL", "LKS", "E", "W", "CTR", "USA"]
BIAGIOTTI = ["NY", "BAY", "COL", "FLA", "CAL", "LKS", "E"]
ECL_REAL = (
    "amazon0601 as-skitter citationCiteseer cit-Patents coPapersDBLP europe_osm in-2004 internet "
    "soc-LiveJournal1"
)
ECL_MADE = "2d-2e20.sym r4-2e23.sym rmat16.sym rmat22.sym kron_g500-logn21 delaunay_n24"
SNAP = (
    "email-Enron email-Eu-core ca-CondMat ca-HepTh p2p-Gnutella31 facebook_combined wiki-Vote roadNet-PA "
    "roadNet-TX roadNet-CA web-Google com-dblp com-youtube"
)
SHOU_HE = {
    "dense-small": (200, 17_847),
    "dense-medium": (1_000, 449_576),
    "dense-large": (5_000, 11_245_624),
    "dense-extreme": (8_000, 28_793_554),
    "sparse-small": (100_000, 149_960),
    "sparse-medium": (1_000_000, 1_501_216),
    "sparse-large": (10_000_000, 15_000_571),
    "sparse-extreme": (20_000_000, 29_998_467),
}

TRIANGLE = """
citations: {us: "Us, 2026."}
graphs:
  triangle:
    title: A triangle with a tail and a loop
    family: known-answer
    citation: [us]
    sources: [{format: edges, mirror_names: [triangle.txt]}]
    published:
      - {by: us, n: 4, rows: 6, edges: 4, arcs: 8}
      - {by: us, components: 1, average_degree: "2.0", maximum_degree: 3}
"""
TRIANGLE_FILE = "0 1 5\n1 2 7\n2 0 6\n2 3 1\n3 2 9\n3 3 4\n"


def load(tmp_path: Path, text: str) -> catalog.Catalog:
    file = tmp_path / "graphs.yaml"
    file.write_text(text)
    return catalog.load(file)


@pytest.fixture
def mirror_folder(tmp_path) -> Path:
    folder = tmp_path / "mirror"
    folder.mkdir()
    return folder


@pytest.fixture
def sources(tmp_path, mirror_folder) -> Sources:
    return Sources([str(mirror_folder)], offline=True, cache=tmp_path / "cache")


@pytest.fixture
def triangle(tmp_path, mirror_folder) -> catalog.Entry:
    (mirror_folder / "triangle.txt").write_text(TRIANGLE_FILE)
    return load(tmp_path, TRIANGLE)["triangle"]


def changed(entry: catalog.Entry, **keys) -> catalog.Entry:
    return catalog.Entry.model_validate({**entry.model_dump(), **keys})


# The model


@pytest.mark.parametrize(
    "old, new, complaint",
    [
        (
            "family: known-answer",
            "famly: road",
            "graph 'triangle': unknown key 'famly' (did you mean 'family'?)",
        ),
        ("mirror_names", "miror_names", "sources.0: unknown key 'miror_names' (did you mean 'mirror_names'?)"),
        ("rows: 6", "row: 6", "published.0: unknown key 'row' (did you mean 'rows'?)"),
        ("graphs:", "graph:", "unknown key 'graph' (did you mean 'graphs'?)"),
        ("family: known-answer", "family: raod", "line 6: graph 'triangle': family: must be 'road', 'grid', "),
        ("citation: [us]", "citation: [uss]", "no citation 'uss' (did you mean 'us'?)"),
        ("by: us", "by: they", "no citation 'they'"),
        ("rows: 6", "rows: six", "published.0.rows: "),
        ("mirror_names: [triangle.txt]", "sha256: abc", "sources.0.sha256: "),
        ("mirror_names: [triangle.txt]", "address: ['ftp://h/x']", "sources.0.address.0: "),
        (", mirror_names: [triangle.txt]", "", "sources.0: a source needs a path, an address or mirror_names"),
        ("family: known-answer", "family: known-answer\n    generator: path", "either sources or a generator"),
        ("family: known-answer", "family: known-answer\n    parameters: {n: 3}", "parameters need a generator"),
        ("family: known-answer", "family: known-answer\n    weights: {low: 2, high: 1}", "weights"),
        ("family: known-answer", "family: known-answer\n    weights: {dtype: int8}", "weights.dtype"),
        ("    title: A", "    title: B\n    title: A", "line 6: key 'title' is given twice"),
        ("    title: A", "   title: A", "graphs.yaml, line 6: "),
        ("  triangle:", "  tri/angle:", "graph 'tri/angle': name: "),
        ('average_degree: "2.0"', "average_degree: 2.0", "published.1.average_degree: "),
    ],
)
def test_mistakes_are_named_with_file_entry_and_key(tmp_path, old, new, complaint):
    assert old in TRIANGLE
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, TRIANGLE.replace(old, new, 1))
    message = str(caught.value)
    assert message.startswith(str(tmp_path / "graphs.yaml"))
    assert complaint in message
    assert "\n" not in message


def test_a_generated_graph_needs_weights(tmp_path):
    text = TRIANGLE.replace("sources: [{format: edges, mirror_names: [triangle.txt]}]", "generator: path")
    with pytest.raises(ConfigError, match="a generated graph needs weights"):
        load(tmp_path, text)


@pytest.mark.parametrize("text", ["", "graphs", "- a", "citations: {}\ngraphs: {a: 1}"])
def test_a_file_without_the_required_keys_is_refused(tmp_path, text):
    with pytest.raises(ConfigError, match=r"graphs\.yaml"):
        load(tmp_path, text)


def test_a_missing_catalogue_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"none\.yaml cannot be read"):
        catalog.load(tmp_path / "none.yaml")


def test_error_on_an_unknown_graph_suggests_the_nearest_name():
    with pytest.raises(ConfigError, match=r"did you mean 'USA-road-d\.NY'"):
        LISTED["USA-road-d.NYC"]


def test_error_on_a_file_that_is_not_in_the_catalogue_shows_its_entry(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "road.gr").write_text("p sp 2 1\na 1 2 5\n")
    with pytest.raises(
        ConfigError, match=r"no graph 'road\.gr' .*add an entry with sources: \[\{path: road\.gr\}\]"
    ):
        LISTED["road.gr"]


def test_patterns_select_each_graph_once():
    names = [entry.name for entry in LISTED.matching(["dense-*", "dense-small", "USA-road-?.NY"])]
    sizes = ["dense-small", "dense-medium", "dense-large", "dense-extreme"]
    assert names == [*sizes, "USA-road-d.NY", "USA-road-t.NY"]
    with pytest.raises(ConfigError, match="no graph"):
        LISTED.matching(["nothing-*"])


def test_the_schema_accepts_the_catalogue_and_refuses_an_unknown_key():
    jsonschema = pytest.importorskip("jsonschema")
    schema = catalog.schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    listed = yaml.safe_load(LISTED.file.read_text())
    jsonschema.validate(listed, schema)
    wrong = yaml.safe_load(TRIANGLE.replace("rows", "row"))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, schema)


def test_recipe_ignores_titles_citations_and_mirrors(triangle):
    title = changed(triangle, title="Another", note="!", known_weight=3, published=())
    assert title.recipe == triangle.recipe
    official = LISTED["wiki-Vote"]
    moved = {**official.sources[0].model_dump(), "address": ["https://elsewhere.org/wiki-Vote.txt.gz"]}
    aliased = {**official.sources[0].model_dump(), "mirror_names": ["votes.txt"]}
    assert changed(official, sources=[moved]).recipe == official.recipe
    assert changed(official, sources=[aliased]).recipe == official.recipe


def test_the_recipe_changes_with_the_data():
    made, official = LISTED["dense-small"], LISTED["wiki-Vote"]
    source = official.sources[0].model_dump()
    variants = [
        made,
        changed(made, seed=2),
        changed(made, parameters={**made.parameters, "m": 17_848}),
        changed(made, generator="path", parameters={"n": 200}),
        changed(made, weights={"dtype": "int64", "low": 1, "high": 2**31 - 1, "distinct": True}),
        official,
        changed(official, seed=2),
        changed(official, weights={"low": 1, "high": 1000}),
        changed(official, weights=None),
        changed(official, sources=[{**source, "sha256": "0" * 64}]),
        changed(official, sources=[{**source, "format": None}]),
        changed(official, sources=[{**source, "address": ["https://snap.stanford.edu/data/other.gz"]}]),
        changed(official, sources=[{**source, "member": "inside"}]),
    ]
    recipes = [entry.recipe for entry in variants]
    assert len(set(recipes)) == len(variants)
    assert all(len(recipe) == 8 and int(recipe, 16) >= 0 for recipe in recipes)


# The entries


def test_every_graph_of_the_papers_is_listed():
    wanted = [f"USA-road-{kind}.{road}" for kind in "dt" for road in ROADS]
    wanted += ECL_REAL.split() + ECL_MADE.split() + SNAP.split() + list(SHOU_HE)
    wanted += [f"Graph{size}_{degree}" for size in ("10K", "100K", "1M") for degree in (3, 6, 9)]
    wanted += ["circulant-50k", "circulant-250k", "circulant-500k", "hypercube-15", "hypercube-18"]
    wanted += [f"{kind}caveman-{size}" for kind in ("", "connected-") for size in ("5000x40", "7500x70")]
    wanted += ["gnp-350k-8e-5", "gnp-350k-5e-4"]
    assert set(wanted) <= set(LISTED)


def test_entries_use_known_generators_and_formats():
    for entry in LISTED.values():
        assert entry.generator is None or entry.generator in GENERATORS, entry.name
        for source in entry.sources:
            assert source.format in FORMATS, entry.name
            archive = any(address.endswith((".tar.gz", ".zip")) for address in source.address)
            assert archive == (source.member is not None), entry.name


def test_only_entries_without_an_official_file_lack_an_address():
    for entry in LISTED.values():
        for source in entry.sources:
            known = [source.address, source.origin, source.path]
            assert sum(map(bool, known)) == 1, f"{entry.name}: give the origin of its file"


def test_published_numbers_agree_with_each_other():
    for entry in LISTED.values():
        for one in entry.published:
            if one.arcs is not None:
                assert one.arcs % 2 == 0, entry.name
            if one.arcs is not None and one.edges is not None:
                assert one.arcs == 2 * one.edges, entry.name
            if one.average_degree is not None and one.arcs is not None:
                digits = len(one.average_degree.partition(".")[2])
                assert abs(float(one.average_degree) - one.arcs / one.n) <= 0.5 * 10**-digits, entry.name
        counts = {one.n for one in entry.published if one.n is not None}
        assert len(counts) <= 1, entry.name
        edges = {
            one.edges if one.edges is not None else one.arcs // 2
            for one in entry.published
            if one.edges or one.arcs
        }
        assert len(edges) <= 1, f"{entry.name}: {edges}"


def test_generated_graphs_have_the_papers_sizes():
    for name, (n, m) in SHOU_HE.items():
        entry = LISTED[name]
        assert (entry.parameters["n"], entry.parameters["m"]) == (n, m)
        assert entry.parameters["connected"] and entry.weights.distinct
        if name.startswith("dense"):
            assert m / (n * (n - 1) / 2) == pytest.approx(0.9, abs=0.01)
    for size, n in (("10K", 10_000), ("100K", 100_000), ("1M", 1_000_000)):
        for degree in (3, 6, 9):
            entry = LISTED[f"Graph{size}_{degree}"]
            assert entry.parameters["n"] == n and entry.parameters["m"] == n * degree // 2
            assert entry.parameters["connected"] and entry.weights.distinct
    for entry in LISTED.values():
        if "bhargava-zaia" in entry.citation:
            assert (entry.weights.low, entry.weights.high) == (1, 1000)
    for name, p in (("gnp-350k-8e-5", 8e-5), ("gnp-350k-5e-4", 5e-4)):
        parameters = LISTED[name].parameters
        assert (LISTED[name].generator, parameters["n"], parameters["p"]) == ("binomial", 350_000, p)


def test_the_papers_inputs_have_the_papers_numbers():
    ecl = [*ECL_REAL.split(), "USA-road-d.NY", "USA-road-d.USA"]
    for name in ecl:
        (fallin,) = (one for one in LISTED[name].published if one.by == "fallin")
        assert None not in (fallin.arcs, fallin.components, fallin.average_degree, fallin.maximum_degree), name
    for road in BIAGIOTTI:
        assert any(one.by == "biagiotti" for one in LISTED[f"USA-road-d.{road}"].published)


def test_the_checksum_of_new_york_is_the_published_one():
    assert LISTED["USA-road-d.NY"].sources[0].sha256.startswith("7b2446c7ffe6179e")


def test_packaged_files_are_found_in_a_checkout_and_in_a_wheel(tmp_path, monkeypatch):
    wheel = tmp_path / "site-packages" / "mst"
    (wheel / "_data" / "config").mkdir(parents=True)
    (wheel / "_data" / "config" / "graphs.yaml").write_text("packed")
    (tmp_path / "site-packages" / "config").mkdir()  # a stranger's folder beside an installed package
    (tmp_path / "site-packages" / "config" / "graphs.yaml").write_text("stranger")
    monkeypatch.setattr(resources, "_PACKAGE", wheel)
    assert resources.path("config/graphs.yaml").read_text() == "packed"
    (tmp_path / "site-packages" / "pyproject.toml").touch()  # now it is a checkout
    assert resources.path("config/graphs.yaml").read_text() == "stranger"
    with pytest.raises(ConfigError, match="is missing: reinstall mst"):
        resources.path("config/none.yaml")


# From raw file to canonical graph


def test_materialise_writes_a_simple_graph_and_describes_it(triangle, tmp_path, sources, mirror_folder):
    manifest = materialise(triangle, tmp_path / "out", sources=sources)
    graph = read_canonical(tmp_path / "out" / "graph.arrow")
    assert (graph.n, graph.u.tolist(), graph.v.tolist(), graph.w.tolist()) == (
        4,
        [0, 0, 1, 2],
        [1, 2, 2, 3],
        [5, 6, 7, 1],
    )
    assert manifest == read_manifest(tmp_path / "out") == read_manifest(tmp_path / "out" / "manifest.json")
    assert (manifest.status, manifest.n, manifest.m, manifest.components) == ("ok", 4, 4, 1)
    assert (manifest.average_degree, manifest.maximum_degree) == (2.0, 3)
    assert (manifest.weight_dtype, manifest.weight_min, manifest.weight_max) == ("int32", 1, 7)
    assert manifest.merged == {"loops": 1, "reciprocal": 1, "parallel": 0}
    assert manifest.recipe == triangle.recipe
    assert manifest.digest == content_digest(graph)
    assert manifest.bytes == (tmp_path / "out" / "graph.arrow").stat().st_size
    assert manifest.raw.location == str(mirror_folder / "triangle.txt")
    assert (manifest.raw.rows, manifest.raw.check, manifest.raw.format) == (6, "first", "edges")
    assert set(manifest.seconds) == {"fetch", "read", "simplify", "describe", "write"}
    assert len(manifest.checks) == 7 and manifest.mismatches == ()
    assert read_metadata(tmp_path / "out" / "graph.arrow")["raw_sha256"] == manifest.raw.sha256
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["graph.arrow", "manifest.json"]


def test_manifest_gives_the_facts_of_its_graph(triangle, tmp_path, sources):
    facts = materialise(triangle, tmp_path / "out", sources=sources).facts()
    assert (facts.n, facts.m, facts.weight_dtype, facts.components) == (4, 4, "int32", 1)
    assert (facts.weight_min, facts.weight_max, facts.loops, facts.parallel) == (1, 7, 0, 0)


def test_numbers_that_differ_from_published_numbers_are_listed(triangle, tmp_path, sources):
    wrong = {
        "by": "us",
        "n": 5,
        "rows": 7,
        "edges": 4,
        "arcs": 9,
        "components": 2,
        "average_degree": "2.01",
        "maximum_degree": 3,
    }
    manifest = materialise(changed(triangle, published=[wrong]), tmp_path / "out", sources=sources)
    differing = {check.quantity: (check.published, check.found) for check in manifest.mismatches}
    assert differing == {
        "n": (5, 4),
        "rows": (7, 6),
        "arcs": (9, 8),
        "components": (2, 1),
        "average_degree": ("2.01", "2.00"),
    }


def test_rows_are_compared_with_the_first_sources_file_only(triangle, tmp_path, sources):
    second = [{"mirror_names": ["not-there.txt"]}, *(source.model_dump() for source in triangle.sources)]
    manifest = materialise(changed(triangle, sources=second), tmp_path / "out", sources=sources)
    assert "rows" not in {check.quantity for check in manifest.checks}


def test_generated_weights_are_independent_of_row_order(triangle, tmp_path, sources, mirror_folder):
    weights = {"dtype": "int32", "low": 10, "high": 99}
    first = materialise(changed(triangle, weights=weights), tmp_path / "a", sources=sources)
    lines = TRIANGLE_FILE.splitlines()[::-1]
    turned = "\n".join(" ".join(line.split()[1::-1]) for line in lines)  # reversed, unweighted
    (mirror_folder / "turned.txt").write_text(turned + "\n")
    other = changed(triangle, name="turned", weights=weights, sources=[{"mirror_names": ["turned.txt"]}])
    second = materialise(other, tmp_path / "b", sources=sources)
    assert first.digest == second.digest
    assert first.weight_min >= 10 and first.weight_max <= 99
    assert first.weights == "made: int32 in [10, 99], seed 1"
    reseeded = materialise(changed(other, seed=2), tmp_path / "c", sources=sources)
    assert reseeded.digest != second.digest


def test_rule_ecl_weighs_files_and_generated_graphs_as_the_artifact(triangle, tmp_path, sources):
    made = LISTED["rmat-14"]
    for entry in (changed(triangle, weights={"rule": "ecl"}), changed(made, weights={"rule": "ecl"})):
        manifest = materialise(entry, tmp_path / entry.name, sources=sources)
        graph = read_canonical(tmp_path / entry.name / "graph.arrow")
        assert np.array_equal(graph.w, ecl_weights(graph.u, graph.v, graph.n)) and graph.m
        assert manifest.weights == "made: |1 + (u·v) mod n| in 32 bits, as ECL-MST's artifact does"
    with pytest.raises(ValueError, match="rule: ecl determines the weights: leave out high, low"):
        changed(made, weights={"rule": "ecl", "low": 1, "high": 9})


def test_keys_of_weights_that_were_added_later_leave_recipes():
    made = LISTED["rmat-14"]
    decisive = {
        "version": 1,
        "weights": {"dtype": "int32", "low": 1, "high": 2**24 - 1, "distinct": False},
        "generator": made.generator,
        "parameters": made.parameters,
        "seed": made.seed,
    }
    before = hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()[:8]
    assert changed(made, weights={}).recipe == before
    others = [changed(made, weights=weights).recipe for weights in ({"order": "ascending"}, {"rule": "ecl"})]
    assert len({before, *others}) == 3


def test_inputs_of_ecl_mst_have_the_weights_of_its_artifact():
    files = [*ECL_REAL.split(), *(name for name in LISTED if name.endswith((".egr", ".mtx")))]
    hashed = {name for name in files if LISTED[name].weights is None or LISTED[name].weights.rule != "ecl"}
    weighted = {"internet", *SIZES_OF_WEIGHTED}
    assert hashed == weighted and all(LISTED[name].weights is None for name in weighted)


# Bytes of ECL's files that have a checksum: 8, 4 for each vertex and one more, 4 for each arc, 4 for its weight.
SIZES_OF_WEIGHTED = {"2d-2e20.sym.egr": 37_715_980, "rmat22.sym.egr": 542_063_740}
SIZES = SIZES_OF_WEIGHTED | {"coPapersDBLP": 124_127_788, "soc-LiveJournal1": 362_200_192}


@pytest.mark.parametrize("name", SIZES)
def test_checksums_of_ecl_mst_files_are_of_files_with_its_numbers(name):
    entry = LISTED[name]
    (source,) = (source for source in entry.sources if source.format == "ecl")
    (known,) = (published for published in entry.published if published.by == "fallin")
    assert source.sha256
    assert SIZES[name] == 8 + 4 * (known.n + 1) + 4 * known.arcs * (1 + (name in SIZES_OF_WEIGHTED))


def test_a_file_without_weights_needs_weights_in_its_entry(triangle, tmp_path, sources, mirror_folder):
    (mirror_folder / "triangle.txt").write_text("0 1\n")
    with pytest.raises(ConfigError, match="has no weights; add weights to its entry"):
        materialise(triangle, tmp_path / "out", sources=sources)


def test_ids_are_compacted_only_where_no_header_counts_them(triangle, tmp_path, sources, mirror_folder):
    (mirror_folder / "triangle.txt").write_text("10 30 1\n30 70 2\n")
    manifest = materialise(triangle, tmp_path / "a", sources=sources)
    assert (manifest.n, manifest.raw.ids) == (3, "3 ids compacted in ascending order, from 10 to 70")
    (mirror_folder / "shifted.txt").write_text("7 8 1\n8 9 2\n")
    shifted = changed(triangle, name="shifted", sources=[{"mirror_names": ["shifted.txt"]}])
    manifest = materialise(shifted, tmp_path / "c", sources=sources)
    assert (manifest.n, manifest.raw.ids) == (3, "those of the file less 7")
    (mirror_folder / "headed.txt").write_text("# Nodes: 5 Edges: 2\n0 1 1\n1 2 2\n")
    headed = changed(triangle, name="headed", sources=[{"mirror_names": ["headed.txt"]}])
    manifest = materialise(headed, tmp_path / "b", sources=sources)
    assert (manifest.n, manifest.components) == (5, 3)


def test_unavailable_graph_leaves_a_manifest_and_no_graph(triangle, tmp_path, sources, mirror_folder):
    (mirror_folder / "triangle.txt").unlink()
    out = tmp_path / "out"
    out.mkdir()
    (out / "graph.arrow").write_text("of an earlier recipe")
    manifest = materialise(triangle, out, sources=sources)
    assert (manifest.status, manifest.reason) == ("unavailable", "no location has it")
    assert [each.location for each in manifest.tried] == [str(mirror_folder)]
    assert [path.name for path in out.iterdir()] == ["manifest.json"]
    with pytest.raises(UnavailableError, match="triangle is unavailable"):
        manifest.facts()


@pytest.mark.parametrize("broken", ["0 1 5\n1 x 7\n", "", "0 1 nan\n"])
def test_malformed_file_leaves_no_folder(triangle, tmp_path, sources, mirror_folder, broken):
    good = materialise(triangle, tmp_path / "out", sources=sources)
    assert good.status == "ok"
    (mirror_folder / "broken.txt").write_text(broken)
    entry = changed(triangle, name="broken", sources=[{"format": "edges", "mirror_names": ["broken.txt"]}])
    with pytest.raises(FormatError, match=r"broken\.txt"):
        materialise(entry, tmp_path / "out", sources=sources)
    assert not (tmp_path / "out").exists()


def test_failure_to_write_a_graph_leaves_no_folder(triangle, tmp_path, sources, monkeypatch):
    def fails(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("mst.formats.canonical.write_canonical", fails)
    with pytest.raises(InputError, match=r"graph\.arrow cannot be written: No space left"):
        materialise(triangle, tmp_path / "out", sources=sources)
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_written_is_named(triangle, tmp_path, sources):
    (tmp_path / "out").write_text("a file")
    with pytest.raises(InputError, match="out cannot be written: "):
        materialise(triangle, tmp_path / "out", sources=sources)


def test_a_malformed_file_is_fetched_again(triangle, tmp_path, sources, mirror_folder):
    (mirror_folder / "triangle.txt").write_text("0 1 5\n1 x 7\n")
    with pytest.raises(FormatError) as caught:
        materialise(triangle, tmp_path / "out", sources=sources)
    assert str(caught.value).startswith(f"{mirror_folder / 'triangle.txt'}, line 2: '1 x 7': ")
    assert not list((tmp_path / "cache").rglob("triangle.txt"))
    (mirror_folder / "triangle.txt").write_text(TRIANGLE_FILE)
    assert materialise(triangle, tmp_path / "out", sources=sources).status == "ok"


@pytest.mark.parametrize("packing", ["graph.tar.gz", "graph.tar.xz", "graph.zip", "graph.mtx"])
def test_members_of_archives_are_read(triangle, tmp_path, sources, mirror_folder, packing):
    member = tmp_path / "member"
    member.write_text("%%MatrixMarket matrix coordinate integer general\n3 3 2\n1 2 5\n2 3 6\n")
    if packing.endswith(".zip"):
        with zipfile.ZipFile(mirror_folder / packing, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.write(member, "graph/graph.mtx")
    elif ".tar" in packing:
        with tarfile.open(mirror_folder / packing, f"w:{packing.rsplit('.', 1)[1]}") as archive:
            archive.add(member, "graph/graph.mtx")
    else:
        member.rename(mirror_folder / packing)
    source = {"mirror_names": ["graph.tar.gz", "graph.zip"], "member": "graph/graph.mtx"}
    manifest = materialise(changed(triangle, sources=[source]), tmp_path / "out", sources=sources)
    assert (manifest.n, manifest.m) == (3, 2)
    assert manifest.raw.member == (None if packing == "graph.mtx" else "graph/graph.mtx")
    assert not list((tmp_path / "cache").rglob("mst-*"))


@pytest.mark.parametrize("damage", ["member", "bytes", "archive"])
def test_an_archive_without_its_member_is_refused(triangle, tmp_path, sources, mirror_folder, damage):
    with tarfile.open(mirror_folder / "graph.tar.gz", "w:gz") as archive:
        (tmp_path / "other").write_text("0 1 1\n" * 1000)
        archive.add(tmp_path / "other", "other.mtx" if damage == "member" else "graph.mtx")
    if damage == "bytes":
        whole = (mirror_folder / "graph.tar.gz").read_bytes()
        (mirror_folder / "graph.tar.gz").write_bytes(whole[: len(whole) // 2])
    if damage == "archive":
        (mirror_folder / "graph.tar.gz").write_bytes(gzip.compress(b"0 1 1\n"))
    entry = changed(triangle, sources=[{"mirror_names": ["graph.tar.gz"], "member": "graph.mtx"}])
    expected = "the gzip data ends early" if damage == "bytes" else "expected an archive that holds graph.mtx"
    with pytest.raises(FormatError, match=rf"graph\.tar\.gz \(graph\.mtx\): {expected}"):
        materialise(entry, tmp_path / "out", sources=sources)
    assert not list((tmp_path / "cache").rglob("graph.*"))


def test_a_broken_member_is_named_by_its_archive(triangle, tmp_path, sources, mirror_folder):
    (tmp_path / "member").write_text("0 1 x\n")
    with zipfile.ZipFile(mirror_folder / "graph.zip", "w") as archive:
        archive.write(tmp_path / "member", "inside/graph.txt")
    source = {"format": "edges", "mirror_names": ["graph.zip"], "member": "inside/graph.txt"}
    with pytest.raises(FormatError) as caught:
        materialise(changed(triangle, sources=[source]), tmp_path / "out", sources=sources)
    assert str(caught.value).startswith(f"{mirror_folder / 'graph.zip'} (inside/graph.txt), line 1: ")


def test_default_experiment_fetches_a_dimacs_road_and_two_snap_graphs_which_a_mirror_has(mirror, tmp_path):
    graphs = [LISTED[name] for name in config.load(resources.path("config/config.yaml")).experiment.graphs]
    addressed = {
        entry.name: " ".join(a for source in entry.sources for a in source.address) for entry in graphs
    }
    assert sum("challenge9/data/USA-road-d" in addresses for addresses in addressed.values()) >= 1
    assert sum("snap.stanford.edu" in addresses for addresses in addressed.values()) >= 2
    offline = Sources([str(mirror)], offline=True, cache=tmp_path)
    for entry in graphs:
        assert entry.generator or fetch_raw(entry, offline)[1].path.is_file()


def test_addresses_are_encrypted_where_their_host_has_it():
    addresses = {a for entry in LISTED.values() for source in entry.sources for a in source.address}
    assert {a.split("/")[2] for a in addresses if a.startswith("http:")} == {"users.diag.uniroma1.it"}


def test_checksums_of_unpacked_files_are_those_of_the_copies_in_a_mirror(mirror):
    checked = 0
    for entry in LISTED.values():
        for source in entry.sources:
            packed = [mirror / f"{name}.gz" for name in (*map(basename, source.address), *source.mirror_names)]
            packed += [mirror / name for name in source.mirror_names]
            copy = next((file for file in packed if file.is_file() and file.suffix == ".gz"), None)
            unpacked = not any(a.endswith((".gz", ".xz", ".bz2", ".zip")) for a in source.address)
            if copy and unpacked and source.address and source.sha256:
                assert hashlib.sha256(gzip.decompress(copy.read_bytes())).hexdigest() == source.sha256, (
                    entry.name
                )
                checked += 1
    assert checked >= 10


GENERATED = [entry for entry in LISTED.values() if entry.generator]
COMMON = ("connected", "order", "relabel")


@pytest.mark.parametrize("entry", GENERATED, ids=lambda entry: entry.name)
def test_generators_accept_the_parameters_of_every_entry(entry):
    own = {key: value for key, value in entry.parameters.items() if key not in COMMON}
    GENERATORS[entry.generator].resolve(own)
    assert entry.parameters.get("order", "shuffled") in ROW_ORDERS


SMALL = "dense-small sparse-small Graph10K_3 hypercube-15 rmat16.sym uniform-10k grid-128 rmat-14 tree-100k ties-100k"
LARGER = (
    "dense-medium Graph10K_6 Graph10K_9 Graph100K_9 circulant-50k road-100k kronecker-14 geometric-100k "
    "delaunay-100k barabasi-albert-100k watts-strogatz-100k complete-2k path-100k star-100k few-weights-100k "
    "float32-100k float64-100k int64-100k"
)


@pytest.mark.parametrize(
    "name", [*SMALL.split(), *(pytest.param(name, marks=pytest.mark.slow) for name in LARGER.split())]
)
def test_generated_graphs_have_every_published_number(name, tmp_path, sources):
    entry = LISTED[name]
    manifest = materialise(entry, tmp_path / "out", sources=sources)
    assert manifest.status == "ok" and manifest.mismatches == () and manifest.raw is None
    recipe = {"name": entry.generator, "parameters": entry.parameters, "seed": entry.seed}
    assert manifest.generator == recipe and manifest.weight_dtype == entry.weights.dtype
    assert entry.weights.low <= manifest.weight_min <= manifest.weight_max <= entry.weights.high
    if entry.weights.distinct:
        assert len(np.unique(read_canonical(tmp_path / "out" / "graph.arrow").w)) == manifest.m
    if entry.parameters.get("connected"):
        assert manifest.components == 1


def test_obtain_makes_a_graph_once(triangle, tmp_path, sources, monkeypatch):
    folder, first = catalog.obtain(triangle, tmp_path / "out", sources=sources)
    stamp = (folder / "graph.arrow").stat().st_mtime_ns
    assert catalog.obtain(triangle, folder, sources=sources) == (folder, first)
    assert (folder / "graph.arrow").stat().st_mtime_ns == stamp
    (folder / "graph.arrow").write_bytes(b"cut")
    assert catalog.obtain(triangle, folder, sources=sources)[1].bytes == first.bytes
    assert (folder / "graph.arrow").stat().st_size == first.bytes
    reweighed = changed(triangle, weights={"low": 5, "high": 5})
    assert catalog.obtain(reweighed, folder, sources=sources)[1].weight_max == 5
    monkeypatch.setenv("MST_CACHE", str(tmp_path / "cache"))
    cached = tmp_path / "cache" / "graphs" / f"triangle-{triangle.recipe}"
    assert catalog.obtain(triangle, sources=sources)[0] == cached


# Local files of a user


@pytest.fixture
def own(tmp_path) -> tuple[Path, catalog.Entry]:
    file = tmp_path / "mine" / "tri angle.txt"
    file.parent.mkdir()
    file.write_text(TRIANGLE_FILE)
    entry = {"name": "mine", "title": "Mine", "family": "road", "sources": [{"path": str(file)}]}
    return file, catalog.Entry.model_validate(entry)


def test_local_file_is_read_in_place(own, tmp_path, sources):
    file, entry = own
    folder, manifest = catalog.obtain(entry, tmp_path / "out", sources=sources)
    assert (manifest.status, manifest.n, manifest.m) == ("ok", 4, 4)
    assert manifest.raw.location == str(file) and manifest.raw.check == "first"
    assert not sources.cache.exists(), "no copy is kept"
    stamp = (folder / "graph.arrow").stat().st_mtime_ns
    assert catalog.obtain(entry, folder, sources=sources) == (folder, manifest)
    assert (folder / "graph.arrow").stat().st_mtime_ns == stamp


def test_changed_local_file_is_read_again(own, tmp_path, sources):
    file, entry = own
    folder, before = catalog.obtain(entry, tmp_path / "out", sources=sources)
    file.write_text(TRIANGLE_FILE + "3 4 8\n")
    later = (folder / "graph.arrow").stat().st_mtime + 1
    os.utime(file, (later, later))
    _, after = catalog.obtain(entry, folder, sources=sources)
    assert (after.n, after.recipe) == (5, before.recipe) and after.digest != before.digest


def test_unusable_local_file_is_kept_and_named(own, tmp_path, sources):
    file, entry = own
    file.write_text("0 1 5\n1 two 7\n")
    with pytest.raises(FormatError, match=re.escape(f"{file}, line 2")):
        materialise(entry, tmp_path / "out", sources=sources)
    assert file.read_text() == "0 1 5\n1 two 7\n"
    pinned = changed(entry, sources=[{"path": str(file), "sha256": "0" * 64}])
    manifest = materialise(pinned, tmp_path / "out", sources=sources)
    assert manifest.status == "unavailable"
    assert "differs from that in the catalogue, 000" in manifest.tried[0].reason
    file.unlink()
    manifest = materialise(entry, tmp_path / "out", sources=sources)
    tried = manifest.tried[0]
    assert tried.location == str(file) and tried.reason == (
        "no such file: put it there, or correct the path in the catalogue"
    )
    assert manifest.reason == f"{file}: {tried.reason}", "no mirror is expected to have it"


@pytest.mark.parametrize(
    ("keys", "complaint"),
    [
        ({"generator": "gridd"}, "no generator 'gridd' (did you mean 'grid'?)"),
        ({"generator": "grid", "parameters": {"rws": 3}}, "generator 'grid' has no parameter 'rws'"),
        ({"generator": "grid", "parameters": {"rows": 0, "columns": 3}}, "generator 'grid': rows = 0"),
        ({"sources": [{"path": "tri angle.txt", "format": "edgs"}]}, "no file format 'edgs'"),
    ],
)
def test_a_mistake_in_an_entry_is_named_with_the_graph(tmp_path, sources, monkeypatch, keys, complaint):
    monkeypatch.chdir(tmp_path)
    Path("tri angle.txt").write_text(TRIANGLE_FILE)
    weights = {"dtype": "int32", "low": 1, "high": 3}
    entry = catalog.Entry(name="mine", title="mine", family="grid", weights=weights, **keys)
    with pytest.raises(MSTError, match=re.escape(f"graph 'mine' of the catalogue: {complaint}")):
        materialise(entry, tmp_path / "out", sources=sources)
    assert not (tmp_path / "out").exists()


def test_local_paths_are_relative_or_start_at_home(own, tmp_path, monkeypatch):
    file, entry = own
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(file.parent))
    for path in ("mine/tri angle.txt", "~/tri angle.txt"):
        assert changed(entry, sources=[{"path": path}]).own_files == (file,)
    assert changed(entry, sources=[{"path": "~no-such-user/a"}]).own_files == ()


# The manifest


def test_manifests_survive_infinite_weights_and_exact_integers(tmp_path):
    known = dict(name="g", family="road", recipe="0" * 8, status="ok", n=2, m=1, weight_dtype="float64")
    for low, high in ((-math.inf, math.inf), (-(2**63), 2**63 - 1), (0.1, 5e-324), (1, 1.5)):
        manifest = Manifest(**known, weight_min=low, weight_max=high)
        text = manifest.model_dump_json(exclude_none=True)
        json.loads(text, parse_constant=lambda constant: pytest.fail(f"{constant} is no JSON"))
        (tmp_path / "manifest.json").write_text(text)
        read = read_manifest(tmp_path)
        assert (read.weight_min, read.weight_max) == (low, high)
        assert (type(read.weight_min), type(read.weight_max)) == (type(low), type(high))


@pytest.mark.parametrize("text", ["", "{", '{"version": 2}', '{"version": 1, "nmae": "x"}'])
def test_manifest_of_another_version_or_with_unknown_keys_is_refused(tmp_path, text):
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(FormatError, match=r"manifest\.json: not a manifest of this version"):
        read_manifest(tmp_path)


def test_a_missing_manifest_is_named(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read_manifest(tmp_path / "none" / "manifest.json")


# Every file of the mirror

NOT_GRAPHS = {"USA-road-d.NY-coordinates"}
TOO_LARGE = {"tsplib-usa13509": "91 million edges: minutes and gigabytes"}


def _in_mirror(mirror: Path, entry: catalog.Entry) -> bool:
    return any((mirror / name).is_file() for source in entry.sources for name in source.wanted("").known_names)


def _rows(file: Path) -> dict[str, dict[str, str]]:
    with file.open(newline="") as opened:
        return {row["name"]: row for row in csv.DictReader(opened)}


def test_every_graph_of_the_mirror_is_listed(mirror):
    files = {row["file"] for name, row in _rows(mirror / "MANIFEST.csv").items() if name not in NOT_GRAPHS}
    known = {
        name for entry in LISTED.values() for source in entry.sources for name in source.wanted("").known_names
    }
    assert files <= known


def test_published_forest_weights_are_listed(mirror):
    published = {name: row["known_mst_weight"] for name, row in _rows(mirror / "MANIFEST.csv").items()}
    known = {name: float(weight) for name, weight in published.items() if weight}
    assert known and known == pytest.approx({name: LISTED[name].known_weight for name in known}, abs=5e-6)


@pytest.fixture(scope="module")
def mirrored(tmp_path_factory, mirror) -> Sources:
    return Sources([str(mirror)], offline=True, cache=tmp_path_factory.mktemp("cache"))


FROM_FILES = [entry for entry in LISTED.values() if entry.sources and entry.name not in TOO_LARGE]


@pytest.mark.parametrize("entry", FROM_FILES, ids=lambda entry: entry.name)
def test_mirrored_graphs_have_every_published_number(entry, mirror, mirrored, tmp_path):
    manifest = materialise(entry, tmp_path, sources=mirrored)
    if not _in_mirror(mirror, entry):
        assert manifest.status == "unavailable" and manifest.tried
        return
    assert manifest.status == "ok"
    assert manifest.mismatches == ()
    assert manifest.checks
    if entry.known_weight is not None:
        import mst

        forest = mst.minimum_spanning_forest(read_canonical(tmp_path / "graph.arrow"), algorithm="kruskal")
        assert forest.components == manifest.components
        assert round(forest.weight, 5) == entry.known_weight
    facts = _rows(mirror / "FACTS.csv").get(entry.name)
    if facts is not None:
        found = (manifest.m, manifest.components)
        assert found == (int(facts["distinct_undirected_edges_without_loops"]), int(facts["components"]))
        assert manifest.n == int(facts["vertices_declared_or_used"])


# The kernel


@st.composite
def edge_lists(draw):
    n = draw(st.integers(1, 30))
    ends = st.integers(0, n - 1)
    pairs = draw(st.lists(st.tuples(ends, ends), max_size=60))
    dtype = draw(st.sampled_from([np.int32, np.int64]))
    array = np.array(pairs, dtype).reshape(-1, 2)
    return n, np.ascontiguousarray(array[:, 0]), np.ascontiguousarray(array[:, 1])


@given(edge_lists())
def test_components_equal_scipys_and_degrees_numpys(graph):
    n, u, v = graph
    expected, _ = connected_components(coo_array((np.ones(len(u)), (u, v)), shape=(n, n)), directed=False)
    assert count_components(n, u, v) == expected
    assert degrees(n, u, v).tolist() == np.bincount(np.concatenate([u, v]), minlength=n).tolist()


def test_graph_without_vertices_has_no_components():
    none = np.empty(0, np.int32)
    assert count_components(0, none, none) == 0
    assert degrees(0, none, none).size == 0


# Stand-ins for inputs.

JUDGING = document().stand_ins


def sizes(entry):
    """Return n, m and the number of components, from the parameters of a generated graph."""
    p = entry.parameters
    components = p.get("components", 1 if p.get("connected") else None)
    if entry.generator == "power-law":
        return {"n": p["n"], "m": p["m"], "components": components}
    assert entry.generator == "road"
    rows, columns = p["rows"], p["columns"]
    grid = rows * (columns - 1) + (rows - 1) * columns
    added = p.get("bends", 0) + 64 * (p.get("largest_degree", 4) - 4)
    kept = round(Fraction(p["share"]) * grid)
    return {"n": rows * columns + added, "m": kept + added, "components": components}


@pytest.mark.parametrize("name", JUDGING)
def test_stand_ins_have_the_size_of_the_missing_graph(name):
    entry = LISTED[JUDGING[name]]
    known = facts_of_input(name)
    if entry.sources:
        (published,) = entry.published
        assert (published.n, published.edges) == (known["n"], pytest.approx(known["m"], rel=0.02))
    elif entry.published:  # the same recipe, whose numbers its manifest checks
        assert entry.published[0].n == known["n"]
    else:
        assert sizes(entry) == {
            "n": pytest.approx(known["n"], rel=0.001),
            "m": pytest.approx(known["m"], rel=0.001),
            "components": known.get("components", 1),
        }
        assert f"Stand-in for {name}" in entry.title


@pytest.mark.parametrize("name", ["amazon0601", "citationCiteseer", "rmat16.sym.egr", "USA-road-d.BAY"])
def test_stand_ins_have_the_numbers_that_their_notes_give(name, tmp_path, sources):
    entry = LISTED[JUDGING[name]]
    manifest = materialise(entry, tmp_path / "out", sources=sources)
    assert manifest.status == "ok" and resembles(name, vars(manifest))
    if entry.note:
        numbers = [int(text.replace(",", "")) for text in re.findall(r"[0-9][0-9,]+[0-9]", entry.note)]
        assert {manifest.n, manifest.m, manifest.maximum_degree} & set(numbers)
        assert {key: vars(manifest)[key] for key in ("n", "m", "components")} == sizes(entry)
