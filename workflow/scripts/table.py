"""Write the tidy table of every record."""

from pathlib import Path

from mst import config
from mst.bench.records.reference import references
from mst.logged import logged
from mst.reporting.table import write_table
from mst.scopes import read_plan, stand_ins

# The processes that read records import this file again.
if __name__ == "__main__":
    with logged(snakemake.log[0]):
        settings = config.load()
        write_table(
            [settings.records],
            read_plan(Path(snakemake.input.plan)),
            Path(snakemake.output.parquet),
            Path(snakemake.output.csv),
            only_planned=snakemake.params.only_planned,
            references=[reference.records for reference in references(config.COMMITTED)],
            stand_ins=stand_ins(config.papers(settings), snakemake.params.scope),
        )
