"""Files as streams of bytes, decompressed and taken out of archives on the way, as their first bytes tell."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from mst.errors import FormatError, InputError, MSTError
from mst.formats import archive

HEAD = 1 << 16
"""Bytes of decompressed content that decide the format."""

_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz"}
SUFFIXES = {".gz": "gzip", ".zst": "zstd", ".zstd": "zstd", ".bz2": "bzip2", ".xz": "xz"}


class Source:
    """An open file: its bytes, decompressed and unpacked, in order, once.

    Parameters
    ----------
    path : path-like

    Attributes
    ----------
    path : Path
    name : str
        The file's name without the suffix of its compression, or the name inside the archive.
    head : bytes
        The first `HEAD` decompressed bytes; reading does not consume them.
    compression : str or None
    packed : bool
        Whether the file's own bytes are others than the content: compressed, or in an archive.
    whole : bool
        Whether `head` is the whole content.
    size : int or None
        Bytes of content, where that is known without reading on.
    """

    def __init__(self, path: Path):
        self.path = Path(path)
        try:
            self._file: IO[bytes] = self.path.open("rb")
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
        try:
            self.compression = compression_of(self._file.peek(8))  # type: ignore[attr-defined]
            self.name = strip_compression(self.path.name)
            self._stream = decompress(self._file, self.compression)
            self.head, self._replayed = b"", 0
            self.head = self._read_head()
            self.packed = self._unpack() or self.compression is not None
            self.whole = len(self.head) < HEAD
            plain = self.path.is_file() and not self.packed
            self.size = len(self.head) if self.whole else self.path.stat().st_size if plain else None
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *_: Any) -> None:
        self._file.close()

    def _read_head(self) -> bytes:
        head = bytearray()
        while len(head) < HEAD and (more := self._pull(HEAD - len(head))):
            head += more
        if compression_of(bytes(head)):
            raise FormatError(self.path, "compressed twice: decompress it once")
        return bytes(head)

    def _unpack(self) -> bool:
        """Go on inside, where this is an archive."""
        if archive.is_tar(self.head):
            self.name, self._stream = self._opened(lambda: archive.open_tar(self.path, self._reopened))
        elif archive.is_zip(self.head) and not self.compression:
            self.name, self._stream = self._opened(lambda: archive.open_zip(self.path, self._reopened()))
        else:
            return False
        self.head = self._read_head()
        return True

    def _reopened(self) -> Any:
        self._file.seek(0)
        return decompress(self._file, self.compression)

    def _pull(self, size: int) -> bytes:
        return self._opened(lambda: self._stream.read(size))

    def _opened(self, act: Callable[[], Any]) -> Any:
        """Run what reads compressed bytes; whatever it stumbles over becomes one kind of error."""
        try:
            return act()
        except (MSTError, MemoryError):
            raise
        except EOFError as error:
            raise self._broken() from error
        except (OSError, zlib.error, ValueError, RuntimeError) as error:
            if "runcated" in str(error):
                raise self._broken() from error
            raise FormatError(
                self.path, f"the {self.compression or 'file'} data cannot be read: {error}"
            ) from error
        except Exception as error:  # lzma, tarfile and zipfile have errors of no common base
            raise FormatError(
                self.path, f"the {self.compression or 'archive'} data is damaged: {error}"
            ) from error

    def _broken(self) -> FormatError:
        return FormatError(self.path, f"the {self.compression} data ends early: fetch or copy the file again")

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes, fewer only at the end."""
        parts = []
        while size > 0:
            if self._replayed < len(self.head):
                part = self.head[self._replayed : self._replayed + size]
                self._replayed += len(part)
            else:
                part = self._pull(min(size, 1 << 22))
            if not part:
                break
            parts.append(part)
            size -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def array(self, dtype: Any, count: int, what: str) -> np.ndarray:
        """Return the next `count` items of a binary file, allocating no more than the file has.

        Raises
        ------
        FormatError
            The file ends before, or `count` is negative.
        """
        dtype = np.dtype(dtype)
        size = count * dtype.itemsize
        # A count is believed as far as the file goes, so that a wrong one cannot ask for memory.
        out = np.empty(size if self.size is not None and size <= self.size else min(size, HEAD), np.uint8)
        filled = 0
        while filled < size and (part := self.read(min(size - filled, 1 << 20))):
            if filled + len(part) > len(out):
                out = np.concatenate(
                    [out[:filled], np.empty(min(size, 2 * len(out) + len(part)) - filled, np.uint8)]
                )
            out[filled : filled + len(part)] = np.frombuffer(part, np.uint8)
            filled += len(part)
        if filled < size:
            raise FormatError(
                self.path, f"expected {count:,} {what}, and the file ends {size - filled:,} bytes early"
            )
        return out.view(dtype)

    def expect_end(self) -> None:
        """Refuse a file that goes on."""
        if not self.at_end():
            raise FormatError(self.path, "the file goes on after its last entry: the counts are wrong")

    def at_end(self) -> bool:
        """True when nothing is left."""
        if self._replayed < len(self.head):
            return False
        more = self._pull(1)
        if more:
            self.head, self._replayed = more, 0
        return not more


