"""Every command and every library example of the documentation runs, in order, in a fresh copy of the project."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from scripts import module_at
from workflow_clone import ROOT, Clone

from mst.commands.list import algorithms_page

pytest.importorskip("snakemake", reason="the workflow's packages are not installed")
pytest.importorskip("scipy", reason="the default experiment's libraries are not installed")

pytestmark = [pytest.mark.workflow, pytest.mark.timeout(600)]

PAGES = [ROOT / "README.md", ROOT / "ARTIFACT.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(
    r"(?:<!-- (?P<note>[^>]+) -->\n)?```(?P<kind>\w*)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE
)
QUICK = {"INSTALL": "0", "PYTHON": sys.executable, "TESTS": "tests/test_order.py", "CORES": "2"}


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and the comment above it."""

    kind: str
    text: str
    note: str

    @property
    def commands(self) -> list[str]:
        return [line[2:] for line in self.text.splitlines() if line.startswith("$ ")]


def blocks(page: Path) -> list[Block]:
    return [Block(f["kind"], f["text"], f["note"] or "") for f in FENCE.finditer(page.read_text())]


@pytest.fixture(scope="module")
def reported(tmp_path_factory) -> Clone:
    """A copy of the project in which ``make report`` has been run, with which two pages begin."""
    clone = Clone.create(tmp_path_factory.mktemp("docs") / "clone", algorithms=["kruskal", "scipy"])
    for name in ("Makefile", "tests", "README.md"):
        (clone.folder / name).symlink_to(ROOT / name)
    clone.configure(
        algorithms=["kruskal", "scipy"], offline=True, experiment={"measure": {"processes": 1, "samples": 1}}
    )
    run(clone, "make report")
    return clone


def run(clone: Clone, command: str) -> None:
    path = clone.path_with({"mst": "-m mst", "snakemake": "-m snakemake", "python": ""})
    environment = clone.environment() | QUICK | {"PATH": path}
    # A make that runs this test passes its variables on.
    for name in ("MAKEFLAGS", "MFLAGS", "MAKEOVERRIDES", "MAKELEVEL"):
        environment.pop(name, None)
    done = subprocess.run(
        ["bash", "-c", command], cwd=clone.folder, env=environment, capture_output=True, text=True, timeout=540
    )
    assert done.returncode == 0, f"$ {command}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"


@pytest.mark.slow
@pytest.mark.parametrize("page", [p for p in PAGES if any(b.commands for b in blocks(p))], ids=lambda p: p.name)
def test_documented_commands_succeed(page, reported, tmp_path):
    copy = reported.copy(tmp_path / "clone")
    first = next(command for block in blocks(page) for command in block.commands)
    if not first.startswith("make report"):
        # Those that begin so write the page of everything, of a graph and of an algorithm.
        copy.without_page()
    for block in blocks(page):
        if found := re.fullmatch(r"file: (\S+)", block.note):
            file = copy.folder / found[1]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text)
        if found := re.fullmatch(r"more of: (\S+)", block.note):
            with (copy.folder / found[1]).open("a") as file:
                file.write(block.text)
        if not block.note.startswith("not run:"):
            for command in block.commands:
                run(copy, command)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_shell_blocks_are_console_blocks(page):
    for block in blocks(page):
        assert block.kind, f"a block without a language: {block.text[:60]!r}"
        if block.kind in ("bash", "sh", "shell", "console"):
            assert block.kind == "console" and block.commands, (
                f"not a console block of commands: {block.text[:60]!r}"
            )
        if block.note.startswith("not run"):
            assert len(block.note) > 20, "give the reason why it is not run"


def test_tests_that_pages_name_exist():
    for page in PAGES:
        file = ""
        for named, test in re.findall(r"`((?:cluster/)?test_\w+\.py|…)::(\w+)`", page.read_text()):
            file = file if named == "…" else named
            assert f"def {test}(" in (ROOT / "tests" / file).read_text(), f"{page}: {file}::{test}"


@pytest.mark.slow
def test_library_examples_succeed():
    for page in PAGES:
        for block in blocks(page):
            if block.kind == "python" and not block.note and "cupy" not in block.text:
                exec(compile(block.text, str(page), "exec"), {})


