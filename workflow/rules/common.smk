# Configuration, names, and the plan, which all other rules use.

import atexit
import functools
import getpass
import json
import os
import re
import shlex
import sys
import time
from collections import Counter
from pathlib import Path

from snakemake.settings.types import DeploymentMethod

from mst import catalog, config as settings_of, registry
from mst.bench.records import account
from mst.bench.records.store import STAGED, proof_path, write_json
from mst.bench.records.reference import references
from mst.bench.planning.site import profile_site
from mst.errors import MSTError, nearest
from mst.reporting.papers import claims
from mst.bench.records.check import summary
from mst.yaml_models import read_yaml

if not workflow.is_main_process and settings_of.ENVIRONMENT in os.environ:
    # Jobs follow the configuration of the plan, even if a file has been edited since.
    config.update(json.loads(os.environ[settings_of.ENVIRONMENT]))
elif site_file := profile_site(sys.argv, os.environ.get("SNAKEMAKE_PROFILE")):
    config["site"] = config.get("site") or str(site_file)

try:
    CONFIG = settings_of.from_mapping(config, "configuration")
    CATALOG = catalog.load()
    PLACES = settings_of.places(CONFIG)
    PAPERS = settings_of.papers(CONFIG)
    settings_of.check_graphs(CONFIG, PAPERS, CATALOG)
except MSTError as error:
    raise WorkflowError(str(error))

# The commands that rules start read the same configuration, overrides included, and share a list of hosts that do
# not answer.
os.environ[settings_of.ENVIRONMENT] = json.dumps(config)
os.environ["MST_DEAD_HOSTS"] = str(Path(".snakemake", "mst-dead-hosts").resolve())

if CONFIG.site and CONFIG.site.scratch and workflow.remote_exec:
    # Many jobs that compile into one network folder slow each other down.
    scratch = Path(CONFIG.site.scratch, f"mst-{getpass.getuser()}")
    os.environ.setdefault("MST_CACHE", str(scratch))

RESULTS = Path(CONFIG.results)
RECORDS = CONFIG.records
COMPLETENESS = Path(".snakemake", "mst-completeness")
REQUEST = RESULTS / "request.json"
# Options with which the engine runs nothing. It does not know yet whether it will run jobs; its command line does.
LOOKING = {
    "--dry-run",
    "--dryrun",
    "--summary",
    "--dag",
    "--rulegraph",
    "--filegraph",
    "--lint",
    "--unlock",
    "--touch",
}
ONLY_LOOKING = any(
    a in LOOKING or re.fullmatch("-[a-zA-Z]*n[a-zA-Z]*", a) for a in sys.argv[1:]
)
PAGE_SUFFIXES = {".py", ".html", ".j2", ".css", ".js", ".yaml", ".csv", ".md", ".svg", ".mplstyle"}
SCOPES = [
    "default",
    *(f"papers/{name}" for name in PAPERS),
    *(f"graphs/{name}" for name in CATALOG),
    *(f"algorithms/{name}" for name in registry.algorithms()),
]

for argument in sys.argv[1:] if workflow.is_main_process else ():
    kind, _, name = argument.partition("/")
    if kind in ("papers", "graphs", "algorithms") and not Path(argument).exists():
        if "/" not in name and argument not in SCOPES:
            raise WorkflowError(f"no target {argument!r}{nearest(argument, SCOPES)}")

# With --sdm conda each rule's environment provides Python; the package is always that of this checkout.
IN_CONDA = DeploymentMethod.CONDA in workflow.deployment_settings.deployment_method
MST = "python -m mst" if IN_CONDA else f"{shlex.quote(sys.executable)} -m mst"
checkout = str(Path(workflow.basedir).resolve())
if checkout not in os.environ.get("PYTHONPATH", "").split(os.pathsep):
    os.environ["PYTHONPATH"] = os.pathsep.join(
        filter(None, [checkout, os.environ.get("PYTHONPATH")])
    )


wildcard_constraints:
    graph="[^/]+",
    recipe="[0-9a-f]{8}",
    machine="[^/]+",
    algorithm="[^/]+",
    options="[^/]+",
    width=r"w\d+(-[^/]+)?",
    fingerprint="[0-9a-f]{12}",
    where="(reports/(papers|graphs|algorithms)/[^/]+/)?",
    paper="[^/]+",
    exhibit="[^/]+",


def asked_for(scope):
    """Return whether the command line names a scope, alone or as a part of a result's path."""
    named = re.compile(f"(^|/){re.escape(scope)}(/|$)")
    return any(named.search(argument) for argument in sys.argv[1:])


def folder_of(scope):
    """Return the folder of a scope's table, figures and page."""
    return RESULTS if scope == "default" else RESULTS / "reports" / scope


