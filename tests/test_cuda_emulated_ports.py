"""Kernels of the published GPU programs emulated on the host: every option, ties, loops, forests, interleavings."""

from __future__ import annotations

import sys
from itertools import pairwise

import claim_names
import emulated
import emulated_ports
import numpy as np
import oracles
import pytest

from mst import Graph, registry
from mst.algorithms.cuda import ecl_mst
from mst.errors import UnsupportedError
from mst.facts import Facts

# Option sets that between them meet every option's every value; with the default, each has few compiled variants.
VARIANTS = {
    "edge-boruvka-cuda": [
        {},
        {"worklist": False, "compression": True},
        {"minimum": "vertex"},
        {"minimum": "vertex", "worklist": False, "compression": True},
    ],
    "flat-boruvka-cuda": [
        {"order": "shuffled"},
        {"union_find": "wait-free", "edges": "both", "blocks": 2},
        {"flatten": "merged", "check": "flag", "blocks": 1},
        {"flatten": "merged", "edges": "both", "walk": "contiguous"},
    ],
    "contract-boruvka-cuda": [
        {},
        {"work": "edge", "scan": "host"},
        {"minimum": "segmented", "work": "edge"},
        {"minimum": "segmented", "scan": "host"},
    ],
    "jucele-cuda": [
        {},
        {"components": "jumping"},
        {"allocate": "once"},
        {"allocate": "once", "components": "jumping"},
    ],
    "gunrock-cuda": [{}, {"allocate": "once"}],
}
CONNECTED = ("jucele-cuda", "gunrock-cuda")
RUNS = [
    pytest.param(name, options, id=f"{name}-{registry.get(name).options_slug(options)}")
    for name, variants in VARIANTS.items()
    for options in variants
]


def drawn(name: str, seed: int):
    rng = np.random.default_rng(seed)
    for weights in (
        rng.integers(0, 2**24, 700).astype(np.int32),
        rng.integers(-1, 2, 700),
        rng.integers(0, 9, 700) + 1 / 3,
        rng.choice([-np.inf, np.inf, -0.0, 0.0, 1.0], 700).astype(np.float32),
        rng.integers(-(2**62), 2**62, 700),
    ):
        n = int(rng.integers(20, 260))
        u, v = rng.integers(0, n, (2, 700))
        if rng.random() < 0.5:
            u = np.where(rng.random(700) < 0.6, 0, u)
        if name in CONNECTED:
            u[: n - 1], v[: n - 1] = np.arange(n - 1), np.arange(1, n)
        yield Graph(n, u, v, weights)


@pytest.mark.slow
@pytest.mark.parametrize("name,options", RUNS)
def test_ports_find_the_forest_of_kruskal(emulator_folder, name, options):
    special = [g for g in emulated.SPECIAL.values() if name not in CONNECTED or oracles.components(g) == 1]
    graphs = [*special, *drawn(name, len(str(options)))]
    for seed, graph in enumerate(graphs):
        found, counters = emulated_ports.solve(emulator_folder, name, graph, seed + 1, **options)
        assert found.tolist() == oracles.by_python_kruskal(graph), (seed, graph, counters)


@pytest.mark.parametrize("name", CONNECTED)
def test_unconnected_graph_is_refused(emulator_folder, name):
    pairs, isolated = Graph(4, [0, 2], [1, 3], [1, 2]), Graph(5, [0, 1, 2], [1, 2, 3], [1, 3, 1])
    facts = Facts(n=4, m=2, components=2)
    assert "connected graphs only, and this one has 2 components" in registry.get(name).skip(facts)
    assert registry.get(name).skip(Facts(n=4, m=3, components=1)) is None
    for graph in (pairs, isolated):
        with pytest.raises(UnsupportedError, match=f"{name} does not take this graph: it is not connected"):
            emulated_ports.solve(emulator_folder, name, graph)


