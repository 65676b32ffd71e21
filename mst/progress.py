"""Progress on standard error: live lines on a terminal, or else a plain line every few seconds.

Only the command line shows progress (`show_progress`); the library only remarks that it has been compiling for two
seconds. Steps of less than two seconds show nothing.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from mst.errors import printable
from mst.units import duration

VARIABLE = "MST_PROGRESS"
"""Environment variable for the seconds between plain lines; 0 shows none."""

_PATIENCE = 2.0
_LIVE_SECONDS = 0.25
_PLAIN_SECONDS = 5.0
PREFIX = "… "
_CLEAR_LINE, _CLEAR_ABOVE = "\r\x1b[K", "\x1b[A\x1b[K"


class Step:
    """A step under way: its text, how much of its `total` is done, and whether its line shows the time."""

    def __init__(self, text: str, total: float | None = None):
        self.text, self.total, self.done = text, total, 0.0
        self.left: float | None = None
        self.timed = True
        self.began = self._updated = time.monotonic()

    def update(self, text: str | None = None, *, done: float | None = None, left: float | None = None) -> None:
        """Set the seconds that are left, and, if given, the text and the part that is done."""
        self.text = self.text if text is None else text
        if done is not None and done != self.done:
            self.done, self._updated = done, time.monotonic()
        self.left = left

    def line(self) -> str:
        """Return the text with the time so far, and the time to go if it can be estimated.

        Examples
        --------
        >>> from mst.progress import Step
        >>> step = Step("rmat-17: kruskal, process 3 of 5")
        >>> step.update(left=200)
        >>> step.line()
        'rmat-17: kruskal, process 3 of 5, 0 s so far, about 3 min 20 s to go'
        """
        if not self.timed:
            return self.text
        elapsed, left = time.monotonic() - self.began, self.left
        if left is None and self.total and self.done:
            # Estimated when the last part was done, and counted down since: a part that takes long does not raise it.
            before = self._updated - self.began
            left = before / self.done * max(self.total - self.done, 0.0) - (elapsed - before)
        to_go = f", about {duration(left)} to go" if left is not None and left >= 1 else ""
        return f"{self.text}, {duration(elapsed)} so far{to_go}"


class _Display:
    """The steps in progress, outermost first; a thread shows the first and the last of them."""

    def __init__(self, plain_seconds: float, verbose: bool):
        self.steps: list[Step] = []
        self._plain_seconds, self._verbose = plain_seconds, verbose
        self._patience = 0.0 if verbose else _PATIENCE
        self._lock = threading.RLock()
        self._ended = threading.Event()
        self._live = 0
        self._shown = 0.0
        threading.Thread(target=self._run, daemon=True).start()

    def begin(self, step: Step) -> None:
        with self._lock:
            self.steps.append(step)

    def end(self, step: Step) -> None:
        with self._lock:
            self.steps.remove(step)
            if self._verbose or not self.steps:
                self.clear()
            if self._verbose:
                _write(f"{PREFIX}{printable(step.text)}: {time.monotonic() - step.began:.2f} s\n")

    def close(self) -> None:
        self._ended.set()
        self.clear()

    def clear(self) -> None:
        """Remove the live lines, so that other text can be written."""
        with self._lock:
            if self._live:
                _write(_CLEAR_LINE + _CLEAR_ABOVE * (self._live - 1))
                self._live = 0

    def _run(self) -> None:
        while not self._ended.wait(_LIVE_SECONDS):
            with self._lock:
                if self.steps and time.monotonic() - self.steps[0].began >= self._patience:
                    self._show()

    def _show(self) -> None:
        lines = [printable(step.line()) for step in dict.fromkeys((self.steps[0], self.steps[-1]))]
        if sys.stderr.isatty():
            width = shutil.get_terminal_size().columns - 1
            self.clear()
            _write("\n".join(f"{PREFIX}{line}"[:width] for line in lines))
            self._live = len(lines)
        elif self._plain_seconds and time.monotonic() - self._shown >= self._plain_seconds:
            self._shown = time.monotonic()
            _write(f"{PREFIX}{'; '.join(lines)}\n")


_display: _Display | None = None
_silent = False


@contextmanager
def silence() -> Iterator[None]:
    """Show neither progress nor remarks in the block."""
    global _silent
    before, _silent = _silent, True
    try:
        yield
    finally:
        _silent = before


def remark(text: str, file: TextIO | None = None) -> None:
    """Print a line that is not a result to standard error, or to `file`; print nothing within `silence`."""
    file = file or sys.stderr
    # If there is no standard error, as in a daemon, print would use standard output.
    if not _silent and file is not None and not getattr(file, "closed", False):
        print(text, file=file)


@contextmanager
def show_progress(*, verbose: bool = False) -> Iterator[None]:
    """Show progress during the block: without a terminal, a line every ``$MST_PROGRESS`` seconds (by default, 5).

    With `verbose`, progress begins at once, and the time of each step is printed when it ends.
    """
    global _display
    if _display is not None:
        yield
        return
    named = os.environ.get(VARIABLE, "")
    seconds = float(named) if named.replace(".", "", 1).isdecimal() else _PLAIN_SECONDS
    _display = _Display(seconds, verbose)
    try:
        yield
    finally:
        _display.close()
        _display = None


def mark(text: str) -> bool:
    """Put `text` in brackets after the innermost step's text, if it is not there; return whether a step is shown."""
    steps = _display.steps if _display is not None else []
    if steps and not steps[-1].text.endswith(f" ({text})"):
        steps[-1].update(f"{steps[-1].text} ({text})")
    return bool(steps)


@contextmanager
def step(text: str, *, total: float | None = None) -> Iterator[Step]:
    """Show `text` as progress during the block, and the time to go by the part of `total` that is done.

    Examples
    --------
    >>> from mst.progress import step
    >>> with step("reading", total=100) as reading:
    ...     reading.update(done=50)
    """
    shown, display = Step(text, total), _display
    if display is None:
        yield shown
        return
    display.begin(shown)
    try:
        yield shown
    finally:
        display.end(shown)


def clear() -> None:
    """Remove live lines before other text is written; later live lines follow that text."""
    if _display is not None:
        _display.clear()


def _write(text: str) -> None:
    # Bypasses the command line's escaping of control characters.
    stream = getattr(sys.stderr, "unescaped", sys.stderr)
    stream.write(text)
    stream.flush()
