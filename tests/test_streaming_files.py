"""Files as streams: the forest of a read in memory, checkpoints, proofs, errors; `mst solve` and `mst verify`."""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pyarrow import parquet
from scripts import run_python
from test_streaming import solve_often

import mst
from mst import formats
from mst.cli import main
from mst.graph import Graph
from mst.streaming import checkpoint, files, forest_of_file, open_edges, running
from mst.streaming.checkpoint import Checkpoint
from mst.streaming.filter import Threads
from mst.streaming.memory import Budget


@pytest.fixture(autouse=True)
def small_table(monkeypatch):
    solve_often(monkeypatch)


def graph(n=60, m=3000, weights=np.int32):
    rng = np.random.default_rng(m)
    w = rng.integers(-9, 9, m) if np.dtype(weights).kind == "i" else rng.normal(size=m)
    return Graph(n, rng.integers(0, n, m), rng.integers(0, n, m), w.astype(weights))


def table(g: Graph, **metadata) -> pa.Table:
    return pa.table({"u": g.u, "v": g.v, "w": g.w}).replace_schema_metadata(metadata or None)


def write(folder: Path, name: str, g: Graph) -> Path:
    path = folder / name
    if name.endswith(".parquet"):
        parquet.write_table(table(g, n=str(g.n)), path, row_group_size=257)
    elif name == "batches.arrow":
        with pa.ipc.new_file(str(path), table(g).schema) as writer:
            writer.write_table(table(g), max_chunksize=119)
    elif name.endswith(".csv"):
        rows = "".join(f"{u},{v},{w!r}\n" for u, v, w in zip(g.u.tolist(), g.v.tolist(), g.w.tolist()))
        path.write_text("source,target,weight\n" + rows)
    else:
        formats.write(path, g)
    return path


NAMES = [
    "edges.parquet",
    "canonical.arrow",
    "batches.arrow",
    "edges.csv",
    "edges.gr",
    "edges.gr.gz",
    "edges.gr.zst",
    "edges.txt",
]


@pytest.mark.parametrize("weights", [np.int32, np.float64])
@pytest.mark.parametrize("name", NAMES)
def test_solve_and_verify_in_parts(tmp_path, capsys, name, weights):
    g = graph(weights=weights)
    expected = mst.minimum_spanning_forest(g)
    path, out = write(tmp_path, name, g), tmp_path / "forest.parquet"
    assert main(["solve", str(path), "--memory", "1G", "--out", str(out), "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert (summary["vertices"], summary["edges"], summary["weight"]) == (g.n, g.m, expected.weight)
    found = files.read_forest(out)
    assert (found.edge_ids == expected.edge_ids).all() and (found.w == g.w[expected.edge_ids]).all()
    assert main(["verify", str(path), str(out), "--memory", "1G"]) == 0
    assert "is the minimum spanning forest of" in capsys.readouterr().out
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([name, "forest.parquet"])


def test_a_folder_of_parquet_files_is_one_stream(tmp_path):
    g = graph()
    for i in range(3):
        part = slice(1000 * i, 1000 * (i + 1))
        write(tmp_path, f"part-{i}.parquet", Graph(g.n, g.u[part], g.v[part], g.w[part]))
    file = open_edges(tmp_path)
    assert file.m == 3000
    found = forest_of_file(file, solve=mst.minimum_spanning_forest)
    assert (found.edge_ids == mst.minimum_spanning_forest(g).edge_ids).all()


@pytest.mark.parametrize("declared", [(3, 5), (5, 3), (3, None)])
def test_a_folder_has_the_vertices_of_all_its_files(tmp_path, declared):
    for name, n, u in zip("ab", declared, (0, 2)):
        part = pa.table({"u": [u, u + 1], "v": [u + 1, u + 2], "w": [4, 5]})
        parquet.write_table(part.replace_schema_metadata(n and {"n": str(n)}), tmp_path / f"{name}.parquet")
    assert forest_of_file(open_edges(tmp_path), solve=mst.minimum_spanning_forest).n == 5


def test_a_forest_is_not_written_among_the_files_of_its_graph(tmp_path, capsys):
    (tmp_path / "parts").mkdir()
    write(tmp_path, "parts/0.parquet", graph())
    assert main(["solve", str(tmp_path / "parts"), "--out", str(tmp_path / "parts/forest.parquet")]) == 2
    assert "would become part of the graph" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "parts").iterdir()] == ["0.parquet"]
    assert main(["solve", str(tmp_path / "parts"), "--out", str(tmp_path / "forest.parquet")]) == 0


