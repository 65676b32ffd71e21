"""Conversions for peers before timing starts, and programs on disk as peers."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path

import adversarial
import numpy as np
import oracles
import pytest

import mst
from mst import ConfigError, DependencyError, Graph, MSTError, UnsupportedError, cli, config, programs, registry
from mst.algorithms.peers._simple import double_weights, simple_edges
from mst.bench.measure.runner import Request, measure_runs
from mst.bench.planning.experiment import Measure
from mst.bench.records.store import Run
from mst.bench.records.verify import make_reference, verify_record
from mst.execute import execute, implementation_of
from mst.facts import Facts
from mst.formats.canonical import content_digest, write_canonical
from mst.order import total

PEERS = {name: a for name, a in registry.algorithms().items() if a.paradigm == "peer"}

# A minimum spanning forest program in plain Python, without packages, that reads an edge list.
PROGRAM = """
import sys, time
path, mode = sys.argv[1], sys.argv[2]
out = open(sys.argv[3], "w") if len(sys.argv) > 3 else sys.stdout
edges = []
for line in open(path):
    if line[:1] == "a":
        u, v, w = line.split()[1:]
        edges.append((int(w), int(u), int(v)))
started = time.perf_counter()
parent, taken = {}, []
def find(x):
    while parent.get(x, x) != x:
        x = parent[x]
    return x
for w, u, v in sorted(edges):
    a, b = find(u), find(v)
    if a != b:
        parent[a] = b
        taken.append((u, v, w))
if mode == "crash":
    sys.exit("cannot go on: no good")
if mode == "invent":
    taken.append((1, 4, 1))
if mode == "heavy":
    taken[-1] = next((u, v, w) for w, u, v in sorted(edges)[::-1] if {u, v} == {2, 3})
if mode != "silent":
    print("weight", sum(w for _, _, w in taken) + (mode == "wrong"))
print("time", 0.25, "ms")
for u, v, w in taken:
    print("edge", v, u, file=out)
"""


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Return a function that registers the program above as ``command-mine``."""
    script = tmp_path / "solver.py"
    script.write_text(PROGRAM)
    monkeypatch.setenv(programs.ENVIRONMENT, "")

    def make(mode: str = "fine", *, output: bool = False, **changes) -> registry.Algorithm:
        words = [sys.executable, str(script), "{graph}", mode, *(["{output}"] if output else [])]
        described = {"command": words, "format": "dimacs", "weights": ["int32", "int64"], **changes}
        registry.use_programs({"mine": described})
        return registry.get("command-mine")

    make.script = script
    yield make
    registry.use_programs(None)


EDGES = dict(edges=r"^edge (?P<u>\d+) (?P<v>\d+)$", first_vertex=1)
TOTAL = dict(total=r"weight (-?\d+)")
GRAPH = Graph(5, [0, 1, 0, 2, 2, 1], [1, 2, 2, 2, 1, 0], np.array([5, 7, 6, 1, 9, 5], np.int32))
MANIFEST = {"name": "g", "n": 5, "m": 6, "digest": content_digest(GRAPH), "weight_dtype": "int32"}


@pytest.mark.parametrize("output", (False, True), ids=("printed", "written"))
def test_a_program_that_lists_edges_is_an_algorithm(program, output):
    program(output=output, **EDGES)
    forest = mst.minimum_spanning_forest(GRAPH, algorithm="command-mine")
    assert forest.edge_ids.tolist() == [0, 2] and forest.weight == 11


def test_edges_of_a_program_are_found_in_random_graphs(program, rng):
    program(**EDGES)
    for _ in range(5):
        graph = Graph(30, rng.integers(0, 30, 80), rng.integers(0, 30, 80), rng.integers(1, 2**40, 80))
        forest = mst.minimum_spanning_forest(graph, algorithm="command-mine")
        assert forest.edge_ids.tolist() == oracles.by_python_kruskal(graph)


def test_a_program_that_prints_a_total_is_timed_but_makes_no_forest(program):
    stating = implementation_of(program(**TOTAL, seconds=r"time ([\d.]+) ms", unit="ms"))
    problem = stating.ready(GRAPH).problem
    answer, seconds = stating.timed_solve(problem)
    assert stating.collect(problem, answer) is None and stating.weight(problem, answer) == "11"
    assert seconds == pytest.approx(0.25e-3) and stating.counters(problem, answer) == {"clock": "program"}
    with pytest.raises(UnsupportedError, match="prints only a total"):
        mst.minimum_spanning_forest(GRAPH, algorithm="command-mine")


def test_without_a_stated_time_the_process_is_timed(program):
    found = execute(program(**TOTAL), GRAPH)
    assert found.implementation.timed_solve(found.problem)[1] > 1e-3
    assert found.counters() == {"clock": "process"}


