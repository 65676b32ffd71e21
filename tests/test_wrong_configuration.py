"""Mistakes in configurations: each is refused with its file, its line and the value."""

from __future__ import annotations

import json

import pytest
import yaml

from mst import ConfigError, catalog, config, registry
from mst.cli import main

TEXT = """\
offline: false
programs: {}
experiment:
  title: "A test"
  graphs: [rmat-17]
  runs:
    - algorithms: [kruskal]
    - algorithms: [cas-boruvka]
      widths: powers
"""


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("offline: false", "offlin: false", "FILE, line 1: unknown key 'offlin' (did you mean 'offline'?)"),
        ("offline: false", "offline: false\n5: 7", "FILE, line 2: 5: Keys should be strings (got 5)"),
        ("title:", "5: 7\n  title:", "FILE, line 4: experiment.5: Keys should be strings (got 5)"),
        ("offline: false", "offline: maybe", "FILE, line 1: offline: must be true or false (got 'maybe')"),
        ("widths: powers", "widths: power", "FILE, line 9: experiment.runs.1.widths: must be 'one'"),
        (
            "title:",
            "measure: {budget: .inf}\n  title:",
            "FILE, line 4: experiment.measure.budget: must be a finite number (got inf)",
        ),
        ("widths: powers", "widths: [0]", "FILE, line 9: experiment.runs.1.widths.0: must be above 0 (got 0)"),
        (
            "widths: powers",
            "widths: [true]",
            "FILE, line 9: experiment.runs.1.widths.0: must be a whole number",
        ),
        (
            "title:",
            "measure: {processes: '5'}\n  title:",
            "measure.processes: must be a whole number (got '5')",
        ),
        (
            "title:",
            "measure: {budget: 1e3}\n  title:",
            "measure.budget: must be a number, such as 10 or 1.0e+3 (got '1e3')",
        ),
        (
            "widths: powers",
            "widths: []",
            "FILE, line 9: experiment.runs.1.widths: must be non-empty (got [])",
        ),
        (
            "title:",
            "within: 1:30\n  title:",
            "FILE, line 4: 1:30 is a number of base 60 in YAML: write one of base 10, or quotes around it",
        ),
        ("offline: false", "strict: 'true'", "FILE, line 1: strict: must be true or false (got 'true')"),
        ("offline: false", "results: ''", "FILE, line 1: results: must be text that is not empty (got '')"),
        (
            "offline: false",
            "results: 'a{b}'",
            "FILE, line 1: results: name a folder without braces (got 'a{b}')",
        ),
        ("offline: false", f"results: {__file__}", "FILE, line 1: results: name a folder: this is a file"),
        (
            "offline: false",
            "results: ~no-such-user/x",
            "FILE, line 1: results: name a folder: there is no such home",
        ),
        ('"A test"', "7", "FILE, line 4: experiment.title: must be text (got 7)"),
        ("[kruskal]", "kruskal", "FILE, line 7: experiment.runs.0.algorithms: must be a list (got 'kruskal')"),
        ("title:", "measure: 5\n  title:", "experiment.measure: must be a mapping of keys to values (got 5)"),
        ("title:", "measure: {processes: x}\n  title:", "measure.processes: must be a whole number (got 'x')"),
        ("title:", "measure: {budget: 0}\n  title:", "experiment.measure.budget: must be above 0 (got 0)"),
        ("widths: powers", "width: powers", "FILE, line 9: experiment.runs.1: unknown key 'width'"),
        (
            "    - algorithms: [cas",
            "      options: {sort: foo}\n    - algorithms: [cas",
            "FILE, line 7: experiment.runs.0: ",
        ),
        ("  graphs: [rmat-17]\n", "", "FILE, line 3: experiment.graphs is missing"),
        (
            "- algorithms: [kruskal]\n    - ",
            "- graphs: []\n      ",
            "line 3: experiment: no block of runs has the graph rmat-17",
        ),
        (
            "- algorithms: [kruskal]\n    - ",
            "- graphs: [rmat-71]\n      ",
            "no block of runs has the graph rmat-17 (did you mean 'rmat-71'?): add it to",
        ),
        ("title:", "baseline: kruskl\n  title:", "FILE, line 4: experiment.baseline: no algorithm 'kruskl'"),
        ("title:", "machine: shou-he\n  title:", "FILE, line 4: experiment.machine: no machine 'shou-he'"),
        (
            "  runs:",
            "  first: {graphs: [rmat-16], algorithms: [kruskl]}\n  runs:",
            "FILE, line 6: experiment.first.algorithms: no algorithm 'kruskl' (did you mean 'kruskal'?)",
        ),
        (
            "      widths: powers",
            "      options: {covered: []}",
            "FILE, line 8: experiment.runs.1: option covered has no value: give one, or leave the option out",
        ),
        ("programs: {}", "programs:\n  mine: {title: x}", "FILE, line 3: programs.mine.command is missing"),
        (
            "programs: {}",
            "programs:\n  mine:\n    command: x {graph}\n    comand: y",
            "FILE, line 5: programs.mine.comand: unknown key (did you mean 'command'?)",
        ),
        (
            "programs: {}",
            "programs:\n  mine:\n    command: x {graph}\n    format: dimacs\n    total: (",
            "FILE, line 6: programs.mine.total: '(' is not a regular expression",
        ),
        (
            "programs: {}",
            "programs:\n  mine:\n    format: dimacs\n    total: (.)\n    command: x {graph} {outptu}",
            "FILE, line 6: programs.mine.command: unknown placeholder {outptu} (did you mean 'output'?)",
        ),
        (
            "programs: {}",
            "programs:\n  mine: {command: '{graph}', format: dimacs, total: (.),\n    limits: {n: x}}",
            "FILE, line 4: programs.mine.limits: limits must give n or m as whole numbers, got n = 'x'",
        ),
    ],
)
def test_a_mistake_is_named_with_file_line_and_value(tmp_path, old, new, complaint):
    file = tmp_path / "config.yaml"
    assert old in TEXT
    file.write_text(TEXT.replace(old, new, 1))
    with pytest.raises(ConfigError) as caught:
        config.load(file)
    assert complaint.replace("FILE", str(file)) in str(caught.value)


