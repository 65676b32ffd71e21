"""Files as streams of bytes, decompressed and extracted from archives according to their first bytes."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import IO, Any, TypeVar, cast

import numpy as np
from numpy.typing import DTypeLike

from mst.errors import FormatError, InputError, MSTError, reading
from mst.formats import archive

HEAD = 1 << 16
"""How many bytes of decompressed content are examined to detect the format."""

_MAGIC_BYTES = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x50\x2a\x4d\x18": "zstd",  # a skippable frame, with which pzstd begins
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
}
PARQUET_SIGNATURE = b"PAR1"
SUFFIXES = {".gz": "gzip", ".zst": "zstd", ".zstd": "zstd", ".bz2": "bzip2", ".xz": "xz"}
"""The compression that each file name suffix stands for."""

_Result = TypeVar("_Result")


class Source:
    """An open file, whose decompressed and extracted content is read once, from beginning to end.

    Parameters
    ----------
    path : path-like
    member : str, optional
        The file to read in an archive; by default, the one that seems to be the graph (`mst.formats.archive`).

    Attributes
    ----------
    path : Path
    name : str
        The file's name without the suffix of its compression, or the name in the archive.
    head : bytes
        The first `HEAD` decompressed bytes, which `read` returns as well.
    compression : str or None
        One of the values of `SUFFIXES`, if the file is compressed.
    plain : bool
        Whether the content is the file itself, neither compressed nor in an archive.
    head_complete : bool
        Whether `head` is the whole content.
    size : int or None
        Bytes of content, if known without reading all of it.
    """

    def __init__(self, path: Path, member: str | None = None):
        self.path, self._member = Path(path), member
        with reading(path):
            if self.path.is_dir():
                raise InputError(f"{path} is a folder: name a graph file in it")
            self._file: io.BufferedReader = self.path.open("rb")
        try:
            self.compression = None
            self.compression = compression_of(self._translating_errors(lambda: self._file.peek(8)))
            self.name = strip_compression(self.path.name)
            self._stream = decompress(self._file, self.compression)
            self.head, self._replayed = b"", 0
            self.head = self._read_head()
            self.plain = not self._extract() and self.compression is None
            self.head_complete = len(self.head) < HEAD
            if self.head_complete:
                self.size: int | None = len(self.head)
            else:
                self.size = self.path.stat().st_size if self.plain and self.path.is_file() else None
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def _read_head(self) -> bytes:
        head = bytearray()
        while len(head) < HEAD and (part := self._read_content(HEAD - len(head))):
            head += part
        if compression_of(bytes(head)):
            raise FormatError(self.path, "the file is compressed twice: decompress it once")
        return bytes(head)

    def _extract(self) -> bool:
        """Continue with the graph in the file if the file is an archive; return whether it is one."""
        if archive.is_tar(self.head):
            self.name, self._stream = self._translating_errors(
                lambda: archive.open_tar(self.path, self._rewound, self._member)
            )
        elif archive.is_zip(self.head) and not self.compression:
            self.name, self._stream = self._translating_errors(
                lambda: archive.open_zip(self.path, self._rewound(), self._member)
            )
        elif self._member:
            raise FormatError(self.path, f"expected an archive that holds {self._member}")
        else:
            return False
        self.head = self._read_head()
        return True

    def reopened(self) -> Source:
        """Return a new source of the same content."""
        return Source(self.path, self._member)

    def _rewound(self) -> IO[bytes]:
        self._file.seek(0)
        return decompress(self._file, self.compression)

    def _read_content(self, size: int) -> bytes:
        return self._translating_errors(lambda: self._stream.read(size))

    def _translating_errors(self, operation: Callable[[], _Result]) -> _Result:
        """Run an operation on compressed bytes; turn the errors of all libraries into `FormatError`."""
        try:
            return operation()
        except (MSTError, MemoryError):
            raise
        except Exception as error:  # the errors of lzma, tarfile and zipfile have no common base class
            short = isinstance(error, EOFError) or "runcated" in str(error)
            problem = "ends early" if short else f"cannot be read: {error}"
            remedy = "; fetch or copy the file again" if self.compression or short else ""
            raise FormatError(self.path, f"the {self.compression or 'file'} data {problem}{remedy}") from error

    def read(self, size: int) -> bytes:
        """Return `size` bytes, or fewer at the end."""
        parts = []
        while size > 0:
            if self._replayed < len(self.head):
                part = self.head[self._replayed : self._replayed + size]
                self._replayed += len(part)
            else:
                part = self._read_content(min(size, 1 << 22))
            if not part:
                break
            parts.append(part)
            size -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def array(self, dtype: DTypeLike, count: int, items: str) -> np.ndarray:
        """Return the next `count` items of a binary file; memory is bounded by the size of the content.

        Parameters
        ----------
        dtype : dtype-like
        count : int
        items : str
            A noun for the items, for error messages.

        Returns
        -------
        numpy.ndarray of `dtype`, shape (count,)

        Raises
        ------
        FormatError
            The file ends before `count` items.
        """
        dtype = np.dtype(dtype)
        size = count * dtype.itemsize
        # If the size of the content is unknown, memory grows with the bytes read, so a wrong count cannot exhaust it.
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
                self.path, f"expected {count:,} {items}, but the file ends {size - filled:,} bytes early"
            )
        return out.view(dtype)

    def expect_end(self) -> None:
        """Raise a `FormatError` unless all content has been read."""
        if not self.at_end():
            raise FormatError(self.path, "the file continues after its last entry: its counts are wrong")

    def at_end(self) -> bool:
        """Return whether all content has been read."""
        if self._replayed < len(self.head):
            return False
        following = self._read_content(1)
        if following:
            self.head, self._replayed = following, 0
        return not following


def compression_of(head: bytes) -> str | None:
    """Return the compression that the first bytes of a file indicate, or None.

    >>> compression_of(bytes([0x1F, 0x8B]))
    'gzip'
    """
    if not head.startswith(tuple(_MAGIC_BYTES)):
        return None
    return next(name for magic, name in _MAGIC_BYTES.items() if head.startswith(magic))


def strip_compression(name: str) -> str:
    """Return a file name without the suffix of its compression.

    >>> strip_compression("road.gr.gz")
    'road.gr'
    """
    stem, dot, suffix = name.rpartition(".")
    return stem if dot and f".{suffix.lower()}" in SUFFIXES else name


def decompress(file: IO[bytes], compression: str | None) -> IO[bytes]:
    """Return a stream of the decompressed bytes of `file`."""
    if compression == "gzip":
        import gzip

        return cast(IO[bytes], gzip.GzipFile(fileobj=file))
    if compression == "bzip2":
        import bz2

        return cast(IO[bytes], _Streams(file, bz2.BZ2Decompressor))
    if compression == "xz":
        import lzma

        return cast(IO[bytes], _Streams(file, lzma.LZMADecompressor))
    if compression == "zstd":
        import pyarrow

        return pyarrow.CompressedInputStream(pyarrow.PythonFile(file, mode="r"), "zstd")
    return file


class _Streams:
    """The content of consecutive compressed streams.

    Other bytes after the last stream are an error, as in gzip and zstd, while `bz2.BZ2File` and `lzma.LZMAFile` ignore
    them. Zeros after any stream are padding.
    """

    def __init__(self, file: IO[bytes], new: Callable[[], Any]):
        self._file, self._new, self._stream = file, new, new()

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes; no bytes mean the end."""
        content = b""
        while not content:
            given = b""
            if self._stream.eof:
                if not (given := self._start_of_next()):
                    break
                self._stream = self._new()
            elif self._stream.needs_input and not (given := self._file.read(io.DEFAULT_BUFFER_SIZE)):
                raise EOFError
            content = self._stream.decompress(given, size)
        return content

    def _start_of_next(self) -> bytes:
        """Return the first bytes of the next stream, or no bytes if there is none."""
        start = self._stream.unused_data.lstrip(b"\0")
        while not start and (given := self._file.read(io.DEFAULT_BUFFER_SIZE)):
            start = given.lstrip(b"\0")
        return start