@pytest.mark.parametrize(
    "mode,fields,message",
    [
        ("crash", EDGES, "ended with code 1: 'cannot go on: no good'"),
        ("invent", EDGES, "mine lists the edge 4–1, which the graph does not have"),
        ("silent", TOTAL, "mine printed nothing that total: .* matches; its last line: 'edge"),
        ("fine", {**EDGES, "first_vertex": 3}, "which the graph does not have"),
    ],
)
def test_a_program_error_is_reported(program, mode, fields, message):
    module = program(mode, **fields).load()
    problem = module.prepare(GRAPH, width=1)
    with pytest.raises(MSTError, match=message):
        answer = module.solve(problem)
        module.collect(problem, answer)
        module.weight(problem, answer)


def test_files_of_a_program_are_removed_with_the_problem(program):
    module = program(**EDGES).load()
    problem = module.prepare(GRAPH, width=1)
    folder = Path(problem.folder.name)
    assert folder.is_dir()
    del problem
    assert not folder.exists()


def test_processes_with_a_shared_folder_write_the_graph_once(program, tmp_path, monkeypatch):
    module = program(**EDGES).load()
    first = module.prepare(GRAPH, width=1, shared=str(tmp_path))
    monkeypatch.setattr("mst.formats.write", None)
    second = module.prepare(GRAPH, width=1, shared=str(tmp_path))
    assert first.words == second.words and first.output != second.output
    ids = module.collect(first, module.solve(first)).tolist()
    assert ids == module.collect(second, module.solve(second)).tolist() and len(ids) > 0


def test_options_and_width_fill_the_command(program):
    algorithm = program(
        **TOTAL,
        command=[sys.executable, "-c", "print('weight', {depth}{width}, '{{}}', open('{graph}').read(0))"],
        options={"depth": {"default": 4, "min": 1}},
        paradigm="threads",
        environment={"DEPTH": "{depth}"},
    )
    module = algorithm.load()
    problem = module.prepare(GRAPH, width=3, **algorithm.resolve({"depth": 7}))
    assert module.weight(problem, module.solve(problem)) == "73" and problem.environment == {"DEPTH": "7"}
    assert algorithm.options_slug({"depth": 7}) == "depth=7" and algorithm.paradigm == "threads"


def test_counters_and_phases_are_read_of_an_instrumented_build(program):
    plain = program(**TOTAL, counters={"weight": TOTAL["total"]}).load()
    problem = plain.prepare(GRAPH, width=1)
    assert plain.counters(problem, plain.solve(problem)) == {"clock": "process", "weight": 11}
    assert not hasattr(plain, "phases")

    printing = [sys.executable, "-c", "print('launches 3 merge 1.5'); open('{graph}')"]
    timed = program(
        **TOTAL,
        instrumented=printing,
        counters={"launches": r"launches (\d+)"},
        phases={"merge": r"merge ([\d.]+)"},
        unit="ms",
    ).load()
    problem = timed.prepare(GRAPH, width=1)
    answer = timed.solve(problem)
    assert timed.weight(problem, answer) == "11"
    assert timed.counters(problem, answer) == {"clock": "process", "launches": 3}
    assert timed.phases(problem) == {"merge": pytest.approx(1.5e-3)}


def test_phases_without_an_instrumented_build_come_with_every_process(program, tmp_path):
    algorithm = program(
        **TOTAL, counters={"weight": TOTAL["total"]}, phases={"merge": TOTAL["total"]}, unit="ms"
    )
    measured = measure_program(algorithm, tmp_path)
    assert measured["phases"] == [{"merge": pytest.approx(0.011)}] * 2
    assert measured["counters"] == [{"clock": "process", "weight": 11}] * 2


def test_keys_that_a_program_does_not_use_leave_its_fingerprint(program):
    described = asdict(programs.from_mapping("mine", {"command": "no-such {graph}", "format": "pbbs", **TOTAL}))
    for key in ("versions", "counters", "phases", "instrumented"):
        assert not described.pop(key)
    expected = hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()
    assert programs.Program(**described).fingerprint() == expected


def test_a_program_skips_graphs_with_unsupported_weights(program):
    assert program(**EDGES).may_skip
    algorithm = program(**EDGES, limits={"m": 100})
    reason = algorithm.skip(Facts(n=5, m=6, weight_dtype="float64"))
    assert reason == "it takes int32, int64 weights, not float64"
    assert algorithm.skip(Facts(n=5, m=6)) is None
    assert "above its limit of 100" in algorithm.skip(Facts(n=5, m=101))


def test_a_missing_program_is_unavailable_not_fatal(program):
    algorithm = program(**EDGES, command="no-such-program {graph}")
    assert algorithm.missing() == "needs the program no-such-program, not found"
    with pytest.raises(DependencyError, match=r"command-mine needs the program no-such-program, not found$"):
        algorithm.load()


