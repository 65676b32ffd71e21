"""Write the page and its figures."""

from pathlib import Path

from mst import config
from mst.bench.records.reference import references
from mst.logged import logged
from mst.reporting.page.build import write_report

# The processes that draw figures import this file again.
if __name__ == "__main__":
    with logged(snakemake.log[0]):
        write_report(
            table=Path(snakemake.input.table),
            graphs=[Path(file) for file in snakemake.input.graphs],
            config=snakemake.params.experiment,
            out=Path(snakemake.output.page),
            records=[Path(folder) for folder in snakemake.params.records],
            references=references(config.COMMITTED),
            mirrors=[Path(mirror) for mirror in config.load().sources().mirrors],
        )
