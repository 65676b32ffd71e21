"""A Workflow Run RO-Crate of the results: what was run, on what, when, and what came out.

A zip archive with ``ro-crate-metadata.json`` (RO-Crate 1.1; profiles Workflow Run Crate 0.5 and Workflow RO-Crate 1.0)
beside the workflow, its configuration, the table, the page and the manifests of the graphs.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mst import __version__
from mst.bench.records.store import Record
from mst.errors import InputError

METADATA = "ro-crate-metadata.json"
CONTEXT = ["https://w3id.org/ro/crate/1.1/context", "https://w3id.org/ro/terms/workflow-run/context"]
PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": "Process Run Crate",
    "https://w3id.org/ro/wfrun/workflow/0.5": "Workflow Run Crate",
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": "Workflow RO-Crate",
}
_TYPES = {
    ".html": "text/html",
    ".csv": "text/csv",
    ".json": "application/json",
    ".yaml": "application/yaml",
    ".svg": "image/svg+xml",
    ".parquet": "application/vnd.apache.parquet",
}


def write_crate(out: Path, *, root: Path, results: Path, records: Iterable[Record]) -> Path:
    """Write the crate of a finished workflow.

    Parameters
    ----------
    out : Path
        The zip archive to write; it appears when it is complete.
    root : Path
        The clone with ``Snakefile``, ``workflow/`` and ``config/``.
    results : Path
        Folder of the results, with the page and the table.
    records : iterable of Record
        What was measured, for the times and the machines.

    Raises
    ------
    InputError
        There is no page or no table yet.
    """
    page, table = results / "report.html", results / "table.csv"
    for file in (root / "Snakefile", page, table):
        if not file.is_file():
            raise InputError(f"{file} is missing: run the workflow first, in the root of a clone")
    inputs = [*_files(root / "config"), *sorted(results.glob("graphs/*/*/manifest.json"))]
    outputs = [page, table, *filter(Path.is_file, (results / "table.parquet", results / "checked.json"))]
    code = [root / "Snakefile", *_files(root / "workflow")]
    named = {file: _name(file, root, results) for file in (*code, *inputs, *outputs)}
    graph = _graph(list(records), named, inputs, outputs)
    temporary = out.with_name(f".{out.name}.tmp")
    try:
        with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(METADATA, json.dumps({"@context": CONTEXT, "@graph": graph}, indent=1))
            for file, name in named.items():
                archive.write(file, name)
        temporary.replace(out)
    finally:
        temporary.unlink(missing_ok=True)
    return out


def _files(folder: Path) -> list[Path]:
    return [file for file in sorted(folder.rglob("*")) if file.is_file() and "__pycache__" not in file.parts]


def _name(file: Path, root: Path, results: Path) -> str:
    if file.is_relative_to(results):
        return str(Path("results", file.relative_to(results)))
    return str(file.relative_to(root))


def _graph(
    records: list[Record], named: dict[Path, str], inputs: list[Path], outputs: list[Path]
) -> list[dict[str, Any]]:
    files = [_reference(name) for name in named.values()]
    run = {"@id": "#run"}
    return [
        {
            "@id": METADATA,
            "@type": "CreativeWork",
            "about": {"@id": "./"},
            "conformsTo": [
                {"@id": "https://w3id.org/ro/crate/1.1"},
                {"@id": "https://w3id.org/workflowhub/workflow-ro-crate/1.0"},
            ],
        },
        {
            "@id": "./",
            "@type": "Dataset",
            "name": "Minimum spanning forests, measured",
            "description": "Every algorithm on every graph, each forest proved, with times and a report.",
            "datePublished": datetime.now(UTC).date().isoformat(),
            "license": {"@id": "https://spdx.org/licenses/MIT"},
            "conformsTo": [_reference(profile) for profile in PROFILES],
            "mainEntity": {"@id": "Snakefile"},
            "hasPart": files,
            "mentions": run,
        },
        *(_profile(address, name) for address, name in PROFILES.items()),
        {"@id": "https://spdx.org/licenses/MIT", "@type": "CreativeWork", "name": "MIT License"},
        {
            "@id": "https://w3id.org/workflowhub/workflow-ro-crate#snakemake",
            "@type": "ComputerLanguage",
            "name": "Snakemake",
            "identifier": {"@id": "https://snakemake.github.io"},
            "url": {"@id": "https://snakemake.github.io"},
        },
        _workflow(),
        *_parameters(),
        _action(records, named, inputs, outputs),
        {"@id": "#mst", "@type": "Organization", "name": f"mst {__version__}"},
        *(_file(file, name) for file, name in named.items() if name != "Snakefile"),
    ]


def _reference(name: str) -> dict[str, str]:
    return {"@id": name}


def _profile(address: str, name: str) -> dict[str, Any]:
    return {"@id": address, "@type": "CreativeWork", "name": name, "version": address.rpartition("/")[2]}


def _workflow() -> dict[str, Any]:
    return {
        "@id": "Snakefile",
        "@type": ["File", "SoftwareSourceCode", "ComputationalWorkflow"],
        "name": "mst: minimum spanning forests, measured and proved",
        "programmingLanguage": {"@id": "https://w3id.org/workflowhub/workflow-ro-crate#snakemake"},
        "input": [{"@id": "#configuration"}],
        "output": [{"@id": "#report"}],
    }


def _parameters() -> Iterator[dict[str, Any]]:
    for name, about in {"configuration": "what is run", "report": "what was measured"}.items():
        yield {
            "@id": f"#{name}",
            "@type": "FormalParameter",
            "additionalType": "File",
            "conformsTo": {"@id": "https://bioschemas.org/profiles/FormalParameter/1.0-RELEASE"},
            "name": name,
            "description": about,
        }


def _action(
    records: list[Record], named: dict[Path, str], inputs: list[Path], outputs: list[Path]
) -> dict[str, Any]:
    begun = [r.measurement["started"] for r in records if "started" in r.measurement]
    ended = [r.measurement["created"] for r in records]
    machines = sorted({f"{r.run.machine}: {r.measurement['machine']['cpu']}" for r in records})
    action: dict[str, Any] = {
        "@id": "#run",
        "@type": "CreateAction",
        "name": f"{len(records)} runs on {', '.join(machines) or 'no machine'}",
        "instrument": {"@id": "Snakefile"},
        "agent": {"@id": "#mst"},
        "object": [_reference(named[file]) for file in inputs],
        "result": [_reference(named[file]) for file in outputs],
        "actionStatus": {"@id": "http://schema.org/CompletedActionStatus"},
    }
    if begun:
        action["startTime"] = min(begun)
    if ended:
        action["endTime"] = max(ended)
    return action


def _file(file: Path, name: str) -> dict[str, Any]:
    entity: dict[str, Any] = {
        "@id": name,
        "@type": "File",
        "name": file.name,
        "contentSize": str(file.stat().st_size),
    }
    if file.suffix in _TYPES:
        entity["encodingFormat"] = _TYPES[file.suffix]
    parameter = {"config/config.yaml": "#configuration", "results/report.html": "#report"}.get(name)
    return entity | ({"exampleOfWork": {"@id": parameter}} if parameter else {})
