"""Sites, their nodes and the resources of runs; profiles of hardware; reports of failed jobs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from mst import config, registry
from mst.bench import output
from mst.bench.planning import usage
from mst.bench.planning.batches import MEASURED, PROVED, Batch, batches, folder_of, write_index
from mst.bench.planning.experiment import Experiment, widths_of
from mst.bench.planning.plan import GraphState, Planned, plan
from mst.bench.planning.site import Machine, Site, hardware_profile
from mst.bench.planning.usage import predicted
from mst.bench.records import account
from mst.bench.records.store import Record, Run
from mst.cli import main
from mst.commands.experiment import _seconds_to_page
from mst.commands.run import leave_job_step
from mst.errors import ConfigError
from mst.facts import Facts
from mst.yaml_models import parse, read_yaml

ROOT = Path(__file__).resolve().parent.parent


def site(**nodes) -> Site:
    described = {
        name: {"machine": f"box-{name}", "runs": ["threads"], "cpus": 8, **node} for name, node in nodes.items()
    }
    return parse(Site, {"nodes": described}, "site.yaml")


def test_example_site_covers_every_paradigm():
    example = parse(Site, read_yaml(ROOT / "cluster" / "site.yaml")["site"], "site.yaml")
    assert {run for node in example.nodes.values() for run in node.runs} >= set(registry.PARADIGMS)
    assert example.nodes["cpu"].cores == 128 and example.nodes["cpu"].cpus == 256
    assert [example.nodes["mpi"].layout(ranks) for ranks in (1, 32, 64, 128)] == [
        (1, 1),
        (1, 32),
        (2, 32),
        (4, 32),
    ]
    assert example.nodes["gpu"].declared().gpus == ("GPU",)


def test_ranks_spread_evenly_over_the_fewest_nodes():
    node = site(mpi={"runs": ["mpi"], "cpus": 8, "threads_per_core": 2, "nodes": 3}).nodes["mpi"]
    assert {ranks: node.layout(ranks) for ranks in (1, 4, 5, 6, 8, 9, 12, 13)} == {
        1: (1, 1), 4: (1, 4), 5: None, 6: (2, 3), 8: (2, 4), 9: (3, 3), 12: (3, 4), 13: None,
    }  # fmt: skip
    requested = node.run_resources("mpi", 8)
    assert (requested["nodes"], requested["tasks"]) == (2, 8)
    assert requested["mpi"] == "srun --mpi=pmi2 --nodes=2 --ntasks-per-node=4 --cpus-per-task=2"
    assert node.run_cpus("mpi", 8) == 2, "a whole core for each rank"
    alone = node.run_resources("mpi", 1)
    assert alone["mpi"] is alone["tasks"] is alone["nodes"] is None and node.run_cpus("mpi", 1) == 8


def test_timed_runs_request_exactly_their_resources():
    node = site(gpu={"runs": ["cuda"], "gpus": 2, "gpu_model": "a100", "partition": "g", "memory": 1.5}).nodes[
        "gpu"
    ]
    requested = node.run_resources("cuda", 2)
    assert (requested["gpu"], requested["gpu_model"], requested["slurm_partition"], requested["mem_mb"]) == (
        2,
        "a100",
        "g",
        1536,
    )
    assert requested["slurm_extra"] == "--exclusive" and requested["slurm_account"] is None
    assert node.run_resources("peer", 1)["gpu"] == 1 and node.declared().gpus == ("GPU", "GPU")
    profiled = site(cpu={"hardware": "durbhakula", "cpus": 4}).nodes["cpu"]
    assert profiled.cpus == 4 and profiled.run_resources("peer", 1)["gpu"] is None
    assert site(cpu={}).work.resources()["slurm_extra"] is None
    shared = site(cpu={"exclusive": False, "extra": "--nice"}).nodes["cpu"]
    assert shared.run_resources("threads", 4)["slurm_extra"] == "--nice" and shared.run_cpus("threads", 4) == 8


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ({"cpu": {"runs": ["thread"]}}, "did you mean 'threads'"),
        ({"cpu": {"cpus": 0}}, "give the cpus"),
        ({"cpu": {"cpus": 9, "threads_per_core": 2}}, "not a multiple of threads_per_core: 2"),
        ({"cpu": {"hardware": "shou-he-cpus"}}, "did you mean 'shou-he-cpu'"),
        ({"a": {"machine": "x"}, "b": {"machine": "x"}}, "two kinds of nodes are called 'x'"),
        (
            {"cpu": {"machine": "a/b"}},
            "machine: must be text of the pattern ^[A-Za-z0-9][A-Za-z0-9.-]{0,99}$ (got 'a/b')",
        ),
        ({"cpu": {"machine": "a" * 101}}, "machine: must be text of the pattern"),
        ({}, "nodes: must be non-empty"),
        ({"cpu": {"partitoin": "x"}}, "did you mean 'partition'"),
    ],
)
def test_invalid_site_is_refused_with_its_key(nodes, message):
    with pytest.raises(ConfigError, match=r"site\.yaml") as error:
        site(**nodes)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("profile", "added", "complaint"),
    [
        ("", "", "profile.yaml names no configfile with a site"),
        ("- configfile", "", "profile.yaml names no configfile with a site"),
        ("configfile: [a.yaml, b.yaml]", "", "profile.yaml names no configfile with a site"),
        ("configfile: site.yaml", "", "site.yaml describes no site"),
        ("configfile: [site.yaml]", "- a", "site.yaml describes no site"),
        ("configfile: site.yaml", "machine: here", "site.yaml describes no site"),
    ],
)
def test_a_profile_without_a_site_is_refused(tmp_path, profile, added, complaint):
    (tmp_path / "profile.yaml").write_text(profile)
    (tmp_path / "site.yaml").write_text(added)
    with pytest.raises(ConfigError, match=complaint):
        config.with_profile(config.load(), tmp_path)


def test_each_kind_of_node_plans_its_own_paradigms():
    described = site(
        cpu={"runs": ["threads", "kruskal"], "cpus": 2}, gpu={"runs": ["cuda"], "gpus": 1}, small={"cpus": 1}
    )
    blocks = [{"algorithms": ["kruskal", "filter-boruvka-threads"], "widths": [1, 2]}]
    experiment = parse(Experiment, {"title": "t", "graphs": ["g"], "runs": blocks}, "e")
    facts = Facts(n=3, m=3)
    rows = {}
    for node in described.nodes.values():
        machine = Machine(node.machine, node.declared(), node)
        states = {"g": GraphState("g", "ok", facts, "d")}
        planned = plan(experiment, states, machines=[machine], records=Path("nowhere"))
        rows[machine.name] = [(row.algorithm, row.width, row.status) for row in planned]
    assert rows == {
        "box-cpu": [
            ("kruskal", 1, "planned"),
            ("filter-boruvka-threads", 1, "planned"),
            ("filter-boruvka-threads", 2, "planned"),
        ],
        "box-gpu": [],
        "box-small": [("filter-boruvka-threads", 1, "planned"), ("filter-boruvka-threads", 2, "unsupported")],
    }


def test_places_are_the_kinds_of_nodes_of_a_site_or_the_machine_at_hand():
    node = {"machine": "far-cpu", "runs": ["peer"], "cpus": 4}
    experiment = {"title": "t", "graphs": [], "runs": []}
    settings = config.from_mapping({"site": {"nodes": {"cpu": node}}, "experiment": experiment})
    assert [machine.name for machine in config.machines(settings)] == ["far-cpu"]
    assert config.machines(config.from_mapping({"machine": "here", "experiment": experiment}))[0].name == "here"


def test_hardware_profiles_of_the_papers_exist():
    names = {file.stem for file in (ROOT / "config/machines").glob("*.yaml")}
    assert {"shou-he-cpu", "shou-he-gpu", "ecl-system-1", "ecl-system-2", "durbhakula"} <= names
    for name in names:
        assert hardware_profile(name).widths, f"{name} names no widths"
    assert hardware_profile("ecl-system-2").cores == 32 and hardware_profile("ecl-system-2").sockets == 2


def test_experiment_takes_widths_from_its_source_machine():
    values = {"title": "t", "graphs": [], "runs": [{"algorithms": "all", "widths": "source"}]}
    with pytest.raises(ConfigError, match="machine: NAME"):
        parse(Experiment, values, "e")
    with pytest.raises(ConfigError, match="did you mean 'durbhakula'"):
        parse(Experiment, {**values, "machine": "durbakula"}, "e")
    (block,) = parse(Experiment, {**values, "machine": "durbhakula"}, "e").runs
    assert widths_of(block, "threads", 2, "durbhakula") == [1, 2, 4, 8, 16]
    assert widths_of(block, "cuda", 2, "durbhakula") == [1] == widths_of(block, "sequential", 2, "durbhakula")


def test_width_on_a_host_is_its_share_of_the_ranks():
    path = Path("m/g/a/default/w8-2x4/000000000000.json")
    run = Run.from_path(path)
    assert (run.width, run.layout, run.width_here, run.path) == (8, "2x4", 4, path)
    assert Run.from_path(Path("m/g/a/default/w8/000000000000.json")).width_here == 8


def test_job_step_variables_are_removed_for_children():
    environment = {"PMI_FD": "11", "PMI_RANK": "0", "PMIX_RANK": "0", "PATH": "/bin", "SLURM_JOB_ID": "1"}
    leave_job_step(environment)
    assert environment == {"PATH": "/bin", "SLURM_JOB_ID": "1"}


LOG = """\
SLURM run ID: 1
[Sat Nov 21 04:28:34 2026]
    message: Error in group box-small-grid
    log: /scratch/.snakemake/slurm_logs/group_box-small-grid_run/7.log (check log file(s) for error details)
    jobs:
        rule run:
            jobid: 19
            output: absent-a.json
            log: results/logs/a.log (check log file(s) for error details)
        rule run:
            jobid: 20
            output: absent-b.json, {here}
            log: results/logs/b.log (check log file(s) for error details)
