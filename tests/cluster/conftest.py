"""A SLURM of two nodes for the tests of this folder."""

from __future__ import annotations

import pytest
import slurm as slurm_of_the_tests


@pytest.fixture(scope="session")
def daemons(tmp_path_factory):
    """A running SLURM, or a skip with the reason why there is none."""
    if reason := slurm_of_the_tests.missing():
        pytest.skip(reason)
    running = slurm_of_the_tests.Slurm(tmp_path_factory.mktemp("cluster") / "slurm")
    try:
        running.start()
        yield running
    finally:
        running.stop()


@pytest.fixture
def slurm(daemons):
    """The running SLURM; after the test it has both its nodes and no jobs, even if the test failed."""
    yield daemons
    daemons.clean()
