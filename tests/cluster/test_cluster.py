"""`snakemake --profile cluster` on a real SLURM of two nodes: what runs where, what fails, what is made again."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from datetime import datetime, timedelta
from pathlib import Path

import pytest
import yaml
from probes import write_probe
from workflow_clone import ROOT, Clone

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(2400)]

pytest.importorskip("snakemake_executor_plugin_slurm", reason="the workflow's packages are not installed")
pytest.importorskip("mpi4py", reason="MPI is not installed")

PAGE = ROOT / "docs" / "cluster.md"
# The profile's patience is for clusters where jobs take hours.
QUICK = {"slurm-init-seconds-before-status-checks": 1, "seconds-between-status-checks": 1, "latency-wait": 5}
PROBES = {"probe-threads": "threads", "probe-gpu": "cuda"}
MPI = "filter-boruvka-mpi"
MEASURED = ["kruskal", "probe-threads", "probe-gpu"]
DOOMED = {"probe-killed": "cuda", "probe-late": "sequential", "probe-lost": "sequential"}


def kind(machine: str, runs: list[str], **more) -> dict:
    """One kind of node of the tests' site."""
    return {"machine": machine, "runs": runs, "partition": "cpu", "cpus": 2, "memory": 1, "time": 10, **more}


def beside(machine: str, runs: list[str], node: str, **more) -> dict:
    """A kind of node whose jobs take one processor of that node."""
    shared = {"cpus": 1, "exclusive": False, "extra": f"--nodelist={node}"}
    return kind(machine, runs, **shared, **more)


SITE = {
    "work": {"partition": "cpu", "cpus": 1, "memory": 1, "time": 10},
    "nodes": {
        "cpu": kind("cluster-cpu", ["kruskal", "threads"]),
        "mpi": kind("cluster-mpi", ["mpi"], nodes=2),
        "gpu": kind("cluster-gpu", ["probe-gpu"], partition="gpu", gpus=1),
        "killed": kind("test-killed", ["probe-killed"], partition="gpu", gpus=1, cpus=1, exclusive=False),
        "late": beside("test-late", ["probe-late"], "n1", time=1),
        "lost": beside("test-lost", ["probe-lost"], "n2"),
    },
}


class ClusterClone(Clone):
    """A clone whose Snakemake finds the tests' SLURM."""

    slurm_environment: dict[str, str]

    def environment(self) -> dict[str, str]:
        own = {"MST_ALGORITHMS": str(self.folder / "algorithms")}
        return {**super().environment(), **self.slurm_environment, **own}

    def start(self, *arguments: str, profile: bool = True) -> subprocess.Popen:
        self.output = self.folder / "output.txt"
        with self.output.open("w") as out:
            return subprocess.Popen(
                [sys.executable, "-m", "snakemake", "--profile", "cluster", *arguments],
                cwd=self.folder,
                env=self.environment(),
                stdout=out,
                stderr=out,
                start_new_session=True,
            )

    def snakemake(self, *arguments: str, profile: bool = True) -> tuple[int, str]:
        process = self.start(*arguments)
        return self.ended(process)

    def ended(self, process: subprocess.Popen) -> tuple[int, str]:
        """Wait for Snakemake to end; return its exit code and what it printed."""
        try:
            process.wait(900)
        finally:
            process.kill()
        return process.returncode, self.output.read_text()

    def ask_for(self, algorithms: list[str]) -> None:
        """Configure the experiment: these algorithms on one small graph, once each, and ranks on one node and two."""
        ranks = {"algorithms": [MPI], "widths": [1, 4]}
        experiment = {
            "graphs": ["small-grid"],
            "measure": {"processes": 1, "samples": 1, "budget": 5, "timeout": 300},
            "runs": [{"algorithms": algorithms}, ranks],
        }
        self.configure(algorithms=algorithms, experiment=experiment)

    def failed(self) -> dict[str, str]:
        """Return the state of each failed job by its name, as the account has it."""
        account = json.loads((self.folder / "results" / "failed.json").read_text())
        return {failure["job"]: failure["state"] for failure in account}