def test_a_mistake_in_an_algorithm_is_not_one_of_the_configuration(add_algorithm, tmp_path):
    mine, file = add_algorithm("ALGORITHM = make()\n"), tmp_path / "config.yaml"
    file.write_text(TEXT)
    with pytest.raises(ConfigError) as caught:
        config.load(file)
    assert str(caught.value).startswith(f"{mine}, line 1: ALGORITHM must be a literal")
    assert "\n" not in str(caught.value) and str(file) not in str(caught.value)


def test_an_unquoted_day_is_the_version_of_a_program(tmp_path, request):
    request.addfinalizer(lambda: registry.use_programs(None))
    file = tmp_path / "config.yaml"
    described = "{command: 'x {graph}', format: dimacs, total: (.), versions: {built: 2024-05-01}}"
    file.write_text(TEXT.replace("programs: {}", f"programs: {{mine: {described}}}"))
    config.load(file)
    assert registry.get("command-mine").program.versions == {"built": "2024-05-01"}


def test_the_folder_of_results_may_be_below_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    file = tmp_path / "config.yaml"
    file.write_text(TEXT.replace("offline: false", "results: ~/measured/"))
    assert config.load(file).root == tmp_path / "measured"


def test_a_file_in_the_variable_of_the_workflow_is_refused_with_the_remedy(monkeypatch):
    monkeypatch.setenv(config.ENVIRONMENT, "mine.yaml")
    with pytest.raises(ConfigError, match=r"^\$MST_CONFIG must be JSON: give a file by --configfile"):
        config.load()


def test_values_of_a_command_line_are_text():
    # Snakemake passes them to its jobs so.
    values = {"strict": "true", "experiment": {"title": "t", "graphs": [], "runs": [], "within": "30"}}
    assert config.from_mapping(values).strict and config.from_mapping(values).experiment.within == 30


