"""Processes of a measurement: how they are pinned, forked, watched and ended."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, NoReturn

import psutil

from mst.limits import free_memory

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_NUM_THREADS = ("OMP", "OPENBLAS", "MKL", "BLIS", "RAYON", "NUMEXPR", "NUMBA")


def pinned_environment(width: int) -> dict[str, str]:
    """Return the environment that pins every threading library to `width` threads."""
    return {
        **{f"{library}_NUM_THREADS": str(width) for library in _NUM_THREADS},
        "POLARS_MAX_THREADS": str(width),
        "NUMBA_THREADING_LAYER": "omp",
        "OMP_PROC_BIND": "false",
        "OMP_DYNAMIC": "false",
        "PYTHONHASHSEED": "0",
    }


def module_command(name: str, *arguments: str) -> list[str]:
    """Return the command that runs a module as a program in the current folder."""
    # Files of this folder, such as types.py, must not hide modules of Python (-P); but a clone may have the only mst.
    return [sys.executable, *([] if Path("mst/__init__.py").is_file() else ["-P"]), "-m", name, *arguments]


def end_with_parent() -> None:
    """Have this process killed when its parent ends for any reason; its own forks do not inherit this."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def continue_without_parent() -> None:
    """Have this process continue when its parent ends, which may have been killed between the signals of `end_tree`."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGCONT, 0, 0, 0)


def adopt_orphans() -> None:
    """Become the parent of descendants whose parent ends, so that `end_tree` of this process also ends them."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def run_in_fork(work: Callable[[], object]) -> int:
    """Call a function in a forked process; return its exit code, or minus the signal that ended it."""
    pid = os.fork()
    if pid == 0:
        end_with_parent()
        exit_after(work)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def exit_after(work: Callable[[], object]) -> NoReturn:
    """Call a function and end this forked process; an error is printed and gives exit code 70."""
    code = 70
    try:
        work()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


class ProcessorSeconds(NamedTuple):
    """Processor time over all cores: used by anything, taken by a hypervisor, and used by this process."""

    busy: float
    stolen: float
    own: float


def processor_seconds() -> ProcessorSeconds:
    """Return the processor time since boot."""
    times, own = psutil.cpu_times(), os.times()
    busy = times.user + times.nice + times.system + times.irq + times.softirq
    return ProcessorSeconds(busy, times.steal, own.user + own.system)


def failure_of_exit(code: int) -> tuple[str, str]:
    """Return the status and the reason that an exit code, or minus a signal, stands for.

    >>> failure_of_exit(3), failure_of_exit(-15)
    (('error', 'ended with exit code 3'), ('error', 'ended by signal 15 (SIGTERM)'))
    """
    if code == -signal.SIGKILL:
        return "out-of-memory", "killed by signal 9, as the kernel does when memory runs out"
    if code < 0:
        return "error", f"ended by signal {-code} ({signal.Signals(-code).name})"
    return "error", f"ended with exit code {code}"


def memory_limit(memory: float) -> int:
    """Return a limit in bytes: values above 1 are GiB, others a share of available memory."""
    return int(memory * (free_memory() if memory <= 1 else 2**30))


def tree_bytes(pid: int) -> int:
    """Return the bytes of resident memory of a process and its descendants that no file backs."""
    held, page = 0, os.sysconf("SC_PAGE_SIZE")
    for process in _tree(pid):
        with contextlib.suppress(OSError, ValueError):
            _, resident, shared, *_ = map(int, Path(f"/proc/{process}/statm").read_text().split())
            held += (resident - shared) * page
    return held


def end_tree(pid: int) -> None:
    """Kill a process and all its descendants."""
    for _ in range(200):
        # The process itself comes last: its descendants are re-parented to it while it lives.
        _signal(pid, signal.SIGSTOP)
        alive = [child for child in _tree(pid) if child != pid and _alive(child)]
        if not alive:
            break
        for child in alive:
            _signal(child, signal.SIGKILL)
        time.sleep(0.01)
    _signal(pid, signal.SIGKILL)


def end_descendants() -> None:
    """Kill everything this process started or adopted (`adopt_orphans`)."""
    while children := [child for child in _children(os.getpid()) if _alive(child)]:
        for child in children:
            end_tree(child)
        time.sleep(0.01)


def _signal(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _alive(pid: int) -> bool:
    with contextlib.suppress(psutil.Error):
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False


def _tree(pid: int) -> Iterator[int]:
    yield pid
    with contextlib.suppress(OSError, psutil.Error):
        for child in _children(pid):
            yield from _tree(child)


def _children(pid: int) -> list[int]:
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        return [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except FileNotFoundError:
        # Kernels without this list, and processes that have just ended.
        return [child.pid for child in psutil.Process(pid).children()]
