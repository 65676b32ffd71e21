"""`mst table`: figures of an experiment's runs by graph, and their ratios to one algorithm."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from mst import registry
from mst.cli import main
from mst.commands.table import PARTS, table
from mst.config import load

BENCHMARKS = Path(__file__).parent.parent / "config/benchmarks"


def test_ratios_are_over_the_graphs_that_both_runs_have():
    figures = {
        ("base", "a"): 8.0,
        ("base", "b"): 9.0,
        ("ours", "a"): 2.0,
        ("ours", "c"): 1.0,
        ("else", "c"): 5.0,
    }
    head, *rows = table(figures, "base")
    assert head == ("ms", "a", "b", "c", "base / this", "least", "greatest")
    assert rows[1] == ("ours", 2.0, None, 1.0, 4.0, 4.0, 4.0)
    assert rows[2] == ("else", None, None, 5.0, None, None, None)


def test_first_solve_counts_preparation_copy_and_the_first_warm_up():
    samples = {"init": [[1.0], [3.0]], "transfer": [[0.5], [0.5]], "warmup": [[4.0, 0.1], [6.0, 0.1]]}
    assert PARTS["first"]({"samples": samples}) == pytest.approx(7_500)
    assert PARTS["first"]({"samples": {}}) is None


def test_transfer_is_absent_where_nothing_is_copied():
    assert PARTS["transfer"]({"samples": {"compute": [[1.0]], "transfer": []}}) is None
    assert PARTS["compute"]({"samples": {"compute": [[1.0, 3.0], [4.0]]}}) == 3_000


def test_measured_experiment_is_printed_and_an_unmeasured_one_is_refused(tmp_path, capsys):
    file = tmp_path / "experiment.yaml"
    runs = [{"algorithms": ["kruskal", "filter-boruvka"]}]
    measure = {"processes": 2, "samples": 2, "budget": 20}
    experiment = {"title": "Small", "graphs": ["uniform-10k"], "measure": measure, "runs": runs}
    file.write_text(yaml.safe_dump({"results": str(tmp_path / "results"), "experiment": experiment}))
    assert main(["table", "--configfile", str(file)]) == 2
    assert "no proved measurement" in capsys.readouterr().err
    assert main(["measure", "--configfile", str(file)]) == 0
    capsys.readouterr()
    assert main(["table", "--configfile", str(file), "--part", "first"]) == 0
    head, kruskal, ours, note = capsys.readouterr().out.splitlines()
    assert head.split() == ["ms", "uniform-10k", "kruskal", "/", "this", "least", "greatest"]
    assert kruskal.split()[0] == "kruskal" and kruskal.split()[2:] == ["1", "1", "1"]
    assert ours.split()[0] == "filter-boruvka" and float(ours.split()[1]) > 0
    assert note.startswith("2 runs")


@pytest.fixture
def proof_registered(monkeypatch):
    monkeypatch.setenv(registry.EXTRA_FOLDERS, str(BENCHMARKS))
    registry.algorithms.cache_clear()
    yield
    monkeypatch.undo()
    registry.algorithms.cache_clear()


def test_every_benchmark_names_graphs_of_the_catalogue(proof_registered):
    from mst import catalog, config

    for file in sorted(BENCHMARKS.glob("*.yaml")):
        config.check_graphs(load(file), {}, catalog.load())


def test_proof_is_timed_as_an_algorithm_and_returns_the_forest(proof_registered):
    from mst import minimum_spanning_forest
    from mst.generators import generate

    graph = generate("uniform", n=200, m=900)
    found = minimum_spanning_forest(graph, algorithm="proof")
    assert found.edge_ids.tolist() == minimum_spanning_forest(graph, algorithm="kruskal").edge_ids.tolist()
