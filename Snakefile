# The front door of the workflow: configuration, includes, targets.
#
#   snakemake --cores N                          the default experiment and its report
#   snakemake --cores N papers/durbhakula        one paper
#   snakemake --cores N results/papers/durbhakula/figure-2.csv   one figure or table of it
#   snakemake --cores N graphs/USA-road-d.NY     one graph
#   snakemake --cores N algorithms/kruskal       one algorithm

from snakemake.utils import min_version

min_version("9.27")


configfile: "config/config.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/graphs.smk"
include: "workflow/rules/runs.smk"
include: "workflow/rules/verify.smk"
include: "workflow/rules/results.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/papers.smk"


rule all:
    default_target: True
    input:
        RESULTS / "report.html",
        RESULTS / "checked.json",
