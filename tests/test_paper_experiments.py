"""``config/papers``: every experiment loads at both scales, lists omitted graphs, and covers the claims."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from copy import copy
from pathlib import Path

import claim_names
import numpy as np
import pytest

from mst import Graph, catalog, config, programs, registry
from mst.bench.machine import Hardware
from mst.bench.planning.experiment import Experiment, widths_of
from mst.bench.planning.plan import GraphState, plan
from mst.bench.planning.site import Machine
from mst.errors import ConfigError
from mst.execute import execute
from mst.facts import Facts
from mst.reporting.papers import claims
from mst.reporting.papers.formula import Leaf, Missing, Names, evaluate, parse_selection
from mst.reporting.papers.observations import options_text, program_of
from mst.scopes import Scopes
from mst.yaml_models import parse

LAPTOP = Hardware("Laptop", 1, 4, 8, 16)
SERVER = Hardware("Server", 2, 128, 256, 512, ("NVIDIA H200",), "570")
SMT = Hardware("Two threads a core", 2, 32, 64, 128, ("NVIDIA GeForce RTX 3080 Ti",), "525")
SIX_CORES = Hardware("Six cores", 1, 6, 12, 31)
NODE = Hardware("Node", 1, 16, 16, 126, ("NVIDIA H200",), "580")
PAPERS = ("biagiotti", "bhargava-zaia", "durbhakula", "ecl-mst", "shou-he")


def experiments(scale):
    settings = config.load().model_copy(update={"scale": scale})
    return config.papers(settings)


def planned(experiment, machine, tmp_path):
    facts = Facts(1000, 5000, components=1)
    graphs = {name: GraphState(name, "ok", facts, "digest") for name in experiment.graphs}
    return plan(experiment, graphs, machines=[Machine("m", machine)], records=tmp_path)


@pytest.mark.parametrize("scale", ["small", "full"])
def test_every_paper_has_an_experiment(scale):
    found = experiments(scale)
    assert set(found) == set(PAPERS) == set(claims.document().papers)
    known = catalog.load()
    for name, experiment in found.items():
        assert experiment.paper == name
        assert all(graph in known for graph in (*experiment.graphs, *experiment.left_out)), name
        assert registry.get(experiment.baseline).paradigm == "sequential"


def test_small_scale_lists_left_out_graphs_with_the_reason(tmp_path):
    small, full = experiments("small"), experiments("full")
    for name in PAPERS:
        assert set(small[name].graphs) | set(small[name].left_out) == set(full[name].graphs)
        assert small[name].within is not None and small[name].within <= 300 and not full[name].left_out
        rows = planned(small[name], LAPTOP, tmp_path)
        assert {row.graph for row in rows} == set(full[name].graphs)
        for row in rows:
            assert row.status in ("planned", "unsupported") and (row.reason or row.status == "planned")
            assert row.graph not in small[name].left_out or "scale: full" in row.reason


@pytest.mark.parametrize("name", PAPERS)
def test_every_run_can_be_planned_on_a_server(name, tmp_path):
    rows = planned(experiments("full")[name], SERVER, tmp_path)
    assert len({(r.graph, r.algorithm, r.options, r.width) for r in rows}) == len(rows)
    assert all(row.status == "planned" or row.reason for row in rows)


def test_widths_go_up_to_128_on_a_machine_with_128_cores(tmp_path):
    rows = planned(experiments("full")["shou-he"], SERVER, tmp_path)
    for paradigm in {row.paradigm for row in rows} & {"threads", "mpi"}:
        assert {1, 2, 4, 8, 16, 32, 64, 128} <= {row.width for row in rows if row.paradigm == paradigm}
    small = planned(experiments("full")["shou-he"], LAPTOP, tmp_path)
    for row in small:
        if row.paradigm in ("threads", "mpi") and row.width > 4:
            assert row.status == "unsupported" and row.reason


def test_unknown_names_are_programs_of_the_claims():
    announced = {parse_selection(o).algorithm for o in claims.document().originals.values()}
    for experiment in experiments("full").values():
        for block in experiment.runs:
            assert not set(block.absent) - announced, block.absent


def options_of(block):
    """Return the options of a block's runs, as the records of a program have them."""
    swept = [
        [f"{k}={str(v).lower()}" for v in (given if isinstance(given, list) else [given])]
        for k, given in block.options.items()
    ]
    return [",".join(sorted(chosen)) or "default" for chosen in itertools.product(*swept)]


