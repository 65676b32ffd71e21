"""Rows of records, kept in a file so that only new and changed records are read again."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mst.atomic import replacing
from mst.bench import statistics
from mst.bench.machine import usable_cores
from mst.bench.records import schema as record_schema
from mst.bench.records import store

if TYPE_CHECKING:
    import pyarrow as pa

CHUNK = 2_000
"""Records that one process reads at once."""
MOST = 4
"""Most processes at once."""
_SETTLED = 2.0
"""Seconds after which a later change of a file has another time stamp, on any file system."""
_PATH, _STATE = "_path", "_state"
_VERSION = b"version"

File = tuple[str, str, str]
"""Path of a measurement, its origin and its state."""


def rows_of(
    folders: Iterable[tuple[Path, str]],
    columns: pa.Schema,
    kept_in: Path,
    set_aside: Callable[[str], None],
) -> list[dict[str, Any]]:
    """Return a row for each valid record below folders of records, folder by folder, sorted by path.

    A row is taken from the file of kept rows if sizes, inodes and times of its measurement and proof are those that it
    was made from, and the code that makes rows is the same. A file that is absent, damaged or of other code is made
    anew. It is replaced as a whole, so that two processes may do this at once.

    Parameters
    ----------
    folders : iterable of (Path, str)
        Folders of records, each with the origin of its rows.
    columns : pyarrow.Schema
        The keys of `mst.bench.records.store.table_rows` that are kept, and their types.
    kept_in : Path
        The file of kept rows (Parquet).
    set_aside : callable
        Takes the reason why a record, or its proof, is left out. Such records are read again each time.
    """
    import pyarrow as pa

    version = _version(columns)
    kept = _load(kept_in, version)
    files = [file for folder, origin in folders for file in _files(folder, origin)]
    known = dict(zip(_list(kept, _PATH), _list(kept, _STATE), strict=True))
    new = [file for file in files if not file[2] or known.get(file[0]) != file[2]]
    made = []
    for rows, reasons in _read(new, columns):
        made.append(rows)
        for reason in reasons:
            set_aside(reason)
    fresh = {path for path, _, _ in new}
    still = [path not in fresh for path in _list(kept, _PATH)]
    tables = [kept.filter(pa.array(still, pa.bool_()))] if len(kept) else []
    found = pa.concat_tables([*tables, *made]) if tables or made else None
    if found is None:
        return []
    places = {path: place for place, path in enumerate(_list(found, _PATH))}
    found = found.take([places[path] for path, _, _ in files if path in places])
    if len(new) or len(found) != len(kept):
        _save(found, kept_in, version)
    return found.drop_columns([_PATH, _STATE]).to_pylist()


def _files(folder: Path, origin: str) -> Iterator[File]:
    settled = time.time() - _SETTLED
    for path in store.measurement_paths(Path(folder)):
        states = [_stat(path), _stat(store.proof_path(path))]
        # Of a file that has just been written, a second change could go unnoticed.
        young = any(max(state[2:], default=0) > settled * 1e9 for state in states)
        yield str(path), origin, "" if young else f"{origin} {states}"


def _stat(path: Path) -> tuple[int, ...]:
    try:
        found = os.stat(path)  # noqa: PTH116 - a third of the time of Path.stat
    except OSError:
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _read(files: Sequence[File], columns: pa.Schema) -> Iterator[tuple[pa.Table, list[str]]]:
    """Yield the rows of files, with their paths and states, and the reasons of records left out, chunk by chunk."""
    rest = iter(files)
    chunks = list(iter(lambda: list(islice(rest, CHUNK)), []))
    task = partial(_rows_of_chunk, columns=columns)
    count = min(usable_cores(), MOST, len(chunks) // 2)
    if count < 2:
        yield from map(task, chunks)
        return
    with ProcessPoolExecutor(count, get_context("spawn")) as pool:
        yield from pool.map(task, chunks)


def _rows_of_chunk(files: Sequence[File], columns: pa.Schema) -> tuple[pa.Table, list[str]]:
    import pyarrow as pa

    rows: list[dict[str, Any]] = []
    reasons: list[str] = []
    for path, origin, state in files:
        before = len(reasons)
        record = store.read_record(Path(path), origin=origin, set_aside=reasons.append)
        if record is not None:
            row = next(store.table_rows([record]))
            rows.append({**row, _PATH: path, _STATE: state if len(reasons) == before else ""})
    columns = columns.append(pa.field(_PATH, pa.string())).append(pa.field(_STATE, pa.string()))
    return pa.Table.from_pylist(rows, schema=columns.remove_metadata()), reasons


def _version(columns: pa.Schema) -> bytes:
    """Return a digest of the code and the columns that rows depend on."""
    digest = hashlib.sha256(str(columns).encode())
    for module in (__file__, store.__file__, record_schema.__file__, statistics.__file__):
        digest.update(Path(str(module)).read_bytes())
    return digest.hexdigest().encode()


def _load(file: Path, version: bytes) -> pa.Table:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(file, page_checksum_verification=True)
        if (table.schema.metadata or {}).get(_VERSION) == version:
            return table.replace_schema_metadata(None)
    except (OSError, pa.ArrowException):
        pass
    return pa.table({_PATH: [], _STATE: []})


def _save(table: pa.Table, file: Path, version: bytes) -> None:
    import pyarrow.parquet as pq

    file.parent.mkdir(parents=True, exist_ok=True)
    with replacing(file) as temporary:
        pq.write_table(table.replace_schema_metadata({_VERSION: version}), temporary, write_page_checksum=True)


def _list(table: pa.Table, column: str) -> list[str]:
    return table[column].to_pylist()
