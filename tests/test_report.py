"""The tidy table and the page, from synthetic records."""

from __future__ import annotations

import csv
import json
import math
import re
from dataclasses import replace
from pathlib import Path

import jinja2
import pandas as pd
import pyarrow.parquet as pq
import pytest
from jinja2 import meta
from markupsafe import escape

from mst.bench.records.account import check_table
from mst.bench.records.store import load_records, medians, table_row
from mst.bench.statistics import geometric_mean
from mst.errors import MSTError
from mst.reporting import data
from mst.reporting.charts import figures
from mst.reporting.charts.axes import Figure, Panel
from mst.reporting.charts.figures import all_widths, comparable, draw_all
from mst.reporting.charts.style import PARADIGMS
from mst.reporting.data import mean_interval, standard_errors
from mst.reporting.page import explorer
from mst.reporting.page.build import render, write_report
from mst.reporting.page.chapters import PAGE_SOURCES, ReportData, chapters, frame
from mst.reporting.papers.exhibits import exhibits
from mst.reporting.table import COLUMNS, write_table
from mst.units import count, size


def test_every_column_of_a_record_is_in_the_table(report):
    record = next(load_records(report / "records"))
    row = table_row(record)
    assert {*row, "current"} == set(COLUMNS)
    assert row["samples"] == sum(map(len, record.measurement["samples"]["compute"])) > row["processes"]
    assert not row["oversubscribed"]
    flagged = {**record.measurement, "conditions": {"flags": ["busy", "oversubscribed"]}}
    assert table_row(replace(record, measurement=flagged))["oversubscribed"]


def test_processes_without_samples_have_no_median():
    assert medians({"samples": {"compute": [[1.0, 3.0], []]}}) == [2.0]


@pytest.mark.parametrize(
    ("paradigm", "affinity", "cores", "counts"),
    [("cuda", [15], 16, False), ("cuda", None, 16, False), ("cuda", [0], 1, True), ("cuda", [0, 1], 16, True)]
    + [("sequential", [15], 16, True), ("peer", [15], 16, False)],
)
def test_calls_on_a_gpu_need_the_cores_that_copy_arrays(paradigm, affinity, cores, counts):
    facts = {"run": {"paradigm": paradigm}, "affinity": affinity, "machine": {"cores": cores}}
    facts["versions"] = {"cupy": "14.2.0"} if paradigm == "peer" else {}  # such as cuGraph
    measurement = facts | {"samples": {part: [[1.0], [2.0]] for part in ("compute", "call", "call_on_device")}}
    assert medians(measurement) == [1.0, 2.0]
    assert medians(measurement, "call") == medians(measurement, "call_on_device") == [1.0, 2.0][: 2 * counts]


def test_energy_is_in_the_table_only_with_that_of_the_processor(report):
    record = next(r for r in load_records(report / "records") if r.measurement["energy"])
    boards = {**record.measurement, "energy": {"joules": 1.0, "domains": {"gpu-0": 1.0}}}
    assert table_row(record)["energy_joules"] > 0
    assert table_row(replace(record, measurement=boards))["energy_joules"] is None


def test_table_holds_every_record_and_every_impossible_run(report):
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


def test_matrix_shows_the_worst_of_an_algorithms_runs(rows):
    graphs, lines = data.proof_matrix(rows)
    wrong = rows[rows["status"] == "wrong"]
    assert len(wrong)
    for row in wrong.itertuples():
        cells = next(
            c for machine, algorithm, c in lines if (machine, algorithm) == (row.machine, row.algorithm)
        )
        cell = cells[graphs.index(row.graph)]
        assert cell is not None and cell["kind"] == "wrong" and cell["reason"] == row.reason


@pytest.mark.parametrize("kind", data.CELL_KINDS)
def test_matrix_has_a_cell_for_every_outcome(kind):
    proved = kind in ("identical", "edges", "weight", "claimed")
    row = dict(origin="local", machine="m", algorithm="a", graph="g", m=3, reason=None)
    rows = pd.DataFrame([{**row, "status": "ok" if proved else kind, "grade": kind if proved else None}])
    assert [cell["kind"] for _, _, cells in data.proof_matrix(rows)[1] for cell in cells] == [kind]


