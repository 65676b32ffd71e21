# The resources that jobs request from a cluster's scheduler. Without a cluster they request none, and a timed run claims
# this machine.
#
# The scheduler's overhead is some 15 s a job: runs on one graph and one kind of node share a scheduler's job, and so do
# the proofs of a graph. Snakemake adds up the resources of jobs in a group, except that these take turns (`turn`). The
# profile sets the size of a group (group-components).


def shared(group):
    """Return the group of a job, or None without a scheduler."""
    return group if CONFIG.site else None


def run_of(wildcards):
    """Return the paradigm and the width of a run."""
    width = int(re.match(r"w(\d+)", wildcards.width).group(1))
    return registry.get(wildcards.algorithm).paradigm, width


def run_cpus(wildcards):
    if CONFIG.site is None:
        return workflow.cores
    return CONFIG.site.node(wildcards.machine).run_cpus(*run_of(wildcards))


@functools.cache
def missing_runs(graph):
    """Return the number of missing runs on a graph, by machine and layout."""
    return Counter(
        (row.machine, row.layout)
        for scope in ASKED
        if graph in settings_of.scope_graphs(CONFIG, PAPERS, scope)
        for row in settings_of.scope_plan(CONFIG, PAPERS, CATALOG, PLACES, scope)
        if row.graph == graph and row.status == "planned"
    )


def share(minutes, jobs):
    """Return a job's share of the minutes of its group."""
    return max(1, minutes // max(1, jobs))


def run_resources():
    """Return the resources of a timed run."""
    if CONFIG.site is None:
        return {}

    def answer(name):
        def of_run(wildcards):
            node = CONFIG.site.node(wildcards.machine)
            return node.run_resources(*run_of(wildcards))[name]

        return of_run

    def runtime(wildcards):
        layout = wildcards.width.partition("-")[2]
        jobs = missing_runs(wildcards.graph)[wildcards.machine, layout]
        return share(CONFIG.site.node(wildcards.machine).time, jobs)

    any_node = next(iter(CONFIG.site.nodes.values()))
    requested = {name: answer(name) for name in any_node.run_resources("sequential", 1)}
    return {**requested, "runtime": runtime}


def work_resources(together=lambda wildcards: 1):
    """Return the resources of a job that is not timed, one of `together` in a group."""
    if CONFIG.site is None:
        return {}
    work = CONFIG.site.work
    return {
        **work.resources(),
        "runtime": lambda wildcards: share(work.time, together(wildcards)),
    }


def proofs_together(wildcards):
    return missing_runs(wildcards.graph).total()


def work_cpus():
    return CONFIG.site.work.cpus if CONFIG.site else 1


def modules(*paradigms):
    """Return the environment modules of the nodes for these paradigms; without any, those of jobs that are not timed."""
    if CONFIG.site is None:
        return []
    nodes = [n for n in CONFIG.site.nodes.values() if set(paradigms) & set(n.runs)]
    queues = nodes if paradigms else [CONFIG.site.work]
    return list(dict.fromkeys(name for queue in queues for name in queue.modules))


def any_of(*paradigms):
    """Return a pattern that matches the algorithms of these paradigms."""
    known = registry.algorithms().values()
    return "|".join(re.escape(a.id) for a in known if a.paradigm in paradigms) or "(?!)"
