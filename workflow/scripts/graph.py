"""Fetch or generate a graph, make it canonical, describe it."""

import contextlib
from pathlib import Path

from mst import catalog, config

with Path(snakemake.log[0]).open("w") as log, contextlib.redirect_stdout(log), contextlib.redirect_stderr(log):
    manifest = catalog.materialise(
        catalog.load()[snakemake.wildcards.graph],
        Path(snakemake.output.manifest).parent,
        sources=config.load().sources(),
    )
    print(manifest.model_dump_json(indent=1))