def test_chart_shows_the_baseline_and_the_fastest_of_each_paradigm(rows):
    shown = rows[rows["shown"] & (rows["machine"] == "fake-desktop")]
    chosen = data.representative(shown, "kruskal", 4)
    assert chosen[0] == "kruskal" and len(chosen) == len(set(chosen)) == 4
    everything = data.representative(shown, "kruskal", 100)
    counts = shown.groupby("name")["graph"].nunique()
    assert set(everything) == set(counts[counts >= counts.max() / 2].index)
    assert {*shown.set_index("name").loc[everything, "paradigm"]} == {
        *shown.set_index("name").loc[chosen, "paradigm"]
    }, "each paradigm has one among the first"
    assert data.representative(shown.iloc[:0], "kruskal", 4) == []


def pages(folder: Path) -> dict[str, str]:
    """Return the text of every page by its stem, the front page's first."""
    return {
        f.stem: f.read_text() for f in (folder / "report.html", *sorted((folder / "report").glob("*.html")))
    }


@pytest.mark.slow
def test_local_records_come_before_references(rows, tmp_path):
    reference = rows.assign(origin=rows["origin"].where(rows["machine"] == "fake-gpu-box", "reference"))
    machines = ["fake-gpu-box", "fake-cluster", "fake-desktop"]
    assert data.machines_of(reference) == machines
    assert list(dict.fromkeys(machine for machine, _, _ in data.proof_matrix(reference)[1])) == machines
    panels = {
        figure.name: [name for name, _ in figure.panels] for figure in draw_all(reference, tmp_path, "kruskal")
    }
    for name in ("throughput", "self-speedup"):
        # Not every machine measured three widths, or three algorithms on the same three graphs.
        expected = [f"{name}-{machine}" for machine in machines if f"{name}-{machine}" in panels[name]]
        assert panels[name] == expected and expected
    own = rows[rows["machine"] == "fake-gpu-box"]
    shown = ReportData(reference, [], [], {"scope": "default"}, "kruskal", [])
    (verification,) = (
        s for chapter in chapters(shown) for s in chapter.sections if s.template == "verification"
    )
    first, second = verification.context["matrices"]
    assert {machine for machine, _, _ in first[3]} == {"fake-gpu-box"} and set(first[2]) == set(own["graph"])
    assert {machine for machine, _, _ in second[3]} == set(machines[1:])


def test_a_panel_compares_its_rows_on_the_same_graphs(rows):
    shown = rows[rows["shown"] & (rows["machine"] == "fake-desktop")]
    fewer = shown[~((shown["paradigm"] == "threads") & (shown["graph"] == "as-skitter"))]
    for table in (shown, fewer):
        found = comparable(table, "edges_per_second")
        graphs = found.groupby("algorithm")["graph"].agg(lambda own: tuple(sorted(own)))
        assert graphs.nunique() <= 1
        assert (found["compute_seconds"] > 0).all() and found["exact"].all()


def test_rows_are_sorted_by_their_means_and_hold_to_a_limit(rows, tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "MOST_ROWS", 2)
    drawn = {figure.name: figure for figure in draw_all(rows, tmp_path, "kruskal")}
    shown = rows[rows["shown"] & (rows["machine"] == "fake-desktop")]
    best = comparable(shown, "edges_per_second")
    means = best.groupby("algorithm")["edges_per_second"].agg(geometric_mean)
    fastest = means.sort_values(ascending=False).index[:2]
    svg = dict(drawn["throughput"].panels)["throughput-fake-desktop"]
    labels = re.findall(r"<text[^>]*>([^<]+)</text>", svg)
    named = [text for text in labels if text.partition(" ")[0] in set(means.index)]
    assert [text.partition(" ")[0] for text in named] == list(fastest)
    assert "the first 2 of" in drawn["throughput"].note
    assert "the 2 steepest of 3 lines" in drawn["self-speedup"].note


def test_self_speedup_averages_graphs_that_were_measured_at_all_widths():
    def at(graph, *widths):
        return [dict(graph=graph, width=width, self_speedup=width / 2) for width in widths]

    runs = pd.DataFrame(
        [*at("a", 1, 2, 4), *at("b", 1, 2, 4), *at("c", 1, 4), *at("d", 1, 2, 4, 8), *at("e", 8)]
    )
    kept = all_widths(runs)
    assert set(kept["graph"]) == {"a", "b", "d"} and set(kept["width"]) == {1, 2, 4}
    assert all_widths(runs[runs["graph"] == "c"]).empty, "two points are not a curve"


