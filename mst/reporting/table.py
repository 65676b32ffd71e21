"""The tidy table, in Parquet and CSV: a row for each record, and for each planned run that was impossible.

Rows of records are kept in a file, so that only new and changed records have to be read.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from mst import registry
from mst.atomic import replacing
from mst.bench import statistics
from mst.bench.records import schema as record_schema
from mst.bench.records import store
from mst.cores import granted_cores
from mst.reporting.processes import MOST, processes

KEY = ("machine", "graph", "algorithm", "options", "width", "layout")
NOT_RUN = ("unsupported", "unavailable")

CHUNK = 2_000  # records that a process reads at once
AHEAD = 5  # fewest chunks for several processes
_SETTLED = 2.0  # seconds after which another change of a file has another time stamp, on any file system
_PATH, _STATE = "_path", "_state"
_VERSION, _SET_ASIDE = b"version", b"set_aside"

File = tuple[str, str, str]
"""Path of a measurement, its origin, and the state from which its kept row was made (empty if there is none)."""
Chunk = tuple[list[str], pa.Table, list[str]]
"""Paths of the measurements that have a row, the rows that were made anew, and why other records are left out."""

# In order, by type; without a stated type, the type of an empty column would be unknown.
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
    ("string", "cpu gpu machine_fingerprint commit source_fingerprint created origin"),
    ("bool", "current"),
)
COLUMNS = {name: kind for kind, names in _TYPES for name in names.split()}
# Values for impossible runs where the plan has none.
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
    """Write the tidy table of all records and of all planned runs that were impossible; return the number of rows.

    Rows are kept beside the table for the next call (see `rows_of`). If the same run is in several folders of records,
    made here or committed (`references`), the first folder's counts. The plan has a mapping per run, whose keys are
    columns of the table; other keys are ignored. A planned run with the status ``unsupported`` or ``unavailable``
    becomes a row of the table, with its reason, unless it has a record; one with a ``fingerprint`` states the current
    version of code and graph. With `only_planned`, records of runs that are not planned are left out, whatever their
    machine and width; so other machines' records of planned runs stay. A run that is planned on a graph is also planned
    on the graph's stand-in.
    """
    plan = list(plan_rows)
    set_aside: list[str] = []
    folders = [*((f, "measured") for f in records_folders), *((f, "reference") for f in references)]
    kept = out_parquet.with_name(f".{out_parquet.stem}-rows.parquet")
    records = rows_of(folders, _schema(), kept, set_aside.append)
    keys = list(zip(*(records[name].to_pylist() for name in KEY), strict=True))
    versions: dict[tuple, int] = {}
    for row, version in enumerate(zip(keys, records["fingerprint"].to_pylist(), strict=True)):
        versions.setdefault(version, row)
    if only_planned:
        others = stand_ins or {}
        planned = {
            (graph, run["algorithm"], run["options"])
            for run in plan
            for graph in (run["graph"], others.get(run["graph"], run["graph"]))
        }
        versions = {version: row for version, row in versions.items() if version[0][1:4] in planned}
    wanted = {_key(run): run["fingerprint"] for run in plan if run.get("fingerprint")}
    codes, created = records["source_fingerprint"].to_pylist(), records["created"].to_pylist()
    current = _current(versions, wanted, codes, created)
    not_run = [
        {**_BLANK, **{name: value for name, value in run.items() if name in COLUMNS}, "current": True}
        for run in plan
        if run.get("status") in NOT_RUN and _key(run) not in current
    ]
    rows = pa.array(versions.values(), pa.int64())
    marks = pa.array(np.isin(rows, list(current.values())), pa.bool_())
    chosen = records.take(rows).set_column(records.num_columns - 1, _schema().field("current"), marks)
    table = pa.concat_tables([chosen, pa.Table.from_pylist(not_run, _schema())])
    order = [(name, "ascending") for name in (*KEY[:5], "created")]
    table = table.take(pc.sort_indices(table, sort_keys=order))
    table = table.replace_schema_metadata({_SET_ASIDE: json.dumps(set_aside).encode()})
    for path, write in ((out_parquet, pq.write_table), (out_csv, pyarrow.csv.write_csv)):
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as temporary:
            write(table, temporary)
    return len(table)


def code_versions() -> dict[str, str]:
    """Return the fingerprint of every algorithm's present code."""
    return {a.id: a.source_fingerprint() for a in registry.algorithms().values()}


def set_aside_of(table: Path) -> list[str]:
    """Return why records are left out of a table, each reason with the file."""
    return json.loads((pq.read_schema(table).metadata or {}).get(_SET_ASIDE, b"[]"))