def test_a_program_that_may_not_be_executed_is_not_called_missing(program):
    algorithm = program(**EDGES, command=[str(program.script), "{graph}"])
    assert (
        algorithm.missing() == f"needs the program {program.script}, whose file is not executable: use chmod +x"
    )


def test_fingerprint_of_a_program_covers_script_and_description(program):
    first = program(**EDGES).source_fingerprint()
    assert program(**EDGES).source_fingerprint() == first
    assert program(**EDGES, title="Mine").source_fingerprint() != first
    program.script.write_text(PROGRAM + "\n# changed")
    assert program(**EDGES).source_fingerprint() != first


@pytest.mark.parametrize(
    "change,message",
    [
        ({"comand": "x {graph}"}, r"programs.mine.comand: unknown key \(did you mean 'command'\?\)"),
        ({"command": None}, "command is missing"),
        ({"command": "solve"}, r"has no \{graph\}"),
        ({"command": "solve {graph} {outptu}"}, r"unknown placeholder \{outptu\} \(did you mean 'output'\?\)"),
        ({"command": "solve {graph} {"}, "double a literal brace"),
        ({"command": 7}, "command: 7 has the wrong type, int"),
        ({"format": "dimac"}, r"format: 'dimac' must be one of .*did you mean 'dimacs'"),
        ({"total": None}, "give edges or total"),
        ({"total": "weight"}, "must have one group, for the number, but has 0"),
        ({"total": "("}, "is not a regular expression"),
        ({"edges": r"(\d+) (\d+)"}, r"must have the named groups \(\?P<u>…\) and \(\?P<v>…\)"),
        ({"unit": "min"}, "unit: 'min' must be one of s, ms, us, ns"),
        ({"weights": "int16"}, "weights: 'int16' must be one of int32"),
        ({"paradigm": "mpi"}, "paradigm: 'mpi' must be one of peer, threads, cuda"),
        ({"limits": {"k": 3}}, "limits: 'k' must be one of n, m"),
        ({"simple": "yes"}, "simple: 'yes' has the wrong type, str"),
        ({"counters": {"rounds": "rounds"}}, r"counters.rounds: 'rounds' must have one group"),
        ({"phases": {"merge": "("}}, r"phases.merge: '\(' is not a regular expression"),
        ({"instrumented": "solve -v"}, r"instrumented: has no \{graph\}"),
        ({"command": "solve '{graph}"}, "programs.mine.command: .*: No closing quotation"),
        (
            {"limits": {"n": "many"}},
            "programs.mine.limits: limits must give n or m as whole numbers, got n = 'many'",
        ),
        ({"options": {"graph": {"default": 4}}}, "option 'graph': use letters, .* and none of comm, facts"),
        ({"options": {"depth": 4}}, "option 'depth' must be a mapping with a default"),
        ({"options": {"depth": {"default": 4, "mni": 1}}}, r"unknown key 'mni' \(did you mean 'min'\?\)"),
    ],
)
def test_mistakes_in_the_configuration_are_named(program, change, message):
    described = {"command": "solve {graph}", "format": "dimacs", "total": r"(\d+)", **change}
    with pytest.raises(ConfigError, match=message):
        registry.use_programs({"mine": described})
        registry.algorithms()


def test_a_program_in_the_configuration_is_listed(program, monkeypatch, capsys):
    described = {"command": "solve {graph}", "format": "dimacs", "total": r"(\d+)"}
    experiment = {"title": "t", "graphs": [], "runs": []}
    monkeypatch.setenv(
        config.ENVIRONMENT, json.dumps({"programs": {"mine": described}, "experiment": experiment})
    )
    assert cli.main(["list"]) == 0
    assert "command-mine" in capsys.readouterr().out


def test_names_and_mappings_are_checked():
    with pytest.raises(ConfigError, match="lower-case letters"):
        programs.from_mapping("My Program", {})
    with pytest.raises(ConfigError, match="expected a mapping"):
        programs.from_mapping("mine", ["solve"])
    with pytest.raises(ConfigError, match="expected a mapping"):
        programs.export(["solve"])


def test_the_environment_is_checked(monkeypatch):
    monkeypatch.setenv(programs.ENVIRONMENT, "[1]")
    with pytest.raises(ConfigError, match="MST_PROGRAMS"):
        programs.known()


def test_the_configuration_lists_programs_before_it_reads_experiments(program):
    described = {"command": "solve {graph}", "format": "dimacs", **TOTAL}
    experiment = {"title": "t", "graphs": [], "runs": [{"algorithms": ["command-ours"]}]}
    loaded = config.from_mapping({"programs": {"ours": described}, "experiment": experiment})
    assert "command-ours" in registry.algorithms() and loaded.programs["ours"]["format"] == "dimacs"
    assert json.loads(os.environ[programs.ENVIRONMENT])["ours"]["format"] == "dimacs"
    with pytest.raises(ConfigError, match="command-ours"):
        config.from_mapping({"experiment": experiment})


