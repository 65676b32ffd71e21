"""Export and import: equal bytes, union, conflicts, interruptions; `test_hostile_bundles` has what is refused."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import fake_records
import pytest
from bundles import GRAPHS, MACHINE, files, members_of, packed

from mst.atomic import locked
from mst.bench.records import reference
from mst.bench.records.bundle import difference, export_bundle
from mst.bench.records.merge import import_bundle
from mst.bench.records.store import (
    json_bytes,
    load_records,
    proof_path,
    put_invalid_aside,
    read_measurement,
    table_row,
    write_json,
)
from mst.cli import main
from mst.errors import FormatError, InputError


@pytest.fixture
def results(tmp_path) -> Path:
    return tmp_path / "here" / "results"


def proof_of(content: bytes) -> dict:
    """Return a record, without the note of an import on whether its proof was repeated."""
    return {key: value for key, value in json.loads(content).items() if key != "claimed"}


def test_imported_machine_has_all_records_proofs_and_manifests(origin, bundle, results):
    summary = import_bundle(bundle, results=results)
    ours = {name: content for name, content in files(origin).items() if name.startswith(f"records/{MACHINE}/")}
    here = files(results)
    assert {n: proof_of(c) for n, c in here.items() if n.startswith("records/")} == {
        name: proof_of(content) for name, content in ours.items()
    }
    assert summary.records == len(list(load_records(results / "records"))) > 0
    assert sorted(n for n in here if n.startswith("manifests/")) == sorted(
        f"manifests/{g.name}/{hashlib.sha256(g.name.encode()).hexdigest()[:12]}.json" for g in GRAPHS
    )
    assert json.loads(here[f"machines/{MACHINE}.json"]) == fake_records.GPU_BOX.as_dict()
    assert not list(results.glob(".import-*"))


def test_equal_records_make_equal_bundles(origin, bundle, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(origin, copy)
    for path in copy.rglob("*.json"):
        os.utime(path, (1, 1))
    # Files of other names and manifests of other graphs are not packed.
    next(copy.glob(f"records/{MACHINE}/*/*/*/w1")).joinpath("notes.json").write_text("{}")
    other = copy / "manifests" / "other" / f"{'0' * 12}.json"
    other.parent.mkdir(parents=True)
    other.write_bytes(json_bytes({"name": "other", "digest": "0" * 64}))
    again = tmp_path / "again.mst.zip"
    export_bundle(MACHINE, results=copy, out=again)
    assert again.read_bytes() == bundle.read_bytes()


@pytest.mark.parametrize(
    "location", ["/home/me/graphs/NY.gr.gz", "/home/My Name/NY.gr.gz", "file:///home/me/NY.gr.gz"]
)
def test_bundle_has_no_paths_of_its_machine(origin, tmp_path, location):
    mine = tmp_path / "mine"
    shutil.copytree(origin, mine)
    record = next(
        p for p in mine.glob(f"records/{MACHINE}/*/*/*/w*/*.json") if not p.name.endswith(".proof.json")
    )
    detail = (
        '  File "/home/My Name/mst/worker.py", line 3\nKeyError: /home/me/x, a/b, 3/4, https://a.org/b/c\n'
        "OSError: no 'a/b' beside '/home/My Name/x', nor \"/\" before /home/me/y"
    )
    record.write_bytes(json_bytes({**json.loads(record.read_bytes()), "detail": detail}))
    manifests = [(p, json.loads(p.read_bytes())) for p in mine.glob("graphs/*/*/manifest.json")]
    manifest, content = next((p, m) for p, m in manifests if m["name"] == GRAPHS[0].name)
    raw = {**(content.get("raw") or {}), "location": location}
    manifest.write_bytes(json_bytes({**content, "raw": raw}))
    export_bundle(MACHINE, results=mine, out=tmp_path / "shared.mst.zip")
    members = members_of(tmp_path / "shared.mst.zip")
    assert not any(b"/home" in content or b"Name" in content for content in members.values())
    shared = json.loads(members[record.relative_to(mine).as_posix()])["detail"]
    assert shared == (
        '  File "worker.py", line 3\nKeyError: x, a/b, 3/4, https://a.org/b/c\n'
        "OSError: no 'a/b' beside 'x', nor \"/\" before y"
    )
    manifests = [json.loads(c) for name, c in members.items() if name.startswith("manifests/")]
    assert "NY.gr.gz" in [(m.get("raw") or {}).get("location") for m in manifests]
    again = import_bundle(tmp_path / "shared.mst.zip", results=mine)
    assert again.records == 0 and again.unchanged > 0


def test_export_of_an_imported_machine_equals_its_bundle(bundle, results, tmp_path):
    import_bundle(bundle, results=results)
    export_bundle(MACHINE, results=results, out=tmp_path / "again.mst.zip")
    assert (tmp_path / "again.mst.zip").read_bytes() == bundle.read_bytes()


def test_importing_twice_changes_nothing(bundle, results):
    first = import_bundle(bundle, results=results)
    before = files(results)
    second = import_bundle(bundle, results=results)
    assert files(results) == before
    assert (second.records, second.unchanged) == (0, first.records)
    # Another conversion of a graph takes another time.
    manifest = next(results.glob("manifests/*/*.json"))
    # As of another conversion of the same graph.
    other = {
        "seconds": 99.0,
        "raw": {"location": "https://b.org/NY.gr.gz"},
        "tried": [],
        "checks": [],
        "bytes": 1,
    }
    manifest.write_bytes(json_bytes({**json.loads(manifest.read_bytes()), **other, "generator": None}))
    assert import_bundle(bundle, results=results).manifests == 0


def test_import_adds_missing_records_and_keeps_others(bundle, results):
    """Half of the records were imported before; one more has a version that the bundle lacks."""
    import_bundle(bundle, results=results)
    records = [r.path for r in load_records(results / "records")]
    for path in records[::2]:
        path.unlink()
        proof_path(path).unlink(missing_ok=True)
    old = records[1].with_name("0123456789ab.json")
    measurement = read_measurement(records[1])
    measurement["run"]["fingerprint"] = "0123456789ab"
    write_json(old, measurement)
    summary = import_bundle(bundle, results=results)
    assert summary.records == len(records[::2])
    assert old.is_file() and all(path.is_file() for path in records)


def test_import_leaves_other_machines_unchanged(origin, bundle, results, tmp_path):
    import_bundle(bundle, results=results)
    export_bundle("fake-cluster", results=origin, out=tmp_path / "cluster.mst.zip")
    import_bundle(tmp_path / "cluster.mst.zip", results=results)
    assert {r.run.machine for r in load_records(results / "records")} == {MACHINE, "fake-cluster"}


def test_conflict_is_refused_and_named(bundle, results, capsys):
    import_bundle(bundle, results=results)
    path = next(load_records(results / "records")).path
    measurement = read_measurement(path)
    measurement["samples"]["compute"][0][0] = 123.0
    write_json(path, measurement)
    new = [r.path for r in load_records(results / "records")][-1]
    new.unlink()
    before = files(results)
    with pytest.raises(InputError, match=r"samples\.compute\[0\]\[0\]: 123\.0 here") as refused:
        import_bundle(bundle, results=results)
    assert path.name in str(refused.value) and "1 file differs from that here" in str(refused.value)
    assert files(results) == before, "a refused import must not bring in the rest"
    assert main(["import", str(bundle), "--results", str(results), "--replace"]) == 0
    assert f"{bundle}: 1 new record and 1 replaced of {MACHINE}" in capsys.readouterr().out
    assert read_measurement(path)["samples"]["compute"][0][0] != 123.0
    assert new.is_file()


def test_proof_with_another_verdict_is_a_conflict(bundle, results):
    import_bundle(bundle, results=results)
    proof = proof_path(next(load_records(results / "records")).path)
    write_json(proof, {"status": "wrong", "grade": None, "reason": "two ids differ", "seconds": 1.0})
    with pytest.raises(InputError, match=r'proof\.json: grade: null here, "identical" there'):
        import_bundle(bundle, results=results)


def test_repeated_proof_with_the_same_verdict_is_no_conflict(bundle, results):
    import_bundle(bundle, results=results)
    proof = proof_path(next(load_records(results / "records")).path)
    write_json(proof, {**fake_records.read_json(proof), "seconds": 99.0})
    assert import_bundle(bundle, results=results).proofs == 0
    assert fake_records.read_json(proof)["seconds"] == 99.0


def test_proof_replaces_an_unproved_one(bundle, results, tmp_path):
    import_bundle(bundle, results=results)
    first, second = [proof_path(r.path) for r in load_records(results / "records")][:2]
    unproved = {"status": "unproved", "grade": None, "reason": "its edge ids are gone"}
    write_json(first, {**fake_records.read_json(first), **unproved})
    second.unlink()
    export_bundle(MACHINE, results=results, out=tmp_path / "unproved.mst.zip")
    assert import_bundle(bundle, results=results).proofs == 2
    assert fake_records.read_json(first)["status"] == "ok"
    assert import_bundle(tmp_path / "unproved.mst.zip", results=results).proofs == 0
    assert fake_records.read_json(first)["status"] == "ok"


def test_other_hardware_of_the_same_name_is_refused_unless_renamed(bundle, results):
    run, value = fake_records.measurement(
        MACHINE, GRAPHS[0], fake_records.ALGORITHMS[0], 1, facts=fake_records.DESKTOP, samples=[[1.0]]
    )
    fake_records.write_record(results / "records", run, value)
    before = files(results)
    with pytest.raises(InputError, match=r"different hardware \(cores: 8 here, 128 there\).*--as NAME"):
        import_bundle(bundle, results=results)
    assert files(results) == before
    summary = import_bundle(bundle, results=results, rename="other-box")
    assert summary.machine == "other-box"
    renamed = [r for r in load_records(results / "records") if r.run.machine == "other-box"]
    assert len(renamed) == summary.records
    assert all(r.measurement["run"]["machine"] == "other-box" for r in renamed)
    assert import_bundle(bundle, results=results, rename="other-box").unchanged == summary.records


def test_other_hardware_than_the_machine_file_is_refused(bundle, results):
    write_json(results / "machines" / f"{MACHINE}.json", fake_records.DESKTOP.as_dict())
    with pytest.raises(InputError, match="different hardware"):
        import_bundle(bundle, results=results)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")  # noqa: PTH110
def test_export_names_a_full_device(origin):
    with pytest.raises(OSError, match="No space left on device: '/dev/full'"):
        export_bundle(MACHINE, results=origin, out=Path("/dev/full"))


def test_export_needs_records_of_one_machine(origin, results, tmp_path):
    with pytest.raises(InputError, match="no records of machine 'nobody'; machines: fake-cluster"):
        export_bundle("nobody", results=origin, out=tmp_path / "x.mst.zip")
    for facts, algorithm in zip(
        (fake_records.DESKTOP, fake_records.CLUSTER), fake_records.ALGORITHMS[:2], strict=True
    ):
        run, value = fake_records.measurement("two", GRAPHS[0], algorithm, 1, facts=facts, samples=[[1.0]])
        fake_records.write_record(results / "records", run, value)
    with pytest.raises(InputError, match="different hardware"):
        export_bundle("two", results=results, out=tmp_path / "x.mst.zip")
    assert not list(tmp_path.glob("*.zip")) and not list(tmp_path.glob(".*.tmp"))


def write_reference(results: Path, graph: fake_records.FakeGraph, **more: object) -> None:
    """Write the proved reference of a synthetic graph."""
    digest, forest = (hashlib.sha256(text.encode()).hexdigest() for text in (graph.name, graph.name + "forest"))
    reference = {"graph_digest": digest, "digest": forest, "edges": graph.n - 1, "weight": str(1000 + graph.m)}
    write_json(results / "graphs" / graph.name / "0a1b2c3d" / "reference.json", reference | more)


def grades(results: Path) -> dict[str, set]:
    """Return the grades of each graph's records in the table, without those that no proof has."""
    found: dict[str, set] = {}
    for row in map(table_row, load_records(results / "records")):
        found.setdefault(row["graph"], set()).add((row["status"], row["grade"]))
    return {
        graph: {entry for entry in entries if entry[1] or entry[0] == "wrong"}
        for graph, entries in found.items()
    }