def test_a_folder_without_parquet_files_is_refused(tmp_path, capsys):
    assert main(["solve", str(tmp_path), "--format", "parquet"]) == 2
    assert f"{tmp_path} is a folder without .parquet files" in capsys.readouterr().err


@pytest.mark.parametrize("columns", [["u", "v"], ["u", "v", "weight"]])
def test_files_of_a_folder_have_the_same_columns(tmp_path, columns):
    g = graph()
    parquet.write_table(table(g), tmp_path / "0.parquet")
    names = dict(zip(columns, (g.u, g.v, g.w)))
    parquet.write_table(pa.table(names), tmp_path / "1.parquet")
    with pytest.raises(mst.FormatError, match=r"1.parquet: expected the columns of 0.parquet: u, v, w"):
        open_edges(tmp_path)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("start", [0, 1, 257, 600, 2999, 3000])
def test_files_are_read_from_any_place(tmp_path, name, start):
    g = graph()
    batches = list(open_edges(write(tmp_path, name, g)).batches(start))
    for i, column in enumerate((g.u, g.v, g.w)):
        parts = [np.asarray(batch[i]) for batch in batches]
        assert (np.concatenate([*parts, np.empty(0, np.int32)]) == column[start:]).all()
    firsts = [batch.first for batch in batches if len(batch.w)]
    assert not firsts or firsts[0] == start


@pytest.mark.parametrize("weight", [2**31 - 1, 2**31, -(2**31), -(2**31) - 1])
def test_weights_of_a_text_file_are_exact(tmp_path, weight):
    (path := tmp_path / "e.txt").write_text(f"0 1 {weight}\n")
    assert [batch.w.tolist() for batch in open_edges(path).batches(0)] == [[weight]]


def interrupt(command):
    """Interrupt a pass, which keeps its state at every slice, after 120 of them."""
    add, slices = running.RunningForest.add, itertools.count()

    def interrupting(self, kept):
        if next(slices) >= 120:
            raise KeyboardInterrupt
        add(self, kept)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Checkpoint, "seconds", 0.0)
        patch.setattr(running.RunningForest, "add", interrupting)
        assert main(command) == 130


@pytest.mark.parametrize("name", ["edges.parquet", "batches.arrow", "edges.csv"])
def test_an_interrupted_pass_continues(tmp_path, capsys, monkeypatch, name):
    g = graph(weights=np.float64 if name == "batches.arrow" else np.int32)
    path, out, state = write(tmp_path, name, g), tmp_path / "f.parquet", tmp_path / "f.parquet.checkpoint"
    command = ["solve", str(path), "--memory", "1G", "--out", str(out)]
    interrupt(command)
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([name, state.name])
    seen = Checkpoint(state, open_edges(path).identity).load().seen
    assert 1000 < seen < 3000
    capsys.readouterr()
    add, read = running.RunningForest.add, []
    monkeypatch.setattr(
        running.RunningForest, "add", lambda self, kept: read.append(kept.read) or add(self, kept)
    )
    assert main(command) == 0 and sum(read) == g.m - seen
    assert f"resuming after {seen:,} edges" in capsys.readouterr().err
    assert (files.read_forest(out).edge_ids == mst.minimum_spanning_forest(g).edge_ids).all()
    assert not state.exists()


