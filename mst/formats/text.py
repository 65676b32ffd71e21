"""Text files in blocks of whole lines or whole words: constant memory and exact line numbers."""

from __future__ import annotations

import re

import numpy as np

from mst.errors import FormatError
from mst.formats.source import Source

BLOCK = 1 << 20
"""Bytes per block: the longest line where lines count, else the longest word."""


class Text:
    """The text of a source: a window over a fixed buffer that moves on by whole lines or words.

    Attributes
    ----------
    buffer : bytearray
    data : numpy.ndarray of uint8
        The same memory.
    start, stop : int
        The window: what is read and not yet consumed. ``buffer[stop - 1]`` is a line feed, or one of `cuts`.
    cuts : bytes
        Where the window may end: at line feeds, unless a reader of words says otherwise.
    lines : int
        Lines consumed.
    """

    def __init__(self, source: Source):
        self.source = source
        self.buffer = bytearray(BLOCK + 1)
        self.data = np.frombuffer(self.buffer, np.uint8)
        self.start = self.stop = self.lines = 0
        self.cuts = b"\n"
        self._filled = 0
        self._ended = False
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
            part = self.source.read(BLOCK - self._filled)
            self.buffer[self._filled : self._filled + len(part)] = part
            searched, self._filled = self._filled, self._filled + len(part)
            self.stop = 1 + max(self.buffer.rfind(cut, searched, self._filled) for cut in self.cuts)
            if self._filled < BLOCK:
                self._ended = True
                if self._filled and self.buffer[self._filled - 1] != 10:
                    self.buffer[self._filled] = 10
                    self._filled += 1
                self.stop = self._filled
                return self._filled > 0
            if self.stop == 0:
                what = "lines" if self.cuts == b"\n" else "words"
                raise self.error(f"expected {what} shorter than {BLOCK:,} bytes", text=bytes(self.buffer[:200]))
        return True

    def peek(self) -> bytes | None:
        """Return the next line without its end, or None at the end of the file."""
        if not self.fill():
            return None
        return bytes(self.buffer[self.start : self.buffer.index(b"\n", self.start)]).rstrip(b"\r")

    def line(self) -> bytes | None:
        """Return and consume the next line."""
        if not self.fill():
            return None
        end = self.buffer.index(b"\n", self.start)
        text = bytes(self.buffer[self.start : end]).rstrip(b"\r")
        self.start = end + 1
        self.lines += 1
        return text

    def line_at(self, at: int) -> bytes:
        """Return the line around a byte of the buffer, as far as it is there and fits a message."""
        begin = self.buffer.rfind(b"\n", 0, at) + 1
        begin = max(begin, at - 200)
        return bytes(self.buffer[begin : self._end_of_line(at, begin + 400)]).rstrip(b"\r")

    def word_at(self, at: int, delimiter: str = "") -> str:
        """Return the word that begins at a byte of the buffer and ends before a blank or `delimiter`."""
        words = bytes(self.buffer[at : self._end_of_line(at, at + 40)]).decode(errors="replace")
        return re.match(rf"[^\s{re.escape(delimiter)}]*", words)[0]  # type: ignore[index]

    def _end_of_line(self, at: int, limit: int) -> int:
        end = self.buffer.find(b"\n", at, min(limit, self._filled))
        return min(limit, self._filled) if end < 0 else end

    def error(self, expected: str, *, text: bytes | None = None, ahead: int = 0) -> FormatError:
        """Return the error at the line that follows `ahead` more lines."""
        return FormatError(self.source.path, expected, line=self.lines + ahead + 1, text=readable(text))

    def error_behind(self, expected: str, text: bytes | None = None) -> FormatError:
        """Return the error at the line that was consumed last."""
        return FormatError(self.source.path, expected, line=self.lines, text=readable(text))


def readable(text: bytes | None) -> str | bytes | None:
    """Return a line as text where it is text."""
    try:
        return None if text is None else text.decode()
    except UnicodeDecodeError:
        return text
