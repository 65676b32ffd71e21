"""Reference measurements: bundles of other machines, committed with the code.

Each has a folder, ``results/reference/<machine>/``, either as one file that `mst export` wrote
(``<name>.mst.zip``) or unpacked (``records/``, ``manifests/``). An ``about.yaml`` beside it attributes the
measurements: by whom and when, which inputs were unavailable, and which stand-ins were measured. They are shown beside
this machine's measurements, and never counted among them.
"""

from __future__ import annotations

import hashlib
import tempfile
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field, field_validator

from mst.bench.records.bundle import SUFFIX, unpack_bundle
from mst.yaml_models import StrictModel, parse, read_yaml

FOLDER = "reference"


class About(StrictModel):
    """``about.yaml``: notes on a reference bundle for its readers."""

    title: str = Field("", description="the machine in words")
    by: str = Field("", description="the authors of the measurements")
    date: str = Field("", description="of the measurements; default: that of the newest record")
    note: str = ""
    unavailable: dict[str, str] = Field(
        default_factory=dict, description="inputs that were unavailable, and why"
    )
    stand_ins: dict[str, str] = Field(default_factory=dict, description="the stand-in of each of these inputs")

    @field_validator("date", mode="before")
    @classmethod
    def _date_as_text(cls, value: object) -> str:
        # YAML parses an unquoted date.
        return str(value)


@dataclass(frozen=True)
class Reference:
    """One reference machine: its folder's name, its folder of records, its graphs' manifests, and notes."""

    machine: str
    records: Path
    manifests: tuple[Path, ...]
    about: About


def references(results: Path) -> list[Reference]:
    """Return every reference machine below a folder of results; bundles are unpacked once, beside their folder.

    A damaged bundle leaves nothing behind (`FormatError`).
    """
    found = []
    for folder in sorted(p for p in (results / FOLDER).glob("[!.]*") if p.is_dir()):
        unpacked = [_unpacked(bundle, results / f".{FOLDER}") for bundle in sorted(folder.glob(f"*{SUFFIX}"))]
        file = folder / "about.yaml"
        about = parse(About, read_yaml(file) or {}, str(file)) if file.is_file() else About()
        found += [
            Reference(folder.name, root / "records", tuple(sorted(root.glob("manifests/*/*.json"))), about)
            for root in (folder, *unpacked)
            if (root / "records").is_dir()
        ]
    return found


def bundles(results: Path) -> dict[str, str]:
    """Return the digest of every bundle file; the report depends on them."""
    files = sorted((results / FOLDER).glob(f"*/*{SUFFIX}"))
    return {str(file): hashlib.sha256(file.read_bytes()).hexdigest()[:12] for file in files}


def _unpacked(bundle: Path, cache: Path) -> Path:
    """Return the folder with a bundle's content, named by its digest; unpack it the first time."""
    digest = hashlib.sha256(bundle.read_bytes()).hexdigest()[:16]
    folder = cache / digest
    if not folder.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".", dir=cache) as scratch:
            unpack_bundle(bundle, Path(scratch, digest))
            try:
                Path(scratch, digest).rename(folder)
            except OSError:
                if not folder.is_dir():  # another process was first
                    raise
    return folder
