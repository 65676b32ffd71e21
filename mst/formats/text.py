"""Text files in blocks of whole lines or whole words: constant memory and exact line numbers."""

from __future__ import annotations

import re

import numpy as np

from mst.errors import FormatError
from mst.formats import plain
from mst.formats.source import Source

BLOCK = 1 << 20
"""Bytes per block: the longest line that can be read line by line, or the longest word that can be read."""

MAX_HEADER_LINES = 100_000
"""Lines of a header, which is read line by line."""

_MAX_COUNT_DIGITS = 18

_DELIMITER = re.compile(rb"[,;|\t]")


class Text:
    """The text of a source: a window over a fixed buffer that advances by whole lines or words.

    Attributes
    ----------
    buffer : bytearray
    data : numpy.ndarray of uint8
        The same memory.
    start, stop : int
        The window: bytes that were read but not yet consumed. ``buffer[stop - 1]`` is one of `cuts`.
    cuts : bytes
        Characters that the window may end at: line feeds, unless a reader of single words adds others.
    lines : int
        Number of lines consumed.
    unended : bool
        Whether the last line was read and lacks its line feed.
    block : int
        Bytes that the window holds at most: `BLOCK`, or as many as a small file needs.
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
        """Make the window hold at least one line or word; False at the end of the file."""
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
        """Return the rest of a file that is read sooner without compiled code, not consumed; None of any other."""
        if self.fill() and self.is_last and plain.is_worthwhile(self.stop - self.start):
            return bytes(self.buffer[self.start : self.stop])
        return None

    def consume(self, rest: bytes) -> None:
        """Consume the rest of the file, as `small_rest` returned it."""
        self.start, self.lines = self.stop, self.lines + rest.count(b"\n")

    def peek(self) -> bytes | None:
        """Return the next line without its line ending and without consuming it, or None at the end of the file."""
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
        """Return and consume the next line as `line` does, unless a header of that many lines hides the edges."""
        if self.lines == MAX_HEADER_LINES:
            raise self.error_at_next_line(f"expected the first edge within {MAX_HEADER_LINES:,} lines")
        return self.line()

    def peek_data_line(self, comments: bytes, words: tuple[bytes, ...] = ()) -> bytes | None:
        """Consume blank lines and comments, and return the line after them without consuming it.

        Parameters
        ----------
        comments : bytes
            Characters that begin a comment line, possibly after blanks.
        words : tuple of bytes
            A comment whose first word begins with one of these, in lower case, is returned as well.
        """
        if (window := self.small_rest()) is not None:
            skipped, lines = plain.skip_comments(window, comments, words)
            self.start, self.lines = self.start + skipped, self.lines + lines
            return self.peek()
        from mst.kernels.io import parse

        table, table_of_words = (
            byte_table(comments),
            np.zeros((len(words), max(map(len, words), default=0)), np.uint8),
        )
        for row, word in zip(table_of_words, words):
            row[: len(word)] = list(word)
        while self.fill():
            self.start, lines = parse.skip_comments(self.data, self.start, self.stop, table, table_of_words)
            self.lines += lines
            if self.start < self.stop:
                break
        return self.peek()

    def data_line(self, comments: bytes) -> bytes | None:
        """Consume blank lines, comments and the line after them, and return that line."""
        self.peek_data_line(comments)
        return self.line()

    def line_at(self, at: int) -> bytes:
        """Return the line around a byte of the buffer, shortened to the part that an error message can show."""
        begin = self.buffer.rfind(b"\n", 0, at) + 1
        begin = max(begin, at - 200)
        return bytes(self.buffer[begin : self._end_of_line(at, begin + 400)]).rstrip(b"\r")

    def word_at(self, at: int, delimiter: str) -> str:
        """Return the word that begins at a byte of the buffer and ends before a blank or `delimiter`."""
        words = bytes(self.buffer[at : self._end_of_line(at, at + 40)]).decode(errors="replace")
        return re.split(rf"[\s{re.escape(delimiter)}]", words, maxsplit=1)[0]

    def _end_of_line(self, at: int, limit: int) -> int:
        end = self.buffer.find(b"\n", at, min(limit, self._filled))
        return min(limit, self._filled) if end < 0 else end

    def error_at_next_line(
        self, expected: str, *, text: bytes | None = None, lines_ahead: int = 0
    ) -> FormatError:
        """Return an error that names the next line to be consumed, or one that lies `lines_ahead` after it."""
        number = self.lines + lines_ahead + 1
        return FormatError(self.source.path, expected, line=number, text=decoded(text))

    def error_at_last_line(self, expected: str, text: bytes | None = None) -> FormatError:
        """Return an error that names the line that was consumed last."""
        return FormatError(self.source.path, expected, line=self.lines, text=decoded(text))


def byte_table(characters: bytes) -> np.ndarray:
    """Return which bytes are among the characters: bool, shape (256,)."""
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
    """True when a word is a non-negative integer that fits int64.

    >>> is_count(b"12"), is_count(b"-1"), is_count(b"9" * 19)
    (True, False, False)
    """
    return word.isdigit() and len(word) <= _MAX_COUNT_DIGITS


def delimiter_in(line: bytes) -> str:
    """Return the comma, semicolon or bar after the first field of a line, or "" for a line split at blanks.

    >>> delimiter_in(b"1;2;3,5"), delimiter_in(b"1\\t2\\t3,5"), delimiter_in(b"1 2 3")
    (';', '', '')
    """
    found = _DELIMITER.search(line.partition(b" {")[0])  # networkx's attributes have commas of their own
    return found[0].decode().strip() if found else ""
