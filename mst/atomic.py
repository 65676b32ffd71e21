"""Writes files as a whole or not at all, and locks files that several processes write."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def naming(path: str | os.PathLike) -> Iterator[None]:
    """Add `path` to errors of writing it that name no file, such as for a full disk."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise


@contextmanager
def replacing(path: str | os.PathLike) -> Iterator[Path]:
    """Yield a temporary path beside `path` that takes its name on success and vanishes on failure.

    Symbolic links are followed. If `path` is standard output (``-``), a character device or a pipe, the whole content
    is written to it on success. Anything else but a regular file is refused. Errors of writing name `path`.

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
    if is_stream(path):
        with tempfile.TemporaryDirectory() as folder:
            yield Path(folder, "stream")
            with _opened(path) as stream, Path(folder, "stream").open("rb") as whole:
                shutil.copyfileobj(whole, stream)
        return
    path = Path(os.path.realpath(path))
    temporary = path.with_name(f".{path.name}.{os.urandom(4).hex()}.part")
    try:
        yield temporary
        temporary.replace(path)
    except OSError as error:
        # For a full disk there is no name, and a temporary name means nothing to the user.
        if error.filename in (None, str(temporary)):
            error.filename = str(path)
        raise
    finally:
        temporary.unlink(missing_ok=True)


def is_standard_output(path: str | os.PathLike) -> bool:
    """Return whether this is ``-``, or a path of standard output in the file system."""
    return os.fspath(path) in ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")


def is_stream(path: str | os.PathLike) -> bool:
    """Return whether this is standard output, a character device or a pipe, which are written to, not replaced.

    Raises
    ------
    OSError
        `path` exists and is anything else but a regular file, such as a folder.
    """
    if is_standard_output(path):
        return True
    try:
        mode = Path(path).stat().st_mode
    except FileNotFoundError:
        return False
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder", os.fspath(path))
    if stat.S_ISBLK(mode) or stat.S_ISSOCK(mode):
        raise OSError(errno.EINVAL, "it is neither a file, a character device nor a pipe", os.fspath(path))
    return not stat.S_ISREG(mode)


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a stream for writing."""
    if is_standard_output(path):
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.flush()
    else:
        with path.open("wb") as stream:
            yield stream


def write_bytes(path: str | os.PathLike, content: bytes) -> None:
    """Write a file as a whole."""
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def write_text(path: str | os.PathLike, text: str) -> None:
    """Write a small file as a whole, and flush it to the disk."""
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())


@contextmanager
def locked(path: Path) -> Iterator[bool]:
    """Hold a lock on a folder or a file, which is created if missing; yield False if the file system has no locks."""
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_WRONLY | os.O_CREAT, 0o666)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)  # released with the handle, also when the process dies
        except OSError:
            yield False
        else:
            yield True
    finally:
        os.close(handle)
