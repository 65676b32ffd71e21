"""The papers' tables and figures: every one has its files, printed and measured numbers side by side."""

from __future__ import annotations

import csv
import errno
import itertools
import re
from collections import Counter
from dataclasses import replace

import fake_records
import pytest
from claim_names import Everything, claims_by_id

from mst.bench.records.bundle import export_bundle
from mst.bench.records.reference import references
from mst.bench.records.store import load_records
from mst.cli import main
from mst.errors import ConfigError, FormatError
from mst.reporting.charts.style import save, setup
from mst.reporting.papers import claims, drawing, evidence, section
from mst.reporting.papers.exhibits import Cell, Exhibit, Exhibits, exhibits, fill
from mst.reporting.papers.formula import Result
from mst.reporting.papers.observations import Measured, Printed, gather, read_manifests
from mst.reporting.papers.published import published
from mst.reporting.papers.section import papers_of
from mst.reporting.papers.tables import cell_text, latex, number, write_files
from mst.yaml_models import parse

EVERY = [(paper, exhibit) for paper, made in exhibits().items() for exhibit in made]
NUMBERED = {
    "ecl-mst": {*(f"Table {k}" for k in range(1, 6)), *(f"Figure {k}" for k in range(3, 8))},
    "shou-he": {"Figure 1", "Figure 2", "Figure 3", "Figure 4"},
    "durbhakula": {"Table 1", "Table 2", "Figure 1", "Figure 2", "Figure 3", "Figure 4"},
    "biagiotti": {"Table 1", "Table 2", "Figure 1", "Figure 2", "Figure 3"},
}  # fmt: skip


@pytest.fixture(scope="module")
def names():
    return claims.document().names()


@pytest.fixture(scope="module")
def sources(report):
    return gather(
        load_records(report / "records"), (), read_manifests(report.glob("graphs/*/manifest.json"), pytest.fail)
    )


def test_a_damaged_manifest_is_set_aside(report, tmp_path):
    (damaged := tmp_path / "manifest.json").write_text("{")
    reasons = []
    good, *_ = report.glob("graphs/*/manifest.json")
    assert len(read_manifests([damaged, good], reasons.append)) == 1
    assert len(reasons) == 1 and str(damaged) in reasons[0]


def one(paper, id):
    return next(e for e in exhibits()[paper] if e.id == id)


def test_every_numbered_table_and_figure_is_there():
    for paper, numbers in NUMBERED.items():
        assert numbers <= {e.number for e in exhibits()[paper]}
    ids = [f"{paper}-{e.id}" for paper, e in EVERY]
    assert len(ids) == len(set(ids))


def test_every_cell_is_computed_once_everything_is_measured(names):
    for paper, exhibit in EVERY:
        filled = fill(paper, exhibit, [Everything(names)], names)
        for panel in {grid.panel for grid in filled.measured}:
            grids = [grid for grid in filled.measured if grid.panel == panel]
            assert [grid.ports for grid in grids] in ([False], [False, True])
            for grid in grids:
                assert grid.known == len(grid.rows) * len(grid.columns), (paper, exhibit.id)


def test_verdicts_say_which_kind_of_machine_gave_them(tmp_path, monkeypatch):
    def judge(claim, paper, source, book):
        on_kind = source.name == "theirs"
        verdict = {
            "dur-01": claims.CONFIRMED if on_kind else claims.CONTRADICTED,
            "dur-02": claims.NOT_MEASURED if on_kind else claims.CONFIRMED,
            "dur-13": claims.CONTRADICTED,
        }.get(claim.id, claims.NOT_MEASURED)
        return claims.Outcome(source.name, verdict, "", on_kind and claim.machine is not None)

    monkeypatch.setattr(claims, "judge", judge)
    monkeypatch.setattr(section, "exhibits", dict)
    machines = [Measured({"name": name}) for name in ("theirs", "ours")]
    (paper,) = papers_of(machines, tmp_path / "report", tmp_path, only="durbhakula")
    where = {row["id"]: (row["overall"], row["where"]) for row in paper["claims"]}
    theirs, others = "on the paper's kind of machine", "on another kind of machine"
    assert where["dur-01"] == (claims.CONFIRMED, theirs) and where["dur-02"] == (claims.CONFIRMED, others)
    assert where["dur-13"] == (claims.CONTRADICTED, ""), "facts are of no machine"
    assert where["dur-03"] == (claims.NOT_MEASURED, "")


