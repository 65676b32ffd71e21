"""Processes that draw figures: the order of their results, and their failures."""

from __future__ import annotations

import os
import pickle
import subprocess
import threading
from functools import partial

import pytest

from mst.errors import MSTError
from mst.reporting.charts import workers as drawing
from mst.reporting.charts.workers import one_by_one, workers


@pytest.fixture
def plain(monkeypatch):
    """Processes that do not load matplotlib first: they draw nothing here."""
    monkeypatch.setattr(drawing, "_begin", os.getpid)


@pytest.mark.slow
def test_results_come_in_the_order_of_the_tasks_from_other_processes():
    tasks = [partial(divmod, i, 7) for i in range(40)]
    with workers(3) as run:
        found = run([*tasks, os.getpid])
        assert run(tasks[:3]) == found[:3]
    assert found[:40] == one_by_one(tasks) and found[40] != os.getpid()


@pytest.mark.slow
@pytest.mark.usefixtures("plain")
def test_two_workers_run_at_the_same_time(tmp_path):
    wait = ["sh", "-c", f"while [ ! -e {tmp_path}/there ]; do sleep 0.02; done"]
    with workers(2) as run:
        # The first is done only once the second is.
        run([partial(subprocess.run, wait, timeout=60, check=True), (tmp_path / "there").touch])


def test_one_core_draws_in_this_process():
    with workers(1) as run:
        assert run is one_by_one and run([os.getpid]) == [os.getpid()]


@pytest.mark.slow
@pytest.mark.usefixtures("plain")
def test_error_names_the_workers_line_and_later_runs_succeed():
    with workers(2) as run:
        with pytest.raises(ZeroDivisionError) as raised:
            run([partial(divmod, 1, 0), *[partial(divmod, 1, 1)] * 5])
        assert "in _process_worker" in str(raised.value.__cause__)
        assert run([partial(divmod, 9, 2)] * 4) == [(4, 1)] * 4


@pytest.mark.slow
@pytest.mark.usefixtures("plain")
def test_worker_that_ends_early_is_an_error():
    with pytest.raises(MSTError, match="ended early"), workers(2) as run:
        run([partial(os._exit, 3)])


@pytest.mark.slow
@pytest.mark.usefixtures("plain")
def test_unserialisable_task_is_refused_and_later_runs_succeed():
    # Which of these it is differs between versions of Python.
    refused = pytest.raises((pickle.PicklingError, TypeError, AttributeError))
    with workers(2) as run:
        with refused:
            run([lambda: 1])
        with refused:
            run([threading.Lock])
        assert run([partial(divmod, 9, 2)] * 4) == [(4, 1)] * 4


@pytest.mark.slow
@pytest.mark.usefixtures("plain")
def test_interrupted_drawing_leaves_no_process():
    with pytest.raises(KeyboardInterrupt), workers(2) as run:
        found = set(run([os.getpid] * 20))
        raise KeyboardInterrupt
    for process in found:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)
