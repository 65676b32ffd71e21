"""Reads small files of plain rows without compiled code, in less time than it takes to load numba.

Anything else (comments among the rows, numbers of many digits, missing columns) and all errors are left to the compiled
readers.
"""

from __future__ import annotations

import re
import sys

import numpy as np

LARGEST = 1 << 18
"""Bytes of a small file."""

_WHOLE_NUMBERS = re.compile(rb"(?:[ \t\r\n]*-?\d{1,15}(?=[ \t\r\n]))*[ \t\r\n]*")
_ID, _WEIGHT = rb"\d{1,18}", rb"-?\d{1,15}(?:\.\d{1,20})?"


def is_worthwhile(size: int) -> bool:
    """Return whether reading `size` bytes is faster without loading numba."""
    return "numba" not in sys.modules and size <= LARGEST


def skip_comments(window: bytes, comments: bytes, words: tuple[bytes, ...]) -> tuple[int, int]:
    """Return how many bytes and lines of blanks and comments are at the start, as `kernels.io.parse.skip_comments`."""
    at = lines = 0
    while at < len(window):
        end = window.index(b"\n", at)
        text = window[at:end].lstrip(b" \t\r")
        if text and text[0] not in comments:
            break
        if text.lstrip(comments + b" \t\r").lower().startswith(words):
            break
        at, lines = end + 1, lines + 1
    return at, lines


def columns(
    window: bytes, columns: str, tag: str, delimiter: str, low: int, high: int
) -> dict[str, np.ndarray] | None:
    """Return the columns ``u``, ``v`` and ``w`` of rows, or None unless all rows are plain and valid.

    Parameters
    ----------
    window : bytes
        Whole lines.
    columns, tag, delimiter, low, high
        As for `mst.formats.table.Layout`.

    Examples
    --------
    >>> from mst.formats.plain import columns
    >>> columns(b"1 2 0.5\\n2 3 1\\n", "uvw", "", "", 1, 3)["w"].tolist()
    [0.5, 1.0]
    """
    gap = rb"[ \t]*" + re.escape(delimiter.encode()) + rb"[ \t]*" if delimiter else rb"[ \t]+"
    fields = [{"w": _WEIGHT, "-": rb"[\w.+-]+"}.get(column, _ID) for column in columns]
    row = rb"[ \t]*" + (tag.encode() + rb"[ \t]+" if tag else b"") + gap.join(fields) + rb"[ \t\r]*\n"
    if not re.fullmatch(rb"(?:" + row + rb")*[ \t\r\n]*", window):
        return None
    words = window.replace(delimiter.encode(), b" ").split() if delimiter else window.split()
    width, offset = len(columns) + bool(tag), bool(tag)
    found = {}
    for place, column in enumerate(columns):
        if column != "-":
            numbers = [float(text) if b"." in text else int(text) for text in words[place + offset :: width]]
            fractions = any(isinstance(number, float) for number in numbers)
            found[column] = np.array(numbers, float if fractions else np.int64)
    ends = [found[column] for column in "uv" if column in found]
    if words and (min(end.min() for end in ends) < low or max(end.max() for end in ends) > high):
        return None
    return found


def neighbours(
    window: bytes, n: int, skip: int, weighted: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None] | None:
    """Return the arcs ``(u, v, w)`` of `n` adjacency lists, or None unless all are whole numbers and valid.

    Parameters
    ----------
    window : bytes
        Whole lines.
    n, skip, weighted
        As for `mst.kernels.io.adjacency.RowFormat`.

    Examples
    --------
    >>> from mst.formats.plain import neighbours
    >>> [column.tolist() for column in neighbours(b"2 7\\n1 7\\n", 2, 0, True)]
    [[0, 1], [1, 0], [7, 7]]
    """
    rows = [line.split() for line in window.split(b"\n")[:-1]]
    step = 1 + weighted
    if len(rows) != n or not _WHOLE_NUMBERS.fullmatch(window):
        return None
    if any(len(row) < skip or (len(row) - skip) % step for row in rows):
        return None
    numbers = np.array([int(word) for row in rows for word in row[skip:]], np.int64)
    u = np.repeat(np.arange(n), [(len(row) - skip) // step for row in rows])
    v, w = numbers[::step] - 1, numbers[1::2] if weighted else None
    return None if v.size and not 0 <= v.min() <= v.max() < n else (u, v, w)