def test_other_hardwares_own_formula_is_shown_as_a_ratio():
    made = claims_by_id()["sh-13"]
    shown = {
        on_kind: section._outcome(
            made, claims.Outcome("here", claims.CONFIRMED, "", on_kind, result=Result(0.5))
        )["measured"]
        for on_kind in (True, False)
    }
    assert shown == {True: "50 %", False: "0.5"}


def test_an_upper_end_a_thousand_times_the_value_is_no_bound():
    made = claims_by_id()["ecl-24"]

    def shown(high):
        result = Result(0.04, 0.006, high, processes=3, compared=17)
        return section._outcome(made, claims.Outcome("here", claims.UNDECIDED, "", False, result=result))

    assert shown(5e7)["measured"] == "4 % [0.6 %, no bound; 95 % for 17 together]"
    assert shown(0.9)["measured"] == "4 % [0.6 %, 90 %; 95 % for 17 together]"


def test_claims_point_at_exhibits():
    known = {f"{paper}/{e.id}" for paper, e in EVERY}
    assert {claim.exhibit for claim in claims_by_id().values()} <= {None, *known}


def test_tables_of_machines_with_few_numbers_are_closed_at_first(names):
    (exhibit,) = [e for paper, e in EVERY if (paper, e.number) == ("ecl-mst", "Table 3")]
    filled = fill("ecl-mst", exhibit, [], names)
    (printed,) = filled.grids
    empty = tuple(replace(cell, value=None) for cell in printed.cells[0])
    few = replace(printed, source="few", cells=(printed.cells[0], *[empty] * (len(printed.cells) - 1)))
    tables = section._tables(replace(filled, grids=[printed, few, replace(printed, source="many")]))
    assert [(table["caption"], table["open"]) for table in tables] == [
        ("measured on few", False),
        ("measured on many", True),
    ]
    assert not section._tables(filled)[0]["open"]


@pytest.mark.parametrize(("paper", "exhibit"), EVERY, ids=[f"{p}-{e.id}" for p, e in EVERY])
def test_exhibit_has_csv_and_latex(paper, exhibit, names, sources, tmp_path):
    filled = fill(paper, exhibit, sources, names)
    table, tex = write_files(filled, tmp_path / filled.slug)
    with table.open(newline="") as file:
        rows = list(csv.DictReader(file))
    grids = filled.grids
    if exhibit.static:
        assert not grids and rows == list(published(exhibit.static).rows)
    else:
        assert [(r["panel"], r["source"], r["row"], r["column"]) for r in rows] == [
            (made.panel, made.source, row, column)
            for made in grids
            for row, column in itertools.product(made.rows, made.columns)
        ]
        known = Counter(r["source"] == Printed.name for r in rows if r["value"])
        printed = [grid for grid in grids if grid.is_printed]
        assert known[True] == sum(grid.known for grid in printed)
        assert known[False] == sum(grid.known for grid in filled.measured)
        assert all(r["value"] or r["reason"] for r in rows), "a row without a number has a reason"
        assert bool(printed) == (exhibit.values == "printed"), "pictures and our tables print no numbers"
    text = tex.read_text()
    # A number alone, such as 8, does not say that it is a number of threads.
    if filled.shown:
        assert exhibit.corner not in exhibit.rows and f"\n{exhibit.corner} & " in text
    tables = len(filled.shown) + bool(exhibit.static)
    assert exhibit.number in text
    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") == tables


