"""Hostile and damaged bundles: every import of one is refused and writes nothing."""

from __future__ import annotations

import json
import math
import shutil
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

import fake_records
import pytest
from bundles import MACHINE, Members, files, members_of, packed
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mst.bench.records.bundle import HEADER, unpack_bundle
from mst.bench.records.merge import import_bundle
from mst.errors import FormatError, MSTError


@pytest.fixture
def results(tmp_path) -> Path:
    return tmp_path / "here" / "results"


ODD_NAMES = [
    "../evil.json",
    "records/../../evil.json",
    "/tmp/evil-mst.json",
    "records/fake-gpu-box/../../../../evil.json",
    "records\\..\\..\\evil.json",
    "C:/evil.json",
    "records/fake-gpu-box/g/a/o/w1/0123456789ab.json/../../evil.json",
    "records/./g/a/o/w1/0123456789ab.json",
    "records/fake-gpu-box//a/o/w1/0123456789ab.json",
    "records/fake-gpu-box/g/a/o/w1/0123456789ab.json\n",
    "records/fake-gpu-box/.hidden/a/o/w1/0123456789ab.json",
    "records/fake-gpu-box/g/a/o/w1/0123456789ab.sh",
    "records/fake-gpu-box/g/a/o/w1/",
    "records/fake-gpu-box/" + "g" * 300 + "/a/o/w1/0123456789ab.json",
    "records/fake-gpu-box/gr\N{LATIN SMALL LETTER U WITH DIAERESIS}n/a/o/w1/0123456789ab.json",
    "machines/../../evil.json",
    "bundle.json/evil.json",
    ".import-evil/journal.json",
    "graphs/x/manifest.json",
    "table.parquet",
]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_member_with_an_invalid_name_is_refused(bundle, results, tmp_path, name):
    members = members_of(bundle)
    record = next(content for path, content in members.items() if path.startswith("records/"))
    refused(packed(tmp_path / "evil.zip", members | {name: record}), results)


def refused(evil: Path, results: Path) -> str:
    """Assert that an import is refused and writes nothing, inside or outside of the results; return the message."""
    results.mkdir(parents=True)
    (results / "kept.txt").write_text("kept")
    around = results.parent.parent
    before = files(around)
    with pytest.raises(FormatError) as error:
        import_bundle(evil, results=results)
    assert files(around) == before
    assert not list(results.glob(".import-*"))
    assert evil.name in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFDIR, stat.S_IFSOCK])
def test_member_that_is_no_regular_file_is_refused(bundle, results, tmp_path, kind):
    evil = tmp_path / "evil.zip"
    with zipfile.ZipFile(evil, "w") as archive:
        for name, content in members_of(bundle).items():
            entry = zipfile.ZipInfo(name)
            if name.startswith("machines/"):
                entry.external_attr = (kind | 0o777) << 16
                content = b"/etc/passwd"
            archive.writestr(entry, content)
    assert "link or another special file" in refused(evil, results)


def test_member_packed_in_a_way_of_no_export_is_refused(bundle, results, tmp_path):
    with zipfile.ZipFile(evil := tmp_path / "evil.zip", "w", zipfile.ZIP_BZIP2) as archive:
        for name, content in members_of(bundle).items():
            archive.writestr(name, content)
    assert "packed in an unknown way" in refused(evil, results)


def test_duplicate_member_is_refused(bundle, results, tmp_path):
    members = members_of(bundle)
    evil = packed(tmp_path / "evil.zip", members)
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(evil, "a") as archive:
        archive.writestr(HEADER, members[HEADER])
    assert "a duplicate member" in refused(evil, results)


