"""A machine's records, proofs, facts and graph manifests in one file.

A bundle is a zip with the same layout as the folder of results::

    bundle.json                      format, machine, its fingerprint, SHA-256 of every member
    machines/<machine>.json          the hardware
    records/<machine>/…/<run>.json   measurements and their proofs
    manifests/<graph>/<digest>.json  the graphs they were measured on

Paths in reasons, errors and sources are cut to file names (`shareable`). Equal records make equal bundles, byte for
byte. Unpacking trusts nothing: every member's name is checked by a pattern that cannot leave the folder, and its
content against ``bundle.json`` and its own path.
"""

from __future__ import annotations

import hashlib
import json
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mst.atomic import naming, replacing
from mst.bench.records.schema import MachineFacts, check_proof, parse_json, read_json, valid
from mst.bench.records.store import Run, check_measurement, json_bytes
from mst.catalog.manifest import Manifest
from mst.errors import FormatError, InputError
from mst.names import MACHINE, PART, path_part

FORMAT = "mst-bundle"
VERSION = 1
SUFFIX = ".mst.zip"
HEADER = "bundle.json"
MAX_BUNDLE_BYTES = 2**28
MAX_MEMBER_BYTES = 2**26
MAX_TOTAL_BYTES = 2**31
_PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# Exceptions that zipfile raises for bytes that are not a zip archive, or a damaged one.
_DAMAGED = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, ValueError, RuntimeError)
_MEMBER = re.compile(
    rf"records/{PART}/{PART}/{PART}/{PART}/w\d{{1,9}}(-{PART})?/[0-9a-f]{{12}}(\.proof)?\.json"
    rf"|machines/{PART}\.json"
    rf"|manifests/{PART}/[0-9a-f]{{12}}\.json"
)
# The folders of an absolute path, but not of an address; in quotes their names may have blanks.
_FOLDERS = re.compile(r"""(?<=")/[^"\n]*/|(?<=')/[^'\n]*/|(?<![\w./:-])/(?:[^\s"'():,/]+/)+""")
# A location as a whole is a path or an address: names of its folders may have blanks.
_CUT = {**dict.fromkeys(("detail", "reason", "source"), _FOLDERS), "location": re.compile("^(file://)?/.*/")}


@dataclass(frozen=True)
class Summary:
    """Counts of members that an export packed, or an import added, found unchanged or replaced.

    `claimed` has the graph of each record that an import could not prove.
    """

    machine: str
    records: int
    proofs: int
    manifests: int
    unchanged: int = 0
    claimed: Sequence[str] = ()
    replaced: int = 0


def export_bundle(machine: str, *, results: Path, out: Path) -> Summary:
    """Pack the records of `machine` below `results` into the file `out`.

    A machine without records, or with records of different hardware under one name, raises `InputError`.
    """
    folder = results / "records" / path_part(machine, "exported machine's")
    files = {path.relative_to(results).as_posix(): path for path in sorted(folder.glob("*/*/*/w*/*.json"))}
    members = {name: path.read_bytes() for name, path in files.items() if _MEMBER.fullmatch(name)}
    measurements = {name: read_json(results / name) for name in members if kind_of(name) == "record"}
    if not measurements:
        known = sorted(p.name for p in (results / "records").glob("[!.]*") if p.is_dir())
        listed = ", ".join(known) or "none"
        raise InputError(f"{results / 'records'} has no records of machine {machine!r}; machines: {listed}")
    facts = _hardware(machine, measurements)
    members[f"machines/{machine}.json"] = json_bytes(facts)
    members |= _manifests(results, measurements.values())
    members = {name: _shared(content) for name, content in members.items()}
    header = {
        "format": FORMAT,
        "version": VERSION,
        "machine": machine,
        "fingerprint": facts["fingerprint"],
        "members": {name: hashlib.sha256(members[name]).hexdigest() for name in sorted(members)},
    }
    _write_zip(out, {HEADER: json_bytes(header), **dict(sorted(members.items()))})
    return summary_of(machine, members)


def unpack_bundle(bundle: Path, folder: Path, *, rename: str | None = None) -> str:
    """Check a bundle and unpack it below `folder`, with `rename` under that name; return the machine's name.

    A file that is not a bundle, is damaged, or has a foreign member raises `FormatError`; members unpacked
    before that stay in `folder`.
    """
    if rename is not None:
        path_part(rename, "machine")
    with _opened(bundle) as archive:
        names = _checked_names(bundle, archive)
        header = _header(bundle, archive, names)
        measured: tuple[str, dict[str, Any]] = "", {}
        for name, digest in sorted(header["members"].items()):
            with _naming_member(bundle, name):
                content = archive.read(name)
                if hashlib.sha256(content).hexdigest() != digest:
                    raise InputError("a member that differs from its checksum in bundle.json")
                value = parse_json(content)
                _check(name, value, header, measured)
            # The proof of a record follows it.
            measured = name, value
            if rename is not None:
                name, content = _renamed(name, content, value, rename)
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with naming(path):
                path.write_bytes(content)
    return rename or header["machine"]


