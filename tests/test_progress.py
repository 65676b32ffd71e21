"""Progress on standard error: what is shown when, with a terminal and without one."""

from __future__ import annotations

import io
import time

import pytest
from scripts import wait_until

from mst import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    monkeypatch.setattr(progress, "_LIVE_SECONDS", 0.01)
    monkeypatch.setenv(progress.VARIABLE, "0.01")


def shown(stream: io.StringIO, text: str) -> str:
    """Wait for a text on a stream; return all that was written."""
    wait_until(lambda: text in stream.getvalue(), 20)
    return stream.getvalue()


def test_plain_lines_hold_the_outermost_and_the_innermost_step(impatient, monkeypatch):
    monkeypatch.setattr("sys.stderr", stream := io.StringIO())
    with (
        progress.show_progress(),
        progress.step("default experiment", total=4) as whole,
        progress.step("between"),
        progress.step("rmat-17: kruskal, process 3 of 5") as run,
    ):
        whole.update(done=2)
        run.update(left=90)
        written = shown(stream, "1 min 30 s to go")
    assert "default experiment, 0 s so far" in written and "between" not in written and "\x1b" not in written


def test_live_lines_are_cleared_for_other_output_and_at_the_end(impatient, monkeypatch):
    monkeypatch.setattr("sys.stderr", stream := Terminal())
    with progress.show_progress(), progress.step("whole\x1b[2J"), progress.step("part"):
        written = shown(stream, "… part")
        assert "whole\\x1b[2J" in written
        progress.clear()
        assert stream.getvalue().endswith("\r\x1b[K\x1b[A\x1b[K")
    length = len(stream.getvalue())
    time.sleep(0.05)
    assert len(stream.getvalue()) == length


def test_nothing_is_shown_of_short_steps_nor_by_the_library(monkeypatch):
    monkeypatch.setattr("sys.stderr", stream := io.StringIO())
    with progress.show_progress(), progress.step("short"):
        time.sleep(0.3)
    with progress.step("library"):
        pass
    assert stream.getvalue() == ""


def test_a_variable_that_is_no_number_is_ignored(monkeypatch):
    monkeypatch.setenv(progress.VARIABLE, "²")
    with progress.show_progress(), progress.step("short"):
        pass


def test_the_time_to_go_falls_while_a_part_lasts_and_is_not_shown_below_a_second(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    step = progress.Step("runs", total=10)
    now[0] += 20
    step.update(done=2)
    assert step.line() == "runs, 20 s so far, about 1 min 20 s to go"
    now[0] += 30
    step.update("runs, the third")
    assert step.line() == "runs, the third, 50 s so far, about 50 s to go"
    now[0] += 60
    assert step.line() == "runs, the third, 1 min 50 s so far"
    step.update(left=0.4)
    assert "to go" not in step.line()


def test_remarks_without_a_standard_error_are_dropped(monkeypatch, capsys):
    closed = io.StringIO()
    closed.close()
    for stream in (None, closed):
        monkeypatch.setattr("sys.stderr", stream)
        progress.remark("compiling")
    assert capsys.readouterr().out == ""
