"""Reads text files in blocks of whole lines or words, in constant memory and with exact line numbers."""

from __future__ import annotations

import re

import numpy as np

from mst.errors import FormatError
from mst.formats import plain
from mst.formats.source import Source

BLOCK = 1 << 20
"""Bytes per block, which limits the length of a line, or of a word where text is read by words."""

MAX_HEADER_LINES = 100_000
"""The most lines of a header."""

_MAX_COUNT_DIGITS = 18

_DELIMITER = re.compile(rb"[,;|\t]")


class Text:
    """The text of a source, seen through a window that advances by whole lines or words over a fixed buffer.

    Attributes
    ----------
    buffer : bytearray
    data : numpy.ndarray of uint8
        The same memory.
    start, stop : int
        The window: the bytes ``buffer[start:stop]``, which were read but not consumed yet. The last is one of `cuts`.
    cuts : bytes
        Characters at which the window may end: line feeds; readers of single words add others.
    lines : int
        Number of lines consumed.
    unended : bool
        Whether the last line has been read, and lacks its line feed.
    block : int
        The largest size of the window: `BLOCK`, or less for a small file.
    """

    def __init__(self, source: Source):
        self.source = source
        # The last line may lack its line feed.
        self.block = min(BLOCK, len(source.head) + 1) if source.head_complete else BLOCK
        self.buffer = bytearray(self.block + 1)
        self.data = np.frombuffer(self.buffer, np.uint8)
        self.start = self.stop = self.lines = 0
        self.cuts = b"\n"
        self._filled = 0
        self._ended = self.unended = False
        if source.head.startswith(b"\xef\xbb\xbf"):
            source.read(3)

    def fill(self) -> bool:
        """Make the window hold at least one line or word; return False at the end of the file."""
        if self.start < self.stop:
            return True
        rest = self._filled - self.stop
        self.buffer[:rest] = self.buffer[self.stop : self._filled]
        self._filled, self.start, self.stop = rest, 0, 0
        while self.stop == 0:
            if self._ended:
                return False
            part = self.source.read(self.block - self._filled)
            self.buffer[self._filled : self._filled + len(part)] = part
            searched, self._filled = self._filled, self._filled + len(part)
            self.stop = 1 + max(self.buffer.rfind(cut, searched, self._filled) for cut in self.cuts)
            if self._filled < BLOCK:
                self._ended = True
                if self._filled and self.buffer[self._filled - 1] != 10:
                    self.buffer[self._filled] = 10
                    self._filled += 1
                    self.unended = True
                self.stop = self._filled
                return self._filled > 0
            if self.stop == 0:
                unit = "lines" if self.cuts == b"\n" else "words"
                raise self.error_at_next_line(
                    f"expected {unit} shorter than {BLOCK:,} bytes", text=bytes(self.buffer[:200])
                )
        return True

    @property
    def is_last(self) -> bool:
        """Whether the window reaches to the end of the file."""
        return self._ended and self.stop == self._filled

    def small_rest(self) -> bytes | None:
        """Return the rest of a file without consuming it, or None if it is large enough for compiled code to pay."""
        if self.fill() and self.is_last and plain.is_worthwhile(self.stop - self.start):
            return bytes(self.buffer[self.start : self.stop])
        return None

    def consume(self, rest: bytes) -> None:
        """Consume the rest of the file, as `small_rest` returned it."""
        self.start, self.lines = self.stop, self.lines + rest.count(b"\n")

    def peek(self) -> bytes | None:
        """Return the next line, without its end and without consuming it, or None at the end of the file."""
        if not self.fill():
            return None
        return bytes(self.buffer[self.start : self.buffer.index(b"\n", self.start)]).rstrip(b"\r")

    def line(self) -> bytes | None:
        """Return and consume the next line, or return None at the end of the file."""
        line = self.peek()
        if line is not None:
            self.start = self.buffer.index(b"\n", self.start) + 1
            self.lines += 1
        return line

    def header_line(self) -> bytes | None:
        """Return and consume the next line as `line` does; raise a `FormatError` if the header is too long."""
        if self.lines == MAX_HEADER_LINES:
            raise self.error_at_next_line(f"expected the first edge within {MAX_HEADER_LINES:,} lines")
        return self.line()

    def peek_data_line(self, comments: bytes, words: tuple[bytes, ...] = ()) -> bytes | None:
        """Consume blank lines and comments, and return the line after them without consuming it.

        Parameters
        ----------
        comments : bytes
            Characters at the start of comment lines, possibly after blanks.
        words : tuple of bytes
            Lower-case prefixes: a comment whose first word begins with one of them is not skipped.
        """
        if (window := self.small_rest()) is not None:
            skipped, lines = plain.skip_comments(window, comments, words)
            self.start, self.lines = self.start + skipped, self.lines + lines
            return self.peek()
        from mst.kernels.io import parse

        table = byte_table(comments)
        prefixes = np.zeros((len(words), max(map(len, words), default=0)), np.uint8)
        for row, word in zip(prefixes, words):
            row[: len(word)] = list(word)
        while self.fill():
            self.start, lines = parse.skip_comments(self.data, self.start, self.stop, table, prefixes)
            self.lines += lines
            if self.start < self.stop:
                break
        return self.peek()

    def data_line(self, comments: bytes) -> bytes | None:
        """Consume blank lines, comments and the line after them, and return that line."""
        self.peek_data_line(comments)
        return self.line()

    def line_at(self, at: int) -> bytes:
        """Return the line around a byte of the buffer, shortened for an error message."""
        begin = self.buffer.rfind(b"\n", 0, at) + 1
        begin = max(begin, at - 200)
        return bytes(self.buffer[begin : self._end_of_line(at, begin + 400)]).rstrip(b"\r")

    def word_at(self, at: int, delimiter: str) -> str:
        """Return the word from a byte of the buffer to the next blank or `delimiter`."""
        words = bytes(self.buffer[at : self._end_of_line(at, at + 40)]).decode(errors="replace")
        return re.split(rf"[\s{re.escape(delimiter)}]", words, maxsplit=1)[0]

    def _end_of_line(self, at: int, limit: int) -> int:
        end = self.buffer.find(b"\n", at, min(limit, self._filled))
        return min(limit, self._filled) if end < 0 else end

    def error_at_next_line(
        self, expected: str, *, text: bytes | None = None, lines_ahead: int = 0
    ) -> FormatError:
        """Return an error about the next line to be consumed, or the line `lines_ahead` after it."""
        number = self.lines + lines_ahead + 1
        return FormatError(self.source.path, expected, line=number, text=decoded(text))

    def error_at_last_line(self, expected: str, text: bytes | None = None) -> FormatError:
        """Return an error about the line that was consumed last."""
        return FormatError(self.source.path, expected, line=self.lines, text=decoded(text))


def byte_table(characters: bytes) -> np.ndarray:
    """Return for each byte whether it is one of the characters: bool, shape (256,)."""
    table = np.zeros(256, bool)
    table[list(characters)] = True
    return table


def decoded(text: bytes | None) -> str | bytes | None:
    """Return a line as a string if it is valid UTF-8, else unchanged."""
    try:
        return None if text is None else text.decode()
    except UnicodeDecodeError:
        return text


def is_count(word: bytes) -> bool:
    """Return whether a word is a whole number below 10¹⁸.

    >>> is_count(b"12"), is_count(b"-1"), is_count(b"9" * 19)
    (True, False, False)
    """
    return word.isdigit() and len(word) <= _MAX_COUNT_DIGITS


def delimiter_in(line: bytes) -> str:
    """Return the comma, semicolon or bar after the first field of a line, or "" if blanks separate the fields.

    >>> delimiter_in(b"1;2;3,5"), delimiter_in(b"1\\t2\\t3,5"), delimiter_in(b"1 2 3")
    (';', '', '')
    """
    found = _DELIMITER.search(line.partition(b" {")[0])  # networkx's attributes have commas of their own
    return found[0].decode().strip() if found else ""
