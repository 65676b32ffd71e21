"""Handling of SIGTERM and SIGHUP like an interruption from the keyboard, so that unfinished work is cleaned up."""

from __future__ import annotations

import _thread
import os
import select
import signal
import socket
import threading
from time import sleep
from types import FrameType

WORKFLOW = "MST_WORKFLOW"
"""Variable with the host and the process id of the workflow engine that starts commands."""

_LATER = 0.05
"""Seconds after which a signal that arrived during a callback of LLVM is sent again."""


def name_workflow() -> None:
    """Name this process, that of a workflow engine, to the commands that it starts."""
    os.environ[WORKFLOW] = f"{socket.gethostname()} {os.getpid()}"


def interrupt_on_signals() -> None:
    """Raise `KeyboardInterrupt` when this process receives SIGINT, SIGTERM, or SIGHUP from a terminal that is closed.

    Only the main thread can set this up; in another one, this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    signal.signal(signal.SIGTERM, _raise)
    # The background jobs of a shell go on ignoring SIGINT.
    if signal.getsignal(signal.SIGINT) == signal.default_int_handler:
        signal.signal(signal.SIGINT, _raise)
    # A program under nohup goes on ignoring SIGHUP.
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        signal.signal(signal.SIGHUP, _raise)


def interrupt_with_workflow() -> None:
    """Do as `interrupt_on_signals`, and the same when the workflow engine that started this process has ended.

    The engine starts commands through shells, which a killed engine leaves behind.
    """
    interrupt_on_signals()
    host, _, engine = os.environ.get(WORKFLOW, "").rpartition(" ")
    if host == socket.gethostname():
        _signal_after(int(engine), signal.SIGTERM)


def end_with_job() -> None:
    """Have this process, the workflow engine inside a scheduler's job, killed when the job's script has ended.

    When SIGTERM reaches the engine while it handles a failed rule, it waits forever for a lock that it holds itself
    (Snakemake 9.27). Without a parent, it is outside the process tree that some schedulers kill. Unlike
    `mst.bench.measure.processes.end_with_parent`, this waits for a process, not for the thread of it that forked.
    """
    _signal_after(os.getppid(), signal.SIGKILL)


def _signal_after(pid: int, number: int) -> None:
    """Have this process receive a signal when another process of this host has ended, however that happens."""
    try:
        process = os.pidfd_open(pid)
    except OSError:
        return  # Not a process of this host, or of this container; or a kernel before 5.3.

    def wait() -> None:
        select.select([process], [], [])
        os.kill(os.getpid(), number)

    threading.Thread(target=wait, daemon=True).start()


def _raise(number: int, frame: FrameType | None) -> None:
    if _is_in_callback(frame):
        _thread.start_new_thread(_send_later, (number,))
        return
    if number == signal.SIGHUP:
        # The shell of a closed terminal sends a second SIGHUP, which must not interrupt the cleaning up.
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    raise KeyboardInterrupt


def _is_in_callback(frame: FrameType | None) -> bool:
    """Return whether LLVM is calling Python, as it does at the end of compiling: it ignores exceptions from there."""
    while frame is not None and not frame.f_code.co_name.startswith("_raw_object_cache"):
        frame = frame.f_back
    return frame is not None


def _send_later(number: int) -> None:
    sleep(_LATER)
    os.kill(os.getpid(), number)