def test_opening_picture_shows_one_machine():
    pytest.importorskip("seaborn")
    opening = module_at(ROOT / "docs/opening.py")
    key = ("USA-road-d.NY", "filter-boruvka", 1)
    few, many = {key: 1.0, ("else", "kruskal", 1): 1.0, ("else", "prim-heap", 1): 1.0}, {key: 9.0}
    many["sparse-medium", "filter-boruvka", 1] = 9.0
    assert opening.fullest([few, many, few]) is many


def test_opening_picture_is_drawn_from_the_reference_measurements(tmp_path):
    pytest.importorskip("seaborn")
    opening = module_at(ROOT / "docs/opening.py")
    opening.main(tmp_path / "opening.svg")
    drawn = (tmp_path / "opening.svg").read_text()
    assert all(words in drawn for words, *_ in opening.SHOWN.values())
    assert drawn == opening.PICTURE.read_text(), "run: python docs/opening.py"


def test_page_of_algorithms_equals_the_registry():
    assert (ROOT / "docs/algorithms.md").read_text() == algorithms_page(), (
        "run: mst list --markdown > docs/algorithms.md"
    )


@pytest.mark.parametrize("name", ["measurements", "verdicts"])
def test_pages_of_results_are_made_from_the_reference_records(name):
    from mst.bench.records.reference import references

    script = module_at(ROOT / f"docs/{name}.py")
    assert script.PAGE.read_text() == script.page(references(ROOT / "results")), f"run: python docs/{name}.py"


def test_page_of_verdicts_says_what_each_machine_lacks():
    lacking = module_at(ROOT / "docs/verdicts.py")._lacking
    outcomes = [
        {"reason": "needs a GPU", "machines": ["laptop"]},
        {"reason": "needs 32 cores", "machines": ["one"]},
        {"reason": "needs 32 cores", "machines": ["two"]},
    ]
    assert lacking({"outcomes": outcomes}) == "needs a GPU (laptop); needs 32 cores (one, two)"
    assert lacking({"outcomes": outcomes[1:]}) == "needs 32 cores"


def test_page_of_verdicts_names_claims_in_a_row_by_the_first_and_the_last():
    ids = module_at(ROOT / "docs/verdicts.py")._ids
    assert ids({"id": f"sh-{n:02}"} for n in (1, 2, 3, 7, 9, 10)) == "sh-01 to 03, 07, 09, 10"


def test_page_of_verdicts_says_which_runs_were_skipped_and_names_the_paper_s_kind_of_machine():
    verdicts = module_at(ROOT / "docs/verdicts.py")
    row = next(line for line in verdicts.PAGE.read_text().splitlines() if line.startswith("| sh-55 |"))
    assert "| confirmed |" in row and "above 1; skipped: ghs-mpi" in row
    claim = {"id": "c", "says": "", "overall": "confirmed", "outcomes": [], "published_text": ""}
    row = verdicts._decided(claim | {"where": "on the paper's kind of machine"})
    assert "| confirmed on the paper's kind of machine |" in row


def test_links_of_the_front_pages_exist():
    pages = [ROOT / name for name in ("README.md", "ARTIFACT.md", "CONTRIBUTING.md", "CODE_OF_CONDUCT.md")]
    links = [
        (page, link) for page in pages for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text())
    ]
    assert len(links) > 20
    assert not [(page.name, link) for page, link in links if not (page.parent / link).exists()]


def test_commit_hooks_are_the_checks_of_lint():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    lint = (ROOT / "Makefile").read_text().replace("$(PYTHON)", ".venv/bin/python")
    for hook in hooks:
        assert hook["entry"] == "make lint" or hook["entry"] in lint


def test_hosted_ci_calls_the_script_and_every_night_all_tests():
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]
    assert ".ci/run" in [step.get("run") for step in jobs["test"]["steps"]]
    assert any("make test-all" in step.get("run", "") for step in jobs["all-tests"]["steps"])
    assert os.access(ROOT / ".ci/run", os.X_OK)


def test_page_of_environment_variables_has_all_that_users_set():
    # The workflow sets these for its own jobs.
    internal = {"MST_CONFIG", "MST_PROGRAMS", "MST_DEAD_HOSTS", "MST_WORKFLOW"}
    read = {
        name
        for file in (ROOT / "mst").rglob("*.py")
        for name in re.findall(r'"(MST_[A-Z_]+)"', file.read_text())
    }
    page = (ROOT / "docs/reference/environment.md").read_text()
    assert read - internal == set(re.findall(r"^\| `(MST_\w+)`", page, re.MULTILINE))
