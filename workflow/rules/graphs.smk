# Raw file or generator -> canonical graph and manifest -> proved reference forest.


checkpoint graph:
    output:
        manifest=RESULTS / "graphs/{graph}/{recipe}/manifest.json",
    log:
        RESULTS / "logs/graphs/{graph}-{recipe}.log",
    script:
        "../scripts/graph.py"


rule reference:
    input:
        RESULTS / "graphs/{graph}/{recipe}/manifest.json",
    output:
        RESULTS / "graphs/{graph}/{recipe}/reference.json",
    log:
        RESULTS / "logs/references/{graph}-{recipe}.log",
    shell:
        "{MST} reference {input} > {log} 2>&1"
