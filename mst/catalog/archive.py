"""One file out of a tar or zip archive."""

from __future__ import annotations

import gzip
import lzma
import shutil
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mst.errors import FormatError


@contextmanager
def unpacked(path: Path, member: str | None) -> Iterator[Path]:
    """Yield the file itself, or the named member of an archive, unpacked until the context ends."""
    if member is None:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="mst-", dir=path.parent) as scratch:
        target = Path(scratch, member.rsplit("/", 1)[-1])
        unpack = _from_zip if zipfile.is_zipfile(path) else _from_tar
        try:
            unpack(path, member, target)
        except _BROKEN_ARCHIVE as error:
            raise FormatError(path, f"expected an archive that holds {member}: {error}") from None
        yield target


_BROKEN_ARCHIVE = (
    KeyError,
    EOFError,
    zlib.error,
    gzip.BadGzipFile,
    lzma.LZMAError,
    tarfile.TarError,
    zipfile.BadZipFile,
)


def _from_zip(archive: Path, member: str, target: Path) -> None:
    with zipfile.ZipFile(archive) as opened, opened.open(member) as packed, target.open("wb") as out:
        shutil.copyfileobj(packed, out, 1 << 20)


def _from_tar(archive: Path, member: str, target: Path) -> None:
    with tarfile.open(archive) as opened, target.open("wb") as out:
        packed = opened.extractfile(member)
        if packed is None:
            raise KeyError(f"{member} is not a file")
        shutil.copyfileobj(packed, out, 1 << 20)
