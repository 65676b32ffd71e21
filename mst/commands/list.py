"""``mst list``: what is in the house."""

from __future__ import annotations

import argparse
import json

HELP = "list algorithms, graphs, papers or formats"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "what", nargs="?", default="algorithms", choices=("algorithms", "graphs", "papers", "formats")
    )
    parser.add_argument("--json", action="store_true", help="print JSON with every field")


def run(arguments: argparse.Namespace) -> int:
    """Print the rows."""
    rows = {"algorithms": _algorithms, "graphs": _graphs, "papers": _papers, "formats": _formats}[
        arguments.what
    ]()
    if arguments.json:
        print(json.dumps(rows, indent=1))
        return 0
    columns = {"algorithms": ("id", "paradigm", "title", "needs"), "papers": ("name", "title")}.get(
        arguments.what, ()
    )
    columns = columns or tuple(rows[0] if rows else ())
    shown = [[str(row[c]) for c in columns] for row in rows]
    widths = [max(len(line[i]) for line in [list(columns), *shown]) for i in range(len(columns))]
    for line in [list(columns), *shown]:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    return 0


def _algorithms() -> list[dict]:
    from mst import registry

    return [
        {
            "id": a.id,
            "paradigm": a.paradigm,
            "title": a.title,
            "paper": a.paper,
            "needs": a.missing() or "",
            "exact": a.exact,
            "options": {
                o.name: {"default": o.default, "choices": list(o.choices), "help": o.help}
                for o in a.options.values()
            },
            "file": f"mst/algorithms/{a.file.parent.name}/{a.file.name}",
        }
        for a in registry.algorithms().values()
    ]


def _graphs() -> list[dict]:
    from mst import catalog

    return [{"name": e.name, "family": e.family, "title": e.title} for e in catalog.load().values()]


def _papers() -> list[dict]:
    from mst import config

    return [
        {"name": name, "title": e.title, "graphs": len(e.graphs), "baseline": e.baseline}
        for name, e in config.papers().items()
    ]


def _formats() -> list[dict]:
    from mst.formats import FORMATS

    return [
        {"format": f.id, "read": f.readable, "write": f.writable, "title": f.title} for f in FORMATS.values()
    ]