@pytest.mark.parametrize("draw", ["points", "bars", "curves"])
def test_every_kind_of_picture(draw, names, sources, tmp_path):
    setup()
    paper, exhibit = next((p, e) for p, e in EVERY if e.draw == draw and e.values == "printed")
    drawn = drawing.draw(fill(paper, exhibit, sources, names), tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == {
        f"{panel.name}.{kind}" for panel in drawn for kind in ("svg", "pdf")
    }


def test_axes_name_what_they_show_beside_the_unit():
    labels = {drawing._label(exhibit) for _, exhibit in EVERY if exhibit.draw != "table"}
    assert labels == {"time (ms)", "arcs per second", "speedup", "%"}
    rates = [exhibit.title for _, exhibit in EVERY if exhibit.draw != "table" and exhibit.unit == "rate"]
    assert rates and all("in arcs per second" in title for title in rates)


def test_boxes_need_a_sample(names, sources, tmp_path):
    setup()
    made = {"id": "x", "number": "Figure 6", "title": "…", "values": "image", "draw": "boxes", "as": "seconds"}
    made |= {"rows": {"g": ["USA-road-d.NY"]}, "each": {"a": ["kruskal", "boruvka", "filter-boruvka"]}}
    exhibit = parse(Exhibit, {**made, "columns": {"{a}": "T(a, g)"}}, "test")
    assert drawing.draw(fill("ecl-mst", exhibit, sources, names), tmp_path)
    few = exhibit.model_copy(update={"each": {"a": ["kruskal"]}})
    assert not drawing.draw(fill("ecl-mst", few, sources, names), tmp_path)


@pytest.mark.parametrize("draw", ["bars", "points"])
def test_rows_without_numbers_are_not_drawn(draw, names, tmp_path, monkeypatch):
    setup()
    exhibit = one("bhargava-zaia", "speedups").model_copy(update={"draw": draw})
    monkeypatch.setattr(drawing, "FEWEST", 1)
    ((_, svg),) = drawing.draw(fill("bhargava-zaia", exhibit, [], names), tmp_path)
    assert "arithmetic mean" in svg and "circulant-50k" not in svg


@pytest.mark.parametrize("draw", ["bars", "points", "curves"])
def test_columns_without_numbers_have_no_entry_in_the_legend(draw, names, sources, tmp_path):
    setup()
    made = {"id": "x", "number": "Figure 1", "title": "…", "values": "none", "draw": draw, "as": "seconds"}
    made |= {"rows": {"k": [2, 1, 4]}, "columns": {"first": 'T("kruskal", "USA-road-d.NY") * k'}}
    made["columns"] |= {"unknown": 'T("kruskal@64", "USA-road-d.NY") * k'}
    filled = fill("durbhakula", parse(Exhibit, made, "test"), sources, names)
    drawn = drawing.draw(filled, tmp_path)
    assert drawn and all("first" in svg and "unknown" not in svg for _, svg in drawn)


def test_curves_are_not_drawn_where_all_that_was_measured_is_level(names, tmp_path):
    setup()
    filled = fill("durbhakula", one("durbhakula", "figure-2"), [Everything(names)], names)
    grid = next(grid for grid in filled.shown if not grid.is_printed)
    assert grid.columns == ("lock variables", "sequential", "sequential, covered")
    cell = grid.cells[0][1]
    level = [[replace(cell, value=None), cell, cell] for _ in grid.rows]
    falling = [[replace(cell, value=cell.value / (place + 1)), cell, cell] for place, _ in enumerate(grid.rows)]
    drawn = [
        drawing.draw(replace(filled, grids=[replace(grid, cells=cells)]), tmp_path)
        for cells in (level, falling)
    ]
    assert [len(panels) for panels in drawn] == [0, 1]


def test_a_picture_that_cannot_be_written_is_named_and_leaves_nothing(tmp_path, monkeypatch):
    pyplot = setup()

    def full(path, content):
        path.touch()
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    with pytest.raises(OSError) as caught:
        save(pyplot.figure(), tmp_path / "picture")
    assert caught.value.filename == str(tmp_path / "picture.svg")
    assert not list(tmp_path.iterdir())


def test_printed_and_measured_stand_side_by_side(names, sources):
    filled = fill("ecl-mst", one("ecl-mst", "table-3"), sources, names)
    printed, *grids = filled.grids
    (grid,) = (g for g in grids if g.source == "fake-gpu-box" and g.ports)
    row, column = grid.rows.index("USA-road-d.NY"), grid.columns.index("ECL-MST, our port")
    assert printed.cells[row][column].value == 0.0006
    cell = grid.cells[row][column]
    assert cell.low <= cell.value <= cell.high and cell.value != 0.0006
    assert "(0.0006)" in latex(filled) and "(NC)" in latex(filled)


def test_programs_and_our_ports_have_their_own_columns(names, tmp_path):
    """A column with the name of a program never has the number of a port."""
    graph = next(g for g in fake_records.GRAPHS if g.name == "USA-road-d.NY")
    for algorithm, seconds in (("ecl-mst-cuda", 0.5), ("command-ecl-mst", 0.25), ("cugraph", 0.75)):
        fake = fake_records.FakeAlgorithm(algorithm, algorithm, "cuda", 1e-9)
        samples = [[seconds] * 2] * 3
        run, value = fake_records.measurement("fake-gpu-box", graph, fake, 1, samples=samples)
        fake_records.write_record(tmp_path, run, value, grade="weight")
    filled = fill("ecl-mst", one("ecl-mst", "table-4"), gather(load_records(tmp_path)), names)
    grids = filled.measured
    found = {
        (grid.ports, column): cell.value
        for grid in grids
        for column, cell in zip(grid.columns, grid.cells[grid.rows.index("USA-road-d.NY")], strict=True)
        if cell.value is not None
    }
    assert found == {
        (False, "ECL-MST"): 0.25,
        (False, "cuGraph GPU"): 0.75,
        (True, "ECL-MST, our port"): 0.5,
        (True, "cuGraph GPU"): 0.75,
    }
    text = latex(filled)
    assert "ECL-MST (s)" in text and "ECL-MST, our port (s)" in text and "fake-gpu-box, our ports" in text
    drawn = drawing.draw(
        fill("ecl-mst", one("ecl-mst", "figure-4"), gather(load_records(tmp_path)), names),
        tmp_path / "pictures",
    )
    assert len({panel.name for panel in drawn}) == len(drawn) == 2


def test_columns_of_the_fastest_width_name_it(tmp_path):
    graph = next(g for g in fake_records.GRAPHS if g.name == "USA-road-d.NY")
    fake = fake_records.FakeAlgorithm("reservation-kruskal", "reservation-kruskal", "threads", 1e-9)
    for width, seconds in ((1, 0.5), (4, 0.25), (8, 0.75)):
        run, value = fake_records.measurement("fake-gpu-box", graph, fake, width, samples=[[seconds] * 2] * 3)
        fake_records.write_record(tmp_path / "records", run, value)
    source = gather(load_records(tmp_path / "records"))
    (paper,) = papers_of(source, tmp_path / "report", tmp_path, only="ecl-mst")
    shown = {e["id"]: [table["widths"] for table in e["tables"]] for e in paper["exhibits"]}
    assert shown["ecl-mst-table-3"] == [["PBBS CPU, our port 4"]]
    assert shown["ecl-mst-table-5"] == [[]]
    with (tmp_path / "ecl-mst-table-3.csv").open(newline="") as file:
        assert {r["source"]: r["widths"] for r in csv.DictReader(file) if r["value"]} == {
            "printed": "",
            "fake-gpu-box": "4",
        }


def test_mean_with_missing_numbers_has_no_value(names, sources):
    filled = fill("ecl-mst", one("ecl-mst", "table-3"), sources, names)
    printed, *grids = filled.grids
    assert [(cells[0].value, cells[4].value, cells[2].unfit) for cells in printed.cells[-2:]] == [
        (0.0103, 0.3978, True),
        (0.007, 0.1199, False),
    ]
    (grid,) = (g for g in grids if g.source == "fake-gpu-box" and g.ports)
    assert grid.known and all(cell.value is None and cell.reason for cell in grid.cells[-1])
    assert "missing, the first:" in grid.cells[-1][grid.columns.index("ECL-MST, our port")].reason


def test_machines_with_the_same_facts_are_one_table(names, sources):
    filled = fill("ecl-mst", one("ecl-mst", "table-2"), sources, names)
    grids = filled.measured
    assert len(sources) > 1 and len(grids) == 1 and all(s.name in grids[0].source for s in sources)


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (0.02482, "milliseconds", "24.8"),
        (1.23e-3, "seconds", "0.00123"),
        (4_190_208, "count", "4,190,208"),
        (7.09e9, "rate", "7.09 G"),
        (0.000005, "percent", "0.0005"),
        (2**21, "bytes", "2"),
        (1.0, "ratio", "1"),
        (0.0, "ratio", "0"),
        (None, "ratio", ""),
    ],
)
def test_numbers(value, kind, text):
    assert number(value, kind) == text


