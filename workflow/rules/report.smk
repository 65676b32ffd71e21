# The page, and a target for every paper, graph and algorithm.

PAGE_SOURCES = sources(
    "report/**/*",
    "mst/reporting/**/*",
    "config/advice.json",
    "mst/advice/*",
    "mst/units.py",
)


rule report:
    input:
        table=RESULTS / "{where}table.parquet",
        plan=RESULTS / "{where}plan.json",
        graphs=lambda wildcards: manifests(scope_of(wildcards)),
        imported=files_of_other_machines(),
        sources=PAGE_SOURCES,
    output:
        # `update` keeps the previous pages until they are replaced.
        page=update(RESULTS / "{where}report.html"),
        pages=update(
            report(
                directory(RESULTS / "{where}report"),
                patterns=["{page}.html"],
                caption="../../report/snakemake/page.rst",
                category="The report",
                labels={"page": "{page}"},
            )
        ),
        figures=report(
            directory(RESULTS / "{where}figures"),
            patterns=["{figure}.svg"],
            caption="../../report/snakemake/figure.rst",
            category="Figures",
            labels={"figure": "{figure}"},
        ),
    log:
        RESULTS / "logs/{where}report.log",
    group:
        shared("page")
    conda:
        "../../envs/cpu.yaml"
    envmodules:
        *modules(),
    threads: work_cpus()
    resources:
        **work_resources(page_jobs_together),
    params:
        experiment=lambda wildcards: scope_experiment(scope_of(wildcards)),
        captions=figure_captions(),
    script:
        "../scripts/report.py"


for scope in SCOPES[1:]:

    rule:
        name:
            scope
        input:
            made_of(scope),
            batches=indexes(scope),


rule unknown:
    input:
        unknown_target,
    output:
        "{kind}/{name}",
    log:
        "logs/unknown/{kind}-{name}.log",
    wildcard_constraints:
        kind="papers|graphs|algorithms",
        name="[^/]+",
    conda:
        "../../envs/cpu.yaml"
    shell:
        "exit 1 > {log:q}"
