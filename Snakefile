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
include: "workflow/rules/site.smk"
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


# Jobs of a cluster run without these hooks: the account is that of the whole workflow.
onerror:
    failures = account.write_account(map(Path, log), RESULTS)
    print(*failures, sep="\n", file=sys.stderr)
    print(
        f"{len(failures)} jobs failed ({RESULTS / account.FILE}); the same command retries them",
        file=sys.stderr,
    )


onsuccess:
    failed = RESULTS / account.FILE
    failed.unlink(missing_ok=True)
    for scope in ASKED:
        checked = folder_of(scope) / "checked.json"
        if checked.is_file():
            print(
                f"{folder_of(scope) / 'report.html'}: {summary(checked)}",
                file=sys.stderr,
            )
