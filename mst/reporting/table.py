"""The tidy table: one row for each record, and for each planned run that was not possible; Parquet and CSV."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mst.atomic import replacing
from mst.reporting.rows import rows_of

if TYPE_CHECKING:
    import pyarrow as pa

KEY = ("machine", "graph", "algorithm", "options", "width", "layout")
NOT_RUN = ("unsupported", "unavailable")

_SET_ASIDE = b"set_aside"

# Stated types keep a column's type the same when it is empty.
COLUMNS = {
    "machine": "string",
    "graph": "string",
    "family": "string",
    "n": "int64",
    "m": "int64",
    "algorithm": "string",
    "title": "string",
    "paradigm": "string",
    "options": "string",
    "width": "int64",
    "layout": "string",
    "fingerprint": "string",
    "status": "string",
    "reason": "string",
    "grade": "string",
    "processes": "int64",
    "samples": "int64",
    "compute_seconds": "float64",
    "compute_low": "float64",
    "compute_high": "float64",
    "spread": "float64",
    "init_seconds": "float64",
    "transfer_seconds": "float64",
    "edges_per_second": "float64",
    "peak_bytes": "int64",
    "working_bytes": "int64",
    "device_bytes": "int64",
    "energy_joules": "float64",
    "weight": "string",
    "components": "int64",
    "flags": "string",
    "oversubscribed": "bool",
    "cpu": "string",
    "gpu": "string",
    "machine_fingerprint": "string",
    "commit": "string",
    "created": "string",
    "origin": "string",
    "current": "bool",
}


def write_table(
    records_folders: Iterable[Path],
    plan_rows: Iterable[Mapping[str, Any]],
    out_parquet: Path,
    out_csv: Path,
    *,
    only_planned: bool = False,
    references: Iterable[Path] = (),
    stand_ins: Mapping[str, str] | None = None,
) -> int:
    """Write the tidy table of every record and of every planned run that was not possible; return its row count.

    Parameters
    ----------
    records_folders : iterable of Path
        Folders of records (``results/records``, ``results/reference``, …). The same run in two of them is
        one row, the first folder's.
    plan_rows : iterable of mapping
        The plan, one mapping per run, with columns of the table as keys; unknown keys are ignored. A row whose
        status is ``unsupported`` or ``unavailable`` (with its reason) becomes a row of the table unless the run
        has a record. A row with a ``fingerprint`` says which version of the code and graph is the current one.
    out_parquet, out_csv : Path
        Where the table goes, twice. Rows are kept beside it for the next call (see `mst.reporting.rows`).
    only_planned : bool
        Leave out records of runs that are not in the plan; machine and width do not matter, so that other machines'
        records of the same runs stay.
    references : iterable of Path
        Folders of committed records: their origin is ``reference``.
    stand_ins : mapping of str to str, optional
        Stand-ins by the graphs that they replace: a run that is planned on a graph is planned on its stand-in, too.
    """
    plan = [dict(row) for row in plan_rows]
    set_aside: list[str] = []
    folders = [*((f, "measured") for f in records_folders), *((f, "reference") for f in references)]
    kept = out_parquet.with_name(f".{out_parquet.stem}-rows.parquet")
    rows = _distinct(rows_of(folders, _schema(), kept, set_aside.append))
    if only_planned:
        others = stand_ins or {}
        planned = {
            (graph, row["algorithm"], row["options"])
            for row in plan
            for graph in (row["graph"], others.get(row["graph"], row["graph"]))
        }
        rows = [row for row in rows if (row["graph"], row["algorithm"], row["options"]) in planned]
    wanted = {_key(row): row["fingerprint"] for row in plan if row.get("fingerprint")}
    _mark_current(rows, wanted)
    measured = {_key(row) for row in rows}
    for row in plan:
        if row.get("status") in NOT_RUN and _key(row) not in measured:
            rows.append({**_blank(), **{k: v for k, v in row.items() if k in COLUMNS}, "current": True})
    rows.sort(key=lambda row: (*map(str, _key(row)[:4]), row["width"] or 0, row["created"] or ""))
    _write(rows, out_parquet, out_csv, set_aside)
    return len(rows)


def set_aside_of(table: Path) -> list[str]:
    """Return the files of records that a table leaves out, each with the reason."""
    import pyarrow.parquet as pq

    return json.loads((pq.read_schema(table).metadata or {}).get(_SET_ASIDE, b"[]"))


def _distinct(found: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    rows: dict[tuple, dict[str, Any]] = {}
    for row in found:
        rows.setdefault((*_key(row), row["fingerprint"]), {**_blank(), **row})
    return list(rows.values())


def _mark_current(rows: Sequence[dict[str, Any]], wanted: Mapping[tuple, str]) -> None:
    """Mark one version of each run: the planned one if it was measured, else the newest."""
    versions: dict[tuple, list[dict[str, Any]]] = {}
    for row in rows:
        row["current"] = False
        versions.setdefault(_key(row), []).append(row)
    for key, same in versions.items():
        planned = [row for row in same if row["fingerprint"] == wanted.get(key)]
        max(planned or same, key=lambda row: (row["created"], row["fingerprint"]))["current"] = True


def _key(row: Mapping[str, Any]) -> tuple:
    return tuple(row.get(name) or "" for name in KEY)


def _blank() -> dict[str, Any]:
    return {**dict.fromkeys(COLUMNS), "options": "default", "layout": "", "flags": "", "oversubscribed": False}


def _schema() -> pa.Schema:
    import pyarrow as pa

    return pa.schema([(name, pa.type_for_alias(kind)) for name, kind in COLUMNS.items()])


def _write(rows: list[dict[str, Any]], out_parquet: Path, out_csv: Path, set_aside: Sequence[str]) -> None:
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet as pq

    schema = _schema().with_metadata({_SET_ASIDE: json.dumps(list(set_aside)).encode()})
    table = pa.Table.from_pylist(rows, schema=schema)
    for path in (out_parquet, out_csv):
        path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(out_parquet) as temporary:
        pq.write_table(table, temporary)
    with replacing(out_csv) as temporary:
        pa.csv.write_csv(table, temporary)
