"""``mst list``: algorithms, graphs, papers and formats."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from mst.commands._print import columns, json_text
from mst.errors import ConfigError

if TYPE_CHECKING:
    from mst import registry
    from mst.catalog import Catalog

HELP = "list algorithms, graphs, papers or formats"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", nargs="?", default="algorithms", choices=_ROWS)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON with every field")
    form.add_argument("--markdown", action="store_true", help="print the algorithms with all options")


def run(arguments: argparse.Namespace) -> int:
    if arguments.markdown:
        if arguments.kind != "algorithms":
            raise ConfigError(f"--markdown prints the algorithms: leave out {arguments.kind} or --markdown")
        print(algorithms_page(), end="")
        return 0
    rows = _ROWS[arguments.kind]()
    print(json_text(rows, indent=1) if arguments.json else as_text(rows, _SHOWN.get(arguments.kind, ())))
    return 0


def as_text(rows: list[dict[str, Any]], names: tuple[str, ...] = ()) -> str:
    """Return the values of these names, by default of all, as aligned columns below the names."""
    names = names or tuple(rows[0] if rows else ())
    return columns([names, *([row[name] for name in names] for row in rows)])


_PARADIGMS = {
    "sequential": "One core",
    "threads": "Many cores",
    "cuda": "One GPU",
    "mpi": "Message passing",
    "peer": "Other libraries",
}


def algorithms_page() -> str:
    """Return the catalogue of algorithms and their options as Markdown."""
    from mst import registry

    lines = [
        "# Algorithms",
        "",
        "Every algorithm with its input (an edge list, or compressed sparse rows: *csr*), limits, paper and",
        "options with their defaults; made by `mst list --markdown`. Exact algorithms return the same edge",
        "ids, except for those marked *ties: any*, which break ties differently.",
    ]
    for paradigm, title in _PARADIGMS.items():
        lines += ["", f"## {title}", ""]
        for a in registry.algorithms().values():
            if a.paradigm == paradigm and not a.id.startswith("command-"):
                lines += _algorithm_lines(a)
    return "\n".join(lines) + "\n"


def _algorithm_lines(a: registry.Algorithm) -> list[str]:
    notes = ["exact" if a.exact else "approximate"]
    if a.ties != "order":
        notes.append("ties: any")
    notes += [f"reads {a.input}", *(f"{name} ≤ {limit:,}" for name, limit in a.limits.items())]
    if a.paper:
        notes.append("ours" if a.paper == "ours" else f"paper: {a.paper}")
    lines = [f"- **`{a.id}`** — {a.title} ({', '.join(notes)})"]
    for option in a.options.values():
        legal = " | ".join(map(str, option.choices)) if option.choices else type(option.default).__name__
        lines.append(f"  - `{option.name}` = `{option.default}` ({legal}): {option.help}".rstrip(": "))
    return lines


def _algorithms() -> list[dict]:
    from mst import config, registry
    from mst.fingerprints.modules import PACKAGE

    config.load()  # which registers the programs that it describes as algorithms
    root = PACKAGE.parent
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
            "file": str(a.file.relative_to(root) if a.file.is_relative_to(root) else a.file),
        }
        for a in registry.algorithms().values()
    ]


def _graphs() -> list[dict]:
    from mst import catalog

    return graph_rows(catalog.load())


def graph_rows(listing: Catalog) -> list[dict[str, Any]]:
    """Return the name, the family, the stated size and the title of each graph."""
    return [
        {"name": e.name, "family": e.family, "n": e.stated.get("n"), "m": e.stated.get("m"), "title": e.title}
        for e in listing.values()
    ]


def _papers() -> list[dict]:
    from mst import config

    return [
        {"name": name, "title": e.title, "graphs": len(e.graphs), "baseline": e.baseline}
        for name, e in config.papers(config.load()).items()
    ]


def _formats() -> list[dict]:
    from mst.formats import FORMATS

    return [{"format": f.id, "read": True, "write": f.writable, "title": f.title} for f in FORMATS.values()]


_ROWS = {"algorithms": _algorithms, "graphs": _graphs, "papers": _papers, "formats": _formats}
_SHOWN = {"algorithms": ("id", "paradigm", "title", "needs"), "papers": ("name", "title")}
"""Columns of the text; by default all."""
