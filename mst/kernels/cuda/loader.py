"""Compilation of CUDA sources by NVRTC, once per source, macros and architecture, with a cache on disk.

A cached file is named by a fingerprint of the source and everything it includes, so no binary can be stale.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from mst.atomic import write_bytes
from mst.cache import cache_root
from mst.errors import DependencyError, MSTError
from mst.fingerprints import fingerprint

FOLDER = Path(__file__).resolve().parent
_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)".*$', re.MULTILINE)
OPTIONS = ("-std=c++17", "--diag-suppress=177")  # not every source calls all functions of shared headers


def source_text(name: str) -> str:
    """Return a CUDA source with its includes expanded, each once.

    Examples
    --------
    >>> from mst.kernels.cuda.loader import source_text
    >>> "#include" in source_text("filter_boruvka.cu")
    False
    """
    seen: set[str] = set()

    def expand(name: str) -> str:
        if name in seen:
            return ""
        seen.add(name)
        text = (FOLDER / name).read_text().replace("#pragma once\n", "")
        return _INCLUDE.sub(lambda match: expand(match.group(1)), text)

    return expand(name)


def options_for(architecture: str, macros: dict[str, int]) -> list[str]:
    """Return the NVRTC options for an architecture such as ``sm_90`` and macro definitions."""
    return [f"--gpu-architecture={architecture}", *OPTIONS, *(f"-D{k}={v}" for k, v in sorted(macros.items()))]


class Arguments:
    """A kernel's only argument, a struct, in the driver's form; its fields may be changed between launches.

    Parameters
    ----------
    struct : numpy.ndarray of a structured dtype, shape (1,)
    """

    def __init__(self, struct: np.ndarray):
        self.struct = struct
        self._addresses = np.array([struct.ctypes.data], np.uint64)
        self.pointer = int(self._addresses.ctypes.data)


class Kernel:
    """A kernel on the current device that takes one struct (`Arguments`).

    It is launched directly through the driver, because CuPy spends more time on a launch's arguments, and a solve of a
    small graph takes little longer than its launches.
    """

    def __init__(self, source: str, kernel: str, macros: Mapping[str, int], *, cooperative: bool = False):
        raw = module(source, macros, cooperative=cooperative).get_function(kernel)
        import cupy
        from cupy.cuda import driver

        self.pointer = raw.kernel.ptr
        self._raw = raw  # holds the module
        self._cooperative = cooperative
        self._driver = driver
        self._stream = cupy.cuda.get_current_stream

    def launch(self, blocks: int, threads: int, arguments: Arguments) -> None:
        """Launch on the current stream; a cooperative launch fails if not all blocks can be resident at once."""
        stream = self._stream().ptr
        if self._cooperative:
            self._driver.launchCooperativeKernel(
                self.pointer, blocks, 1, 1, threads, 1, 1, 0, stream, arguments.pointer
            )
        else:
            self._driver.launchKernel(
                self.pointer, blocks, 1, 1, threads, 1, 1, 0, stream, arguments.pointer, 0
            )


def module(source: str, macros: Mapping[str, int], *, cooperative: bool = False) -> Any:
    """Return the `cupy.RawModule` of a source under macros, for the current device.

    Parameters
    ----------
    source : str
        File in this folder.
    macros : mapping of str to int
    cooperative : bool
        Whether its kernels are launched cooperatively.

    Raises
    ------
    DependencyError
        CuPy or a CUDA device is missing.
    MSTError
        The compiler refuses the source.
    """
    return _module(source, _device(), cooperative, tuple(sorted(macros.items())))


@cache
def _module(name: str, device: int, cooperative: bool, macros: tuple[tuple[str, int], ...]) -> Any:
    """Return the `cupy.RawModule` of a source, compiled at most once per process and device."""
    import cupy

    path = _binary(name, f"sm_{cupy.cuda.Device(device).compute_capability}", dict(macros))
    return cupy.RawModule(path=str(path), enable_cooperative_groups=cooperative)


def _device() -> int:
    """Return the number of the current CUDA device, or raise `DependencyError`."""
    try:
        import cupy

        return int(cupy.cuda.runtime.getDevice())
    except ImportError as error:
        raise DependencyError(
            f"CuPy cannot be imported ({error}): pip install '.[cuda13]' in a clone of mst"
        ) from None
    except Exception as error:
        raise DependencyError(f"no CUDA device answers: {error}") from None


def _binary(name: str, architecture: str, macros: dict[str, int]) -> Path:
    """Return the cached binary of a source, compiled if missing."""
    from cupy.cuda import nvrtc

    options = options_for(architecture, macros)
    key = hashlib.sha256(repr((options, nvrtc.getVersion())).encode()).hexdigest()[:8]
    path = cache_root() / "cuda" / f"{Path(name).stem}-{fingerprint(FOLDER / name)}-{architecture}-{key}.cubin"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        # Written atomically, because several processes may compile the same source at once.
        write_bytes(path, _compile(name, options, nvrtc))
    return path


def _compile(name: str, options: list[str], nvrtc: Any) -> bytes:
    """Return the binary of a source."""
    program = nvrtc.createProgram(source_text(name), name, (), ())
    try:
        nvrtc.compileProgram(program, options)
        return nvrtc.getCUBIN(program)
    except nvrtc.NVRTCError as error:
        raise MSTError(
            f"{FOLDER / name} does not compile with {' '.join(options)}: {error}\n{nvrtc.getProgramLog(program)}"
        ) from None
    finally:
        nvrtc.destroyProgram(program)
