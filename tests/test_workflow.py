"""The workflow on real jobs: first runs, incremental reruns, and results after failures."""

from __future__ import annotations

import csv
import itertools
import json
import os
import shutil
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path

import pytest
import yaml
from workflow_clone import Clone, jobs

pytestmark = [pytest.mark.workflow, pytest.mark.timeout(600)]

pytest.importorskip("snakemake", reason="the workflow's packages are not installed")
pytest.importorskip("scipy", reason="the workflow tests run scipy as a peer")

ALGORITHMS = ["kruskal", "scipy"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Clone:
    """A clone in which the small experiment has been run once, by the plain command line."""
    clone = Clone.create(tmp_path_factory.mktemp("base") / "clone", algorithms=ALGORITHMS)
    code, output = clone.snakemake(profile=False)
    assert code == 0, output
    return clone


@pytest.fixture
def paged(finished, tmp_path) -> Clone:
    """A copy of the finished clone."""
    return finished.copy(tmp_path / "clone")


@pytest.fixture
def clone(paged) -> Clone:
    """A copy of the finished clone in which a stand-in writes the page from now on."""
    paged.without_page()
    return paged


def test_first_run_measures_proves_and_reports(finished):
    records = finished.records()
    assert len(records) == 4
    for name, record in records.items():
        assert record["status"] == "ok", (name, record["reason"], record["detail"])
        assert len(record["samples"]["compute"]) == 2
        proof = json.loads((finished.folder / "results/records" / name).with_suffix(".proof.json").read_text())
        assert proof["status"] == "ok"
        assert proof["grade"] == "identical" or (
            record["run"]["algorithm"] == "scipy" and proof["grade"] == "edges"
        )
    assert finished.checked()["status"] == {"ok": 4}
    page = (finished.folder / "results/report.html").read_text()
    assert "4 runs of " in page and "kruskal" in page
    assert "small-grid" in (finished.folder / "results/report/explorer.html").read_text()
    for rule in ("plan", "table", "report", "check"):
        assert (finished.folder / f"results/logs/{rule}.log").is_file()


def test_an_interpreter_that_the_engine_cannot_start_is_named(tmp_path):
    clone = Clone.create(tmp_path / "clone", algorithms=ALGORITHMS, page=False)
    python = tmp_path / "a blank" / "python"
    python.parent.mkdir()
    python.symlink_to(sys.executable)
    paths = os.pathsep.join([str(clone.folder), *filter(os.path.isabs, sys.path)])
    command = [python, "-m", "snakemake", "--cores", "1", "--dry-run"]
    environment = clone.environment() | {"PYTHONPATH": paths}
    done = subprocess.run(command, cwd=clone.folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 1
    assert f"cannot start scripts with {python}: its path has a blank" in done.stdout + done.stderr


def test_report_of_the_engine_embeds_pages_and_figures(paged):
    code, output = paged.snakemake("--report", "engine.html", profile=False)
    assert code == 0, output
    page = (paged.folder / "engine.html").read_text()
    assert "method.html" in page and "needs nothing but itself" in page, "a page and its caption"
    assert "Adding index.html" in output and "Adding explorer.html" in output


def test_profiles_of_single_nodes_measure_every_graph(clone):
    clone.configure(algorithms=[*ALGORITHMS, "filter-boruvka-cuda", "qkruskal"])
    for name in ("cpu-node", "gpu-node"):
        code, output = clone.snakemake("--profile", f"workflow/profiles/{name}", "--dry-run", profile=False)
        assert code == 0 and jobs(output).count("measure") == 2, output


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "rerun"),
    [
        ("results/table.csv", {"table", "report", "check"}),
        ("results/figures", {"report", "check"}),
        ("results/report", {"report", "check"}),
        ("mst/reporting/table.py", {"table", "report", "check"}),
        ("mst/reporting/page/build.py", {"report", "check"}),
        ("config/advice.json", {"report", "check"}),
        ("report/references.bib", {"report", "check"}),
        ("mst/advice/cells.py", {"report", "check"}),
    ],
)
def test_a_removed_result_or_edited_reporting_rewrites_the_page_and_measures_nothing(clone, file, rerun):
    path = clone.folder / file
    if path.is_dir():
        shutil.rmtree(path)
    elif file.startswith("results"):
        path.unlink()
    else:
        path.write_text(path.read_text() + "\n\n")
    code, output = clone.snakemake("--dry-run")
    assert code == 0 and set(jobs(output)) - {"default"} == rerun, output


