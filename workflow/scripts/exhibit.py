"""Write one table or figure of a paper."""

from pathlib import Path

from mst.logged import logged
from mst.reporting.papers.section import write_exhibit

with logged(snakemake.log[0]):
    write_exhibit(
        snakemake.wildcards.paper,
        snakemake.wildcards.exhibit,
        records=[Path(folder) for folder in snakemake.params.records],
        table=Path(snakemake.input.table),
        manifests=[Path(file) for file in snakemake.input.graphs],
        csv=Path(snakemake.output.csv),
    )
