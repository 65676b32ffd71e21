# Configuration, names, and the plan, which all other rules use.

import atexit
import functools
import getpass
import hashlib
import json
import os
import shlex
import sys
from pathlib import Path

from snakemake.settings.types import DeploymentMethod
from snakemake.utils import validate

import mst
from mst import catalog, config as settings_of, registry, scopes as scopes_of
from mst.bench.planning.batches import BATCHES, MEASURED, PROVED
from mst.bench.records import account
from mst.commands._interrupt import end_with_job, name_workflow
from mst.errors import MSTError, nearest
from mst.names import path_part
from mst.units import counted
from mst.yaml_models import read_yaml

if not workflow.is_main_process and settings_of.ENVIRONMENT in os.environ:
    # Jobs follow the configuration of the plan, even if a file has been edited since.
    config.update(json.loads(os.environ[settings_of.ENVIRONMENT]))

# The files are read again below: Snakemake neither names a file with a mistake nor refuses a key that is given twice.
given = workflow.config_settings
merged = [Path(file) for file in workflow.configfiles if file not in given.configfiles]
merged += given.configfiles

try:
    settings_of.check_interpreter()
    if workflow.is_main_process:
        for file in merged:
            replaces = "experiment" in (read_yaml(file) or {})
            if replaces and file in given.configfiles and not config.get("page"):
                # Another experiment has a page of its own, so that the default one's stays.
                config["page"] = path_part(file.stem, "page", str(file))
    CONFIG = settings_of.from_mapping(
        config, "configuration", [] if given.config else merged
    )
    CATALOG = catalog.load()
    MACHINES = settings_of.machines(CONFIG)
    PAPERS = settings_of.papers(CONFIG)
    settings_of.check_graphs(CONFIG, CATALOG)
    PLANS = scopes_of.Scopes(CONFIG, PAPERS, CATALOG, MACHINES)
except MSTError as error:
    raise WorkflowError(str(error))

# The model has reported any mistake and read the values of the command line; its schema also serves other tools.
validate(
    CONFIG.model_dump(mode="json"),
    "../schemas/config.schema.yaml",
    set_default=False,
)

# The commands that rules start read the same configuration, overrides included, and share a list of hosts that do
# not answer.
os.environ[settings_of.ENVIRONMENT] = json.dumps(config, default=str)
DEAD_HOSTS = Path(".snakemake", "mst-dead-hosts").resolve()
CHECKOUT = Path(mst.__file__).resolve().parents[1]
os.environ.update(MST_DEAD_HOSTS=str(DEAD_HOSTS), MST_CHECKOUT=str(CHECKOUT))
# A run ends with the engine, however the engine ends.
name_workflow()
if workflow.remote_exec:
    end_with_job()

if CONFIG.site and CONFIG.site.scratch and workflow.remote_exec:
    # Many jobs that compile into one network folder slow each other down; what they download is for all nodes.
    if "MST_CACHE" not in os.environ or not CONFIG.site.work.graphs:
        scratch = Path(CONFIG.site.scratch, f"mst-{getpass.getuser()}")
        os.environ.update(MST_CACHE=str(scratch))

RESULTS = Path(CONFIG.results)
RECORDS = CONFIG.records
SCOPES = [
    *dict.fromkeys(["default", CONFIG.scope]),
    *(f"papers/{name}" for name in PAPERS),
    *(f"graphs/{name}" for name in CATALOG),
    *(f"algorithms/{name}" for name in registry.algorithms()),
]

# Jobs run the Python of this process, unless the engine provides environments; they always import its package `mst`.
IN_CONDA = DeploymentMethod.CONDA in workflow.deployment_settings.deployment_method


def prepend(variable, folder):
    """Put a folder first in a path variable of the jobs."""
    parts = [p for p in os.environ.get(variable, "").split(os.pathsep) if p]
    if folder not in parts[:1]:
        os.environ[variable] = os.pathsep.join([folder, *parts])


prepend("PYTHONPATH", str(CHECKOUT))
if not IN_CONDA:
    prepend("PATH", str(Path(sys.executable).parent))


wildcard_constraints:
    graph="[^/]+",
    recipe="[0-9a-f]{8}",
    machine="[^/]+",
    number=r"\d+",
    where="(reports/((experiments|papers|graphs|algorithms)/[^/]+/){1,2})?",


def sources(*patterns):
    """Return the project's files of these patterns, relative to the working directory if they are in it; no byte code."""
    found = (p for pattern in patterns for p in sorted(CHECKOUT.glob(pattern)))
    here = Path.cwd()
    return [
        str(p.relative_to(here) if p.is_relative_to(here) else p)
        for p in found
        if p.is_file() and p.suffix != ".pyc"
    ]