@pytest.fixture(scope="module")
def finished(slurm, tmp_path_factory) -> ClusterClone:
    """A clone in which the experiment has run on the cluster once."""
    clone = ClusterClone.create(tmp_path_factory.mktemp("cluster") / "clone", algorithms=["kruskal"])
    assert isinstance(clone, ClusterClone)
    clone.slurm_environment = slurm.environment
    folder = clone.folder / "algorithms"
    for name, paradigm in PROBES.items():
        write_probe(folder, name, paradigm)
    for name, paradigm in DOOMED.items():
        write_probe(folder, name, paradigm, "time.sleep(0 if os.path.exists('go') else 3600)")
    (clone.folder / "cluster" / "site.yaml").write_text(yaml.safe_dump(SITE))
    profile = clone.folder / "cluster" / "config.yaml"
    profile.write_text(yaml.safe_dump(yaml.safe_load(profile.read_text()) | QUICK))
    clone.ask_for(MEASURED)
    code, output = clone.snakemake()
    assert code == 0, output + slurm.logs()
    return clone


def by_machine(clone: Clone) -> dict[str, dict[str, dict]]:
    """Return the records of each machine by their width and layout."""
    found: dict[str, dict[str, dict]] = {}
    for path, record in clone.records().items():
        machine, _, algorithm, _, width, _ = Path(path).parts
        found.setdefault(machine, {})[f"{algorithm} {width}"] = record
    return found


def test_every_paradigm_gets_what_it_asks_for(finished, slurm):
    told = {job.comment: job for job in slurm.jobs() if job.comment.startswith("rule_")}
    cpu, gpu = told["rule_cluster-cpu-small-grid_run"], told["rule_cluster-gpu-small-grid_run_cuda"]
    assert (cpu.partition, cpu.cpus, cpu.shared) == ("cpu", 2, "NO"), "an exclusive node with all its cores"
    assert (gpu.partition, gpu.nodes) == ("gpu", "n1")
    alone, spread = (
        told["rule_cluster-mpi-small-grid-w1-1x1_run_ranks"],
        told["rule_cluster-mpi-small-grid-w4-2x2_run_mpi"],
    )
    assert alone.node_count == 1 and (spread.nodes, spread.node_count, spread.cpus) == ("n[1-2]", 2, 4)
    assert len(told) == 7, f"runs and proofs of a graph share jobs: {list(told)}"
    assert {job.state for job in told.values()} == {"COMPLETED"}


def test_records_tell_what_ran_where(finished):
    from mst.bench.machine import this_machine

    records = by_machine(finished)
    assert {m: sorted(r) for m, r in records.items()} == {
        "cluster-cpu": ["kruskal w1", "probe-threads w1", "probe-threads w2"],
        "cluster-gpu": ["probe-gpu w1"],
        "cluster-mpi": [f"{MPI} w1-1x1", f"{MPI} w4-2x2"],
    }
    for record in (r for machine in records.values() for r in machine.values()):
        assert record["status"] == "ok", record["reason"]
        assert record["machine"]["fingerprint"] == this_machine().fingerprint
        assert record["conditions"]["scheduled"]["node"] in ("n1", "n2")
        assert "width-not-granted" not in record["conditions"]["flags"]
    cpu, mpi = records["cluster-cpu"], records["cluster-mpi"]
    widths = (1, 2)
    assert [cpu[f"probe-threads w{w}"]["conditions"]["pinned"]["OMP_NUM_THREADS"] for w in widths] == ["1", "2"]
    if os.cpu_count() >= 2:
        assert [cpu[f"probe-threads w{w}"]["counters"]["processors"] for w in widths] == [1, 2]
    given = records["cluster-gpu"]["probe-gpu w1"]["counters"]
    assert given["devices"] == "0" and cpu["kruskal w1"]["conditions"]["interleaved_with"] == 2
    spread, alone = (mpi[f"{MPI} {width}"] for width in ("w4-2x2", "w1-1x1"))
    assert spread["run"]["layout"] == spread["ranks"]["layout"] == "2x2"
    assert sorted((h["host"], h["ranks"]) for h in spread["ranks"]["hosts"]) == [("n1", 2), ("n2", 2)]
    assert all(host["fingerprint"] == this_machine().fingerprint for host in spread["ranks"]["hosts"])
    assert alone["ranks"]["layout"] == "1x1", "one rank, in an ordinary job"
    assert finished.checked()["status"] == {"ok": 6}
    assert (finished.folder / "results" / "report.html").is_file()


def until(condition, process: subprocess.Popen, clone: ClusterClone, seconds: float = 400) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline and process.poll() is None, clone.output.read_text()
        time.sleep(0.2)


