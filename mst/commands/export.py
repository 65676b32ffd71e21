"""``mst export``: a machine's records in one file."""

from __future__ import annotations

import argparse
from pathlib import Path

from mst.atomic import is_stream
from mst.commands._arguments import add_results, results_of
from mst.commands._print import message_stream
from mst.units import counted, decimal_size

HELP = "pack a machine's records, proofs and graph manifests into one file; or everything as an RO-Crate"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("machine", nargs="?", metavar="MACHINE", help="name of a machine (default: this one)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="the file to write (default: MACHINE.mst.zip)")
    parser.add_argument(
        "--crate", action="store_true", help="a Workflow Run RO-Crate instead: workflow, inputs, page and table"
    )
    add_results(parser)


def run(arguments: argparse.Namespace) -> int:
    """Pack, and print the counts."""
    from mst import config
    from mst.bench.records.bundle import SUFFIX, export_bundle
    from mst.bench.records.crate import write_crate
    from mst.bench.records.store import load_records
    from mst.errors import ConfigError
    from mst.formats.files import check_place

    if arguments.out:
        check_place(arguments.out)
    if arguments.crate and arguments.machine:
        raise ConfigError(f"--crate packs all machines, so leave {arguments.machine} out; --out names the file")
    results = results_of(arguments)
    if arguments.crate:
        out, about = arguments.out or Path("mst-crate.zip"), "Workflow Run RO-Crate"
        write_crate(out, root=Path(), results=results, records=load_records(results / "records"))
    else:
        machine = arguments.machine or config.load().machine_name
        out = arguments.out or Path(machine + SUFFIX)
        packed = export_bundle(machine, results=results, out=out)
        about = (
            f"{counted(packed.records, 'record')} of {machine}, {counted(packed.proofs, 'proof')}, "
            f"{counted(packed.manifests, 'graph manifest')}"
        )
    size = "" if is_stream(out) else f", {decimal_size(out.stat().st_size)}"
    print(f"{out}: {about}{size}", file=message_stream(out))
    return 0
