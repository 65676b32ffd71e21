# The resources that jobs request from a cluster's scheduler. Without a cluster they request none, and a timed run claims
# this machine.
#
# The scheduler's overhead is some 15 s a job: runs on one graph and one kind of node are one job; the proofs of a graph
# share one, and so do the jobs of a page. The resource `turn` makes the jobs of a group take turns: otherwise Snakemake
# would add up their resources.


def shared(group):
    """Return the group of a job, or None without a scheduler."""
    return group if CONFIG.site else None


def run_cpus(wildcards):
    if CONFIG.site is None:
        return workflow.cores
    widest = widest_of(wildcards)
    return CONFIG.site.node(wildcards.machine).run_cpus(widest.paradigm, widest.width)


def widest_of(wildcards):
    """Return the run of a batch that needs the most GPUs or ranks."""
    return max(
        batch_of(wildcards).possible,
        key=lambda row: (row.paradigm == "cuda", row.width),
    )


def run_resources():
    """Return the resources of a timed run, the cores `granted` to it and the variable for its `launcher` included."""
    if CONFIG.site is None:
        return {"granted": lambda wildcards, threads: threads, "launcher": ""}

    def resource(name):
        def of_run(wildcards):
            node, widest = CONFIG.site.node(wildcards.machine), widest_of(wildcards)
            return node.run_resources(widest.paradigm, widest.width)[name]

        return of_run

    # All runs have the same resources, by name.
    any_node = next(iter(CONFIG.site.nodes.values()))
    of_node = {name: resource(name) for name in any_node.run_resources("sequential", 1)}

    def granted(wildcards, threads):
        return of_node["tasks"](wildcards) or threads

    def launcher(wildcards):
        command = of_node["mpi"](wildcards)
        return f"MST_MPIEXEC={shlex.quote(command)}" if command else ""

    return {**of_node, "granted": granted, "launcher": launcher}


def work_resources(together=lambda wildcards: 1):
    """Return the resources of a job that is not timed, one of `together` in a group."""
    if CONFIG.site is None:
        return {}
    work = CONFIG.site.work
    return {
        **work.resources(),
        "runtime": lambda wildcards: max(1, work.time // together(wildcards)),
    }


def page_jobs_together(wildcards):
    """Return the number of jobs in the group of a page: the table, the page and the check."""
    return 3


def proofs_together(wildcards):
    """Return the number of jobs in the group that proves the runs on a graph, one for each batch."""
    subfolders = batches_by_subfolder(scope_of(wildcards))
    return sum(folder.parts[1] == wildcards.graph for folder in subfolders)


def work_cpus():
    return CONFIG.site.work.cpus if CONFIG.site else 1


def modules(*paradigms):
    """Return the environment modules of the nodes for these paradigms; without any, those of jobs that are not timed."""
    if CONFIG.site is None:
        return []
    nodes = [n for n in CONFIG.site.nodes.values() if set(paradigms) & set(n.runs)]
    queues = nodes if paradigms else [CONFIG.site.work]
    return list(dict.fromkeys(name for queue in queues for name in queue.modules))
