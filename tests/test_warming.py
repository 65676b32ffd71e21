"""When a process of a run is warm."""

from __future__ import annotations

import pytest

from mst.bench.samples import still_cold, warm_seconds


@pytest.mark.parametrize(
    ("warm", "share", "cold"),
    [
        ([0.7], 0.1, True),  # it may have been the loading of machine code
        ([3.0], 0.1, False),  # a second such solve is past any budget
        ([3.0], 20.0, True),
        ([0.7, 0.02], 0.2, True),
        ([0.7, 0.02, 0.0201], 0.2, False),
        ([0.7, 0.02, 0.03, 0.02], 9.0, False),
        ([0.7, 0.5], 0.2, False),
    ],
)
def test_the_first_solve_tells_little(warm, share, cold):
    assert still_cold(warm, share) is cold


def test_loading_code_is_not_held_against_a_run():
    assert warm_seconds([0.7, 0.02, 0.03]) == pytest.approx(0.05)
    assert warm_seconds([0.7]) == 0.7