def kind_of(name: str) -> str:
    """Return the kind of a member: record, proof, machine or manifest."""
    folder = name.split("/", 1)[0]
    if folder == "records":
        return "proof" if name.endswith(".proof.json") else "record"
    return {"machines": "machine", "manifests": "manifest"}.get(folder, "other")


def summary_of(machine: str, names: Iterable[str], *others: Any) -> Summary:
    """Count members by kind; `others` are the unchanged, claimed and replaced records, as in `Summary`."""
    kinds = [kind_of(name) for name in names]
    records, proofs, manifests = map(kinds.count, ("record", "proof", "manifest"))
    return Summary(machine, records, proofs, manifests, *others)


def difference(here: Any, there: Any) -> str | None:
    """Return the first place where two JSON values differ, in words, or None.

    >>> difference({"samples": [1, 2]}, {"samples": [1, 3]})
    'samples[1]: 2 here, 3 there'
    """
    one, other = dict(_leaves(here)), dict(_leaves(there))
    for place in sorted(one.keys() | other.keys()):
        if one.get(place) != other.get(place):
            texts = (leaves.get(place, "nothing") for leaves in (one, other))
            shown = (text if len(text) <= 60 else text[:59] + "…" for text in texts)
            return "{}: {} here, {} there".format(place, *shown)
    return None


def _leaves(value: Any, where: str = "") -> Iterator[tuple[str, str]]:
    """Yield the place and the JSON text of every leaf of a JSON value."""
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _leaves(item, f"{where}.{key}" if where else key)
    elif isinstance(value, list) and value:
        for place, item in enumerate(value):
            yield from _leaves(item, f"{where}[{place}]")
    else:
        yield where or "value", json.dumps(value)


def shareable(value: Any) -> Any:
    """Return a record, proof or manifest with its machine's paths cut to file names.

    >>> shareable({"raw": {"location": "/home/me/graphs/NY.gr.gz"}, "tried": [{"location": "https://a.org/NY.gr.gz"}]})
    {'raw': {'location': 'NY.gr.gz'}, 'tried': [{'location': 'https://a.org/NY.gr.gz'}]}
    """
    if isinstance(value, dict):
        return {
            key: _CUT[key].sub("", item) if key in _CUT and isinstance(item, str) else shareable(item)
            for key, item in value.items()
        }
    return [shareable(item) for item in value] if isinstance(value, list) else value


# --- packing


def _shared(content: bytes) -> bytes:
    value = json.loads(content)
    shared = shareable(value)
    # Wherever the bundle is imported, its proofs are claims until they are repeated.
    shared.pop("claimed", None)
    return content if shared == value else json_bytes(shared)


