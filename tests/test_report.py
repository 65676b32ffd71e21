"""The tidy table and the page, from synthetic records."""

from __future__ import annotations

import csv
import html
import json
import re

import jinja2
import pandas as pd
import pytest
from jinja2 import meta

from mst.bench.records.check import check_table
from mst.bench.records.store import load_records, table_rows
from mst.errors import MSTError
from mst.reporting import data
from mst.reporting.charts import figures
from mst.reporting.charts.axes import slug
from mst.reporting.charts.figures import draw_all
from mst.reporting.charts.style import colours
from mst.reporting.hardware import approximate
from mst.reporting.page.build import write_report
from mst.reporting.page.sections import FOLDER, Shown, frame, sections
from mst.reporting.papers.section import Papers
from mst.reporting.table import COLUMNS, write_table
from mst.units import count, seconds, size, times


@pytest.fixture(scope="module")
def rows(report) -> pd.DataFrame:
    return data.prepare(pd.read_parquet(report / "table.parquet"), "kruskal")


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


def test_only_planned_leaves_out_unplanned_records(report, tmp_path):
    plan = [{"graph": "com-youtube", "algorithm": "kruskal", "options": "default", "status": "planned"}]
    write_table([report / "records"], plan, tmp_path / "t.parquet", tmp_path / "t.csv", only_planned=True)
    kept = pd.read_parquet(tmp_path / "t.parquet")
    assert len(kept) and set(kept["graph"]) == {"com-youtube"} and set(kept["algorithm"]) == {"kruskal"}


def test_only_planned_keeps_the_stand_ins_of_planned_graphs(report, tmp_path):
    plan = [
        {
            "graph": "twitter",
            "algorithm": "kruskal",
            "options": "default",
            "status": "unsupported",
            "reason": "x",
        }
    ]
    files = tmp_path / "t.parquet", tmp_path / "t.csv"
    for others, graphs in (
        ({}, {"twitter"}),
        ({"twitter": "com-youtube", "a": "b"}, {"twitter", "com-youtube"}),
    ):
        write_table([report / "records"], plan, *files, only_planned=True, stand_ins=others)
        kept = pd.read_parquet(files[0])
        assert set(kept["graph"]) == graphs and set(kept["algorithm"]) == {"kruskal"}


def test_only_proved_runs_of_granted_width_are_shown(rows):
    shown = rows[rows["shown"]]
    assert len(shown) and (shown["status"] == "ok").all() and shown["grade"].notna().all()
    assert not shown["oversubscribed"].any()
    hidden = rows[(rows["status"] == "ok") & ~rows["shown"]]
    assert len(hidden), "the synthetic experiment has an unproved or oversubscribed run"


def test_speedup_is_over_the_baseline_of_the_same_machine_and_graph(rows):
    some = rows[rows["speedup"].notna()]
    for row in some.sample(20, random_state=0).itertuples():
        base = rows[
            (rows["machine"] == row.machine)
            & (rows["graph"] == row.graph)
            & (rows["algorithm"] == "kruskal")
            & (rows["options"] == "default")
            & rows["shown"]
        ]["compute_seconds"].item()
        assert row.speedup == pytest.approx(base / row.compute_seconds)


def test_self_speedup_of_width_one_is_one(rows):
    narrow = rows[rows["self_speedup"].notna() & (rows["width"] == 1)]
    assert len(narrow) and narrow["self_speedup"].to_numpy() == pytest.approx(1.0)


def test_best_is_exact_and_the_smallest(rows):
    for best in data.best_of_each(rows).itertuples():
        group = rows[(rows["machine"] == best.machine) & (rows["graph"] == best.graph) & rows["shown"]]
        exact = group[~group["algorithm"].isin(approximate())]
        assert best.compute_seconds == exact["compute_seconds"].min()
        assert best.algorithm not in approximate()


def test_matrix_shows_the_worst_of_an_algorithms_runs(rows):
    graphs, lines = data.matrix(rows)
    wrong = rows[rows["status"] == "wrong"]
    assert len(wrong)
    for row in wrong.itertuples():
        cells = next(
            c for machine, algorithm, c in lines if (machine, algorithm) == (row.machine, row.algorithm)
        )
        cell = cells[graphs.index(row.graph)]
        assert cell is not None and cell.kind == "wrong" and cell.reason == row.reason


