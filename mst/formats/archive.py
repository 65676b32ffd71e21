"""Graphs in tar (compressed or not) and zip archives, as collections publish them.

A single file in an archive is the graph. Of several, the graph is the file that the caller names, or else the only file
with the name of the archive or of its own folder: ``road.tar.gz`` holds the graph ``road/road.mtx`` and a file of
coordinates (https://sparse.tamu.edu).
"""

from __future__ import annotations

import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import IO

from mst.errors import FormatError, printable

_TAR_SIGNATURE_OFFSET = 257


def is_tar(head: bytes) -> bool:
    """Return whether decompressed content begins like a tar archive."""
    return head.startswith(b"ustar", _TAR_SIGNATURE_OFFSET)


def is_zip(head: bytes) -> bool:
    """Return whether content begins like a zip archive other than a NumPy file."""
    return head.startswith(b"PK\x03\x04") and b".npy" not in head[:4096]


def open_tar(path: Path, open_stream: Callable[[], IO[bytes]], member: str | None) -> tuple[str, IO[bytes]]:
    """Return the name and the content of the graph in a tar archive.

    Parameters
    ----------
    path : Path
    open_stream : callable
        Returns a stream of the decompressed archive. It is called twice, since a stream that has listed the files
        cannot go back to one of them.
    member : str or None
        The name of the graph in the archive; None if not known.

    Raises
    ------
    FormatError
        No file in the archive has this name; or, without a name, no file or more than one could be the graph.
    """
    with tarfile.open(fileobj=open_stream(), mode="r|") as listing:
        chosen = _choose(path, [entry.name for entry in listing if entry.isfile()], member)
    archive = tarfile.open(fileobj=open_stream(), mode="r|")  # noqa: SIM115 (its content is read after the return)
    for entry in archive:
        if entry.name == chosen and entry.isfile():
            content = archive.extractfile(entry)
            assert content is not None
            return PurePosixPath(chosen).name, content
    raise FormatError(path, f"{chosen} is missing: the archive changed while it was read; read it again")


def open_zip(path: Path, file: IO[bytes], member: str | None) -> tuple[str, IO[bytes]]:
    """Return the name and the content of the graph in a zip archive; errors as for `open_tar`."""
    archive = zipfile.ZipFile(file)
    chosen = _choose(path, [entry.filename for entry in archive.infolist() if not entry.is_dir()], member)
    return PurePosixPath(chosen).name, archive.open(chosen)


def _choose(path: Path, names: list[str], member: str | None) -> str:
    if member is not None:
        if member not in names:
            raise FormatError(path, f"expected an archive that holds {member}")
        return member
    visible = [name for name in names if not _hidden(PurePosixPath(name))]
    if len(visible) == 1:
        return visible[0]
    title = path.name.split(".")[0].lower()
    named = [
        name
        for name in visible
        if _stem(PurePosixPath(name)) in (title, PurePosixPath(name).parent.name.lower())
    ]
    if len(named) == 1:
        return named[0]
    listed = ", ".join(map(printable, visible[:8])) + ("" if len(visible) <= 8 else ", …")
    raise FormatError(
        path,
        f"expected an archive of one graph, found {listed or 'no file'}: unpack it and read one of its files",
    )


def _hidden(name: PurePosixPath) -> bool:
    return any(part.startswith((".", "__")) for part in name.parts)


def _stem(name: PurePosixPath) -> str:
    return name.name.split(".")[0].lower()