def test_a_continued_pass_counts_vertices_that_have_only_self_loops(tmp_path, capsys):
    g = graph()
    rows = "".join(f"{a} {b} {w}\n" for a, b, w in zip(g.u, g.v, g.w))
    (path := tmp_path / "e.txt").write_text(f"# Nodes: {g.n}\n{2 * g.n} {2 * g.n} 1\n{rows}")
    command = ["solve", str(path), "--memory", "1G", "--out", str(tmp_path / "f.parquet")]
    interrupt(command)
    capsys.readouterr()
    assert main(command) == 2
    error = capsys.readouterr().err
    assert "resuming after" in error and f"declares {g.n} vertices but names {g.n + 1}" in error


def test_a_pass_goes_on_where_its_state_cannot_be_written(tmp_path, monkeypatch, capsys):
    path, out = write(tmp_path, "e.parquet", graph()), tmp_path / "f.parquet"
    monkeypatch.setattr(Checkpoint, "seconds", 0.0)

    def full(path):
        raise mst.InputError(f"{path} cannot be written: No space left on device")

    monkeypatch.setattr(checkpoint, "replacing", full)
    assert main(["solve", str(path), "--out", str(out)]) == 0 and out.exists()
    text = capsys.readouterr().err
    assert (
        "f.parquet.checkpoint cannot be written: No space left on device; if this pass is interrupted" in text
    )


@pytest.mark.parametrize(
    "change", ["another size", "another time", "another format", "cut", "ids", "ends", "text"]
)
def test_states_of_other_inputs_are_not_used(tmp_path, capsys, change):
    g = graph()
    path, out, state = (
        write(tmp_path, "e.parquet", g),
        tmp_path / "f.parquet",
        tmp_path / "f.parquet.checkpoint",
    )
    command = ["solve", str(path), "--memory", "1G", "--out", str(out)]
    interrupt(command)
    if change == "another size":
        g, before = graph(m=2000), path.stat()
        write(tmp_path, "e.parquet", g)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    elif change == "another format":
        command += ["--format", "parquet"]
    elif change == "another time":
        os.utime(path, ns=(0, 0))
    elif change == "cut":
        state.write_bytes(state.read_bytes()[:-100])
    elif change == "text":
        state.write_text("not a checkpoint")
    else:
        kept = Checkpoint(state, open_edges(path).identity)
        found = kept.load()
        u, v, w, ids = (column.copy() for column in found.columns)
        (u if change == "ends" else ids)[-1] = 10**6
        kept.save(found._replace(columns=(u, v, w, ids)))
    capsys.readouterr()
    assert main(command) == 0 and "resuming" not in capsys.readouterr().err
    assert (files.read_forest(out).edge_ids == mst.minimum_spanning_forest(g).edge_ids).all()


@pytest.mark.parametrize(
    "wrong",
    [
        dict(u=np.array([0, 1])),
        dict(w=np.array([5, 6], np.int8)),
        dict(u=np.array([-1, 1], np.int32)),
        dict(v=np.array([1, 4], np.int32)),
        dict(ids=np.array([-1, 8])),
        dict(ids=np.array([0, 9])),
        dict(ids=np.array([0, 8], np.int32)),
        ["v", "u", "w", "id"],
        "no count",
    ],
)
def test_damaged_states_are_not_used(tmp_path, monkeypatch, wrong):
    times = iter([0, 130, 140, 150, 150])
    monkeypatch.setattr(checkpoint, "monotonic", lambda: next(times))
    kept = Checkpoint(tmp_path / "state", {"path": "e"})
    ends = np.array([0, 1], np.int32), np.array([1, 3], np.int32)
    good = checkpoint.State(4, 9, checkpoint.Columns(*ends, np.array([5, 6]), np.array([0, 8])))
    assert kept.is_due
    kept.save(good)
    assert kept.load().seen == 9 and not kept.is_due
    if isinstance(wrong, dict):
        kept.save(good._replace(columns=good.columns._replace(**wrong)))
    else:
        table = pa.ipc.open_file(kept.path.read_bytes()).read_all()
        if wrong == "no count":
            table = table.replace_schema_metadata({"identity": table.schema.metadata[b"identity"]})
        else:
            table = table.rename_columns(wrong).replace_schema_metadata(table.schema.metadata)
        with pa.ipc.new_file(str(kept.path), table.schema) as writer:
            writer.write_table(table)
    assert kept.load() is None


