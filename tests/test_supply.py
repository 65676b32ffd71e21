"""The packages installed by default: a bill of materials of the lock, compatible licences, an audit."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from scripts import module_at

from mst import DependencyError, registry

ROOT = Path(__file__).resolve().parent.parent
ENVS = ROOT / "envs"

# Permissive, or copyleft for single files (MPL), which asks nothing of the code beside them.
COMPATIBLE = {
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC0-1.0",
    "LicenseRef-Public-Domain",
    "MIT",
    "MIT-CMU",
    "MPL-2.0",
    "PSF-2.0",
    "Zlib",
    "mpich2",
}


SBOM = module_at(ENVS / "sbom.py")
WRITTEN = json.loads(SBOM.OUT.read_text())


def test_bill_of_materials_lists_the_lock():
    listed = [(component["name"], component["version"]) for component in WRITTEN["components"]]
    assert listed == SBOM.pins(SBOM.LOCK), "the lock has changed: run python envs/sbom.py"
    empty = SBOM.document([])
    assert {key: WRITTEN[key] for key in empty if key != "components"} == {
        key: empty[key] for key in empty if key != "components"
    }


@pytest.mark.parametrize("component", WRITTEN["components"], ids=lambda c: f"{c['name']}-{c['version']}")
def test_licence_goes_with_mit(component):
    (licence,) = component["licenses"]
    assert SBOM.licence(component["name"]) in (licence["expression"], None), "run python envs/sbom.py"
    for choice in licence["expression"].split(" OR "):
        assert set(choice.split(" AND ")) <= COMPATIBLE


def test_copyleft_peers_are_an_extra_of_their_own():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert [re.split(r"\W", requirement)[0] for requirement in extras["peers-gpl"]] == ["igraph"]
    assert not any(
        "igraph" in requirement for name in extras.keys() - {"peers-gpl"} for requirement in extras[name]
    )
    with_igraph = {lock.name for lock in ENVS.glob("requirements*.txt") if "igraph" in dict(SBOM.pins(lock))}
    assert with_igraph == {"requirements-dev.txt", "requirements-peers-gpl.txt"}


def test_an_algorithm_without_its_copyleft_package_names_the_extra(monkeypatch):
    monkeypatch.setattr(registry, "is_importable", lambda package: package != "igraph")
    with pytest.raises(DependencyError, match=r"igraph, which is not installed: pip install '.\[peers-gpl\]'"):
        registry.get("igraph").load()


WEAK = {"id": "PYSEC-1", "fix_versions": ["1.1", "2.0"]}
SKIPPED = {"name": "b", "skip_reason": "not found"}


def audited(*packages: dict) -> str:
    return json.dumps({"dependencies": packages})


@pytest.mark.parametrize(
    ("output", "errors", "code", "message"),
    [
        (audited({"name": "a", "version": "1", "vulns": []}), "", 0, "1 packages audited: 0 vulnerabilities"),
        (audited({"name": "a", "version": "1", "vulns": [WEAK]}), "", 1, "a 1: PYSEC-1, fixed in 1.1, 2.0"),
        (audited({"name": "a", "version": "1", "vulns": []}, SKIPPED), "", 0, "1 unknown to the index"),
        (audited(SKIPPED), "", 0, "audit skipped: the index in reach knows none of 1 packages"),
        ("", "interface.ConnectionError: Could not connect", 0, "audit skipped: no index"),
        ("", "usage: pip-audit", 2, "usage"),
    ],
)
def test_audit_fails_for_vulnerabilities_and_not_without_an_index(output, errors, code, message):
    outcome = subprocess.CompletedProcess([], 1 if code == 1 else code, output, errors)
    found, text = module_at(ENVS / "audit.py").verdict(outcome)
    assert found == code and message in text
