"""The verdicts faster, slower, same and can't tell on models of noise, on measured noise, and from the command line."""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import fake_records
import numpy as np
import pytest

from mst.bench.records.bundle import export_bundle
from mst.bench.records.compare import CANNOT_TELL, FASTER, SAME, SLOWER, compare, judge, select_records
from mst.bench.records.store import load_records
from mst.cli import main
from mst.errors import ConfigError, InputError

PROCESSES = 5
QUIET = range(22, 36)
Sets = Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]


def independent(noise: float, session: float = 0.0) -> Sets:
    """Model processes that vary by `noise` and sets that vary by `session` (standard deviations of the logarithm)."""

    def draw(rng):
        return tuple(np.exp(rng.normal(0, session) + rng.normal(0, noise, PROCESSES)) for _ in "ab")

    return draw


def autocorrelated(correlation: float, noise: float) -> Sets:
    """Model two consecutive sets on a machine whose speed drifts at random."""

    def draw(rng):
        steps = rng.normal(0, noise * np.sqrt(1 - correlation**2), 2 * PROCESSES)
        speed = [rng.normal(0, noise)]
        for step in steps[1:]:
            speed.append(correlation * speed[-1] + step)
        values = np.exp(np.array(speed) + rng.normal(0, 0.005, 2 * PROCESSES))
        return values[:PROCESSES], values[PROCESSES:]

    return draw


def warming_up(total: float) -> Sets:
    """Model two consecutive sets on a machine that becomes steadily slower."""

    def draw(rng):
        values = np.exp(np.linspace(0, total, 2 * PROCESSES) + rng.normal(0, 0.005, 2 * PROCESSES))
        return values[:PROCESSES], values[PROCESSES:]

    return draw


def two_modes(distance: float) -> Sets:
    """Model processes that get one of two memory layouts, a fast or a slow one."""

    def draw(rng):
        return tuple(
            np.exp(distance * (rng.random(PROCESSES) < 0.5) + rng.normal(0, 0.005, PROCESSES)) for _ in "ab"
        )

    return draw


def interrupted(share: float) -> Sets:
    """Model processes of which some are slowed down by other load, by an exponentially distributed factor."""

    def draw(rng):
        return tuple(
            np.exp(
                rng.normal(0, 0.01, PROCESSES)
                + (rng.random(PROCESSES) < share) * rng.exponential(0.3, PROCESSES)
            )
            for _ in "ab"
        )

    return draw


QUIET_MACHINES = {
    "noise of 0.3 %": independent(0.003),
    "noise of 1 %": independent(0.01),
    "noise of 2 %": independent(0.02),
    "sessions differ by 1 %": independent(0.005, 0.01),
    "slow drift": autocorrelated(0.9, 0.02),
    "warming up by 3 %": warming_up(0.03),
}
OTHER_MACHINES = {
    "noise of 5 %": independent(0.05),
    "sessions differ by 1.5 %": independent(0.003, 0.015),
    "drift": autocorrelated(0.9, 0.03),
    "warming up by 6 %": warming_up(0.06),
    "two memory layouts": two_modes(0.06),
    "interruptions": interrupted(0.2),
}


def verdicts(draw: Sets, rng: np.random.Generator, factor: float) -> list[str]:
    """Return the verdicts on 400 pairs of sets; the second side's code takes `factor` times as long."""
    pairs = (draw(rng) for _ in range(400))
    return [judge(a, factor * b).verdict for a, b in pairs]


@pytest.mark.parametrize("machine", [*QUIET_MACHINES, *OTHER_MACHINES])
def test_same_code_is_not_judged_different(machine, rng):
    found = verdicts((QUIET_MACHINES | OTHER_MACHINES)[machine], rng, 1.0)
    assert np.mean([v in (SAME, CANNOT_TELL) for v in found]) >= 0.95


@pytest.mark.parametrize("machine", QUIET_MACHINES)
def test_slowdown_of_ten_percent_is_found_on_a_quiet_machine(machine, rng):
    assert np.mean([v == SLOWER for v in verdicts(QUIET_MACHINES[machine], rng, 1.1)]) >= 0.9
    assert np.mean([v == FASTER for v in verdicts(QUIET_MACHINES[machine], rng, 1 / 1.1)]) >= 0.9


def test_same_code_is_judged_same_on_a_quiet_machine(rng):
    """A judge that always answers "can't tell" would also pass the test of equal code above."""
    assert np.mean([v == SAME for v in verdicts(independent(0.01), rng, 1.0)]) >= 0.9


