"""The tidy table and the page, from synthetic records."""

from __future__ import annotations

import csv
from pathlib import Path

import fake_records
import pytest

from mst.bench.records import load_records, table_rows
from mst.reporting.facts import machine_facts
from mst.reporting.page import write_report
from mst.reporting.table import COLUMNS, write_table


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> Path:
    """A folder with records, table.parquet, table.csv, report.html and figures/."""
    root = tmp_path_factory.mktemp("report")
    made = fake_records.write_experiment(root)
    write_table([made["records"]], made["plan"], root / "table.parquet", root / "table.csv")
    write_report(
        table=root / "table.parquet",
        graphs=made["manifests"],
        machines=machine_facts([made["records"]]),
        config=made["config"],
        out=root / "report.html",
        figures_folder=root / "figures",
    )
    return root


def test_every_column_of_a_record_is_in_the_table(report):
    row = next(table_rows(load_records(report / "records")))
    assert {*row, "current"} == set(COLUMNS)


def test_table_holds_every_record_and_every_impossible_run(report):
    import pyarrow.parquet as pq

    rows = pq.read_table(report / "table.parquet").to_pylist()
    records = list(load_records(report / "records"))
    impossible = [row for row in rows if row["status"] in ("unsupported", "unavailable")]
    assert len(rows) == len(records) + len(impossible)
    assert impossible and all(row["reason"] for row in impossible)
    with (report / "table.csv").open(newline="") as file:
        assert len(list(csv.DictReader(file))) == len(rows)