def test_the_interval_of_a_mean_needs_three_processes(rows):
    some = rows[rows["shown"]].head(4)
    speeds = some["edges_per_second"]
    mean, low, high = mean_interval(speeds, standard_errors(some.assign(processes=5)))
    assert low < mean < high
    assert math.isnan(mean_interval(speeds, standard_errors(some.assign(processes=2)))[1])


def test_panels_of_fewer_than_three_points_are_not_drawn(rows, tmp_path):
    two = rows[rows["algorithm"].isin(["kruskal", "filter-boruvka"])]
    assert {figure.name for figure in draw_all(two, tmp_path, "kruskal")} <= {"landscape"}
    one = rows[(rows["algorithm"] == "kruskal") & (rows["graph"] == "com-youtube")]
    assert draw_all(one, tmp_path, "kruskal") == []


def test_a_figure_has_the_colours_of_the_paradigms_alone(report):
    for name in ("throughput-fake-desktop", "landscape"):
        svg = (report / "figures" / f"{name}.svg").read_text().lower()
        used = set(re.findall(r"#[0-9a-f]{6}", svg))
        assert used & set(PARADIGMS.values())
        assert used - set(PARADIGMS.values()) <= {"#1b1f24", "#d0d4da", "#7a7a7a"}, (
            "ink, grid and the dashed line"
        )


def test_words_of_figures_are_in_ink(report):
    # The colours of marks have a contrast of three with the page, too little for small letters.
    for file in (report / "figures").glob("*.svg"):
        words = re.findall(r"<text[^>]*", file.read_text())
        assert words and not [word for word in words if "fill" in word and "#1b1f24" not in word], file.name


def test_a_crowded_chart_holds_its_marks_as_one_picture(rows, tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "MOST_MARKS", 0)
    drawn = {figure.name: figure for figure in draw_all(rows[rows["shown"]], tmp_path, "kruskal")}
    for panel in (*drawn["landscape"].panels, *drawn["throughput"].panels):
        assert "<image" in panel.svg and len(panel.svg) < 100_000


def test_pages_are_self_contained_and_whole(report):
    made = pages(report)
    papers = {"ecl-mst", "shou-he", "durbhakula", "bhargava-zaia", "biagiotti"}
    others = {"charts", "explorer", "graphs", "proofs", "noise", "machines", "method"}
    assert set(made) == {"report", "index"} | papers | others
    assert len(made["report"]) < 1_000_000
    for stem, page in made.items():
        assert not re.search(r"""(?:src|href)=["'](?:https?:)?//""", page)
        assert "@import" not in page and "url(http" not in page
        ids = re.findall(r'\bid="([^"]+)"', page)
        assert len(ids) == len(set(ids)), "ids are unique"
        assert not re.search(r"<th[^>]*></th>", page), "every column has a head"
        regions = re.findall(r'<(?:\w+ [^>]*role="region"|section|nav)[^>]* aria-label="([^"]+)"', page)
        assert len(regions) == len(set(regions)), "names of landmarks are unique"
        pictures = re.findall(r'<svg role="img" aria-label="([^"]+)"', page)
        assert len(pictures) == len(set(pictures)) == page.count('<svg role="img"'), "and those of pictures"
        here = (report if stem == "report" else report / "report") / "x"
        for link in re.findall(r'href="([^"]+)"', page):
            file, _, anchor = link.partition("#")
            target = here.parent / file if file else None
            if target:
                assert target.resolve().exists(), f"{stem}: {link}"
            if anchor:
                there = made[target.stem] if target else page
                assert f'id="{anchor}"' in there, f"{stem}: {link}"
    for heading in (
        "What to use",
        "All hardware on one chart",
        "Self-speedup",
        "Five papers",
        "Doubts and gaps",
    ):
        assert heading in made["report"]
    assert "@software{mst," in made["method"]


def test_no_row_or_column_of_an_exhibit_is_without_a_number(report):
    found = 0
    for page in sorted((report / "report").glob("*.html")):
        for table in re.findall(r'<table class="sticky exhibit">.*?</table>', page.read_text(), re.DOTALL):
            rows = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in table.split("<tr")[2:]]
            for line in (*rows, *zip(*rows, strict=True)):
                assert any(cell != "–" for cell in line), page.name
                found += 1
    assert found


def test_every_exhibit_has_an_address(report):
    for paper, made in exhibits().items():
        page = (report / "report" / f"{paper}.html").read_text()
        for exhibit in made:
            assert f'href="#{paper}-{exhibit.id}"' in page


