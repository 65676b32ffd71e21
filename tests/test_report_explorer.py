"""The explorer in a real browser: keyboard, address, exports, and announcements of a screen reader."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd
import pytest

from mst.reporting.page.explorer import as_json, explorer_data

pytestmark = pytest.mark.browser

TITLES = "Array.from(document.querySelectorAll('.chart svg title'), t => t.textContent)"


OUTSIDE = """() => {
    const box = document.querySelector('.chart svg').getBoundingClientRect();
    return Array.from(document.querySelectorAll('.chart text, .chart circle, .chart path, .chart rect'))
        .map((e) => [e.textContent || e.tagName, e.getBoundingClientRect()])
        .filter(([, r]) => r.left < box.left - 1 || r.right > box.right + 1 || r.bottom > box.bottom + 1)
        .map(([text]) => text);
}"""

VIEWS = ["graph", *(pytest.param(view, marks=pytest.mark.slow) for view in ("size", "width"))]


@pytest.fixture(scope="module")
def rows(rows) -> pd.DataFrame:
    return rows[rows["shown"]]


def saved_csv(page) -> list[dict[str, str]]:
    with page.expect_download() as download:
        page.click("button[name=csv]")
    return list(csv.DictReader(io.StringIO(Path(download.value.path()).read_text())))


def seconds_of(rows: pd.DataFrame, row: dict[str, str]) -> pd.Series:
    found = rows[
        (rows["machine"] == row["machine"])
        & (rows["graph"] == row["graph"])
        & (rows["algorithm"] == row["algorithm"])
        & (rows["options"] == "default")
        & (rows["width"] == int(row["width"]))
    ]
    assert len(found) == 1
    return found.iloc[0]


def test_only_proved_runs_reach_the_page(rows):
    data = explorer_data(rows, "kruskal")
    assert len(data["runs"]) == len(rows)
    assert json.loads(as_json({"name": "</script>"})) == {"name": "</script>"}
    assert "</script>" not in as_json({"name": "</script>"})


def test_csv_holds_the_drawn_rows(open_page, rows):
    page = open_page(1280, name="explorer")
    saved = saved_csv(page)
    assert len(saved) == len(page.evaluate(TITLES)) > 10
    for row in saved:
        measured = seconds_of(rows, row)
        assert (row["metric"], row["unit"]) == ("time", "s")
        assert float(row["value"]) == pytest.approx(measured["compute_seconds"], rel=1e-5)
        assert float(row["low"]) <= float(row["value"]) <= float(row["high"])


def test_metrics_without_intervals_have_none(open_page, rows):
    page = open_page(1280, name="explorer")
    page.select_option(".explorer select[name=metric]", "call")
    saved = saved_csv(page)
    for row in saved:
        assert float(row["value"]) == pytest.approx(seconds_of(rows, row)["call_seconds"], rel=1e-5)
        assert (row["low"], row["high"]) == ("", "")
    assert len(saved) > 10


def test_width_best_draws_only_the_fastest_width_of_each(open_page, rows):
    page = open_page(1280, name="explorer")
    page.select_option(".explorer select[name=width]", "all")
    every = saved_csv(page)
    page.select_option(".explorer select[name=width]", "best")
    for row in saved_csv(page):
        times = [
            seconds_of(rows, other)["compute_seconds"]
            for other in every
            if all(other[key] == row[key] for key in ("machine", "graph", "algorithm"))
        ]
        assert float(row["value"]) == pytest.approx(min(times), rel=1e-5)


def test_speedup_over_a_chosen_baseline(open_page, rows):
    page = open_page(1280, name="explorer")
    page.select_option(".explorer select[name=metric]", "speedup")
    page.select_option(".explorer select[name=baseline]", "scipy")
    saved = saved_csv(page)
    assert saved and {row["metric"] for row in saved} == {"speedup over scipy"}
    for row in saved:
        base = seconds_of(rows, {**row, "algorithm": "scipy", "width": "1"})["compute_seconds"]
        expected = base / seconds_of(rows, row)["compute_seconds"]
        assert float(row["value"]) == pytest.approx(expected, rel=1e-4)


def test_self_speedup_is_drawn_against_the_width(open_page):
    page = open_page(1280, name="explorer")
    page.select_option(".explorer select[name=metric]", "self-speedup")
    assert page.input_value(".explorer select[name=view]") == "width"
    saved = saved_csv(page)
    assert {row["paradigm"] for row in saved} <= {"threads", "mpi", "cuda"}
    assert all(float(row["value"]) == 1 for row in saved if row["width"] == "1")
    assert any(float(row["value"]) > 1.5 for row in saved)


def test_address_restores_the_chart(open_page):
    page = open_page(1280, name="explorer")
    page.select_option(".explorer select[name=metric]", "throughput")
    page.select_option(".explorer select[name=view]", "size")
    page.get_by_role("button", name="none algorithms").click()
    page.check(".explorer input[value=kruskal]")
    page.check(".explorer input[value=scipy]")
    page.uncheck(".explorer input[value=as-skitter]")
    address = page.evaluate("location.href")
    drawn = page.evaluate(TITLES)
    assert drawn and "#explorer?" in address
    again = open_page(1280, name="explorer", address=address)
    assert again.evaluate(TITLES) == drawn
    assert again.input_value(".explorer select[name=view]") == "size"
    assert again.is_checked(".explorer input[value=scipy]") and not again.is_checked(
        ".explorer input[value=igraph]"
    )
    assert again.evaluate("document.getElementById('explorer').getBoundingClientRect().top") < 200
    again.get_by_role("button", name="Start again").click()
    assert again.evaluate("location.hash") == "#explorer?"


def test_an_address_of_another_report_is_no_error(open_page):
    page = open_page(
        1280, name="explorer", address="#explorer?metric=charm&graphs=atlantis&width=9999&baseline=__proto__"
    )
    assert page.input_value(".explorer select[name=metric]") == "time"
    assert "No run fits" in page.locator(".explorer output").inner_text()


def test_every_control_works_by_keyboard(open_page):
    page = open_page(1280, name="explorer")
    page.locator(".explorer select[name=metric]").focus()
    reached = []
    for _ in range(60):
        page.keyboard.press("Tab")
        name = page.evaluate("document.activeElement.name || document.activeElement.className")
        if name == "chart":
            break
        reached.append(name)
    assert {"view", "width", "machines", "graphs", "algorithms"} <= set(reached) and name == "chart"
    page.keyboard.press("ArrowRight")
    first = page.locator(".explorer output").inner_text()
    page.keyboard.press("ArrowRight")
    second = page.locator(".explorer output").inner_text()
    page.keyboard.press("ArrowLeft")
    assert first == page.locator(".explorer output").inner_text() != second
    assert re.fullmatch(r".+ on .+, fake-.+: [\d.]+ [nµm]?s .*", first)
    assert page.locator(".chart .here").count() == 1
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.name") == "csv"
    with page.expect_download():
        page.keyboard.press("Enter")


def test_a_screen_reader_gets_a_text_alternative(open_page):
    page = open_page(1280, name="explorer")
    snapshot = page.locator("#explorer").aria_snapshot()
    for said in ('combobox "metric"', 'group "graphs"', 'checkbox "kruskal"', 'img "time to find the forest'):
        assert said in snapshot, said
    assert page.locator(".explorer output").get_attribute("aria-live") == "polite"
    table = page.locator(".explorer details table tbody tr")
    assert table.count() == len(page.evaluate(TITLES))


@pytest.mark.parametrize("view", VIEWS)
def test_svg_stands_alone(open_page, view):
    page = open_page(1280, name="explorer", address=f"#explorer?view={view}")
    with page.expect_download() as download:
        page.click("button[name=svg]")
    text = Path(download.value.path()).read_text()
    ElementTree.fromstring(text)
    assert "var(" not in text and "currentColor" not in text and "NaN" not in text
    assert text.count("<title>") == len(page.evaluate(TITLES)) > 0


@pytest.mark.parametrize("view", VIEWS)
def test_chart_has_no_part_outside_its_frame(open_page, view):
    for width in (390, 1280):
        page = open_page(width, name="explorer", address=f"#explorer?view={view}")
        assert page.evaluate(OUTSIDE) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_long_names_are_cut_inside_the_frame(open_page, report, tmp_path):
    page = (report / "report" / "explorer.html").read_text()
    for name, long in (
        ("kruskal", "command-bhargava-zaia-cuda-kernels"),
        ("com-youtube", "connected-caveman-5000x40"),
    ):
        assert f'"name":"{name}"' in page
        page = page.replace(f'"{name}"', f'"{long}"')
    (tmp_path / "explorer.html").write_text(page)
    for view in ("graph", "size"):
        shown = open_page(390, address=f"{(tmp_path / 'explorer.html').as_uri()}#explorer?view={view}")
        assert shown.locator(".chart text", has_text="command-bhargava").count()
        assert shown.evaluate(OUTSIDE) == []


def test_the_first_view_has_graphs_and_algorithms_that_were_run_together(rows):
    alone = rows[(rows["graph"] == "com-youtube") & (rows["name"] == "kruskal")].head(1)
    sparse = pd.concat([rows, *(alone.assign(graph=f"g{k}", m=k) for k in range(20))], ignore_index=True)
    chosen = explorer_data(sparse, "kruskal")["chosen"]
    assert "com-youtube" in chosen["graphs"] and not any(name.startswith("g") for name in chosen["graphs"])
    kruskal = rows[rows["name"] == "kruskal"].drop_duplicates("graph")
    alone = kruskal.assign(machine="small", name="alone", algorithm="alone")
    chosen = explorer_data(pd.concat([rows, alone], ignore_index=True), "kruskal")["chosen"]
    assert "small" in chosen["machines"] and "alone" not in chosen["algorithms"]


def test_the_first_view_shows_exact_algorithms_measured_here(rows):
    reference = {"fake-cluster"}
    data = explorer_data(rows, "kruskal", reference)
    chosen = data["chosen"]
    assert not reference & set(chosen["machines"])
    own = rows[rows["shown"] & rows["machine"].isin(chosen["machines"])]
    assert set(chosen["graphs"]) <= set(own["graph"])
    exact = {algorithm["name"] for algorithm in data["algorithms"] if algorithm["exact"]}
    assert chosen["algorithms"] and set(chosen["algorithms"]) <= exact