def test_member_above_the_size_limit_is_refused(bundle, results, tmp_path):
    evil = tmp_path / "evil.zip"
    with zipfile.ZipFile(evil, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members_of(bundle).items():
            archive.writestr(name, content)
        with archive.open("records/fake-gpu-box/g/a/o/w1/0123456789ab.json", "w") as member:
            for _ in range(70):
                member.write(b" " * 2**20)
    assert "73,400,320 bytes" in refused(evil, results)


def test_members_above_the_total_size_limit_are_refused(bundle, results, tmp_path, monkeypatch):
    monkeypatch.setattr("mst.bench.records.bundle.MAX_TOTAL_BYTES", 10_000)
    assert "10,000 are allowed" in refused(shutil.copy(bundle, tmp_path / "evil.zip"), results)


def test_bundle_above_the_size_limit_is_refused_unopened(results, tmp_path):
    evil = tmp_path / "evil.zip"
    with evil.open("wb") as file:
        file.truncate(2**28 + 1)
    assert "bytes, but at most" in refused(evil, results)


def test_member_with_a_false_size_is_refused(bundle, results, tmp_path):
    """A member that is longer than its entry says."""
    members = members_of(bundle)
    evil = packed(tmp_path / "evil.zip", members)
    name = next(n for n in members if n.startswith("records/"))
    size = len(members[name]).to_bytes(4, "little")
    evil.write_bytes(evil.read_bytes().replace(size, (5).to_bytes(4, "little")))
    refused(evil, results)


def edited(
    name_part: str, edit: Callable[[dict], object] = lambda value: None, **values: object
) -> Callable[[Members], Members]:
    """Return a function that sets values in the first member with this part in its name, then edits it."""

    def change(members: Members) -> Members:
        name = next(n for n in members if name_part in n and (name_part == "proof" or ".proof." not in n))
        value = json.loads(members[name]) | values
        edit(value)
        return {**members, name: json.dumps(value).encode()}

    return change


def elsewhere(members: Members) -> Members:
    """Add a copy of a measurement as that of another machine."""
    name = next(n for n in members if n.startswith("records/") and ".proof." not in n)
    value = json.loads(members[name])
    value["run"]["machine"] = "x"
    return {**members, name.replace(MACHINE, "x", 1): json.dumps(value).encode()}


def unmeasured(members: Members) -> Members:
    """Leave out the measurement of a proof."""
    proof = next(name for name in members if ".proof." in name)
    return {name: content for name, content in members.items() if name != proof.replace(".proof.", ".")}


OTHER = fake_records.DESKTOP.as_dict()
WRONG_CONTENT = {
    "another run": (edited("records/", lambda v: v["run"].update(width=77)), "another run"),
    "another machine": (edited("records/", lambda v: v["run"].update(machine="x")), "another run"),
    "a copy for another machine": (elsewhere, "a record of a machine other than"),
    "a proof alone": (unmeasured, "a proof without its measurement"),
    "nothing measured": (
        lambda members: {name: members[name] for name in members if not name.startswith("records/")},
        "it holds no measurement",
    ),
    "a second machine": (
        lambda members: {**members, "machines/x.json": members[f"machines/{MACHINE}.json"]},
        "a machine other than",
    ),
    "other hardware": (edited("records/", machine=OTHER), "hardware other than"),
    "a false fingerprint": (
        edited("records/", lambda v: v["machine"].update(cores=1)),
        "does not match its facts",
    ),
    "no measurement": (edited("records/", lambda v: v.pop("run")), "not a measurement: run is missing"),
    "three keys": (
        edited(
            "records/", lambda v: [v.pop(key) for key in list(v) if key not in ("schema", "run", "machine")]
        ),
        "not a measurement: graph is missing",
    ),
    "a negative version": (edited("records/", schema=-5), "schema -5, but this mst knows 2"),
    "version 0": (edited("records/", schema=0), "schema 0, but this mst knows 2"),
    "a true version": (edited("records/", schema=True), "schema True, but this mst knows 2"),
    "no number": (
        edited("records/", lambda v: v["samples"]["compute"][0].append(math.nan)),
        "NaN is not a real number",
    ),
    "no number anywhere": (
        edited("records/", lambda v: v["counters"].append({"x": math.inf})),
        "Infinity is not a real",
    ),
    "a negative sample": (
        edited("records/", lambda v: v["samples"]["compute"][0].append(-1.0)),
        "must be at least 0",
    ),
    "a huge number": (
        edited("records/", lambda v: v["memory"].update(working_bytes=-(2**64))),
        "not a measurement: memory.working_bytes",
    ),
    "a number above int64": (
        edited("records/", lambda v: v["memory"].update(working_bytes=2**63)),
        "not a measurement: memory.working_bytes",
    ),
    "a process without samples": (
        edited("records/", lambda v: v["samples"]["compute"].append([])),
        "needs samples of every process",
    ),
    "a sample of text": (
        edited("records/", lambda v: v["samples"]["compute"][0].append("1")),
        "must be a number",
    ),
    "no samples": (
        edited("records/", lambda v: v["samples"].update(compute=[])),
        "needs samples of every process",
    ),
    "a time of no calendar": (
        edited("records/", started="2026-13-01T10:00:00+00:00"),
        "not a measurement: started",
    ),
    "a time without its zone": (
        edited("records/", created="2026-11-01T10:00:00"),
        "not a measurement: created",
    ),
    "a time of another zone": (
        edited("records/", created="2026-11-01T10:00:00+01:00"),
        "not a measurement: created",
    ),
    "an unknown status": (edited("records/", status="<b>"), "not a measurement: status"),
    "an unknown key": (edited("records/", sampels=1), "unknown key 'sampels'"),
    "an unknown grade": (edited("proof", grade="proved"), "not a proof: grade"),
    "a proof of another status": (edited("proof", grade=None), "status ok contradicts grade None"),
    "a forged digest": (
        edited("records/", lambda v: v["forest"].update(digest="0" * 64)),
        "digests of forest and",
    ),
    "the future": (edited("records/", schema=99), "update mst"),
    "a proof of nothing": (edited("proof", lambda v: v.pop("status")), "not a proof: status"),
    "another graph": (edited("manifests/", name="x"), "another graph"),
    "another version of the graph": (edited("manifests/", digest="0" * 64), "another graph"),
    "no machine": (
        lambda members: {name: members[name] for name in members if not name.startswith("machines/")},
        f"the hardware of machine {MACHINE} is missing",
    ),
    "foreign facts": (edited("machines/", **OTHER), "a machine other than"),
    "no manifest": (edited("manifests/", n="many"), "not a manifest: n"),
    "half a range": (edited("manifests/", weight_max=None), "not a manifest: weight_min and weight_max"),
    "parameters of no generator": (
        edited("manifests/", generator={"parameters": "n=5"}),
        "not a manifest: generator.parameters",
    ),
    "a negative size": (edited("manifests/", m=-5), "not a manifest: m: must be at least 0 (got -5)"),
    "a later bundle": (edited(HEADER, version=9), "update mst"),
    "a version of text": (edited(HEADER, version="1"), "not a bundle"),
    "no bundle": (edited(HEADER, lambda v: v.pop("format")), "not a bundle"),
    "a name to break out": (edited(HEADER, machine="../x"), "no usable name"),
    "no fingerprint": (edited(HEADER, lambda v: v.pop("fingerprint")), "not a bundle"),
}


@pytest.mark.parametrize("case", WRONG_CONTENT)
def test_member_that_contradicts_its_path_or_header_is_refused(bundle, results, tmp_path, case):
    change, message = WRONG_CONTENT[case]
    assert message in refused(packed(tmp_path / "evil.zip", change(members_of(bundle))), results)


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff\xfe", b"[" * 100_000, b"nul", b'{"a":'])
def test_members_that_are_no_json_objects_are_refused(bundle, results, tmp_path, content):
    members = members_of(bundle)
    name = next(n for n in members if n.startswith("records/"))
    message = refused(packed(tmp_path / "evil.zip", {**members, name: content}), results)
    assert "JSON" in message and name[:60] in message


def test_unlisted_or_changed_member_is_refused(bundle, tmp_path):
    members = members_of(bundle)
    extra = "records/fake-gpu-box/g/a/o/w1/0123456789ab.json"
    evil = packed(tmp_path / "evil.zip", {**members, extra: b"{}"}, sign=False)
    assert "not those that bundle.json lists" in refused(evil, tmp_path / "a" / "results")
    name = next(n for n in members if n.startswith("records/"))
    evil = packed(tmp_path / "evil.zip", {**members, name: members[name] + b" "}, sign=False)
    assert "differs from its checksum in bundle.json" in refused(evil, tmp_path / "b" / "results")
    evil = packed(tmp_path / "evil.zip", {key: members[key] for key in members if key != name}, sign=False)
    assert "not those that bundle.json lists" in refused(evil, tmp_path / "c" / "results")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"\x1f\x8b hello", b"PK\x05\x06" + b"\0" * 18])
def test_files_that_are_no_bundles_are_refused(results, tmp_path, content):
    (tmp_path / "evil.zip").write_bytes(content)
    refused(tmp_path / "evil.zip", results)


@settings(
    max_examples=3 * settings.default.max_examples, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_damaged_bundle_raises_only_format_errors(bundle, tmp_path_factory, data):
    content = bytearray(bundle.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        # The directory of a zip is at its end, where damage breaks most.
        position = data.draw(st.integers(1, min(len(content), 4000)))
        content[-position] = data.draw(st.integers(0, 255))
    if data.draw(st.booleans()):
        del content[data.draw(st.integers(0, len(content))) :]
    folder = tmp_path_factory.mktemp("damaged")
    (folder / "damaged.zip").write_bytes(content)
    try:
        unpack_bundle(folder / "damaged.zip", folder / "out")
    except MSTError:
        pass
    finally:
        shutil.rmtree(folder)
