"""TNTP road networks (``_net.tntp``): metadata in angle brackets, then a row per link, weighted by length.

A line that begins with ``~`` names the columns; without it, the length is the fourth column.
https://github.com/bstabler/TransportationNetworks.
"""

from __future__ import annotations

import re

from mst.errors import FormatError
from mst.formats.base import FileSummary, Format, RawGraph
from mst.formats.source import Source, first_lines
from mst.formats.table import Layout, read_declared_rows
from mst.formats.text import Text, is_count


def sniff(source: Source) -> bool:
    """Return whether the first line is TNTP metadata."""
    lines = [line for line in first_lines(source, b"~") or [] if line.strip()]
    return (
        bool(lines) and re.match(rb"\s*<\s*(NUMBER OF|FIRST THRU|END OF|ORIGINAL)", lines[0], re.I) is not None
    )


def read(source: Source) -> RawGraph:
    """Read the links, weighted by length."""
    text = Text(source)
    counts = _metadata(text)
    n, m = (counts.get(key) for key in (b"NUMBER OF NODES", b"NUMBER OF LINKS"))
    if n is None or m is None:
        raise FormatError(source.path, "expected metadata <NUMBER OF NODES> and <NUMBER OF LINKS>")
    length = _length_column(text)
    layout = Layout(
        "uv" + "-" * (length - 2) + "w",
        f"`<from> <to> … <length>` with nodes 1 … {n}",
        comments=b"~",
        extra_columns=True,
        low=1,
        high=n,
    )
    table = read_declared_rows(text, layout, m)
    u, v = table.ends(base=1)
    return RawGraph(n, u, v, table.weights(), None, "tntp", FileSummary(m, n, m, "arcs"), base=1)


def _metadata(text: Text) -> dict[bytes, int]:
    """Read the metadata; return the counts among them by name."""
    counts: dict[bytes, int] = {}
    while (line := text.header_line()) is not None:
        name, closed, value = line.strip().removeprefix(b"<").partition(b">")
        name, words = name.strip().upper(), value.split()
        if closed and name == b"END OF METADATA":
            return counts
        if closed and words and is_count(words[0]):
            counts[name] = int(words[0])
        elif line.strip() and not closed and not line.lstrip().startswith(b"~"):
            raise text.error_at_last_line("expected `<NAME> value` until `<END OF METADATA>`", line)
    raise FormatError(text.source.path, "expected a line <END OF METADATA>")


def _length_column(text: Text) -> int:
    """Skip blank lines and the names of the columns, and return the index of the column ``length``."""
    column = 3
    while (line := text.peek()) is not None and (not line.strip() or line.lstrip().startswith(b"~")):
        header = line.lower().strip(b"~; \t")
        # Between tabs, names may have several words, such as "Init node".
        fields = header.split(b"\t") if b"\t" in header else header.split()
        names = [field.strip() for field in fields if field.strip()]
        if b"length" in names[2:]:
            column = names.index(b"length")
        text.header_line()
    return column


FORMAT = Format("tntp", "TNTP road network, weighted by length", (".tntp",), sniff, read)
