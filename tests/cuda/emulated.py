"""Compiles CUDA sources against the emulator and runs the algorithms of `mst.algorithms.cuda` on numpy arrays."""

from __future__ import annotations

import ctypes
import hashlib
import subprocess
from functools import cache
from pathlib import Path

import numpy as np

from mst import order
from mst.algorithms.cuda import _proof, ecl_mst
from mst.kernels.cuda import plan

HERE = Path(__file__).resolve().parent
SOURCES = HERE.parent.parent / "mst" / "kernels" / "cuda"
FILL = 0xEEEEEEEE
GUARD = 64
THREADS = 64  # a block


class Kernels:
    """The kernels of one source; each takes one struct by value."""

    def __init__(self, folder: Path, source: str, struct: str, names: tuple[str, ...], **macros: int):
        code = [f'#include "{HERE / "emulator.hpp"}"', f'#include "{SOURCES / source}"']
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
        command = [
            "g++",
            "-std=c++17",
            "-O1",
            "-shared",
            "-fPIC",
            "-pthread",
            "-U_FORTIFY_SOURCE",
            "-w",
            *flags,
        ]
        subprocess.run([*command, str(cpp), "-o", str(library)], check=True)
        self._library = ctypes.CDLL(str(library))

    def __call__(self, name: str, blocks: int, arguments: np.ndarray, seed: int) -> None:
        getattr(self._library, f"run_{name}")(
            ctypes.c_uint(blocks),
            ctypes.c_uint(THREADS),
            ctypes.c_uint(seed),
            ctypes.c_void_p(arguments.ctypes.data),
        )


@cache
def filter_kernels(folder: Path, bits: int, interleaved: int, tail: int, items: int) -> Kernels:
    """Small limits, so that small graphs meet every path: pieces, following hooks, rounds of the whole grid."""
    names = ("forest_csr", "forest_edges")
    macros = dict(KEY_BITS=bits, INTERLEAVED=interleaved, BLOCK=THREADS, PIECE=16, SPREAD=64)
    macros |= dict(TAIL_COMPONENTS=tail, ITEMS_PER_THREAD=items)
    return Kernels(folder, "filter_boruvka.cu", "Plan", names, **macros)


def filter_boruvka(
    folder,
    graph,
    *,
    csr=True,
    interleaved=1,
    tail=16,
    blocks=2,
    long_row=32,
    short_prefix=False,
    group=0,
    seed=1,
    items=2,
    **options,
) -> tuple[np.ndarray, dict[str, int]]:
    """Return the sorted edge ids and the counters; every buffer lies between guards that must stay untouched."""
    keys = order.keys(graph.w)
    bits = keys.itemsize * 8
    if bits == 32 and len(keys):
        keys = keys - keys.min()
    inputs = {"u": graph.u.astype(np.uint32), "v": graph.v.astype(np.uint32), "edge_keys": keys.copy()}
    slots = 0
    if csr:
        rows = graph.csr()
        slots = len(rows.edge_ids)
        inputs |= {"offsets": rows.offsets.astype(np.uint32), "keys": keys[rows.edge_ids]}
        neighbours, ids = rows.neighbours.astype(np.uint32), rows.edge_ids.astype(np.uint32)
        if interleaved:
            inputs["neighbours"] = np.stack([neighbours, ids], 1).copy()
        else:
            inputs.update(neighbours=neighbours, ids=ids)
    how = plan.settings(graph.n, graph.m, csr=csr, seed=seed, **options)
    plan.SPREAD = 64
    layout = plan.arrays(graph.n, graph.m, slots, csr=csr, key_bits=bits, long_row=long_row, piece=16)
    layout["forest"] = (np.uint32, max(graph.n - 1, 0))
    guarded = {name: np.full(length + 2 * GUARD, FILL, dtype) for name, (dtype, length) in layout.items()}
    arrays = inputs | {name: array[GUARD:-GUARD] for name, array in guarded.items()}
    arrays["status"] = np.zeros(len(plan.STATUS), np.uint32)
    offers = plan.offer_layout(
        graph.m, bits, (2**32 - 1 if short_prefix else int(keys.max())) if len(keys) else 0
    )
    struct = plan.fill_plan(
        how, graph.n, graph.m, offers, {name: array.ctypes.data for name, array in arrays.items()}
    )
    struct["long_row"] = long_row
    if group:
        struct["group"] = group
    kernels = filter_kernels(folder, bits, interleaved, tail, items)
    arrays["control"][:] = 0
    for again in range(2):  # a solve leaves its counters as the next one needs them
        arrays["status"][:] = 0
        kernels("forest_csr" if csr else "forest_edges", blocks, struct, seed + again)
    for name, array in guarded.items():
        fill = np.array(FILL).astype(array.dtype)
        assert (array[:GUARD] == fill).all() and (array[-GUARD:] == fill).all(), f"{name} was overrun"
    counters = dict(zip(plan.STATUS, arrays["status"].tolist(), strict=True))
    return np.sort(arrays["forest"][: counters["emitted"]]).astype(np.int64), counters


class ProofDevice:
    """Stands in for `_proof.Device`."""

    arrays = np

    def __init__(self, folder: Path, bits: int):
        self._kernels = proof_kernels(folder, bits)

    def launch(self, name, count, **operands):
        struct = np.zeros(1, _proof.STRUCT)
        struct["count"] = count
        kept = {field: np.ascontiguousarray(array) for field, array in operands.items()}
        for field, array in kept.items():
            struct[field] = array.ctypes.data
        self._kernels(name, 2, struct, 1)


@cache
def proof_kernels(folder: Path, bits: int) -> Kernels:
    return Kernels(folder, _proof.SOURCE, "Prove", _proof.KERNELS, KEY_BITS=bits)


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


@cache
def ecl_kernels(folder: Path, bits: int, rung: int, jumping: bool) -> Kernels:
    names = ecl_mst.kernel_names(rung)
    return Kernels(folder, "ecl_mst.cu", "Ecl", names, KEY_BITS=bits, RUNG=rung, JUMPING=int(jumping))


class EclEngine:
    """Stands in for `ecl_mst.Engine`."""

    def __init__(self, folder: Path, p: ecl_mst.Problem, seed: int):
        self._kernels = ecl_kernels(folder, p.bits, p.options["rung"], p.options["compression"] == "jumping")
        self.arrays = {
            name: np.full(length, 0xEE, dtype) for name, (dtype, length) in ecl_mst.layout(p).items()
        }
        self.arrays.update((name, array.copy()) for name, array in p.inputs.items())
        self.structs = ecl_mst.structs(p, {name: array.ctypes.data for name, array in self.arrays.items()})
        self._seed = seed

    def launch(self, name, size, start, heavy):
        self._seed += 1
        self._kernels(name, -(-size // THREADS), self.structs[start, heavy], self._seed)

    def clear(self, index):
        self.arrays["lengths"][index] = 0

    def unmark(self):
        self.arrays["chosen"][:] = 0

    def note(self, index):
        self._noted = int(self.arrays["lengths"][index])

    def noted(self):
        return self._noted

    def read(self, index):
        return int(self.arrays["lengths"][index])

    def upload(self, inputs):
        for name, array in inputs.items():
            self.arrays[name][:] = array
