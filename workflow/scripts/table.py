"""Write the tidy table of every record."""

import json
from pathlib import Path

from mst.logged import logged
from mst.reporting.table import write_table

with logged(snakemake.log[0]):
    write_table(
        [Path(snakemake.params.records)],
        json.loads(Path(snakemake.input.plan).read_text()),
        Path(snakemake.output.parquet),
        Path(snakemake.output.csv),
        only_planned=snakemake.params.only_planned,
        references=[Path(folder) for folder in snakemake.params.imported],
        stand_ins=snakemake.params.stand_ins,
    )