@pytest.mark.slow
def test_failures_are_recorded_and_the_other_runs_finish(clone):
    clone.add_probe("probe-raises", 'raise RuntimeError("on purpose")')
    clone.add_probe("probe-hangs", "time.sleep(3600)")
    clone.add_probe("probe-dies", "os.abort()")
    names = ["probe-raises", "probe-hangs", "probe-dies"]
    clone.configure(
        algorithms=[*ALGORITHMS, *names],
        experiment={
            "graphs": ["small-grid"],
            "measure": {"processes": 1, "samples": 1, "budget": 5, "timeout": 4},
        },
    )
    code, output = clone.snakemake()
    assert code == 0, output
    found = {r["run"]["algorithm"]: r for r in clone.records().values() if r["run"]["graph"] == "small-grid"}
    assert found["probe-raises"]["status"] == "error" and "on purpose" in found["probe-raises"]["reason"]
    assert found["probe-hangs"]["status"] == "timeout"
    assert found["probe-dies"]["status"] == "error"
    assert found["kruskal"]["status"] == "ok"
    code, output = clone.snakemake()
    assert code == 0 and "Nothing to be done" in output, output
    assert clone.mst("retry", "error", "--dry-run").count("would remove: ") == 4, "two records, two proofs"
    before = clone.stamps()
    clone.mst("retry", "error")
    assert len(clone.stamps()) == len(before) - 2, "the two errors, not the timeout"
    code, output = clone.snakemake()
    assert code == 0 and jobs(output) == ["measure", "prove", "table", "report", "check", "default"], output
    after = clone.stamps()
    assert sorted(name.split("/")[2] for name in after if after[name] != before[name]) == [
        "probe-dies",
        "probe-raises",
    ]


@pytest.mark.slow
def test_wrong_forest_is_reported_and_fails_the_gate(paged):
    paged.add_probe("probe-wrong", "return kruskal.solve(problem)[1:]")
    paged.configure(algorithms=[*ALGORITHMS, "probe-wrong"], experiment={"graphs": ["small-grid"]})
    code, output = paged.snakemake()
    assert code != 0
    assert "wrong: probe-wrong" in output and "Traceback" not in output
    assert (paged.folder / "results/logs/check.log").read_text().startswith("wrong: probe-wrong")
    assert "probe-wrong" in (paged.folder / "results/report.html").read_text()


def test_timed_processes_never_overlap_and_take_turns(finished):
    records = finished.records().values()
    spans = sorted(
        (*map(datetime.fromisoformat, span), r["run"]["graph"], r["run"]["algorithm"])
        for r in records
        for span in r["spans"]
    )
    assert len(spans) == 8
    for (_, ended, *_), (begun, *_) in itertools.pairwise(spans):
        assert ended <= begun
    for graph in ("small-grid", "small-uniform"):
        turns = [algorithm for *_, name, algorithm in spans if name == graph]
        assert turns == [turns[0], turns[1], turns[1], turns[0]] and turns[0] != turns[1]
    assert not list((finished.folder / "results/staged").rglob("*.json")), "every staged measurement was moved"


@pytest.mark.slow
def test_unavailable_graph_is_reported_and_the_other_runs_finish(paged, own_cache):
    paged.configure(
        algorithms=["kruskal"], offline=True, experiment={"graphs": ["USA-road-d.NY", "small-grid"]}
    )
    code, output = paged.snakemake()
    assert code == 0, output
    assert output.count("USA-road-d.NY: unavailable: https://") == 1
    assert paged.checked()["status"] == {"ok": 4, "unavailable": 1}
    assert "results/report.html: 4 runs measured and proved, 1 unavailable" in output
    assert "USA-road-d.NY" in (paged.folder / "results/report.html").read_text()
    code, output = paged.snakemake()
    assert code == 0 and "Nothing to be done" in output, output
    code, output = paged.snakemake("--config", "strict=true", "--forcerun", "check")
    assert code != 0 and "unavailable: kruskal" in output, output


@pytest.mark.slow
def test_a_changed_local_graph_file_is_measured_again(clone):
    mine = clone.folder / "my roads.txt"
    mine.write_text("0 1 5\n1 2 7\n2 0 6\n")
    with (clone.folder / "config/graphs.yaml").open("a") as catalogue:
        catalogue.write(f"  mine: {{title: Mine, family: road, sources: [{{path: {mine.name}}}]}}\n")
    for expected in (3, 4):
        code, output = clone.snakemake("graphs/mine")
        assert code == 0 and "rule graph" in output, output
        with (clone.folder / "results/reports/graphs/mine/table.csv").open(newline="") as table:
            rows = [row for row in csv.DictReader(table) if row["current"] == "true"]
        assert {row["algorithm"] for row in rows} == set(ALGORITHMS)
        assert {row["n"] for row in rows} == {str(expected)} and {row["grade"] for row in rows} <= {
            "identical",
            "edges",
        }
        code, output = clone.snakemake("graphs/mine")
        assert code == 0 and "Nothing to be done" in output, output
        mine.write_text("0 1 5\n1 2 7\n2 0 6\n3 2 1\n")


