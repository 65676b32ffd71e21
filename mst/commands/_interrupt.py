"""SIGTERM is handled like an interruption, so that unfinished work is cleaned up."""

from __future__ import annotations

import signal


def interrupt_on_sigterm() -> None:
    """Raise `KeyboardInterrupt` when this process receives SIGTERM."""
    signal.signal(signal.SIGTERM, _raise)


def _raise(*_: object) -> None:
    raise KeyboardInterrupt