@contextmanager
def sink(path: Path, compression: str | None) -> Iterator[IO[bytes]]:
    """Open `path` for writing; compressed bytes depend only on the content, not on time or the file's name."""
    with path.open("wb") as file, _compressing(file, compression) as stream:
        yield stream


def _compressing(file: IO[bytes], compression: str | None) -> AbstractContextManager[Any]:
    if compression == "gzip":
        import gzip

        return gzip.GzipFile(filename="", mode="wb", fileobj=file, compresslevel=6, mtime=0)
    if compression == "bzip2":
        import bz2

        return bz2.BZ2File(file, "wb")
    if compression == "xz":
        import lzma

        return lzma.LZMAFile(file, "wb")
    if compression == "zstd":
        import pyarrow

        return pyarrow.CompressedOutputStream(pyarrow.PythonFile(file, mode="w"), "zstd")
    return nullcontext(file)


_PRINTABLE = bytes(b for b in range(256) if b >= 32 or b in b"\t\n\r\f")


def is_text(source: Source) -> bool:
    """Return whether the first bytes hold no control characters other than white space."""
    return not source.head.translate(None, _PRINTABLE)


def first_lines(source: Source, comments: bytes = b"") -> list[bytes] | None:
    """Return the complete lines of `source.head`, including blank lines but no comments.

    Parameters
    ----------
    source : Source
    comments : bytes
        Characters at the start of comment lines, possibly after blanks.

    Returns
    -------
    list of bytes, or None
        None if the file is binary.
    """
    if not is_text(source):
        return None
    lines = source.head.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    if not source.head_complete or not lines[-1]:
        lines.pop()
    return [line for line in lines if not line.strip() or line.strip()[0] not in comments]


def is_pipe(path: Path) -> bool:
    """Return whether a path can be read only once: ``-`` (standard input), or a pipe such as ``<(zcat …)``."""
    return str(path) == "-" or path.is_fifo()


def is_parquet(path: Path) -> bool:
    """Return whether a path is a Parquet file, or a folder with Parquet files."""
    if is_pipe(path):
        return False
    if path.is_dir():
        return any(path.glob("*.parquet"))
    with reading(path), path.open("rb") as file:
        return file.read(len(PARQUET_SIGNATURE)) == PARQUET_SIGNATURE