def test_a_restored_forest_keeps_its_types_and_needs_its_memory():
    ends = np.array([0, 1], np.int32), np.array([1, 3], np.int32)
    state = checkpoint.State(4, 9, checkpoint.Columns(*ends, np.array([2**40, 6]), np.array([0, 8])))
    restored = running.RunningForest(None, Budget.of("1G", 1, 0), Threads(None, 1), 4)
    restored.restore(state)
    assert restored.weight_type == np.int64 and restored.forest == 2
    assert restored.columns().w.tolist() == [2**40, 6]
    restored.budget = restored.budget._replace(free=0)
    with pytest.raises(mst.OutOfMemoryError):
        restored.restore(state)


def test_wrong_forests_are_refuted(tmp_path, capsys):
    g = graph()
    path, out = write(tmp_path, "e.gr", g), tmp_path / "f.parquet"
    forest = mst.minimum_spanning_forest(g)
    others = np.setdiff1d(np.arange(g.m), forest.edge_ids)
    files.write_parquet(out, mst.Forest(g, np.sort(np.append(forest.edge_ids[1:], others[0]))))
    assert main(["verify", str(path), str(out), "--memory", "1G"]) == 1
    assert "is not the minimum spanning forest" in capsys.readouterr().out


def test_forests_of_unsigned_ids_are_verified(tmp_path):
    path, out = tmp_path / "e.parquet", tmp_path / "f.parquet"
    ends = {end: np.array(ids, np.uint32) for end, ids in {"u": [0, 1, 2], "v": [1, 2, 0]}.items()}
    parquet.write_table(pa.table(ends | {"w": [1, 2, 3]}), path)
    assert main(["solve", str(path), "--out", str(out)]) == 0
    assert main(["verify", str(path), str(out)]) == 0
    found = files.read_forest(out)
    files.write_parquet(out, dataclasses.replace(found, edge_ids=np.array([0, 2]), w=np.array([1, 3])))
    assert main(["verify", str(path), str(out), "--memory", "1G"]) == 1


@pytest.mark.parametrize("w", [[[1.0]], [{"a": 1}]])
def test_a_column_of_lists_in_parquet_is_named(tmp_path, w):
    path = tmp_path / "e.parquet"
    parquet.write_table(pa.table({"u": [0], "v": [1], "w": w}), path)
    with pytest.raises(
        mst.InputError, match=r"e.parquet, rows from 0 on: w (must be one-dimensional|has dtype object)"
    ):
        forest_of_file(open_edges(path), solve=mst.minimum_spanning_forest)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("sparse.txt", "10 20 1\n20 30 2\n30 10 3\n"),
        ("from-1.txt", "# Nodes: 3 Edges: 3\n1 2 1\n2 3 2\n3 1 3\n"),
        ("counted.txt", "# Nodes: 4 Edges: 3\n0 1 1\n1 2 2\n2 0 3\n"),
        ("not-in-parts.mtx", "%%MatrixMarket matrix coordinate integer general\n3 3 3\n1 2 1\n2 3 2\n3 1 3\n"),
    ],
    ids=["ids with gaps", "ids from 1", "ids from 0", "not in parts"],
)
def test_a_forest_in_parquet_is_verified_in_the_numbering_of_its_solve(tmp_path, capsys, name, text):
    path, out = tmp_path / name, tmp_path / "f.parquet"
    path.write_text(text)
    for limit in ([], ["--memory", "1G"])[: 1 if path.suffix == ".mtx" else 2]:
        assert main(["solve", str(path), "--out", str(out), *limit]) == 0
        assert main(["verify", str(path), str(out)]) == 0, capsys.readouterr().out
    found = files.read_forest(out)
    files.write_parquet(out, dataclasses.replace(found, edge_ids=np.array([0, 2]), w=np.array([1, 3])))
    assert main(["verify", str(path), str(out)]) == 1
    files.write_parquet(out, dataclasses.replace(found, n=found.n + 1))
    assert main(["verify", str(path), str(out)]) == 1
    assert f"declares {found.n + 1} vertices, the graph has {found.n}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("n", "types"), [("-5", {}), ("9" * 30, {}), ("3", {"u": pa.int64()}), ("3", {"id": pa.float64()})]
)
def test_a_table_of_other_numbers_or_types_is_no_forest(tmp_path, n, types):
    out = tmp_path / "f.parquet"
    files.write_parquet(out, mst.minimum_spanning_forest((3, [0], [1], [5])))
    table = parquet.read_table(out).replace_schema_metadata({"n": n, "m": "1"})
    fields = [field.with_type(types.get(field.name, field.type)) for field in table.schema]
    parquet.write_table(table.cast(pa.schema(fields, table.schema.metadata)), out)
    with pytest.raises(mst.FormatError, match="expected a forest in Parquet"):
        files.read_forest(out)


