"""``mst info``: facts about graphs, or the list of the catalogue."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mst.commands._arguments import add_catalog, add_format, add_json
from mst.commands._print import json_text
from mst.commands.list import as_text, graph_rows

if TYPE_CHECKING:
    from mst.catalog import Catalog, Entry

HELP = "show n, m, components, degrees, weights and merged edges of graph files or catalogue graphs"


def configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "graphs",
        nargs="*",
        metavar="GRAPH",
        help="graph files or catalogue names (default: list the catalogue)",
    )
    add_format(parser, "read files as this format")
    add_json(parser, "print JSON")
    add_catalog(parser)


def run(args: Namespace) -> int:
    from mst import catalog

    listing = catalog.load(args.catalog)
    if not args.graphs:
        entries = {name: entry.model_dump(mode="json") for name, entry in listing.items()}
        print(json_text(entries, indent=1) if args.json else as_text(graph_rows(listing)))
        return 0
    facts = [_about(name, listing, args.format) for name in args.graphs]
    if args.json:
        print(json_text(facts if len(facts) > 1 else facts[0], indent=1))
    else:
        print("\n\n".join(_as_text(one) for one in facts))
    return 0


def _about(name: str, listing: Catalog, format: str | None) -> dict[str, Any]:
    from mst.errors import InputError, nearest
    from mst.formats.source import is_pipe

    path = Path(name)
    if path.name == "manifest.json" or (path.is_dir() and (path / "manifest.json").is_file()):
        return _about_manifest(path)
    if path.is_file() or is_pipe(path):
        return _about_file(path, format)
    if name not in listing:
        raise InputError(
            f"{name} is neither a file nor a graph of the catalogue{nearest(name, listing)}; mst list graphs "
            "shows them all"
        )
    return _about_entry(listing[name])


def _about_file(path: Path, format: str | None) -> dict[str, Any]:
    from dataclasses import asdict

    from mst import formats
    from mst.catalog import describe
    from mst.simplify import simplify

    raw = formats.read_raw(path, format=format)
    graph, merged = simplify(raw.graph(name=path.name))
    return {
        "file": str(path),
        "format": raw.format,
        "rows": raw.summary.rows,
        **describe(graph),
        "weights": "none in the file" if raw.w is None else "from the file",
        "merged": asdict(merged),
        "remarks": list(raw.summary.remarks),
    }


def _about_manifest(path: Path) -> dict[str, Any]:
    from mst.catalog import read_manifest

    return read_manifest(path).model_dump(mode="json", exclude_none=True)


def _about_entry(entry: Entry) -> dict[str, Any]:
    from mst.catalog import default_folder

    facts = entry.model_dump(mode="json", exclude_defaults=True) | {"recipe": entry.recipe}
    folder = default_folder(entry)
    graph = folder / "graph.arrow"
    facts["here"] = str(graph) if graph.is_file() else f"no: mst fetch {entry.name}"
    if (folder / "manifest.json").is_file():
        facts["manifest"] = _about_manifest(folder)
    return facts


def _as_text(facts: dict[str, Any], indent: str = "") -> str:
    """Return nested keys and values as indented lines."""
    lines = []
    for key, value in _for_people(facts).items():
        label = f"{indent}{key.replace('_', ' ')}:"
        if isinstance(value, dict) and value:
            lines += [label, _as_text(value, indent + "  ")]
        elif isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
            lines += [label, *(f"{indent}  {_inline(one)}" for one in value)]
        elif value not in (None, [], {}):
            lines.append(f"{label} {_plain(value)}")
    return "\n".join(lines)


def _for_people(facts: dict[str, Any]) -> dict[str, Any]:
    """Leave out repeated fields; of the comparisons with published numbers, name those that fail."""
    from mst.catalog.manifest import Check

    facts = dict(facts)
    if "manifest" in facts:
        repeated = ("version", "name", "family", "recipe")
        facts["manifest"] = {key: value for key, value in facts["manifest"].items() if key not in repeated}
    if checks := facts.pop("checks", None):
        failing = [check for check in map(Check.model_validate, checks) if not check.agrees]
        facts["published numbers confirmed"] = f"{len(checks) - len(failing)} of {len(checks)}"
        facts["mismatches"] = list(map(str, failing))
    return facts


def _inline(value: dict[str, Any]) -> str:
    return ", ".join(f"{key.replace('_', ' ')} {_plain(one)}" for key, one in value.items())


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(_plain, value))
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
