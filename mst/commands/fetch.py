"""``mst fetch``: bring graphs of the catalogue onto this machine."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mst.commands._arguments import add_catalog, add_json
from mst.commands._print import json_text
from mst.progress import step

if TYPE_CHECKING:
    from mst.catalog import Entry
    from mst.catalog.download import Sources

HELP = "fetch or generate graphs of the catalogue"


def configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "graphs", nargs="+", metavar="GRAPH", help="names in the catalogue, or patterns with * and ?"
    )
    parser.add_argument(
        "--into", metavar="FOLDER", help="folder in which to make a folder for each graph (default: the cache)"
    )
    parser.add_argument("--raw", action="store_true", help="fetch only the raw file, do not convert it")
    parser.add_argument("--again", action="store_true", help="make the graph even if it exists already")
    parser.add_argument(
        "--mirror",
        action="append",
        default=[],
        metavar="PLACE",
        help="a folder or URL prefix to try before the official address, after those of MST_MIRROR; repeatable",
    )
    parser.add_argument("--offline", action="store_true", help="never touch the network")
    add_catalog(parser)
    add_json(parser, "print one JSON object with the name, the status, the file and the size of each graph")


def run(args: Namespace) -> int:
    from mst import catalog
    from mst.catalog.download import Sources
    from mst.errors import ConfigError

    entries = catalog.load(args.catalog).matching(args.graphs)
    sources = Sources.from_environment(args.mirror, args.offline)
    chosen = [entry for entry in entries if entry.sources or not args.raw]
    if not chosen:
        raise ConfigError(f"{', '.join(args.graphs)}: generated, without a raw file: leave out --raw")
    found = []
    with step("fetching", total=len(chosen)) as fetching:
        for k, entry in enumerate(chosen):
            fetching.update(f"{entry.name}, graph {k + 1} of {len(chosen)}", done=k)
            found.append(_fetch_raw(entry, sources) if args.raw else _fetch(entry, sources, args))
            if not args.json:
                _print(found[-1])
    if args.json:
        print(json_text({"graphs": found}))
    return 0 if all(graph["status"] == "ok" for graph in found) else 1


def _print(graph: dict[str, Any]) -> None:
    """Print the line about a graph, and its faults on standard error."""
    if graph["status"] != "ok":
        print(graph["reason"], file=sys.stderr)
    elif "check" in graph:
        print(f"{graph['name']}: {graph['file']}, {_CHECKS[graph['check']]}")
    else:
        print(f"{graph['name']}: n = {graph['n']:,}, m = {graph['m']:,}, {graph['file']}")
        for mismatch in graph["mismatches"]:
            print(f"{graph['name']}: {mismatch}", file=sys.stderr)


def _fetch_raw(entry: Entry, sources: Sources) -> dict[str, Any]:
    from mst import catalog
    from mst.catalog.download import NotFetched

    try:
        _, fetched = catalog.fetch_raw(entry, sources)
    except NotFetched as absent:
        return {"name": entry.name, "status": "unavailable", "reason": str(absent)}
    return {"name": entry.name, "status": "ok", "file": str(fetched.path), "check": fetched.check}


_CHECKS = {
    "published": "its checksum matches the published one",
    "recorded": "its checksum matches the one recorded earlier",
    "first": "its checksum was recorded, since this is the first download",
}


def _fetch(entry: Entry, sources: Sources, args: Namespace) -> dict[str, Any]:
    from mst import catalog
    from mst.catalog.download import NotFetched

    folder = Path(args.into, entry.name) if args.into else None
    folder, manifest = catalog.obtain(entry, folder, sources=sources, again=args.again)
    if manifest.status != "ok":
        tried = [(each.location, each.reason) for each in manifest.tried]
        absent = NotFetched(entry.name, tried, own=entry.is_own)
        return {"name": entry.name, "status": manifest.status, "reason": str(absent)}
    return {
        "name": entry.name,
        "status": "ok",
        "file": str(folder / "graph.arrow"),
        "n": manifest.n,
        "m": manifest.m,
        "digest": manifest.digest,
        "mismatches": list(map(str, manifest.mismatches)),
    }