def test_local_records_come_before_references(rows, tmp_path):
    reference = rows.assign(origin=rows["origin"].where(rows["machine"] == "fake-gpu-box", "reference"))
    machines = ["fake-gpu-box", "fake-cluster", "fake-desktop"]
    assert data.machines_of(reference) == machines
    assert list(dict.fromkeys(machine for machine, _, _ in data.matrix(reference)[1])) == machines
    panels = {
        figure.name: [name for name, _ in figure.panels] for figure in draw_all(reference, tmp_path, "kruskal")
    }
    for name in ("throughput", "speedup", "memory", "self-speedup", "scaling"):
        # Not every machine ran kruskal, and so has a speedup over it.
        expected = [f"{name}-{machine}" for machine in machines if f"{name}-{machine}" in panels[name]]
        assert panels[name] == expected and len(expected) > 1
    assert panels["landscape"][0] == "landscape-fake-gpu-box"
    own = rows[rows["machine"] == "fake-gpu-box"]
    measured = {slug(f"time-fake-gpu-box-{graph}") for graph in own[own["shown"]]["graph"]}
    assert set(panels["time"][: len(measured)]) == measured and len(panels["time"]) > len(measured)
    shown = Shown(reference, [], [], {"scope": "default"}, "kruskal", [])
    here, _, elsewhere = frame(shown)["counts"].partition(" Reference measurements: ")
    assert here.startswith(f"{(own['status'] == 'ok').sum()} runs of ") and " and 1 machine; " in here
    assert " and 2 machines; " in elsewhere
    (verification,) = (part for part in sections(shown) if part.template == "verification")
    first, second = verification.context(shown)["matrices"]
    assert {machine for machine, _, _ in first[3]} == {"fake-gpu-box"} and set(first[2]) == set(own["graph"])
    assert {machine for machine, _, _ in second[3]} == set(machines[1:])


def test_panels_have_a_limited_number_of_rows_and_lines(rows, tmp_path, monkeypatch):
    before = {figure.name: figure for figure in draw_all(rows, tmp_path, "kruskal")}
    assert not any(figure.note for name, figure in before.items() if name != "scaling")
    for name, most in (("MOST_SERIES", 5), ("MOST_LINES", 3), ("MOST_TIMES", 4)):
        monkeypatch.setattr(figures, name, most)
    after = {figure.name: figure for figure in draw_all(rows, tmp_path, "kruskal")}
    assert len(after["time"].panels) == 4 < len(before["time"].panels)
    shown = rows[rows["shown"] & (rows["machine"] == "fake-desktop")]
    algorithms = set(shown["algorithm"])
    drawn = [
        text for text in words(after["throughput"], "fake-desktop") if text.partition(" ")[0] in algorithms
    ]
    assert len(set(shown["series"])) > len(algorithms) == len(drawn), "one row of each algorithm"
    at_defaults = set(shown[shown["options"] == "default"]["algorithm"])
    assert not any("[" in label for label in drawn if label.partition(" ")[0] in at_defaults)
    lines = [text for text in words(after["scaling"], "fake-desktop") if text in algorithms]
    assert len(lines) == 3 and "kruskal" in lines
    assert "over 5 rows" in after["throughput"].note and "At most 3" in after["scaling"].note


def words(figure, machine: str) -> list[str]:
    """Return the texts of a machine's panel."""
    svg = dict(figure.panels)[f"{figure.name}-{machine}"]
    return [html.unescape(text) for text in re.findall(r"<text[^>]*>([^<]+)</text>", svg)]


def test_chart_shows_the_baseline_and_the_fastest_of_each_paradigm(rows):
    shown = rows[rows["shown"] & (rows["machine"] == "fake-desktop")]
    chosen = data.representative(shown, "kruskal", 4)
    assert chosen[0] == "kruskal" and len(chosen) == len(set(chosen)) == 4
    everything = data.representative(shown, "kruskal", 100)
    counts = shown.groupby("algorithm")["graph"].nunique()
    assert set(everything) == set(counts[counts >= counts.max() / 2].index)
    assert {*shown.set_index("algorithm").loc[everything, "paradigm"]} == {
        *shown.set_index("algorithm").loc[chosen, "paradigm"]
    }, "each paradigm has one among the first"
    assert data.representative(shown.iloc[:0], "kruskal", 4) == []


def test_colours_do_not_depend_on_the_records():
    alone, together = colours(["kruskal"]), colours(["boruvka", "kruskal", "scipy", "unheard-of"])
    assert alone["kruskal"] == together["kruskal"]
    assert together["boruvka"] != together["kruskal"]


