"""The tidy table: one row for each record, and for each planned run that was not possible; Parquet and CSV."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from mst.atomic import replacing
from mst.reporting.rows import rows_of

KEY = ("machine", "graph", "algorithm", "options", "width", "layout")
NOT_RUN = ("unsupported", "unavailable")

_SET_ASIDE = b"set_aside"

# In their order, by type: stated types keep a column's type the same when it is empty.
_TYPES = (
    ("string", "machine graph family"),
    ("int64", "n m"),
    ("string", "algorithm title paradigm options"),
    ("int64", "width"),
    ("string", "layout fingerprint status reason grade"),
    ("int64", "processes samples"),
    ("float64", "compute_seconds compute_low compute_high spread init_seconds transfer_seconds call_seconds"),
    ("float64", "edges_per_second"),
    ("int64", "peak_bytes working_bytes device_bytes"),
    ("float64", "energy_joules"),
    ("string", "weight"),
    ("int64", "components"),
    ("string", "flags"),
    ("bool", "oversubscribed"),
    ("string", "cpu gpu machine_fingerprint commit created origin"),
    ("bool", "current"),
)
COLUMNS = {name: kind for kind, names in _TYPES for name in names.split()}
# Values of planned runs that were not possible, where the plan has none.
_BLANK = {"options": "default", "layout": "", "flags": "", "oversubscribed": False}


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

    Rows are kept beside it for the next call (see `mst.reporting.rows`).

    Parameters
    ----------
    records_folders, references : iterable of Path
        Folders of records, made here or committed. The same run in two of them is one row, the first folder's.
    plan_rows : iterable of mapping
        The plan, one mapping per run, with columns of the table as keys; unknown keys are ignored. A row whose
        status is ``unsupported`` or ``unavailable`` (with its reason) becomes a row of the table unless the run
        has a record. A row with a ``fingerprint`` says which version of the code and graph is the current one.
    only_planned : bool
        Leave out records of runs that are not in the plan; machine and width do not matter, so that other machines'
        records of the same runs stay.
    stand_ins : mapping of str to str, optional
        Stand-ins by the graphs that they replace: a run that is planned on a graph is planned on its stand-in, too.
    """
    plan = list(plan_rows)
    set_aside: list[str] = []
    folders = [*((f, "measured") for f in records_folders), *((f, "reference") for f in references)]
    kept = out_parquet.with_name(f".{out_parquet.stem}-rows.parquet")
    found = rows_of(folders, _schema(), kept, set_aside.append)
    keys = list(zip(*(found[name].to_pylist() for name in KEY), strict=True))
    versions: dict[tuple, int] = {}
    for place, version in enumerate(zip(keys, found["fingerprint"].to_pylist(), strict=True)):
        versions.setdefault(version, place)
    if only_planned:
        others = stand_ins or {}
        planned = {
            (graph, row["algorithm"], row["options"])
            for row in plan
            for graph in (row["graph"], others.get(row["graph"], row["graph"]))
        }
        versions = {version: place for version, place in versions.items() if version[0][1:4] in planned}
    wanted = {_key(row): row["fingerprint"] for row in plan if row.get("fingerprint")}
    current = _current(versions, wanted, found["created"].to_pylist())
    not_run = [
        {**_BLANK, **{name: value for name, value in row.items() if name in COLUMNS}, "current": True}
        for row in plan
        if row.get("status") in NOT_RUN and _key(row) not in current
    ]
    places = pa.array(versions.values(), pa.int64())
    marks = pa.array(np.isin(places, list(current.values())), pa.bool_())
    rows = found.take(places).set_column(found.num_columns - 1, _schema().field("current"), marks)
    table = pa.concat_tables([rows, pa.Table.from_pylist(not_run, _schema())])
    order = [(name, "ascending") for name in (*KEY[:5], "created")]
    table = table.take(pc.sort_indices(table, sort_keys=order))
    table = table.replace_schema_metadata({_SET_ASIDE: json.dumps(set_aside).encode()})
    for path, write in ((out_parquet, pq.write_table), (out_csv, pyarrow.csv.write_csv)):
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as temporary:
            write(table, temporary)
    return len(table)


def set_aside_of(table: Path) -> list[str]:
    """Return the files of records that a table leaves out, each with the reason."""
    return json.loads((pq.read_schema(table).metadata or {}).get(_SET_ASIDE, b"[]"))


def _current(
    versions: Mapping[tuple, int], wanted: Mapping[tuple, str], created: Sequence[str]
) -> dict[tuple, int]:
    """Return the place of one version of each run: the planned one if it was measured, else the newest."""
    best: dict[tuple, tuple] = {}
    for (key, fingerprint), place in versions.items():
        rank = (fingerprint == wanted.get(key), created[place], fingerprint, place)
        best[key] = max(rank, best.get(key, rank))
    return {key: rank[-1] for key, rank in best.items()}


def _key(row: Mapping[str, Any]) -> tuple:
    return tuple(row.get(name) or "" for name in KEY)


def _schema() -> pa.Schema:
    return pa.schema([(name, pa.type_for_alias(kind)) for name, kind in COLUMNS.items()])
