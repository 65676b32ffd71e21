"""`snakemake --profile cluster` on a real SLURM of two nodes: resources of jobs, failures and retries."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
import yaml
from probes import write_probe
from slurm import NODES, Job, Slurm, until
from workflow_clone import ROOT, Clone

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1800)]

pytest.importorskip("snakemake_executor_plugin_slurm", reason="the workflow's packages are not installed")
pytest.importorskip("mpi4py", reason="MPI is not installed")

PAGE = ROOT / "docs" / "cluster.md"
QUICK_SNAKEMAKE = Path(__file__).with_name("quick_snakemake.py")
# Timeout in seconds: many times the duration of a workflow on an idle machine.
PATIENCE = 600
# The profile's longer waits are for clusters where jobs take hours.
QUICK = {"latency-wait": 5, "slurm-init-seconds-before-status-checks": 1}
PROBES = {"probe-threads": "threads", "probe-gpu": "cuda"}
MPI = "filter-boruvka-mpi"
# The documentation's, so that its commands need not measure another.
GRAPH = "grid-128"
MEASURED = ["kruskal", "probe-threads", "probe-gpu"]
MEASURING = [
    ("measure", "cluster-cpu"),
    ("measure", "cluster-gpu"),
    ("measure_mpi", "cluster-mpi"),
    ("measure_ranks", "cluster-mpi"),
]
DOOMED = {"probe-killed": "cuda", "probe-late": "sequential", "probe-lost": "sequential"}
RIVALS = {"probe-first": "sequential", "probe-second": "sequential"}
# They wait for a file, and for a limited time, so that they end even if a test fails.
WAITS = f"""\
open(ALGORITHM["id"] + ".waits", "w").close()
    deadline = time.monotonic() + {PATIENCE}
    while not os.path.exists("go") and time.monotonic() < deadline:
        time.sleep(0.1)"""


def kind(machine: str, runs: list[str], **more) -> dict:
    """Return one kind of node of the tests' site."""
    return {"machine": machine, "runs": runs, "partition": "cpu", "cpus": 2, "memory": 1, "time": 30, **more}


def part_of(node: str, machine: str, runs: list[str], **more) -> dict:
    """Return a kind of node whose jobs take one processor of `node`, unless `more` says otherwise."""
    return kind(machine, runs, **{"cpus": 1, "exclusive": False, "extra": f"--nodelist={node}", **more})


SITE = {
    "work": {"partition": "cpu", "cpus": 1, "memory": 1, "time": 30},
    "nodes": {
        "cpu": kind("cluster-cpu", ["kruskal", "threads"]),
        "mpi": kind("cluster-mpi", ["mpi"], nodes=2),
        "gpu": kind("cluster-gpu", ["probe-gpu"], partition="gpu", gpus=1),
        "killed": kind("test-killed", ["probe-killed"], partition="gpu", gpus=1, cpus=1, exclusive=False),
        "late": part_of("n1", "test-late", ["probe-late"]),
        "lost": part_of("n2", "test-lost", ["probe-lost"]),
        "first": part_of("n2", "test-first", ["probe-first"], cpus=2),
        "second": part_of("n2", "test-second", ["probe-second"], cpus=2),
    },
}