def measured(host: str) -> dict[str, dict[int, list[float]]]:
    """Return measured process medians of a host, by program and set."""
    found: dict[str, dict[int, list[float]]] = {"a": defaultdict(list), "c": defaultdict(list)}
    for line in (Path(__file__).parent / "data" / "process_medians.csv").read_text().splitlines():
        if line.startswith(host + ","):
            _, program, number, seconds = line.split(",")
            found[program][int(number)].append(float(seconds))
    return found


def spread(values: list[float]) -> bool:
    """Return whether the runner would flag a set for its spread."""
    return max(values) - min(values) > 0.1 * float(np.median(values))


def flags_of(*sets: list[float]) -> list[str]:
    return ["spread"] if any(map(spread, sets)) else []


def test_real_sets_of_one_program_are_judged_same_on_a_quiet_machine():
    sets = measured("virtual")
    found = [
        judge(sets[p][i], sets[p][j], flags=flags_of(sets[p][i], sets[p][j])).verdict
        for p in "ac"
        for i, j in itertools.permutations(QUIET, 2)
    ]
    assert len(found) == 364
    assert np.mean([v in (SAME, CANNOT_TELL) for v in found]) >= 0.95


def test_real_sets_with_a_tenth_more_work_are_judged_slower():
    """Every unflagged set of one program is compared with every unflagged set of the other."""
    sets = measured("virtual")
    a = [sets["a"][i] for i in QUIET if not spread(sets["a"][i])]
    c = [sets["c"][i] for i in QUIET if not spread(sets["c"][i])]
    assert len(a) >= 12 and len(c) >= 12
    assert np.mean([judge(x, y).verdict == SLOWER for x in a for y in c]) >= 0.9
    assert np.mean([judge(y, x).verdict == FASTER for x in a for y in c]) >= 0.9


def test_real_interleaved_sets_on_a_shared_host_are_not_judged_different():
    """The processes of both sets alternate over the same ten seconds, as an experiment interleaves them."""
    sets = measured("virtual")
    stream = [value for i in sorted(sets["a"]) for value in sets["a"][i]]
    found = []
    for start in range(len(stream) - 60):
        first, second = stream[start : start + 60 : 12], stream[start + 6 : start + 66 : 12]
        found.append(judge(first, second, flags=flags_of(first, second)).verdict)
    assert np.mean([v in (SAME, CANNOT_TELL) for v in found]) >= 0.95


def test_real_sets_on_a_busy_machine_are_not_judged_different():
    """Medians there differ by a factor of three; flagged sets are judged different only beyond that."""
    sets = measured("busy")["a"]
    pairs = list(itertools.permutations(sets.values(), 2))
    unaware = [judge(a, b).verdict for a, b in pairs]
    aware = [judge(a, b, flags=["busy"]).verdict for a, b in pairs]
    assert np.mean([v in (SAME, CANNOT_TELL) for v in aware]) >= 0.95
    assert np.mean([v in (SAME, CANNOT_TELL) for v in unaware]) < 0.95  # else the flag would be useless
    assert judge([1.0] * 5, [10.0] * 5, flags=["busy"]).verdict == SLOWER


def test_missing_verdict_has_a_reason():
    noisy = judge([1.0, 1.3, 0.8, 1.1, 1.2], [1.2, 1.0, 1.4, 1.1, 1.3])
    assert (noisy.verdict, noisy.reason) == (CANNOT_TELL, "the difference is within the noise")
    assert judge([1.0] * 5, [1.3] * 5, flags=["busy", "fewer-processes"]).reason == "flagged busy"
    assert "one process" in judge([1.0], [2.0] * 5).reason
    assert judge([], [1.0] * 5).reason == judge([1.0] * 5, []).reason == "nothing was measured"
    short = judge([0.0] * 5, [1.0] * 5)
    assert (short.verdict, short.reason) == (CANNOT_TELL, "too short to be timed")


@pytest.mark.parametrize(
    "flag, factor",
    [("spread", 1.15), ("busy", 2), ("stolen", 2), ("throttled", 2), ("width-not-granted", 2)],
)
def test_flag_widens_the_interval(flag, factor):
    assert judge([1.0] * 5, [factor] * 5).verdict == SLOWER
    flagged = judge([1.0] * 5, [factor] * 5, flags=[flag])
    assert (flagged.verdict, flagged.reason) == (CANNOT_TELL, f"flagged {flag}")


