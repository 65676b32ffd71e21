"""``mst reference``: the proved forest that runs are compared with."""

from __future__ import annotations

import argparse
from pathlib import Path

from mst.units import counted

HELP = "compute and prove the reference forest of a canonical graph"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("manifest", metavar="MANIFEST", type=Path, help="manifest.json beside graph.arrow")


def run(arguments: argparse.Namespace) -> int:
    """Compute, prove, write ``reference.json`` beside the manifest."""
    from mst.bench.records.store import write_json
    from mst.bench.records.verify import make_reference
    from mst.catalog import read_manifest

    manifest = read_manifest(arguments.manifest).model_dump(mode="json")
    out = arguments.manifest.with_name("reference.json")
    if manifest["status"] != "ok":
        # No run on this graph is planned, and none is compared with it.
        write_json(out, {"graph": manifest["name"], "status": manifest["status"], "reason": manifest["reason"]})
        print(f"{manifest['name']}: {manifest['reason']}")
        return 0
    reference = make_reference(arguments.manifest.with_name("graph.arrow"), manifest, out)
    print(f"{out}: weight {reference['weight']}, {counted(reference['components'], 'component')}, proved")
    return 0
