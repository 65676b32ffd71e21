"""``mst clean``: the caches, their sizes and their removal."""

from __future__ import annotations

import shutil
from argparse import ArgumentParser, Namespace
from pathlib import Path

HELP = "show the caches with their sizes, or remove them"

PARTS = {
    "raw": "raw files as fetched, and parts of them to resume",
    "graphs": "canonical graphs",
    "checksums": "checksums of first downloads; without them a changed file goes unnoticed",
    "numba": "compiled kernels for the processor",
    "cuda": "compiled kernels for the GPU",
    "fingerprints": "fingerprints of mst's own code",
}


def configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "parts",
        nargs="*",
        metavar="PART",
        help=f"cache to remove: {', '.join(PARTS)} (default: only show the sizes)",
    )
    parser.add_argument("--all", action="store_true", help="remove everything except the checksums")
    parser.add_argument("--graph", metavar="NAME", help="only the files of this graph of the catalogue")
    parser.add_argument("--dry-run", action="store_true", help="show what would be removed without removing it")


def run(args: Namespace) -> int:
    from mst.cache import cache_root
    from mst.commands._print import columns
    from mst.errors import ConfigError, nearest
    from mst.names import path_part
    from mst.units import decimal_size

    for part in args.parts:
        if part not in PARTS:
            raise ConfigError(f"no cache {part!r}{nearest(part, PARTS)}; the caches are {', '.join(PARTS)}")
    if args.parts and args.all:
        raise ConfigError(f"--all removes every cache but one: leave out {' '.join(args.parts)} or --all")
    root = cache_root()
    if args.graph is not None:
        # A path would lead out of the cache.
        path_part(args.graph, "graph", "--graph")
        _refuse_unknown(args.graph, root)
    named = args.parts or ([part for part in PARTS if part != "checksums"] if args.all else [])
    if not named:
        rows = [(part, decimal_size(_bytes(_places(root, part, args.graph))), PARTS[part]) for part in PARTS]
        print(f"{root}\n{columns(rows)}\nremove with `mst clean PART …` or `mst clean --all`")
        return 0
    for part in named:
        places = _places(root, part, args.graph)
        freed = _bytes(places)
        if not args.dry_run:
            for place in places:
                _remove(place)
        print(f"{part}: {'would remove' if args.dry_run else 'removed'} {decimal_size(freed)}")
    return 0


def _refuse_unknown(graph: str, root: Path) -> None:
    """Raise `ConfigError` unless the graph is in the catalogue, or in the cache from another catalogue."""
    from mst import catalog
    from mst.errors import ConfigError, nearest

    cached = {place.name for place in root.glob("raw/*")} | {place.stem for place in root.glob("checksums/*")}
    cached |= {place.name.rpartition("-")[0] for place in root.glob("graphs/*")}
    if graph not in cached and graph not in (listing := catalog.load()):
        raise ConfigError(
            f"--graph {graph!r} is neither in {root} nor in {listing.file}{nearest(graph, {*cached, *listing})}; "
            "mst list graphs shows those of the catalogue"
        )


def _places(root: Path, part: str, graph: str | None) -> list[Path]:
    """Return the existing files and folders of a part of the cache: of all graphs, or of one."""
    folder = root / part
    if graph is None:
        places = [folder]
    else:
        of_graph = [place for place in root.glob("graphs/*") if place.name.rpartition("-")[0] == graph]
        parts = {"raw": [folder / graph], "checksums": [folder / f"{graph}.json"], "graphs": of_graph}
        places = parts.get(part, [])
    return [place for place in places if place.exists()]


def _bytes(places: list[Path]) -> int:
    files = (file for place in places for file in (place.rglob("*") if place.is_dir() else [place]))
    return sum(file.lstat().st_size for file in files if file.is_file())


def _remove(place: Path) -> None:
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)
