"""TNTP road networks (``_net.tntp``): metadata in angle brackets, then a row per link, weighted by length.

https://github.com/bstabler/TransportationNetworks. The line that begins with ``~`` names the columns; without
it, the length is the fourth.
"""

from __future__ import annotations

import re

from mst.errors import FormatError
from mst.formats.base import Format, Notes, RawGraph
from mst.formats.source import Source, head_lines
from mst.formats.table import Layout, read_table, wrong_count
from mst.formats.text import Text


def sniff(source: Source) -> bool:
    lines = [line for line in head_lines(source, b"~") or [] if line.strip()]
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
    at = _length_column(text)
    layout = Layout(
        "uv" + "-" * (at - 2) + "w",
        f"`<from> <to> … <length>` with nodes 1 … {n}",
        comments=b"~",
        more=True,
        low=1,
        high=n,
    )
    table = read_table(text, layout, limit=m)
    if table.rows != m:
        raise wrong_count(text, m, table.rows)
    u, v = table.u.array(), table.v.array()
    u -= 1
    v -= 1
    return RawGraph(n, u, v, table.weights(), None, "tntp", Notes(m, n, m, "arcs"))


def _metadata(text: Text) -> dict[bytes, int]:
    counts: dict[bytes, int] = {}
    while (line := text.line()) is not None:
        name, closed, value = line.strip().removeprefix(b"<").partition(b">")
        name, words = name.strip().upper(), value.split()
        if closed and name == b"END OF METADATA":
            return counts
        if closed and words and words[0].isdigit() and len(words[0]) < 19:
            counts[name] = int(words[0])
        elif line.strip() and not closed and not line.lstrip().startswith(b"~"):
            raise text.error_behind("expected `<NAME> value` until `<END OF METADATA>`", line)
    raise FormatError(text.source.path, "expected a line <END OF METADATA>")


def _length_column(text: Text) -> int:
    """Pass over blank lines and the names of the columns; the place of the length among them."""
    at = 3
    while (line := text.peek()) is not None and (not line.strip() or line.lstrip().startswith(b"~")):
        names = line.lower().replace(b"~", b" ").replace(b";", b" ").split()
        if b"length" in names[2:]:
            at = names.index(b"length")
        text.line()
    return at


FORMAT = Format("tntp", "TNTP road network, weighted by length", (".tntp",), sniff, read)
