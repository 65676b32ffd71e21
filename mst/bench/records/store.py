"""Measurements and proofs on disk, and their tidy table.

A run's measurement lies at
``records/<machine>/<graph>/<algorithm>/<options>/w<width>[-<layout>]/<fingerprint>.json``,
its proof beside it as ``<fingerprint>.proof.json``, and, where the proof needs them, its edge ids as
``<fingerprint>.ids.npz`` (a bitmap over the edge list). The fingerprint covers the algorithm's sources and the
graph's content, so old versions stay and can be compared, and machines merge by union.
"""

from __future__ import annotations

import glob
import hashlib
import json
import re
import statistics
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from mst.atomic import replacing
from mst.errors import InputError
from mst.names import path_part

SCHEMA = 1
STAGED = "staged"
"""Folder beside the records for measurements that wait until their jobs move them into place."""


@dataclass(frozen=True)
class Run:
    """The unit of caching: a run on a machine, with the version of its code and graph.

    Raises
    ------
    ConfigError
        A name that cannot be a folder: it would lead out of the folder of records.
    """

    machine: str
    graph: str
    algorithm: str
    options: str
    width: int
    fingerprint: str
    layout: str = ""

    def __post_init__(self) -> None:
        for kind in ("machine", "graph", "algorithm", "options", "fingerprint"):
            path_part(getattr(self, kind), f"run's {kind}")
        if self.layout:
            path_part(self.layout, "run's layout")

    @property
    def path(self) -> Path:
        """Path of the measurement, relative to the folder of records."""
        width = f"w{self.width}" + (f"-{self.layout}" if self.layout else "")
        return Path(self.machine, self.graph, self.algorithm, self.options, width, f"{self.fingerprint}.json")

    @property
    def width_here(self) -> int:
        """Width on each host: the ranks of one node, where ranks are spread over several."""
        return int(self.layout.partition("x")[2] or self.width)

    @classmethod
    def from_path(cls, path: Path) -> Run:
        """Return the run whose measurement lies at `path` (its last six components count)."""
        machine, graph, algorithm, options, width, file = path.parts[-6:]
        found = re.fullmatch(r"w(\d+)(?:-(.+))?", width)
        if not found or not file.endswith(".json"):
            raise InputError(f"{path} is not the path of a measurement: expected …/w<width>/<fingerprint>.json")
        return cls(
            machine, graph, algorithm, options, int(found[1]), file.removesuffix(".json"), found[2] or ""
        )


def run_fingerprint(source_fingerprint: str, graph_digest: str) -> str:
    """Return 12 hex digits over the algorithm's sources and the graph's content."""
    return hashlib.sha256(f"{source_fingerprint}\0{graph_digest}".encode()).hexdigest()[:12]


def proof_path(record: Path) -> Path:
    """Return the path of the proof of the measurement at `record`."""
    return record.with_suffix(".proof.json")


def ids_path(record: Path) -> Path:
    """Return the path of the edge ids of the measurement at `record`, where they are kept."""
    return record.with_suffix(".ids.npz")


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file, replacing it as a whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(value, indent=1, allow_nan=True) + "\n")


def save_ids(record: Path, edge_ids: np.ndarray, m: int) -> None:
    """Keep a run's edge ids beside its measurement, as a compressed bitmap of `m` bits."""
    bits = np.zeros(m, bool)
    bits[edge_ids] = True
    with replacing(ids_path(record)) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, bits=np.packbits(bits), m=m, count=len(edge_ids))


def load_ids(record: Path) -> np.ndarray:
    """Return the edge ids that `save_ids` wrote; refuse those of a run that returned an id twice."""
    with np.load(ids_path(record)) as kept:
        ids = np.flatnonzero(np.unpackbits(kept["bits"], count=int(kept["m"])))
        if len(ids) != int(kept["count"]):
            raise InputError(
                f"{record}: the run returned {int(kept['count'])} ids, {len(ids)} of them distinct"
            )
    return ids


