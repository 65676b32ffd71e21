"""Batches: the runs on one graph that a job measures in turn, and the files that list their records.

Whenever some of its runs are missing, a batch gets a new folder, numbered from one:
``batches/<machine>/<graph>/<part>/<number>`` with ``measured.json`` and, after the proofs, ``proved.json``. Both list
the records of the batch. The workflow engine sees these files, since it must know a job's outputs before it knows the
graph, whose content is in the names of the records (docs/design-notes/workflow.md).
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mst.bench.planning.plan import Planned
from mst.bench.records.schema import read_json
from mst.bench.records.store import proof_path, write_json
from mst.errors import InputError

BATCHES = "batches"
MEASURED, PROVED = "measured.json", "proved.json"
TOGETHER = "all"
"""Part of the runs that share a job, unless they need a layout of ranks or a software environment of their own."""


@dataclass(frozen=True)
class Batch:
    """Runs on one graph that a job measures in turn.

    The part is `TOGETHER`, a layout of ranks on a cluster's nodes, or a software environment. `possible` has the rows
    that the machine can run if the graph allows it; `rows` has all rows of this part, as planned for the graph on disk.
    """

    machine: str
    graph: str
    part: str
    possible: tuple[Planned, ...] = ()
    rows: tuple[Planned, ...] = ()

    @property
    def subfolder(self) -> Path:
        """The batch's folder below that of all batches."""
        return Path(self.machine, self.graph, self.part)


def part_of(row: Planned, *, apart: bool = False) -> str:
    """Return the part of a run's batch; with `apart` each software environment (file in ``envs/``) has its own."""
    environment = row.paradigm if row.paradigm in ("cuda", "mpi") else "cpu"
    return row.layout or (environment if apart else TOGETHER)


def batches(possible: Iterable[Planned], rows: Iterable[Planned], *, apart: bool = False) -> list[Batch]:
    """Return the batches of a plan; with `apart`, software environments differ between paradigms.

    `possible` is the plan without any graph: its ``waiting`` rows decide which batches there are, independently of the
    graphs to be. `rows` is the plan with the graphs that are on disk.
    """

    def grouped(chosen: Iterable[Planned]) -> dict[tuple[str, str, str], list[Planned]]:
        groups: dict[tuple[str, str, str], list[Planned]] = {}
        for row in chosen:
            groups.setdefault((row.machine, row.graph, part_of(row, apart=apart)), []).append(row)
        return groups

    of_plan = grouped(rows)
    return [
        Batch(*key, possible=tuple(found), rows=tuple(of_plan.get(key, ())))
        for key, found in grouped(row for row in possible if row.status == "waiting").items()
    ]


def folder_of(batch: Batch, records: Path, own: Path, others: Sequence[Path] = ()) -> Path:
    """Return the batch's folder: the latest that lists all its records, or the next one to fill.

    It is below `own`, the folder of the scope's batches, or below one of `others`, whose scopes may have measured the
    same runs.
    """
    numbered = _numbered(own / batch.subfolder)
    unfinished = numbered[-1] if numbered and not (numbered[-1] / PROVED).is_file() else None
    following = own / batch.subfolder / str(int(numbered[-1].name) + 1 if numbered else 1)
    missing = [row.run for row in batch.rows if row.run and row.status == "planned"]
    if missing or any(row.status == "waiting" for row in batch.rows):
        if unfinished and (unfinished / MEASURED).is_file():
            # Only proofs are missing if its records are all there.
            return unfinished if all((records / r.path).is_file() for r in missing) else following
        return unfinished or following
    wanted = {str(row.run.path) for row in batch.rows if row.run}
    scopes = [own, *(other for other in others if other != own)]
    for folder in (found for scope in scopes for found in reversed(_numbered(scope / batch.subfolder))):
        if (folder / PROVED).is_file() and wanted <= _listed(folder / PROVED):
            return folder
    return unfinished or following


def _numbered(folder: Path) -> list[Path]:
    """Return the numbered folders of a batch, oldest first."""
    if not folder.is_dir():
        return []
    return sorted((f for f in folder.iterdir() if f.name.isdigit()), key=lambda number: int(number.name))


@functools.cache
def _listed(index: Path) -> set[str]:
    """Return the records that an index lists, none if it is damaged; kept, since an index is written only once."""
    with suppress(InputError):
        return set(read_json(index, "runs")["runs"])
    return set()


def write_index(index: Path, records: Path, runs: Iterable[str]) -> None:
    """Write the digests of the runs' records, and of their proofs, by the records' paths.

    The file changes whenever one of them is made again.
    """
    listed: dict[str, Any] = {}
    for run in runs:
        files = [file for file in (records / run, proof_path(records / run)) if file.is_file()]
        listed[run] = [hashlib.sha256(file.read_bytes()).hexdigest()[:12] for file in files]
    write_json(index, {"runs": listed})
