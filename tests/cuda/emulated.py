"""Compiles a CUDA source against the emulator and calls its kernels on numpy arrays."""

from __future__ import annotations

import ctypes
import hashlib
import subprocess
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
SOURCES = HERE.parent.parent / "mst" / "kernels" / "cuda"


class Kernels:
    """The kernels of one source; each takes one struct by value."""

    def __init__(self, source: str, struct: str, names: tuple[str, ...], folder: Path, **macros: int):
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
        subprocess.run(
            ["g++", "-std=c++17", "-O1", "-shared", "-fPIC", "-pthread", "-U_FORTIFY_SOURCE", "-w", *flags]
            + [str(cpp), "-o", str(library)],
            check=True,
        )
        self._library = ctypes.CDLL(str(library))

    def __call__(self, name: str, blocks: int, threads: int, arguments: np.ndarray, seed: int = 1) -> None:
        getattr(self._library, f"run_{name}")(
            ctypes.c_uint(blocks),
            ctypes.c_uint(threads),
            ctypes.c_uint(seed),
            ctypes.c_void_p(arguments.ctypes.data),
        )
