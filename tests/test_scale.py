"""A comparison of 100 graphs, all algorithms and five widths on three kinds of nodes: processor time and memory."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from workflow_clone import ROOT, Clone

from mst import catalog, config

pytestmark = [pytest.mark.workflow, pytest.mark.slow, pytest.mark.timeout(900)]

pytest.importorskip("snakemake", reason="the workflow's packages are not installed")

GRAPHS = 100
SITE = {
    "cpu": {"machine": "c-cpu", "runs": ["sequential", "threads", "peer"], "cpus": 128},
    "gpu": {"machine": "c-gpu", "runs": ["cuda"], "cpus": 16, "gpus": 8},
    "mpi": {"machine": "c-mpi", "runs": ["mpi"], "cpus": 8, "nodes": 4},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A folder with the configuration, and with the manifests of graphs that are not there."""
    folder = tmp_path_factory.mktemp("scale")
    entries = catalog.load()
    names = list(entries)[:GRAPHS]
    runs = [{"algorithms": "all", "widths": [1, 2, 4, 8, 16]}]
    values = {
        "site": {"nodes": SITE},
        "experiment": {"title": "large", "graphs": names, "runs": runs, "within": 36000},
    }
    (folder / "config").mkdir()
    (folder / "config/config.yaml").write_text(yaml.safe_dump(values))
    (folder / "cupy.py").touch()
    settings = config.from_mapping(values)
    for name in names:
        entry = entries[name]
        facts = {"n": 1000, "m": 5000, "components": 1, "weight_dtype": "int32", "seconds": {}}
        digest = hashlib.sha256(name.encode()).hexdigest()
        manifest = {
            "name": name,
            "family": entry.family,
            "recipe": entry.recipe,
            "status": "ok",
            "digest": digest,
        }
        place = folder / config.graph_folder(settings, entry)
        place.mkdir(parents=True)
        (place / "manifest.json").write_text(json.dumps(manifest | facts))
    return folder


# A new process inherits the peak of the process that starts it, which is large in a run of all tests.
SPENT = """
import resource, subprocess, sys
status = subprocess.run(sys.argv[1:]).returncode
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1e6)
sys.exit(status)
"""


def spent(folder: Path, *command: str) -> tuple[str, float, float]:
    """Run a module of Python; return its output, its processor seconds and its peak GB."""
    environment = {**Clone(ROOT).environment(), "PYTHONPATH": os.pathsep.join([str(ROOT), str(folder)])}
    done = subprocess.run(
        [sys.executable, "-c", SPENT, sys.executable, "-m", *command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-2000:]
    output, _, last = done.stdout.rstrip("\n").rpartition("\n")
    seconds, memory = map(float, last.split())
    return output, seconds, memory


@pytest.mark.alone
def test_plan_takes_seconds(folder):
    # Other work on the same core adds to processor time, never takes from it.
    runs = [spent(folder, "mst", "plan", "--configfile", "config/config.yaml") for _ in range(2)]
    assert all(int(re.search(r"(\d+) planned", output)[1]) > 7000 for output, _, _ in runs)
    assert min(seconds for _, seconds, _ in runs) < 5, runs


def test_graph_of_jobs_takes_half_a_minute_and_a_gigabyte(folder):
    snakefile = str(ROOT / "Snakefile")
    output, seconds, memory = spent(folder, "snakemake", "-s", snakefile, "-n", "-q", "rules", "--cores", "2")
    jobs = dict(re.findall(r"^(measure\w*|prove) +(\d+)$", output, re.MULTILINE))
    assert jobs == {"measure": "200", "measure_mpi": "100", "measure_ranks": "400", "prove": "700"}, output
    assert seconds < 30 and memory < 1, (seconds, memory)
