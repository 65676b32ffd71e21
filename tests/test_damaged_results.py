"""Damaged files in the folder of results: each is named with its remedy, or made again."""

from __future__ import annotations

import json

import pytest

from mst import catalog, config
from mst.bench.machine import this_machine
from mst.bench.planning import batches
from mst.bench.records.account import check_table
from mst.cli import main
from mst.commands.measure import reference_of
from mst.errors import InputError
from mst.reporting.page.build import write_report
from mst.reporting.papers.section import write_exhibit

GRAPH = "rmat-17"
DAMAGES = ["", "{", "[]", "null", "\0\0\0"]


@pytest.fixture
def settings(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return config.load()


@pytest.mark.parametrize("content", [*DAMAGES, "{}"])
def test_the_facts_of_a_machine(settings, content, capsys):
    file = settings.root / "machines" / f"{settings.machine_name}.json"
    file.parent.mkdir(parents=True)
    file.write_text(content)
    assert main(["plan"]) == 2
    message = capsys.readouterr().err
    assert f"mst plan: {file}: " in message and "move a damaged file away, and it is made again" in message
    file.write_text(json.dumps(this_machine().as_dict()))
    assert main(["plan"]) == 0


@pytest.mark.parametrize("content", [*DAMAGES, "{}"])
def test_a_manifest(settings, content, capsys):
    file = config.graph_folder(settings, catalog.load()[GRAPH]) / "manifest.json"
    file.parent.mkdir(parents=True)
    file.write_text(content)
    for command in (["run", "kruskal", GRAPH], ["reference", str(file)], ["plan"]):
        assert main(command) == 2
        message = capsys.readouterr().err
        assert f"{file}: " in message
        assert (
            "not a manifest of this version of mst; move a damaged file away, and it is made again" in message
        )


@pytest.mark.parametrize("content", [*DAMAGES, "PAR1"])
def test_a_table(tmp_path, content):
    (table := tmp_path / "table.parquet").write_text(content)
    page, exhibit, checked = (tmp_path / name for name in ("report.html", "figure-2.csv", "checked.json"))
    for read in (
        lambda: write_report(table=table, graphs=[], config={}, out=page),
        lambda: write_exhibit("durbhakula", "figure-2", records=[], table=table, manifests=[], csv=exhibit),
        lambda: check_table(table, checked),
    ):
        with pytest.raises(InputError, match=f"{table}: not a table: delete it, and the workflow"):
            read()
    assert list(tmp_path.iterdir()) == [table]


@pytest.mark.parametrize("content", [*DAMAGES, "{}"])
def test_a_reference_forest_is_made_again(settings, tmp_path, content):
    entry = catalog.Entry(
        name="small",
        title="small",
        family="grid",
        generator="grid",
        parameters={"rows": 3, "columns": 4},
        weights={"dtype": "int32", "low": 1, "high": 9},
    )
    manifest = catalog.materialise(entry, tmp_path, sources=settings.sources()).model_dump(mode="json")
    (tmp_path / "reference.json").write_text(content)
    made = json.loads(reference_of(tmp_path, manifest).read_text())
    assert made["graph_digest"] == manifest["digest"] and made["edges"] == 11


@pytest.mark.parametrize("content", [*DAMAGES, "{}"])
def test_an_index_lists_nothing(tmp_path, content, capsys):
    index = tmp_path / batches.PROVED
    index.write_text(content)
    assert batches._listed(index) == set()
    assert main(["verify", "--batch", str(index), "--reference", "r", "--index", "i"]) == 2
    assert f"{index}: " in capsys.readouterr().err
