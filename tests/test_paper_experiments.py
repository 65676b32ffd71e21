"""``config/papers``: every experiment loads at both scales, says what it leaves out, and runs what the claims need."""

from __future__ import annotations

import re

import pytest

from mst import catalog, config, registry
from mst.bench.experiment import Experiment
from mst.bench.machine import Machine
from mst.bench.plan import GraphState, plan
from mst.bench.site import Place
from mst.errors import ConfigError
from mst.registry import Facts
from mst.reporting import claims
from mst.reporting.formula import check, parse_selection
from mst.reporting.observations import options_text
from mst.typed import parse

LAPTOP = Machine("Laptop", 1, 4, 8, 16)
SERVER = Machine("Server", 2, 128, 256, 512, ("NVIDIA H200",), "570")
PAPERS = ("biagiotti", "bhargava-zaia", "durbhakula", "ecl-mst", "shou-he")


def experiments(scale):
    settings = config.load().model_copy(update={"scale": scale})
    return config.papers(settings)


def planned(experiment, machine, tmp_path):
    facts = Facts(1000, 5000, components=1)
    graphs = {name: GraphState(name, "ok", facts, "digest") for name in experiment.graphs}
    return plan([experiment], graphs, place=Place("m", machine), records=tmp_path)


@pytest.mark.parametrize("scale", ["small", "full"])
def test_every_paper_has_an_experiment(scale):
    found = experiments(scale)
    assert set(found) == set(PAPERS) == set(claims.document().papers)
    known = catalog.load()
    for name, experiment in found.items():
        assert experiment.paper == name and experiment.statistic
        assert all(graph in known for graph in (*experiment.graphs, *experiment.left_out)), name
        assert registry.get(experiment.baseline).paradigm == "sequential"


def test_small_leaves_out_and_says_so(tmp_path):
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
def test_all_of_it_can_be_planned_on_a_server(name, tmp_path):
    rows = planned(experiments("full")[name], SERVER, tmp_path)
    assert len({(r.graph, r.algorithm, r.options, r.width) for r in rows}) == len(rows)
    assert all(row.status == "planned" or row.reason for row in rows)


def test_widths_go_to_128_where_the_machine_has_them(tmp_path):
    rows = planned(experiments("full")["shou-he"], SERVER, tmp_path)
    for paradigm in {row.paradigm for row in rows} & {"threads", "mpi"}:
        assert {1, 2, 4, 8, 16, 32, 64, 128} <= {row.width for row in rows if row.paradigm == paradigm}
    small = planned(experiments("full")["shou-he"], LAPTOP, tmp_path)
    for row in small:
        if row.paradigm in ("threads", "mpi") and row.width > 4:
            assert row.status == "unsupported" and row.reason


def test_names_are_known_or_are_programs_of_the_claims():
    announced = {parse_selection(o).algorithm for o in claims.document().originals.values()}
    for experiment in experiments("full").values():
        for block in experiment.runs:
            assert not set(block.absent) - announced, block.absent
            for name in block.algorithms:
                if name in registry.algorithms():
                    registry.get(name).resolve(
                        {k: v[0] if isinstance(v, list) else v for k, v in block.options.items()}
                    )


def test_what_the_claims_need_is_run():
    """Every selection of a formula is asked for by some experiment, so that it can be measured."""
    book = claims.document()
    names = book.names()
    needed = set()
    for made in book.claims.values():
        for claim in made:
            needed |= check(claim.quantity, names)
    for members in book.sets.values():
        words = (m for m in members if isinstance(m, str) and m not in names.graphs)
        needed |= {w.partition("@")[0] for w in words if parse_selection(w).algorithm in names.algorithms}
    asked = set()
    for experiment in experiments("full").values():
        for block in experiment.runs:
            for name in block.algorithms:
                asked |= set(_slugs(name, block.options))
    missing = set()
    for text in needed:
        left_open = re.search(r"(\w+)=\{\}", text)
        algorithm = text.partition("[")[0]
        slugs = {slug for name, slug in asked if name == algorithm}
        if left_open:
            found = any(f"{left_open[1]}=" in slug for slug in slugs)
        else:
            found = options_text(parse_selection(text)) in slugs
        missing |= set() if found else {text}
    assert not missing


def _slugs(name, options):
    import itertools

    swept = {k: v if isinstance(v, list) else [v] for k, v in options.items()}
    for values in itertools.product(*swept.values()):
        chosen = dict(zip(swept, values, strict=True))
        pairs = ",".join(f"{k}={str(v).lower() if isinstance(v, bool) else v}" for k, v in chosen.items())
        yield name, options_text(parse_selection(f"{name}[{pairs}]" if pairs else name))


def test_unknown_algorithms_are_refused_unless_optional(tmp_path):
    value = {"title": "t", "graphs": ["rmat-14"], "runs": [{"algorithms": ["command-nowhere"]}]}
    with pytest.raises(ConfigError, match="command-nowhere"):
        parse(Experiment, value, "test")
    value["runs"][0]["optional"] = True
    (row,) = planned(parse(Experiment, value, "test"), LAPTOP, tmp_path)
    assert row.status == "unsupported" and "describe nowhere under programs:" in row.reason
