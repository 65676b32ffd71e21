"""The last gate: fail if a forest is wrong, or, with ``strict``, if a graph is unavailable."""

from pathlib import Path

from mst.bench.records.account import check_table
from mst.logged import logged

with logged(snakemake.log[0]):
    check_table(Path(snakemake.input[0]), Path(snakemake.output[0]), strict=snakemake.params.strict)