def read_measurement(path: Path) -> dict[str, Any]:
    """Read a measurement of any known schema version as the current one."""
    try:
        value = json.loads(path.read_text())
        version = int(value["schema"])
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} is not a measurement: {error}; delete it to run again") from None
    if version > SCHEMA:
        raise InputError(f"{path} has schema {version}, this mst knows {SCHEMA}: update mst")
    for step in range(version, SCHEMA):
        value = _MIGRATIONS[step](value)
    return value


_MIGRATIONS: dict[int, Any] = {}


@dataclass(frozen=True)
class Record:
    """A measurement with its proof (None while it is unproved)."""

    run: Run
    path: Path
    measurement: dict[str, Any]
    proof: dict[str, Any] | None = None
    origin: str = "measured"
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def status(self) -> str:
        """``wrong`` by its proof, else the measurement's status."""
        if self.proof is not None and self.proof["status"] == "wrong":
            return "wrong"
        return self.measurement["status"]


def load_records(folder: Path, *, origin: str = "measured") -> Iterator[Record]:
    """Yield every record below a folder of records, sorted by path."""
    # Faster than Path.glob by half; names that begin with a dot do not match.
    found = glob.glob(f"{glob.escape(str(folder))}/*/*/*/*/w*/*.json")  # noqa: PTH207
    for path in map(Path, sorted(found, key=lambda name: name.split("/"))):
        if path.name.endswith(".proof.json"):
            continue
        proof = proof_path(path)
        yield Record(
            run=Run.from_path(path),
            path=path,
            measurement=read_measurement(path),
            proof=json.loads(proof.read_text()) if proof.is_file() else None,
            origin=origin,
        )


def medians(measurement: Mapping[str, Any], part: str = "compute") -> list[float]:
    """Return the median of each process, in seconds."""
    return [
        statistics.median(map(float, samples)) for samples in measurement["samples"].get(part, []) if samples
    ]


def table_rows(records: Iterable[Record]) -> Iterator[dict[str, Any]]:
    """Yield one flat row per record: the columns of the tidy table."""
    from mst.bench.statistics import summarise

    for record in records:
        m = record.measurement
        run, graph, forest = m["run"], m["graph"], m.get("forest") or {}
        proof = record.proof or {}
        summary = {part: summarise(medians(m, part)) for part in ("compute", "init", "transfer")}
        compute = summary["compute"]
        memory = m.get("memory") or {}
        conditions = m.get("conditions") or {}
        yield {
            "machine": run["machine"],
            "graph": run["graph"],
            "family": graph.get("family"),
            "n": graph["n"],
            "m": graph["m"],
            "algorithm": run["algorithm"],
            "title": run.get("title", run["algorithm"]),
            "paradigm": run["paradigm"],
            "options": run["options"],
            "width": run["width"],
            "layout": run.get("layout") or "",
            "fingerprint": run["fingerprint"],
            "status": record.status,
            "reason": proof.get("reason") if record.status == "wrong" else m.get("reason"),
            "grade": proof.get("grade"),
            "processes": compute.count,
            "samples": sum(map(len, m["samples"].get("compute", []))),
            "compute_seconds": compute.median,
            "compute_low": compute.low,
            "compute_high": compute.high,
            "spread": compute.spread,
            "init_seconds": summary["init"].median,
            "transfer_seconds": summary["transfer"].median,
            "edges_per_second": graph["m"] / compute.median if compute.median else None,
            "peak_bytes": memory.get("peak_bytes"),
            "working_bytes": memory.get("working_bytes"),
            "device_bytes": memory.get("device_bytes"),
            "energy_joules": (m.get("energy") or {}).get("joules"),
            "weight": None if forest.get("weight") is None else str(forest["weight"]),
            "components": forest.get("components"),
            "flags": ",".join(conditions.get("flags", [])),
            "oversubscribed": "oversubscribed" in conditions.get("flags", []),
            "cpu": m["machine"]["cpu"],
            "gpu": ", ".join(m["machine"].get("gpus", [])),
            "machine_fingerprint": m["machine"]["fingerprint"],
            "commit": (m.get("git") or {}).get("commit"),
            "created": m["created"],
            "origin": record.origin,
        }
