# Raw file or generator -> canonical graph and manifest -> proved reference forest.


checkpoint graph:
    input:
        lambda wildcards: own_files(wildcards.graph),
    output:
        manifest=RESULTS / "graphs/{graph}/{recipe}/manifest.json",
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
        RESULTS / "graphs/{graph}/{recipe}/manifest.json",
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
        "{MST} reference {input:q} > {log:q} 2>&1"