@st.composite
def texts(draw) -> tuple[str, list[list[str]]]:
    """Strategy: a DIMACS file or an edge list with ids from 0, 1 or 5 and gaps; and its rows."""
    n, base, gap = draw(st.integers(2, 7)), draw(st.sampled_from([0, 1, 5])), draw(st.integers(1, 2))
    end, head = st.integers(0, n - 1), draw(st.sampled_from(["p sp", "# Nodes", "source,target,weight"]))
    edges = draw(st.lists(st.tuples(end, end, st.integers(-3, 3)), min_size=1, max_size=14))
    if head == "p sp":
        base = gap = 1
    rows = [[str(base + gap * u), str(base + gap * v), str(w)] for u, v, w in edges]
    if head == "p sp":
        return f"p sp {n} {len(rows)}\n" + "".join(f"a {' '.join(row)}\n" for row in rows), rows
    if head == "# Nodes":
        return f"# Nodes: {n} Edges: {len(rows)}\n" + "".join(f"{' '.join(row)}\n" for row in rows), rows
    return f"{head}\n" + "".join(f"{','.join(row)}\n" for row in rows), rows


@given(drawn=texts())
def test_forests_have_the_ids_of_the_file_in_memory_and_in_parts(tmp_path_factory, drawn):
    folder, (text, rows) = tmp_path_factory.getbasetemp(), drawn
    (path := folder / "graph").write_text(text)
    for kind in ("parquet", "csv", "txt"):
        out, found = folder / f"forest.{kind}", []
        for limit in ([], ["--memory", "1G"]):
            assert main(["solve", str(path), "--out", str(out), *limit]) == 0
            assert main(["verify", str(path), str(out)]) == 0
            if kind == "parquet":
                found.append(written := parquet.read_table(out))
                assert main(["verify", str(path), str(out), "--memory", "1G"]) == 0
            else:
                lines = out.read_text().replace(",", " ").splitlines()
                found.append([line.split() for line in lines if line[0].isdigit()])
        if kind == "parquet":
            assert found[0].equals(found[1], check_metadata=True)
            edges = [[str(row[end]) for end in "uvw"] for row in written.to_pylist()]
            assert edges == [rows[e] for e in written["id"].to_pylist()]
        else:
            assert found == [edges, edges]


@given(drawn=texts(), shift=st.sampled_from([-1, 1]))
def test_forests_with_other_ids_are_refuted(tmp_path_factory, drawn, shift):
    folder = tmp_path_factory.getbasetemp()
    (path := folder / "graph").write_text(drawn[0])
    out = folder / "forest.parquet"
    assert main(["solve", str(path), "--out", str(out)]) == 0
    found = files.read_forest(out)
    assume(len(found))
    for n in (found.n, found.n + shift):
        files.write_parquet(out, dataclasses.replace(found, n=n, u=found.u + shift, v=found.v + shift))
        for limit in ([], ["--memory", "1G"]):
            assert main(["verify", str(path), str(out), *limit]) == 1
    if drawn[0][0] == "p" and found.u.min() + shift >= 0 and found.v.min() + shift >= 0:
        lines = [f"{u + shift},{v + shift},{w}\n" for u, v, w in zip(*found.edges())]
        (out := folder / "forest.csv").write_text("source,target,weight\n" + "".join(lines))
        assert main(["verify", str(path), str(out)]) == 1


