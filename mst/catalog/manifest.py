"""The manifest of a canonical graph: a small JSON file beside it, which the workflow reads instead of the graph."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, NonNegativeInt, ValidationError, model_validator

from mst.catalog.entry import Number, Sha256
from mst.errors import FormatError, UnavailableError, reading
from mst.facts import Facts
from mst.yaml_models import StrictModel, mistakes


class Check(StrictModel):
    """A published number, and the one found."""

    by: str
    quantity: str
    published: Number | str
    found: Number | str
    agrees: bool

    def __str__(self) -> str:
        return f"{self.by} gives {self.quantity} = {self.published}, this graph has {self.found}"


class Tried(StrictModel):
    """A location that did not have the file, and why."""

    location: str
    reason: str


class Raw(StrictModel, strict=False):
    """The raw file that a graph was read from.

    Attributes
    ----------
    location : str
        The mirror's file or the official address.
    sha256 : str
    bytes : int
    check : str
        ``published``, ``recorded`` or ``first``: see `mst.catalog.download.Fetched`.
    format : str
    member : str, optional
        The file inside an archive.
    rows : int
        Edge entries in the file.
    ids : str
        How vertices are numbered, and whether the file's ids were compacted.
    remarks : tuple of str
        Assumptions of the reader.
    """

    location: str
    sha256: Sha256
    bytes: int
    check: Literal["published", "recorded", "first"]
    format: str
    member: str | None = None
    rows: int
    ids: str
    remarks: tuple[str, ...] = ()


class Manifest(StrictModel, strict=False):
    """Facts about a canonical graph, readable without opening it.

    Attributes
    ----------
    status : str
        ``ok``, or ``unavailable`` with `reason` and `tried`; then the counts are None and there is no graph.
    m : int
        Undirected edges.
    weight_min, weight_max : number, optional
        None for a graph without edges.
    merged : dict of str to int
        Loops and parallel edges removed, as in `mst.simplify.MergeCounts`.
    digest : str
        Of the canonical graph's content: equal digests are equal graphs.
    bytes : int
        Size of the canonical file.
    seconds : dict of str to float
        Wall time by part.
    checks : tuple of Check
        Every published number that can be compared.
    """

    version: Literal[1] = 1
    name: str
    family: str
    recipe: str
    status: Literal["ok", "unavailable"]
    reason: str | None = None
    tried: tuple[Tried, ...] = ()
    n: NonNegativeInt | None = None
    m: NonNegativeInt | None = None
    components: NonNegativeInt | None = None
    average_degree: float | None = None
    maximum_degree: NonNegativeInt | None = None
    weight_dtype: str | None = None
    weight_min: Number | None = None
    weight_max: Number | None = None
    weights: str | None = None
    merged: dict[str, int] = Field({})
    raw: Raw | None = None
    generator: dict[str, Any] | None = None
    digest: str | None = None
    bytes: NonNegativeInt | None = None
    seconds: dict[str, float] = Field({})
    checks: tuple[Check, ...] = ()

    @model_validator(mode="after")
    def _check_whole(self) -> Manifest:
        if (self.weight_min is None) != (self.weight_max is None):
            raise ValueError("weight_min and weight_max are given together")
        if not isinstance((self.generator or {}).get("parameters") or {}, dict):
            raise ValueError("generator.parameters must be a mapping")
        return self

    @property
    def mismatches(self) -> tuple[Check, ...]:
        """The published numbers that the graph does not have."""
        return tuple(check for check in self.checks if not check.agrees)

    @property
    def absence(self) -> str:
        """Every location that was tried for an unavailable graph, with its reason, in one line."""
        return "; ".join(f"{each.location}: {each.reason}" for each in self.tried) or self.reason or ""

    def refusal(self, *, is_own: bool) -> str:
        """Return why the graph is unavailable, and the remedy unless it `is_own` (`mst.catalog.entry.Entry`)."""
        remedy = "" if is_own else f"; `mst retry --scope graphs/{self.name}` lets the next call try again"
        return f"{self.name}: unavailable: {self.absence}{remedy}"

    def facts(self) -> Facts:
        """Return the facts by which algorithms decide whether they take the graph.

        Raises
        ------
        UnavailableError
            There is no graph.
        """
        if self.n is None or self.m is None or self.weight_dtype is None:
            raise UnavailableError(f"{self.name} is unavailable: {self.reason}")
        return Facts.of_manifest(dict(self))


def read_manifest(path: str | os.PathLike) -> Manifest:
    """Read the manifest at `path`, or in the folder `path`."""
    file = Path(path)
    if file.is_dir():
        file = file / "manifest.json"
    with reading(file):
        content = file.read_bytes()
    try:
        return Manifest.model_validate_json(content)
    except ValidationError as error:
        raise FormatError(
            file,
            f"not a manifest of this version of mst; move a damaged file away, and it is made again: "
            f"{mistakes(error, Manifest)[0]}",
        ) from None