def test_imported_proof_is_repeated_where_its_reference_is_here_and_else_a_claim(bundle, results):
    proved, claimed = GRAPHS
    write_reference(results, proved)
    write_json(results / "graphs" / "gone" / "0a1b2c3d" / "reference.json", {"status": "unavailable"})
    unproved = import_bundle(bundle, results=results).claimed
    assert grades(results) == {
        proved.name: {("ok", "identical"), ("ok", "weight")},
        claimed.name: {("ok", "claimed")},
    }
    assert {r.proved for r in load_records(results / "records") if r.run.graph == claimed.name} == {False}
    graphs = [r.run.graph for r in load_records(results / "records")]
    assert unproved == [claimed.name] * graphs.count(claimed.name)
    write_reference(results, claimed)
    assert not import_bundle(bundle, results=results).claimed
    assert grades(results)[claimed.name] == {("ok", "identical"), ("ok", "weight")}


def test_a_proof_made_here_is_no_claim_where_it_cannot_be_repeated(bundle, origin):
    assert not list(origin.glob("graphs/*/*/reference.json"))
    assert not import_bundle(bundle, results=origin).claimed


def test_forged_digest_is_wrong_where_its_reference_is_here(bundle, results):
    write_reference(results, GRAPHS[0], digest="0" * 64)
    import_bundle(bundle, results=results)
    assert ("ok", "identical") not in grades(results)[GRAPHS[0].name]
    assert {status for status, _ in grades(results)[GRAPHS[0].name]} == {"wrong", "ok"}, "peers by their total"


