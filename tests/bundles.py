"""Bundles of synthetic records, to be looked into and changed; `conftest` has the fixtures `origin` and `bundle`."""

from __future__ import annotations

import hashlib
import json
import zipfile
from pathlib import Path

import fake_records

from mst.bench.records.bundle import HEADER

MACHINE = "fake-gpu-box"
GRAPHS = fake_records.GRAPHS[:2]
Members = dict[str, bytes]


def files(folder: Path) -> dict[str, bytes]:
    """Return the content of every file below a folder by its path."""
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def members_of(bundle: Path) -> Members:
    with zipfile.ZipFile(bundle) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(path: Path, members: Members, *, sign: bool = True) -> Path:
    """Write members as a zip; `sign` updates the header's checksums of the members."""
    if sign:
        header = json.loads(members[HEADER])
        rest = {name: content for name, content in members.items() if name != HEADER}
        header["members"] = {name: hashlib.sha256(content).hexdigest() for name, content in rest.items()}
        members = {HEADER: json.dumps(header).encode(), **rest}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path
