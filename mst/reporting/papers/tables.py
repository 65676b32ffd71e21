"""An exhibit as text: numbers in its unit, CSV of everything, LaTeX of its tables."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mst.atomic import replacing
from mst.reporting.papers.exhibits import Cell, Column, Filled, Grid
from mst.reporting.papers.observations import published
from mst.units import prefixed

_UNITS = {"seconds": "s", "milliseconds": "ms", "percent": "%", "rate": "per second", "bytes": "MiB"}
_FIELDS = ("panel", "row", "column", "source", "value", "low", "high", "unit", "graphs", "stand_ins", "reason")


def unit_of(kind: str) -> str:
    """Return how a unit is written; nothing for ratios and counts."""
    return _UNITS.get(kind, "")


def number(value: float | None, kind: str) -> str:
    """Write a number in a unit, with three or four significant digits.

    Examples
    --------
    >>> from mst.reporting.papers.tables import number
    >>> number(0.02482, "milliseconds"), number(4190208, "count"), number(1.584e9, "rate"), number(0.27, "percent")
    ('24.8', '4,190,208', '1.58 G', '27.0')
    """
    if value is None:
        return ""
    scale = {"milliseconds": 1e3, "percent": 100.0, "bytes": 2**-20}.get(kind, 1.0)
    value *= scale
    if kind == "count":
        return f"{value:,.0f}" if value == round(value) else f"{value:,.1f}"
    if kind == "rate":
        return prefixed(value)
    if kind == "percent":
        return f"{value:.1f}" if abs(value) >= 0.05 or value == 0 else f"{value:.2g}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def kind_of(filled: Filled, column: str) -> str:
    """Return the unit of a column."""
    found: Column | None = filled.exhibit.columns.get(column)
    return (found.unit if found else None) or filled.exhibit.unit


def write_csv(filled: Filled, path: Path) -> None:
    """Write every number of an exhibit, one a line: printed ones and each machine's."""
    with replacing(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        if filled.exhibit.static:
            rows = published(filled.exhibit.static).rows
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        else:
            rows = tuple(_lines(filled))
            writer = csv.DictWriter(file, _FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _lines(filled: Filled) -> Iterator[dict[str, Any]]:
    for panel in filled.panels:
        for grid in filter(None, (panel.printed, *panel.measured)):
            for row, cells in zip(grid.rows, grid.cells, strict=True):
                for column, cell in zip(grid.columns, cells, strict=True):
                    yield {
                        "panel": panel.name,
                        "row": row,
                        "column": column,
                        "source": grid.source,
                        "value": cell.value,
                        "low": cell.low,
                        "high": cell.high,
                        "unit": {"milliseconds": "seconds"}.get(
                            kind_of(filled, column), kind_of(filled, column)
                        ),
                        "graphs": " ".join(dict.fromkeys(cell.graphs)),
                        "stand_ins": " ".join(f"{graph}={other}" for graph, other in cell.stood_in.items()),
                        "reason": cell.reason,
                    }


def write_latex(filled: Filled, path: Path) -> None:
    """Write an exhibit's tables for LaTeX (with the package booktabs)."""
    with replacing(path) as temporary:
        temporary.write_text(latex(filled), encoding="utf-8")


def latex(filled: Filled) -> str:
    """Return an exhibit as LaTeX tables: measured numbers, the printed ones in parentheses."""
    exhibit = filled.exhibit
    lines = [f"% {exhibit.number}: {exhibit.title}. Measured numbers, with the printed ones in parentheses."]
    if exhibit.static:
        rows = published(exhibit.static).rows
        lines += _tabular(list(rows[0]), [list(row.values()) for row in rows])
    for panel in filled.panels:
        for grid, beside in panel.shown:
            lines.append(f"% {' '.join(filter(None, (panel.name, grid.source)))}")
            head = ["", *(f"{c} ({u})" if (u := unit_of(kind_of(filled, c))) else c for c in grid.columns)]
            lines += _tabular(head, list(_rows(filled, grid, beside)))
    return "\n".join(lines) + "\n"


def _rows(filled: Filled, grid: Grid, beside: Grid | None) -> Iterator[list[str]]:
    for index, (label, cells) in enumerate(zip(grid.labels, grid.cells, strict=True)):
        row = [label]
        for place, (column, cell) in enumerate(zip(grid.columns, cells, strict=True)):
            kind = kind_of(filled, column)
            printed = printed_text(beside, index, place, kind)
            row.append(cell_text(cell, kind) + (f" ({printed})" if printed else ""))
        yield row


def printed_text(printed: Grid | None, row: int, column: int, kind: str) -> str:
    """Return the printed number of a cell; nothing where the paper prints none."""
    cell = printed.cells[row][column] if printed else Cell()
    return cell_text(cell, kind) if cell.value is not None or cell.unfit else ""


def cell_text(cell: Cell, kind: str) -> str:
    """Write a cell: its number, NC where the graph does not fit, a dash where there is none."""
    return number(cell.value, kind) if cell.value is not None else "NC" if cell.unfit else "–"


def _tabular(head: list[str], rows: list[list[str]]) -> list[str]:
    def line(cells: list[str]) -> str:
        return " & ".join(_escaped(cell) for cell in cells) + r" \\"

    return [
        r"\begin{tabular}{l" + "r" * (len(head) - 1) + "}",
        r"\toprule",
        line(head),
        r"\midrule",
        *(line(row) for row in rows),
        r"\bottomrule",
        r"\end{tabular}",
    ]


_LATEX = {
    "&": r"\&",
    "%": r"\%",
    "_": r"\_",
    "#": r"\#",
    "$": r"\$",
    "–": "--",
    "·": r"$\cdot$",
    "×": r"$\times$",
}


def _escaped(text: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in text)
