# One tidy table of all measurements, of this and other machines, and the last gate.

TABLE_SOURCES = sources(
    "mst/bench/records/schema.py",
    "mst/bench/records/store.py",
    "mst/bench/statistics.py",
    "mst/reporting/table.py",
)


rule plan:
    input:
        lambda wildcards: manifests(scope_of(wildcards)),
    output:
        RESULTS / "{where}plan.json",
    log:
        RESULTS / "logs/{where}plan.log",
    localrule: True
    conda:
        "../../envs/cpu.yaml"
    params:
        scope=scope_of,
        request=lambda wildcards: request_digest(scope_of(wildcards)),
    script:
        "../scripts/plan.py"


rule table:
    input:
        batches=lambda wildcards: proved(scope_of(wildcards)),
        plan=RESULTS / "{where}plan.json",
        imported=files_of_other_machines(),
        sources=TABLE_SOURCES,
    output:
        parquet=RESULTS / "{where}table.parquet",
        csv=RESULTS / "{where}table.csv",
    log:
        RESULTS / "logs/{where}table.log",
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
        # The default page shows all measurements, the others only those of their scope.
        only_planned=lambda wildcards: scope_of(wildcards) != "default",
        scope=scope_of,
    script:
        "../scripts/table.py"


rule check:
    input:
        RESULTS / "{where}table.parquet",
        # The page comes first, so that it exists even if the check fails.
        RESULTS / "{where}report.html",
    output:
        RESULTS / "{where}checked.json",
    log:
        RESULTS / "logs/{where}check.log",
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
        strict=CONFIG.strict,
    script:
        "../scripts/check.py"