def test_what_the_scheduler_ends_is_told_of_and_made_by_the_next_call(finished, slurm):
    clone, known = finished, {job.id for job in slurm.jobs()}
    clone.ask_for([*MEASURED, *DOOMED])
    before = clone.stamps()

    def running() -> dict[str, str]:
        new = [job for job in slurm.jobs() if job.id not in known and job.state == "RUNNING"]
        return {match[0]: job.id for job in new if (match := re.search("test-(killed|late|lost)", job.comment))}

    process = clone.start()
    until(lambda: len(running()) == 3, process, clone)
    process.send_signal(signal.SIGINT)
    code, output = clone.ended(process)
    assert code != 0
    deadline = time.monotonic() + 120
    while left := running():
        assert time.monotonic() < deadline, f"not cancelled with the workflow: {left}"
        time.sleep(0.5)
    slurm.settle()

    logs = clone.folder / "results" / "logs" / "runs"
    for log in logs.glob("test-*/*/*.log"):
        log.unlink()
    process = clone.start()
    until(lambda: len(list(logs.glob("test-*/*/*.log"))) == 3, process, clone)
    doomed = running()
    soon = datetime.now() + timedelta(seconds=1)
    slurm.command("scontrol", "update", f"JobId={doomed['test-late']}", f"EndTime={soon:%Y-%m-%dT%H:%M:%S}")
    slurm.command("scancel", doomed["test-killed"])
    slurm.kill_node("n2")
    code, output = clone.ended(process)
    assert code != 0
    assert clone.failed() == {
        "test-killed-small-grid": "CANCELLED",
        "test-late-small-grid": "TIMEOUT",
        "test-lost-small-grid": "NODE_FAIL",
    }, output + slurm.logs()
    assert "NODE_FAIL: job" in output and "the same command makes what is missing" in output
    assert clone.stamps() == before, "nothing half-written, nothing lost"

    slurm.start_node("n2")
    (clone.folder / "go").touch()
    code, output = clone.snakemake()
    assert code == 0, output + slurm.logs()
    after = clone.stamps()
    assert {name: after[name] for name in before} == before
    assert sorted(Path(name).parts[2] for name in set(after) - set(before)) == sorted(DOOMED)
    assert len(re.findall(r"^ *rule run\w*:$", output, re.MULTILINE)) == 3
    assert clone.checked()["status"] == {"ok": 9}
    assert not (clone.folder / "results" / "failed.json").exists()


def documented(where: str) -> list[str]:
    """Return the commands of the page that are marked as run here."""
    blocks = re.findall(rf"<!-- not run: {where}[^>]*-->\n```console\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return [line.removeprefix("$ ") for block in blocks for line in block.splitlines()]


def shell(clone: Clone, command: str) -> subprocess.CompletedProcess:
    """Run a command of the documentation in a clone."""
    tools = clone.folder / "tools"
    tools.mkdir(exist_ok=True)
    for name in ("mst", "snakemake"):
        (tools / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" -m {name} "$@"\n')
        (tools / name).chmod(0o755)
    environment = clone.environment()
    environment["PATH"] = f"{tools}{os.pathsep}{environment['PATH']}"
    return subprocess.run(
        ["bash", "-c", command], cwd=clone.folder, env=environment, capture_output=True, text=True, timeout=900
    )


def test_documented_commands_take_a_cluster_home(finished, tmp_path):
    for command in documented("needs a cluster"):
        done = shell(finished, command)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    home = Clone.create(tmp_path / "home", algorithms=["kruskal"])
    home.configure(algorithms=["kruskal"], machine="laptop")
    assert shell(home, "mst run kruskal small-grid").returncode == 0
    for bundle in finished.folder.glob("*.mst.zip"):
        bundle.rename(home.folder / bundle.name)
    for command in documented("needs the bundles"):
        done = shell(home, command)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    page = (home.folder / "results" / "report.html").read_text()
    assert all(name in page for name in ("laptop", "cluster-cpu", "cluster-mpi", "cluster-gpu"))

    (name,) = [path for path in home.records() if path.startswith("cluster-cpu/small-grid/kruskal/")]
    record = home.folder / "results" / "records" / name
    changed = json.loads(record.read_text())
    changed["samples"]["compute"][0][0] *= 2
    record.write_text(json.dumps(changed))
    refused = shell(home, "mst import cluster-cpu.mst.zip")
    assert refused.returncode == 2 and "samples.compute[0][0]: " in refused.stderr, refused.stderr
    assert json.loads(record.read_text()) == changed, "nothing was imported"
    assert shell(home, "mst import cluster-cpu.mst.zip --as other").returncode == 0