def test_proof_that_a_run_was_wrong_is_not_repeated(bundle, results, tmp_path):
    members = members_of(bundle)
    name = next(n for n in members if f"/{GRAPHS[0].name}/" in n and n.endswith(".proof.json"))
    wrong = json.loads(members[name]) | {"status": "wrong", "grade": None, "reason": "a cycle"}
    write_reference(results, GRAPHS[0])
    import_bundle(packed(tmp_path / "b.zip", members | {name: json.dumps(wrong).encode()}), results=results)
    assert fake_records.read_json(results / name) == wrong


def test_forest_within_a_bound_is_not_proved_by_its_total(bundle, results, tmp_path):
    members = members_of(bundle)
    name = next(
        n
        for n, text in members.items()
        if f"/{GRAPHS[0].name}/" in n and b'"ties": "any"' in text and b'"ok"' in text
    )
    value = json.loads(members[name])
    value["run"] |= {"exact": False, "all_options": {"epsilon": 0.5}}
    value["forest"]["weight"] = str(1100 + GRAPHS[0].m)
    write_reference(results, GRAPHS[0])
    import_bundle(packed(tmp_path / "b.zip", members | {name: json.dumps(value).encode()}), results=results)
    proof = fake_records.read_json(results / name.replace(".json", ".proof.json"))
    assert proof["status"] == "ok" and proof["claimed"]