Logfile /scratch/.snakemake/slurm_logs/group_box-small-grid_run/7.log:
================================================================================
Error in rule run:
    output: absent-a.json
    log: results/logs/a.log (check log file(s) for error details)
================================================================================
Error in rule reference:
    message: SLURM-job '8' failed, SLURM status is: 'NODE_FAIL'.
    output: absent-c.json
    log: results/logs/c.log, /scratch/.snakemake/slurm_logs/rule_reference/8.log (check log file(s) for error details)
    external_jobid: 8
Error in rule measure:
    message: SLURM sbatch failed. The error message was 'sbatch: error: invalid partition specified: nosuch
sbatch: error: Batch job submission failed: Invalid partition name specified'.
    sbatch call:
        sbatch --output /scratch/.snakemake/slurm_logs/rule_measure/a_1/%j.log
    output: absent-d.json
    log: results/logs/d.log (check log file(s) for error details)
Logfile results/logs/d.log not found.
Error in rule measure:
    message: SLURM sbatch failed. The error message was 'sbatch: error: invalid partition specified: nosuch'.
    output: absent-f.json
    log: results/logs/f.log (check log file(s) for error details)
Logfile results/logs/f.log not found.
    message: Error in group proofs-a
    jobs:
        rule prove:
            jobid: 3
            output: absent-g.json
            log: results/logs/g.log (check log file(s) for error details)