def test_page_of_nothing_measured_says_so(tmp_path):
    run = dict(machine="m", graph="g", algorithm="kruskal", options="default", width=1, paradigm="sequential")
    plan = [{**run, "status": "unavailable", "reason": "no location has it"}]
    plan += [{**run, "graph": "h", "status": "planned"}]
    write_table([], plan, tmp_path / "table.parquet", tmp_path / "table.csv")
    write_report(
        table=tmp_path / "table.parquet", graphs=[], config={"scope": "graphs/g"},
        out=tmp_path / "report.html", plan=plan,
    )  # fmt: skip
    made = pages(tmp_path)
    assert "No record has been proved here yet." in made["report"]
    assert "No record has been proved here yet: imported" in made["explorer"]
    assert "no location has it" in made["proofs"] and "Not measured here: " in made["report"]
    assert "1 planned run still to come" in made["report"]


def test_the_front_page_says_how_many_records_were_disturbed(rows):
    recorded = rows["status"].isin(["ok", "wrong", *data.NOT_FINISHED])
    busy = rows.assign(disturbed=recorded)
    texts = dict(render(ReportData(busy, [], [], {}, "kruskal", [])))
    count = int(recorded.sum())
    assert f"{count} of {count} records were disturbed" in texts[""] and "mst retry disturbed" in texts[""]
    assert f"{count} of {count} records disturbed" in texts[""].partition("<main>")[0], "beside the headline"
    quiet = busy.assign(machine="elsewhere", origin="reference", disturbed=False)
    both = pd.concat([busy.assign(origin="measured"), quiet], ignore_index=True)
    texts = dict(render(ReportData(both, [], [], {}, "kruskal", [])))
    assert f"{count} of {count} records were disturbed" in texts[""], "quiet records of elsewhere do not count"


def test_the_front_page_begins_with_what_was_measured_and_where(rows):
    front = dict(render(ReportData(rows, [{"name": "far", "status": "unavailable"}], [], {}, "kruskal", [])))[
        ""
    ]
    first, _, rest = front.partition("<main>")
    ok = rows[rows["status"] == "ok"]
    assert "finds the minimum spanning forest" in first and f"{len(ok)} runs of " in first
    assert all(machine in first for machine in ok["machine"].unique())
    assert "Graphs that are unavailable here: far." in rest


def test_the_front_page_says_that_every_record_is_proved_only_where_none_is_wrong(rows):
    of_ours = rows[rows["grade"] != data.CLAIMED]
    proved = of_ours[of_ours["grade"].notna() | (of_ours["status"] == "wrong")]
    for shown, is_said in ((proved, False), (proved[proved["status"] == "ok"], True)):
        front = dict(render(ReportData(shown, [], [], {}, "kruskal", [])))[""]
        assert ("Every record that finished is proved." in front) == is_said
        assert ("Wrong forests" in front) != is_said


def test_pictures_are_named_by_their_figure_and_panel(rows):
    panel = Panel("speedup-m", '<svg role="img" aria-label="m"><path d="M0 0"/></svg>')
    figure = Figure("speedup", 'over "<b>"', "alt", [panel], "short")
    front = next(render(ReportData(rows, [], [], {}, "kruskal", [figure])))[1]
    assert '<svg role="img" aria-label="over &#34;&lt;b&gt;&#34; m"><path d="M0 0"/></svg>' in front


def test_reasons_of_files_set_aside_are_escaped(rows):
    reason = "</script><script>window.taken=2</script>"
    stem, front = next(render(ReportData(rows, [], [], {}, "kruskal", [], set_aside=[reason])))
    assert stem == ""
    assert "1 record file set aside" in front
    assert str(escape(reason)) in front
    assert reason not in front


def test_sections_hold_their_own_content_only(rows):
    environment = jinja2.Environment()
    paper = {"id": "p", "title": "P: q", "claims": [], "tally": [], "on_stand_ins": [], "exhibits": []}
    shown = ReportData(rows, [], [], {"scope": "graphs/g"}, "kruskal", [], [paper])
    parts, around = (
        [s for chapter in chapters(shown) for s in chapter.sections],
        {*frame(shown), "root", "pages"},
    )
    templates = {f"{part.template}.html.j2" for part in parts} | {"charts.html.j2"}
    assert templates == {f.name for f in (PAGE_SOURCES / "sections").iterdir()}
    source = "".join(f.read_text() for f in PAGE_SOURCES.rglob("*.j2"))
    assert set(frame(shown)) <= meta.find_undeclared_variables(environment.parse(source))
    for part in parts:
        text = (PAGE_SOURCES / "sections" / f"{part.template}.html.j2").read_text()
        own = set(part.context)
        used = meta.find_undeclared_variables(environment.parse(text))
        used -= {"number", "count", "known", "percent", "seconds", "times", "dict"}
        assert own <= used <= own | around, part.template
        assert not own & around, part.template