def test_both_ends_of_the_widened_interval_lie_within_the_margin_of_the_same():
    found = judge([1.0] * 5, [0.95, 1.0, 1.0, 1.0, 1.05])
    shift = 1.96 * np.sqrt(2) * 0.02
    assert (found.low, found.high) == pytest.approx(
        (np.exp(-np.hypot(np.log(0.95), shift)), np.exp(np.hypot(np.log(1.05), shift)))
    )
    wide = [1.0, 1.02, 1.04, 1.3, 1.4]
    for sides in (([1.0] * 5, wide), (wide, [1.0] * 5)):
        assert judge(*sides).verdict == CANNOT_TELL


def test_three_processes_suffice_for_a_large_difference():
    assert judge([1.0, 1.01, 0.99], [2.0, 2.02, 1.99]).verdict == SLOWER


# --- records


GRAPH, KRUSKAL, SCIPY = fake_records.GRAPHS[0], fake_records.ALGORITHMS[0], fake_records.ALGORITHMS[9]


def record(folder: Path, rng, seconds: float, **more):
    algorithm = more.pop("algorithm", KRUSKAL)
    machine, graph = more.pop("machine", "fake-desktop"), more.pop("graph", GRAPH)
    samples = fake_records.process_samples(rng, seconds, noise=0.003)
    run, value = fake_records.measurement(machine, graph, algorithm, 1, samples=samples, **more)
    fake_records.write_record(folder, run, value)
    return run


