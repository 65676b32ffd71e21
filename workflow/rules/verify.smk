# Every measurement is proved by a separate job. A wrong forest is recorded here; the last gate turns it into a failure.


rule verify:
    input:
        record=RECORDS
        / "{machine}/{graph}/{algorithm}/{options}/{width}/{fingerprint}.json",
        reference=lambda wildcards: graph_file(wildcards.graph, "reference.json"),
    output:
        RECORDS
        / "{machine}/{graph}/{algorithm}/{options}/{width}/{fingerprint}.proof.json",
    log:
        RESULTS
        / "logs/proofs/{machine}/{graph}/{algorithm}-{options}-{width}-{fingerprint}.log",
    group:
        shared("proofs-{graph}")
    conda:
        "../../envs/cpu.yaml"
    envmodules:
        *modules(),
    threads: work_cpus()
    resources:
        **work_resources(proofs_together),
    shell:
        "{MST} verify --record {input.record:q} --reference {input.reference:q} > {log:q} 2>&1 || [ -s {output:q} ]"
