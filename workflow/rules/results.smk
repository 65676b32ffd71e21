# One tidy table of all measurements, of this and other machines, and the last gate.

# Measured on other machines, and committed with the code.
REFERENCES = references(settings_of.COMMITTED)
IMPORTED = [str(reference.records) for reference in REFERENCES]

TABLE_SOURCES = [
    f"mst/{name}.py"
    for name in ("bench/records/store", "bench/statistics", "reporting/table")
]


rule plan:
    input:
        REQUESTED,
        manifests=lambda wildcards: manifests(scope_of(wildcards)),
        completeness=lambda wildcards: completeness_file(scope_of(wildcards)),
    output:
        RESULTS / "{where}plan.json",
    log:
        RESULTS / "logs/{where}plan.log",
    localrule: True
    params:
        scope=lambda wildcards: scope_of(wildcards),
    script:
        "../scripts/plan.py"


rule table:
    input:
        proofs=lambda wildcards: proofs(scope_of(wildcards)),
        plan=RESULTS / "{where}plan.json",
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
        **work_resources(lambda wildcards: 3),
    params:
        records=str(RECORDS),
        imported=IMPORTED,
        # The default page shows all measurements, the others only those of their scope.
        only_planned=lambda wildcards: scope_of(wildcards) != "default",
        stand_ins=lambda wildcards: stand_ins(scope_of(wildcards)),
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
        **work_resources(lambda wildcards: 3),
    params:
        strict=CONFIG.strict,
    script:
        "../scripts/check.py"
