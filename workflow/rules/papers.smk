# One table or figure of a paper, by its number: results/papers/durbhakula/figure-2.csv, with .tex beside it and its
# pictures as SVG and PDF in the folder of the same name. The runs of the paper come first.


rule exhibit:
    input:
        unknown_exhibit,
        table=RESULTS / "reports/papers/{paper}/table.parquet",
        graphs=lambda wildcards: manifests(f"papers/{wildcards.paper}"),
        imported=files_of_other_machines(),
        sources=PAGE_SOURCES,
    output:
        csv=RESULTS / "papers/{paper}/{exhibit}.csv",
        tex=RESULTS / "papers/{paper}/{exhibit}.tex",
        pictures=directory(RESULTS / "papers/{paper}/{exhibit}"),
    log:
        RESULTS / "logs/papers/{paper}/{exhibit}.log",
    wildcard_constraints:
        paper="|".join(PAPERS),
        exhibit="[^/]+",
    group:
        shared("page")
    conda:
        "../../envs/cpu.yaml"
    envmodules:
        *modules(),
    threads: work_cpus()
    resources:
        **work_resources(page_jobs_together),
    script:
        "../scripts/exhibit.py"
