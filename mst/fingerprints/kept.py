"""Fingerprints kept on disk, so that hundreds of processes of an experiment need not follow the code again.

A file of fingerprints is named by a hash of all files of the package and of Python's version, so that any change to the
code, even one that changes no fingerprint, leads to another file. Neither paths nor time stamps count.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from mst.cache import cache_root
from mst.fingerprints import modules


def remembered(path: Path, asked: str, compute: Callable[[], str]) -> str:
    """Return the kept fingerprint of a file, or compute and keep it.

    Parameters
    ----------
    path : Path
        Absolute. A file outside the package is not kept.
    asked : str
        The code that the fingerprint covers.
    compute : callable
    """
    state, stamp, known = _known()
    if state is None or not path.is_relative_to(modules.PACKAGE):
        return compute()
    name = modules.digest(f"{path.relative_to(modules.PACKAGE).as_posix()} {asked}")[:32]
    if name not in known:
        known[name] = compute()
        # The code may have been changed during the computation.
        if _stamp() == stamp:
            with contextlib.suppress(OSError):
                _append(_file(state), name, known[name])
    return known[name]


def forget() -> None:
    """Read the file again from now on."""
    _known.cache_clear()


@cache
def _known() -> tuple[str | None, str, dict[str, str]]:
    """Return the state of the package, its stamp, and the fingerprints that are kept for the state, by name."""
    stamp, state, found = _stamp(), _state(), {}
    with contextlib.suppress(OSError):
        for line in _file(state).read_text("ascii", "replace").splitlines() if state else ():
            name, _, rest = line.partition(" ")
            value, _, check = rest.partition(" ")
            # Lines may be damaged.
            if check == _check(name, value):
                found[name] = value
    return state, stamp, found


def _append(file: Path, name: str, value: str) -> None:
    """Append a line. It begins with a line break, since a full disk may have cut off the line before."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("ab", buffering=0) as lines:
        lines.write(f"\n{name} {value} {_check(name, value)}\n".encode())


def _check(name: str, value: str) -> str:
    return modules.digest(f"{name} {value}")[:8]


def _file(state: str) -> Path:
    return cache_root() / "fingerprints" / state


def _state() -> str | None:
    """Return 16 hex digits over Python's version and all files of the package, or None if one cannot be read."""
    total = hashlib.sha256(sys.version.encode())
    try:
        for inside, entry in _files(str(modules.PACKAGE)):
            with open(entry, "rb", buffering=0) as file:  # noqa: PTH123  (a third faster)
                content = file.read()
            total.update(f"\0{inside}\0{len(content)}\0".encode(errors="surrogateescape"))
            total.update(content)
    except OSError:
        return None
    return total.hexdigest()[:16]


def _stamp() -> str:
    """Return a text that changes with any file of the package: it holds change times, which no program can set."""
    with contextlib.suppress(OSError):
        stats = ((inside, entry.stat()) for inside, entry in _files(str(modules.PACKAGE)))
        return str([(inside, stat.st_ino, stat.st_size, stat.st_ctime_ns) for inside, stat in stats])
    return ""


def _files(folder: str, inside: str = "") -> Iterator[tuple[str, os.DirEntry]]:
    """Yield all files in a folder but byte code, by their path in it."""
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if not entry.is_dir():
                yield inside + entry.name, entry
            elif entry.name != "__pycache__":
                yield from _files(entry.path, f"{inside}{entry.name}/")
