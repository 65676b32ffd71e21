"""Pictures drawn by several processes at once: matplotlib takes some 0.2 s for each, and pages have over a hundred.

A process of this module reads tasks from its standard input and answers on its standard output, both pickled.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any

from mst.errors import MSTError
from mst.reporting.charts.style import setup

Task = Callable[[], Any]
Paint = Callable[[Sequence[Task]], list[Any]]

MOST = 4
"""Processes at once; each takes some 200 MB."""


def one_by_one(tasks: Sequence[Task]) -> list[Any]:
    """Return what the tasks give, in their order, drawn by this process."""
    setup()
    return [task() for task in tasks]


@contextmanager
def painters(cores: int) -> Iterator[Paint]:
    """Give a function like `one_by_one` that has up to `MOST` processes draw, as many as there are cores."""
    count = min(cores, MOST)
    if count < 2:
        yield one_by_one
        return
    started = [_start() for _ in range(count)]
    idle: SimpleQueue[subprocess.Popen] = SimpleQueue()
    for process in started:
        idle.put(process)

    def drawn(task: Task) -> Any:
        process = idle.get()
        try:
            return _asked(process, task)
        finally:
            idle.put(process)

    threads = ThreadPoolExecutor(count)
    try:
        yield lambda tasks: list(threads.map(drawn, tasks))
    finally:
        # Threads wait for the processes, so these end first.
        for process in started:
            process.kill()
        threads.shutdown(cancel_futures=True)
        for process in started:
            process.communicate()


def _start() -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "mst.reporting.charts.painters"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )


def _asked(process: subprocess.Popen, task: Task) -> Any:
    assert process.stdin is not None and process.stdout is not None
    sent = pickle.dumps(task)
    try:
        process.stdin.write(sent)
        process.stdin.flush()
        drawn, value = pickle.load(process.stdout)
    except (EOFError, OSError):
        raise MSTError(f"a process that draws pictures ended early, with status {process.wait()}") from None
    if not drawn:
        raise value
    return value


def _serve() -> None:
    """Answer tasks until there are no more; what they print goes to standard error."""
    # An interrupt is for the process that asks.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    tasks, answers = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    setup()
    while True:
        try:
            task = pickle.load(tasks)
        except EOFError:
            return
        try:
            answer = pickle.dumps((True, task()))
        except Exception as error:
            error.add_note(traceback.format_exc())
            answer = pickle.dumps((False, error))
        answers.write(answer)
        answers.flush()


if __name__ == "__main__":
    _serve()
