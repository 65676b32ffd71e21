"""Compiles CUDA sources against the emulator and runs the algorithms of `mst.algorithms.cuda` on numpy arrays."""

from __future__ import annotations

import ctypes
import hashlib
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from mst import Graph, order
from mst.algorithms.cuda import ecl_mst, filter_boruvka
from mst.algorithms.cuda.device import keys, points, proof
from mst.interop import gpu_call
from mst.kernels.cuda import filter_boruvka as layout

HERE = Path(__file__).resolve().parent
SOURCES = HERE.parent.parent / "mst" / "kernels" / "cuda"
FILL = 0xEEEEEEEE
GUARD = 64
THREADS = 64  # a block
COMPILE = ("g++", "-std=c++17", "-O1", "-fPIC", "-pthread", "-U_FORTIFY_SOURCE", "-w")


TOP, RULER = 2**63 - 1, np.arange(130) + 1 & -(np.arange(130) + 1)
SPECIAL = {
    "one vertex": Graph(1, [], [], np.zeros(0, np.int32)),
    "no edge": Graph(50, [], [], np.zeros(0, np.float64)),
    "loops only": Graph(3, [0, 1, 2], [0, 1, 2], [1, 1, 1]),
    "loops": Graph(3, [0, 1, 2, 0, 1], [0, 1, 2, 1, 2], [-9, 1, 1, 4, 4]),
    "parallel edges": Graph(2, [0, 1, 0, 1], [1, 0, 1, 0], [5, 3, 3, 4]),
    "star": Graph(200, np.zeros(199, int), np.arange(1, 200), np.arange(199)[::-1].copy()),
    "path, sevens": Graph(130, np.arange(129), np.arange(1, 130), np.arange(129) % 7),
    "path, ruler": Graph(131, np.arange(130), np.arange(1, 131), np.log2(RULER).astype(np.int32)),
    "cycle of ties": Graph(130, np.arange(130), np.arange(1, 131) % 130, np.full(130, 7)),
    "all equal": Graph(40, *np.triu_indices(40, 1), np.ones(780, np.float32)),
    "matching": Graph(100, np.arange(0, 80, 2), np.arange(1, 80, 2), np.ones(40, np.int32)),
    "infinities": Graph(4, [0, 1, 2, 3, 0], [1, 2, 3, 0, 2], [np.inf, -np.inf, np.inf, 0.0, -0.0]),
    "extremes": Graph(4, [0, 1, 2, 3], [1, 2, 3, 0], [TOP, -TOP - 1, 0, TOP]),
    "top": Graph(4, [0, 0, 0, 1, 1, 2], [1, 2, 3, 2, 3, 3], [-TOP - 1, TOP - 1, TOP, TOP - 1, TOP - 2, TOP]),
    "top of int32": Graph(3, [0, 1, 2], [1, 2, 0], np.full(3, 2**31 - 1, np.int32)),
}
"""Graphs that reach the ends of loops and of ranges of keys."""


@cache
def precompiled(folder: Path) -> str:
    """Return a copy of the emulator beside its precompiled form, which g++ takes in its place in a third less time."""
    header = shutil.copy(HERE / "emulator.hpp", folder)
    subprocess.run([*COMPILE, "-x", "c++-header", header], check=True)
    return header


@cache
class Kernels:
    """The kernels of one source, compiled once for a folder; each takes one struct by value."""

    def __init__(self, folder: Path, source: str, struct: str, names: tuple[str, ...], **macros: int):
        code = [f'#include "{SOURCES / source}"']
        for name in names:
            code.append(
                f'extern "C" void run_{name}(unsigned blocks, unsigned threads, unsigned seed, const {struct}* p)'
                f" {{ emulator::launch(blocks, threads, seed, {name}, *p); }}"
            )
        text = "\n".join(code)
        flags = [f"-D{key}={value}" for key, value in sorted(macros.items())]
        stem = hashlib.sha256((text + repr(flags)).encode()).hexdigest()[:12]
        cpp, library = folder / f"{stem}.cpp", folder / f"{stem}.so"
        cpp.write_text(text)
        command = [*COMPILE, "-shared", "-include", precompiled(folder), *flags, str(cpp), "-o", str(library)]
        subprocess.run(command, check=True)
        self._library = ctypes.CDLL(str(library))

    def __call__(self, name: str, blocks: int, arguments: np.ndarray, seed: int) -> None:
        getattr(self._library, f"run_{name}")(
            ctypes.c_uint(blocks),
            ctypes.c_uint(THREADS),
            ctypes.c_uint(seed),
            ctypes.c_void_p(arguments.ctypes.data),
        )


