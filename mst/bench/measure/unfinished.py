"""Finished processes of unfinished runs, on disk: a runner that is ended loses at most the process in flight."""

from __future__ import annotations

import contextlib
import json
from datetime import datetime
from pathlib import Path
from typing import Any

from mst.bench.measure.session import Session
from mst.bench.records.store import write_json

FOLDER = "unfinished"
"""Folder beside the records."""
_SECONDS = ("others_seconds", "stolen_seconds", "turn_seconds", "open_seconds")


def keep(file: Path, session: Session, before: dict[str, Any], made_by: dict[str, Any]) -> None:
    """Write the finished processes of a run, unless the disk is full.

    `before` are the conditions before its first process, `made_by` is everything that must be the same for further
    processes to belong to the same measurement.
    """
    kept = {
        "made_by": made_by,
        "before": before,
        "processes": session.outcome.processes,
        "peak_tree_bytes": session.outcome.peak_tree_bytes,
        "spans": [[moment.isoformat() for moment in span] for span in session.spans],
        **{name: getattr(session, name) for name in _SECONDS},
    }
    with contextlib.suppress(OSError):
        write_json(file, kept)


def take_up(file: Path, session: Session, made_by: dict[str, Any]) -> dict[str, Any]:
    """Give a new session the processes that `keep` wrote, all but its last one; return the conditions before them.

    One process at least is new: it measures the phases and leaves the edge ids. Nothing is taken from a file that is
    damaged or of another machine, code or request.
    """
    try:
        kept = json.loads(file.read_bytes())
        if kept["made_by"] != made_by:
            return {}
        number = min(len(kept["processes"]), session.measure.processes - 1)
        spans = [(datetime.fromisoformat(a), datetime.fromisoformat(b)) for a, b in kept["spans"][:number]]
        seconds = {name: float(kept[name]) for name in _SECONDS}
        processes, before, peak = kept["processes"][:number], dict(kept["before"]), int(kept["peak_tree_bytes"])
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    session.outcome.processes, session.outcome.peak_tree_bytes, session.spans = processes, peak, spans
    for name, value in seconds.items():
        setattr(session, name, value)
    return before