# --- imports that end early


def test_failure_while_moving_restores_all_files(bundle, results, monkeypatch):
    import_bundle(bundle, results=results)
    for record in list(load_records(results / "records"))[::2]:
        record.path.unlink()
    before = files(results)
    rename, count = Path.rename, []

    def failing(self, target):
        if len(count) == 3:
            monkeypatch.setattr(Path, "rename", rename)
            raise OSError(28, "No space left on device", str(target))
        count.append(target)
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(OSError, match="No space left"):
        import_bundle(bundle, results=results)
    assert len(count) == 3
    assert files(results) == before
    assert not list(results.glob(".import-*"))


def test_results_folder_of_a_failed_import_is_removed(results, tmp_path):
    (tmp_path / "evil.zip").write_bytes(b"nothing")
    with pytest.raises(FormatError):
        import_bundle(tmp_path / "evil.zip", results=results)
    assert not results.exists()


KILLED = """
import os, signal, sys
from pathlib import Path
from mst.bench.records import merge

rename, count = Path.rename, 0

def dying(self, target):
    global count
    count += 1
    if count == 4:
        os.kill(os.getpid(), signal.SIGKILL)
    return rename(self, target)

Path.rename = dying
merge.import_bundle(Path(sys.argv[1]), results=Path(sys.argv[2]), replace=True)
"""


@pytest.mark.parametrize("count", [1, 4])
def test_killed_import_is_undone_by_the_next(bundle, results, count):
    import_bundle(bundle, results=results)
    first, *others = [r.path for r in load_records(results / "records")]
    for path in others[::2]:
        path.unlink()
    measurement = read_measurement(first)
    write_json(first, {**measurement, "reason": "ours"})
    before = files(results)
    code = KILLED.replace("count == 4", f"count == {count}")
    died = subprocess.run([sys.executable, "-c", code, str(bundle), str(results)], check=False)
    assert died.returncode == -signal.SIGKILL
    left = files(results)
    assert left != before, "the import was killed before it moved a file"
    with pytest.raises(FormatError):
        (results.parent / "evil.zip").write_bytes(b"")
        import_bundle(results.parent / "evil.zip", results=results)
    assert files(results) == before
    assert not list(results.glob(".import-*"))


