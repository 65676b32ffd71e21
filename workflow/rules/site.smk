# What jobs ask a cluster's scheduler for. Without a cluster they ask for nothing, and a timed run claims this machine.
#
# The scheduler's overhead is some 15 s a job: runs on one graph and one kind of node share one of its jobs, and so do
# the proofs of a graph. Snakemake adds up what jobs that share one ask for, save that they take turns (`turn`). The
# profile says how many may share one (group-components).


def shared(group):
    """A group of jobs, where there is a scheduler whose jobs can be shared."""
    return group if CONFIG.site else None


def run_of(wildcards):
    """The paradigm and the width of a run."""
    width = int(re.match(r"w(\d+)", wildcards.width).group(1))
    return registry.get(wildcards.algorithm).paradigm, width


def run_cpus(wildcards):
    if CONFIG.site is None:
        return workflow.cores
    return CONFIG.site.node(wildcards.machine).run_cpus(*run_of(wildcards))


@functools.cache
def missing_runs(graph):
    """How many runs on a graph are still to be made, by machine and layout."""
    return Counter(
        (row.machine, row.layout)
        for scope in ASKED
        if graph in settings_of.scope_graphs(CONFIG, PAPERS, scope)
        for row in settings_of.scope_plan(CONFIG, PAPERS, CATALOG, PLACES, scope)
        if row.graph == graph and row.status == "planned"
    )


def share(minutes, jobs):
    """Each job's part of the minutes that they have together."""
    return max(1, minutes // max(1, jobs))


def run_resources():
    """What a timed run asks for."""
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
    asked = {name: answer(name) for name in any_node.run_resources("sequential", 1)}
    return {**asked, "runtime": runtime}


def work_resources(together=lambda wildcards: 1):
    """What a job that is not timed asks for; so many share one of the scheduler's."""
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
    """Environment modules of the nodes that these paradigms run on; without any, of what is not timed."""
    if CONFIG.site is None:
        return []
    nodes = [n for n in CONFIG.site.nodes.values() if set(paradigms) & set(n.runs)]
    queues = nodes if paradigms else [CONFIG.site.work]
    return list(dict.fromkeys(name for queue in queues for name in queue.modules))


def any_of(*paradigms):
    """A pattern of the algorithms of these paradigms."""
    known = registry.algorithms().values()
    return "|".join(re.escape(a.id) for a in known if a.paradigm in paradigms) or "(?!)"
