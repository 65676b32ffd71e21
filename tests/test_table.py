"""`mst table`: figures of an experiment's runs by graph, and their ratios to one algorithm."""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from pathlib import Path

import fake_records
import pyarrow.parquet as pq
import pytest
import yaml

from mst import catalog, config, minimum_spanning_forest, registry
from mst.bench.records import store
from mst.cli import main
from mst.commands.table import PARTS, table
from mst.config import load
from mst.errors import MSTError
from mst.generators import generate
from mst.reporting import table as tidy
from mst.reporting.processes import processes
from mst.reporting.table import set_aside_of, write_table

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
    # A solve of seconds has no warm-up.
    assert PARTS["first"]({"samples": {**samples, "warmup": [[], []], "compute": [[4.0], [6.0]]}}) == 7_500
    assert PARTS["first"]({"samples": {}}) is None


def test_transfer_is_absent_where_nothing_is_copied():
    assert PARTS["transfer"]({"samples": {"compute": [[1.0]], "transfer": []}}) is None
    assert PARTS["compute"]({"samples": {"compute": [[1.0, 3.0], [4.0]]}}) == 3_000


def test_measured_experiment_is_printed_and_an_unmeasured_one_is_refused(tmp_path, capsys):
    file = tmp_path / "experiment.yaml"
    runs = [{"algorithms": ["kruskal", "filter-boruvka"]}]
    measure = {"processes": 2, "samples": 2, "budget": 20}
    experiment = {"title": "Small", "graphs": ["uniform-10k"], "measure": measure, "runs": runs}
    settings = {"machine": "box", "results": str(tmp_path / "results"), "experiment": experiment}
    file.write_text(yaml.safe_dump(settings))
    assert main(["table", "--configfile", str(file)]) == 2
    assert "no proved measurements of these runs by the current code on box: " in capsys.readouterr().err
    assert main(["measure", "--configfile", str(file)]) == 0
    capsys.readouterr()
    assert main(["table", "--configfile", str(file), "--part", "first"]) == 0
    head, kruskal, ours, note = capsys.readouterr().out.splitlines()
    assert head.split() == ["ms", "uniform-10k", "kruskal", "/", "this", "least", "greatest"]
    assert kruskal.split()[0] == "kruskal" and kruskal.split()[2:] == ["1", "1", "1"]
    assert ours.split()[0] == "filter-boruvka" and float(ours.split()[1]) > 0
    assert note.startswith("2 runs")
    assert main(["table", "--configfile", str(file), "--part", "call"]) == 0
    head, kruskal, ours, note = capsys.readouterr().out.splitlines()
    assert float(kruskal.split()[1]) > 0 and float(ours.split()[1]) > 0 and note.startswith("2 runs")
    assert "other" not in note
    assert main(["table", "--configfile", str(file), "--part", "transfer"]) == 2
    assert "no measurement of these runs has the part transfer" in capsys.readouterr().err
    proof = next((tmp_path / "results/records").glob("*/*/filter-boruvka/*/*/*.proof.json"))
    proof.write_text(
        json.dumps(json.loads(proof.read_text()) | {"status": "wrong", "grade": None, "reason": "so"})
    )
    assert main(["table", "--configfile", str(file)]) == 0
    *_, note = capsys.readouterr().out.splitlines()
    assert note.startswith("1 run") and not note.startswith("1 runs"), note
    assert "1 other failed, wrong or unproved" in note and "to be measured" not in note
    runs[0]["algorithms"].append("boruvka")
    file.write_text(yaml.safe_dump(settings))
    assert main(["table", "default", "graphs/uniform-10k", "--configfile", str(file)]) == 0
    assert capsys.readouterr().out.rstrip().endswith("; 1 to be measured")


@pytest.fixture
def proof_registered(monkeypatch):
    monkeypatch.setenv(registry.EXTRA_FOLDERS, str(BENCHMARKS))
    registry.algorithms.cache_clear()
    yield
    monkeypatch.undo()
    registry.algorithms.cache_clear()


def test_every_benchmark_names_graphs_of_the_catalogue(proof_registered):
    for file in sorted(BENCHMARKS.glob("*.yaml")):
        config.check_graphs(load(file), catalog.load())


def test_proof_is_timed_as_an_algorithm_and_returns_the_forest(proof_registered):
    graph = generate("uniform", n=200, m=900)
    found = minimum_spanning_forest(graph, algorithm="proof")
    assert found.edge_ids.tolist() == minimum_spanning_forest(graph, algorithm="kruskal").edge_ids.tolist()