class PlannedRuns(claim_names.Everything):
    """A source with the runs of the papers' experiments on a machine at full scale; every value is 1."""

    def __init__(self, machine, originals):
        self.machine, self.programs, self._originals = machine, {}, originals
        self.widths_of = defaultdict(set)
        for experiment in experiments("full").values():
            for row in planned(experiment, machine, Path("nowhere")):
                if row.status == "planned":
                    self.widths_of[row.graph, row.algorithm, row.options].add(row.width)
            for block in experiment.runs:
                # Programs that are not configured here: they would be measured like any other.
                for name, graph in itertools.product(block.absent, block.graphs or experiment.graphs):
                    widths = widths_of(block, "threads" if block.widths != "powers" else "peer", machine.cores)
                    most = machine.hardware_threads if block.hyperthreads else machine.cores
                    for options in options_of(block):
                        self.widths_of[graph, name, options].update(w for w in widths if w <= most)

    def of_programs(self, originals):
        source = copy(self)
        source.programs = originals
        return source

    def leaf(self, quantity, selection, graph, name=""):
        widths = self.widths(selection, graph)
        if selection.width not in (0, *widths) and quantity != "wrong":
            raise Missing(f"{selection} on {graph}: width {selection.width} is not planned")
        return Leaf(1.0)

    def widths(self, selection, graph):
        chosen = program_of(selection, self.programs) if self.programs else selection
        found = self.widths_of.get((graph, chosen.algorithm, options_text(chosen)))
        if not found:
            raise Missing(f"{chosen} on {graph}: not planned")
        return tuple(sorted(found))

    def fact(self, name, graph):
        return 1000.0

    def has(self, graph):
        """Return whether a graph is available: published files of generators only if `originals`."""
        return self._originals or not graph.endswith((".egr", ".mtx"))

    def measured(self, graph):
        return any(key[0] == graph for key in self.widths_of)


@pytest.mark.parametrize("originals", [True, False])
@pytest.mark.parametrize(
    "machine",
    [SERVER, *(pytest.param(machine, marks=pytest.mark.slow) for machine in (SMT, SIX_CORES, NODE))],
    ids=lambda machine: machine.cpu,
)
def test_experiments_run_everything_that_claims_need(machine, originals, monkeypatch):
    """Every graph, option and width of a formula is planned, on machines that meet the claim's needs."""
    monkeypatch.setattr(registry.Algorithm, "missing", lambda self: "")
    monkeypatch.setattr("mst.bench.planning.plan.find_launcher", lambda: "mpiexec")
    book = claims.document()
    names, source = Names(book.names().sets), PlannedRuns(machine, originals)
    lacking = []
    for paper, made in book.claims.items():
        for claim in made:
            if claim.needs.lacking(machine.as_dict()):
                continue
            sources = [source]
            if (claim.judge or book.papers[paper].judge) == "original":
                sources.append(source.of_programs(book.originals))
            for criterion, runs in itertools.product((claim.there, claim.elsewhere, claim.anywhere), sources):
                if criterion:
                    lacking += [
                        f"{claim.id}: {m}"
                        for m in missing_in(criterion.quantity or claim.quantity, runs, names)
                    ]
    # 128 threads: a part of these contradicts sh-34.
    inherent = re.compile(r"sh-34: edge-boruvka@\d+ on .* width \d+ is")
    lacking = [line for line in lacking if not inherent.search(line)]
    assert not lacking, lacking[:5]


def missing_in(formula, source, names, **more):
    try:
        return evaluate(formula, source, names, **more).missing
    except Missing as reason:
        return [str(reason)] if "zero or undefined" not in str(reason) else []


