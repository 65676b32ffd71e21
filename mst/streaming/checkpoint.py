"""The state of an unfinished pass over a stream, in a file: the forest so far, and the number of edges read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

import numpy as np

from mst.arrays import to_arrow
from mst.formats.base import replacing
from mst.graph import WEIGHT_DTYPES

_NAMES = ("u", "v", "w", "id")


class Columns(NamedTuple):
    """Edges of a stream, ascending by id.

    Attributes
    ----------
    u, v, w, ids : numpy.ndarray, each of shape (k,)
        Ends, weights and edge ids.
    """

    u: np.ndarray
    v: np.ndarray
    w: np.ndarray
    ids: np.ndarray


class State(NamedTuple):
    """The forest of the first part of a stream.

    Attributes
    ----------
    n, seen : int
        Number of vertices so far, and of edges read.
    columns : Columns
        The forest's edges.
    """

    n: int
    seen: int
    columns: Columns


class Checkpoint:
    """The file of a state, in Arrow IPC format, which is always replaced as a whole.

    Parameters
    ----------
    path : Path
    identity : mapping
        Facts about the input and the options; a file with different ones is ignored.

    Attributes
    ----------
    seconds : float
        Time between two saved states; each requires a solve.
    """

    seconds = 120.0

    def __init__(self, path: Path, identity: Mapping[str, Any]):
        self.path, self._identity = path, json.dumps(identity)
        self._written = monotonic()

    @property
    def is_due(self) -> bool:
        """Whether it is time to save the state again."""
        return monotonic() - self._written >= self.seconds

    def save(self, state: State) -> None:
        """Write a state, replacing the previous one.

        Raises
        ------
        InputError
            The file cannot be written.
        """
        import pyarrow as pa

        columns = [to_arrow(column) for column in state.columns]
        table = pa.RecordBatch.from_arrays(columns, names=list(_NAMES))
        facts = {"identity": self._identity, "n": str(state.n), "seen": str(state.seen)}
        table = table.replace_schema_metadata(facts)
        self._written = monotonic()
        with replacing(self.path) as temporary, pa.ipc.new_file(str(temporary), table.schema) as writer:
            writer.write_batch(table)

    def load(self) -> State | None:
        """Return the saved state; None if there is none, or it is damaged or of another input."""
        import pyarrow as pa

        if not self.path.is_file():
            return None
        try:
            with pa.OSFile(str(self.path)) as file:
                reader = pa.ipc.open_file(file)
                facts = {key.decode(): value.decode() for key, value in (reader.schema.metadata or {}).items()}
                if facts.get("identity") != self._identity or reader.schema.names != list(_NAMES):
                    return None
                columns = Columns(*map(np.from_dlpack, reader.get_batch(0).columns))
                state = State(int(facts["n"]), int(facts["seen"]), columns)
        except (pa.ArrowException, OSError, ValueError, KeyError):
            return None
        u, v, w, ids = columns
        legal = u.dtype == v.dtype and u.dtype in (np.int32, np.int64) and w.dtype in WEIGHT_DTYPES
        ordered = ids.dtype == np.int64 and not (len(ids) and (ids[0] < 0 or ids[-1] >= state.seen))
        inside = not len(u) or (min(u.min(), v.min()) >= 0 and max(u.max(), v.max()) < state.n)
        return state if legal and ordered and inside else None
