# The page, and a target for every paper, graph and algorithm.

PAGE_SOURCES = [
    str(p)
    for d in ("report", "mst/reporting")
    for p in sorted(Path(d).rglob("*"))
    if p.suffix in PAGE_SUFFIXES
]
PAGE_SOURCES += [
    "config/advice.json",
    "mst/advice/__init__.py",
    "mst/advice/traits.py",
    "mst/units.py",
]
PAGE_SOURCES += map(str, sorted(settings_of.COMMITTED.glob("reference/*/about.yaml")))


def figure_captions():
    """Return the captions of figures, for the engine's own report."""
    captions = read_yaml(Path("report/captions.yaml"))
    return {name: text for name, text in captions.items() if isinstance(text, str)}


rule report:
    input:
        table=RESULTS / "{where}table.parquet",
        graphs=lambda wildcards: manifests(scope_of(wildcards))
        + imported_manifests(scope_of(wildcards)),
        sources=PAGE_SOURCES,
    output:
        page=report(
            RESULTS / "{where}report.html",
            caption="../../report/snakemake/page.rst",
            category="The report",
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
        **work_resources(lambda wildcards: 3),
    params:
        records=[str(RECORDS), *IMPORTED],
        experiment=lambda wildcards: scope_experiment(scope_of(wildcards)),
        captions=figure_captions(),
    script:
        "../scripts/report.py"


for scope in SCOPES[1:]:

    rule:
        name:
            scope
        input:
            folder_of(scope) / "report.html",
            folder_of(scope) / "checked.json",