@pytest.fixture
def settled(request, tmp_path) -> Path:
    """A folder of records that were written a while ago: 300, or the number that the test names."""
    algorithm = fake_records.ALGORITHMS[0]
    for i in range(getattr(request, "param", 300)):
        graph = replace(fake_records.GRAPHS[0], name=f"graph-{i:04}")
        run, value = fake_records.measurement("fake-desktop", graph, algorithm, 1, samples=[[1.0, 2.0]] * 5)
        fake_records.write_record(tmp_path / "records", run, value)
    time.sleep(tidy._SETTLED)
    return tmp_path


def rewritten(folder: Path, monkeypatch) -> tuple[list[dict], int]:
    """Write the table; return its rows and how many records were read."""
    read, own = [], store.read_record
    monkeypatch.setattr(store, "read_record", lambda path, **others: read.append(path) or own(path, **others))
    write_table([folder / "records"], [], folder / "table.parquet", folder / "table.csv")
    monkeypatch.undo()
    return pq.read_table(folder / "table.parquet").to_pylist(), len(read)


@pytest.mark.parametrize("settled", [2_000], indirect=True)
def test_only_new_and_changed_records_are_read_again(settled, monkeypatch):
    monkeypatch.setattr(tidy, "CHUNK", 2_000)
    begun = time.process_time()
    first, read = rewritten(settled, monkeypatch)
    # Some 0.25 ms each, where nothing else runs.
    assert time.process_time() - begun < 2_000 * 2e-3 + 2
    assert read == len(first) == 2_000
    assert rewritten(settled, monkeypatch) == (first, 0)
    changed, broken, gone, unproved, *_ = map(Path, store.measurement_files(str(settled / "records")))
    value = json.loads(changed.read_text())
    times = changed.stat().st_atime_ns, changed.stat().st_mtime_ns
    value["samples"]["compute"] = [[3.0, 4.0]] * 5
    store.write_json(changed, value)
    os.utime(changed, ns=times)
    broken.write_text("{")
    gone.unlink()
    store.proof_path(unproved).unlink()
    second, read = rewritten(settled, monkeypatch)
    assert read == 3 and len(second) == 1_998
    assert second[0] == {
        **first[0],
        **dict.fromkeys(("compute_seconds", "compute_low", "compute_high"), 3.5),
    } | {"edges_per_second": first[0]["m"] / 3.5}
    assert second[1] == first[3] | {"grade": None} and second[2:] == first[4:]
    assert [text.split(":")[0] for text in set_aside_of(settled / "table.parquet")] == [str(broken)]


@pytest.mark.slow
def test_damaged_file_of_kept_rows_is_made_anew(settled, monkeypatch):
    first, _ = rewritten(settled, monkeypatch)
    kept = settled / ".table-rows.parquet"
    whole = kept.read_bytes()
    middle = len(whole) // 3
    for content in (b"", whole[:-9], whole[:middle] + bytes([whole[middle] ^ 255]) + whole[middle + 1 :]):
        kept.write_bytes(content)
        assert rewritten(settled, monkeypatch) == (first, 300)
        assert rewritten(settled, monkeypatch) == (first, 0)


@pytest.mark.slow
def test_processes_return_the_rows_of_one(settled, monkeypatch):
    first, _ = rewritten(settled, monkeypatch)
    (settled / ".table-rows.parquet").unlink()
    monkeypatch.setattr(tidy, "CHUNK", 50)
    monkeypatch.setattr(tidy, "granted_cores", lambda: 2)
    started = []
    monkeypatch.setattr(tidy, "processes", lambda *given: started.append(given) or processes(*given))
    write_table([settled / "records"], [], settled / "table.parquet", settled / "table.csv")
    assert pq.read_table(settled / "table.parquet").to_pylist() == first
    assert len(started) == 1


@pytest.mark.slow
def test_a_process_that_ends_early_is_an_error(monkeypatch):
    monkeypatch.setattr(tidy, "AHEAD", 1)
    monkeypatch.setattr(tidy, "granted_cores", lambda: 2)
    with pytest.raises(MSTError, match="reads records ended early"):
        list(tidy._each(end, iter([("record.json", "measured", "")])))


def end(files):
    os._exit(3)


def test_records_that_have_just_been_written_are_read_each_time(tmp_path, monkeypatch):
    run, value = fake_records.measurement(
        "fake-desktop", fake_records.GRAPHS[0], fake_records.ALGORITHMS[0], 1, samples=[[1.0]]
    )
    path = fake_records.write_record(tmp_path / "records", run, value)
    assert [row["compute_seconds"] for row in rewritten(tmp_path, monkeypatch)[0]] == [1.0]
    state = path.stat()
    store.write_json(path, value | {"samples": value["samples"] | {"compute": [[2.0]]}})
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    second, read = rewritten(tmp_path, monkeypatch)
    assert read == 1 and [row["compute_seconds"] for row in second] == [2.0]