def folder_of(scope):
    """Return the folder of a scope's table, figures and page."""
    return scopes_of.scope_folder(CONFIG, scope)


def made_of(scope):
    """Return the results of a target by name: the engine makes a removed output again only if something needs it."""
    names = ("report.html", "report", "figures", "table.csv", "checked.json")
    return [folder_of(scope) / name for name in names]


def scope_of(wildcards):
    """Return the scope of a target: the default experiment, or one paper, graph or algorithm."""
    return os.sep.join(Path(wildcards.where).parts[-2:]) or "default"


def graph_file(name, file):
    return str(settings_of.graph_folder(CONFIG, CATALOG[name]) / file)


def own_files(name):
    """Return the local files of a graph; files that are fetched are not inputs."""
    return [str(file) for file in CATALOG[name].own_files] if name in CATALOG else []


def manifests(scope):
    return [graph_file(name, "manifest.json") for name in PLANS.graphs(scope)]


def files_of_other_machines():
    """Return the files that describe other machines' records: imported manifests, committed bundles."""
    found = (
        *RESULTS.glob("manifests/*/*.json"),
        *settings_of.COMMITTED.glob("reference/*/*.*"),
    )
    return sorted(map(str, found))


@functools.cache
def batches_of(scope):
    """Return the batches of a scope by their folders, as they were when the engine first asked."""
    if workflow.non_local_exec and CONFIG.site is None:
        sys.exit(
            "jobs of a scheduler need a `site`; --configfile replaces that of a profile: name both, as in "
            "--configfile mine.yaml cluster/site.yaml"
        )
    try:
        found = PLANS.batches(scope, PLANS.plan(scope), apart=IN_CONDA)
    except MSTError as error:
        # For any other exception in an input function, the engine prints a traceback.
        sys.exit(str(error))
    return {scopes_of.batch_folder(CONFIG, scope, batch): batch for batch in found}


@functools.cache
def batches_by_subfolder(scope):
    return {batch.subfolder: batch for batch in batches_of(scope).values()}


def batch_of(wildcards):
    """Return the batch of a job."""
    subfolder = Path(wildcards.machine, wildcards.graph, wildcards.part)
    return batches_by_subfolder(scope_of(wildcards))[subfolder]


def proved(scope):
    """Return the indexes of a scope's proved records: one for each batch."""
    return [str(folder / PROVED) for folder in batches_of(scope)]


def indexes(scope):
    """Return a target's input function for the scope's indexes: the engine makes missing ones even without metadata."""
    return lambda wildcards: proved(scope)


@functools.cache
def request_digest(scope):
    """Return a digest of everything but graphs that a scope's plan depends on."""
    document = PLANS.request_document(scope)
    text = json.dumps(document, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def scope_experiment(scope):
    """Return the experiment of a scope as plain values for the page."""
    experiment = PLANS.experiment(scope)
    return {"scope": scope, "machine": CONFIG.machine_name, **experiment.model_dump()}


def figure_captions():
    """Return the captions of figures, for the engine's own report."""
    captions = read_yaml(CHECKOUT / "report/captions.yaml")
    return {name: text for name, text in captions.items() if isinstance(text, str)}


def unknown_target(wildcards):
    """Return, in place of a file, a text that the engine's error about this missing input shows."""
    kind, name = wildcards.kind, wildcards.name
    # Without their kind, with which all of them begin.
    known = [
        scope.removeprefix(f"{kind}/")
        for scope in SCOPES
        if scope.startswith(f"{kind}/")
    ]
    return f"no target '{kind}/{name}'{nearest(name, known)}: `mst list {kind}` shows them all"


def unknown_exhibit(wildcards):
    """Return no input if the paper has the exhibit, else, as `unknown_target` does, the text of an error."""
    paper, name = wildcards.paper, wildcards.exhibit
    exhibits = read_yaml(CHECKOUT / "report/exhibits.yaml")
    known = [e["id"] for e in exhibits.get(paper, [])]
    hint = nearest(name, known)
    return [] if name in known else f"no table or figure '{name}' of '{paper}'{hint}"


if workflow.is_main_process and CONFIG.site:
    # However the engine ends: by an interrupt, a second one, or its own error (docs/design-notes/workflow.md).
    atexit.register(
        lambda: account.cancel_left(map(Path, workflow.logger_manager.get_logfile()))
    )