@pytest.mark.parametrize(
    "mode,fields,status,grade",
    [
        ("fine", EDGES, "ok", "identical"),
        ("heavy", EDGES, "wrong", None),
        ("fine", TOTAL, "ok", "weight"),
        ("wrong", TOTAL, "wrong", None),
    ],
)
def test_runs_of_a_program_are_measured_and_proved(program, tmp_path, mode, fields, status, grade):
    measured = measure_program(program(mode, **fields), tmp_path)
    assert measured["counters"] == [{"clock": "process"}] * 2
    make_reference(tmp_path / "graph.arrow", MANIFEST, tmp_path / "reference.json")
    (record,) = tmp_path.rglob("000000000000.json")
    proof = verify_record(record, tmp_path / "reference.json")
    assert (proof["status"], proof["grade"]) == (status, grade), proof["reason"]


@pytest.mark.parametrize("paradigm", ["peer", "threads"])
def test_a_program_is_started_for_samples_alone(program, tmp_path, paradigm):
    log = tmp_path / "starts"
    program.script.write_text(f"open({str(log)!r}, 'a').write('x')\n" + PROGRAM)
    measured = measure_program(program(paradigm=paradigm, **TOTAL), tmp_path)
    assert len(log.read_text()) == sum(map(len, measured["samples"]["compute"])) == 2


def measure_program(algorithm, folder):
    write_canonical(folder / "graph.arrow", GRAPH, {"name": "g"})
    run = Run("here", "g", algorithm.id, "default", 1, "0" * 12)
    request = Request(run, folder / run.path, Measure(processes=2, samples=1, budget=9, timeout=60))
    measured = next(measure_runs([request], manifest=MANIFEST, graph_file=folder / "graph.arrow"))
    assert measured["status"] == "ok", measured["detail"]
    return measured


def test_simple_edges_keep_the_lightest_of_parallel_edges(rng):
    for graph in adversarial.small(rng):
        simple = simple_edges(graph)
        best = {}
        for e in range(graph.m):
            pair = tuple(sorted((int(graph.u[e]), int(graph.v[e]))))
            if pair[0] != pair[1] and (pair not in best or graph.w[e] < graph.w[best[pair]]):
                best[pair] = e
        assert list(zip(simple.u.tolist(), simple.v.tolist())) == sorted(best), graph.name
        assert simple.ids.tolist() == [best[pair] for pair in sorted(best)], graph.name
        assert np.array_equal(simple.w, graph.w[simple.ids])
        assert np.array_equal(simple.edge_ids(simple.v, simple.u), simple.ids)
        if graph.n:
            assert simple.edge_ids([0], [0]).tolist() == [-1]


@pytest.mark.parametrize("positive", (False, True))
@pytest.mark.parametrize("dtype", adversarial.DTYPES, ids=str)
def test_double_weights_keep_order_and_ties(dtype, positive, rng):
    pools = [adversarial.extremes(dtype), np.arange(1, 9).astype(dtype), np.empty(0, dtype)]
    if dtype == np.int64:
        pools.append(2**53 + np.arange(5))
    for pool in pools:
        weights = rng.choice(pool, 60) if len(pool) else pool
        doubles = double_weights(weights, positive=positive)
        assert doubles.dtype == np.float64
        a, b = np.meshgrid(weights, weights)
        x, y = np.meshgrid(doubles, doubles)
        assert np.array_equal(a < b, x < y) and np.array_equal(a == b, x == y)
        if positive and len(pool):
            assert doubles.min() > 0 and doubles.max() < np.finfo(np.float64).max


def test_double_weights_keep_exact_values():
    assert double_weights(np.array([3, 2**53])).tolist() == [3.0, 2.0**53]
    assert double_weights(np.array([0.5, -1.5])).tolist() == [0.5, -1.5]


@pytest.mark.parametrize("name", PEERS)
def test_prepare_leaves_only_the_peers_own_call_to_solve(name):
    """Solving the same problem again and again gives forests of one weight, and the graph stays as it was."""
    algorithm = PEERS[name]
    if reason := algorithm.missing():
        pytest.skip(reason)
    implementation = implementation_of(algorithm)
    before = GRAPH.u.copy(), GRAPH.v.copy(), GRAPH.w.copy()
    problem = implementation.ready(GRAPH, options=algorithm.resolve()).problem
    for _ in range(3):
        ids = implementation.collect(problem, implementation.solve(problem))
        assert total(GRAPH.w[np.sort(ids)]) == 11 and len(ids) == 2
    assert all(map(np.array_equal, before, (GRAPH.u, GRAPH.v, GRAPH.w)))