@pytest.mark.parametrize(
    "bad",
    [
        {"id": "x", "number": "1", "title": "…"},
        {"id": "x", "number": "1", "title": "…", "columns": {"a": "n(g)"}},
        {
            "id": "x",
            "number": "1",
            "title": "…",
            "columns": {"a": "n(g)"},
            "rows": {"g": "NX"},
            "drawn": "bars",
        },
    ],
)
def test_inconsistent_exhibit_is_refused(bad):
    with pytest.raises(ConfigError):
        parse(Exhibits, {"papers": {"p": [bad]}}, "test")


def test_the_page_says_which_exhibits_have_no_printed_numbers(report):
    said = {"image": "Published as a picture only", "none": "The paper has no table for this one"}
    for paper, exhibit in EVERY:
        page = (report / "report" / f"{paper}.html").read_text()
        (article,) = re.findall(rf'<article id="{paper}-{exhibit.id}">.*?</article>', page, re.DOTALL)
        assert [kind for kind, text in said.items() if text in article] == [exhibit.values] * (
            exhibit.values in said
        )


# Stand-ins.


@pytest.fixture(scope="module")
def measured_in_place(tmp_path_factory, names):
    """ECL-MST and Jucele's code, measured on all 17 inputs.

    Of generators, on the outputs of the same recipe, which have the same facts.
    """
    folder = tmp_path_factory.mktemp("stand-ins")
    graphs = [member if isinstance(member, tuple) else (member,) for member in names.sets["ECL17"]]
    for k, (*_, name) in enumerate(graphs):
        graph = fake_records.FakeGraph(name, name, "road", 1000, 4000 + k, 1, 9, "made")
        for algorithm in ("ecl-mst-cuda", "jucele-cuda"):
            fake = fake_records.FakeAlgorithm(algorithm, algorithm, "cuda", 1e-9)
            samples = [[0.5 + 0.01 * k] * 2 for k in range(3)]
            run, value = fake_records.measurement("fake-gpu-box", graph, fake, 1, samples=samples)
            fake_records.write_record(folder, run, value)
    (source,) = gather(load_records(folder))
    source.facts = {member[-1]: dict(evidence.facts_of_input(member[0])) for member in graphs}
    return source