@pytest.mark.slow
def test_counters_agree_with_the_papers_counts(emulator_folder):
    rng = np.random.default_rng(4)
    graph = Graph(200, *rng.integers(0, 200, (2, 700)), rng.integers(0, 2**24, 700).astype(np.int32))
    _, final = emulated_ports.solve(emulator_folder, "edge-boruvka-cuda", graph)
    _, first = emulated_ports.solve(
        emulator_folder, "edge-boruvka-cuda", graph, worklist=False, compression=True
    )
    assert (final["launches"], first["launches"]) == (3 * final["rounds"], 4 * first["rounds"])
    assert first["lengths"][0] == 700 and first["rounds"] == final["rounds"] <= 8
    assert all(b < a for a, b in pairwise(first["lengths"]))
    _, contracted = emulated_ports.solve(emulator_folder, "contract-boruvka-cuda", graph)
    vertices = contracted["vertices"]
    assert vertices[0] == 200 and all(2 * b <= a + 20 for a, b in pairwise(vertices)), "isolated ones stay"
    assert contracted["slots"][0] <= 1400 and contracted["colourings"] >= contracted["rounds"]
    shares = contracted["theoretical_occupancy_find_candidates"]
    assert shares[0] == 0.75 and shares[-1] == vertices[-1] / emulated_ports.THREADS
    _, flat = emulated_ports.solve(emulator_folder, "flat-boruvka-cuda", graph, order="shuffled")
    assert flat["depth_after_flatten"] == 1 and flat["bytes_per_edge"] == 12


@pytest.mark.parametrize("name,options", RUNS)
def test_every_phase_has_a_launch(emulator_folder, monkeypatch, name, options):
    """Events a second apart: each kernel's launches are a second each, and none is left to ``other`` unnamed."""
    monkeypatch.setitem(sys.modules, "cupy", emulated.FakeCupy())
    i = np.arange(60)
    graph = Graph(61, i, i + 1, (i * 7919) % 61)
    module = emulated_ports.module_of(name)
    problem = module.prepare(graph, width=1, **registry.get(name).resolve(options))
    problem.device = emulated_ports.Device(emulator_folder, module, problem, 1)
    phases = module.phases(problem)
    assert all(seconds > 0 for phase, seconds in phases.items() if phase != "other"), phases
    assert np.flatnonzero(module.solve(problem).chosen).tolist() == list(range(60))


@pytest.mark.slow
def test_counters_and_phases_have_every_name_in_formulas(emulator_folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", emulated.FakeCupy())
    rng = np.random.default_rng(6)
    graph = Graph(200, *rng.integers(0, 200, (2, 900)), rng.integers(0, 99, 900).astype(np.int32))

    def counted_and_timed(selection):
        options = registry.get(selection.algorithm).resolve(dict(selection.options))
        module = emulated_ports.module_of(selection.algorithm)
        problem = module.prepare(graph, width=1, **options)
        if module is ecl_mst:
            problem.device = emulated.EclDevice(emulator_folder, problem, 1)
        else:
            problem.device = emulated_ports.Device(emulator_folder, module, problem, 1)
        return module.counters(problem, module.solve(problem)), module.phases(problem)

    assert not claim_names.lacking("cuda", counted_and_timed)


def test_edges_of_flat_boruvka_are_packed_and_ordered_by_the_options():
    module = emulated_ports.module_of("flat-boruvka-cuda")
    graph = Graph(5, [3, 0, 2], [1, 4, 2], np.array([7, 5, 6], np.int32))

    def prepared(**options):
        return module.prepare(graph, width=1, **registry.get("flat-boruvka-cuda").resolve(options)).inputs

    ordered = prepared()
    assert ordered["edges"].nbytes == 3 * 12
    assert ordered["edges"].reshape(3, 3)[:, 0].tolist() == [0, 2, 3] and ordered["ids"].tolist() == [1, 2, 0]
    both = prepared(edges="both")
    assert both["edges"].reshape(6, 3)[:, 0].tolist() == [0, 1, 2, 2, 3, 4]
    assert sorted(both["ids"].tolist()) == [0, 0, 1, 1, 2, 2]
    assert sorted(prepared(order="shuffled")["ids"].tolist()) == [0, 1, 2]
