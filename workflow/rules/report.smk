# The page, and a target for every paper, graph and algorithm.

PAGE_SOURCES = [
    str(p)
    for d in ("report", "mst/reporting")
    for p in sorted(Path(d).rglob("*"))
    if p.suffix in PAGE_SUFFIXES
]


rule report:
    input:
        table=RESULTS / "{where}table.parquet",
        graphs=lambda wildcards: manifests(scope_of(wildcards))
        + imported_manifests(scope_of(wildcards)),
        sources=PAGE_SOURCES,
    output:
        RESULTS / "{where}report.html",
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
        **work_resources(lambda wildcards: 3),
    params:
        records=[str(RECORDS), *IMPORTED],
        experiment=lambda wildcards: scope_experiment(scope_of(wildcards)),
        figures=lambda wildcards: str(folder_of(scope_of(wildcards)) / "figures"),
    script:
        "../scripts/report.py"


for scope in SCOPES[1:]:

    rule:
        name:
            scope
        input:
            folder_of(scope) / "report.html",
            folder_of(scope) / "checked.json",
