# What jobs ask a cluster's scheduler for. Without a cluster they ask for nothing, and a timed run claims this machine.
#
# The scheduler's overhead is some 15 s a job: runs on one graph and one kind of node share one of its jobs, and so do
# the proofs of a graph. Snakemake adds up what jobs that share one ask for, save that they take turns (`turn`).

PAGE_GROUP = "page" if CONFIG.site else None


class Together(dict):
    """How many parts of a group share a job: all of them."""

    def get(self, group, default=None):
        return super().get(group, sys.maxsize)


if CONFIG.site and workflow.is_main_process:
    workflow.group_settings.group_components = Together()


def run_of(wildcards):
    """The paradigm and the width of a run."""
    width = int(re.match(r"w(\d+)", wildcards.width).group(1))
    return registry.get(wildcards.algorithm).paradigm, width


def run_cpus(wildcards):
    if CONFIG.site is None:
        return workflow.cores
    return CONFIG.site.node(wildcards.machine).run_cpus(*run_of(wildcards))


def run_group(wildcards):
    """Runs on one graph, one kind of node and one layout of ranks share a job."""
    if CONFIG.site is None:
        return None
    layout = wildcards.width.partition("-")[2]
    return "-".join(filter(None, [wildcards.machine, wildcards.graph, layout]))


def proof_group(wildcards):
    return f"proofs-{wildcards.graph}" if CONFIG.site else None


def run_resources(mpi=False):
    if CONFIG.site is None:
        return dict(mpi="mpiexec", tasks=lambda w: run_of(w)[1]) if mpi else {}

    def answer(name):
        def of_run(wildcards):
            node = CONFIG.site.node(wildcards.machine)
            return node.run_resources(*run_of(wildcards))[name]

        return of_run

    any_node = next(iter(CONFIG.site.nodes.values()))
    return {name: answer(name) for name in any_node.run_resources("sequential", 1)}


def work_resources():
    """What a job that is not timed asks for."""
    return CONFIG.site.work.resources() if CONFIG.site else {}


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
