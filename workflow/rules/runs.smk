# One job per run. It claims every core: a timed run has the machine to itself.


rule run:
    input:
        lambda wildcards: graph_file(wildcards.graph, "manifest.json"),
    output:
        RECORDS / "{machine}/{graph}/{algorithm}/{options}/{width}/{fingerprint}.json",
    log:
        RESULTS
        / "logs/runs/{machine}/{graph}/{algorithm}-{options}-{width}-{fingerprint}.log",
    threads: workflow.cores
    shell:
        "{MST} run --record {output:q} --granted {threads} > {log:q} 2>&1"
