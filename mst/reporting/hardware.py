"""Kinds of hardware that the report compares, as subsets of the prepared rows of `mst.reporting.data`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from mst import registry

if TYPE_CHECKING:
    import pandas as pd


@cache
def on_gpus() -> frozenset[str]:
    """Return the ids of algorithms that need a GPU."""
    return frozenset(a.id for a in registry.algorithms().values() if a.uses_gpu)


def _on_cores(rows: pd.DataFrame) -> pd.Series:
    return rows["paradigm"].isin(["sequential", "threads", "peer"]) & ~rows["on_gpu"]


def _on_one_core(rows: pd.DataFrame) -> pd.Series:
    return _on_cores(rows) & (rows["width"] == 1)


@dataclass(frozen=True)
class HardwareKind:
    """A kind of hardware: our algorithm for it, the paradigms that need it, and which rows use it."""

    id: str
    name: str
    ours: str
    paradigms: tuple[str, ...]
    uses: Callable[[pd.DataFrame], pd.Series]

    def of(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return the rows that use it; for many cores, only graphs on which some run used several."""
        own = rows[self.uses(rows)]
        several = own.groupby(["machine", "graph"])["width"].transform("max") > 1
        return own[several] if self.id == "cores" else own


HARDWARE_KINDS = (
    HardwareKind("core", "One core", "filter-boruvka", ("sequential",), _on_one_core),
    HardwareKind("cores", "Many cores", "filter-boruvka-threads", ("threads",), _on_cores),
    HardwareKind("gpu", "GPU", "filter-boruvka-cuda", ("cuda",), lambda rows: rows["on_gpu"]),
    HardwareKind("mpi", "MPI", "filter-boruvka-mpi", ("mpi",), lambda rows: rows["paradigm"] == "mpi"),
)
