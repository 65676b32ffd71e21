"""Rows of records, kept in a file so that only new and changed records are read again."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import chain, islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from mst.atomic import replacing
from mst.bench import statistics
from mst.bench.machine import usable_cores
from mst.bench.records import schema as record_schema
from mst.bench.records import store

CHUNK = 2_000
"""Records that one process reads at once."""
AHEAD = 5
"""Fewest chunks that several processes read."""
MOST = 4
"""Most processes at once."""
_SETTLED = 2.0
"""Seconds after which a later change of a file has another time stamp, on any file system."""
_PATH, _STATE = "_path", "_state"
_VERSION = b"version"

File = tuple[str, str, str]
"""Path of a measurement, its origin and the state that its kept row was made from (empty without one)."""
Chunk = tuple[list[str], pa.Table, list[str]]
"""Paths of the measurements that have a row, the rows that are not kept, and the reasons of records left out."""


def rows_of(
    folders: Iterable[tuple[Path, str]],
    columns: pa.Schema,
    kept_in: Path,
    set_aside: Callable[[str], None],
) -> pa.Table:
    """Return a row for each valid record below folders of records, folder by folder, sorted by path.

    A row is taken from the file of kept rows if sizes, inodes and times of its measurement and proof are those that it
    was made from, and the code that makes rows is the same. A file that is absent, damaged or of other code is made
    anew. It is replaced as a whole, so that two processes may do this at once.

    Parameters
    ----------
    folders : iterable of (Path, str)
        Folders of records, each with the origin of its rows.
    columns : pyarrow.Schema
        The keys of `mst.bench.records.store.table_row` that are kept, and their types.
    kept_in : Path
        The file of kept rows (Parquet).
    set_aside : callable
        Takes the reason why a record, or its proof, is left out. Such records are read again each time.
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
    # The row that was made last is the valid one.
    places = {path: place for place, path in enumerate(found[_PATH].to_pylist())}
    unchanged = len(found) == len(kept) == len(order)
    found = found.take(pa.array([places[path] for path in order], pa.int64())).combine_chunks()
    if not unchanged:
        _save(found, kept_in, version)
    return found.drop_columns([_PATH, _STATE])


def _each(task: Callable[[list[File]], Chunk], files: Iterator[File]) -> Iterator[Chunk]:
    """Yield the results of a task on chunks of files, in their order; processes read while the others are listed."""
    chunks = iter(lambda: list(islice(files, CHUNK)), [])
    first = list(islice(chunks, AHEAD))
    count = min(usable_cores(), MOST)
    if count < 2 or len(first) < AHEAD:
        yield from map(task, chain(first, chunks))
        return
    with ProcessPoolExecutor(count, get_context("spawn")) as pool:
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
            # Of a file that has just been written, a second change could go unnoticed.
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
    """Return a digest of the code and the columns that rows depend on."""
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
