"""A Workflow Run RO-Crate of the results: the runs, their inputs, machines and times, and their outputs.

A zip archive with ``ro-crate-metadata.json`` (RO-Crate 1.1; profiles Workflow Run Crate 0.5 and Workflow RO-Crate 1.0)
beside the workflow, its configuration, the table, the page and the manifests of the graphs.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mst import __version__
from mst.atomic import naming, replacing
from mst.bench.records.store import Record
from mst.errors import InputError
from mst.units import counted

if TYPE_CHECKING:
    from rocrate.rocrate import ROCrate

RUN_CONTEXT = "https://w3id.org/ro/terms/workflow-run/context"
PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": "Process Run Crate",
    "https://w3id.org/ro/wfrun/workflow/0.5": "Workflow Run Crate",
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": "Workflow RO-Crate",
}
_LICENSE = "https://spdx.org/licenses/MIT"
_TYPES = {
    ".html": "text/html",
    ".csv": "text/csv",
    ".json": "application/json",
    ".yaml": "application/yaml",
    ".svg": "image/svg+xml",
    ".parquet": "application/vnd.apache.parquet",
}


def write_crate(out: Path, *, root: Path, results: Path, records: Iterable[Record]) -> Path:
    """Write the crate of a finished workflow, a zip archive that appears when it is complete.

    `root` is the clone, `results` has the page and the table, and the records give times and machines. Without a page
    or a table, this raises `InputError`.
    """
    from rocrate.rocrate import ROCrate

    page, table = results / "report.html", results / "table.csv"
    for file in (root / "Snakefile", page, table):
        if not file.is_file():
            raise InputError(f"{file} is missing: run the workflow first, in the root of a clone")
    crate = ROCrate(version="1.1")
    _describe(crate)
    workflow = crate.add_workflow(root / "Snakefile", "Snakefile", main=True, lang="snakemake")
    workflow.name = "mst: minimum spanning forests, measured and proved"
    parameters = {
        name: crate.add_formal_parameter(name, "File", identifier=f"#{name}", description=about)
        for name, about in (("configuration", "the experiment"), ("report", "the measurements"))
    }
    workflow["input"], workflow["output"] = ([parameter] for parameter in parameters.values())
    inputs = [*_files(root / "config"), *sorted(results.glob("graphs/*/*/manifest.json"))]
    outputs = [page, table, *filter(Path.is_file, (results / "table.parquet", results / "checked.json"))]
    added = {}
    for file in (*_files(root / "workflow"), *inputs, *outputs):
        folder, prefix = (results, "results") if file.is_relative_to(results) else (root, "")
        properties = {"name": file.name}
        if file.suffix in _TYPES:
            properties["encodingFormat"] = _TYPES[file.suffix]
        name = str(Path(prefix, file.relative_to(folder)))
        added[file] = crate.add_file(file, name, properties=properties, record_size=True)
    added[page]["exampleOfWork"] = parameters["report"]
    if (configuration := root / "config/config.yaml") in added:
        added[configuration]["exampleOfWork"] = parameters["configuration"]
    crate.root_dataset["mentions"] = crate.add_action(
        workflow,
        identifier="#run",
        object=[added[file] for file in inputs],
        result=[added[file] for file in outputs],
        properties=_action(list(records)) | {"agent": crate.get("#mst")},
    )
    with naming(out), replacing(out) as temporary:
        crate.write_zip(temporary)
    return out


def _describe(crate: ROCrate) -> None:
    """Add the crate's own name, licence, profiles and agent."""
    from rocrate.model.contextentity import ContextEntity

    def named(identifier: str, kind: str, name: str, **properties: str) -> ContextEntity:
        return crate.add(ContextEntity(crate, identifier, {"@type": kind, "name": name, **properties}))

    crate.metadata.extra_contexts.append(RUN_CONTEXT)
    crate.name = "Minimum spanning forests, measured"
    crate.description = "Every algorithm on every graph, each forest proved, with times and a report."
    crate.license = named(_LICENSE, "CreativeWork", "MIT License")
    crate.root_dataset["conformsTo"] = [
        named(address, "CreativeWork", name, version=address.rpartition("/")[2])
        for address, name in PROFILES.items()
    ]
    named("#mst", "Organization", f"mst {__version__}")


def _files(folder: Path) -> list[Path]:
    return [file for file in sorted(folder.rglob("*")) if file.is_file() and "__pycache__" not in file.parts]


def _action(records: list[Record]) -> dict[str, Any]:
    """Return the machines and times of the records."""
    machines = sorted({f"{r.run.machine}: {r.measurement['machine']['cpu']}" for r in records})
    action: dict[str, Any] = {
        "@type": "CreateAction",
        "name": f"{counted(len(records), 'run')} on {', '.join(machines) or 'no machine'}",
        "actionStatus": {"@id": "http://schema.org/CompletedActionStatus"},
    }
    if records:
        action["startTime"] = min(r.measurement["started"] for r in records)
        action["endTime"] = max(r.measurement["created"] for r in records)
    return action
