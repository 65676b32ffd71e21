# One job for each batch: it measures the missing runs on one graph in turn, and lists all records of the batch. On one
# machine it claims every core: a timed run has the machine to itself. On a cluster it has a node to itself, one with
# GPUs, or a rank for each unit of its width on as many nodes as these need. Another job proves every measurement; a
# wrong forest is recorded there, and the last gate turns it into a failure.

BATCH = RESULTS / f"{{where}}{BATCHES}/{{machine}}/{{graph}}/{{part}}/{{number}}"


rule measure:
    input:
        manifest=lambda wildcards: graph_file(wildcards.graph, "manifest.json"),
        graph=lambda wildcards: ancient(graph_file(wildcards.graph, "graph.arrow")),
    output:
        BATCH / MEASURED,
    log:
        RESULTS / "logs/{where}runs/{machine}/{graph}/{part}-{number}.log",
    wildcard_constraints:
        part="all|cpu",
    conda:
        "../../envs/cpu.yaml"
    envmodules:
        *modules("sequential", "threads", "peer"),
    threads: run_cpus
    resources:
        **run_resources(),
    params:
        scope=scope_of,
    shell:
        "{resources.launcher} python -P -m mst run --scope {params.scope:q}"
        " --batch {wildcards.machine}/{wildcards.graph}/{wildcards.part}"
        " --index {output:q} --granted {resources.granted} > {log:q} 2>&1"


use rule measure as measure_cuda with:
    wildcard_constraints:
        part="cuda",
    conda:
        "../../envs/cuda.yaml"
    envmodules:
        *modules("cuda"),


# One rank, or all of them on the machine at hand: the scheduler refuses an MPI job of one task.
use rule measure as measure_mpi with:
    wildcard_constraints:
        part="mpi|1x1",
    conda:
        "../../envs/mpi.yaml"
    envmodules:
        *modules("mpi"),


use rule measure as measure_ranks with:
    wildcard_constraints:
        part=r"(?!1x1/)\d+x\d+",
    conda:
        "../../envs/mpi.yaml"
    envmodules:
        *modules("mpi"),


rule prove:
    input:
        measured=BATCH / MEASURED,
        reference=lambda wildcards: graph_file(wildcards.graph, "reference.json"),
        graph=lambda wildcards: ancient(graph_file(wildcards.graph, "graph.arrow")),
    output:
        BATCH / PROVED,
    log:
        RESULTS / "logs/{where}proofs/{machine}/{graph}/{part}-{number}.log",
    wildcard_constraints:
        part="[^/]+",
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
        "python -P -m mst verify --batch {input.measured:q} --reference {input.reference:q} --index {output:q}"
        " > {log:q} 2>&1"
