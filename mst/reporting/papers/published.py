"""Published tables: the numbers that the papers printed (`report/published`)."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import isnan, nan
from typing import Literal

from pydantic import Field

from mst import resources
from mst.errors import ConfigError, nearest
from mst.yaml_models import StrictModel, parse, read_yaml


class Missing(Exception):
    """A formula needs a number that was not measured; the message names it, and the reason if known."""


class PublishedTable(StrictModel):
    """One table of ``report/published/index.yaml``.

    ``values`` maps quantities to columns and their selections, ``{quantity: {column: selection}}``, or lists of
    selections with the same numbers; a selection may refer to columns of its row (``ghs-mpi@{ranks}``). Phases are
    rows: their column ``phase`` is the name. ``facts`` maps facts of graphs to columns; a column ``arcs`` counts every
    edge twice.
    """

    paper: str
    place: str
    machine: str | None = None
    key: list[str]
    unit: Literal["s", "ms", "µs", "", "%"] = ""
    values: dict[str, dict[str, str | list[str]]] = Field(default_factory=dict)
    facts: dict[str, str] = Field(default_factory=dict)
    note: str = ""


SCALE = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "%": 0.01, "": 1.0}


@dataclass(frozen=True)
class PublishedNumbers:
    """A published table with its rows, as they were printed."""

    id: str
    about: PublishedTable
    rows: tuple[Mapping[str, str], ...]

    def number(self, column: str, row: tuple[str, ...]) -> float:
        """Return one number, in the unit of the table; raise `Missing` if the cell is empty."""
        for found in self.rows:
            if tuple(found[k] for k in self.about.key[: len(row)]) == row:
                if column not in found:
                    raise ConfigError(f"published/{self.id}: no column {column!r}{nearest(column, found)}")
                if isnan(value := as_number(found[column])):
                    raise Missing(f"{self.about.place} prints no {column} of {', '.join(row)}")
                return value
        raise Missing(f"{self.about.place} has no row {', '.join(row)}")


@cache
def published_tables() -> dict[str, PublishedTable]:
    """Return the description of every published table, by id."""
    file = resources.path("report/published/index.yaml")
    return {name: parse(PublishedTable, value, f"{file}: {name}") for name, value in read_yaml(file).items()}


@cache
def published(table: str) -> PublishedNumbers:
    """Return a published table, or raise `ConfigError` with the nearest known one."""
    known = published_tables()
    if table not in known:
        raise ConfigError(f"no published table {table!r}{nearest(table, known)}")
    with resources.path(f"report/published/{table}.csv").open(newline="", encoding="utf-8") as file:
        return PublishedNumbers(table, known[table], tuple(csv.DictReader(file)))


def as_number(text: str | None) -> float:
    """Return the number in a cell of a table; NaN if it holds none."""
    try:
        return float(text or "nan")
    except ValueError:
        return nan
