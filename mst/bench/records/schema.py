"""Strict models of records: measurements and proofs are checked against them on import and on every read.

Keys, types and ranges are those of ``docs/records.md``; the first mistakes are named. Numbers are real: ``NaN`` and
numbers without a finite double are refused anywhere in a document.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import lru_cache
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import from_json, to_json

from mst import errors
from mst.algorithm_files import PARADIGMS
from mst.bench.machine import Hardware
from mst.errors import InputError
from mst.yaml_models import Model, StrictModel, mistakes

MEASUREMENT_VERSION = 2
PROOF_VERSION = 1

Integer = Annotated[int, Field(ge=-(2**63), lt=2**63)]  # as the table holds them
Count = Annotated[Integer, Field(ge=0)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Real = Annotated[float, Field(allow_inf_nan=False)]
Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Fingerprint = Annotated[str, Field(pattern="^[0-9a-f]{12}$")]
_TIME = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?\+00:00$"  # texts of one zone are in the order of time
Time = Annotated[str, Field(pattern=_TIME), AfterValidator(datetime.fromisoformat)]
Samples = list[list[Seconds]]


class RunFacts(StrictModel):
    """The run that was measured."""

    machine: str
    graph: str
    algorithm: str
    title: str
    paradigm: Literal[PARADIGMS]  # type: ignore[valid-type]
    paper: str | None
    options: str
    all_options: dict[str, bool | int | Real | str]
    width: Annotated[Integer, Field(ge=1)]
    layout: str
    fingerprint: Fingerprint
    source_fingerprint: Fingerprint
    exact: bool
    ties: Literal["order", "any"]


class GraphFacts(StrictModel):
    """The graph it was measured on."""

    name: str
    n: Count
    m: Count
    family: str | None
    digest: Digest
    recipe: str | None
    weight_dtype: str | None


class SampleTimes(StrictModel):
    """Seconds by stage, one list per process."""

    compute: Samples
    warmup: Samples
    init: Samples
    transfer: Samples
    call: Samples = Field([])
    call_on_device: Samples = Field([])


class Memory(StrictModel):
    """Bytes."""

    peak_bytes: Count | None
    working_bytes: Integer | None
    working_by_process: list[Integer]
    tree_bytes: Count
    device_bytes: Count | None
    ranks_peak_bytes: Count | None


class Energy(StrictModel):
    """Joules of one solve."""

    joules: Seconds
    domains: dict[str, Real]


class ForestFacts(StrictModel):
    """The forest returned; for a program that only prints a total, its weight."""

    edges: Count | None
    components: Count | None
    weight: str
    digest: Digest | None


class MachineFacts(StrictModel):
    """A machine, as in `mst.bench.machine.Hardware`, and the fingerprint of these facts."""

    cpu: str
    sockets: Count
    cores: Count
    hardware_threads: Count
    memory_gib: Count
    gpus: list[str]
    driver: str | None
    fingerprint: Fingerprint

    @model_validator(mode="after")
    def _check_fingerprint(self) -> MachineFacts:
        facts = self.model_dump(exclude={"fingerprint"}) | {"gpus": tuple(self.gpus)}
        if _machine_fingerprint(**facts) != self.fingerprint:
            raise ValueError("its fingerprint does not match its facts")
        return self


@lru_cache(maxsize=1024, typed=True)
def _machine_fingerprint(**facts: Any) -> str:
    # All records of a machine have the same facts.
    return Hardware(**facts).fingerprint


class Conditions(BaseModel):
    """The conditions of a measurement; only the flags are checked."""

    model_config = ConfigDict(extra="allow", strict=True)

    flags: list[str]


class Commit(StrictModel):
    """The version of the code."""

    commit: str
    dirty: bool


class Measurement(StrictModel):
    """One JSON file of a run."""

    schema_: int = Field(alias="schema")
    run: RunFacts
    graph: GraphFacts
    status: Literal["ok", "timeout", "out-of-memory", "error"]
    reason: str | None
    detail: str | None
    samples: SampleTimes
    phases: list[dict[str, Real]]
    counters: list[dict[str, Any]]
    memory: Memory
    energy: Energy | None
    forest: ForestFacts | None
    threads: Count | None
    ranks: dict[str, Any] | None
    threading: dict[str, Any] | None
    affinity: list[Count] | None = None
    machine: MachineFacts
    conditions: Conditions
    versions: dict[str, str]
    git: Commit | None
    measure: dict[str, bool | int | Real]
    seconds: Seconds
    spans: list[list[str]]
    started: Time
    created: Time

    @model_validator(mode="after")
    def _check_samples(self) -> Measurement:
        measured = self.samples.compute and all(self.samples.compute)
        if self.status == "ok" and not (measured and self.forest):
            raise ValueError("status ok needs samples of every process and a forest")
        return self


class ProofFacts(StrictModel):
    """The proof beside a measurement."""

    schema_: int = Field(alias="schema")
    record: str
    status: Literal["ok", "wrong", "unproved"]
    grade: Literal["identical", "edges", "weight"] | None
    reason: str | None
    reference_digest: Digest
    seconds: Seconds
    claimed: bool = Field(False, description="made elsewhere, and not repeated here")

    @model_validator(mode="after")
    def _check_grade(self) -> ProofFacts:
        if self.status != "wrong" and (self.status == "ok") != (self.grade is not None):
            raise ValueError(f"status {self.status} contradicts grade {self.grade}")
        return self


def parse_json(text: str | bytes) -> dict[str, Any]:
    """Return the object in a JSON text; refuse numbers that are not real.

    The words of its `InputError` follow the name of a file.
    """
    try:
        # Four times as fast as json.loads, but 1e999 becomes infinite: json.loads decides whenever this refuses.
        with suppress(ValueError):
            value = from_json(text, allow_inf_nan=False)
            if isinstance(value, dict) and b"Infinity" not in to_json(value, inf_nan_mode="constants"):
                return value
        value = json.loads(text, parse_constant=_real, parse_float=_real)
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON: {str(error) or type(error).__name__}") from None
    if not isinstance(value, dict):
        raise InputError("not a JSON object")
    return value


def read_json(path: Path, *keys: str) -> dict[str, Any]:
    """Return the object, with these keys, in a JSON file of the results; `InputError` says how to go on without it."""
    with reading(path, "move a damaged file away, and it is made again"):
        value = parse_json(path.read_bytes())
        if missing := [key for key in keys if key not in value]:
            raise InputError(f"it lacks {', '.join(missing)}")
    return value


@contextmanager
def reading(path: Path, remedy: str) -> Iterator[None]:
    """Make errors of reading a file name it; `InputError` says how to go on without it."""
    with errors.reading(path):
        try:
            yield
        except InputError as error:
            raise InputError(f"{path}: {error}; {remedy}") from None


def check_proof(value: Mapping[str, Any], measurement: Mapping[str, Any]) -> None:
    """Refuse all but a proof of this measurement; raise `InputError` as `parse_json` does."""
    check_version(value, PROOF_VERSION, "proof")
    valid(ProofFacts, value, "proof")
    if value["status"] == "ok" and measurement["status"] != "ok":
        raise InputError(f"not its proof: the run ended as {measurement['status']}")
    forest = measurement["forest"] or {}
    if value["grade"] == "identical" and forest.get("digest") != value["reference_digest"]:
        raise InputError("not its proof: grade identical, but the digests of forest and reference differ")


def check_version(value: Mapping[str, Any], known: int, kind: str) -> None:
    """Raise `InputError` unless a document states the known version of its schema."""
    version = value.get("schema")
    if type(version) is not int or version != known:
        remedy = ": update mst" if type(version) is int and version > known else ""
        raise InputError(f"a {kind} of schema {version!r:.40}, but this mst knows {known}{remedy}")


def valid(model: type[Model], value: Mapping[str, Any], kind: str) -> Model:
    """Return a document as its model, or raise `InputError` as `parse_json` does."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise InputError(f"not a {kind}: {'; '.join(mistakes(error, model))}") from None


def _real(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise ValueError(f"{text:.40} is not a real number")
    return number
