"""Runs code in other processes, waits for them, and loads scripts, which are in no package."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from types import ModuleType


def run_python(
    code: str, *arguments: object, cwd: Path | None = None, **environment: object
) -> subprocess.CompletedProcess[str]:
    """Run code in a new process, which must succeed, with more variables in its environment."""
    command = [sys.executable, "-c", dedent(code), *map(str, arguments)]
    variables = os.environ | {name: str(value) for name, value in environment.items()}
    done = subprocess.run(command, cwd=cwd, env=variables, capture_output=True, text=True)
    assert done.returncode == 0, (done.returncode, done.stdout[-1000:], done.stderr[-3000:])
    return done


def run_mst(
    *arguments: object, cwd: Path | None = None, input: str | None = None, **environment: object
) -> subprocess.CompletedProcess[str]:
    """Run ``mst`` in a new process, with more variables in its environment; return the ended process."""
    command = [sys.executable, "-m", "mst", *map(str, arguments)]
    variables = os.environ | {name: str(value) for name, value in environment.items()}
    return subprocess.run(
        command, cwd=cwd, env=variables, input=input, capture_output=True, text=True, timeout=120
    )


def wait_until(
    condition: Callable[[], object], seconds: float, *, process: subprocess.Popen | None = None
) -> None:
    """Wait for a condition; fail once these seconds have passed, or if a process ends before."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited for {seconds} s"
        assert process is None or process.poll() is None, process.communicate()
        time.sleep(0.05)


def module_at(file: Path) -> ModuleType:
    """Return a new module with the definitions of a file."""
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
