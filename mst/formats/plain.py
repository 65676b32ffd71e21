"""Small files of plain rows, read without compiled code: a process that reads one is done before numba is loaded.

Rows that are not plain (comments among them, numbers of many digits, missing columns) are left to the compiled
reader, and so are all errors.
"""

from __future__ import annotations

import re
import sys

import numpy as np

LARGEST = 1 << 18
"""Bytes of a small file."""

_ID, _WEIGHT = rb"\d{1,18}", rb"-?\d{1,15}(?:\.\d{1,20})?"


def is_worthwhile(size: int) -> bool:
    """Return whether so many bytes are read sooner without loading numba."""
    return "numba" not in sys.modules and size <= LARGEST


def skip_comments(window: bytes, comments: bytes, words: tuple[bytes, ...]) -> tuple[int, int]:
    """Return the bytes and lines of blank lines and comments at the start; see `mst.kernels.io.parse.skip_comments`."""
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
        As of `mst.formats.table.Layout`.

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
            texts = words[place + offset :: width]
            fractions = column == "w" and any(b"." in text for text in texts)
            found[column] = np.array(
                list(map(float if fractions else int, texts)), float if fractions else np.int64
            )
    ends = [found[column] for column in "uv" if column in found]
    if words and (min(end.min() for end in ends) < low or max(end.max() for end in ends) > high):
        return None
    return found
