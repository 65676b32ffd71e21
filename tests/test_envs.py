"""The conda files install all packages of the locks, and a changed lock makes a new environment."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from scripts import module_at

ROOT = Path(__file__).resolve().parent.parent
ENVS = ROOT / "envs"
STAMP = module_at(ENVS / "stamp.py")
FILES = sorted(ENVS.glob("*.yaml"))


def pins(lock: str) -> dict[str, str]:
    """Return the version that a lock pins of each package."""
    return dict(re.findall(r"^([A-Za-z0-9_.-]+)==(\S+)", (ENVS / lock).read_text(), re.MULTILINE))


def installed_locks(file: Path) -> list[str]:
    """Return the locks that a conda file's script installs."""
    script = file.with_suffix(".post-deploy.sh").read_text()
    assert "--require-hashes" in script and script.startswith("#!/bin/sh\nset -eu\n")
    assert 'cd "${MST_CHECKOUT:-.}"' in script, "it also runs in other working directories"
    return re.findall(r"--requirement envs/(\S+)", script)


def test_every_kind_of_node_has_a_conda_file():
    assert [file.stem for file in FILES] == ["cpu", "cuda", "mpi"]


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_conda_file_has_the_digest_of_the_lock_that_it_installs(file):
    text = file.read_text()
    assert STAMP.stamped(text) == text, "the lock has changed: run python envs/stamp.py"
    assert [m[1] for m in STAMP.LOCK.finditer(text)] == installed_locks(file)


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_conda_python_is_supported_by_the_package(file):
    content = yaml.safe_load(file.read_text())
    assert content["channels"] == ["conda-forge", "nodefaults"], "no channel with licence terms"
    (python,) = [d for d in content["dependencies"] if d.startswith("python=")]
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    assert tuple(map(int, python.split("=")[1].split("."))) >= tuple(map(int, needed.strip(">=").split(".")))


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_locks_agree_with_each_other(file):
    together: dict[str, str] = {}
    for lock in installed_locks(file):
        for package, version in pins(lock).items():
            assert together.setdefault(package, version) == version, f"{package} in {lock}"
    assert {"numpy", "numba", "snakemake", "mpi4py"} <= together.keys()
    assert any(package.startswith("cupy") for package in together) == (file.stem == "cuda")


def test_mpi_environment_takes_mpich_from_conda_and_the_rest_from_the_lock():
    locked = pins("requirements.txt")
    assert {k: v for k, v in locked.items() if k != "mpich"} == pins("requirements-mpi.txt")
    dependencies = yaml.safe_load((ENVS / "mpi.yaml").read_text())["dependencies"]
    assert f"mpich={locked['mpich'].split('.')[0]}.*" in dependencies


def test_rules_name_existing_environments():
    named = {
        (rules.parent / name).resolve()
        for rules in (ROOT / "workflow" / "rules").glob("*.smk")
        for name in re.findall(r'"(\S+/envs/\S+\.yaml)"', rules.read_text())
    }
    assert named == {file.resolve() for file in FILES}


@pytest.mark.parametrize("name", ["Dockerfile", "apptainer.def"])
def test_container_installs_the_lock_of_the_conda_file_with_the_same_python(name):
    text = (ENVS / name).read_text()
    (install, package) = re.findall(r"pip install --no-cache-dir (.*)", text)
    assert install == "--require-hashes --requirement envs/requirements.txt"
    assert package == "--no-deps --no-build-isolation --editable ."
    (python,) = re.findall(r"^from:? (?:\S+/)?python:(\S+)-slim$", text, re.MULTILINE | re.IGNORECASE)
    assert f"python={python}" in yaml.safe_load((ENVS / "cpu.yaml").read_text())["dependencies"]
