"""``mst fetch``: bring graphs of the catalogue onto this machine."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from mst.commands._arguments import add_catalog

if TYPE_CHECKING:
    from mst.catalog import Entry
    from mst.catalog.download import Sources

HELP = "fetch or generate graphs of the catalogue"


def configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "graphs", nargs="+", metavar="GRAPH", help="names in the catalogue, or patterns with * and ?"
    )
    parser.add_argument(
        "--into", metavar="FOLDER", help="make a folder for each graph in this one (default: the cache)"
    )
    parser.add_argument("--raw", action="store_true", help="fetch only the raw file, do not convert it")
    parser.add_argument("--again", action="store_true", help="make the graph even if it exists already")
    parser.add_argument(
        "--mirror",
        action="append",
        default=[],
        metavar="PLACE",
        help="a folder or address prefix to try first, after those of MST_MIRROR; repeatable",
    )
    parser.add_argument("--offline", action="store_true", help="never touch the network")
    parser.add_argument(
        "--progress", action="store_true", default=None, help="show progress even without a terminal"
    )
    add_catalog(parser)


def run(args: Namespace) -> int:
    from mst import catalog
    from mst.catalog.download import Sources

    entries = catalog.load(args.catalog).matching(args.graphs)
    sources = Sources.from_environment(args.mirror, args.offline, progress=args.progress)
    missing = 0
    for entry in entries:
        if args.raw and entry.sources:
            missing += not _fetch_raw(entry, sources)
        elif not args.raw:
            missing += not _fetch(entry, sources, args)
    return 1 if missing else 0


def _fetch_raw(entry: Entry, sources: Sources) -> bool:
    from mst import catalog
    from mst.catalog.download import NotFetched

    try:
        _, fetched = catalog.fetch_raw(entry, sources)
    except NotFetched as absent:
        print(absent, file=sys.stderr)
        return False
    print(f"{entry.name}: {fetched.path}, {_CHECKS[fetched.check]}")
    return True


_CHECKS = {
    "published": "its checksum is the published one",
    "recorded": "its checksum is the one recorded before",
    "first": "its checksum was recorded, as that of a first download",
}


def _fetch(entry: Entry, sources: Sources, args: Namespace) -> bool:
    from mst import catalog
    from mst.catalog.download import NotFetched

    folder = Path(args.into, entry.name) if args.into else None
    folder, manifest = catalog.obtain(entry, folder, sources=sources, again=args.again)
    if manifest.status != "ok":
        print(
            NotFetched(entry.name, [(each.location, each.reason) for each in manifest.tried]), file=sys.stderr
        )
        return False
    print(f"{entry.name}: n = {manifest.n:,}, m = {manifest.m:,}, {folder / 'graph.arrow'}")
    for check in manifest.mismatches:
        difference = f"{check.by} gives {check.quantity} = {check.published}, this graph has {check.found}"
        print(f"{entry.name}: {difference}", file=sys.stderr)
    return True
