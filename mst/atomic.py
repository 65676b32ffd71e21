"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: str | os.PathLike) -> Iterator[Path]:
    """Yield a temporary path beside `path` that takes its name on success and vanishes on failure.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from mst.atomic import replacing
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = pathlib.Path(folder, "file")
    ...     with replacing(target) as temporary:
    ...         _ = temporary.write_text("whole")
    ...     target.read_text()
    'whole'
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: str | os.PathLike, text: str) -> None:
    """Write a small file as a whole, and flush it to the disk."""
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
