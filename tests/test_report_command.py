"""``mst report`` gathers everything below a folder of results for the page."""

from __future__ import annotations

import fake_records
import pyarrow.parquet as pq
import pytest

from mst import registry
from mst.bench.records.bundle import export_bundle
from mst.bench.records.merge import import_bundle
from mst.bench.records.store import load_records
from mst.cli import main
from mst.reporting.page.facts import machine_facts


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """The arguments of the page, in place of the page, in a folder without committed bundles."""
    calls = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("mst.reporting.page.build.write_report", lambda **given: calls.append(given))
    return calls


def test_records_and_manifests_of_every_machine_reach_the_page(tmp_path, asked, capsys):
    elsewhere = fake_records.write_experiment(tmp_path / "elsewhere", graphs=fake_records.GRAPHS[:2])
    for file in elsewhere["manifests"]:
        target = file.parent / "0a1b2c3d" / "manifest.json"
        target.parent.mkdir()
        file.rename(target)
    for machine in ("fake-cluster", "fake-gpu-box"):
        bundle = tmp_path / f"{machine}.mst.zip"
        export_bundle(machine, results=tmp_path / "elsewhere", out=bundle)
        import_bundle(bundle, results=tmp_path / "results")
    # The same graph, made here by another recipe.
    (imported,) = (tmp_path / "results" / "manifests" / fake_records.GRAPHS[0].name).iterdir()
    made = tmp_path / "results" / "graphs" / imported.parent.name / "4e5f6a7b" / "manifest.json"
    fake_records.write_json(made, fake_records.read_json(imported) | {"digest": "0" * 64})
    assert main(["report", "--results", str(tmp_path / "results")]) == 0
    (given,) = asked
    rows = pq.read_table(given["table"]).to_pylist()
    assert {row["machine"] for row in rows} == {"fake-cluster", "fake-gpu-box"}
    records = list(load_records(*given["records"]))
    records[0].measurement["versions"]["driver"] = None
    facts = machine_facts(records)
    assert sorted(machine["name"] for machine in facts) == ["fake-cluster", "fake-gpu-box"]
    assert not any("None" in versions for machine in facts for versions in machine["versions"].values())
    names = [fake_records.read_json(file)["name"] for file in given["graphs"]]
    assert sorted(names) == sorted(g.name for g in fake_records.GRAPHS[:2]), "each graph once"
    assert made in given["graphs"]
    fake_records.write_json(made, fake_records.read_json(imported) | {"status": "unavailable"})
    assert main(["report", "--results", str(tmp_path / "results")]) == 0
    assert {made, imported} <= set(asked[-1]["graphs"]), "a graph that only others have keeps their facts"
    assert given["out"] == tmp_path / "results" / "report.html"
    assert str(given["out"]) in capsys.readouterr().out


def test_report_without_records_is_an_error_and_writes_nothing(tmp_path, asked, capsys):
    assert main(["report", "--results", str(tmp_path / "results")]) == 2
    assert "holds no records" in capsys.readouterr().err
    assert not asked and not list(tmp_path.iterdir())


def test_a_page_that_cannot_be_written_is_refused_before_anything_is_written(tmp_path, asked, capsys):
    (folder := tmp_path / "a folder").mkdir()
    fake_records.write_experiment(tmp_path / "results", graphs=fake_records.GRAPHS[:1])
    for out, reason in (
        (str(folder), "cannot be written: it is a folder"),
        ("-", "is not a file, and other pages go beside it"),
        ("/dev/null", "is not a file, and other pages go beside it"),
    ):
        assert main(["report", "--results", str(tmp_path / "results"), "--out", out]) == 2
        assert f"mst report: {out} {reason}" in capsys.readouterr().err
    assert not asked and not list(tmp_path.rglob("table.*"))


@pytest.mark.parametrize("content", ["{", "[3]", '{"a": 1}'])
def test_a_damaged_plan_is_named_with_the_remedy(tmp_path, asked, capsys, content):
    fake_records.write_experiment(tmp_path, graphs=fake_records.GRAPHS[:1])
    (tmp_path / "plan.json").write_text(content)
    assert main(["report", "--results", str(tmp_path)]) == 2
    assert f"{tmp_path / 'plan.json'}: not a plan: delete it" in capsys.readouterr().err


def test_runs_by_the_present_code_are_shown_and_those_by_other_code_counted(tmp_path, asked, capsys):
    present = registry.get("kruskal").source_fingerprint()
    commits = {}
    for day, commit, code in ((20, "a" * 40, "0" * 12), (21, "b" * 40, present), (22, "c" * 40, "1" * 12)):
        created = f"2026-11-{day}T10:00:00+00:00"
        for graph in fake_records.GRAPHS[: 1 + (code != present)]:
            asked_of = ("fake-desktop", graph, fake_records.ALGORITHMS[0], 1)
            run, value = fake_records.measurement(
                *asked_of, commit=commit, created=created, samples=[[1.0, 2.0]] * 5
            )
            value["run"]["source_fingerprint"] = code
            fake_records.write_record(tmp_path / "records", run, value)
            commits[graph.name, commit[0]] = run.fingerprint
    # The workflow planned the first graph's run before the code changed.
    first, second = (graph.name for graph in fake_records.GRAPHS[:2])
    key = {"machine": "fake-desktop", "algorithm": "kruskal", "options": "default", "width": 1, "layout": ""}
    planned = {**key, "graph": first, "status": "planned", "fingerprint": commits[first, "a"]}
    fake_records.write_json(tmp_path / "plan.json", [planned])
    assert main(["report", "--results", str(tmp_path)]) == 0
    table = pq.read_table(tmp_path / "table.parquet", filters=[("current", "=", True)])
    shown = dict(zip(table["graph"].to_pylist(), table["fingerprint"].to_pylist(), strict=True))
    assert shown == {first: commits[first, "b"], second: commits[second, "c"]}
    assert "measured by other code than the present one: 1 of 2 runs; `mst plan`" in capsys.readouterr().err
    assert main(["report", "--results", str(tmp_path), "--quiet"]) == 0
    assert "other code" not in capsys.readouterr().err