@pytest.mark.slow
def test_targets_make_their_own_report_and_a_dry_run_writes_nothing(clone):
    for target in ("graphs/small-grid", "algorithms/kruskal"):
        code, output = clone.snakemake(target)
        assert code == 0, output
        assert (clone.folder / "results/reports" / target / "report.html").is_file()
        assert f"results/reports/{target}/report.html: 2 runs measured and proved" in output
        assert "measure" not in jobs(output), "its runs were measured before"
    page = (clone.folder / "results/reports/graphs/small-grid/table.csv").read_text()
    assert "small-grid" in page and "small-uniform" not in page
    shutil.rmtree(clone.folder / "results")
    started = time.monotonic()
    code, output = clone.snakemake("-n")
    assert code == 0 and "rule graph" in output, output
    assert time.monotonic() - started < 15
    assert not (Path(clone.folder) / "results").exists(), "a dry run writes nothing"


@pytest.mark.parametrize("downloads", [False, True])
def test_jobs_of_a_cluster_compile_into_the_scratch_folder_of_their_node(clone, monkeypatch, downloads):
    shared, scratch = clone.folder / "shared", clone.folder / "scratch"
    monkeypatch.setenv("MST_CACHE", str(shared))
    node = {"machine": "far", "runs": ["sequential"], "cpus": 2}
    site = {"scratch": str(scratch), "work": {"graphs": downloads}, "nodes": {"cpu": node}}
    (clone.folder / "site.yaml").write_text(yaml.safe_dump({"site": site}))
    code, output = clone.snakemake("--mode", "remote", "-n", "--configfile", "site.yaml")
    assert code == 0, output
    assert scratch.exists() != downloads, "where jobs download, they share the cache of the user"


def test_an_experiment_in_a_file_that_is_given_has_a_page_of_its_own(clone):
    (clone.folder / "mine.yaml").write_text("experiment: {title: Mine, graphs: [small-grid]}")
    names = ("report.html", "table.csv", "plan.json", "checked.json")
    before = {name: (clone.folder / "results" / name).read_bytes() for name in names}
    code, output = clone.snakemake("--configfile", "mine.yaml")
    assert code == 0 and "results/reports/experiments/mine/report.html: 2 runs measured and proved" in output, (
        output
    )
    assert "measure" not in jobs(output), "its runs were measured before"
    assert before == {name: (clone.folder / "results" / name).read_bytes() for name in names}
    code, output = clone.snakemake("graphs/small-grid", "--configfile", "mine.yaml")
    assert code == 0 and "results/reports/experiments/mine/graphs/small-grid/report.html: 2 runs" in output, (
        output
    )
    assert "measure" not in jobs(output)
    # It takes the place of the profile's file, and so of the site.
    code, output = clone.snakemake("--profile", "cluster", "--configfile", "mine.yaml", profile=False)
    assert code != 0 and "need a `site`" in output and "--configfile mine.yaml cluster/site.yaml" in output, (
        output
    )
    (clone.folder / "mine.yaml").rename(clone.folder / "{mine}.yaml")
    code, output = clone.snakemake("-n", "--configfile", "{mine}.yaml")
    assert code != 0 and "{mine}.yaml: page name '{mine}': use ASCII letters, digits, spaces" in output, output


@pytest.mark.slow
def test_a_target_does_not_match_another_with_the_same_prefix(clone):
    clone.add_probe("boruvka-x", "pass")
    clone.configure(algorithms=["kruskal", "boruvka", "boruvka-x"])
    results = clone.folder / "my results"
    code, output = clone.snakemake("algorithms/boruvka-x", "--config", f"results={results.name}")
    assert code == 0, output
    measured = {
        file.parts[-4] for folder in ("records", "staged") for file in results.glob(f"{folder}/**/w1/*.json")
    }
    assert measured == {"boruvka-x", "kruskal"}
    assert not list((results / "staged").rglob("*.json")), (
        "they were moved, though the folder's name has a space"
    )