def scope_of(wildcards):
    """Return the scope of a target: the default experiment, or one paper, graph or algorithm."""
    return wildcards.where.removeprefix("reports/").strip("/") or "default"


def graph_file(name, file):
    return str(settings_of.graph_folder(CONFIG, CATALOG[name]) / file)


def own_files(name):
    """Return the local files of a graph; files that are fetched are no inputs."""
    return [str(file) for file in CATALOG[name].own_files] if name in CATALOG else []


def manifests(scope):
    return [
        graph_file(name, "manifest.json")
        for name in settings_of.scope_graphs(CONFIG, PAPERS, scope)
    ]


def stand_ins(scope):
    """Return the stand-ins on a paper's page, by the names of the graphs that they replace."""
    kind, _, name = scope.partition("/")
    return claims.stand_ins_of(PAPERS[name]) if kind == "papers" else {}


def imported_manifests(scope):
    """Return the manifests of graphs that came with other machines' records.

    The default page shows all of them, a paper's page those that the paper's experiment leaves out here, and stand-ins.
    """
    kind, _, name = scope.partition("/")
    if kind not in ("default", "papers"):
        return []
    own = {Path(file).parts[-3] for file in manifests(scope)}
    imported = sorted(RESULTS.glob("manifests/*/*.json"))
    committed = [file for reference in REFERENCES for file in reference.manifests]
    found = [file for file in (*imported, *committed) if file.parent.name not in own]
    if kind == "papers":
        wanted = {*PAPERS[name].left_out, *stand_ins(scope).values()}
        found = [file for file in found if file.parent.name in wanted]
    return [str(file) for file in found]


def planned_rows(scope):
    """Return the rows of a scope's plan, once the manifests of its graphs exist."""
    for name in settings_of.scope_graphs(CONFIG, PAPERS, scope):
        checkpoints.graph.get(graph=name, recipe=CATALOG[name].recipe)
    return settings_of.scope_plan(CONFIG, PAPERS, CATALOG, PLACES, scope)


def proofs(scope):
    """Return the proofs of all runs of a scope that are possible on this machine."""
    return [
        str(proof_path(RECORDS / row.run.path))
        for row in planned_rows(scope)
        if row.run
    ]


def scope_experiment(scope):
    """Return the experiment of a scope as plain values for the page."""
    experiment = settings_of.scope_experiment(CONFIG, PAPERS, scope)
    return {"scope": scope, "machine": CONFIG.machine_name, **experiment.model_dump()}


def request_file():
    """Return a file of everything but graphs that a plan depends on; it is written only when that changes."""
    document = settings_of.request_document(CONFIG, PAPERS, PLACES)
    if not ONLY_LOOKING and not (
        REQUEST.is_file() and json.loads(REQUEST.read_text()) == document
    ):
        write_json(REQUEST, document)
    return [str(REQUEST)] if REQUEST.is_file() else []


def completeness_file(scope):
    """Return a file that is newer than any plan while a graph or a run of the scope is missing, and old otherwise.

    Snakemake does not recreate a missing intermediate file while everything after it exists, and its record of a job's
    inputs is lost with its private folder.
    """
    return COMPLETENESS / scope.replace("/", "-")


def note_completeness(scope):
    complete = all(Path(file).is_file() for file in manifests(scope)) and not any(
        row.status == "planned"
        for row in settings_of.scope_plan(CONFIG, PAPERS, CATALOG, PLACES, scope)
    )
    file = completeness_file(scope)
    file.parent.mkdir(parents=True, exist_ok=True)
    if complete:
        file.touch()
        os.utime(file, (0, 0))
    else:
        # Small files count as changed only when their content changes.
        file.write_text(str(time.time_ns()))


if workflow.is_main_process and CONFIG.site:
    # At any end: an interrupt, a second one, an error of the engine.
    atexit.register(
        lambda: account.cancel_left(map(Path, workflow.logger_manager.get_logfile()))
    )

if workflow.is_main_process:
    # Failed runs and missing graphs that the configuration retries are deleted first.
    for path in settings_of.to_try_again(CONFIG, PAPERS, CATALOG, PLACES):
        if ONLY_LOOKING:
            print(f"would be retried without -n: {path}", file=sys.stderr)
        else:
            print(f"retrying: {path}", file=sys.stderr)
            path.unlink()
    if not ONLY_LOOKING:
        Path(os.environ["MST_DEAD_HOSTS"]).unlink(missing_ok=True)

for scope in SCOPES:
    if scope == "default" or asked_for(scope):
        note_completeness(scope)

REQUESTED = request_file()
ASKED = list(filter(asked_for, SCOPES[1:])) or ["default"]
# The first run on a graph measures all runs on it in turns; on a cluster, those that share its job.
if workflow.is_main_process:
    os.environ["MST_SCOPES"] = json.dumps(ASKED)