@pytest.fixture
def results(tmp_path, rng, monkeypatch) -> Path:
    """Kruskal at two commits, 20 % faster at the newer one; SciPy at both; another machine, half as fast."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "own" / "records"
    old = dict(commit=fake_records.OLD_COMMIT, created="2026-10-01T10:00:00+00:00")
    record(folder, rng, 1.2, **old)
    record(folder, rng, 1.0)
    record(folder, rng, 3.0, algorithm=SCIPY, **old)
    record(folder, rng, 3.0, algorithm=SCIPY)
    record(folder, rng, 2.0, machine="fake-cluster")
    record(folder, rng, 1.0, graph=fake_records.GRAPHS[1])
    return folder.parent


def test_commits_are_compared_run_by_run(results):
    records = list(load_records(results / "records"))
    compared = compare(
        select_records(records, fake_records.OLD_COMMIT[:7]), select_records(records, fake_records.COMMIT[:7])
    )
    found = {c.algorithm: c.judgement.verdict for c in compared.comparisons}
    assert found == {"kruskal": FASTER, "scipy": SAME}
    assert (compared.only_a, compared.only_b) == (0, 2)


def test_different_machines_are_compared_run_by_run(results):
    records = list(load_records(results / "records"))
    compared = compare(select_records(records, "fake-desktop"), select_records(records, "fake-cluster"))
    (only,) = compared.comparisons
    assert (only.judgement.verdict, only.machine) == (SLOWER, "fake-desktop → fake-cluster")
    assert only.judgement.ratio == pytest.approx(2.0, rel=0.02)


def test_two_single_records_of_other_code_are_compared(results):
    records = list(load_records(results / "records"))
    of = {r.run.algorithm: r.run.fingerprint for r in records if r.run.graph == GRAPH.name}
    compared = compare(select_records(records, of["kruskal"])[:1], select_records(records, of["scipy"])[:1])
    assert [c.algorithm for c in compared.comparisons] == ["kruskal → scipy"]


def test_failed_run_has_no_verdict(results):
    run, value = fake_records.measurement(
        "fake-other", GRAPH, KRUSKAL, 1, facts=fake_records.DESKTOP, status="timeout", reason="60 s"
    )
    fake_records.write_record(results / "records", run, value)
    records = list(load_records(results / "records"))
    (only,) = compare(
        select_records(records, "fake-cluster"), select_records(records, "fake-other")
    ).comparisons
    assert (only.judgement.verdict, only.judgement.reason) == (CANNOT_TELL, "B ended as timeout")


def test_partial_samples_of_a_failed_run_do_not_count(results):
    (a,) = select_records(list(load_records(results / "records")), "fake-cluster")
    b = replace(a, measurement=a.measurement | {"status": "timeout"})
    (only,) = compare([a], [b]).comparisons
    assert (only.a.count, only.b.count, only.judgement.reason) == (5, 0, "B ended as timeout")


def test_other_graph_of_the_same_name_has_no_verdict(results):
    (a,) = select_records(list(load_records(results / "records")), "fake-cluster")
    b = replace(a, measurement=a.measurement | {"graph": a.measurement["graph"] | {"digest": "0" * 64}})
    (only,) = compare([a], [b]).comparisons
    assert only.judgement.reason == "the graphs have the same name but differ"


def test_flag_of_either_side_counts(results):
    (a,) = select_records(list(load_records(results / "records")), "fake-cluster")
    conditions = a.measurement["conditions"] | {"flags": ["busy"]}
    b = replace(a, measurement=a.measurement | {"conditions": conditions})
    for sides in ((a, b), (b, a)):
        (only,) = compare(*([side] for side in sides)).comparisons
        assert only.judgement.reason == "flagged busy"


def test_runs_of_other_options_and_layouts_are_compared_apart(tmp_path, rng):
    runs = [dict(options=options, layout=layout) for options in ("default", "x=1") for layout in ("", "2x8")]
    for run in runs:
        record(tmp_path, rng, 1.0, **run)
    records = list(load_records(tmp_path))
    found = compare(records, records).comparisons
    assert [dict(options=each.options, layout=each.layout) for each in found] == runs


def test_unknown_and_ambiguous_names_are_refused(results):
    records = list(load_records(results / "records"))
    with pytest.raises(ConfigError, match="did you mean 'fake-desktop'"):
        select_records(records, "fake-desktp")
    (cluster,) = select_records(records, "fake-cluster")
    cluster.measurement["git"] = None  # of an installed package
    assert {r.run.machine for r in select_records(records, fake_records.COMMIT[:4])} == {"fake-desktop"}
    with pytest.raises(ConfigError, match="is neither a file nor a machine"):
        select_records(records, fake_records.COMMIT[:3])
    with pytest.raises(InputError, match="no run with the same graph"):
        compare(
            [r for r in records if r.run.algorithm == "scipy"],
            [r for r in records if r.run.graph == "com-youtube"],
        )


def test_beginning_of_two_commits_is_ambiguous(results, rng):
    other = fake_records.COMMIT[:4] + "f" * 36
    record(results / "records", rng, 1.0, commit=other)
    records = list(load_records(results / "records"))
    with pytest.raises(ConfigError, match=f"is ambiguous: a commit {fake_records.COMMIT}; a commit {other}"):
        select_records(records, fake_records.COMMIT[:4])


def test_command_prints_a_table(results, capsys):
    commits = [fake_records.OLD_COMMIT[:8], fake_records.COMMIT[:8]]
    assert main(["compare", *commits, "--results", str(results)]) == 0
    out = capsys.readouterr().out
    assert "faster" in out and "kruskal" in out and "1 faster, 1 same" in out


def test_command_resolves_names_of_commits_by_git(tmp_path, rng, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    subprocess.run([*git, "init", "-q", "."], check=True)
    for seconds in (1.0, 1.5):
        subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", f"take {seconds} s"], check=True)
        head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout
        record(tmp_path / "results" / "records", rng, seconds, commit=head.strip())
    assert main(["compare", "HEAD~1", "HEAD", "--results", "results"]) == 0
    assert "1 slower" in capsys.readouterr().out


def test_command_prints_json_of_bundles(results, tmp_path, capsys):
    bundles = []
    for machine in ("fake-desktop", "fake-cluster"):
        bundles.append(str(tmp_path / f"{machine}.mst.zip"))
        export_bundle(machine, results=results, out=Path(bundles[-1]))
    assert main(["compare", *bundles, "--json", "--results", str(tmp_path / "nowhere")]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert [c["judgement"]["verdict"] for c in printed["comparisons"]] == [SLOWER]
    assert printed["a"] == bundles[0] and printed["only_a"] == 2


def test_machine_of_a_committed_bundle_is_compared(results, capsys):
    machine = "fake-cluster"
    (reference := Path("results", "reference", machine)).mkdir(parents=True)
    export_bundle(machine, results=results, out=reference / f"{machine}.mst.zip")
    shutil.rmtree(results / "records" / machine)
    assert main(["compare", "fake-desktop", machine, "--results", str(results)]) == 0
    assert "1 slower" in capsys.readouterr().out


def test_command_names_an_unknown_side(results, capsys):
    assert main(["compare", "nobody", "fake-desktop", "--results", str(results)]) == 2
    assert "'nobody' is neither a file nor a machine, commit or fingerprint" in capsys.readouterr().err
    folder = results / "records/fake-desktop"
    assert main(["compare", str(folder), "fake-desktop", "--results", str(results)]) == 2
    assert f"{folder} holds no records: name a machine, a bundle or a folder" in capsys.readouterr().err
