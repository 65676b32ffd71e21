"""Write the page and its figures."""

from pathlib import Path

from mst import config
from mst.bench.records.reference import references
from mst.logged import logged
from mst.reporting.page.build import write_report
from mst.scopes import page_manifests, read_plan

# The processes that draw figures import this file again.
if __name__ == "__main__":
    with logged(snakemake.log[0]):
        settings, others = config.load(), references(config.COMMITTED)
        scope = snakemake.params.experiment["scope"]
        written = write_report(
            table=Path(snakemake.input.table),
            graphs=page_manifests(settings, map(Path, snakemake.input.graphs), scope, others),
            config=snakemake.params.experiment,
            out=Path(snakemake.output.page),
            records=[settings.records, *(reference.records for reference in others)],
            references=others,
            plan=read_plan(Path(snakemake.input.plan)),
        )
        for page in {*Path(snakemake.output.pages).glob("*.html")} - {*written}:
            page.unlink()
