"""Stands in for `mst.algorithms.cuda.device.launch.Device`: the ports' kernels on numpy arrays, on the host."""

from __future__ import annotations

from collections import Counter
from importlib import import_module
from pathlib import Path
from types import ModuleType

import emulated
import numpy as np

from mst import registry
from mst.algorithms.cuda.device import port
from mst.algorithms.cuda.device.launch import argument_of

BLOCKS, THREADS = 1, 256  # that fill the device


def module_of(name: str) -> ModuleType:
    """Return the module of an algorithm, which the registry loads only where CuPy is."""
    return import_module(f"mst.algorithms.cuda.{name.removesuffix('-cuda').replace('-', '_')}")


class Device:
    """The same methods as `Device`; every array of the workspace lies between guards."""

    block = emulated.THREADS

    def __init__(self, folder: Path, module: ModuleType, p: port.Problem, seed: int):
        program = module.program(p)
        struct = program.source.removesuffix(".cu").title().replace("_", "")
        self._kernels = emulated.Kernels(folder, program.source, struct, program.kernels, **program.macros)
        self._inputs = p.inputs
        self._before = {name: array.copy() for name, array in p.inputs.items()}
        self._guarded: dict[str, np.ndarray] = {}
        self.arrays = dict(p.inputs)
        self.argument = argument_of(program.argument, {name: self.address(name) for name in self.arrays})
        self.allocate(module.layout(p))
        self._seed = seed
        self.launched: Counter[str] = Counter()

    def allocate(self, layout):
        guard = emulated.GUARD
        for name, (dtype, length) in layout.items():
            fill = emulated.FILL & (2 ** (8 * np.dtype(dtype).itemsize) - 1)
            self._guarded[name] = np.full(length + 2 * guard, fill, dtype)
            self.arrays[name] = self._guarded[name][guard:-guard]
            if name in self.argument.dtype.names:
                self.argument[name] = self.address(name)

    def release(self, names):
        self.check()
        for name in names:
            del self.arrays[name], self._guarded[name]
            self.argument[name] = 0

    def address(self, name):
        return self.arrays[name].ctypes.data

    def launch(self, name, size, *, blocks=0):
        self._seed += 1
        if grid := blocks or -(-size // self.block):
            self._kernels(name, grid, self.argument, self._seed)
            self.launched[name] += 1

    def fill(self, name, byte, length=None):
        self.arrays[name][:length].view(np.uint8)[:] = byte

    def copy(self, source, target, length):
        self.arrays[target][:length] = self.arrays[source][:length]

    def read(self, name, index=0):
        return int(self.arrays[name][index])

    def get(self, name, length):
        return self.arrays[name][:length].copy()

    def put(self, name, values):
        self.arrays[name][: len(values)] = values

    def resident_blocks(self, name):
        return BLOCKS

    def resident_threads(self):
        return THREADS

    def occupancy(self, name):
        return 0.75

    def check(self) -> None:
        """Fail if a kernel wrote past an array or into the input."""
        guard = emulated.GUARD
        for name, array in self._guarded.items():
            for edge in (array[:guard], array[-guard:]):
                fill = emulated.FILL & (2 ** (8 * array.itemsize) - 1)
                assert (edge == fill).all(), f"{name} was overrun"
        for name, array in self._before.items():
            assert np.array_equal(array, self._inputs[name]), f"{name} is input and was changed"


def solve(folder: Path, name: str, graph, seed: int = 1, **options) -> tuple[np.ndarray, dict]:
    """Return edge ids, ascending, and counters of the second of two solves."""
    module = module_of(name)
    p = module.prepare(graph, width=1, **registry.get(name).resolve(options))
    p.device = Device(folder, module, p, seed)
    for _ in range(2):
        result = module.solve(p)
        p.device.check()
    return np.flatnonzero(result.chosen), module.counters(p, result)
