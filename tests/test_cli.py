"""The command line: its output, its errors, and the packages that it must not load."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
import time
import tomllib
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from scripts import run_mst, run_python

import mst
from mst import Graph, formats, registry
from mst.cli import commands, main
from mst.errors import UnsupportedError, nearest

TRIANGLE = "p sp 4 6\na 1 2 5\na 2 1 5\na 2 3 7\na 3 2 7\na 1 3 6\na 3 1 6\n"
HEAVY = "numba llvmlite cupy mpi4py matplotlib pandas pyarrow scipy networkx igraph seaborn httpx tenacity"


@pytest.fixture
def triangle(tmp_path) -> Path:
    file = tmp_path / "triangle.gr"
    file.write_text(TRIANGLE)
    return file


@pytest.mark.parametrize("command", ["solve", "advise"])
def test_a_graph_of_the_catalogue_in_place_of_a_file_is_named(command, capsys):
    assert main([command, "rmat-17"]) == 2
    assert "rmat-17 cannot be read: No such file or directory; it is a graph" in capsys.readouterr().err
    assert main([command, "no-graph"]) == 2
    assert capsys.readouterr().err.endswith("no-graph cannot be read: No such file or directory\n")


def test_solve_prints_one_json_object(triangle, capsys):
    chosen = ["--algorithm", "kruskal", "--option", "sort=comparison"]
    assert main(["solve", str(triangle), "--json", *chosen]) == 0
    found = json.loads(capsys.readouterr().out)
    keys = "file vertices edges components forest_edges weight exact algorithm options width seconds"
    assert list(found) == keys.split()
    assert found["vertices"] == 4 and found["components"] == 2 and found["forest_edges"] == 2
    assert found["weight"] == 11 and found["options"]["sort"] == "comparison" and found["width"] == 1
    assert {"read", "init", "compute"} <= set(found["seconds"])


@pytest.mark.parametrize("memory", [[], ["--memory", "2G"]])
@pytest.mark.parametrize(
    ("algorithm", "words", "exact"),
    [("auto", "forest", True), ("kruskal", "forest", True), ("bucket", "approximate forest", False)],
)
def test_solve_says_that_a_forest_is_approximate(triangle, capsys, algorithm, words, exact, memory):
    command = ["solve", str(triangle), "--algorithm", algorithm, *memory]
    assert main(command) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith(f"{words}: 2 edges")
    assert main([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["exact"] is exact


def test_solve_writes_a_forest_that_verify_accepts(triangle, tmp_path, capsys):
    forest = tmp_path / "forest.gr"
    assert main(["solve", str(triangle), "--out", str(forest)]) == 0
    assert "weight 11" in capsys.readouterr().out
    assert main(["verify", str(triangle), str(forest), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["ok"] is True
    assert main(["verify", str(triangle), str(forest)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{forest} is the minimum spanning forest of {triangle}:"
    assert re.fullmatch(r"2 edges, 2 components, weight 11; read in .*, matched in .*, proved in .*", lines[1])


def test_solve_writes_files_of_every_suffix_that_an_error_names(triangle, tmp_path, capsys):
    assert main(["solve", str(triangle), "--out", str(tmp_path / "forest.xyz")]) == 2
    named = re.findall(r" (\.[a-z]+)[,; ]", capsys.readouterr().err)
    assert {".gr", ".csv", ".parquet"} <= set(named)
    for suffix in named:
        assert main(["solve", str(triangle), "--out", str(tmp_path / f"forest{suffix}")]) == 0
        assert main(["verify", str(triangle), str(tmp_path / f"forest{suffix}")]) == 0


@pytest.mark.parametrize(
    ("suffix", "options"),
    [("txt", []), *((suffix, ["--memory", "2G"]) for suffix in ("txt", "arrow", "parquet"))],
)
def test_solve_says_that_a_file_has_no_weights(suffix, options, tmp_path, capsys):
    columns, graph = {"u": pa.array([0, 1]), "v": pa.array([1, 2])}, tmp_path / f"graph.{suffix}"
    remark = f"{graph}: has no weights; every edge weighs 1"
    for more, said in (({}, True), ({"w": pa.array([1, 1])}, False)):
        table = pa.table(columns | more)
        if suffix == "txt":
            graph.write_text("".join(" ".join(map(str, row.values())) + "\n" for row in table.to_pylist()))
        elif suffix == "parquet":
            parquet.write_table(table, graph)
        else:
            with pa.ipc.new_file(graph, table.schema) as file:
                file.write_table(table)
        for flags, expected in (([], said), (["--json"], said), (["--quiet"], False)):
            assert main(["solve", str(graph), *options, *flags]) == 0
            printed = capsys.readouterr()
            assert (remark in printed.err) == expected and "no weights" not in printed.out


@pytest.mark.parametrize("options", [[], ["--memory", "2G"]])
def test_json_has_strings_for_what_is_not_finite(options, tmp_path, capsys):
    def printed(*arguments: str) -> dict:
        assert main([*arguments, "--json"]) == 0
        return json.loads(capsys.readouterr().out, parse_constant=pytest.fail)

    graph, forest = str(tmp_path / "graph.txt"), str(tmp_path / "forest.parquet")
    Path(graph).write_text("0 1 inf\n1 2 -inf\n3 0 2\n")
    assert printed("solve", graph, "--out", forest, *options)["weight"] == "NaN"
    assert printed("verify", graph, forest)["weight"] == "NaN"
    assert [printed("info", graph)[f"weight_{end}"] for end in ("min", "max")] == ["-Infinity", "Infinity"]


@pytest.mark.parametrize("options", [[], ["--memory", "2G"]])
def test_verify_accepts_a_csv_whose_vertices_solve_numbered_or_kept(options, tmp_path):
    graph, forest = tmp_path / "graph.txt", tmp_path / "forest.csv"
    graph.write_text("5 9 2\n9 40 1\n5 40 7\n40 7 3\n")
    assert main(["solve", str(graph), "--out", str(forest), *options]) == 0
    assert forest.read_text().startswith("source,target,weight\n")
    assert main(["verify", str(graph), str(forest)]) == 0


def test_verify_refuses_a_heavier_forest_and_a_foreign_edge(triangle, tmp_path, capsys):
    heavier = tmp_path / "heavier.gr"
    heavier.write_text("p sp 4 2\na 1 2 5\na 2 3 7\n")
    assert main(["verify", str(triangle), str(heavier)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{heavier} is not the minimum spanning forest of {triangle}:"
    assert lines[1:] == [
        "edge 4 (1–3, weight 6) is lighter than edge 2 (2–3, weight 7) on its path: the forest is not minimum"
    ]
    assert main(["verify", str(triangle), str(heavier), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["grade"] is None
    foreign = tmp_path / "foreign.gr"
    foreign.write_text("p sp 4 2\na 1 2 5\na 3 4 1\n")
    assert main(["verify", str(triangle), str(foreign)]) == 1
    assert "is not in the graph" in capsys.readouterr().out


PATH_OF_FIVE = "10 20 5\n20 30 -7\n30 40 9007199254740993\n10 40 9007199254740994\n50 50 1\n10 20 5\n"
FROM_0 = "from {0}, and has all edges of the forest only if the forest counts them from 0: add {0} to each"
NAMED = "edge {} of the forest, {{{}}} of weight {}, is not in the graph, "


@pytest.mark.parametrize(
    ("graph", "forest", "mismatches"),
    [
        (PATH_OF_FIVE, "30 20 -7\n20 10 5\n40 30 9007199254740993\n", []),
        (PATH_OF_FIVE, "# Nodes: 5 Edges: 3\n0 1 5\n1 2 -7\n2 3 9007199254740993\n", []),
        (
            PATH_OF_FIVE,
            "10 20 5.7\n20 30 -7.0\n30 40 9007199254740992.0\n",
            [
                NAMED.format(1, "10, 20", 5.7) + "where an edge between these ends has weight 5",
                NAMED.format(3, "30, 40", "9007199254740992.0")
                + "where an edge between these ends has weight 9007199254740993",
            ],
        ),
        (
            PATH_OF_FIVE,
            "10 20 5\n20 30 -7\n30 99 9007199254740993\n20 10 5\n20 40 1\n",
            [
                NAMED.format(3, "30, 99", 9007199254740993) + "which has no vertex 99",
                "edge 4 of the forest, {20, 10} of weight 5, repeats edge 1",
                NAMED.format(5, "20, 40", 1) + "which has no edge between these ends",
            ],
        ),
        (
            "0 1 1\n1 2 2\n2 3 3\n3 0 4\n",
            "0 1 10\n1 2 20\n2 3 30\n",
            [
                NAMED.format(e, f"{e - 1}, {e}", 10 * e) + f"where an edge between these ends has weight {e}"
                for e in (1, 2, 3)
            ],
        ),
        ("0 1 1\n1 2 2\n", "0 1\n1 2\n", ["only one of the two files has weights"] * 2),
        ("0 1\n1 2\n", "0 1\n1 2\n", []),
        ("0 1\n1 2\n", "0 1 1\n1 2 1.0\n", []),
        (
            "0 1\n1 2\n",
            "0 1 1\n1 2 2\n",
            ["edge 2 of the forest, {1, 2} of weight 2, is not in the graph: only"],
        ),
        (f"0 {2**63 - 1} 4\n", "# Nodes: 2 Edges: 1\n0 1 4\n", []),
        ("0 1 0.0\n1 2 -0.0\n", "0 1 -0.0\n1 2 0\n", []),
        ("p sp 4 2\na 1 2 5\na 2 3 6\n", "1 2 5\n2 3 6\n", []),
        ("p sp 4 2\na 1 2 5\na 2 3 6\n", "# Nodes: 4 Edges: 2\n1 2 5\n2 3 6\n", []),
        ("p tw 4 2\n1 2\n2 3\n", "1 2\n2 3\n", []),
        ("p tw 5 2\n2 3\n3 4\n", "2 3\n3 4\n", []),
        ("p tw 4 2\n1 2\n2 3\n", "0 1\n1 2\n", [FROM_0.format(1)]),
        ("p tw 4 2\n1 2\n2 3\n", "# Nodes: 4 Edges: 2\n0 1\n1 2\n", [FROM_0.format(1)]),
        ("p tw 5 2\n2 3\n3 4\n", "1 2\n2 3\n", [FROM_0.format(1)]),
        ("6 7 1\n7 8 2\n", "0 1 1\n1 2 2\n", [FROM_0.format(6)]),
        ("6 7 1\n7 8 2\n", "6 7 1\n7 8 2\n", []),
        ("# Nodes: 3 Edges: 2\n6 7 1\n7 8 2\n", "0 1 1\n1 2 2\n", [FROM_0.format(6)]),
        ("# Nodes: 3 Edges: 2\n6 7 1\n7 8 2\n", "6 7 1\n7 8 2\n", []),
        ("# Nodes: 3 Edges: 2\n6 7 1\n7 9 2\n", "0 1 1\n1 2 2\n", []),
        (f"{2**31 - 1} {2**31} 1\n", "0 1 1\n", [FROM_0.format(2**31 - 1)]),
        (f"{2**31 - 1} {2**31} 1\n", f"{2**31 - 1} {2**31} 1\n", []),
        (f"{2**63 - 2} {2**63 - 1} 1\n", "0 1 1\n", [FROM_0.format(2**63 - 2)]),
        (f"{2**63 - 2} {2**63 - 1} 1\n", f"{2**63 - 2} {2**63 - 1} 2\n", [f"{{{2**63 - 2}, {2**63 - 1}}} of"]),
        ("p tw 4 2\n1 2\n2 3\n", "p tw 4 2\n1 2\n2 3\n", []),
        ("p tw 4 2\n1 2\n2 3\n", "p tw 4 2\n2 3\n3 4\n", ["{3, 4}, is not in the graph"]),
        ("p sp 4 2\na 1 2 5\na 2 3 6\n", "0 1 5\n1 2 7\n", ["which has no vertex 0", "has weight 5"]),
        ("0 1 1\n", "# Nodes: 3 Edges: 1\n0 1 1\n", ["declares 3 vertices, the graph has 2"]),
        ("0,1,5\n1,2,7\n", "source,target,weight\n1,2,5\n2,3,7\n", ["has weight 7", "which has no vertex 3"]),
        *(
            (graph, f"# Nodes: 4 Edges: 2\n{forest}", mismatches)
            for graph in ("# Nodes: 3 Edges: 2\n1 2 1.5\n2 3 2.5\n", "1 2 1.5\n2 3 2.5\n")
            for forest, mismatches in (
                ("0 1 1.5\n1 2 2.5\n", [FROM_0.format(1)]),
                ("2 3 1.5\n3 4 2.5\n", ["declares 4 vertices, the graph has 3", "2.5", "no vertex 4"]),
                ("1 2 1.5\n2 3 2.5\n", []),
            )
        ),
    ],
)
@pytest.mark.filterwarnings("error")
def test_verify_matches_ends_and_weights_of_every_edge(graph, forest, mismatches, tmp_path, capsys):
    (tmp_path / "graph").write_text(graph)
    (tmp_path / "forest").write_text(forest)
    code = main(["verify", str(tmp_path / "graph"), str(tmp_path / "forest"), "--json"])
    verdict = json.loads(capsys.readouterr().out)
    assert len(verdict["mismatches"]) == len(mismatches)
    assert all(wanted in found for wanted, found in zip(mismatches, verdict["mismatches"]))
    assert (code, verdict["ok"], verdict["grade"]) == (
        (1, False, None) if mismatches else (0, True, "identical")
    )


@pytest.mark.parametrize(
    ("dtype", "suffix"),
    [
        pytest.param(dtype, suffix, marks=[pytest.mark.slow] * (suffix != likely))
        for dtype, likely in (("int32", "gr"), ("int64", "mtx"), ("float32", "arrow"), ("float64", "txt"))
        for suffix in ("arrow", "txt", "gr", "mtx")
    ],
)
def test_verify_accepts_what_solve_writes_and_names_each_changed_weight(dtype, suffix, tmp_path, capsys, rng):
    u, v = rng.integers(0, 50, (2, 300))
    graph = Graph(60, u, v, (rng.random(300) * 100).astype(dtype))
    formats.write(tmp_path / "graph.arrow", graph)
    forest = tmp_path / f"forest.{suffix}"
    assert main(["solve", str(tmp_path / "graph.arrow"), "--out", str(forest)]) == 0
    assert main(["verify", str(tmp_path / "graph.arrow"), str(forest)]) == 0
    found = formats.read(forest)
    w = found.w.copy()
    w[7] = np.nextafter(w[7], np.inf) if dtype.startswith("float") else w[7] + 1000
    formats.write(forest, Graph(found.n, found.u, found.v, w))
    capsys.readouterr()
    assert main(["verify", str(tmp_path / "graph.arrow"), str(forest), "--json"]) == 1
    (mismatch,) = json.loads(capsys.readouterr().out)["mismatches"]
    assert mismatch.startswith("edge 8 of the forest")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["solve", "{triangle}", "--option", "sort"], "is not NAME=VALUE"),
        (["solve", "{triangle}", "--threads", "0"], "at least 1"),
        (["solve", "{folder}/absent.gr"], "absent.gr"),
        (["solve", "{folder}/broken.gr"], "broken.gr, line 3"),
        (["solve", "{triangle}", "--format", "dimax"], "dimacs"),
        (
            ["solve", "{triangle}", "--out", "{triangle}"],
            "triangle.gr is the graph: write the forest to another",
        ),
        (["info", "{folder}/edges.parquet"], "only mst solve and mst verify read Parquet files"),
        (["advise", "{triangle}", "--m", "5"], "n and m are read from "),
        (["advise", "--n", "0", "--m", "5"], "--n must be at least 1, got 0"),
        (["convert", "{triangle}", "-", "--seed", "0"], "--seed has no effect without --weights: add that"),
        (["verify", "{triangle}", "{triangle}", "--threads", "2"], "--threads has no effect without --memory"),
        (["verify", "{triangle}", "{triangle}", "--index", "i.json"], "--index has no effect without --batch"),
        (
            ["verify", "{triangle}", "{triangle}", "--reference", "r.json"],
            "--reference has no effect without --record",
        ),
        (["run", "kruskal", "rmat16.sym", "--scope", "first"], "--scope has no effect without --batch"),
        (["plan", "--used"], "--used has no effect without --profile"),
        (["clean", "raw", "--all"], "--all removes every cache but one: leave out raw or --all"),
        (["list", "graphs", "--markdown"], "--markdown prints the algorithms: leave out graphs or --markdown"),
        (["run", "--batch", "box", "--index", "i.json"], "--batch 'box' is not MACHINE/GRAPH/PART"),
        (["warm", "scipy"], "mst warm compiles nothing for scipy"),
        (["plan", "papers/durbakula"], "did you mean 'durbhakula'?"),
        (["run", "kruskal", "USA-road-d.NX"], "did you mean 'USA-road-d."),
        (["plan", "--configfile", "{folder}/bad.yaml"], "did you mean 'offline'?"),
    ],
)
def test_errors_print_at_most_two_lines_and_exit_with_code_2(arguments, expected, triangle, tmp_path, capsys):
    (tmp_path / "broken.gr").write_text("p sp 2 2\na 1 2 5\na 1 x 5\n")
    (tmp_path / "edges.parquet").write_bytes(b"PAR1 and more")
    (tmp_path / "bad.yaml").write_text("oflline: true\nexperiment: {title: t, graphs: [], runs: []}\n")
    filled = [a.format(triangle=triangle, folder=tmp_path) for a in arguments]
    assert main(filled) == 2
    out, err = capsys.readouterr()
    assert expected in err and err.count("\n") <= 2 and "Traceback" not in err
    assert out == ""


def test_error_on_an_unknown_command_suggests_the_nearest_name(capsys):
    assert main(["slove"]) == 2
    assert "did you mean 'solve'?" in capsys.readouterr().err


def test_an_unknown_option_is_one_line_with_the_nearest_one(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["solve", "road.gr", "--algoritm", "kruskal"])
    (line,) = capsys.readouterr().err.splitlines()
    assert ended.value.code == 2 and "did you mean '--algorithm'?" in line and "mst solve --help" in line


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        ("list graph", "graphs"),
        ("completion basj", "bash"),
        ("solve road.gr --param sort=radix", "--option sort=radix"),
        ("solve road.gr sort=radix", "--option sort=radix"),
        ("generate grid --option rows=3", "--param rows=3"),
        ("experiment --configfile mine.yaml", "-- --configfile"),
    ],
)
def test_a_wrong_value_or_assignment_is_one_line_with_the_nearest_one(arguments, meant, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments.split())
    (line,) = capsys.readouterr().err.splitlines()
    assert ended.value.code == 2 and f"(did you mean '{meant}'?)" in line


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--algorithm", "kruskl"], "did you mean 'kruskal'?"),
        (["--algorithm", "kruskal", "--option", "srt=radix"], "did you mean 'sort'?"),
        (["--algorithm", "kruskal", "--option", "sort=bubble"], "must be one of radix, comparison"),
        (["--algorithm", "kruskal", "--threads", "2"], "leave threads out"),
        (["--algorithm", "ghs-mpi"], "runs under MPI"),
        (["--algorithm", "absent"], "needs nosuchpackage, which is not installed"),
    ],
)
def test_mistakes_are_refused_before_the_graph_is_read(options, message, add_algorithm, tmp_path, capsys):
    add_algorithm('ALGORITHM = dict(id="absent", paradigm="peer", title="t", requires=("nosuchpackage",))\n')
    assert main(["solve", str(tmp_path / "never-read.gr"), *options]) == 2
    assert message in capsys.readouterr().err


def test_a_run_without_its_package_is_refused_and_leaves_no_record(
    add_algorithm, tmp_path, monkeypatch, capsys
):
    add_algorithm('ALGORITHM = dict(id="absent", paradigm="peer", title="t", requires=("nosuchpackage",))\n')
    monkeypatch.chdir(tmp_path)
    assert main(["run", "absent", "path-100k"]) == 2
    assert "needs nosuchpackage, which is not installed" in capsys.readouterr().err
    assert not (tmp_path / "results").exists()


def test_a_missing_package_is_named_with_its_remedy(monkeypatch, capsys):
    def without_jinja(*_):
        raise ModuleNotFoundError("No module named 'jinja2'", name="jinja2")

    monkeypatch.setattr("mst.commands.report.run", without_jinja)
    assert main(["report"]) == 2
    assert "this needs jinja2, which is not installed: pip install '.[workflow" in capsys.readouterr().err


@pytest.mark.parametrize(
    "package", ["mst_of_mine.parts", "rocrate.of_mine"]
)  # an extra brings the latter for mst
def test_a_package_that_a_users_algorithm_lacks_is_named_with_the_line_that_imports_it(
    add_algorithm, tmp_path, monkeypatch, capsys, package
):
    mine = add_algorithm(
        f'ALGORITHM = dict(id="lacking", paradigm="sequential", title="t")\nimport {package}\n'
    )
    (tmp_path / "g.csv").write_text("0 1 1\n")
    monkeypatch.setitem(sys.modules, "rocrate", None)
    assert main(["list", "--json"]) == 0
    assert str(mine) in {row["file"] for row in json.loads(capsys.readouterr().out)}
    assert main(["solve", str(tmp_path / "g.csv"), "--algorithm", "lacking"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    named = f"{mine}, line 2: this needs {package.split('.')[0]}"
    assert line.startswith(f"mst solve: {named}") and line.endswith(", which is not installed")


def test_code_beside_a_users_algorithm_is_to_be_moved_into_it(add_algorithm, tmp_path, capsys):
    add_algorithm("", "_parts.py")
    mine = add_algorithm('import _parts\nALGORITHM = dict(id="parted", paradigm="sequential", title="t")\n')
    (tmp_path / "g.csv").write_text("0 1 1\n")
    assert main(["solve", str(tmp_path / "g.csv"), "--algorithm", "parted"]) == 2
    line = f"mst solve: {mine}, line 1: this needs _parts, which is not installed: an algorithm is one file"
    assert capsys.readouterr().err.startswith(line)


def test_every_package_of_an_extra_that_is_imported_has_its_remedy():
    extras = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    named = {
        re.split("[^a-z0-9-]", package)[0]: extra for extra, packages in extras.items() for package in packages
    }
    brought = {package: extra for extra, packages in registry.EXTRAS.items() for package in packages}
    both = named.keys() & brought.keys()
    assert {p: named[p] for p in both} == {p: brought[p] for p in both}
    # Imported by another name, by a package of the extra, or by none of ours.
    assert brought.keys() - both == {"cupy", "pynvml", "matplotlib"}
    assert {p for p in named.keys() - both if not p.startswith(("cupy-", "nvidia-", "snakemake-"))} == {"mpich"}


def test_debug_shows_the_traceback(tmp_path):
    assert "Traceback" in run_mst("solve", tmp_path / "absent.gr", "--debug").stderr


def test_help_answers_quickly():
    def cpu_seconds(*command: str) -> float:
        # CPU time, and the best of three: other load on the machine must not fail the test.
        taken = []
        for _ in range(3):
            before = os.times()
            subprocess.run([sys.executable, *command], capture_output=True, check=True, timeout=60)
            after = os.times()
            taken.append(after.children_user + after.children_system)
            taken[-1] -= before.children_user + before.children_system
        return min(taken)

    numpy_alone = cpu_seconds("-c", "import numpy")
    assert cpu_seconds("-m", "mst", "--help") < max(0.5, numpy_alone + 0.2)


@pytest.mark.parametrize("name", sorted(commands()))
def test_every_command_has_a_help_text(name, capsys):
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    assert f"usage: mst {name}" in capsys.readouterr().out


@pytest.mark.parametrize(
    "code",
    [
        "import mst",
        "import mst.generators, mst.weights",
        "import mst.formats; mst.formats.FORMATS['dimacs'].title",
        "from mst import catalog; catalog.load(); catalog.read_manifest",
        "from mst import registry\n"
        "for a in registry.algorithms().values():\n    a.missing(), a.options_slug(), a.source_fingerprint()",
        "from mst.cli import main; main(['list'])",
        "from mst.cli import main; main(['plan'])",
        "from mst.commands import clean, convert, fetch, info; assert not {'pydantic', 'yaml'} & set(sys.modules)",
    ],
)
def test_listing_and_planning_load_no_heavy_package(code):
    code = f"import sys\n{code}\nprint('loaded:', *[m for m in {HEAVY.split()!r} if m in sys.modules])"
    assert run_python(code, MST_CONFIG="").stdout.rstrip().endswith("loaded:")


def test_characters_that_a_terminal_lacks_are_escaped():
    done = run_mst("list", PYTHONIOENCODING="ascii")
    assert done.returncode == 0 and "Bor\\u016fvka" in done.stdout, done.stderr


def test_run_measures_and_proves_a_graph_of_the_catalogue(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.yaml").write_text(
        "machine: testbox\n"
        "experiment:\n  title: t\n  graphs: [path-100k]\n  measure: {processes: 1, samples: 1, budget: 5}\n"
        "  runs: [{algorithms: [kruskal]}]\n"
    )
    started = time.monotonic()
    assert main(["run", "kruskal", "path-100k", "--configfile", "config.yaml"]) == 0
    assert time.monotonic() - started < 120
    printed = capsys.readouterr().out
    assert ": ok: " in printed and "; identical" in printed
    assert main(["run", "prim-dense", "path-100k", "--configfile", "config.yaml"]) == 2
    assert "prim-dense does not take path-100k: n = 100,000 is above its limit" in capsys.readouterr().err
    (proof,) = (tmp_path / "results/records/testbox/path-100k/kruskal/default/w1").glob("*.proof.json")
    record = proof.with_name(proof.name.replace(".proof", ""))
    assert json.loads(record.read_text())["forest"]["components"] == 1
    assert main(["plan", "graphs/path-100k", "algorithms/kruskal", "--configfile", "config.yaml"]) == 0
    assert ": 1 done;" in capsys.readouterr().out
    proof.unlink()
    assert main(["plan", "--configfile", "config.yaml"]) == 0
    assert "its forest is not proved" in capsys.readouterr().out
    record.rename(record.with_name("0" * 12 + ".json"))
    assert main(["plan", "--configfile", "config.yaml"]) == 0
    assert "its code or its graph has changed" in capsys.readouterr().out
    assert main(["plan", "--configfile", "config.yaml", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["reason"] for row in rows] == ["its code or its graph has changed"]


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("kruskl", " (did you mean 'kruskal'?)"),
        ("RMAT16", " (did you mean 'rmat16.sym'?)"),
        ("filter", " (did you mean 'filter-kruskal'?)"),
        ("quite else", ""),
        ("road.gr.gz", ""),
        ("", ""),
    ],
)
def test_hints_name_the_nearest_or_a_name_with_the_same_beginning(word, hint):
    known = ["kruskal", "filter-kruskal-threads", "filter-kruskal", "rmat-18", "rmat16.sym", "USA-road-t.CTR"]
    assert nearest(word, known) == hint


@pytest.mark.slow
def test_compute_time_excludes_compilation(tmp_path):
    code = (
        "import mst\n"
        "for _ in range(2):\n"
        "    took = mst.minimum_spanning_forest((3, [0, 1, 2], [1, 2, 0], [5, 7, 6]), algorithm='kruskal').seconds\n"
        "    print(sorted(took), took.get('code', 0) > 10 * took['compute'], took['compute'] >= 0)"
    )
    assert run_python(code, MST_CACHE=tmp_path).stdout.splitlines() == [
        "['code', 'compute', 'init', 'transfer'] True True",
        "['compute', 'init', 'transfer'] False True",
    ]


def test_a_dash_is_standard_input_for_graphs_and_forests(triangle, tmp_path):
    piped = partial(run_mst, input=triangle.read_text())
    solved = piped("solve", "-", "--algorithm", "kruskal", "--out", tmp_path / "forest.gr")
    assert solved.returncode == 0 and "weight 11" in solved.stdout
    assert piped("verify", "-", tmp_path / "forest.gr").returncode == 0
    assert piped("convert", "-", "-", "--to", "mtx").stdout.startswith("%%MatrixMarket")
    assert "only one of the two files can be standard input" in piped("verify", "-", "-").stderr
    assert piped("info", "-").returncode == 0
    wrong = piped("solve", "-", "--format", "headed")
    assert wrong.stderr.startswith("mst solve: standard input, line 1: ")


@pytest.mark.parametrize(
    ("command", "last", "code", "shown"),
    [
        ("solve", "", 0, "3 vertices, 30,000 edges"),
        ("info", "", 0, "rows: 30,000"),
        ("solve", "0 x 5\n", 2, "/dev/stdin, line 30001: '0 x 5': expected"),
        ("solve --memory 1G", "", 2, "/dev/stdin, a pipe, cannot be read in parts"),
    ],
)
def test_nothing_of_a_pipe_is_lost(command, last, code, shown):
    ran = run_mst(*command.split(), "/dev/stdin", input="0 1 5\n1 2 7\n2 0 6\n" * 10_000 + last)
    assert ran.returncode == code and shown in ran.stdout + ran.stderr


@pytest.mark.parametrize(
    "command",
    [
        ["solve", "{triangle}", "--out", "{folder}/none/forest.gr"],
        ["solve", "{triangle}", "--out", "{folder}/forest.unknown"],
        ["generate", "grid", "--param", "rows=3", "columns=3", "--out", "{folder}/none/grid.gr"],
        ["convert", "{triangle}", "{folder}/none/graph.mtx"],
    ],
)
def test_a_target_that_cannot_be_written_is_refused_before_any_work(
    command, triangle, tmp_path, monkeypatch, capsys
):
    def unexpected(*_, **__):
        raise AssertionError("worked before it looked at the target")

    monkeypatch.setattr("mst.formats.read_raw", unexpected)
    monkeypatch.setattr("mst.read_graph", unexpected)
    monkeypatch.setattr("mst.generators.generate", unexpected)
    assert main([a.format(triangle=triangle, folder=tmp_path) for a in command]) == 2
    assert "forest" in (err := capsys.readouterr().err) or "none" in err


@pytest.mark.parametrize("suffix", ["txt", "csv", "gr", "parquet"])
@pytest.mark.parametrize(
    "text",
    [
        "5 10 1.5\n10 20 2.5\n",
        "# Nodes: 3 Edges: 2\n5 10 1.5\n10 20 2.5\n",  # SNAP counts the vertices in use
        "# Nodes: 3 Edges: 2\n1 2 1.5\n2 3 2.5\n",
        "# Nodes: 4 Edges: 3\n1 2 1.5\n2 3 2.5\n4 4 1\n",
        "0 1 1.5\n1 2 2.5\n",
        "7 7 1\n",
        "p sp 4 3\na 1 2 1.5\na 2 3 2.5\na 4 4 1\n",
    ],
)
def test_forests_keep_the_ids_or_say_so(text, suffix, tmp_path, capsys):
    (graph := tmp_path / "graph.txt").write_text(text)
    forest = tmp_path / f"forest.{suffix}"
    assert main(["solve", str(graph), "--out", str(forest)]) == 0
    changes = "5 10" in text or "7 7" in text
    assert ("numbers the vertices" in capsys.readouterr().err) == (suffix == "gr" and changes)
    if suffix == "parquet":
        columns = parquet.read_table(forest).to_pydict()
        rows = [f"{u} {v} {w}" for u, v, w in zip(*(columns[name] for name in "uvw"))]
    else:
        lines = forest.read_text().replace(",", " ").splitlines()
        rows = [line.removeprefix("a ") for line in lines if line.removeprefix("a ")[0].isdigit()]
    if suffix != "gr":
        lines = [line.removeprefix("a ") for line in text.splitlines()]
        assert rows == [line for line in lines if line[0].isdigit() and line[0] != line[2]]
    assert main(["verify", str(graph), str(forest)]) == 0


@pytest.mark.parametrize("suffix", ["txt", "csv", "gr", "parquet"])
@pytest.mark.parametrize(
    ("text", "has_gaps"),
    [
        ("5 10 1.5\n10 20 2.5\n", True),
        ("# Nodes: 3 Edges: 2\n1 2 1.5\n2 3 2.5\n", True),
        ("1 2 1.5\n2 3 2.5\n", True),
        ("# Nodes: 9 Edges: 2\n0 1 1.5\n1 2 2.5\n", False),
        ("0 1 1.5\n1 2 2.5\n", False),
        ("p sp 4 2\na 1 2 1.5\na 2 3 2.5\n", False),
    ],
)
def test_forests_of_graphs_read_in_parts_keep_the_ids_or_say_so(text, has_gaps, suffix, tmp_path, capsys):
    (graph := tmp_path / "graph.txt").write_text(text)
    forest = tmp_path / f"forest.{suffix}"
    assert main(["solve", str(graph), "--memory", "2G", "--out", str(forest)]) == 0
    said = (
        f"{forest} has a vertex for each number from 0 to the largest id in {graph}; write .txt"
        in capsys.readouterr().err
    )
    assert said == (suffix == "gr" and has_gaps)


def test_a_forest_with_ids_is_not_taken_for_adjacency_lists(tmp_path):
    (graph := tmp_path / "graph.csv").write_text("source,target,weight\n2,1,0\n")
    forest = tmp_path / "forest.txt"
    assert main(["solve", str(graph), "--out", str(forest)]) == 0
    assert main(["verify", str(graph), str(forest)]) == 0


@pytest.mark.parametrize("suffix", ["txt", "mtx", "gr", "arrow"])
@pytest.mark.parametrize("head", ["", "# Nodes: 3 Edges: 2\n", "# Nodes: 4 Edges: 2\n"])
def test_forests_of_edge_lists_that_were_read_in_parts_are_verified(head, suffix, tmp_path, capsys):
    (graph := tmp_path / "gaps.txt").write_text(head + "5 10 1.5\n10 20 2.5\n")
    forest = tmp_path / f"forest.{suffix}"
    assert main(["solve", str(graph), "--memory", "2G", "--out", str(forest)]) == 0
    assert main(["verify", str(graph), str(forest)]) == 0
    graph.write_text(head + "5 10 1.5\n10 21 2.5\n")
    assert main(["verify", str(graph), str(forest)]) == 1
    assert "declares 21 vertices, the graph has" in capsys.readouterr().out


@pytest.mark.parametrize("suffix", ["txt", "gr"])
def test_forests_that_keep_ids_from_1_are_verified(suffix, tmp_path, capsys):
    (graph := tmp_path / "from-1.txt").write_text("# Nodes: 3 Edges: 2\n1 2 1.5\n2 3 2.5\n")
    forest = tmp_path / f"forest.{suffix}"
    assert main(["solve", str(graph), "--memory", "2G", "--out", str(forest)]) == 0
    assert main(["verify", str(graph), str(forest)]) == 0
    graph.write_text("# Nodes: 3 Edges: 2\n0 1 1.5\n1 2 2.5\n")
    assert main(["verify", str(graph), str(forest)]) == 1
    assert "declares 4 vertices, the graph has 3" in capsys.readouterr().out


def test_parquet_forests_are_verified_without_a_limit_of_memory(triangle, tmp_path, capsys):
    forest = str(tmp_path / "forest.parquet")
    assert main(["solve", str(triangle), "--out", forest]) == 0
    assert main(["verify", str(triangle), forest]) == 0
    printed = capsys.readouterr().out
    assert "is the minimum spanning forest" in printed
    assert "of which compiling or loading code" in printed, "proving itself does not take that long"


def test_code_is_not_compiled_for_a_cache_that_keeps_nothing(tmp_path, monkeypatch, capsys):
    (tmp_path / "file").touch()
    monkeypatch.setenv("MST_CACHE", str(tmp_path / "file"))
    assert main(["warm", "kruskal"]) == 2
    assert "set MST_CACHE to a folder that keeps the code" in capsys.readouterr().err


def test_code_is_not_compiled_for_a_full_cache(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MST_CACHE", str(tmp_path))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, limits[1]))
    try:
        assert main(["warm", "kruskal"]) == 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert "set MST_CACHE to a folder that keeps the code" in capsys.readouterr().err


@pytest.mark.parametrize("named", [[], ["--algorithm", "cas-boruvka"]])
def test_more_threads_than_cores_are_refused(named, triangle, capsys):
    assert main(["solve", str(triangle), "--threads", "999", *named]) == 2
    assert "999 is above the" in capsys.readouterr().err
    with pytest.raises(UnsupportedError, match="999 is above the"):
        mst.minimum_spanning_forest((2, [0], [1], [1]), threads=999)


def test_quiet_prints_results_alone_and_verbose_the_time_of_each_step(triangle, tmp_path, capsys):
    target = str(tmp_path / "graph.mtx")
    assert main(["convert", str(triangle), target, "--simple", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    assert main(["convert", str(triangle), target, "--simple", "--verbose"]) == 0
    err = capsys.readouterr().err
    assert re.search(r"reading \S+triangle.gr: \d", err) and re.search(r"writing \S+graph.mtx: \d", err)


def test_completion_of_bash_knows_commands_and_their_options(tmp_path, capsys):
    assert main(["completion", "bash"]) == 0
    script = tmp_path / "mst.bash"
    script.write_text(capsys.readouterr().out)
    lines = f"source {script}; _mst; echo ${{COMPREPLY[@]}}"
    for words, index, expected in (("mst ver", 1, "verify"), ("mst solve --qui", 2, "--quiet")):
        command = ["bash", "-c", f"COMP_WORDS=({words}); COMP_CWORD={index}; {lines}"]
        assert subprocess.run(command, capture_output=True, text=True).stdout.split() == [expected]
    for shell_name in ("zsh", "fish"):
        assert main(["completion", shell_name]) == 0
        assert "verify" in capsys.readouterr().out