def test_import_killed_after_its_moves_is_complete(bundle, results, monkeypatch):
    with monkeypatch.context() as patch:
        # Debian's Python does not look up `shutil.rmtree` at this point.
        patch.setattr(tempfile.TemporaryDirectory, "cleanup", lambda folder: folder._finalizer.detach())
        imported = import_bundle(bundle, results=results)
    assert list(results.glob(".import-*"))
    assert import_bundle(bundle, results=results).unchanged == imported.records


def test_import_killed_while_it_wrote_its_journal_is_undone(bundle, results):
    code = KILLED.replace("Path.rename", "Path.replace").replace("count == 4", "target.name == 'journal.json'")
    died = subprocess.run([sys.executable, "-c", code, str(bundle), str(results)], check=False)
    assert died.returncode == -signal.SIGKILL and not list(results.glob("**/journal.json"))
    import_bundle(bundle, results=results)
    assert list(load_records(results / "records")) and not list(results.glob(".import-*"))


def test_reference_that_another_process_unpacked_meanwhile_is_used(bundle, tmp_path, monkeypatch):
    folder = tmp_path / "reference" / "box"
    folder.mkdir(parents=True)
    shutil.copy(bundle, folder / "box.mst.zip")
    unpack = reference.unpack_bundle

    def unpack_twice(file, target):
        unpack(file, target)
        unpack(file, tmp_path / ".reference" / target.name)

    monkeypatch.setattr(reference, "unpack_bundle", unpack_twice)
    assert [found.machine for found in reference.references(tmp_path)] == ["box"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_terminated_import_leaves_no_file(bundle, results, number):
    """The signal arrives after the bundle is unpacked and before its files are moved."""
    slow = (
        "import sys, time\n"
        "from mst.bench.records import merge\n"
        "unpack = merge.unpack_bundle\n"
        "def slow(*a, **k):\n"
        "    machine = unpack(*a, **k)\n"
        "    print('unpacked', flush=True)\n"
        "    time.sleep(60)\n"
        "merge.unpack_bundle = slow\n"
        "from mst.cli import main\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    command = [sys.executable, "-c", slow, "import", str(bundle), "--results", str(results)]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Background jobs of a shell inherit a setting that ignores interrupts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdout is not None and process.stdout.readline() == "unpacked\n"
    assert list(results.glob(".import-*"))
    process.send_signal(number)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 130 and "interrupted" in errors
    assert not results.exists()


def test_imports_wait_for_each_other(bundle, results):
    """A second import must not remove the staging folder of a running first one."""
    results.mkdir(parents=True)
    with locked(results):
        (results / ".import-alive").mkdir()
        command = [sys.executable, "-m", "mst.cli", "import", str(bundle), "--results", str(results)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        time.sleep(1.0)
        assert process.poll() is None and (results / ".import-alive").is_dir()
        (results / ".import-alive").rmdir()
    assert process.wait(timeout=20) == 0


# --- the command line


@pytest.mark.parametrize("more", [(), ("--crate",)])
def test_export_does_not_make_folders(origin, tmp_path, capsys, more):
    out = tmp_path / "absent" / "out.zip"
    assert main(["export", MACHINE, "--results", str(origin), "--out", str(out), *more]) == 2
    error = f"mst export: {out} cannot be written: its folder does not exist; create it first\n"
    assert capsys.readouterr().err == error and not out.parent.exists()


def test_a_crate_of_one_machine_is_refused(origin, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["export", "--crate", "crate.zip", "--results", str(origin)]) == 2
    assert "--crate packs all machines, so leave crate.zip out" in capsys.readouterr().err
    assert not list(tmp_path.glob("*.zip"))


def test_commands_export_and_import_a_bundle(origin, results, tmp_path, capsys):
    out = tmp_path / "box.mst.zip"
    assert main(["export", MACHINE, "--results", str(origin), "--out", str(out)]) == 0
    assert f"records of {MACHINE}" in capsys.readouterr().out
    assert main(["import", str(out), "--results", str(results)]) == 0
    printed = capsys.readouterr().out
    assert "0 records already here" in printed and "not proved here, and in no chart: " in printed
    assert printed.endswith(f"Graphs: {', '.join(sorted(graph.name for graph in GRAPHS))}\n")
    assert main(["import", str(out), "--as", "../x", "--results", str(results)]) == 2
    assert "machine name '../x'" in capsys.readouterr().err
    assert main(["import", str(tmp_path / "absent.zip"), "--results", str(results)]) == 2
    assert "absent.zip" in capsys.readouterr().err


@pytest.mark.parametrize("out", ["-", "/dev/stdout"])
def test_a_bundle_in_standard_output_has_no_message_in_it(origin, out):
    command = [sys.executable, "-m", "mst", "export", MACHINE, "--results", str(origin), "--out", out]
    done = subprocess.run(command, capture_output=True, check=True, timeout=60)
    assert done.stderr.startswith(f"{out}: ".encode()) and not done.stdout.endswith(b"\n")
    with zipfile.ZipFile(io.BytesIO(done.stdout)) as packed:
        assert "bundle.json" in packed.namelist()


@pytest.mark.parametrize(
    ("here", "there", "message"),
    [
        ({"a": 1}, {"a": 1}, None),
        ({"a": float("nan")}, {"a": float("nan")}, None),
        ({"a": 1}, {"a": True}, "a: 1 here, true there"),
        ({"a": {"b": []}}, {"a": {"b": [1]}}, "a.b: [] here, nothing there"),
        ({"a": 1}, {}, "a: 1 here, nothing there"),
        ({}, {"b": None}, "b: nothing here, null there"),
        ({"a": "x" * 99}, {"a": ""}, f'a: "{"x" * 58}… here, "" there'),
    ],
)
def test_difference_names_the_first_differing_entry(here, there, message):
    assert difference(here, there) == message


# --- records on disk


def broken_records(results: Path) -> dict[str, Path]:
    """Break records of a folder in every way; return the files by what is wrong with them."""
    paths = [r.path for r in load_records(results / "records") if r.status == "ok" and r.proof]
    named = dict(
        zip(("truncated", "empty", "edited", "foreign", "no UTF-8", "moved", "proof"), paths, strict=False)
    )
    named["truncated"].write_bytes(named["truncated"].read_bytes()[:300])
    named["empty"].write_bytes(b"")
    measurement = json.loads(named["edited"].read_text())
    measurement["samples"]["compute"][0][0] = -1e-9
    write_json(named["edited"], measurement)
    named["foreign"].write_text('{"name": "another program", "version": 2}')
    named["no UTF-8"].write_bytes(b"\xff\xfe{}")
    named["moved"].write_bytes(paths[-1].read_bytes())
    named["proof"] = proof_path(named["proof"])
    named["proof"].write_text('{"status": "ok", "grade": "identical"}')
    return named


@pytest.mark.slow
def test_invalid_records_are_named_counted_and_set_aside_on_the_page(origin, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    results = tmp_path / "results"
    kept = f"records/fake-desktop/{GRAPHS[0].name}"
    shutil.copytree(origin / kept, results / kept)
    whole = len(list(load_records(results / "records")))
    broken = broken_records(results)
    (results / "manifests/x/").mkdir(parents=True)
    (results / "manifests/x/0123456789ab.json").write_text("[]")
    assert main(["report", "--results", str(results)]) == 0
    page = (results / "report.html").read_text()
    assert f"{len(broken) + 1} record files set aside" in page
    for file in (*broken.values(), results / "manifests/x/0123456789ab.json"):
        assert file.name in page
    # A record whose proof alone is bad stays, unproved.
    left = list(load_records(results / "records"))
    assert len(left) == whole - len(broken) + 1


def test_invalid_records_are_put_aside_to_be_measured_again(origin, tmp_path):
    results = tmp_path / "results"
    shutil.copytree(origin, results)
    broken = broken_records(results)
    reasons = [reason for folder in results.glob("records/*") for reason in put_invalid_aside(folder)]
    assert len(reasons) == len(broken)
    assert not [file for file in broken.values() if file.exists()]
    assert all(file.with_name(f"{file.name}.refused").is_file() for file in broken.values())
    assert not [reason for folder in results.glob("records/*") for reason in put_invalid_aside(folder)]
    proof = proof_path(broken["truncated"])
    assert proof.with_name(f"{proof.name}.refused").is_file()


def test_the_bundles_that_come_with_a_clone_merge(results):
    for bundle in sorted(Path(__file__).parent.parent.glob("results/reference/*/*.mst.zip")):
        assert import_bundle(bundle, results=results).records
