"""The output of other programs, which may be missing or fail."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from typing import Any


def output_of(command: Sequence[str], timeout: float = 20.0, **options: Any) -> str:
    """Return the standard output of a command; nothing where it cannot be run or takes longer than `timeout` seconds.

    `options` are those of `subprocess.run`; with ``check=True`` the output of a command that fails is dropped, too.

    >>> output_of(["echo", "there"]), output_of(["no-such-program"])
    ('there\\n', '')
    """
    given = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, **options}
    try:
        return subprocess.run(command, text=True, timeout=timeout, **given).stdout
    except (OSError, subprocess.SubprocessError):
        return ""
