"""Synthetic records, proofs and manifests for tests of the statistics and of the report.

Nothing here was measured: times come from a made-up cost model and a seeded noise model. The numbers must never
be shown as results; every machine's name starts with ``fake-``.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mst.bench.machine import Hardware
from mst.bench.records.schema import MEASUREMENT_VERSION, PROOF_VERSION
from mst.bench.records.store import Run, proof_path, write_json

DESKTOP = Hardware("Intel(R) Core(TM) i9-0000K CPU @ 3.60GHz", 1, 8, 16, 32)
GPU_BOX = Hardware("AMD EPYC 0000 64-Core Processor", 2, 128, 256, 512, ("NVIDIA H000 80GB HBM3",), "999.99.01")
CLUSTER = Hardware("Intel(R) Xeon(R) Platinum 0000 CPU @ 2.00GHz", 2, 48, 96, 192)
MACHINES = {"fake-desktop": DESKTOP, "fake-gpu-box": GPU_BOX, "fake-cluster": CLUSTER}


@dataclass(frozen=True)
class FakeGraph:
    """A catalogue entry of the synthetic experiment."""

    name: str
    title: str
    family: str
    n: int
    m: int
    components: int
    max_degree: int
    source: str
    weight_dtype: str = "int32"


GRAPHS = (
    FakeGraph("USA-road-d.NY", "New York roads", "road", 264_346, 365_050, 1, 8, "DIMACS challenge 9"),
    FakeGraph("com-youtube", "YouTube friendships", "social", 1_134_890, 2_987_624, 1, 28_754, "SNAP"),
    FakeGraph("as-skitter", "Internet topology", "internet", 1_696_415, 11_095_298, 756, 35_455, "SNAP"),
    FakeGraph("grid-1024", "Square grid", "grid", 1_048_576, 2_095_104, 1, 4, "generator grid, seed 1"),
    *(
        FakeGraph(
            f"uniform-2e{k}", f"Uniform random, 2^{k} vertices", "uniform", 2**k, 8 * 2**k, 1, 30,
            f"generator uniform, seed {k}", "float64",
        )
        for k in (14, 16, 18, 20)
    ),
)  # fmt: skip


@dataclass(frozen=True)
class FakeAlgorithm:
    """Seconds per edge at one thread, and how well it scales (1 is perfectly)."""

    id: str
    title: str
    paradigm: str
    cost: float
    scaling: float = 0.0
    growth: float = 1.05
    bytes_per_edge: float = 24.0


ALGORITHMS = (
    FakeAlgorithm("kruskal", "Kruskal", "sequential", 55e-9),
    FakeAlgorithm("qkruskal", "Quick Kruskal", "sequential", 38e-9),
    FakeAlgorithm("filter-kruskal", "Filter-Kruskal", "sequential", 30e-9),
    FakeAlgorithm("prim-heap", "Prim with a binary heap", "sequential", 140e-9, growth=1.12, bytes_per_edge=40),
    FakeAlgorithm("boruvka", "Borůvka", "sequential", 90e-9, bytes_per_edge=32),
    FakeAlgorithm("filter-boruvka", "Filter-Borůvka", "sequential", 22e-9),
    FakeAlgorithm("cas-boruvka", "Borůvka with compare-and-swap unions", "threads", 95e-9, 0.8),
    FakeAlgorithm("parlay-boruvka", "Borůvka after Bhargava and Zaia", "threads", 80e-9, 0.88),
    FakeAlgorithm("filter-boruvka-threads", "Filter-Borůvka, threads", "threads", 25e-9, 0.85),
    FakeAlgorithm("scipy", "SciPy", "peer", 260e-9, bytes_per_edge=60),
    FakeAlgorithm("igraph", "igraph", "peer", 330e-9, bytes_per_edge=80),
    FakeAlgorithm("networkx", "NetworkX", "peer", 9e-6, bytes_per_edge=900),
    FakeAlgorithm("ecl-mst-cuda", "ECL-MST", "cuda", 0.4e-9, growth=0.96),
    FakeAlgorithm("filter-boruvka-cuda", "Filter-Borůvka, CUDA", "cuda", 0.3e-9, growth=0.95),
    FakeAlgorithm("ghs-mpi", "Gallager–Humblet–Spira", "mpi", 900e-9, 0.6),
    FakeAlgorithm("filter-boruvka-mpi", "Filter-Borůvka, MPI", "mpi", 40e-9, 0.8),
)  # fmt: skip

WIDTHS = {
    ("fake-desktop", "threads"): (1, 2, 4, 8),
    ("fake-gpu-box", "threads"): (1, 16, 128),
    ("fake-gpu-box", "cuda"): (1,),
    ("fake-cluster", "mpi"): (1, 16, 64, 256),
}
_DESKTOP_ONLY = ("sequential", "peer")
COMMIT, OLD_COMMIT = "0123456789abcdef0123456789abcdef01234567", "fedcba9876543210fedcba9876543210fedcba98"


def process_samples(
    rng: np.random.Generator,
    seconds: float,
    *,
    processes: int = 5,
    noise: float = 0.01,
) -> list[list[float]]:
    """Return seven samples per process: log-normal noise between and inside processes."""
    between = rng.normal(0, noise, processes)
    inside = np.abs(rng.normal(0, noise, (processes, 7)))
    return np.round(seconds * np.exp(between[:, None] + inside), 9).tolist()


def measurement(
    machine: str,
    graph: FakeGraph,
    algorithm: FakeAlgorithm,
    width: int,
    *,
    facts: Hardware | None = None,
    options: str = "default",
    layout: str = "",
    commit: str = COMMIT,
    created: str = "2026-11-20T10:00:00+00:00",
    samples: list[list[float]] | None = None,
    status: str = "ok",
    reason: str | None = None,
    flags: tuple[str, ...] = (),
    energy: float | None = None,
) -> tuple[Run, dict[str, Any]]:
    """Return a run and its measurement; the fingerprint depends on algorithm, graph and commit."""
    facts = facts or MACHINES[machine]
    text = f"{algorithm.id}\0{graph.name}\0{commit}"
    run = Run(machine, graph.name, algorithm.id, options, width, _hex(text, 12), layout)
    done = status == "ok"
    working = int(algorithm.bytes_per_edge * graph.m) + 1_000_000
    value = {
        "schema": MEASUREMENT_VERSION,
        "created": created,
        "run": {
            "machine": machine, "graph": graph.name, "algorithm": algorithm.id, "title": algorithm.title,
            "paradigm": algorithm.paradigm, "paper": None, "options": options, "all_options": {}, "width": width,
            "layout": layout, "fingerprint": run.fingerprint, "source_fingerprint": _hex(algorithm.id + commit, 12),
            "exact": True, "ties": "any" if algorithm.paradigm == "peer" else "order",
        },
        "graph": {
            "name": graph.name, "family": graph.family, "n": graph.n, "m": graph.m,
            "digest": _hex(graph.name, 64), "recipe": _hex(graph.name + "recipe", 8),
            "weight_dtype": graph.weight_dtype,
        },
        "status": status,
        "reason": reason,
        "detail": None,
        "samples": {
            "compute": (samples or []) if done else [],
            "warmup": [],
            "init": [[round(graph.m * 6e-9, 6)]] * 5 if done else [],
            "transfer": [[round(graph.m * 0.5e-9, 6)]] * 5 if done and algorithm.paradigm == "cuda" else [],
            "call": [[round(1.2 * sample, 6) for sample in process] for process in samples] if done else [],
        },
        "phases": [],
        "counters": [],
        "memory": {
            "peak_bytes": working + 90_000_000 if done else None, "working_bytes": working if done else None,
            "working_by_process": [working] * len(samples or []) if done else [],
            "tree_bytes": working, "device_bytes": 20 * graph.m if done and algorithm.paradigm == "cuda" else None,
            "ranks_peak_bytes": None,
        },
        "energy": {"joules": energy, "domains": {"package-0": energy}} if energy is not None else None,
        "forest": {
            "edges": graph.n - graph.components, "components": graph.components, "weight": str(1000 + graph.m),
            "digest": _hex(graph.name + (algorithm.id if algorithm.paradigm == "peer" else "forest"), 64),
        } if done else None,
        "threads": 1,
        "ranks": None,
        "threading": None,
        "conditions": {"load": 0.2, "kernel": "6.1.0-fake", "governor": "performance", "flags": list(flags)},
        "machine": facts.as_dict(),
        "versions": {"python": "3.11.7", "numpy": "2.4.6", "numba": "0.68.1", "mst": "0.1.0"},
        "git": {"commit": commit, "dirty": False},
        "measure": {"processes": 5, "samples": 7},
        "seconds": 1.0,
        "spans": [],
        "started": created,
    }  # fmt: skip
    return run, value


def write_record(
    folder: Path, run: Run, value: dict[str, Any], *, grade: str | None = "identical", wrong: str | None = None
) -> Path:
    """Write a measurement and its proof below `folder`; no proof where grade and wrong are None."""
    path = Path(folder) / run.path
    write_json(path, value)
    if wrong is not None or (grade is not None and value["status"] == "ok"):
        write_json(proof_path(path), proof(run, value, grade, wrong))
    return path


def proof(run: Run, value: dict[str, Any], grade: str | None, wrong: str | None) -> dict[str, Any]:
    """Return the proof of a measurement."""
    verdict = {"status": "wrong" if wrong else "ok", "grade": None if wrong else grade, "reason": wrong}
    reference = _hex(value["graph"]["name"] + "forest", 64)
    if grade == "identical" and value["forest"]:
        reference = value["forest"]["digest"]
    return {
        "schema": PROOF_VERSION,
        "record": run.fingerprint,
        **verdict,
        "reference_digest": reference,
        "seconds": 0.1,
    }


def write_experiment(root: Path, *, graphs: tuple[FakeGraph, ...] = GRAPHS) -> dict[str, Any]:
    """Write a whole synthetic experiment below `root`.

    Returns
    -------
    dict
        ``records`` (folder), ``manifests`` (list of files), ``plan`` (rows of runs that were not possible) and
        ``config`` (summary).
    """
    records = root / "records"
    for graph in graphs:
        for algorithm in ALGORITHMS:
            for machine, width in _where(algorithm):
                _write_run(records, machine, graph, algorithm, width)
    _write_old_version(records, graphs[0])
    config = {"processes": 5, "samples": 7, "time limit (s)": 60, "memory limit (GiB)": 24, "seed": 1}
    return {
        "records": records,
        "manifests": _write_manifests(root / "graphs", graphs),
        "plan": _plan(graphs),
        "config": config,
    }


def _where(algorithm: FakeAlgorithm) -> list[tuple[str, int]]:
    if algorithm.paradigm in _DESKTOP_ONLY:
        both = algorithm.id in ("kruskal", "scipy")
        return [("fake-desktop", 1), ("fake-gpu-box", 1)] if both else [("fake-desktop", 1)]
    return [
        (machine, width)
        for (machine, paradigm), widths in WIDTHS.items()
        if paradigm == algorithm.paradigm
        for width in widths
    ]


def _seconds(graph: FakeGraph, algorithm: FakeAlgorithm, width: int) -> float:
    serial = algorithm.cost * graph.m**algorithm.growth * 0.5 + 2e-5
    shape = {"road": 0.8, "grid": 0.7, "social": 1.2, "internet": 1.4}.get(graph.family, 1.0)
    return shape * serial / width**algorithm.scaling if width > 1 else shape * serial


def _write_run(records: Path, machine: str, graph: FakeGraph, algorithm: FakeAlgorithm, width: int) -> None:
    rng = np.random.default_rng(list(f"{machine}{graph.name}{algorithm.id}{width}".encode()))
    key = (algorithm.id, graph.name)
    common: dict[str, Any] = {}
    seconds = _seconds(graph, algorithm, width)
    grade, wrong, flags = "identical", None, ()
    if algorithm.paradigm == "peer":
        grade = "edges"
    if key == ("ghs-mpi", "com-youtube") and width == 16:
        wrong = "edge 17 (3–9, weight 4) is not in the forest: 12 ids differ from the reference"
    if key == ("networkx", "as-skitter"):
        common = dict(status="timeout", reason="stopped after 60 s in compute (limit 60 s)")
    if key == ("prim-heap", "as-skitter"):
        common = dict(status="out-of-memory", reason="needed 25.1 GiB, 24.0 GiB allowed")
    if key == ("igraph", "uniform-2e20"):
        common = dict(status="error", reason="exit code 139 (segmentation fault) in process 2 of 5")
    if key == ("boruvka", "com-youtube"):
        flags = ("load",)
    if key == ("cas-boruvka", "grid-1024") and width == 8:
        flags = ("spread", "throttled")
    if machine == "fake-gpu-box" and width == 128 and graph.name == "USA-road-d.NY":
        flags = ("width-not-granted",)
    energy = 65.0 * seconds if machine == "fake-desktop" else None
    layout = f"{max(1, width // 16)}x{min(width, 16)}" if algorithm.paradigm == "mpi" else ""
    noise = 0.06 if "spread" in flags else 0.012
    run, value = measurement(
        machine, graph, algorithm, width, layout=layout, flags=flags, energy=energy,
        samples=process_samples(rng, seconds, noise=noise), **common,
    )  # fmt: skip
    if key == ("filter-kruskal", "grid-1024"):
        grade = None
    write_record(records, run, value, grade=grade, wrong=wrong)


def _write_old_version(records: Path, graph: FakeGraph) -> None:
    """Kruskal as it was, 20 % slower, and an option of it."""
    rng = np.random.default_rng(7)
    seconds = _seconds(graph, ALGORITHMS[0], 1)
    write_record(records, *measurement(
        "fake-desktop", graph, ALGORITHMS[0], 1, commit=OLD_COMMIT, created="2026-10-01T10:00:00+00:00",
        samples=process_samples(rng, 1.2 * seconds),
    ))  # fmt: skip
    write_record(records, *measurement(
        "fake-desktop", graph, ALGORITHMS[0], 1, options="sort=comparison",
        samples=process_samples(rng, 1.9 * seconds),
    ))  # fmt: skip


def _plan(graphs: tuple[FakeGraph, ...]) -> list[dict[str, Any]]:
    rows = [
        dict(
            machine="fake-desktop", graph=graph.name, family=graph.family, n=graph.n, m=graph.m,
            algorithm="prim-dense", title="Prim, dense", paradigm="sequential", options="default", width=1,
            layout="", status="unsupported", reason=f"n = {graph.n:,} is above its limit of 20,000",
        )
        for graph in graphs if graph.n > 20_000
    ]  # fmt: skip
    rows += [
        dict(
            machine="fake-desktop", graph="twitter", family="social", algorithm=algorithm.id,
            title=algorithm.title, paradigm=algorithm.paradigm, options="default", width=1, layout="",
            status="unavailable", reason="no mirror and no address answered with twitter.txt.gz",
        )
        for algorithm in ALGORITHMS if algorithm.paradigm == "sequential"
    ]  # fmt: skip
    return rows


def _write_manifests(folder: Path, graphs: tuple[FakeGraph, ...]) -> list[Path]:
    paths = []
    for graph in graphs:
        text = graph.name
        path = folder / graph.name / "manifest.json"
        generated = graph.source.startswith("generator")
        write_json(path, {
            "name": graph.name, "family": graph.family, "recipe": _hex(text + "recipe", 8), "n": graph.n, "m": graph.m,
            "components": graph.components, "average_degree": 2 * graph.m / graph.n,
            "maximum_degree": graph.max_degree, "weight_dtype": graph.weight_dtype, "weight_min": 1,
            "weight_max": 255, "merged": {} if generated else {"loops": 3, "parallel": graph.m // 50},
            "generator": {"name": graph.family, "parameters": {"n": graph.n}, "seed": 1} if generated else None,
            "raw": None if generated else {
                "location": f"https://example.org/{text}.txt.gz", "sha256": _hex(text + "raw", 64), "bytes": 9,
                "check": "first", "format": "edges", "rows": graph.m, "ids": "as in the file, from 0",
            },
            "checks": [
                {"by": "snap", "quantity": "n", "published": graph.n, "found": graph.n, "agrees": True},
                {"by": "snap", "quantity": "edges", "published": 7, "found": graph.m, "agrees": False},
            ],
            "digest": _hex(text, 64), "status": "ok", "reason": None,
        })  # fmt: skip
        paths.append(path)
    path = folder / "twitter" / "manifest.json"
    write_json(path, {
        "name": "twitter", "family": "social", "recipe": _hex("twitter", 8), "status": "unavailable",
        "reason": "no location has it",
        "tried": [{"location": "https://example.org/twitter.txt.gz", "reason": "offline"}],
    })  # fmt: skip
    return [*paths, path]


def _hex(text: str, digits: int) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:digits]


def read_json(path: Path) -> Any:
    """Return the JSON value in a file."""
    return json.loads(path.read_text())