PIECE, SPREAD, CONTENDING_EDGES = 16, 64, 100


def filter_kernels(folder: Path, key_bits: int, block_components: int, items: int) -> Kernels:
    """Small limits, so that small graphs meet every path: pieces, compressed paths, rounds of the whole grid."""
    macros = dict(
        KEY_BITS=key_bits, BLOCK=THREADS, PIECE=PIECE, SPREAD=SPREAD, CONTENDING_EDGES=CONTENDING_EDGES
    )
    macros |= dict(BLOCK_COMPONENTS=block_components, ITEMS_PER_THREAD=items)
    macros |= dict(PATH_STEPS=3, PATIENCE=2, OPEN_LIMIT=64)
    names = ("forest_csr", "forest_edges")
    return Kernels(folder, filter_boruvka.SOURCE, "FilterBoruvka", names, **macros)


@dataclass(frozen=True)
class Run:
    """How the emulator runs filter-Borůvka: its geometry, and settings that differ from those of a driver.

    `block_components` and `items` are macros; `lanes_per_row` 0 takes the driver's; `short_prefix` leaves candidates
    no room for ids.
    """

    csr: bool = True
    block_components: int = 16
    items: int = 2
    blocks: int = 2
    seed: int = 1
    long_row: int = 32
    lanes_per_row: int = 0
    short_prefix: bool = False


def filter_forest(folder: Path, graph: Graph, run: Run, **options) -> tuple[np.ndarray, dict[str, int]]:
    """Return the sorted edge ids and the counters; every buffer lies between guards that must stay untouched."""
    start = "csr" if run.csr else "edges"
    prepared = filter_boruvka.prepared_with_keys(graph, order.keys(graph.w), start, {})
    inputs = {name: np.ascontiguousarray(array) for name, array in prepared.inputs.items()}
    edge_keys = inputs["edge_keys"]
    slots = len(inputs["keys"]) if run.csr else 0
    shape = layout.Shape(graph.n, graph.m, slots, run.csr, edge_keys.itemsize * 8)
    settings = filter_boruvka.settings_for(graph.n, graph.m, csr=run.csr, seed=run.seed, **options)
    lanes = run.lanes_per_row or settings.lanes_per_row
    settings = settings._replace(long_row=run.long_row, lanes_per_row=lanes)
    workspace = layout.workspace(shape, run.long_row, piece=PIECE, spread=SPREAD)
    workspace["forest"] = (np.uint32, max(graph.n - 1, 0))
    guarded = {name: np.full(length + 2 * GUARD, FILL, dtype) for name, (dtype, length) in workspace.items()}
    arrays = inputs | {name: array[GUARD:-GUARD] for name, array in guarded.items()}
    arrays["counters"] = np.zeros(len(layout.COUNTERS), np.uint32)
    largest = (2**32 - 1 if run.short_prefix else int(edge_keys.max())) if graph.m else 0
    candidates = layout.candidate_layout(graph.m, shape.key_bits, largest)
    addresses = {name: array.ctypes.data for name, array in arrays.items()}
    argument = layout.argument(shape, settings, candidates, addresses)
    kernels = filter_kernels(folder, shape.key_bits, run.block_components, run.items)
    arrays["control"][:] = 0
    for again in range(2):  # a solve leaves its counters as the next one needs them
        arrays["counters"][:] = 0
        kernels("forest_csr" if run.csr else "forest_edges", run.blocks, argument, run.seed + again)
    for name, array in guarded.items():
        fill = np.array(FILL).astype(array.dtype)
        assert (array[:GUARD] == fill).all() and (array[-GUARD:] == fill).all(), f"{name} was overrun"
    counters = dict(zip(layout.COUNTERS, arrays["counters"].tolist(), strict=True))
    return np.sort(arrays["forest"][: counters["forest_edges"]]).astype(np.int64), counters


