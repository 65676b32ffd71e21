"""Write one table or figure of a paper."""

from pathlib import Path

from mst import config
from mst.bench.records.reference import references
from mst.logged import logged
from mst.reporting.papers.section import write_exhibit
from mst.scopes import page_manifests

with logged(snakemake.log[0]):
    settings, others = config.load(), references(config.COMMITTED)
    scope = f"papers/{snakemake.wildcards.paper}"
    write_exhibit(
        snakemake.wildcards.paper,
        snakemake.wildcards.exhibit,
        records=[settings.records, *(reference.records for reference in others)],
        table=Path(snakemake.input.table),
        manifests=page_manifests(settings, map(Path, snakemake.input.graphs), scope, others),
        csv=Path(snakemake.output.csv),
    )