def test_rows_of_stand_ins_are_labelled_beside_published_rows(names, measured_in_place, tmp_path):
    filled = fill("ecl-mst", one("ecl-mst", "table-3"), [measured_in_place], names)
    printed, grid = filled.grids
    row = grid.rows.index("rmat16.sym")
    assert grid.labels[row] == "rmat16.sym (stand-in)" and printed.labels[row] == "rmat16.sym"
    assert grid.labels[grid.rows.index("USA-road-d.NY")] == "USA-road-d.NY"
    assert grid.labels[-2:] == ("MSF geometric mean (5 stand-ins)", "MST geometric mean (2 stand-ins)")
    assert grid.cells[row][0].value == pytest.approx(0.51) and printed.cells[row][0].value == 0.0006
    assert "rmat16.sym (stand-in) & 0.51* (0.0006)" in latex(filled)
    table, _ = write_files(filled, tmp_path / filled.slug)
    with table.open(newline="") as file:
        rows = [r for r in csv.DictReader(file) if r["row"] == "rmat16.sym" and r["value"]]
        rows = [r for r in rows if r["column"] in ("ECL-MST", "ECL-MST, our port")]
    assert [(r["source"], r["graphs"], r["stand_ins"], r["objection"]) for r in rows] == [
        ("printed", "rmat16.sym", "", ""),
        (
            "fake-gpu-box",
            "rmat16.sym",
            "rmat16.sym.egr=rmat16.sym",
            "does not state the version of cupy and cuda",
        ),
    ]