def test_stand_ins_are_explained_once_on_a_page(rows):
    empty = dict.fromkeys(("values", "note", "why", "pictures", "static", "tables", "files"), "")
    exhibit = {**empty, "id": "x", "number": "Table 1", "title": "T", "stand_ins": True, "objections": True}
    paper = {"id": "biagiotti", "title": "P: q", "claims": [], "tally": [], "on_stand_ins": []}
    shown = ReportData(rows, [], [], {}, "kruskal", [], [{**paper, "exhibits": [exhibit] * 2}])
    page = dict(render(shown))["biagiotti"]
    assert page.count("Stand-ins are graphs") == page.count("Numbers with a star") == 1
    assert "or at most for a direction, as its interval is wide" in page


def test_the_front_page_says_on_which_kind_of_machine_a_claim_was_judged(rows):
    claim = dict.fromkeys(("says", "outcomes", "overall_class"), "") | {"id": "sh-01", "overall": "confirmed"}
    paper = {"id": "shou-he", "title": "P: q", "tally": [], "exhibits": []}
    paper |= {"on_stand_ins": [("confirmed on stand-ins", "confirmed", 2)]}
    paper |= {"claims": [{**claim, "where": "on another kind of machine"}]}
    front = next(
        page for stem, page in render(ReportData(rows, [], [], {}, "kruskal", [], [paper])) if not stem
    )
    assert re.search(r"confirmed</b> <span[^>]*>on another kind of machine<", front)
    assert ">2 confirmed</td>" in front, "the head of the column says that these are on stand-ins"


@pytest.mark.parametrize(
    ("scope", "title"),
    [("default", "All"), ("papers/x", "All"), ("graphs/g", "g · All"), ("algorithms/a", "a · All")],
)
def test_title_names_the_one_graph_or_algorithm(rows, scope, title):
    assert frame(ReportData(rows, [], [], {"title": "All", "scope": scope}, "kruskal", []))["title"] == title


def test_gate_names_the_wrong_run(report, tmp_path):
    with pytest.raises(MSTError, match="wrong: ") as refused:
        check_table(report / "table.parquet", tmp_path / "checked.json")
    folders = (
        str(refused.value)
        .partition("its folder below results/records is removed and `mst report` called: ")[2]
        .split(", ")
    )
    assert all(len(list((report / "records").glob(f"{folder}/w*"))) for folder in folders)
    assert not (tmp_path / "checked.json").exists()


def test_a_wrong_run_of_another_machine_does_not_fail_the_gate(report, tmp_path):
    files = tmp_path / "table.parquet", tmp_path / "table.csv"
    write_table([], [], *files, references=[report / "records"])
    check_table(files[0], tmp_path / "checked.json")
    assert json.loads((tmp_path / "checked.json").read_text())["reference"]["wrong"] >= 1
    write_table([report / "records"], [], *files)
    with pytest.raises(MSTError, match="wrong: "):
        check_table(files[0], tmp_path / "again.json")


def test_no_quantity_has_a_power_of_ten():
    assert [count(x) for x in (999_499, 999_999, 999_999_999)] == ["999 k", "1 M", "1 G"]
    assert [size(x) for x in (1023 * 2**10, 2**20, 1000 * 2**20)] == ["1,023 KiB", "1 MiB", "1,000 MiB"]
    assert size(2**41) == "2,048 GiB"


@pytest.mark.parametrize(("most", "graphs"), [(10**6, 100), (600, 20), (29, 1)])
def test_explorer_holds_a_limited_number_of_runs(rows, monkeypatch, most, graphs):
    monkeypatch.setattr(explorer, "MOST_RUNS", most)
    one = pd.concat([rows[rows["shown"]]] * 30)[:30]
    data = explorer.explorer_data(
        pd.concat([one.assign(graph=f"g{i:02}", m=i + 1) for i in range(100)]), "kruskal"
    )
    names = [graph["name"] for graph in data["graphs"]]
    assert len(names) == graphs == 100 - data["left_out"] and len(data["runs"]) == 30 * graphs
    assert names[0] == "g00" and (names[-1] == "g99" or graphs == 1)
