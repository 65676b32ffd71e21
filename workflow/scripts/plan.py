"""Write the plan of a scope: the runs, and those that are impossible, each with its reason."""

from pathlib import Path

from mst import config
from mst.bench.records.store import write_json
from mst.logged import logged
from mst.scopes import Scopes

with logged(snakemake.log[0]):
    settings = config.load()
    rows = Scopes.of(settings, config.machines(settings)).plan(snakemake.params.scope)
    write_json(Path(snakemake.output[0]), [row.row() for row in rows])