def _hardware(machine: str, measurements: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    known: dict[str, tuple[str, dict[str, Any]]] = {}
    for name, measurement in measurements.items():
        known.setdefault(measurement["machine"]["fingerprint"], (name, measurement["machine"]))
    if len(known) > 1:
        (first, a), (second, b), *_ = known.values()
        raise InputError(f"{machine}: {first} and {second} ran on different hardware ({difference(a, b)})")
    return next(iter(known.values()))[1]


def _manifests(results: Path, measurements: Iterable[dict[str, Any]]) -> dict[str, bytes]:
    """Return the manifests of the measured graphs, made here or imported."""
    wanted = {(m["graph"].get("name"), m["graph"].get("digest")) for m in measurements}
    found: dict[str, bytes] = {}
    for file in sorted((*results.glob("graphs/*/*/manifest.json"), *results.glob("manifests/*/*.json"))):
        manifest = read_json(file)
        name, digest = manifest.get("name"), manifest.get("digest")
        if digest and (name, digest) in wanted:
            found.setdefault(f"manifests/{name}/{digest[:12]}.json", file.read_bytes())
    return {name: content for name, content in found.items() if _MEMBER.fullmatch(name)}


def _write_zip(out: Path, members: Mapping[str, bytes]) -> None:
    with naming(out), replacing(out) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        for name, content in members.items():
            entry = zipfile.ZipInfo(name)  # with the same time whenever it is written
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            entry.external_attr = (stat.S_IFREG | 0o644) << 16
            archive.writestr(entry, content, compresslevel=9)


# --- unpacking untrusted files


def _opened(bundle: Path) -> zipfile.ZipFile:
    size = bundle.stat().st_size
    if size > MAX_BUNDLE_BYTES:
        raise FormatError(bundle, f"has {size:,} bytes, but at most {MAX_BUNDLE_BYTES:,} are allowed")
    try:
        return zipfile.ZipFile(bundle)
    except _DAMAGED as error:
        raise FormatError(bundle, f"not a bundle of mst export, or damaged: {error}") from None


@contextmanager
def _naming_member(bundle: Path, name: str) -> Iterator[None]:
    """Make errors about a member name the bundle and the member."""
    try:
        yield
    except InputError as error:
        raise FormatError(bundle, str(error), text=name) from None
    except _DAMAGED as error:
        raise FormatError(bundle, f"a damaged member: {error}", text=name) from None


def _checked_names(bundle: Path, archive: zipfile.ZipFile) -> set[str]:
    """Return the members' names; refuse names, kinds and sizes that no bundle has."""
    names: set[str] = set()
    total = 0
    for entry in archive.infolist():
        name = entry.filename
        # The name as stored: zipfile cuts names at a null character.
        if name != entry.orig_filename or not (name == HEADER or _MEMBER.fullmatch(name)):
            raise FormatError(bundle, "a member whose name no bundle has", text=entry.orig_filename)
        if stat.S_IFMT(entry.external_attr >> 16) not in (0, stat.S_IFREG):
            raise FormatError(bundle, "a member that is a link or another special file", text=name)
        if entry.flag_bits & 1 or entry.compress_type not in _PACKINGS:
            raise FormatError(bundle, "a member that is encrypted or packed in an unknown way", text=name)
        if name in names:
            raise FormatError(bundle, "a duplicate member", text=name)
        if entry.file_size > MAX_MEMBER_BYTES:
            expected = f"a member of {entry.file_size:,} bytes, but at most {MAX_MEMBER_BYTES:,} are allowed"
            raise FormatError(bundle, expected, text=name)
        names.add(name)
        total += entry.file_size
    if total > MAX_TOTAL_BYTES:
        raise FormatError(bundle, f"unpacks to {total:,} bytes, but at most {MAX_TOTAL_BYTES:,} are allowed")
    return names


def _header(bundle: Path, archive: zipfile.ZipFile, names: set[str]) -> dict[str, Any]:
    if HEADER not in names:
        raise FormatError(bundle, "not a bundle of mst export: it has no bundle.json")
    with _naming_member(bundle, HEADER):
        header = parse_json(archive.read(HEADER))
    version, machine, members = header.get("version"), header.get("machine"), header.get("members")
    if header.get("format") != FORMAT or not isinstance(version, int) or "fingerprint" not in header:
        raise FormatError(bundle, "not a bundle of mst export: bundle.json does not say so")
    if version > VERSION:
        raise FormatError(bundle, f"a bundle of version {version}, but this mst knows {VERSION}: update mst")
    if not isinstance(machine, str) or not re.fullmatch(MACHINE, machine):
        raise FormatError(bundle, "the machine has no usable name", text=str(machine))
    if not isinstance(members, dict) or members.keys() != names - {HEADER}:
        raise FormatError(bundle, "its members are not those that bundle.json lists")
    if f"machines/{machine}.json" not in members:
        raise FormatError(bundle, f"the hardware of machine {machine} is missing")
    if not any(kind_of(name) == "record" for name in members):
        raise FormatError(bundle, "it holds no measurement")
    return header


def _check(
    name: str, value: dict[str, Any], header: Mapping[str, Any], measured: tuple[str, dict[str, Any]]
) -> None:
    """Refuse a member that breaks its schema, belongs to another machine, or contradicts its path or its record."""
    machine, kind = header["machine"], kind_of(name)
    if kind == "record":
        if name.split("/")[1] != machine:
            raise InputError(f"a record of a machine other than {machine}")
        check_measurement(value, Run.from_path(Path(name)))
        if value["machine"]["fingerprint"] != header["fingerprint"]:
            raise InputError("a measurement from hardware other than the bundle's")
    elif kind == "proof":
        if measured[0] != name.removesuffix(".proof.json") + ".json":
            raise InputError("a proof without its measurement")
        check_proof(value, measured[1])
    elif kind == "machine":
        valid(MachineFacts, value, "machine")
        if name != f"machines/{machine}.json" or value["fingerprint"] != header["fingerprint"]:
            raise InputError(f"the hardware of a machine other than {machine}")
    else:
        manifest = valid(Manifest, value, "manifest")
        if manifest.name != name.split("/")[1] or not (manifest.digest or "").startswith(Path(name).stem):
            raise InputError("the manifest of another graph")


def _renamed(name: str, content: bytes, value: dict[str, Any], machine: str) -> tuple[str, bytes]:
    """Return a member's path and content for a machine of another name."""
    kind, parts = kind_of(name), name.split("/")
    if kind == "record":
        value["run"]["machine"] = machine
        content = json_bytes(value)
    if kind == "machine":
        parts[1] = f"{machine}.json"
    elif kind != "manifest":
        parts[1] = machine
    return "/".join(parts), content
