"""The last gate: fails when a forest is wrong, or, if asked to be strict, when a graph is not to be had."""

from pathlib import Path

from mst.reporting.check import check_table

check_table(Path(snakemake.input[0]), Path(snakemake.output[0]), strict=snakemake.params.strict)
