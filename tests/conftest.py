"""Shared fixtures: the mirror of real graphs, small random graphs, an isolated configuration."""

from __future__ import annotations

import os
from pathlib import Path

import hypothesis
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent

hypothesis.settings.register_profile("default", deadline=None, max_examples=60)
hypothesis.settings.register_profile("ci", deadline=None, max_examples=60, derandomize=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "default")


@pytest.fixture(scope="session")
def mirror() -> Path:
    """Folder of real graph files, or a skip where there is none."""
    named = os.environ.get("MST_MIRROR")
    folder = Path(named) if named else ROOT.parent / "shared" / "graphs"
    if not (folder / "MANIFEST.csv").is_file():
        pytest.skip("no mirror of real graphs: set MST_MIRROR to a folder that has them")
    return folder.resolve()


@pytest.fixture
def rng(request) -> np.random.Generator:
    """A generator seeded by the test's name, so that every test is repeatable on its own."""
    return np.random.default_rng(list(request.node.name.encode()))