def _current(
    versions: Mapping[tuple, int], wanted: Mapping[tuple, str], codes: Sequence[str], created: Sequence[str]
) -> dict[tuple, int]:
    """Return the current row of each run: the planned version, else the newest of the present code, else the newest."""
    present = code_versions()
    best: dict[tuple, tuple] = {}
    for (key, fingerprint), row in versions.items():
        is_present = codes[row] == present.get(key[KEY.index("algorithm")])
        rank = (fingerprint == wanted.get(key), is_present, created[row], fingerprint, row)
        best[key] = max(rank, best.get(key, rank))
    return {key: rank[-1] for key, rank in best.items()}


def _key(row: Mapping[str, Any]) -> tuple:
    return tuple(row.get(name) or "" for name in KEY)


def _schema() -> pa.Schema:
    return pa.schema([(name, pa.type_for_alias(kind)) for name, kind in COLUMNS.items()])


def rows_of(
    folders: Iterable[tuple[Path, str]], columns: pa.Schema, kept_in: Path, set_aside: Callable[[str], None]
) -> pa.Table:
    """Return a row for each valid record in folders of records, folder by folder, sorted by path.

    A row is taken from the file of kept rows if its measurement and proof still have the same sizes, inodes and times,
    and the code that makes rows has not changed. A file that is missing, damaged or from other code is made again. It
    is replaced as a whole, so two processes may do this at once.

    `folders` are pairs of a folder and the origin of its rows; `columns` are the keys to keep of
    `mst.bench.records.store.table_row`, with their types. `set_aside` is called with the reason why a record, or its
    proof, is left out; such a record is read again each time.
    """
    version = _version(columns)
    columns = columns.append(pa.field(_PATH, pa.string())).append(pa.field(_STATE, pa.string()))
    kept = _load(kept_in, columns, version)
    states = dict(zip(kept[_PATH].to_pylist(), kept[_STATE].to_pylist(), strict=True))
    files = (
        (path, origin, states.get(path, ""))
        for folder, origin in folders
        for path in store.measurement_files(str(folder))
    )
    order: list[str] = []
    tables = [kept]
    for paths, made, reasons in _each(partial(_rows_of_chunk, columns=columns), files):
        order += paths
        tables.append(made)
        for reason in reasons:
            set_aside(reason)
    found = pa.concat_tables(tables)
    # Of several rows for a path, the last is valid.
    last = {path: row for row, path in enumerate(found[_PATH].to_pylist())}
    unchanged = len(found) == len(kept) == len(order)
    found = found.take(pa.array([last[path] for path in order], pa.int64())).combine_chunks()
    if not unchanged:
        _save(found, kept_in, version)
    return found.drop_columns([_PATH, _STATE])


def _each(task: Callable[[list[File]], Chunk], files: Iterator[File]) -> Iterator[Chunk]:
    """Yield the results of a task on chunks of files, in order; processes read while further files are listed."""
    chunks = iter(lambda: list(islice(files, CHUNK)), [])
    first = list(islice(chunks, AHEAD))
    count = min(granted_cores(), MOST)
    if count < 2 or len(first) < AHEAD:
        yield from map(task, chain(first, chunks))
        return
    with processes(count, "reads records") as pool:
        yield from pool.map(task, chain(first, chunks))


def _rows_of_chunk(files: Sequence[File], columns: pa.Schema) -> Chunk:
    paths: list[str] = []
    rows: list[dict[str, Any]] = []
    reasons: list[str] = []
    settled = 1e9 * (time.time() - _SETTLED)
    for name, origin, known in files:
        path = Path(name)
        stamps = [_stat(path), _stat(store.proof_path(path))]
        state = f"{origin} {stamps}"
        if state != known:
            before = len(reasons)
            record = store.read_record(path, origin=origin, set_aside=reasons.append)
            if record is None:
                continue
            # A change just after a file was written could go unnoticed.
            young = any(max(stamp[2:], default=0) > settled for stamp in stamps)
            row = store.table_row(record)
            rows.append({**row, _PATH: name, _STATE: "" if young or len(reasons) > before else state})
        paths.append(name)
    return paths, pa.Table.from_pylist(rows, schema=columns), reasons


def _stat(path: Path) -> tuple[int, ...]:
    try:
        found = os.stat(path)  # noqa: PTH116 - a third of the time of Path.stat
    except OSError:
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _version(columns: pa.Schema) -> bytes:
    """Return a digest of the code and the columns on which rows depend."""
    digest = hashlib.sha256(str(columns).encode())
    for module in (__file__, store.__file__, record_schema.__file__, statistics.__file__):
        digest.update(Path(str(module)).read_bytes())
    return digest.hexdigest().encode()


def _load(file: Path, columns: pa.Schema, version: bytes) -> pa.Table:
    try:
        table = pq.read_table(file, page_checksum_verification=True)
        if (table.schema.metadata or {}).get(_VERSION) == version:
            return table.replace_schema_metadata(None)
    except (OSError, pa.ArrowException):
        pass
    return columns.empty_table()


def _save(table: pa.Table, file: Path, version: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with replacing(file) as temporary:
        pq.write_table(table.replace_schema_metadata({_VERSION: version}), temporary, write_page_checksum=True)