def test_page_is_self_contained_and_whole(report):
    page = (report / "report.html").read_text()
    assert len(page) < 8_000_000
    assert not re.search(r"""(?:src|href)=["'](?:https?:)?//""", page)
    assert "@import" not in page and "url(http" not in page
    for heading in (
        "Verification",
        "Throughput",
        "Self-speedup",
        "Working memory",
        "All records",
        "Method",
        "Noise",
        "Fastest by hardware and kind of graph",
        "Explorer",
        "From one core to all hardware",
        "Provenance",
        "How to cite",
    ):
        assert heading in page
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids)), "ids are unique"
    for anchor in re.findall(r'href="#([^"]+)"', page):
        assert anchor in ids


def test_page_of_nothing_measured_says_so(tmp_path):
    plan = [dict(machine="m", graph="g", algorithm="kruskal", options="default", width=1, paradigm="sequential",
                 status="unavailable", reason="no location has it")]  # fmt: skip
    write_table([], plan, tmp_path / "table.parquet", tmp_path / "table.csv")
    write_report(
        table=tmp_path / "table.parquet", graphs=[], config={"scope": "graphs/g"},
        out=tmp_path / "report.html",
    )  # fmt: skip
    page = (tmp_path / "report.html").read_text()
    assert page.count("Nothing has been measured and proved yet.") == 2
    assert "no location has it" in page and "not measured" in page


def test_sections_hold_their_own_content_only(rows):
    environment = jinja2.Environment()
    shown = Shown(rows, [], [], {}, "kruskal", [], Papers([], [], []))
    parts, around = sections(shown), frame(shown)
    assert {f"{part.template}.html.j2" for part in parts} == {f.name for f in (FOLDER / "sections").iterdir()}
    owners = {}
    for part in parts:
        text = (FOLDER / "sections" / f"{part.template}.html.j2").read_text()
        own = set(part.context(shown))
        used = meta.find_undeclared_variables(environment.parse(text)) - {
            "number",
            "count",
            "percent",
            "seconds",
            "size",
            "times",
        }
        assert own <= used <= own | set(around), part.template
        assert not own & set(around) and not any(name in owners for name in own), part.template
        owners |= dict.fromkeys(own, part.template)


@pytest.mark.parametrize(
    ("scope", "title"),
    [("default", "All"), ("papers/x", "All"), ("graphs/g", "g · All"), ("algorithms/a", "a · All")],
)
def test_title_names_the_one_graph_or_algorithm(rows, scope, title):
    assert frame(Shown(rows, [], [], {"title": "All", "scope": scope}, "kruskal", []))["title"] == title


def test_every_figure_lies_beside_the_page(report):
    names = {file.name for file in (report / "figures").iterdir()}
    for stem in ("throughput", "speedup", "memory"):
        assert f"{stem}.csv" in names
        assert any(n.startswith(stem) and n.endswith(".svg") for n in names)
        assert any(n.startswith(stem) and n.endswith(".pdf") for n in names)
    page = (report / "report.html").read_text()
    for link in re.findall(r'href="(figures/[^"]+\.\w+)"', page):
        assert (report / link).is_file(), link


def test_gate_names_the_wrong_run(report, tmp_path):
    with pytest.raises(MSTError, match="wrong: "):
        check_table(report / "table.parquet", tmp_path / "checked.json")
    assert not (tmp_path / "checked.json").exists()


def test_a_wrong_run_of_another_machine_does_not_fail_the_gate(report, tmp_path):
    files = tmp_path / "table.parquet", tmp_path / "table.csv"
    write_table([], [], *files, references=[report / "records"])
    check_table(files[0], tmp_path / "checked.json")
    assert json.loads((tmp_path / "checked.json").read_text())["reference"]["wrong"] >= 1
    write_table([report / "records"], [], *files)
    with pytest.raises(MSTError, match="wrong: "):
        check_table(files[0], tmp_path / "again.json")


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0123, "12.3 ms"), (1.5, "1.5 s"), (75.0, "75 s"), (4.2e-5, "42 µs"), (3e-8, "30 ns"), (None, "")],
)
def test_seconds(value, text):
    assert seconds(value) == text


def test_other_quantities():
    assert [count(x) for x in (999, 9999, 12_345, 2_700_000, None)] == ["999", "9,999", "12.3 k", "2.7 M", ""]
    assert [times(x) for x in (1.234, 12.34, 123.4)] == ["1.23×", "12.3×", "123×"]
    assert [size(x) for x in (512, 2**20, 3 * 2**30)] == ["512 B", "1 MiB", "3 GiB"]
