# Raw file or generator -> canonical graph and manifest -> proved reference forest.


# Other rules read the large file, too, but only the small manifest decides whether they run again.
rule graph:
    input:
        lambda wildcards: own_files(wildcards.graph),
    output:
        manifest=RESULTS / "graphs/{graph}/{recipe}/manifest.json",
        graph=RESULTS / "graphs/{graph}/{recipe}/graph.arrow",
    log:
        RESULTS / "logs/graphs/{graph}-{recipe}.log",
    # Compute nodes often reach no network.
    localrule: CONFIG.site is not None and not CONFIG.site.work.graphs
    conda:
        "../../envs/cpu.yaml"
    envmodules:
        *modules(),
    threads: work_cpus()
    resources:
        **work_resources(),
    script:
        "../scripts/graph.py"


rule reference:
    input:
        manifest=rules.graph.output.manifest,
        graph=ancient(rules.graph.output.graph),
    output:
        RESULTS / "graphs/{graph}/{recipe}/reference.json",
    log:
        RESULTS / "logs/references/{graph}-{recipe}.log",
    conda:
        "../../envs/cpu.yaml"
    envmodules:
        *modules(),
    threads: work_cpus()
    resources:
        **work_resources(),
    shell:
        "python -P -m mst reference {input.manifest:q} > {log:q} 2>&1"