@pytest.mark.parametrize("limit", [[], ["--memory", "1G"]])
def test_a_forest_in_parquet_that_counts_from_0_is_refuted_with_the_remedy(limit, tmp_path, capsys):
    (path := tmp_path / "e.gr").write_text("p sp 3 2\na 1 2 5\na 2 3 7\n")
    files.write_parquet(out := tmp_path / "f.parquet", mst.minimum_spanning_forest((3, [0, 1], [1, 2], [5, 7])))
    assert main(["verify", str(path), str(out), *limit]) == 1
    expected = "declares 3 vertices, the graph has 4 from 0 to its largest id: keep the ids of the graph's file"
    assert expected in capsys.readouterr().out


@pytest.mark.parametrize(
    ("last", "reason", "in_parquet"),
    [
        ((2, 3), "edge 2 (3–1, weight 6) is lighter than edge 1 (2–3, weight 7)", ""),
        ((2, 4), "{2, 4} of weight 7", "edge 1 is 2–4 of weight 7 in the forest, but 2–3 of weight 7"),
        ((2, 0), "no vertex 0", "edges to vertex 0, which is not in the graph: keep the ids"),
    ],
)
def test_a_refuted_forest_is_described_by_the_ids_of_the_file(last, reason, in_parquet, tmp_path, capsys):
    (path := tmp_path / "e.gr").write_text("p sp 4 3\na 1 2 5\na 2 3 7\na 3 1 6\n")
    u, v = np.array([(1, 2), last], np.int32).T
    found = files.StreamForest(5, 3, u, v, np.array([5, 7], np.int32), np.array([0, 1]))
    files.write_parquet(out := tmp_path / "f.parquet", found)
    (text := tmp_path / "f.csv").write_text(f"source,target,weight\n1,2,5\n{last[0]},{last[1]},7\n")
    for arguments, expected in (
        ([text], reason),
        ([out], in_parquet or reason),
        ([out, "--memory", "1G"], in_parquet or reason),
    ):
        assert main(["verify", str(path), *map(str, arguments)]) == 1
        assert expected in capsys.readouterr().out


def test_a_list_of_large_ids_is_verified_without_a_limit_as_the_error_says(tmp_path, capsys):
    (path := tmp_path / "list.txt").write_text(f"0 5 1\n5 {2**31} 2\n")
    assert main(["solve", str(path), "--out", str(out := tmp_path / "f.parquet")]) == 0
    assert main(["verify", str(path), str(out), "--memory", "1G"]) == 2
    assert "leave it out for a list whose ids have gaps" in capsys.readouterr().err
    assert main(["verify", str(path), str(out)]) == 0


ILLEGAL = {
    "vertex": (
        {"u": [0, 5], "v": [1, 60], "w": [1, 2]},
        "row 1: v = 60 is not a vertex: ids run from 0 to 59 (n = 60); raise n or compact the ids",
    ),
    "nan": (
        {"u": [0, 1], "v": [1, 2], "w": [0.5, float("nan")]},
        "row 1: w is NaN, which cannot be ordered: drop that edge or replace its weight",
    ),
    "missing": (
        {"u": [0, None], "v": [1, 2], "w": [1, 2]},
        "rows from 0 on: u[1] is missing: drop or fill that row",
    ),
    "columns": (
        {"a": [0], "b": [1]},
        "rows from 0 on: an edge table needs columns u, v, w or source, target, weight; this one has",
    ),
}


