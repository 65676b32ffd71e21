"""``mst reference``: the proved forest that runs are compared with."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

HELP = "compute and prove the reference forest of a canonical graph"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("manifest", metavar="MANIFEST", type=Path, help="manifest.json beside graph.arrow")


def run(arguments: argparse.Namespace) -> int:
    """Compute, prove, write ``reference.json`` beside the manifest."""
    from mst.bench.records.verify import make_reference
    from mst.errors import UnavailableError

    manifest = json.loads(arguments.manifest.read_text())
    if manifest["status"] != "ok":
        raise UnavailableError(f"{manifest['name']}: {manifest['reason']}")
    out = arguments.manifest.with_name("reference.json")
    reference = make_reference(arguments.manifest.with_name("graph.arrow"), manifest, out)
    print(f"{out}: weight {reference['weight']}, {reference['components']} components, proved")
    return 0
