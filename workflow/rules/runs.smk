# One job per run, with the resources of its paradigm. On one machine it claims every core: a timed run has the machine
# to itself. On a cluster it has a node to itself, one with GPUs, or a rank for each unit of its width on as many nodes
# as these need.


ruleorder: run_ranks > run_cuda > run


def staged(wildcards, output):
    """Return the path, without suffix, of a measurement that another run's job has made in turns with its own."""
    place = Path(output[0]).relative_to(RECORDS).with_suffix("")
    return str(RESULTS / STAGED / place)


# The shell moves it in less time than Python takes to start.
MOVE_STAGED = 'mv {params.staged:q}.* "$(dirname {output:q})" 2> {log:q}'


rule run:
    input:
        lambda wildcards: graph_file(wildcards.graph, "manifest.json"),
    output:
        RECORDS / "{machine}/{graph}/{algorithm}/{options}/{width}/{fingerprint}.json",
    log:
        RESULTS
        / "logs/runs/{machine}/{graph}/{algorithm}-{options}-{width}-{fingerprint}.log",
    group:
        shared("{machine}-{graph}")
    conda:
        "../../envs/cpu.yaml"
    envmodules:
        *modules("sequential", "threads", "peer"),
    threads: run_cpus
    resources:
        **run_resources(),
    params:
        staged=staged,
    shell:
        MOVE_STAGED
        + " || {MST} run --record {output:q} --granted {threads} > {log:q} 2>&1"


use rule run as run_cuda with:
    wildcard_constraints:
        algorithm=any_of("cuda"),
    conda:
        "../../envs/cuda.yaml"
    envmodules:
        *modules("cuda"),


# One rank, or all of them on the machine at hand: the scheduler refuses an MPI job of one task.
use rule run as run_ranks with:
    wildcard_constraints:
        algorithm=any_of("mpi"),
    group:
        shared("{machine}-{graph}-{width}")
    conda:
        "../../envs/mpi.yaml"
    envmodules:
        *modules("mpi"),


if CONFIG.site:

    ruleorder: run_mpi > run_ranks > run_cuda > run

    rule run_mpi:
        input:
            lambda wildcards: graph_file(wildcards.graph, "manifest.json"),
        output:
            RECORDS
            / "{machine}/{graph}/{algorithm}/{options}/{width}/{fingerprint}.json",
        log:
            RESULTS
            / "logs/runs/{machine}/{graph}/{algorithm}-{options}-{width}-{fingerprint}.log",
        wildcard_constraints:
            algorithm=any_of("mpi"),
            width=r"w(?!1(-|/|$))\d+(-[^/]+)?",
        group:
            shared("{machine}-{graph}-{width}")
        conda:
            "../../envs/mpi.yaml"
        envmodules:
            *modules("mpi"),
        threads: run_cpus
        resources:
            **run_resources(),
        params:
            staged=staged,
        shell:
            MOVE_STAGED
            + " || MST_MPIEXEC={resources.mpi:q} {MST} run --record {output:q} --granted {resources.tasks} > {log:q} 2>&1"
