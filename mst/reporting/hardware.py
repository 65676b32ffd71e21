"""Kinds of hardware and of algorithms that the report compares."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from mst import registry

Row = Mapping[str, Any]


@cache
def approximate() -> frozenset[str]:
    """Return the ids of algorithms whose forests may be heavier than the minimum, within a bound."""
    return frozenset(a.id for a in registry.algorithms().values() if not a.exact)


def is_library(row: Row) -> bool:
    """Return whether a run is of a third-party library that Python can call, which a program on disk is not."""
    return row["paradigm"] == "peer" and not row["algorithm"].startswith("command-")


def on_gpu(row: Row) -> bool:
    """Return whether a run used a GPU."""
    needs = getattr(registry.algorithms().get(row["algorithm"]), "requires", ())
    return row["paradigm"] == "cuda" or bool({"cupy", "pylibcugraph"} & set(needs))


def _on_cores(row: Row) -> bool:
    return row["paradigm"] in ("sequential", "threads", "peer") and not on_gpu(row)


@dataclass(frozen=True)
class Hardware:
    """A kind of hardware.

    Attributes
    ----------
    ours : str
        Our algorithm for it.
    paradigms : tuple of str
        Planned runs of these paradigms need it.
    uses : callable
        Whether a run counts as its use.
    """

    id: str
    name: str
    ours: str
    paradigms: tuple[str, ...]
    uses: Callable[[Row], bool]


HARDWARE = (
    Hardware(
        "core", "One core", "filter-boruvka", ("sequential",), lambda row: _on_cores(row) and row["width"] == 1
    ),
    Hardware("cores", "Many cores", "filter-boruvka-threads", ("threads",), _on_cores),
    Hardware("gpu", "GPU", "filter-boruvka-cuda", ("cuda",), on_gpu),
    Hardware("mpi", "MPI", "filter-boruvka-mpi", ("mpi",), lambda row: row["paradigm"] == "mpi"),
)


def named(row: Row) -> str:
    """Return a run's algorithm with the options that differ from its defaults."""
    return row["algorithm"] + ("" if row["options"] == "default" else f" [{row['options']}]")


def seconds_of(row: Row) -> float:
    """Return the median time of a run."""
    return row["compute_seconds"]


def fastest_by(rows: Iterable[Row], key: Callable[[Row], Any]) -> dict[Any, Row]:
    """Return the fastest run for each value of a key, in the order of their first runs."""
    best: dict[Any, Row] = {}
    for row in rows:
        if key(row) not in best or seconds_of(row) < seconds_of(best[key(row)]):
            best[key(row)] = row
    return best


def fastest_of_each(rows: Iterable[Row]) -> dict[str, Row]:
    """Return the fastest run on each graph."""
    return fastest_by(rows, lambda row: row["graph"])
