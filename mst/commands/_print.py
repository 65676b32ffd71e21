"""Text that several commands print: aligned columns, sizes, and a line about a measurement."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from mst.atomic import is_standard_output
from mst.progress import remark
from mst.units import counted, seconds

if TYPE_CHECKING:
    from mst.formats.base import Format
    from mst.graph import Graph


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


def json_text(value: Any, indent: int | None = None) -> str:
    """Return a value as strict JSON, in which infinities and NaN are strings, as in manifests.

    Examples
    --------
    >>> from mst.commands._print import json_text
    >>> json_text({"weight": float("-inf"), "seconds": 0.5})
    '{"weight": "-Infinity", "seconds": 0.5}'
    """
    return json.dumps(json.loads(json.dumps(value), parse_constant=str), indent=indent)


def remark_written(target: str, graph: Graph, format: Format) -> None:
    """Say which graph was written to a file, and that vertices without edges will be missing when it is read."""
    if lost := format.count_lost(graph):
        renumbered = "" if format.keeps_isolated else " and the others renumbered"
        remark(
            f"{target} has no vertex count: when it is read, {counted(lost, 'vertex', 'vertices')} without edges will "
            f"be missing{renumbered}; use .txt to keep them"
        )
    summary = f"{target}: n = {graph.n:,}, m = {graph.m:,}, weights {graph.w.dtype}"
    remark(summary, file=message_stream(target))


def message_stream(out: str | os.PathLike | None) -> TextIO:
    """Return the stream for messages about a file: standard error if the file itself goes to standard output.

    Examples
    --------
    >>> import sys
    >>> from mst.commands._print import message_stream
    >>> message_stream("graph.arrow") is sys.stdout, message_stream("-") is sys.stderr
    (True, True)
    """
    return sys.stderr if out is not None and is_standard_output(out) else sys.stdout


def graph_size(n: int, m: int) -> str:
    """Return the numbers of vertices and edges in words.

    Examples
    --------
    >>> from mst.commands._print import graph_size
    >>> graph_size(1, 0)
    '1 vertex, 0 edges'
    """
    return f"{counted(n, 'vertex', 'vertices')}, {counted(m, 'edge')}"


def line_about(measurement: dict[str, Any]) -> str:
    """Return a run, its status, and its time or why there is none, in one line."""
    from mst.bench.records.store import medians
    from mst.bench.statistics import summarise

    compute, run = summarise(medians(measurement)), measurement["run"]
    head = (
        f"{run['algorithm']} {run['options']} width {run['width']} on {run['graph']}: {measurement['status']}"
    )
    if compute.median is None:
        return f"{head}: {measurement['reason']}"
    flags = measurement["conditions"]["flags"]
    noise = f" [{', '.join(flags)}]" if flags else ""
    return f"{head}: {seconds(compute.median, 4)}, {counted(compute.count, 'process', 'processes')}{noise}"


def _aligned(column: Sequence[object]) -> list[str]:
    texts = [_text(cell) for cell in column]
    width = max(map(len, texts))
    numbers = any(isinstance(cell, int | float) and not isinstance(cell, bool) for cell in column)
    return [text.rjust(width) if numbers else text.ljust(width) for text in texts]


def _text(cell: object) -> str:
    if cell is None:
        return "–"
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, int):
        return f"{cell:,}"
    return f"{cell:,.6g}" if isinstance(cell, float) else str(cell)
