"""The workflow by Snakemake's conventions: linted, documented, usable as a module, with a configuration for tests."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml
from scripts import module_at
from workflow_clone import ROOT, Clone, jobs

pytestmark = [pytest.mark.workflow, pytest.mark.timeout(900)]

pytest.importorskip("snakemake", reason="the workflow's packages are not installed")


def engine(folder: Path, *arguments: str) -> subprocess.CompletedProcess:
    """Run Snakemake in a folder, with the environment of a clone."""
    command = [sys.executable, "-m", "snakemake", *arguments]
    environment = {**Clone(ROOT).environment(), "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)


@pytest.mark.slow
@pytest.mark.parametrize("snakefile", ["Snakefile", "workflow/Snakefile"])
def test_linter_of_the_engine_finds_nothing(tmp_path, snakefile):
    shutil.copytree(ROOT / "config", tmp_path / "config")
    done = engine(tmp_path, "--snakefile", str(ROOT / snakefile), "--lint")
    assert done.returncode == 0 and "Congratulations" in done.stdout + done.stderr, done.stdout + done.stderr


def test_schemas_are_those_of_the_typed_models():
    for file, text in module_at(ROOT / "workflow/schemas/generate.py").schemas().items():
        assert file.read_text() == text, f"{file.name}: run make schemas"


def test_schemas_accept_the_committed_files():
    import jsonschema

    for kind, files in {
        "config": [ROOT / "config/config.yaml", ROOT / ".test/config/config.yaml"],
        "paper": (ROOT / "config/papers").glob("*.yaml"),
        "machine": (ROOT / "config/machines").glob("*.yaml"),
    }.items():
        schema = yaml.safe_load((ROOT / f"workflow/schemas/{kind}.schema.yaml").read_text())
        for file in files:
            jsonschema.validate(yaml.safe_load(file.read_text()), schema)


def test_catalogue_finds_its_files():
    usage = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text())["usage"]
    assert usage["report"] is True and usage["software-stack-deployment"]["conda"] is True
    assert (ROOT / "workflow/Snakefile").is_file() and (ROOT / "config/README.md").is_file()
    assert {"snakemake", "workflow"} <= set(re.findall(r"\w+", (ROOT / "README.md").read_text().lower()))


def test_documentation_lists_every_rule():
    rules = {
        name
        for file in (ROOT / "workflow/rules").glob("*.smk")
        for name in re.findall(r"^rule (\w+):", file.read_text(), re.MULTILINE)
    }
    listed = set(re.findall(r"^\| `(\w+)` \|", (ROOT / "workflow/documentation.md").read_text(), re.MULTILINE))
    assert listed == rules - {"unknown"}


def test_sources_that_rules_depend_on_exist():
    rules = "".join(file.read_text() for file in (ROOT / "workflow/rules").glob("*.smk"))
    patterns = re.findall(r'^    "((?:config|mst|report)/[^"]+)",$', rules, re.MULTILINE)
    assert "mst/units.py" in patterns and all(any(ROOT.glob(pattern)) for pattern in patterns)


def test_picture_shows_the_rules_of_the_workflow(tmp_path):
    shutil.copytree(ROOT / ".test/config", tmp_path / "config")
    done = engine(tmp_path, "--snakefile", str(ROOT / "Snakefile"), "--rulegraph")
    drawn = set(re.findall(r'label = "(\w+)"', done.stdout))
    shown = set(re.findall(r"<text [^>]*>(\w+)</text>", (ROOT / "images/rulegraph.svg").read_text()))
    assert drawn and shown == drawn, "run make images/rulegraph.svg"


def test_files_of_the_working_folder_hide_no_modules_of_python_in_jobs():
    calls = [
        call for file in (ROOT / "workflow").rglob("*.smk") for call in re.findall("python.*", file.read_text())
    ]
    started = [call for call in calls if " -m mst" in call]
    assert started and all(call.startswith("python -P -m mst ") for call in started)


MODULE = """
configfile: "config/config.yaml"


module mst:
    snakefile:
        "{root}/workflow/Snakefile"
    config:
        config["mst"]


use rule * from mst as mst_*


rule summary:
    default_target: True
    input:
        "elsewhere/table.csv",
    output:
        "summary.txt",
    log:
        "summary.log",
    shell:
        "wc -l {{input}} > {{output}} 2> {{log}}"
"""


@pytest.mark.slow
def test_module_runs_with_its_own_configuration(tmp_path):
    (tmp_path / "config").mkdir()
    experiment = {
        "title": "Mine",
        "graphs": ["grid-128"],
        "measure": {"processes": 1, "samples": 1, "budget": 5, "timeout": 60},
        "runs": [{"algorithms": ["kruskal"]}],
    }
    values = {"mst": {"machine": "mine", "results": "elsewhere", "experiment": experiment}}
    (tmp_path / "config/config.yaml").write_text(yaml.safe_dump(values))
    (tmp_path / "Snakefile").write_text(MODULE.format(root=ROOT))
    done = engine(tmp_path, "--cores", "2")
    output = done.stdout + done.stderr
    expected = ["graph", "reference", "measure", "prove", "plan", "table"]
    assert done.returncode == 0, output
    assert sorted(jobs(output)) == sorted([*(f"mst_{rule}" for rule in expected), "summary"]), output
    assert len(list(tmp_path.glob("elsewhere/records/mine/grid-128/kruskal/**/*.proof.json"))) == 1
    assert not (tmp_path / "results").exists()
    done = engine(tmp_path, "--cores", "2")
    assert "Nothing to be done" in done.stdout + done.stderr


@pytest.mark.slow
def test_configuration_for_tests_runs_and_its_report_stands_alone(tmp_path):
    shutil.copytree(ROOT / ".test/config", tmp_path / "config")
    done = engine(tmp_path, "--snakefile", str(ROOT / "Snakefile"), "--cores", "2")
    assert done.returncode == 0 and "6 runs measured and proved" in done.stderr, done.stderr
    (tmp_path / "about.yaml").write_text("mst: a trial\n")
    report = ("--report", "report.zip", "--report-metadata", "about.yaml")
    done = engine(tmp_path, "--snakefile", str(ROOT / "Snakefile"), *report)
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(tmp_path / "report.zip") as archive:
        names = archive.namelist()
        (page,) = (name for name in names if name.endswith("report/report.html"))
        text = archive.read(page).decode()
    assert "a trial" in text and any(name.endswith("explorer.html") for name in names), names
    assert not re.search(r"<(?:script|link|img)[^>]+(?:src|href)=\"https?://", text)
