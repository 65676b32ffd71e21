"""Write the plan of a scope: the runs on this machine, and those that are not possible, each with its reason."""

from pathlib import Path

from mst import catalog, config
from mst.bench.records.store import write_json
from mst.logged import logged

with logged(snakemake.log[0]):
    settings = config.load()
    rows = config.scope_plan(
        settings, config.papers(settings), catalog.load(), config.machines(settings), snakemake.params.scope
    )
    write_json(Path(snakemake.output[0]), config.plan_document(rows))
