"""Write the tidy table of every record."""

import json
from pathlib import Path

from snakemake.script import snakemake

from mst.reporting.table import write_table

plan = [row for file in snakemake.input.plan for row in json.loads(Path(file).read_text())]
write_table(
    [Path(snakemake.params.records), *map(Path, snakemake.params.imported)],
    plan,
    Path(snakemake.output.parquet),
    Path(snakemake.output.csv),
)