Logfile results/logs/g.log not found.
Error in rule graph:
    output: absent-e.json
    log: results/logs/e.log (check log file(s) for error details)
Exiting because a job execution failed. Look above for error messages
"""


def test_account_counts_each_failure_once(tmp_path, monkeypatch):
    here = tmp_path / "there.json"
    here.touch()
    found = account.failures(LOG.format(here=here))
    assert [(f.job, f.scheduled, f.missing) for f in found] == [
        ("box-small-grid", "7", ["absent-a.json", "absent-b.json"]),
        ("reference", "8", ["absent-c.json"]),
        ("measure", "", ["absent-d.json"]),  # refused by the scheduler, as the next two
        ("measure", "", ["absent-f.json"]),
        ("proofs-a", "", ["absent-g.json"]),
        ("graph", "", ["absent-e.json"]),  # on the login node
    ]
    monkeypatch.setattr(account, "fields_of", lambda *asked: {"7": ["TIMEOUT"], "8": ["NODE_FAIL"]})
    log = tmp_path / "engine.log"
    log.write_text(LOG.format(here=here))
    lines = list(map(str, account.write_account([log], tmp_path)))
    assert lines[0].startswith("TIMEOUT: job 7 box-small-grid, 2 files not made; see /scratch/")
    assert lines[1].endswith("rule_reference/8.log")
    assert lines[2] == (
        "refused: measure, absent-d.json not made; sbatch: error: invalid partition specified: nosuch; "
        "sbatch: error: Batch job submission failed: Invalid partition name specified"
    )
    assert lines[4] == (
        "refused: proofs-a, absent-g.json not made; "
        "the scheduler took no such job; see `mst plan --profile cluster`"
    )
    assert lines[5].endswith("see results/logs/e.log")


def test_jobs_that_the_first_command_has_forgotten_are_those_of_the_next(monkeypatch):
    known = {"squeue": "2|FAILED\n3\n", "sacct": "1|TIMEOUT\n"}
    asked = []
    monkeypatch.setattr(output, "scheduler_output", lambda command: asked.append(command) or known[command[0]])
    commands = ["squeue"], ["sacct"]
    assert output.fields_of(["1", "", "2", "1"], *commands) == {"1": ["TIMEOUT"], "2": ["FAILED"]}
    assert asked == [["squeue", "-j", "1,2"], ["sacct", "-j", "1"]]
    assert output.fields_of(["2"], *commands) == {"2": ["FAILED"]} and len(asked) == 3


def test_account_works_without_a_scheduler(tmp_path):
    log = tmp_path / "engine.log"
    log.write_text(
        "Error in rule run:\n    output: absent.json\n    log: a.log (check log file(s) for error details)\n"
    )
    (failure,) = account.write_account([log], tmp_path)
    assert (failure.state, failure.job, failure.missing, failure.log) == (
        "failed",
        "run",
        ["absent.json"],
        "a.log",
    )
    assert (tmp_path / account.FAILED).is_file()
    assert account.write_account([log], log) == [failure]  # the file cannot be written
    # A job that an interruption ended.
    log.write_text(f"Execute 1 jobs...\nTerminating processes on user request, this might …\n{log.read_text()}")
    assert account.write_account([log], tmp_path) == [] and not (tmp_path / account.FAILED).exists()


def test_account_quotes_the_last_line_of_a_job_on_this_machine(tmp_path):
    (tmp_path / "graph.log").write_text(
        "… reading road.gr, 2 s so far\nroad.gr, line 4: 'x' is\x1b not a number\n\n"
    )
    (tmp_path / "engine.log").write_text(
        f"Error in rule graph:\n    output: absent.json\n    log: {tmp_path}/graph.log (check log file(s))\n"
    )
    (failure,) = account.write_account([tmp_path / "engine.log"], tmp_path)
    quoted = r"road.gr, line 4: 'x' is\x1b not a number"
    assert str(failure) == f"failed: graph, absent.json not made; see {tmp_path}/graph.log: {quoted}"


def test_usage_of_three_kinds_of_nodes_is_predicted():
    described = site(
        cpu={"runs": ["threads"], "cpus": 256, "threads_per_core": 2},
        gpu={"runs": ["cuda"], "cpus": 32, "gpus": 4},
        mpi={"runs": ["mpi"], "cpus": 64, "nodes": 4},
    )
    blocks = [{"algorithms": ["edge-boruvka", "edge-boruvka-cuda", "filter-boruvka-mpi"], "widths": [1, 128]}]
    measure = {"budget": 59}
    experiment = parse(
        Experiment, {"title": "t", "graphs": ["g", "h"], "measure": measure, "runs": blocks}, "e"
    )
    machines = [Machine(node.machine, node.declared(), node) for node in described.nodes.values()]
    rows = plan(experiment, {}, machines=machines, records=Path("nowhere"))
    # Whether CuPy is installed where the test runs makes no difference.
    rows = [replace(r, status="waiting") if r.paradigm == "cuda" and r.width == 1 else r for r in rows]
    known = [replace(r, status="planned") if r.status == "waiting" and r.graph == "h" else r for r in rows]
    found = {usage.machine: usage for usage in predicted(batches(rows, known), described)}
    cpu, mpi = found["box-cpu"], found["box-mpi"]
    assert (cpu.jobs, cpu.runs, cpu.seconds) == (2, 4, 240.0) and cpu.core_hours == pytest.approx(4 / 60 * 128)
    here = [row for row in rows if row.machine == "box-cpu" and row.status == "waiting"]
    announced = _seconds_to_page(here, ["edge-boruvka"]) - _seconds_to_page([], [])
    assert announced == cpu.seconds, "mst experiment expects the same"
    assert (mpi.jobs, mpi.runs) == (4, 4), "each layout of ranks is a job of its own"
    assert mpi.core_hours == pytest.approx(2 / 60 * (64 + 2 * 64)), "one node, and two for 128 ranks"
    assert (found["box-gpu"].jobs, found["box-gpu"].core_hours) == (2, pytest.approx(2 / 60 * 32))


def test_the_wait_for_nodes_is_that_of_the_job_that_started_first(monkeypatch, tmp_path):
    described = site(cpu={"runs": ["threads"], "cpus": 2}, unused={})
    runs = [
        Run("box-cpu", graph, "kruskal", "default", 1, "0" * 12)
        for graph in ("g", "h", "i", "by hand", "other")
    ]
    runs.append(Run("elsewhere", "g", "kruskal", "default", 1, "0" * 12))
    minutes = {"started": (0, 0, 5, 0, 0, 0), "created": (1, 1, 7, 9, 9, 9)}
    spans = [{key: f"2026-01-01T12:0{of[i]}:00+00:00" for key, of in minutes.items()} for i in range(6)]
    jobs = [{"scheduled": {"job": job}} for job in "122"] + [{}] + [{"scheduled": {"job": job}} for job in "34"]
    measured = [s | {"conditions": job} for s, job in zip(spans, jobs)]
    records = [Record(run, tmp_path / run.path, m) for run, m in zip(runs, measured, strict=True)]
    times = "1|2025-12-31T10:00:00|2026-01-01T12:00:00\n2|2026-01-01T13:00:00|2026-01-01T13:00:05\n"
    monkeypatch.setattr(usage, "load_records", lambda folder: records)
    monkeypatch.setattr(output, "scheduler_output", lambda command: times)
    wanted = [*runs[:4], runs[-1]]
    (found,) = usage.used(tmp_path, wanted, described)
    assert (found.jobs, found.runs, found.seconds, found.start.seconds) == (2, 3, 60.0 + 7 * 60, 26 * 3600.0)
    monkeypatch.setattr(output, "scheduler_output", lambda command: "1|2026-01-01T10:00:00|Unknown\n")
    (found,) = usage.used(tmp_path, wanted, described)
    assert found.start == (None, "")


def test_jobs_on_shared_nodes_take_the_cores_of_their_ranks_or_a_node(monkeypatch, tmp_path):
    described = site(
        mpi={"runs": ["mpi"], "cpus": 64, "nodes": 4, "exclusive": False}, cpu={"exclusive": False}
    )
    runs = [
        Run("box-mpi", "g", "filter-boruvka-mpi", "default", 16, "0" * 12, "2x8"),
        Run("box-cpu", "g", "edge-boruvka", "default", 4, "0" * 12),
    ]
    hour = {"started": "2026-01-01T12:00:00+00:00", "created": "2026-01-01T13:00:00+00:00"}
    measured = hour | {"conditions": {"scheduled": {"job": "1"}}}
    records = [Record(run, tmp_path / run.path, measured) for run in runs]
    monkeypatch.setattr(usage, "load_records", lambda folder: records)
    monkeypatch.setattr(output, "scheduler_output", lambda command: "")
    found = {of.machine: of.core_hours for of in usage.used(tmp_path, runs, described)}
    assert found == {"box-mpi": 16.0, "box-cpu": 8.0}


def test_batch_takes_the_next_number_when_something_is_missing(tmp_path):
    records, own, other = tmp_path / "records", tmp_path / "own", tmp_path / "other"
    run = Run("m", "g", "kruskal", "default", 1, "0" * 12)

    def folder(status: str) -> str:
        row = Planned("m", "g", "kruskal", "sequential", "default", 1, status, run=run)
        found = folder_of(Batch("m", "g", "all", (row,), (row,)), records, own, [other])
        return str(found.relative_to(tmp_path))

    assert folder("waiting") == folder("planned") == "own/m/g/all/1"
    place = own / "m/g/all/1"
    place.mkdir(parents=True)
    assert folder("planned") == "own/m/g/all/1", "a job that ended early is repeated"
    (records / run.path).parent.mkdir(parents=True)
    (records / run.path).write_text("{}")
    write_index(place / MEASURED, records, [str(run.path)])
    assert folder("planned") == "own/m/g/all/1", "only the proof is missing"
    write_index(place / PROVED, records, [str(run.path)])
    assert folder("done") == "own/m/g/all/1"
    assert folder("planned") == "own/m/g/all/2", "its proof was deleted"
    place.rename(tmp_path / "kept")
    assert folder("done") == "own/m/g/all/1"
    write_index(other / "m/g/all/3" / PROVED, records, [str(run.path)])
    assert folder("done") == "other/m/g/all/3", "another scope has measured it"


def test_the_plan_of_a_site_says_why_a_kind_of_node_has_no_jobs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    nodes = {"cpu": {"machine": "far-cpu", "cpus": 4, "runs": ["kruskal"]},
             "gpu": {"machine": "far-gpu", "cpus": 4, "runs": ["cuda"]}}  # fmt: skip
    Path("site.yaml").write_text(json.dumps({"site": {"nodes": nodes}}))
    Path("profile.yaml").write_text("configfile: site.yaml")
    runs = [{"algorithms": ["kruskal", "filter-boruvka-cuda"]}]
    experiment = {"title": "t", "graphs": ["path-100k"], "runs": runs}
    Path("c.yaml").write_text(json.dumps({"results": "r", "experiment": experiment}))
    arguments = ["plan", "--profile", ".", "--configfile", "c.yaml"]
    monkeypatch.setattr(usage, "scheduler_output", lambda command: "no such account\n")
    assert main(arguments) == 0
    _, predicted, *idle, without = capsys.readouterr().out.splitlines()
    assert predicted.split()[:5] == ["predicted", "far-cpu", "1", "1", "unknown"]
    assert idle == [
        f"{name}: the scheduler would start no job (no such account)" for name in ("work", "far-cpu")
    ]
    assert without.startswith("far-gpu: nothing to submit (1 run: needs 1 CUDA device")
    assert main([*arguments, "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["machine"], row["status"]) for row in rows] == [
        ("far-cpu", "waiting"),
        ("far-gpu", "unsupported"),
    ]


def test_the_plan_of_a_site_says_when_the_scheduler_would_start_jobs_or_why_not(monkeypatch):
    asked = []
    answers = iter([
        "sbatch: Job 7 to start at 2001-01-31T12:00:00 using 8 processors on nodes n1 in partition gpu",
        "sbatch: error: invalid partition specified: far\nallocation failure: Invalid partition name specified\n",
        "",
        "sbatch: error: a message that ends with at",
    ])  # fmt: skip
    monkeypatch.setattr(usage, "scheduler_output", lambda command: asked.append(command) or next(answers))
    queue = {"partition": "gpu", "account": "lab", "qos": "high", "constraint": "nvlink"}
    gpu = queue | {"gpus": 4, "gpu_model": "a100", "memory": 1.5, "extra": "--nodelist=n1"}
    described = parse(
        Site,
        {
            "work": {"partition": "far"},
            "nodes": {"gpu": {"machine": "box", "runs": ["cuda"], "cpus": 8, **gpu}},
        },
        "site.yaml",
    )
    assert usage.start_of(described.nodes["gpu"]) == (0.0, "")
    refusal = (
        "sbatch: error: invalid partition specified: far; allocation failure: Invalid partition name specified"
    )
    assert usage.start_of(described.work) == (None, refusal)
    assert usage.start_of(described.work) == (None, ""), "no scheduler"
    assert usage.start_of(described.work).refusal.endswith("ends with at")
    node = [f"--{key}={value}" for key, value in queue.items()]
    node += ["--mem=1536", "--gpus=a100:1", "--cpus-per-task=8", "--time=60", "--exclusive"]
    work = ["--partition=far", "--cpus-per-task=2", "--time=60"]
    assert asked[0] == ["sbatch", "--test-only", *node, "--nodelist=n1", "--wrap=true"]
    assert asked[1] == ["sbatch", "--test-only", *work, "--wrap=true"]