def end_group(process: subprocess.Popen) -> None:
    """Kill the leader of a session and all processes of its group."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


class ClusterClone(Clone):
    """A clone whose Snakemake finds the tests' SLURM; `end` kills all its processes."""

    def __init__(self, folder: Path):
        super().__init__(folder)
        self.output = folder / "output.txt"
        self.slurm: Slurm
        self.started: list[subprocess.Popen] = []

    def environment(self) -> dict[str, str]:
        own = {"MST_ALGORITHMS": str(self.folder / "algorithms")}
        return {**super().environment(), **self.slurm.environment, **own}

    def start(self, *arguments: str, profile: bool = True) -> subprocess.Popen:
        with self.output.open("w") as out:
            process = subprocess.Popen(
                [sys.executable, str(QUICK_SNAKEMAKE), "--profile", "cluster", *arguments],
                cwd=self.folder,
                env=self.environment(),
                stdout=out,
                stderr=out,
                start_new_session=True,
                # Background jobs of a shell inherit a setting that ignores interrupts.
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            )
        self.started.append(process)
        return process

    def snakemake(self, *arguments: str, profile: bool = True) -> tuple[int, str]:
        return self.ended(self.start(*arguments))

    def logs(self) -> str:
        """Return the output of Snakemake and the logs of the daemons, for a failure message."""
        return f"{self.output.read_text()}\n{self.slurm.logs()}"

    def ended(self, process: subprocess.Popen) -> tuple[int, str]:
        """Wait for Snakemake to end; return its exit code and its output."""
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            pytest.fail(f"Snakemake does not end:\n{self.logs()}")
        return process.returncode, self.output.read_text()

    def await_while(self, process: subprocess.Popen, condition: Callable[[], object]) -> None:
        """Wait for a condition; Snakemake must not end before it holds."""

        def met() -> bool:
            done = process.poll() is not None
            if condition():
                return True
            assert not done, f"Snakemake has ended:\n{self.logs()}"
            return False

        until(met, self.logs, PATIENCE)

    def end(self) -> None:
        """Kill the processes that were started here and have not ended."""
        for process in self.started:
            end_group(process)

    def plan_runs_of(self, algorithms: list[str], *, more_ranks: tuple[str, ...] = ()) -> None:
        """Configure the experiment: these algorithms on one small graph, once each, and MPI on one and two nodes."""
        ranks = {"algorithms": [MPI], "widths": [1, 4]}
        spread = {"algorithms": list(more_ranks), "widths": [4]}
        experiment = {
            "graphs": [GRAPH],
            "measure": {"processes": 1, "samples": 1, "budget": 5, "timeout": 300},
            "runs": [{"algorithms": algorithms}, ranks, spread],
        }
        self.configure(algorithms=algorithms, experiment=experiment)

    def failed(self) -> dict[str, str]:
        """Return the state of each failed batch by its machine, from `failed.json`."""
        failures = json.loads((self.folder / "results" / "failed.json").read_text())
        return {Path(failure["missing"][0]).parts[-5]: failure["state"] for failure in failures}


@pytest.fixture(scope="module")
def finished(daemons, tmp_path_factory):
    """A clone in which the experiment has run on the cluster once, and the jobs that it took."""
    clone = ClusterClone.create(
        tmp_path_factory.mktemp("cluster") / "clone", algorithms=["kruskal"], page=False
    )
    assert isinstance(clone, ClusterClone)
    clone.slurm = daemons
    folder = clone.folder / "algorithms"
    for name, paradigm in PROBES.items():
        write_probe(folder, name, paradigm)
    for name, paradigm in {**DOOMED, **RIVALS}.items():
        write_probe(folder, name, paradigm, WAITS)
    (clone.folder / "cluster" / "site.yaml").write_text(yaml.safe_dump({"site": SITE}))
    profile = clone.folder / "cluster" / "profile.yaml"
    profile.write_text(yaml.safe_dump(yaml.safe_load(profile.read_text()) | QUICK))
    clone.plan_runs_of(MEASURED)
    known = {job.id for job in daemons.jobs()}
    try:
        code, output = clone.snakemake()
    finally:
        clone.end()
    assert code == 0, output + daemons.logs()
    return clone, [job for job in daemons.jobs() if job.id not in known]


@pytest.fixture
def clone(finished, slurm, tmp_path):
    """A copy of the finished clone for one test."""
    copy = ClusterClone(tmp_path / "clone")
    shutil.copytree(finished[0].folder, copy.folder, symlinks=True)
    copy.slurm = slurm
    yield copy
    copy.end()


def by_machine(clone: Clone) -> dict[str, dict[str, dict]]:
    """Return the records of each machine by their width and layout."""
    found: dict[str, dict[str, dict]] = {}
    for path, record in clone.records().items():
        machine, _, algorithm, _, width, _ = Path(path).parts
        found.setdefault(machine, {})[f"{algorithm} {width}"] = record
    return found


def test_every_paradigm_gets_its_resources(finished):
    jobs = {job.comment: job for job in finished[1]}
    cpu, gpu, alone, spread = (
        next(job for comment, job in jobs.items() if comment.startswith(f"rule_{rule}_") and machine in comment)
        for rule, machine in MEASURING
    )
    assert (cpu.partition, cpu.cpus, cpu.shared) == ("cpu", 2, "NO"), "an exclusive node with all its cores"
    assert (gpu.partition, gpu.nodes) == ("gpu", "n1")
    assert alone.node_count == 1 and (spread.nodes, spread.node_count, spread.cpus) == ("n[1-2]", 2, 4)
    assert len(jobs) == 7, f"the proofs of a graph share a job: {list(jobs)}"
    assert {job.state for job in jobs.values()} == {"COMPLETED"}


