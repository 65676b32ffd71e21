"""The commands fetch, info, convert and clean."""

from __future__ import annotations

import argparse
import importlib
import json
from pathlib import Path

import pytest

from mst import catalog, formats
from mst.errors import ConfigError, FormatError, InputError
from mst.formats.canonical import read_canonical
from mst.kernels.graph import relabel, simplify  # noqa: F401
from mst.kernels.primitives import machine_code
from mst.reporting.papers.evidence import facts_of_input
from mst.units import decimal_size

# Kernels use the cache folder that is set when they are imported: import them before a test changes MST_CACHE.

CATALOGUE = """
citations: {us: "Us, 2026."}
graphs:
  square:
    title: A square
    family: known-answer
    citation: [us]
    sources: [{format: edges, mirror_names: [square.txt]}]
    weights: {dtype: int32, low: 1, high: 9}
    published: [{by: us, n: 4, edges: 4}]
  sphere:
    title: Unavailable
    family: known-answer
    citation: [us]
    sources: [{format: edges, mirror_names: [sphere.txt]}]
    published: [{by: us, n: 8}]
  path-5:
    title: A path
    family: structured
    citation: [us]
    generator: path
    parameters: {n: 5}
    weights: {dtype: float64, low: 0, high: 1}
    published: [{by: us, n: 6}]
"""


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    """A folder with a catalogue, a mirror with one graph, and an empty cache."""
    (tmp_path / "mirror").mkdir()
    (tmp_path / "mirror" / "square.txt").write_text("0 1\n1 2\n2 3\n3 0\n0 3\n")
    (tmp_path / "graphs.yaml").write_text(CATALOGUE)
    monkeypatch.setenv("MST_MIRROR", str(tmp_path / "mirror"))
    monkeypatch.setenv("MST_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def mst(capsys, monkeypatch):
    """Return a function that runs a command and returns its exit code, its output and its error output."""
    # Code may be compiled for the first time here, on a busy machine.
    monkeypatch.setattr(machine_code, "PATIENCE", float("inf"))

    def call(name: str, *arguments: str) -> tuple[int, str, str]:
        module = importlib.import_module(f"mst.commands.{name}")
        parser = argparse.ArgumentParser()
        module.configure(parser)
        code = module.run(parser.parse_args([str(argument) for argument in arguments]))
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


def test_fetch_brings_a_graph_into_the_cache(place, mst):
    code, out, _ = mst("fetch", "square", "--catalog", "graphs.yaml")
    entry = catalog.load("graphs.yaml")["square"]
    expected = place / "cache" / "graphs" / f"square-{entry.recipe}" / "graph.arrow"
    assert (code, out) == (0, f"square: n = 4, m = 4, {expected}\n")
    assert read_canonical(expected).m == 4


def test_fetch_into_a_folder_and_by_pattern(place, mst):
    code, out, err = mst("fetch", "s*", "path-5", "--into", "out", "--catalog", "graphs.yaml", "--offline")
    assert code == 1
    assert sorted(path.name for path in (place / "out").rglob("graph.arrow")) == ["graph.arrow"] * 2
    assert "square: n = 4, m = 4, out/square/graph.arrow" in out
    assert "sphere is unavailable" in err and "has no sphere.txt, compressed or not" in err
    assert "path-5: us gives n = 6, this graph has 5" in err


def test_fetch_prints_one_json_object(place, mst):
    code, out, _ = mst(
        "fetch", "s*", "path-5", "--into", "out", "--catalog", "graphs.yaml", "--offline", "--json"
    )
    graphs = {graph["name"]: graph for graph in json.loads(out)["graphs"]}
    assert code == 1 and graphs["sphere"]["status"] == "unavailable"
    assert graphs["square"]["status"] == "ok" and Path(graphs["square"]["file"]).is_file()
    assert graphs["path-5"]["n"] == 5 and graphs["path-5"]["m"] == 4


def test_fetch_of_a_damaged_file_leaves_no_folder(place, mst):
    (place / "mirror" / "square.txt").write_text("no graph at all")
    with pytest.raises(FormatError):
        mst("fetch", "square", "--into", "out", "--catalog", "graphs.yaml")
    assert not (place / "out" / "square").exists()


def test_fetch_again_replaces_the_graph(place, mst):
    arguments = ("fetch", "square", "--into", "out", "--catalog", "graphs.yaml")
    mst(*arguments)
    file = place / "out" / "square" / "graph.arrow"
    before = file.stat().st_mtime_ns
    mst(*arguments)
    assert file.stat().st_mtime_ns == before
    mst(*arguments, "--again")
    assert file.stat().st_mtime_ns != before


def test_fetch_raw_does_not_parse_the_file(place, mst):
    (place / "mirror" / "square.txt").write_text("no graph at all")
    code, out, _ = mst("fetch", "--raw", "square", "path-5", "--catalog", "graphs.yaml")
    assert code == 0
    (line,) = out.splitlines()
    assert line.startswith(f"square: {place / 'cache' / 'raw' / 'square'}")
    assert line.endswith("its checksum was recorded, since this is the first download")
    _, out, _ = mst("fetch", "--raw", "square", "--catalog", "graphs.yaml")
    assert out.rstrip().endswith("its checksum matches the one recorded earlier")
    code, _, err = mst("fetch", "--raw", "sphere", "--catalog", "graphs.yaml")
    assert code == 1 and "sphere is unavailable" in err
    with pytest.raises(ConfigError, match="path-5: generated, without a raw file: leave out --raw"):
        mst("fetch", "--raw", "path-5", "--catalog", "graphs.yaml")


def test_fetch_tries_mirrors_of_the_command_line(place, mst, monkeypatch):
    monkeypatch.delenv("MST_MIRROR")
    assert mst("fetch", "square", "--catalog", "graphs.yaml", "--offline")[0] == 1
    assert mst("fetch", "square", "--catalog", "graphs.yaml", "--mirror", place / "mirror")[0] == 0


@pytest.mark.parametrize("flags", [[], ["--raw"]])
def test_fetch_names_a_missing_file_of_this_machine_with_the_remedy(flags, place, mst, monkeypatch):
    monkeypatch.delenv("MST_MIRROR")
    own = "citations: {}\ngraphs: {own: {title: Own, family: road, sources: [{path: gone/road.gr}]}}"
    (place / "own.yaml").write_text(own)
    _, _, err = mst("fetch", "own", "--catalog", "own.yaml", *flags)
    assert err == (
        f"own is unavailable:\n  {place}/gone/road.gr: no such file: put it there, or correct the path in the "
        "catalogue\n"
    )


def test_fetch_refuses_unknown_graphs(place, mst):
    with pytest.raises(ConfigError, match="did you mean 'square'"):
        mst("fetch", "sqare", "--catalog", "graphs.yaml")


def test_info_lists_the_catalogue(place, mst):
    _, out, _ = mst("info", "--catalog", "graphs.yaml")
    header, *lines = out.splitlines()
    assert header.split() == ["name", "family", "n", "m", "title"]
    assert [line.split()[0] for line in lines] == ["square", "sphere", "path-5"]
    assert lines[0].split() == ["square", "known-answer", "4", "4", "A", "square"]
    _, out, _ = mst("info", "--catalog", "graphs.yaml", "--json")
    assert json.loads(out)["path-5"]["parameters"] == {"n": 5}


def test_info_lists_the_sizes_that_claims_compare_stand_ins_with(place, mst):
    _, out, _ = mst("info")
    assert out == mst("list", "graphs")[1]
    sizes = {name: (n, m) for name, _, n, m, *_ in map(str.split, out.splitlines())}
    assert sizes["USA-road-d.BAY"] == ("321,270", "400,086")  # half of the rows
    assert sizes["USA-road-d.NY"] == ("264,346", "365,050")  # a paper counts them without parallel edges
    assert sizes["minimo"] == ("6", "7")  # each row is an edge
    for name, facts in ((name, facts_of_input(name)) for name in catalog.load()):
        assert sizes[name] == tuple(f"{facts[key]:,}" if key in facts else "–" for key in ("n", "m"))


def test_info_shows_an_entry_and_whether_it_is_fetched(place, mst):
    _, out, _ = mst("info", "square", "--catalog", "graphs.yaml")
    assert "here: no: mst fetch square" in out
    mst("fetch", "square", "--catalog", "graphs.yaml")
    _, out, _ = mst("info", "square", "--catalog", "graphs.yaml")
    assert "n: 4\n" in out and "reciprocal: 1\n" in out and "published numbers confirmed: 2 of 2" in out
    _, out, _ = mst("info", "square", "--catalog", "graphs.yaml", "--json")
    shown = json.loads(out)
    assert shown["manifest"]["m"] == 4 and shown["here"].endswith("graph.arrow")
    mst("fetch", "sphere", "--catalog", "graphs.yaml")
    _, out, _ = mst("info", "sphere", "--catalog", "graphs.yaml")
    assert "here: no: mst fetch sphere" in out and "status: unavailable" in out


def test_info_names_the_published_numbers_that_differ(place, mst):
    mst("fetch", "path-5", "--into", "out", "--catalog", "graphs.yaml")
    _, out, _ = mst("info", "out/path-5")
    assert "mismatches: us gives n = 6, this graph has 5" in out
    assert mst("info", "out/path-5/manifest.json")[1] == out


def test_info_counts_vertices_and_edges_of_a_file(place, mst):
    (place / "graph.csv").write_text("u,v,weight\n5,7,1.5\n7,5,2.5\n5,5,1\n7,9,-1\n")
    _, out, _ = mst("info", "graph.csv", "--json")
    shown = json.loads(out)
    assert {key: shown[key] for key in ("rows", "n", "m", "components", "maximum_degree")} == {
        "rows": 4,
        "n": 3,
        "m": 2,
        "components": 1,
        "maximum_degree": 2,
    }
    assert shown["merged"] == {"loops": 1, "reciprocal": 1, "parallel": 0}
    assert (shown["weight_dtype"], shown["weight_min"], shown["weight_max"]) == ("float64", -1.0, 1.5)
    _, out, _ = mst("info", "graph.csv", "mirror/square.txt")
    assert "weights: none in the file" in out.split("\n\n")[1]


def test_info_refuses_unknown_names(place, mst):
    with pytest.raises(InputError, match="neither a file nor a graph of the catalogue"):
        mst("info", "nowhere.gr", "--catalog", "graphs.yaml")
    with pytest.raises(InputError, match="did you mean 'sphere'"):
        mst("info", "spere", "--catalog", "graphs.yaml")


def test_convert_keeps_every_edge_by_default(place, mst):
    (place / "multi.txt").write_text("0 1 5\n1 0 3\n1 2 7\n2 2 1\n")
    code, out, err = mst("convert", "multi.txt", "multi.gr.gz")
    assert (code, out, err) == (0, "multi.gr.gz: n = 3, m = 4, weights int32\n", "")
    assert formats.read("multi.gr.gz").w.tolist() == [5, 3, 7, 1]
    _, _, err = mst("convert", "multi.txt", "simple.arrow", "--simple")
    assert err == "multi.txt: dropped 1 self-loop, 1 reciprocal arc, 0 parallel edges\n"
    graph = read_canonical("simple.arrow")
    assert (graph.u.tolist(), graph.v.tolist(), graph.w.tolist()) == ([0, 1], [1, 2], [3, 7])


def test_convert_says_where_vertices_get_other_numbers(place, mst):
    (place / "apart.txt").write_text("# Nodes: 7 Edges: 2\n1 2 5\n4 5 7\n")
    (place / "gaps.txt").write_text("10 20 5\n20 40 7\n")
    (place / "plain.txt").write_text("0 1 5\n1 2 7\n")
    (place / "from-6.txt").write_text("6 7 5\n7 8 7\n")
    (place / "from-1.txt").write_text("1 2 5\n2 3 7\n")
    for source, target, words in (
        ("apart.txt", "apart.csv", "3 vertices without edges will be missing"),
        ("apart.txt", "apart.gr", ""),
        ("apart.txt", "apart.pbbs", "1 vertex without edges will be missing; use .txt"),
        ("plain.txt", "plain.pbbs", ""),
        ("gaps.txt", "gaps.gr", "gaps.gr renumbers the vertices in the order of their ids in gaps.txt"),
        ("from-6.txt", "from-6.gr", "from-6.gr renumbers the vertices in the order of their ids in from-6.txt"),
        ("from-1.txt", "from-1.gr", ""),
        ("plain.txt", "plain.csv.gz", ""),
    ):
        to = ("--to", "pbbs") if target.endswith(".pbbs") else ()
        _, _, err = mst("convert", source, target, *to)
        assert words in err and bool(err) == bool(words)
        assert ("renumber" in err) == (target in ("apart.csv", "gaps.gr", "from-6.gr"))
    assert formats.read("apart.pbbs").n == 6


def test_convert_keeps_the_ids_of_an_edge_list_where_no_vertex_is_lost(place, mst):
    (place / "gaps.txt").write_text("10 20 5\n20 40 7\n")
    (place / "from-1.txt").write_text("# Nodes: 3 Edges: 2\n1 2 5\n2 3 7\n")
    (place / "loop.txt").write_text("10 10 3\n10 20 5\n30 30 7\n")
    (place / "road.gr").write_text("p sp 3 2\na 1 2 5\na 2 3 7\n")
    (place / "isolated.mtx").write_text("%%MatrixMarket matrix coordinate integer symmetric\n3 3 1\n2 1 5\n")
    for source, target, arguments, rows in (
        ("gaps.txt", "a.csv", (), ["10,20,5", "20,40,7"]),
        ("gaps.txt", "a.txt", (), ["10 20 5", "20 40 7"]),
        ("from-1.txt", "b.csv", (), ["1,2,5", "2,3,7"]),
        ("from-1.txt", "b.txt", (), ["1 2 5", "2 3 7"]),
        ("loop.txt", "c.csv", ("--simple",), ["10,20,5"]),
        ("loop.txt", "c.txt", ("--simple",), ["0 1 5"]),
        ("road.gr", "d.csv", (), ["1,2,5", "2,3,7"]),
        ("road.gr", "d.txt", (), ["1 2 5", "2 3 7"]),
        ("isolated.mtx", "e.csv", (), ["2,1,5"]),
        ("isolated.mtx", "e.txt", (), ["1 0 5"]),
    ):
        _, _, err = mst("convert", source, target, *arguments)
        written = (place / target).read_text().splitlines()
        assert [line for line in written if line[0].isdigit()] == rows
        assert ("renumbers" in err) == (target in ("c.txt", "e.txt"))
        assert ("will be missing" in err) == (target in ("c.csv", "e.csv"))
    assert formats.read("c.txt").n == formats.read("e.txt").n == 3


@pytest.mark.parametrize("text", ["10 20 5\n20 40 7\n", "7 8 5\n8 9 7\n"])
def test_labels_of_a_graph_that_was_read_are_ids_to_write(text, tmp_path):
    (source := tmp_path / "list.txt").write_text(text)
    graph = formats.read(source)
    formats.write(target := tmp_path / "list.csv", graph, ids=graph.labels)
    assert target.read_text() == "source,target,weight\n" + text.replace(" ", ",")


def test_convert_takes_formats_by_name(place, mst):
    (place / "graph").write_text("0 1 5\n")
    mst("convert", "graph", "other", "--from", "edges", "--to", "dimacs")
    assert formats.detect("other") == "dimacs"
    with pytest.raises(ConfigError, match="did you mean 'dimacs'"):
        mst("convert", "graph", "other", "--to", "dimac")


def test_convert_makes_weights(place, mst):
    _, out, err = mst("convert", "mirror/square.txt", "one.txt")
    assert "weights int32" in out and "has no weights; every edge weighs 1" in err
    mst("convert", "mirror/square.txt", "a.txt", "--weights", "int64:10:20", "--seed", "3", "--simple")
    mst("convert", "one.txt", "b.txt", "--weights", "int64:10:20", "--seed", "3", "--simple")
    a, b = formats.read("a.txt"), formats.read("b.txt")
    assert a.w.tolist() == b.w.tolist() and 10 <= a.w.min() <= a.w.max() <= 20


@pytest.mark.parametrize("text", ["int8:1:2", "int32:2:1", "int32:1", "int32:1:2:same", "float32:a:b", ""])
def test_convert_refuses_illegal_weight_ranges(place, mst, text):
    with pytest.raises(InputError, match="weights"):
        mst("convert", "mirror/square.txt", "out.txt", "--weights", text)
    assert not (place / "out.txt").exists()


def test_clean_shows_sizes_and_removes_named_caches(place, mst):
    mst("fetch", "square", "path-5", "--catalog", "graphs.yaml")
    _, out, _ = mst("clean")
    sizes = {line.split()[0]: line.split()[1] for line in out.splitlines()[1:-1]}
    assert set(sizes) == {"raw", "graphs", "checksums", "numba", "cuda", "fingerprints"}
    assert sizes["raw"] != "0" and sizes["graphs"] != "0" and sizes["cuda"] == "0"
    assert (place / "cache" / "raw").is_dir()
    _, out, _ = mst("clean", "raw", "--dry-run")
    assert out.startswith("raw: would remove ") and (place / "cache" / "raw").is_dir()
    _, out, _ = mst("clean", "raw")
    assert out.startswith("raw: removed ") and not (place / "cache" / "raw").exists()
    assert (place / "cache" / "checksums" / "square.json").is_file()
    mst("clean", "--all")
    assert not (place / "cache" / "graphs").exists()
    assert (place / "cache" / "checksums" / "square.json").is_file()
    mst("clean", "checksums")
    assert not (place / "cache" / "checksums").exists()


def test_clean_of_one_graph_leaves_the_others(place, mst):
    mst("fetch", "square", "path-5", "--catalog", "graphs.yaml")
    (place / "cache" / "numba" / "kernel").mkdir(parents=True)
    mst("clean", "raw", "graphs", "checksums", "numba", "--graph", "square")
    assert [path.name.rpartition("-")[0] for path in (place / "cache" / "graphs").iterdir()] == ["path-5"]
    assert list((place / "cache" / "raw").iterdir()) == []
    assert not (place / "cache" / "checksums" / "square.json").exists()
    assert any((place / "cache" / "numba").iterdir())


def test_clean_refuses_an_unknown_graph_and_names_the_nearest(place, mst):
    mst("fetch", "square", "--catalog", "graphs.yaml")
    for name, near in (("sqaure", "square"), ("grid-100", "grid-1000")):
        with pytest.raises(
            ConfigError, match=rf"--graph '{name}' is neither in .* \(did you mean '{near}'\?\)"
        ):
            mst("clean", "graphs", "--graph", name)
    assert mst("clean", "raw", "--graph", "grid-128")[1] == "raw: removed 0 B\n"  # known, and not fetched


@pytest.mark.parametrize("name", ["{place}/mine", "..", ".", "", "../../mine"])
def test_clean_removes_nothing_outside_the_cache(place, mst, name):
    for folder in (place / "mine", place / "cache" / "raw" / "square", place / "cache" / "graphs"):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "file").write_text("keep")
    for part in ("raw", "graphs", "checksums"):
        with pytest.raises(ConfigError, match=r"--graph: graph name .* use ASCII letters"):
            mst("clean", part, "--graph", name.format(place=place))
    assert len(list(place.rglob("file"))) == 3


def test_clean_refuses_unknown_caches_and_keeps_other_files(place, mst):
    (place / "cache").mkdir(exist_ok=True)
    (place / "cache" / "mine.txt").write_text("keep")
    with pytest.raises(ConfigError, match="did you mean 'graphs'"):
        mst("clean", "grahps")
    mst("clean", "--all")
    mst("clean", "checksums")
    assert (place / "cache" / "mine.txt").read_text() == "keep"


def test_sizes_are_printed_with_decimal_units():
    sizes = map(decimal_size, (0, 999, 1000, 999_949, 999_950, 10**15))
    assert [*sizes] == ["0 B", "999 B", "1.0 kB", "999.9 kB", "1.0 MB", "1000.0 TB"]
