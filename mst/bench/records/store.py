"""Measurements and proofs on disk, and their tidy table.

A run's measurement is at
``records/<machine>/<graph>/<algorithm>/<options>/w<width>[-<layout>]/<fingerprint>.json``,
its proof beside it as ``<fingerprint>.proof.json``, and, where the proof needs them, its edge ids as
``<fingerprint>.ids.npz`` (a bitmap over the edge list). The fingerprint covers the algorithm's sources and the
graph's content, so old versions stay and can be compared, and machines merge by union.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from mst.atomic import replacing, write_bytes
from mst.bench.records.schema import (
    MEASUREMENT_VERSION,
    Measurement,
    check_proof,
    check_version,
    parse_json,
    reading,
    valid,
)
from mst.bench.statistics import summarise
from mst.errors import InputError, MSTError
from mst.names import path_part

CLAIMED = "claimed"  # grade of a proof made by another machine that could not be repeated here
STAGED = "staged"  # folder beside the records for measurements waiting for their jobs to move them into place
_OF_RUN = ("machine", "graph", "algorithm", "title", "paradigm", "options", "width", "layout", "fingerprint")


@dataclass(frozen=True)
class Run:
    """The unit of caching: a run on a machine, with the version of its code and graph.

    A name that cannot be a folder raises `ConfigError`: it would lead out of the folder of records.
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
        """Return the run whose measurement is at `path` (its last six components count)."""
        *folders, width, file = ("", "", *path.parts)[-6:]
        found = re.fullmatch(r"w(\d{1,9})(?:-(.+))?", width)
        if not found or not file.endswith(".json") or len(folders) < 4:
            raise InputError(f"{path} is not the path of a measurement: expected …/w<width>/<fingerprint>.json")
        names = dict(zip(("machine", "graph", "algorithm", "options"), folders, strict=True))
        return cls(**names, width=int(found[1]), fingerprint=file.removesuffix(".json"), layout=found[2] or "")


def run_fingerprint(source_fingerprint: str, graph_digest: str) -> str:
    """Return 12 hex digits over the algorithm's sources and the graph's content."""
    return hashlib.sha256(f"{source_fingerprint}\0{graph_digest}".encode()).hexdigest()[:12]


def proof_path(record: Path) -> Path:
    """Return the path of the proof of the measurement at `record`."""
    return record.with_suffix(".proof.json")


def ids_path(record: Path) -> Path:
    """Return the path of the edge ids of the measurement at `record`, where they are kept."""
    return record.with_suffix(".ids.npz")


def json_bytes(value: Any) -> bytes:
    """Return JSON as in files."""
    return (json.dumps(value, indent=1) + "\n").encode()


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file, replacing it atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, json_bytes(value))


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
        if len(ids) != (count := int(kept["count"])):
            raise InputError(f"{record}: the run returned {count} ids, {len(ids)} of them distinct")
    return ids


def read_measurement(path: Path) -> dict[str, Any]:
    """Read a measurement.

    Raises `InputError` where it cannot be read, breaks its schema, or is of another run than its path says.
    """
    run = Run.from_path(path)
    with reading(path, "delete it to run again"):
        value = parse_json(path.read_bytes())
        check_measurement(value, run)
    return value


def check_measurement(value: dict[str, Any], run: Run) -> None:
    """Raise `InputError` unless this is a valid measurement of the run."""
    check_version(value, MEASUREMENT_VERSION, "measurement")
    valid(Measurement, value, "measurement")
    if any((value["run"][key] or "") != getattr(run, key) for key in Run.__dataclass_fields__):
        raise InputError("a measurement of another run than the one in its path")


def read_proof(record: Path, measurement: Mapping[str, Any]) -> dict[str, Any] | None:
    """Read the proof beside a measurement; None while there is none.

    Raises `InputError` where it cannot be read, breaks its schema, or contradicts the measurement.
    """
    path = proof_path(record)
    with reading(path, "delete it to prove again"), suppress(FileNotFoundError):
        proof = parse_json(path.read_bytes())
        check_proof(proof, measurement)
        return proof
    return None


@dataclass(frozen=True)
class Record:
    """A measurement with its proof (None while it is unproved)."""

    run: Run
    path: Path
    measurement: dict[str, Any]
    proof: dict[str, Any] | None = None
    origin: str = "measured"

    @property
    def status(self) -> str:
        """``wrong`` by its proof, else the measurement's status."""
        if self.proof is not None and self.proof["status"] == "wrong":
            return "wrong"
        return self.measurement["status"]

    @property
    def proved(self) -> bool:
        """Whether its proof was made here or is trusted, and says that it is right."""
        proof = self.proof or {}
        return self.status == "ok" and proof.get("status") == "ok" and not proof.get("claimed")


def load_records(*folders: Path) -> Iterator[Record]:
    """Yield every valid record below folders of records, each sorted by path; print why others are not, once each."""
    for folder in folders:
        for path in map(Path, measurement_files(str(folder))):
            if record := read_record(path, set_aside=_print_once):
                yield record


