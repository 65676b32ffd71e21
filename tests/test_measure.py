"""``mst measure``: an experiment without the workflow engine."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import yaml

from mst import catalog, cli, config, registry
from mst.bench.measure import runner
from mst.commands import measure
from mst.commands._requests import graph_of
from mst.errors import UnavailableError
from mst.progress import Step


@pytest.fixture
def experiment(tmp_path, own_cache, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = {
        "machine": "box",
        "experiment": {
            "title": "small",
            "graphs": ["dense-small", "USA-road-d.NY"],
            "measure": {"processes": 2, "samples": 2, "budget": 5, "timeout": 30},
            "runs": [{"algorithms": ["kruskal", "boruvka"]}],
        },
        "offline": True,
    }
    monkeypatch.setenv("MST_MIRROR", "")
    file = tmp_path / "config.yaml"
    file.write_text(yaml.safe_dump(config))
    yield ["measure", "--configfile", str(file)]
    registry.use_programs(None)


@pytest.mark.parametrize("scope", ["nothing", "papers/nothing", "graphs/nothing", "algorithms/nothing"])
def test_an_unknown_scope_is_refused_before_anything_is_written(scope, experiment, tmp_path, capsys):
    assert cli.main([*experiment, scope]) == 2
    assert "'nothing'" in capsys.readouterr().err and not (tmp_path / "results").exists()


def test_measured_and_proved_runs_are_repeated_only_if_disturbed_and_retried(experiment, tmp_path, capsys):
    assert cli.main(experiment) == 0
    output = capsys.readouterr().out
    assert output.count("; identical") == 2 and "2 runs measured, 0 wrong" in output
    assert "USA-road-d.NY: unavailable: " in output and "`mst retry --scope graphs/USA-road-d.NY`" in output
    records = [p for p in (tmp_path / "results/records").glob("box/*/*/*/*/*.json") if "proof" not in p.name]
    assert len(records) == 2
    assert not (tmp_path / "results/unfinished").exists()
    assert {json.loads(p.with_suffix(".proof.json").read_text())["grade"] for p in records} == {"identical"}
    records[0].with_suffix(".proof.json").unlink()
    assert cli.main(experiment) == 0
    output = capsys.readouterr().out
    assert output.count("; identical") == 1, "only the missing proof is made"
    assert cli.main(experiment) == 0
    assert "0 runs measured, 0 wrong" in capsys.readouterr().out
    proof = records[0].with_suffix(".proof.json")
    right = proof.read_text()
    proof.write_text(
        json.dumps(json.loads(right) | {"status": "wrong", "grade": None, "reason": "it lacks an edge"})
    )
    assert cli.main(experiment) == 1, "a wrong forest fails each call, not only the first"
    name = json.loads(records[0].read_text())["run"]["algorithm"]
    assert f"0 runs measured, 1 wrong ({name} default width 1 on dense-small)" in capsys.readouterr().out
    proof.write_text(right)
    for record, flags in zip(records, (["spread"], ["busy"])):
        measurement = json.loads(record.read_text())
        measurement["conditions"]["flags"] = flags
        record.write_text(json.dumps(measurement))
    for statuses, left in (([], [True, True]), (["disturbed"], [True, False])):
        assert cli.main(["retry", *statuses, *experiment[1:]]) == 0
        assert [record.is_file() for record in records] == left
        assert [record.with_suffix(".proof.json").is_file() for record in records] == left
    capsys.readouterr()
    assert cli.main(["retry", "timeout", "error", *experiment[1:]]) == 0
    none = "no run or graph of the experiment and the papers has the status error or timeout"
    assert capsys.readouterr().out == f"{none}; --scope, --configfile and --profile name others\n"
    records[0].write_text("{")
    assert cli.main(["retry", "--dry-run", *experiment[1:]]) == 0
    assert f"would set aside: {records[0].relative_to(tmp_path)}" in capsys.readouterr().out
    assert records[0].is_file()


def test_failed_runs_of_a_cluster_are_retried_by_its_profile(experiment, tmp_path, capsys):
    assert cli.main(experiment) == 0
    # As if imported from the cluster, or measured through its scheduler.
    record = next((tmp_path / "results/records").glob("box/*/kruskal/default/w1/????????????.json"))
    failed = json.loads(record.read_text()) | {"status": "error", "reason": "crashed"}
    failed["run"]["machine"] = "far"
    there = tmp_path / "results/records/far" / record.relative_to(tmp_path / "results/records/box")
    there.parent.mkdir(parents=True)
    there.write_text(json.dumps(failed))
    Path("profile.yaml").write_text("configfile: site.yaml")
    nodes = {"cpu": {"machine": "far", "cpus": 2, "runs": ["sequential"]}}
    Path("site.yaml").write_text(yaml.safe_dump({"site": {"nodes": nodes}}))
    assert cli.main(["retry", *experiment[1:]]) == 0 and there.is_file()
    assert cli.main(["retry", *experiment[1:], "--profile", "."]) == 0
    assert not there.exists() and record.is_file()
    assert "removed: results/records/far/" in capsys.readouterr().out


def test_an_interrupted_call_says_how_it_continues(experiment, tmp_path, capsys, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("mst.commands.measure.measure_scopes", interrupted)
    assert cli.main(experiment) == 130
    said = "Finished runs are kept; the same command measures the others.\nmst measure: interrupted\n"
    assert capsys.readouterr().err == said


@pytest.mark.parametrize("within", ["-1", "0", "nan"])
def test_a_limit_of_time_that_is_not_positive_is_refused(experiment, capsys, within):
    assert cli.main([*experiment, "--within", within]) == 2
    assert f"--within {within} must be above 0 seconds: leave it out" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["measure"], ["run", "kruskal", "path-100k"]])
def test_results_that_cannot_be_written_are_refused_before_measuring(
    experiment, capsys, monkeypatch, arguments
):
    monkeypatch.setattr(os, "access", lambda path, mode: not str(path).endswith("records/box"))
    monkeypatch.setattr(runner, "measure_runs", None)
    assert cli.main([*arguments, *experiment[1:]]) == 2
    assert "results/records/box cannot be written" in capsys.readouterr().err


def test_results_whose_folder_cannot_be_made_are_refused(experiment, tmp_path, capsys):
    (tmp_path / "results").mkdir()
    (tmp_path / "results/records").touch()
    assert cli.main(experiment) == 2
    assert (
        "results/records/box cannot be written: change its permissions, or configure other results"
        in capsys.readouterr().err
    )


def test_runs_that_end_in_an_error_are_counted(experiment, tmp_path, add_algorithm, capsys):
    add_algorithm("""
        ALGORITHM = dict(id="broken", paradigm="sequential", title="Broken")

        def prepare(graph, *, width):
            raise RuntimeError("a fault")

        def solve(problem):
            return problem

        def collect(problem, result):
            return result
    """)
    file = tmp_path / "config.yaml"
    file.write_text(file.read_text().replace("boruvka", "broken"))
    assert cli.main(experiment) == 0
    assert "2 runs measured, 0 wrong, 1 not finished, " in capsys.readouterr().out


@pytest.mark.slow
def test_refill_repeats_runs_with_fewer_processes(experiment, tmp_path, capsys):
    assert cli.main(experiment) == 0
    short, full = (p for p in tmp_path.glob("results/records/box/*/*/*/*/*.json") if "proof" not in p.name)
    before = json.loads(short.read_text())
    before["conditions"]["flags"].append("fewer-processes")
    short.write_text(json.dumps(before))
    assert cli.main(experiment) == 0
    assert "0 runs measured" in capsys.readouterr().out, "by itself it is done"
    unchanged = full.read_bytes()
    assert cli.main([*experiment, "--refill"]) == 0
    output = capsys.readouterr().out
    assert "1 run measured, 0 wrong" in output and before["run"]["algorithm"] in output
    after = json.loads(short.read_text())
    assert after["created"] > before["created"] and "fewer-processes" not in after["conditions"]["flags"]
    assert json.loads(short.with_suffix(".proof.json").read_text())["grade"] == "identical"
    assert full.read_bytes() == unchanged


@pytest.mark.parametrize("others, retried", [([], False), ([{"mirror_names": ["road.gr"]}], True)])
def test_graph_is_retried_by_command_if_it_may_come_from_elsewhere(experiment, monkeypatch, others, retried):
    """A missing file of this machine is looked for by every call."""
    own = {"name": "own", "title": "Own", "family": "road", "sources": [{"path": "gone/road.gr"}, *others]}
    monkeypatch.setattr(catalog, "load", lambda: {"own": catalog.Entry.model_validate(own)})
    with pytest.raises(UnavailableError) as caught:
        graph_of(config.load(Path(experiment[-1])), "own")
    assert ("`mst retry --scope graphs/own`" in str(caught.value)) == retried


def test_a_changed_file_of_a_graph_is_read_and_measured_again(experiment, tmp_path, capsys, monkeypatch):
    file, entries = tmp_path / "own.gr", tmp_path / "graphs.yaml"
    entry = f"\n  own: {{title: Own, family: road, sources: [{{path: {file}}}]}}\n"
    entries.write_text(catalog.load().file.read_text() + entry)
    listed = catalog.load(entries)
    monkeypatch.setattr(catalog, "load", lambda path=None: listed)
    settings = yaml.safe_load((tmp_path / "config.yaml").read_text())
    settings["experiment"] |= {"graphs": ["own"], "runs": [{"algorithms": ["kruskal"]}]}
    settings["experiment"]["measure"] |= {"processes": 1, "samples": 1}
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(settings))

    def change(weight):
        file.write_text(f"p sp 3 2\na 1 2 5\na 2 3 {weight}\n")
        for made in tmp_path.glob("results/graphs/own/*/manifest.json"):
            os.utime(made, (0, 0))

    assert cli.main(experiment) == 0
    assert f"own: unavailable: {file}: no such file" in capsys.readouterr().out
    change(7)
    os.utime(file, (0, 0))
    assert cli.main(experiment) == 0
    capsys.readouterr()
    assert cli.main(["table", *experiment[1:]]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("1 run")
    change(9)
    capsys.readouterr()
    assert cli.main(["plan", *experiment[1:]]) == 0
    assert "its file is newer than the graph" in capsys.readouterr().out
    assert cli.main(["table", *experiment[1:]]) == 2
    assert "run `mst measure`" in capsys.readouterr().err
    assert cli.main(experiment) == 0
    output = capsys.readouterr().out
    assert output.count("; identical") == 1 and "1 run measured, 0 wrong" in output
    change(6)
    assert cli.main(["run", "kruskal", "own", *experiment[1:]]) == 0
    assert "; identical" in capsys.readouterr().out
    records = [p for p in tmp_path.glob("results/records/box/own/*/*/*/*.json") if "proof" not in p.name]
    assert {json.loads(p.read_text())["forest"]["weight"] for p in records} == {"12", "14", "11"}


def test_a_graph_that_cannot_be_read_fails_the_call_after_all_others_are_measured(
    experiment, tmp_path, capsys, monkeypatch
):
    (tmp_path / "own.gr").write_text("p sp 2 1\na 1 x 5\n")
    own = {"name": "own", "title": "Own", "family": "road", "sources": [{"path": str(tmp_path / "own.gr")}]}
    entries = {"own": catalog.Entry.model_validate(own), "dense-small": catalog.load()["dense-small"]}
    monkeypatch.setattr(catalog, "load", lambda: entries)
    monkeypatch.setattr(config, "check_graphs", lambda *_: None)
    settings = yaml.safe_load((tmp_path / "config.yaml").read_text())
    settings["experiment"] |= {"graphs": ["own", "dense-small"], "runs": [{"algorithms": ["kruskal"]}]}
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(settings))
    assert cli.main(experiment) == 1
    output = capsys.readouterr().out
    assert "own.gr, line 2: " in output and "1 run measured, 0 wrong, 1 graph unusable (own), " in output


def test_time_to_go_follows_from_finished_graphs(experiment, monkeypatch):
    done, update = [], Step.update

    def note(self, *args, **kwargs):
        update(self, *args, **kwargs)
        if self.text.startswith("default"):
            done.append(self.done)

    monkeypatch.setattr(Step, "update", note)
    monkeypatch.setattr(measure, "_measured", lambda *args, **kwargs: iter(["proved"] * 2))
    assert cli.main(experiment) == 0
    assert done == [0.0, 0.0, 2.0], "the runs on a graph end together"
