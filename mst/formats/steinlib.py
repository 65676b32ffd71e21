"""SteinLib and PACE 2018 graphs (``.stp``, ``.gr``): the section ``Graph`` with rows ``E u v weight``, from 1.

http://steinlib.zib.de/format.php. Rows ``A`` are arcs. Other sections (terminals, coordinates) are passed over.
"""

from __future__ import annotations

from mst.errors import FormatError
from mst.formats.base import Format, Notes, RawGraph
from mst.formats.source import Source, head_lines
from mst.formats.table import Layout, read_table, wrong_count
from mst.formats.text import Text

_MAGIC = b"33d32945"
_TAGS = {b"edges": "E", b"arcs": "A"}


def sniff(source: Source) -> bool:
    lines = [line.strip().lower() for line in head_lines(source, b"#") or [] if line.strip()]
    return bool(lines) and lines[0].startswith((_MAGIC, b"section "))


def read(source: Source) -> RawGraph:
    """Read the section ``Graph``."""
    text = Text(source)
    n, m, tag = _header(text)
    layout = Layout(
        "uvw", f"`{tag} <u> <v> <weight>` with vertices 1 … {n}, or END", tag=tag, footer=b"END", low=1, high=n
    )
    table = read_table(text, layout, limit=m)
    if table.rows != m:
        raise wrong_count(text, m, table.rows)
    u, v = table.u.array(), table.v.array()
    u -= 1
    v -= 1
    notes = Notes(m, n, m, "edges" if tag == "E" else "arcs")
    return RawGraph(n, u, v, table.weights(), None, "steinlib", notes)


def _header(text: Text) -> tuple[int, int, str]:
    """Vertices, rows and their tag; the next line is the first row."""
    while (line := text.line()) is not None and line.lower().split() != [b"section", b"graph"]:
        pass
    if line is None:
        raise FormatError(text.source.path, "expected a line `SECTION Graph`")
    n = None
    while (line := text.line()) is not None:
        words = line.lower().split()
        if len(words) == 2 and words[1].isdigit() and len(words[1]) < 19:
            if words[0] == b"nodes":
                n = int(words[1])
            elif words[0] in _TAGS and n is not None:
                return n, int(words[1]), _TAGS[words[0]]
        elif words and words[0] in (b"e", b"a", b"end"):
            break
    raise text.error_behind("expected `Nodes <count>`, then `Edges <count>` or `Arcs <count>`", line)


FORMAT = Format("steinlib", "SteinLib and PACE 2018 graph", (".stp",), sniff, read)