def test_records_name_node_job_and_layout(finished):
    from mst.bench.machine import this_machine

    clone, _ = finished
    records = by_machine(clone)
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
    if len(os.sched_getaffinity(0)) >= 2:
        assert [cpu[f"probe-threads w{w}"]["counters"][0]["processors"] for w in widths] == [1, 2]
    given = records["cluster-gpu"]["probe-gpu w1"]["counters"][0]
    assert given["devices"] == "0" and cpu["kruskal w1"]["conditions"]["interleaved_with"] == 2
    spread, alone = (mpi[f"{MPI} {width}"] for width in ("w4-2x2", "w1-1x1"))
    assert spread["run"]["layout"] == spread["ranks"]["layout"] == "2x2"
    assert sorted((h["host"], h["ranks"]) for h in spread["ranks"]["hosts"]) == [("n1", 2), ("n2", 2)]
    assert all(host["fingerprint"] == this_machine().fingerprint for host in spread["ranks"]["hosts"])
    assert alone["ranks"]["layout"] == "1x1", "one rank, in an ordinary job"
    assert clone.checked()["status"] == {"ok": 6}
    used = re.findall(
        r"^ *used +(\S+) +(\d+) +(\d+) ", clone.mst("plan", "--profile", "cluster", "--used"), re.M
    )
    assert sorted(used) == [("cluster-cpu", "1", "3"), ("cluster-gpu", "1", "1"), ("cluster-mpi", "2", "2")]
    assert (clone.folder / "results" / "report.html").is_file()


def jobs_of(slurm: Slurm, names: Iterable[str]) -> dict[str, Job]:
    """Return the latest job of each of these groups of runs."""
    pattern = re.compile("|".join(f"test-{name.removeprefix('probe-')}" for name in names))
    return {match[0]: job for job in slurm.jobs() if (match := pattern.search(job.comment))}


def test_an_interrupt_cancels_running_and_queued_jobs(clone, slurm):
    clone.plan_runs_of([*MEASURED, *RIVALS])
    before = clone.stamps()
    process = clone.start()

    def states() -> list[str]:
        return sorted(job.state for job in jobs_of(slurm, RIVALS).values())

    clone.await_while(process, lambda: states() == ["PENDING", "RUNNING"])
    # While it queries the states of its jobs, the executor has no list of jobs that it could cancel.
    with slurm.without_answers():
        process.send_signal(signal.SIGINT)
        clone.await_while(process, lambda: "on user request" in clone.output.read_text())
    code, output = clone.ended(process)
    assert code != 0 and not {"PENDING", "RUNNING"} & set(states()), output
    slurm.await_no_jobs()
    assert states() == ["CANCELLED", "CANCELLED"]
    assert clone.stamps() == before
    code, output = clone.snakemake("--dry-run")
    assert code == 0 and output.count("rule measure:") == 2, output


@pytest.mark.slow
def test_jobs_that_the_scheduler_ends_are_reported_and_retried(clone, slurm):
    clone.plan_runs_of([*MEASURED, *DOOMED])
    before = clone.stamps()
    process = clone.start()
    clone.await_while(process, lambda: all((clone.folder / f"{name}.waits").exists() for name in DOOMED))
    doomed = jobs_of(slurm, DOOMED)
    slurm.expire(doomed["test-late"].id)
    slurm.command("scancel", doomed["test-killed"].id)
    slurm.kill_node("n2")
    code, output = clone.ended(process)
    assert code != 0
    assert clone.failed() == {
        "test-killed": "CANCELLED",
        "test-late": "TIMEOUT",
        "test-lost": "NODE_FAIL",
    }, output + slurm.logs()
    assert "NODE_FAIL: job" in output and "the same command retries them" in output
    assert clone.stamps() == before, "no record is partial, none is lost"

    slurm.start_node("n2")
    (clone.folder / "go").touch()
    code, output = clone.snakemake()
    assert code == 0, output + slurm.logs()
    after = clone.stamps()
    assert {name: after[name] for name in before} == before
    assert sorted(Path(name).parts[2] for name in set(after) - set(before)) == sorted(DOOMED)
    assert len(re.findall(r"^ *rule measure\w*:$", output, re.MULTILINE)) == 3
    assert clone.checked()["status"] == {"ok": 9}
    assert not (clone.folder / "results" / "failed.json").exists()