def test_a_first_part_of_another_experiment_is_no_mistake(tmp_path):
    # Snakemake merges the file that it is given into the default experiment.
    file = tmp_path / "config.yaml"
    file.write_text(TEXT.replace("  runs:", "  first: {graphs: [email-Enron], algorithms: [scipy]}\n  runs:"))
    assert config.load(file).experiment.first.graphs == ["email-Enron"]


@pytest.mark.parametrize(
    ("scope", "complaint"),
    [
        ("nosuch", "no experiment 'nosuch'"),
        ("papers/durbhaku", "no paper 'durbhaku' (did you mean 'durbhakula'?)"),
        ("algorithms/krusk", "no algorithm 'krusk' (did you mean 'kruskal'?)"),
        ("graphs/nosuch", "no graph 'nosuch'"),
    ],
)
@pytest.mark.parametrize("command", [["measure"], ["plan"], ["table"], ["retry", "--dry-run", "--scope"]])
def test_an_experiment_that_does_not_exist_is_refused(tmp_path, monkeypatch, capsys, command, scope, complaint):
    monkeypatch.chdir(tmp_path)
    assert main([*command, scope]) == 2
    assert complaint in capsys.readouterr().err


def test_a_graph_that_the_catalogue_lacks_is_named_with_the_experiment(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "config.yaml"
    file.write_text(TEXT.replace("rmat-17", "rmat-171"))
    assert main(["plan", "--configfile", str(file)]) == 2
    message = capsys.readouterr().err
    assert f"{file}, line 5: the configuration's experiment: no graph 'rmat-171'" in message
    assert "did you mean 'rmat-17'?" in message


def test_graphs_of_papers_are_looked_up_at_every_scale(tmp_path, monkeypatch):
    file = tmp_path / "config.yaml"
    file.write_text(TEXT)
    paper = tmp_path / "paper.yaml"
    monkeypatch.setattr(config, "_paper_files", lambda: [paper])
    for place, line in {"graphs: [rmat-171]": 2, "small: {graphs: [rmat-171]}\ngraphs: [rmat-17]": 2}.items():
        paper.write_text(f"title: t\n{place}\nruns: [{{algorithms: [kruskal]}}]\n")
        with pytest.raises(ConfigError, match=f"paper.yaml, line {line}: no graph 'rmat-171'"):
            config.check_graphs(config.load(file), catalog.load())


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--cores", "0"], "--cores must be a whole number from 1, or all, got '0'"),
        (["--", "papers/durbhaku"], "no paper 'durbhaku' (did you mean 'durbhakula'?)"),
        (["--", "graphs/nosuch"], "no graph 'nosuch'"),
        (["--", "algorithms/krusk"], "no algorithm 'krusk'"),
    ],
)
def test_the_workflow_is_not_started_with_a_mistake(tmp_path, monkeypatch, capsys, arguments, complaint):
    monkeypatch.chdir(tmp_path)
    assert main(["experiment", *arguments]) == 2
    assert f"no Snakefile in {tmp_path}: run this in the root of a clone" in capsys.readouterr().err
    (tmp_path / "Snakefile").touch()
    assert main(["experiment", *arguments]) == 2
    assert complaint in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == ["Snakefile"]


def test_nothing_is_measured_with_a_python_that_the_workflow_cannot_start(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.executable", "/a clone/.venv/bin/python")
    (tmp_path / "Snakefile").touch()
    assert main(["experiment"]) == 2
    assert "cannot start scripts with /a clone/.venv/bin/python" in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == ["Snakefile"]


def test_the_workflow_is_not_started_with_an_unknown_graph(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(config.ENVIRONMENT, json.dumps(yaml.safe_load(TEXT.replace("rmat-17", "rmat-171"))))
    for name in ("Snakefile", "results/plan.json"):  # The first page is written already.
        (file := tmp_path / name).parent.mkdir(exist_ok=True)
        file.touch()
    assert main(["experiment"]) == 2
    assert "the configuration's experiment: no graph 'rmat-171'" in capsys.readouterr().err
    assert not (tmp_path / "results/logs").exists()