@pytest.mark.parametrize("name", ILLEGAL)
def test_illegal_edges_are_named(tmp_path, capsys, name):
    columns, complaint = ILLEGAL[name]
    parquet.write_table(pa.table(columns).replace_schema_metadata({"n": "60"}), tmp_path / "e.parquet")
    assert main(["solve", str(tmp_path / "e.parquet"), "--out", str(tmp_path / "f.parquet")]) == 2
    message = capsys.readouterr().err
    assert f"e.parquet, {complaint}" in message and message.count("\n") <= 2
    assert [p.name for p in tmp_path.iterdir()] == ["e.parquet"]


def test_damaged_files_are_named(tmp_path, capsys):
    path = write(tmp_path, "e.parquet", graph())
    content = path.read_bytes()
    for name, data in {"cut": content[:-100], "zeros": content[:50] + bytes(2000) + content[2050:]}.items():
        path.write_bytes(data)
        assert main(["solve", str(path), "--memory", "1G"]) == 2, name
        message = capsys.readouterr().err
        assert message.startswith(f"mst solve: {path}: ") and message.count("\n") <= 2, message
    path = write(tmp_path, "e.gr", graph())
    path.write_text(path.read_text() + "a 1 x 3\n")
    assert main(["solve", str(path), "--memory", "1G"]) == 2
    assert f"{path}, line 3002: 'a 1 x 3': expected" in capsys.readouterr().err
    path.write_bytes(b"# lines end as on an old Macintosh\r0 1 5\r")
    assert main(["solve", str(path), "--memory", "1G"]) == 2
    assert f"{path}: expected rows `<u> <v>`" in capsys.readouterr().err


def test_declared_vertices_without_edges_are_counted(tmp_path, capsys):
    path = tmp_path / "e.txt"
    path.write_text("# Nodes: 9 Edges: 2\n0 1 5\n1 4 7\n")
    assert forest_of_file(open_edges(path), solve=mst.minimum_spanning_forest).components == 7
    # SNAP counts those in use, whose ids may be larger.
    path.write_text("# Nodes: 3 Edges: 2\n0 1 5\n1 4 7\n")
    assert forest_of_file(open_edges(path), solve=mst.minimum_spanning_forest).components == 3
    path_of_five, loops = "0 1 1\n1 2 1\n2 3 1\n3 4 1\n", "0 9 1\n7 7 1\n3 3 1\n5 5 1\n7 7 2\n"
    for n, rows in ((4, path_of_five), (0, path_of_five), (4, loops)):
        path.write_text(f"# Nodes: {n}\n{rows}")
        for limit in ([], ["--memory", "1G"]):
            assert main(["solve", str(path), *limit]) == 2
            found = capsys.readouterr().err
            assert f"{path}: declares {n} vertices but names 5: correct the declared count" in found
    path.write_text(f"# Nodes: 5\n{loops}")
    assert len(forest_of_file(open_edges(path), solve=mst.minimum_spanning_forest)) == 1
    path.write_text(f"# Nodes: {10**12}\n0 1 5\n")
    with pytest.raises(mst.OutOfMemoryError, match="1,000,000,000,000 vertices need"):
        forest_of_file(open_edges(path), solve=mst.minimum_spanning_forest)


def test_what_cannot_be_streamed_is_said(tmp_path, capsys):
    for name, part in {
        "e.mtx": "matrix-market files cannot be read in parts",
        "no.gr": "cannot be read: No such",
    }.items():
        if name == "e.mtx":
            write(tmp_path, name, graph())
        assert main(["solve", str(tmp_path / name), "--memory", "1G"]) == 2
        assert part in capsys.readouterr().err
    assert main(["solve", str(tmp_path / "e.mtx"), "--memory", "1G", "--algorithm", "krusk"]) == 2
    assert "did you mean 'kruskal'" in capsys.readouterr().err
    assert main(["solve", "-", "--memory", "1G"]) == 2
    assert "standard input cannot be read in parts" in capsys.readouterr().err
    os.mkfifo(tmp_path / "pipe")
    content = write(tmp_path, "e.parquet", graph()).read_bytes()
    threading.Thread(target=(tmp_path / "pipe").write_bytes, args=[content], daemon=True).start()
    assert main(["solve", str(tmp_path / "pipe")]) == 2
    assert (
        "pipe: only mst solve and mst verify read Parquet files, and not from a pipe" in capsys.readouterr().err
    )
    assert main(["verify", str(tmp_path / "e.mtx"), str(tmp_path / "e.mtx"), "--memory", "1G"]) == 2
    assert "as `mst solve --out forest.parquet` writes it" in capsys.readouterr().err