@pytest.mark.slow
def test_cancelled_mpi_job_leaves_no_rank_on_its_two_nodes_and_is_repeated(clone, slurm):
    write_probe(clone.folder / "algorithms", "probe-ranks", "mpi", WAITS)
    clone.plan_runs_of(MEASURED, more_ranks=("probe-ranks",))
    before = clone.stamps()
    process = clone.start()
    clone.await_while(process, (clone.folder / "probe-ranks.waits").exists)
    (job,) = (job for job in slurm.jobs() if job.state == "RUNNING")
    assert job.nodes == "n[1-2]" and all(slurm.processes_on(node) for node in NODES)
    slurm.command("scancel", job.id)
    code, output = clone.ended(process)
    assert code != 0 and clone.failed() == {"cluster-mpi": "CANCELLED"}, output
    slurm.await_no_jobs()
    until(
        lambda: not any(slurm.processes_on(node) for node in NODES),
        lambda: f"processes are left on the nodes:\n{slurm.describe_processes()}",
    )
    assert clone.stamps() == before
    (clone.folder / "go").touch()
    code, output = clone.snakemake()
    assert code == 0, output + slurm.logs()
    assert [Path(name).parts[2] for name in clone.stamps().keys() - before.keys()] == ["probe-ranks"]


@pytest.mark.slow
def test_job_for_a_drained_node_waits_until_the_node_is_back(clone, slurm):
    slurm.drain("n2")
    (clone.folder / "go").touch()
    clone.plan_runs_of([*MEASURED, "probe-first"])
    process = clone.start()
    clone.await_while(
        process, lambda: [j.state for j in jobs_of(slurm, ["probe-first"]).values()] == ["PENDING"]
    )
    slurm.resume("n2")
    code, output = clone.ended(process)
    assert code == 0, output + slurm.logs()
    (record,) = by_machine(clone)["test-first"].values()
    assert record["conditions"]["scheduled"]["node"] == "n2" and record["status"] == "ok"


def documented(reason: str) -> list[str]:
    """Return the commands of the page that are not run elsewhere for this reason."""
    blocks = re.findall(rf"<!-- not run: {reason}[^>]*-->\n```console\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return [line.removeprefix("$ ") for block in blocks for line in block.splitlines()]


@pytest.fixture
def shell():
    """A function that runs a command of the documentation in a clone."""
    started: list[subprocess.Popen] = []

    def run(clone: Clone, command: str) -> subprocess.CompletedProcess:
        path = clone.path_with({"mst": "-m mst", "snakemake": QUICK_SNAKEMAKE})
        process = subprocess.Popen(
            ["bash", "-c", command],
            cwd=clone.folder,
            env=clone.environment() | {"PATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        out, errors = process.communicate(timeout=PATIENCE)
        return subprocess.CompletedProcess(command, process.returncode, out, errors)

    yield run
    for process in started:
        end_group(process)


@pytest.mark.slow
def test_documented_commands_bring_records_of_a_cluster_home(clone, shell, tmp_path):
    for command in documented("needs a cluster"):
        done = shell(clone, command)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    home = Clone.create(tmp_path / "home", algorithms=["kruskal"])
    home.configure(algorithms=["kruskal"], machine="laptop")
    assert shell(home, f"mst run kruskal {GRAPH}").returncode == 0
    for bundle in clone.folder.glob("*.mst.zip"):
        bundle.rename(home.folder / bundle.name)
    for command in documented("needs the bundles"):
        done = shell(home, command)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    page = (home.folder / "results" / "report.html").read_text()
    assert all(name in page for name in ("laptop", "cluster-cpu", "cluster-mpi", "cluster-gpu"))

    (name,) = [path for path in home.records() if path.startswith(f"cluster-cpu/{GRAPH}/kruskal/")]
    record = home.folder / "results" / "records" / name
    changed = json.loads(record.read_text())
    changed["samples"]["compute"][0][0] *= 2
    record.write_text(json.dumps(changed))
    refused = shell(home, "mst import cluster-cpu.mst.zip")
    assert refused.returncode == 2 and "samples.compute[0][0]: " in refused.stderr, refused.stderr
    assert json.loads(record.read_text()) == changed, "nothing was imported"
    assert shell(home, "mst import cluster-cpu.mst.zip --as other").returncode == 0