def test_pictures_mark_stand_ins(names, measured_in_place, tmp_path):
    setup()
    ((_, svg),) = drawing.draw(
        fill("ecl-mst", one("ecl-mst", "figure-3"), [measured_in_place], names), tmp_path
    )
    assert "rmat16.sym (stand-in)" in svg and "USA-road-d.NY (stand-in)" not in svg


def test_exhibits_say_whether_they_have_stand_ins_and_numbers_that_judge_nothing(measured_in_place, tmp_path):
    (paper,) = papers_of([measured_in_place], tmp_path / "report", tmp_path, only="ecl-mst")
    marked = {e["id"]: e["objections"] for e in paper["exhibits"] if e["stand_ins"]}
    assert marked["ecl-mst-table-3"] and not marked["ecl-mst-table-2"] and "ecl-mst-kruskals" not in marked


# Reference bundles.


@pytest.fixture
def elsewhere(tmp_path):
    """A folder of results with one bundle of a machine that is not this one."""
    fake_records.write_experiment(tmp_path / "other", graphs=fake_records.GRAPHS[:1])
    for file in (tmp_path / "other" / "graphs").glob("*/manifest.json"):
        (file.parent / "0a1b2c3d").mkdir()
        file.rename(file.parent / "0a1b2c3d" / "manifest.json")
    folder = tmp_path / "results" / "reference" / "fake-gpu-box"
    folder.mkdir(parents=True)
    export_bundle("fake-gpu-box", results=tmp_path / "other", out=folder / "fake-gpu-box.mst.zip")
    (folder / "about.yaml").write_text("by: the authors\nstand_ins: {twitter: com-youtube}\n")
    return tmp_path / "results"


def test_bundles_are_unpacked_once_and_attributed(elsewhere):
    (first,) = references(elsewhere)
    assert first.machine == "fake-gpu-box" and first.about.by == "the authors"
    assert list(first.records.glob("fake-gpu-box/*/*/*/w*/*.json")) and first.manifests
    stamp = first.records.stat().st_mtime_ns
    (again,) = references(elsewhere)
    assert again == first and again.records.stat().st_mtime_ns == stamp


def test_damaged_bundles_are_refused_and_leave_nothing(elsewhere):
    (bundle,) = elsewhere.glob("reference/*/*.mst.zip")
    bundle.write_bytes(bundle.read_bytes()[:-200])
    with pytest.raises(FormatError):
        references(elsewhere)
    assert not list((elsewhere / ".reference").glob("*"))


@pytest.mark.slow
def test_report_shows_references_apart(elsewhere, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (own := tmp_path / "own").mkdir()
    assert main(["report", "--results", str(own)]) == 0
    front = (own / "report.html").read_text()
    assert "Measured on reference machines" in front and "Measured here" not in front
    page = (own / "report" / "machines.html").read_text()
    assert "by the authors" in page and "com-youtube for twitter" in page and "2026-11-20" in page
    assert page.count('<i class="source elsewhere">') > 1 == page.count('<i class="source here">')


def test_cells_mark_unknown_values():
    assert [cell_text(c) for c in (Cell(2.0), Cell(), Cell(unfit=True))] == ["2", "–", "NC"]