def test_arrow_data_are_read_and_written_without_pandas(tmp_path):
    """Importing it takes half a second."""
    write(tmp_path, "e.parquet", graph())
    script = """
        import sys
        from pathlib import Path
        import pyarrow
        import mst, mst.formats
        from mst.cli import main
        assert main(["solve", "e.parquet", "--out", "f.parquet"]) == 0
        assert main(["verify", "e.parquet", "f.parquet", "--memory", "1G"]) == 0
        mst.formats.write(Path("f.arrow"), mst.Graph(2, [0], [1], [5]))
        table = pyarrow.ipc.open_file("f.arrow").read_all()
        for graph in ("f.arrow", table, pyarrow.concat_tables([table, table])):
            assert mst.minimum_spanning_forest(graph).weight == 5
        assert "pandas" not in sys.modules
    """
    run_python(script, cwd=tmp_path)


@pytest.mark.parametrize("block", [16, 1 << 20])
@pytest.mark.parametrize(
    ("rows", "other"),
    [
        ("4 3\n0 1\n1 2\n2 3\n", "headed"),
        ("5 9\n0 1\n1 2\n2 3\n", "headed"),
        ("7 8\n", "headed"),
        ("4 6 000\n2 3 4\n1 3 4\n1 2 4\n", "metis"),
        ("5 5 10\n7 2 5\n7 1 3\n", "metis"),
    ],
)
def test_a_list_whose_first_row_could_hold_counts_is_refused_unless_it_is_named(
    tmp_path, capsys, monkeypatch, rows, other, block
):
    monkeypatch.setattr("mst.formats.text.BLOCK", block)
    path = tmp_path / "rows.txt"
    path.write_text(rows)
    assert main(["solve", str(path), "--memory", "1G"]) == 2
    assert f"could be edges or {other}" in capsys.readouterr().err
    assert main(["solve", str(path), "--memory", "1G", "--format", "edges", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["edges"] == rows.count("\n")


@pytest.mark.parametrize("first", ["4 2", "4 2 10.5", "5 5 12", "2 9 010"])
def test_a_list_whose_first_row_cannot_hold_counts_is_read(tmp_path, first):
    path = tmp_path / "rows.txt"
    weight = " 1" * (first.count(" ") - 1)
    path.write_text(f"{first}\n0 1{weight}\n1 2{weight}\n2 3{weight}\n")
    assert forest_of_file(open_edges(path), solve=mst.minimum_spanning_forest).m == 4


@pytest.mark.parametrize(
    ("columns", "complaint"),
    [
        ({"a": [0, 1], "b": [1, 2], "c": [0.5, 1.5]}, "this one has a, b, c"),
        ({"u": ["x", "y"], "v": ["y", "z"], "w": [1, 2]}, "u holds strings such as 'x', not vertex ids"),
        ({"u": [0.5, 1.5], "v": [1, 2], "w": [1, 2]}, "u holds floats such as 0.5, not vertex ids"),
        ({"u": [0, 1], "v": [1, 2], "cost": [0.5, 1.5]}, "no column w or weight, but cost"),
    ],
)
def test_columns_that_are_no_edges_are_named(tmp_path, capsys, columns, complaint):
    file = tmp_path / "edges.parquet"
    parquet.write_table(pa.table(columns), file)
    assert main(["solve", str(file)]) == 2
    assert complaint in capsys.readouterr().err