def compression_of(head: bytes) -> str | None:
    """Return the compression that the first bytes announce, or None."""
    return next((name for magic, name in _MAGIC.items() if head.startswith(magic)), None)


def strip_compression(name: str) -> str:
    """Return a file name without the suffix of its compression.

    >>> strip_compression("road.gr.gz")
    'road.gr'
    """
    stem, dot, suffix = name.rpartition(".")
    return stem if dot and f".{suffix.lower()}" in SUFFIXES else name


def decompress(file: IO[bytes], compression: str | None) -> Any:
    """Return a stream of the decompressed bytes of `file`."""
    if compression == "gzip":
        import gzip

        return gzip.GzipFile(fileobj=file)
    if compression == "bzip2":
        import bz2

        return bz2.BZ2File(file)
    if compression == "xz":
        import lzma

        return lzma.LZMAFile(file)
    if compression == "zstd":
        import pyarrow

        return pyarrow.CompressedInputStream(pyarrow.PythonFile(file, mode="r"), "zstd")
    return file


@contextmanager
def sink(path: Path, compression: str | None) -> Iterator[IO[bytes]]:
    """Open `path` for writing; the bytes of a compressed file depend on nothing but the content."""
    with path.open("wb") as file:
        if compression == "gzip":
            import gzip

            with gzip.GzipFile(filename="", mode="wb", fileobj=file, compresslevel=6, mtime=0) as stream:
                yield stream  # type: ignore[misc]
        elif compression == "bzip2":
            import bz2

            with bz2.BZ2File(file, "wb") as packed:
                yield packed  # type: ignore[misc]
        elif compression == "xz":
            import lzma

            with lzma.LZMAFile(file, "wb") as packed_xz:
                yield packed_xz  # type: ignore[misc]
        elif compression == "zstd":
            import pyarrow

            with pyarrow.CompressedOutputStream(pyarrow.PythonFile(file, mode="w"), "zstd") as packed_zstd:
                yield packed_zstd
        else:
            yield file


_PRINTABLE = bytes(b for b in range(256) if b >= 32 or b in b"\t\n\r\f")


def is_text(source: Source) -> bool:
    """True when the first bytes hold no control characters but white space."""
    return not source.head.translate(None, _PRINTABLE)


def head_lines(source: Source, comments: bytes = b"") -> list[bytes] | None:
    """Return the first lines that are whole and no comments, blank ones included, or None for binary data."""
    if not is_text(source):
        return None
    lines = source.head.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    if not source.whole or not lines[-1]:
        lines.pop()
    return [line for line in lines if not line.strip() or line.strip()[0] not in comments]
