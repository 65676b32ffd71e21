"""The last gate: fails when a forest is wrong, or, if asked to be strict, when a graph is not to be had."""

from pathlib import Path

from mst.bench.records.check import check_table
from mst.logged import logged

with logged(snakemake.log[0]):
    check_table(Path(snakemake.input[0]), Path(snakemake.output[0]), strict=snakemake.params.strict)
