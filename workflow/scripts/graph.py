"""Fetch or generate a graph, make it canonical, describe it."""

import sys
from pathlib import Path

from mst import catalog, config
from mst.logged import logged

with logged(snakemake.log[0]):
    entry = catalog.load()[snakemake.wildcards.graph]
    manifest = catalog.materialise(
        entry,
        Path(snakemake.output.manifest).parent,
        sources=config.load().sources(),
    )
    # The engine expects this file even of an unavailable graph, where nothing reads it.
    Path(snakemake.output.graph).touch()
    print(manifest.model_dump_json(indent=1))
if manifest.status != "ok":
    print(manifest.refusal(is_own=entry.is_own), file=sys.stderr)
