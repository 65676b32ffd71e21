"""Processes that draw pictures: what they give, and how they fail."""

from __future__ import annotations

import os
import pickle
import subprocess
import threading
from functools import partial

import pytest

from mst.errors import MSTError
from mst.reporting.charts.painters import one_by_one, painters


def test_answers_come_in_the_order_of_the_tasks_from_other_processes():
    tasks = [partial(divmod, i, 7) for i in range(40)]
    with painters(3) as paint:
        found = paint([*tasks, os.getpid])
        assert paint(tasks[:3]) == found[:3]
    assert found[:40] == one_by_one(tasks) and found[40] != os.getpid()


def test_several_draw_at_once(tmp_path):
    wait = ["sh", "-c", f"while [ ! -e {tmp_path}/there ]; do sleep 0.02; done"]
    with painters(2) as paint:
        # The first is done only once the second is.
        paint([partial(subprocess.run, wait, timeout=60, check=True), (tmp_path / "there").touch])


def test_one_core_draws_by_itself():
    with painters(1) as paint:
        assert paint is one_by_one and paint([os.getpid]) == [os.getpid()]


def test_what_a_task_prints_goes_elsewhere(capfd):
    with painters(2) as paint:
        assert paint([partial(print, "words"), partial(os.write, 1, b"bytes")]) == [None, 5]
    told = capfd.readouterr()
    assert told.out == "" and "words" in told.err and "bytes" in told.err


def test_an_error_comes_back_with_where_it_was_raised_and_the_others_go_on():
    with painters(2) as paint:
        with pytest.raises(ZeroDivisionError) as raised:
            paint([partial(divmod, 1, 0), *[partial(divmod, 1, 1)] * 5])
        assert "in _serve" in "".join(raised.value.__notes__)
        assert paint([partial(divmod, 9, 2)] * 4) == [(4, 1)] * 4


def test_a_process_that_ends_is_told():
    with pytest.raises(MSTError, match="ended early, with status 3"), painters(2) as paint:
        paint([partial(os._exit, 3)])


def test_what_cannot_be_sent_is_refused_and_breaks_nothing():
    # Which of these it is differs between versions of Python.
    refused = pytest.raises((pickle.PicklingError, TypeError, AttributeError))
    with painters(2) as paint:
        with refused:
            paint([lambda: 1])
        with refused:
            paint([threading.Lock])
        assert paint([partial(divmod, 9, 2)] * 4) == [(4, 1)] * 4


def test_no_process_is_left_when_drawing_is_broken_off():
    with pytest.raises(KeyboardInterrupt), painters(2) as paint:
        found = set(paint([os.getpid] * 20))
        raise KeyboardInterrupt
    for process in found:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)