def surveyed_keys(folder: Path, graph: Graph, wide: bool = False) -> tuple[keys.Survey, np.ndarray]:
    """Return the survey of a graph's edges and the keys of its weights; `wide` ends are narrowed on the way."""
    facts = np.zeros(keys.FACTS, np.uint64)
    argument = np.zeros(1, keys.ARGUMENT)
    ends = {"u": graph.u, "v": graph.v}
    if wide:
        ends = {name: np.zeros(graph.m, np.int32) for name in "uv"}
        ends |= {"wide_u": graph.u.astype(np.int64), "wide_v": graph.v.astype(np.int64)}
    for name, array in {**ends, "w": graph.w, "facts": facts}.items():
        argument[name] = array.ctypes.data
    argument["m"] = graph.m
    kind = keys.WEIGHTS.index(graph.w.dtype.name)
    key_kernels(folder, kind, 32, int(wide))("survey_edges", 2, argument, 1)
    assert all(np.array_equal(ends[name], getattr(graph, name).astype(np.int32)) for name in "uv")
    survey = keys.survey_of(facts, graph.w.dtype)
    found = np.zeros(graph.m, f"uint{survey.key_bits}")
    argument["keys"], argument["low"] = found.ctypes.data, survey.low
    key_kernels(folder, kind, survey.key_bits)("write_keys", 2, argument, 1)
    return survey, found


def mark_kernels(folder: Path) -> Kernels:
    return Kernels(folder, gpu_call.SOURCE, "MarkedEdges", ("mark_edges", "list_edges"))


def key_kernels(folder: Path, weight: int, key_bits: int, wide: int = 0) -> Kernels:
    names = ("survey_edges", "write_keys")
    return Kernels(folder, keys.SOURCE, "EdgeKeys", names, WEIGHT=weight, KEY_BITS=key_bits, WIDE=wide)


class ProofDevice:
    """Stands in for `mst.algorithms.cuda.device.proof.ProofDevice`."""

    xp = np

    def __init__(self, folder: Path, key_bits: int):
        self._kernels = Kernels(folder, proof.SOURCE, "ProveForest", proof.KERNELS, KEY_BITS=key_bits)

    def launch(self, kernel, count, **arrays):
        argument = np.zeros(1, proof.ARGUMENT)
        argument["count"] = count
        contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        for name, array in contiguous.items():
            argument[name] = array.ctypes.data
        self._kernels(kernel, 2, argument, 1)


class PointsDevice:
    """Stands in for `mst.algorithms.cuda.device.points.PointsDevice`."""

    xp, block = np, THREADS

    def __init__(self, folder: Path, macros: dict[str, int], seed: int):
        self._kernels = Kernels(folder, points.SOURCE, "BoruvkaPoints", points.KERNELS, **macros)
        self._seed = seed

    def ensure_free(self, size, purpose):
        pass

    def address(self, array):
        assert array.flags.c_contiguous
        return array.ctypes.data

    def launch(self, kernel, threads, argument):
        self._seed += 1
        self._kernels(kernel, -(-threads // THREADS), argument, self._seed)


class FakeCupy:
    """Stands in for the module where solves are timed by events: every pair of events is a second apart."""

    def __init__(self):
        self.cuda = self
        self._clock = 0

    def Event(self):
        return FakeEvent(self)

    def get_elapsed_time(self, before, after):
        return 1e3 * (after.at - before.at)


class FakeEvent:
    """Notes how many events were recorded before it."""

    def __init__(self, cupy):
        self._cupy, self.at = cupy, 0

    def record(self):
        self._cupy._clock += 1
        self.at = self._cupy._clock

    def synchronize(self):
        pass


class EclDevice:
    """Stands in for `ecl_mst.EclDevice`."""

    def __init__(self, folder: Path, p: ecl_mst.Problem, seed: int):
        names = ecl_mst.kernel_names(p.options["rung"])
        self._kernels = Kernels(folder, ecl_mst.SOURCE, "EclMst", names, **ecl_mst.macros(p))
        self.arrays = {
            name: np.full(length, 0xEE, dtype) for name, (dtype, length) in ecl_mst.layout(p).items()
        }
        self.arrays.update((name, array.copy()) for name, array in p.inputs.items())
        addresses = {name: array.ctypes.data for name, array in self.arrays.items()}
        self.arguments = ecl_mst.arguments(p, addresses)
        self._seed = seed

    def launch(self, kernel, size, source, heavy):
        self._seed += 1
        self._kernels(kernel, -(-size // THREADS), self.arguments[source, heavy], self._seed)

    def clear_length(self, index):
        self.arrays["lengths"][index] = 0

    def clear_chosen(self):
        self.arrays["chosen"][:] = 0

    def request_length(self, index):
        self._length = int(self.arrays["lengths"][index])

    def requested_length(self):
        return self._length

    def read_length(self, index):
        return int(self.arrays["lengths"][index])

    def upload(self, inputs):
        for name, array in inputs.items():
            self.arrays[name][:] = array
