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


@pytest.fixture(scope="session")
def report(tmp_path_factory) -> Path:
    """A folder with records, table.parquet, table.csv, report.html and figures/."""
    import fake_records

    from mst.reporting.facts import machine_facts
    from mst.reporting.page import write_report
    from mst.reporting.table import write_table

    root = tmp_path_factory.mktemp("report")
    made = fake_records.write_experiment(root, graphs=fake_records.GRAPHS[:3])
    write_table([made["records"]], made["plan"], root / "table.parquet", root / "table.csv")
    write_report(
        table=root / "table.parquet",
        graphs=made["manifests"],
        machines=machine_facts([made["records"]]),
        config=made["config"],
        out=root / "report.html",
        figures_folder=root / "figures",
        records=[made["records"]],
    )
    return root
