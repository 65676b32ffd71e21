"""Times of different sessions: a machine of the same name may be another host, whose speed differs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from mst.reporting.papers.evidence import DRIFT, DRIFT_OF_GPU, PAUSE, sessions
from mst.reporting.papers.formula import Leaf, Names, Source, evaluate

MORNING, NIGHT = ("morning", DRIFT), ("night", DRIFT)
NINE = tuple(np.linspace(0.99, 1.01, 9))


class TwoRuns(Source):
    """A source of the times of two algorithms, each with its session and, unlike these, alike in all."""

    def __init__(self, first, second):
        self.of = {"kruskal": first, "boruvka": second}

    def leaf(self, quantity, selection, graph, name=""):
        return Leaf(1.0, NINE, session=self.of[selection.algorithm])

    def has(self, graph):
        return True

    measured = has


def width(first, second, formula='T("kruskal", "g") / T("boruvka", "g")'):
    found = evaluate(formula, TwoRuns(first, second), Names({"G": ("g", "h")}))
    assert found.low <= found.value <= found.high
    return found.high / found.low


def test_times_of_one_session_are_compared_as_they_are():
    assert width(NIGHT, NIGHT) == width(None, None) < 1.05


def test_times_of_two_sessions_differ_by_the_speeds_of_both():
    expected = np.exp(2 * 1.96 * DRIFT * 2**0.5)
    assert width(MORNING, NIGHT) == pytest.approx(expected, rel=0.1)
    on_gpu = width(("morning", DRIFT_OF_GPU), ("night", DRIFT_OF_GPU))
    assert width(None, None) < on_gpu < width(MORNING, NIGHT)


def test_a_mean_over_graphs_is_as_uncertain_as_the_sessions_that_all_share():
    mean = 'gm(T("kruskal", g) / T("boruvka", g) for g in G)'
    assert width(MORNING, NIGHT, mean) == pytest.approx(width(MORNING, NIGHT), rel=0.05)
    assert width(NIGHT, NIGHT, mean) < 1.05


def test_a_long_pause_begins_another_session():
    start = datetime(2026, 11, 26, 4, tzinfo=UTC)

    def record(name, minutes, algorithm="kruskal", paradigm="sequential"):
        began = start + timedelta(minutes=minutes)
        stamps = {"started": began.isoformat(), "created": (began + timedelta(minutes=3)).isoformat()}
        measurement = {**stamps, "run": {"paradigm": paradigm}}
        return SimpleNamespace(
            path=Path(name), run=SimpleNamespace(algorithm=algorithm), measurement=measurement
        )

    pause = 3 + PAUSE / timedelta(minutes=1)
    on_gpu = (
        record("b", pause, "edge-boruvka-cuda", "cuda"),
        record("d", 4 + 2 * pause, "command-ecl-mst", "cuda"),
    )
    found = sessions([record("c", 4 + 2 * pause), record("a", 0), *on_gpu])
    (a, of_a), (b, of_b), (c, of_c), (d, of_d) = (found[Path(name)] for name in "abcd")
    assert a == b != c == d
    assert (of_a, of_b, of_c, of_d) == (DRIFT, DRIFT_OF_GPU, DRIFT, DRIFT_OF_GPU)