@pytest.mark.slow
def test_one_figure_of_a_paper_is_made_alone(clone):
    file = clone.folder / "config/papers/durbhakula.yaml"
    paper = yaml.safe_load(file.read_text())
    measure = {"processes": 2, "samples": 2, "budget": 30, "timeout": 60}
    runs = [{"algorithms": ["boruvka"], "options": {"covered": [True, False]}}]
    # A panel of fewer than three points is not drawn.
    graphs = ["Graph10K_3", "Graph10K_6", "Graph10K_9"]
    del paper["small"]
    file.write_text(yaml.safe_dump(paper | {"graphs": graphs, "measure": measure, "runs": runs}))
    code, output = clone.snakemake("results/papers/durbhakula/figure-1.csv", profile=False)
    assert code == 0, output
    assert "report" not in jobs(output) and jobs(output).count("measure") == 3
    folder = clone.folder / "results/papers/durbhakula"
    with (folder / "figure-1.csv").open(newline="") as table:
        measured = [row for row in csv.DictReader(table) if "testbox" in row.values()]
    assert measured, (folder / "figure-1.csv").read_text()
    assert list((folder / "figure-1").glob("*.svg"))


@pytest.mark.parametrize(
    ("base", "added", "complaint"),
    [
        (
            {"strickt": True},
            "offline: true",
            "config.yaml, line 15: unknown key 'strickt' (did you mean 'strict'?)",
        ),
        ({}, "offline: false\nstrict: 5", "added.yaml, line 2: strict: must be true or false (got 5)"),
        ({}, "strict: true\nstrict: false", "added.yaml, line 2: key 'strict' is given twice"),
    ],
    ids=["in the first file", "in a file given", "key given twice"],
)
def test_a_mistake_in_configuration_files_is_one_clear_error(clone, base, added, complaint):
    clone.configure(algorithms=["kruskal"], **base)
    (clone.folder / "added.yaml").write_text(added)
    code, output = clone.snakemake("-n", "--configfile", "added.yaml")
    assert code != 0 and complaint in output and "Traceback" not in output, output


def test_a_broken_configuration_is_named_with_its_line(tmp_path):
    clone = Clone.create(tmp_path / "clone", algorithms=ALGORITHMS, page=False)
    file = clone.folder / "config/config.yaml"
    for text, complaint in {
        # This message ends differently without libyaml.
        "offline: true\nstrict: true: false": "line 2: mapping values are not allowed",
        "- machine": ": expected a mapping of keys to values",
    }.items():
        file.write_text(text)
        code, output = clone.snakemake("-n", profile=False)
        assert code != 0 and complaint in output.partition("config/config.yaml")[2], output
        assert "Traceback" not in output


def test_a_killed_job_does_not_keep_the_page_from_being_written(clone):
    shutil.copytree(clone.folder / "results/report", clone.folder / ".snakemake/backups/results/report")
    code, output = clone.snakemake("--forcerun", "report")
    assert code == 0 and "report" in jobs(output), output


@pytest.mark.parametrize(
    ("damaged", "complaint"),
    [
        ("graphs/small-grid/*/manifest.json", "{}: not a manifest of this version of mst; move a damaged file"),
        ("plan.json", "{}: not a plan: delete it, and the workflow makes it again"),
    ],
)
def test_a_damaged_file_of_the_results_is_named_with_the_remedy(clone, damaged, complaint):
    (file,) = (clone.folder / "results").glob(damaged)
    file.write_text("{")
    code, output = clone.snakemake()
    assert code != 0 and complaint.format(file.relative_to(clone.folder)) in output, output
    assert "Traceback" not in output


@pytest.mark.slow
def test_errors_on_unknown_graphs_and_targets_suggest_the_nearest_name(clone):
    for target, hint in {
        "graphs/small-grd": "no target 'graphs/small-grd' (did you mean 'small-grid'?): `mst list graphs` shows",
        "papers/durbakula": "no target 'papers/durbakula' (did you mean 'durbhakula'?)",
        "results/papers/durbhakula/figur-2.csv": "no table or figure 'figur-2' of 'durbhakula' (did you mean",
        "results/papers/durbakula/figure-2.csv": "No rule to produce results/papers/durbakula/figure-2.csv",
    }.items():
        code, output = clone.snakemake("-n", target)
        assert code != 0 and hint in output and "Traceback" not in output, output
    clone.configure(algorithms=["kruskal"], experiment={"graphs": ["small-grd"]})
    code, output = clone.snakemake("-n")
    assert code != 0 and "experiment: no graph 'small-grd'" in output, output
    assert "did you mean 'small-grid'?" in output and "Traceback" not in output
