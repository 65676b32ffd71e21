"""Whole calls with arrays in host memory: kernels are emulated, and device memory is the host's."""

from __future__ import annotations

import ctypes
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from test_cuda_staging import Handle, driver, fake, pytestmark  # noqa: F401

import mst
from mst import Graph, InputError, registry
from mst.algorithms.cuda import filter_boruvka
from mst.algorithms.cuda.device import keys, memory, staging
from mst.interop import host_call
from mst.kernels.cuda import loader

sys.path.insert(0, str(Path(__file__).parent / "cuda"))
import emulated

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="the emulator needs g++")
pytestmark = [pytestmark, needs_compiler]


class Memory:
    """A pointer to device memory, which begins as rubbish."""

    def __init__(self, array, offset=0):
        self.array, self.ptr = array, array.ctypes.data + offset

    def __add__(self, offset):
        return Memory(self.array, self.ptr - self.array.ctypes.data + offset)


class OnDevice:
    """An array on the device."""

    def __init__(self, length, dtype, data):
        self.data = data
        start = data.ptr - data.array.ctypes.data
        self.array = data.array[start : start + length * np.dtype(dtype).itemsize].view(dtype)

    def __len__(self):
        return len(self.array)


def in_order(given):
    """Sort as CuPy does."""
    array = np.sort(given.array)
    return OnDevice(len(array), array.dtype, Memory(array.view(np.uint8)))


class EmulatedKernel:
    def __init__(self, folder, source, name, macros):
        if source == keys.SOURCE:
            kernels = emulated.key_kernels(folder, macros["WEIGHT"], macros["KEY_BITS"])
        elif source == filter_boruvka.SOURCE:
            kernels = emulated.filter_kernels(folder, macros["KEY_BITS"], 16, 2)
        else:
            kernels = emulated.mark_kernels(folder)
        self._kernels, self._name = kernels, name

    def launch(self, blocks, threads, arguments):
        self._kernels(self._name, min(blocks, 2), arguments.struct, 1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("emulator")


@pytest.fixture
def device(fake, folder, monkeypatch):  # noqa: F811
    """Replace the GPU."""
    cupy = fake
    cupy.ndarray, cupy.sort = OnDevice, in_order
    cupy.get_default_memory_pool = lambda: SimpleNamespace(free_bytes=lambda: 10**12)
    cupy.cuda.alloc = lambda size: Memory(np.full(size, 0xEE, np.uint8))
    runtime = cupy.cuda.runtime
    runtime.memcpyDeviceToHost, runtime.getDevice = 2, lambda: 0
    runtime.memsetAsync = lambda at, byte, size, stream: ctypes.memset(at, byte, size)
    monkeypatch.setattr(memory, "multiprocessors", lambda number: 2)
    monkeypatch.setattr(filter_boruvka, "blocks_for", lambda kernel, shape: 2)
    make = lambda source, name, macros, cooperative=False: EmulatedKernel(folder, source, name, macros)  # noqa: E731
    monkeypatch.setattr(loader, "Kernel", make)
    monkeypatch.setattr(host_call, "FEW", 20)
    monkeypatch.setattr(type(registry.get("kruskal")), "missing", lambda algorithm: None)
    caches = host_call._plan, keys._kernel, filter_boruvka._kernel_on_device
    for kept in caches:
        kept.cache_clear()
    yield
    for kept in caches:
        kept.cache_clear()
    vars(registry.get("filter-boruvka-cuda")).pop("_loaded", None)


def called(monkeypatch, graph):
    """Return the edge ids of a call that did not fall back."""
    found = []
    call = host_call.edge_ids_of
    monkeypatch.setattr(host_call, "edge_ids_of", lambda *given: found.append(call(*given)) or found[-1])
    forest = mst.minimum_spanning_forest(graph, algorithm="filter-boruvka-cuda")
    assert forest.edge_ids is found[-1].edge_ids and set(forest.seconds) == {"init", "transfer", "compute"}
    return forest.edge_ids


CASES = [
    pytest.param(ids, weights, marks=[] if (ids, weights) == ("int64", "float64") else pytest.mark.slow)
    for ids in ("int32", "int64")
    for weights in ("int32", "int64", "float32", "float64")
]


@pytest.mark.parametrize("ids,weights", CASES)
def test_calls_find_the_forest_of_kruskal_or_refuse(device, monkeypatch, ids, weights):
    rng = np.random.default_rng(len(ids + weights))
    for n, m, spread in ((2, 1, 1), (60, 300, 2), (60, 300, 2**24), (300, 250, 9)):
        u, v = rng.integers(0, n, (2, m)).astype(ids)
        for w in (rng.integers(-spread, spread + 1, m), rng.integers(-spread, spread + 1, m) * 2**36 / 3):
            w = (w if weights[-2:] == "64" else np.clip(w, -(2**24), 2**24)).astype(weights)
            expected = mst.minimum_spanning_forest(Graph(n, u, v, w), algorithm="kruskal")
            for by_marks in (True, False):
                monkeypatch.setattr(host_call, "marked_is_shorter", lambda n, m: by_marks)  # noqa: B023
                assert np.array_equal(called(monkeypatch, (n, u, v, w)), expected.edge_ids)
        row = m // 2
        for bad in (n, -1) if ids == "int32" else (n, -1, 2**32, -(2**63)):
            wrong = v.copy()
            wrong[row] = bad
            with pytest.raises(InputError, match=rf"v\[{row}\] = {bad} is not a vertex"):
                mst.minimum_spanning_forest((n, u, wrong, w), algorithm="filter-boruvka-cuda")
        if weights.startswith("float"):
            w[row] = np.nan
            with pytest.raises(InputError, match=rf"w\[{row}\] is NaN"):
                mst.minimum_spanning_forest((n, u, v, w), algorithm="filter-boruvka-cuda")


def test_rows_and_single_vertices_are_left_to_graph(device, monkeypatch):
    from mst.interop.device import forest_of_unchecked, unchecked_graph

    u = np.zeros(3, np.int32)
    assert forest_of_unchecked(unchecked_graph(1, u, u, u), {}) is None
    assert forest_of_unchecked(unchecked_graph(2, u, u, u), {"start": "csr"}) is None


def test_workers_of_large_copies_are_more(device):
    copier = staging.of_device()
    copier.workers = 99
    assert [copier.width(size) for size in (1, staging.LARGE - 1, staging.LARGE)] == [12, 12, 16]
