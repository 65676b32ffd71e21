"""An exhibit as text: numbers in its unit, CSV of everything, LaTeX of its tables."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from mst.atomic import replacing, write_text
from mst.reporting.papers.exhibits import OUR_PORTS, Cell, Filled, Grid
from mst.reporting.papers.published import published
from mst.units import prefixed

UNITS = {
    "seconds": "s",
    "milliseconds": "ms",
    "percent": "%",
    "rate": "per second",
    "bytes": "MiB",
}  # nothing for ratios and counts
SCALE = {"milliseconds": 1e3, "percent": 100.0, "bytes": 2**-20}  # factors by which numbers are shown
NOTHING = "–"  # the text of a cell without a number
_FIELDS = ["panel", "row", "column", "source", "value", "low", "high", "unit"]
_FIELDS += ["graphs", "stand_ins", "widths", "reason", "objection"]


def number(value: float | None, kind: str) -> str:
    """Write a number in a unit, with three or four significant digits.

    >>> number(0.02482, "milliseconds"), number(4190208, "count"), number(1.584e9, "rate"), number(0.27, "percent")
    ('24.8', '4,190,208', '1.58 G', '27.0')
    """
    if value is None:
        return ""
    value *= SCALE.get(kind, 1.0)
    if kind == "count":
        return f"{value:,.0f}" if value == round(value) else f"{value:,.1f}"
    if kind == "rate":
        return prefixed(value)
    if kind == "percent":
        return f"{value:.1f}" if abs(value) >= 0.05 or value == 0 else f"{value:.2g}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def write_files(filled: Filled, stem: Path) -> list[Path]:
    """Write every number of an exhibit as CSV, one per line, and its tables for LaTeX (with the package booktabs).

    The paths are `stem` with the suffixes ``.csv`` and ``.tex``.
    """
    static = filled.exhibit.static
    frame = pd.DataFrame(published(static).rows) if static else pd.DataFrame(_lines(filled), columns=_FIELDS)
    # A stem may hold dots.
    files = [stem.with_name(stem.name + suffix) for suffix in (".csv", ".tex")]
    stem.parent.mkdir(parents=True, exist_ok=True)
    with replacing(files[0]) as temporary:
        frame.to_csv(temporary, index=False)
    write_text(files[1], latex(filled))
    return files


def _lines(filled: Filled) -> Iterator[tuple]:
    """Yield the values of `_FIELDS` for each cell."""
    for grid in filled.grids:
        for row, cells in zip(grid.rows, grid.cells, strict=True):
            for column, cell in zip(grid.columns, cells, strict=True):
                unit = "seconds" if cell.unit == "milliseconds" else cell.unit
                place = (grid.panel, row, column, grid.source)
                numbers = (cell.value, cell.low, cell.high, unit)
                graphs = " ".join(dict.fromkeys(cell.graphs))
                stand_ins = " ".join(f"{graph}={other}" for graph, other in cell.stood_in.items())
                widths = " ".join(map(str, cell.widths))
                yield *place, *numbers, graphs, stand_ins, widths, cell.reason, cell.objection


def latex(filled: Filled) -> str:
    """Return an exhibit as LaTeX tables: measured numbers, the printed ones in parentheses."""
    exhibit = filled.exhibit
    lines = [f"% {exhibit.number}: {exhibit.title}. Measured numbers, with the printed ones in parentheses."]
    if exhibit.static:
        static = published(exhibit.static).rows
        lines.append(_tabular(list(static[0]), [list(row.values()) for row in static]))
    for grid in filled.shown:
        lines.append(f"% {' '.join(filter(None, (grid.panel, grid.source)))}{OUR_PORTS * grid.ports}")
        heads = (f"{column} ({u})" if (u := UNITS.get(unit)) else column for column, unit in grid.heads)
        texts = [[f"{c.text} ({c.printed})" if c.printed else c.text for c in cells] for cells in rows(grid)]
        lines.append(
            _tabular([exhibit.corner, *heads], [[label, *row] for label, row in zip(grid.labels, texts)])
        )
    return "\n".join(lines) + "\n"


class Text(NamedTuple):
    """A cell as text, its printed number if there is one, and its interval or the reason why it has no number."""

    text: str
    printed: str
    title: str


def rows(grid: Grid) -> list[list[Text]]:
    """Return the cells of each row as texts."""
    return [[_text(cell) for cell in cells] for cells in grid.cells]


def _text(cell: Cell) -> Text:
    title = cell.reason if cell.value is None else ""
    if cell.low is not None and cell.low != cell.high:
        title = f"{number(cell.low, cell.unit)} to {number(cell.high, cell.unit)}"
    title = "; ".join(filter(None, (title, cell.objection)))
    printed = cell_text(cell.printed) if cell.printed else NOTHING
    return Text(cell_text(cell), printed * (printed != NOTHING), title)


def cell_text(cell: Cell) -> str:
    """Write a cell: its number, with a star if it judges no claim; NC if the graph does not fit; else a dash."""
    if cell.value is None:
        return "NC" if cell.unfit else NOTHING
    return number(cell.value, cell.unit) + "*" * bool(cell.objection)


def _tabular(head: list[str], rows: list[list[str]]) -> str:
    frame = pd.DataFrame(rows, columns=head)
    text = frame.to_latex(index=False, escape=True, column_format="l" + "r" * (len(head) - 1))
    return text.replace("–", "--").replace("·", r"$\cdot$").replace("×", r"$\times$").rstrip()
