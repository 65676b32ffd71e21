"""Partial downloads, and beside each the server's description of the whole file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, BinaryIO

from mst.atomic import write_text


class PartialFile:
    """The beginning of a file, kept so that a later attempt can resume it.

    Parameters
    ----------
    path : Path
        Its name must not be that of the whole file. The note ``<path>.json`` is beside it.
    """

    def __init__(self, path: Path):
        self.path = path
        self._note = path.with_name(path.name + ".json")

    @property
    def size(self) -> int:
        """Bytes received so far."""
        return self.path.stat().st_size if self.path.exists() else 0

    @property
    def known(self) -> dict[str, Any]:
        """The server's description of the whole file: ``total`` bytes, ``etag``, ``modified``; empty if nothing."""
        try:
            return json.loads(self._note.read_text())
        except (OSError, ValueError):
            return {}

    def describe(self, total: int | None, etag: str | None, modified: str | None) -> None:
        """Keep the server's description of the whole file."""
        write_text(self._note, json.dumps(dict(total=total, etag=etag, modified=modified)))

    def open_at(self, start: int) -> BinaryIO:
        """Open for writing after the first `start` bytes; later ones are dropped."""
        out = self.path.open("r+b" if self.path.exists() else "wb")
        out.truncate(start)
        out.seek(start)
        return out

    def discard(self) -> None:
        """Remove bytes and note."""
        self.path.unlink(missing_ok=True)
        self._note.unlink(missing_ok=True)
