"""The RO-Crate of a workflow's results describes every file in it."""

from __future__ import annotations

import json
import zipfile

import fake_records
import pytest

from mst.bench.records.crate import PROFILES, write_crate
from mst.bench.records.store import load_records
from mst.errors import InputError

pytest.importorskip("rocrate", reason="the workflow's packages are not installed")

METADATA = "ro-crate-metadata.json"


@pytest.fixture
def results(tmp_path):
    root = tmp_path / "clone"
    (root / "workflow" / "rules").mkdir(parents=True)
    (root / "config").mkdir()
    for name in ("Snakefile", "workflow/rules/runs.smk", "config/config.yaml"):
        (root / name).write_text("# a file\n")
    results = root / "results"
    fake_records.write_experiment(results)
    (results / "report.html").write_text("<p>page</p>")
    (results / "table.csv").write_text("graph\n")
    return root, results


def crate(results, tmp_path):
    root, folder = results
    out = tmp_path / "crate.zip"
    write_crate(out, root=root, results=folder, records=load_records(folder / "records"))
    with zipfile.ZipFile(out) as archive:
        return archive.namelist(), json.loads(archive.read(METADATA))


def references(value):
    if isinstance(value, dict):
        if set(value) == {"@id"}:
            yield value["@id"]
        for inner in value.values():
            yield from references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from references(inner)


def test_every_described_file_is_in_the_archive_and_every_file_is_described_once(results, tmp_path):
    files, metadata = crate(results, tmp_path)
    entities = [entity["@id"] for entity in metadata["@graph"]]
    assert len(entities) == len(set(entities))
    described = {e["@id"] for e in metadata["@graph"] if "File" in e["@type"]}
    assert described == set(files) - {METADATA}
    root = next(e for e in metadata["@graph"] if e["@id"] == "./")
    assert {part["@id"] for part in root["hasPart"]} == described
    for entity in metadata["@graph"]:
        for reference in references(entity):
            assert reference in entities or reference.startswith(("http://", "https://")), reference


def test_run_names_its_workflow_times_and_results(results, tmp_path):
    _, metadata = crate(results, tmp_path)
    by_id = {entity["@id"]: entity for entity in metadata["@graph"]}
    run, root = by_id["#run"], by_id["./"]
    assert run["@type"] == "CreateAction" and run["instrument"] == root["mainEntity"] == {"@id": "Snakefile"}
    assert run["endTime"] and {"@id": "results/report.html"} in run["result"]
    assert {p["@id"] for p in root["conformsTo"]} == set(PROFILES)


def test_crate_without_results_is_refused_and_leaves_no_file(tmp_path):
    with pytest.raises(InputError, match="run the workflow first"):
        write_crate(tmp_path / "c.zip", root=tmp_path, results=tmp_path / "results", records=[])
    assert not list(tmp_path.iterdir())
