"""SteinLib and PACE 2018 graphs (``.stp``, ``.gr``): the section ``Graph`` with rows ``E u v weight``, from 1.

http://steinlib.zib.de/format.php. Rows ``A`` are arcs. Other sections (terminals, coordinates) are skipped.
"""

from __future__ import annotations

from typing import NamedTuple

from mst.errors import FormatError
from mst.formats.base import FileSummary, Format, RawGraph
from mst.formats.source import Source, first_lines
from mst.formats.table import Layout, read_declared_rows
from mst.formats.text import Text, is_count

_MAGIC_NUMBER = b"33d32945"
_ROW_TAGS = {b"edges": "E", b"arcs": "A"}


class _Header(NamedTuple):
    """The counts in the section ``Graph``, and the tag of its rows."""

    n: int
    m: int
    tag: str


def sniff(source: Source) -> bool:
    """Return whether the first line holds SteinLib's magic number or begins a section."""
    lines = [line.strip().lower() for line in first_lines(source, b"#") or [] if line.strip()]
    return bool(lines) and lines[0].startswith((_MAGIC_NUMBER, b"section "))


def read(source: Source) -> RawGraph:
    """Read the section ``Graph``."""
    text = Text(source)
    n, m, tag = _header(text)
    layout = Layout(
        "uvw", f"`{tag} <u> <v> <weight>` with vertices 1 … {n}, or END", tag=tag, footer=b"END", low=1, high=n
    )
    table = read_declared_rows(text, layout, m)
    u, v = table.ends(base=1)
    summary = FileSummary(m, n, m, "edges" if tag == "E" else "arcs")
    return RawGraph(n, u, v, table.weights(), None, "steinlib", summary, base=1)


def _header(text: Text) -> _Header:
    """Read up to the line before the first row."""
    while (line := text.header_line()) is not None and line.lower().split() != [b"section", b"graph"]:
        pass
    if line is None:
        raise FormatError(text.source.path, "expected a line `SECTION Graph`")
    n = None
    while (line := text.header_line()) is not None:
        words = line.lower().split()
        if len(words) == 2 and is_count(words[1]):
            if words[0] == b"nodes":
                n = int(words[1])
            elif words[0] in _ROW_TAGS and n is not None:
                return _Header(n, int(words[1]), _ROW_TAGS[words[0]])
        elif words and words[0] in (b"e", b"a", b"end"):
            break
    raise text.error_at_last_line("expected `Nodes <count>`, then `Edges <count>` or `Arcs <count>`", line)


FORMAT = Format("steinlib", "SteinLib and PACE 2018 graph", (".stp",), sniff, read)