def read_record(path: Path, *, set_aside: Callable[[str], None], origin: str = "measured") -> Record | None:
    """Read a measurement and its proof; None where the measurement is left out.

    `set_aside` takes the reason, with the path; the measurement stays where only its proof is bad.
    """
    try:
        measurement = read_measurement(path)
    except MSTError as error:
        set_aside(str(error))
        return None
    try:
        proof = read_proof(path, measurement)
    except InputError as error:
        set_aside(str(error))
        proof = None
    return Record(Run.from_path(path), path, measurement, proof, origin)


def measurement_files(folder: str, depth: int = 5) -> Iterator[str]:
    """Yield the paths of all measurements `depth` folders below, sorted; names that begin with a dot are left out.

    Every folder is listed once, and no file is looked up: of 100,000 records, `Path.glob` takes several times as long.
    """
    try:
        names = sorted(os.listdir(folder))  # noqa: PTH208 - without a path object for each name
    except (FileNotFoundError, NotADirectoryError):
        return
    for name in names:
        if name[0] == ".":
            continue
        if not depth:
            if name.endswith(".json") and not name.endswith(".proof.json"):
                yield f"{folder}/{name}"
        elif depth > 1 or name[0] == "w":
            yield from measurement_files(f"{folder}/{name}", depth - 1)


def put_invalid_aside(folder: Path) -> list[str]:
    """Rename invalid measurements and proofs below a machine's folder, so that they are made again.

    They get the suffix ``.refused`` and stay beside the others. Returns the reasons.
    """
    every: list[str] = []
    for path in map(Path, measurement_files(str(folder), depth=4)):
        reasons: list[str] = []
        record = read_record(path, set_aside=reasons.append)
        if reasons:
            refused = [proof_path(path)] if record else [path, proof_path(path), ids_path(path)]
            for file in filter(Path.is_file, refused):
                file.rename(file.with_name(file.name + ".refused"))
        every += reasons
    return every


@cache
def _print_once(text: str) -> None:
    print(f"set aside: {text}", file=sys.stderr)


@contextmanager
def reading_table(file: Path) -> Iterator[None]:
    """Raise `InputError` where the file of the tidy table cannot be read."""
    import pyarrow as pa

    try:
        yield
    except (OSError, ValueError, pa.ArrowException):
        raise InputError(f"{file}: not a table: delete it, and the workflow makes it again") from None


def medians(measurement: Mapping[str, Any], part: str = "compute") -> list[float]:
    """Return the median of each process, in seconds.

    Calls on a GPU whose process had one of several cores do not count: a caller's arrays are copied on all of them.
    """
    if part in ("call", "call_on_device"):
        on_gpu = measurement["run"]["paradigm"] == "cuda" or "cupy" in measurement["versions"]
        had_one_core = len(measurement.get("affinity") or [0]) == 1
        if on_gpu and had_one_core and measurement["machine"]["cores"] > 1:
            return []
    return [statistics.median(samples) for samples in measurement["samples"].get(part, []) if samples]


def table_row(record: Record) -> dict[str, Any]:
    """Return a record as a flat row: the columns of the tidy table."""
    m = record.measurement
    run, machine, proof, flags = m["run"], m["machine"], record.proof or {}, m["conditions"]["flags"]
    compute, *others = (summarise(medians(m, part)) for part in ("compute", "init", "transfer", "call"))
    init, transfer, call = (other.median for other in others)
    forest, energy = m["forest"] or {}, m["energy"] or {"domains": {}}
    # Otherwise the energy is only that of a GPU's board, which a run on the processor leaves idle.
    covers_processor = any(name.startswith("package") for name in energy["domains"])
    return {
        **{key: run[key] for key in _OF_RUN},
        **{key: m["graph"][key] for key in ("family", "n", "m")},
        **{key: m["memory"][key] for key in ("peak_bytes", "working_bytes", "device_bytes")},
        "status": record.status,
        "reason": proof["reason"] if record.status == "wrong" else m["reason"],
        "grade": CLAIMED if proof.get("claimed") else proof.get("grade"),
        "processes": compute.count,
        "samples": sum(map(len, m["samples"]["compute"])),
        "compute_seconds": compute.median,
        "compute_low": compute.low,
        "compute_high": compute.high,
        "spread": compute.spread,
        "init_seconds": init,
        "transfer_seconds": transfer,
        "call_seconds": call,
        "edges_per_second": m["graph"]["m"] / compute.median if compute.median else None,
        "energy_joules": energy["joules"] if covers_processor else None,
        "weight": forest.get("weight"),
        "components": forest.get("components"),
        "flags": ",".join(flags),
        "oversubscribed": "oversubscribed" in flags,
        "cpu": machine["cpu"],
        "gpu": ", ".join(machine["gpus"]),
        "machine_fingerprint": machine["fingerprint"],
        "commit": (m["git"] or {}).get("commit"),
        "source_fingerprint": run["source_fingerprint"],
        "created": m["created"],
        "origin": record.origin,
    }
