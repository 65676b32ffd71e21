"""Being told to end is an interruption like any other: what was begun is cleared away."""

from __future__ import annotations

import signal


def interrupt_on_sigterm() -> None:
    """Raise `KeyboardInterrupt` when this process is told to end."""
    signal.signal(signal.SIGTERM, _raise)


def _raise(*_: object) -> None:
    raise KeyboardInterrupt
