"""SIGTERM is handled like an interruption, so that unfinished work is cleaned up."""

from __future__ import annotations

import os
import signal
import socket

WORKFLOW = "MST_WORKFLOW"
"""Variable with the host and the process of the workflow engine that starts commands."""


def name_workflow() -> None:
    """Name this process, that of a workflow engine, to the commands that it starts."""
    os.environ[WORKFLOW] = f"{socket.gethostname()} {os.getpid()}"


def interrupt_on_sigterm() -> None:
    """Raise `KeyboardInterrupt` when this process receives SIGTERM."""
    signal.signal(signal.SIGTERM, _raise)


def interrupt_with_workflow() -> None:
    """Raise `KeyboardInterrupt` on SIGTERM and when the workflow engine that started this process has ended.

    The engine starts commands through shells, which a killed engine leaves behind.
    """
    from mst.bench.measure.processes import interrupt_after

    interrupt_on_sigterm()
    host, _, engine = os.environ.get(WORKFLOW, "").rpartition(" ")
    if host == socket.gethostname():
        interrupt_after(int(engine))


def _raise(*_: object) -> None:
    raise KeyboardInterrupt
