"""Fork servers: processes, pinned to a width, that fork the runs' templates (see `mst.bench.measure`)."""

from __future__ import annotations

import contextlib
import functools
import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from mst import registry
from mst.bench.machine import cores_first
from mst.bench.measure.messages import MessageReader, RunSpec, send
from mst.bench.measure.processes import (
    adopt_orphans,
    continue_without_parent,
    end_descendants,
    end_tree,
    end_with_parent,
    exit_after,
    module_command,
    pinned_environment,
)
from mst.bench.measure.template import serve_run
from mst.bench.measure.warm_up import compile_kernels
from mst.execute import implementation_of
from mst.graph import Graph

_CLOSE_SECONDS = 5.0


class ForkServer:
    """The runner's side of a fork server: starts it, sends commands, receives events.

    The server and its descendants may use `width` processors; its output goes to a file in `scratch`.
    """

    def __init__(self, width: int, scratch: Path):
        cpus = cores_first(os.sched_getaffinity(0))[:width]

        def confine() -> None:
            os.sched_setaffinity(0, cpus)
            adopt_orphans()
            continue_without_parent()

        self._log = scratch / f"fork-server-{width}.log"
        events, its_events = os.pipe()
        its_commands, self._commands = os.pipe()
        self._reader = MessageReader(events)
        self._unread: dict[int, list[dict[str, Any]]] = {}
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                module_command("mst.bench.measure.fork_server", str(its_events), str(its_commands)),
                env={**os.environ, **pinned_environment(width)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(its_events, its_commands),
                start_new_session=True,
                preexec_fn=confine,
            )
        os.close(its_events)
        os.close(its_commands)

    @property
    def running(self) -> bool:
        """Whether the process is alive."""
        return self._process.poll() is None

    def output(self) -> str:
        """Return the end of its output."""
        return self._log.read_bytes()[-500:].decode(errors="replace")

    def send(self, run: int, command: str, **values: Any) -> None:
        """Send a command for a run, unless the server has ended."""
        with contextlib.suppress(BrokenPipeError):
            send(self._commands, run=run, command=command, **values)

    def events(self, run: int, seconds: float) -> list[dict[str, Any]] | None:
        """Return a run's events in the next `seconds`, as soon as there are any; None if no more will come.

        Events of other runs are kept until requested.
        """
        if run not in self._unread and select.select([self._reader.descriptor], [], [], seconds)[0]:
            if (received := self._reader.read()) is None:
                return None
            for event in received:
                self._unread.setdefault(event.pop("run"), []).append(event)
        return self._unread.pop(run, [])

    def close(self) -> None:
        """End the server and everything it started."""
        os.close(self._commands)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_CLOSE_SECONDS)
        end_tree(self._process.pid)
        self._process.wait()
        os.close(self._reader.descriptor)


class _Templates:
    """The server's side: the templates it has forked, and the pipes to them."""

    def __init__(self, events: int, commands: int, woken: int, wake: int):
        self._events = events
        self._commands: dict[int, int] = {}
        self._run_of: dict[int, int] = {}
        self._inherited = [commands, woken, wake]

    def open(self, run: int, spec: dict[str, Any], log: str) -> None:
        """Fork the template of a run."""
        its_commands, commands = os.pipe()
        pid = os.fork()
        if pid == 0:
            for descriptor in (commands, *self._commands.values(), *self._inherited):
                os.close(descriptor)
            self._become_template(run, spec, log, its_commands)
        os.close(its_commands)
        self._commands[run], self._run_of[pid] = commands, run

    def _become_template(self, run: int, spec: dict[str, Any], log: str, commands: int) -> None:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        end_with_parent()
        adopt_orphans()
        os.setpgid(0, 0)
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.close(output)

        def emit(event: str, **values: Any) -> None:
            send(self._events, run=run, event=event, **values)

        exit_after(functools.partial(serve_run, RunSpec(**spec), commands, emit))

    def pass_on(self, run: int, command: str) -> None:
        """Tell a run's template to end, or send it another command, unless it has ended."""
        if command == "close":
            os.close(self._commands.pop(run))
            return
        with contextlib.suppress(BrokenPipeError):
            send(self._commands[run], command=command)

    def reap(self) -> None:
        """Report templates that have ended, each with its exit code or minus its signal."""
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                pid, status = ended
                if pid in self._run_of:
                    run, code = self._run_of.pop(pid), os.waitstatus_to_exitcode(status)
                    send(self._events, run=run, event="exited", code=code)


def main(events: str, commands: str) -> None:
    """Serve until no more commands can come, even if the runner was killed; then end everything started.

    The arguments are the file descriptors of the pipes to and from the runner.
    """
    _warm_up()
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    reader = MessageReader(int(commands))
    templates = _Templates(int(events), reader.descriptor, woken, wake)
    while True:
        ready = select.select([reader.descriptor, woken], [], [])[0]
        if woken in ready:
            os.read(woken, 1 << 10)
            templates.reap()
        if reader.descriptor not in ready:
            continue
        if (received := reader.read()) is None:
            end_descendants()
            return
        for message in received:
            run, command = message["run"], message["command"]
            if command == "open":
                templates.open(run, message["spec"], message["log"])
            else:
                templates.pass_on(run, command)


def _warm_up() -> None:
    """Import and compile code every run needs: most of the time goes to numba's first compilation."""
    with contextlib.suppress(ImportError):
        import pyarrow  # noqa: F401
    algorithm = registry.get("kruskal")
    # This algorithm's own run reports its errors.
    with contextlib.suppress(Exception):
        none = np.empty(0, np.int32)
        compile_kernels(implementation_of(algorithm), Graph(0, none, none, none), 1, algorithm.resolve())


if __name__ == "__main__":
    main(*sys.argv[1:])
