"""What the commands share for people to read: aligned columns and sizes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mst.reporting.units import counted


def columns(rows: Iterable[Sequence[object]]) -> str:
    """Return rows as lines of aligned columns, numbers to the right.

    Examples
    --------
    >>> from mst.commands._print import columns
    >>> print(columns([("a", 1), ("long", 1000)]))
    a         1
    long  1,000
    """
    by_column = [_aligned(column) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(line).rstrip() for line in zip(*by_column, strict=True))


def size(count: int) -> str:
    """Return a number of bytes with a decimal unit.

    Examples
    --------
    >>> from mst.commands._print import size
    >>> size(999), size(3_667_907)
    ('999 B', '3.7 MB')
    """
    value, unit = float(count), 0
    while value >= 999.95 and unit < 4:
        value, unit = value / 1000, unit + 1
    return f"{count} B" if unit == 0 else f"{value:.1f} {'BKMGT'[unit].replace('K', 'k')}B"


def graph_size(n: int, m: int) -> str:
    """Return how many vertices and edges there are.

    Examples
    --------
    >>> from mst.commands._print import graph_size
    >>> graph_size(1, 0)
    '1 vertex, 0 edges'
    """
    return f"{n:,} {'vertex' if n == 1 else 'vertices'}, {counted(m, 'edge')}"


def _aligned(column: Sequence[object]) -> list[str]:
    texts = [_text(cell) for cell in column]
    width = max(map(len, texts))
    numbers = any(isinstance(cell, int | float) for cell in column)
    return [text.rjust(width) if numbers else text.ljust(width) for text in texts]


def _text(cell: object) -> str:
    if cell is None:
        return "–"
    if isinstance(cell, bool) or not isinstance(cell, int | float):
        return str(cell)
    return f"{cell:,}" if isinstance(cell, int) else f"{cell:,.6g}"
