"""``mst import``: merges the records of other machines into those of this one."""

from __future__ import annotations

import argparse
from pathlib import Path

from mst.commands._arguments import add_results, results_of
from mst.units import counted

HELP = "merge bundles of other machines into the results; conflicts are refused and named"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("bundles", nargs="+", type=Path, metavar="BUNDLE", help="files of mst export")
    parser.add_argument("--as", dest="rename", metavar="NAME", help="import the machine under this name")
    parser.add_argument("--replace", action="store_true", help="let the bundle win where records differ")
    add_results(parser)


def run(arguments: argparse.Namespace) -> int:
    """Merge, and print the counts of new and replaced files."""
    from mst.bench.records.merge import import_bundle
    from mst.errors import ConfigError

    if arguments.rename and len(arguments.bundles) > 1:
        raise ConfigError(
            f"--as {arguments.rename} is for one bundle: import the {len(arguments.bundles)} singly"
        )
    for bundle in arguments.bundles:
        added = import_bundle(
            bundle, results=results_of(arguments), rename=arguments.rename, replace=arguments.replace
        )
        new = counted(added.records - added.replaced, "new record")
        replaced = f" and {added.replaced} replaced" if added.replaced else ""
        print(
            f"{bundle}: {new}{replaced} of {added.machine}, {counted(added.proofs, 'proof')}, "
            f"{counted(added.manifests, 'graph manifest')}; {counted(added.unchanged, 'record')} already here"
        )
        if added.claimed:
            print(
                f"not proved here, and in no chart: {counted(len(added.claimed), 'record')}; make their graphs and "
                "reference forests, for instance by `mst run kruskal GRAPH`, then import again; approximate "
                f"forests stay unproved. Graphs: {', '.join(sorted(set(added.claimed)))}"
            )
    return 0