@pytest.mark.slow
def test_records_have_the_quantities_that_formulas_name(rng):
    graph = Graph(200, *rng.integers(0, 200, (2, 900)), rng.integers(0, 99, 900).astype(np.int32))

    def measured_names(selection):
        found = execute(registry.get(selection.algorithm), graph, options=dict(selection.options))
        phases = found.implementation.phases
        return found.counters(), phases(found.problem) if phases else ()

    lacking = [claim_names.lacking(paradigm, measured_names) for paradigm in ("sequential", "threads")]
    assert not any(lacking), lacking


def test_unknown_algorithms_are_refused_unless_optional(tmp_path):
    value = {"title": "t", "graphs": ["rmat-14"], "runs": [{"algorithms": ["command-nowhere"]}]}
    with pytest.raises(ConfigError, match="command-nowhere"):
        parse(Experiment, value, "test")
    value["runs"][0]["optional"] = True
    (row,) = planned(parse(Experiment, value, "test"), LAPTOP, tmp_path)
    assert row.status == "unsupported" and "describe nowhere under programs:" in row.reason


@pytest.mark.slow
def test_program_without_an_option_of_an_optional_block_is_not_run_there(tmp_path, monkeypatch):
    described = {"command": "true {graph}", "format": "ecl", "total": r"(\d+)"}
    runs = [{"algorithms": ["command-mine"], "options": {"rung": [1, 2]}, "optional": True}]
    value = {"title": "t", "graphs": ["rmat-14"], "runs": runs}
    monkeypatch.setenv(programs.ENVIRONMENT, "")
    try:
        registry.use_programs({"mine": described})
        (row,) = planned(parse(Experiment, value, "test"), LAPTOP, tmp_path)
        assert row.status == "unsupported"
        assert row.reason == "command-mine is configured without the option rung"
        registry.use_programs({"mine": {**described, "options": {"rung": {"default": 0}}}})
        rows = planned(parse(Experiment, value, "test"), LAPTOP, tmp_path)
        assert [(row.status, row.options) for row in rows] == [("planned", "rung=1"), ("planned", "rung=2")]
    finally:
        registry.use_programs(None)


def test_left_out_block_plans_unsupported_runs_with_its_reason(tmp_path):
    blocks = [
        {"algorithms": ["kruskal"], "without_graphs": ["rmat-17"], "left_out": "too slow there"},
        {"algorithms": ["kruskal", "boruvka"]},
    ]
    value = {"title": "t", "graphs": ["rmat-14", "rmat-17"], "runs": blocks}
    rows = planned(parse(Experiment, value, "test"), LAPTOP, tmp_path)
    assert {(row.graph, row.algorithm): row.reason for row in rows if row.run is None} == {
        ("rmat-14", "kruskal"): "too slow there"
    }
    assert len(rows) == 4


REFERENCE = sorted((Path(__file__).parent.parent / "config" / "reference").glob("*.yaml"))


@pytest.mark.parametrize("file", REFERENCE, ids=lambda file: file.stem)
def test_reference_measurements_belong_to_papers_except_ours_and_scaling(file):
    experiment = config.load(file).experiment
    assert experiment.paper in PAPERS or (experiment.paper is None and file.stem in ("ours", "scaling"))
    required = {name for run in experiment.runs for name in run.algorithms if not run.optional}
    announced = {parse_selection(o).algorithm for o in claims.document().originals.values()}
    assert all(set(run.absent) <= announced for run in experiment.runs if run.optional)
    assert required <= set(registry.algorithms()) and set(experiment.graphs) <= set(catalog.load())


def test_graph_that_no_block_names_gets_the_runs_of_all_blocks():
    settings = config.load()
    named = {graph for block in settings.experiment.runs for graph in block.graphs or ()}
    assert "rmat16.sym" not in named and "email-Enron" in named
    for graph, everything in (("rmat16.sym", True), ("email-Enron", False)):
        runs = [
            block
            for block in Scopes(settings, {}, catalog.load(), []).experiment(f"graphs/{graph}").runs
            if block.covers(graph) and not block.left_out
        ]
        assert any("kruskal" in block.algorithms for block in runs)
        assert any(block.algorithms == "all" for block in runs) is everything
