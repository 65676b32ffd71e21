"""Hostile and cut files: never another graph, a traceback, a crash, or much time and memory."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import time
import tracemalloc
import zipfile

import numpy as np
import pytest
import scipy.sparse
from scripts import run_python

from mst import FormatError, Graph, InputError
from mst.cli import main
from mst.formats import read_raw, write

ROUNDED = 2**53 + 1


def message_of(path, content: bytes | str) -> str:
    """Return the message of the `FormatError` that a file raises."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(FormatError) as caught:
        read_raw(path)
    return str(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        f"0 1 {ROUNDED}\n1 2 0.5\n",
        f"0 1 0.5\n1 2 {ROUNDED}\n",
        f"0 1 {2**63 - 1}\n1 2 0.5\n",
        f"%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n2 1 {ROUNDED}\n",
        f"3 2 1\n2 {ROUNDED}\n1 {ROUNDED} 3 .5\n2 .5\n",
        f"0,{ROUNDED},1,1,1\n{ROUNDED},0,1,1,.5\n1,1,0,1,1\n1,1,1,0,1\n1,.5,1,1,0\n",
        f"WeightedAdjacencyGraph\n2\n2\n0\n1\n1\n0\n{ROUNDED}\n0.5\n",
    ],
)
def test_integers_that_fractions_would_round_are_refused(tmp_path, content):
    message = message_of(tmp_path / "mixed", content)
    assert "would be rounded" in message and ("9007199254740993" in message or "9223372036854775807" in message)


def test_large_integers_that_floats_hold_are_read_among_fractions(tmp_path):
    path = tmp_path / "mixed.txt"
    path.write_text(f"0 1 {2**53 + 2}\n1 2 0.5\n2 3 {-(2**63)}\n")
    assert read_raw(path).w.tolist() == [2.0**53 + 2, 0.5, -(2.0**63)]


@pytest.mark.parametrize(("one", "other"), [("0.0", "-0.0"), ("-0.0", "0.0")])
def test_metis_zeros_of_either_sign_are_one_weight(tmp_path, one, other):
    path = tmp_path / "zeros.graph"
    path.write_text(f"2 1 1\n2 {one}\n1 {other}\n")
    assert read_raw(path).w.tolist() == [0.0]


def test_metis_weights_that_differ_beyond_float64_are_named(tmp_path):
    message = message_of(tmp_path / "large.graph", f"2 1 1\n2 {ROUNDED}\n1 {ROUNDED - 1}\n")
    assert f"row 2 lists 1 with weight {ROUNDED - 1}, but row 1 does not" in message


INTERRUPTED = """
    import signal, sys
    from mst.formats import read_raw

    signal.signal(signal.SIGALRM, signal.default_int_handler)
    read_raw(sys.argv[1])
    ended = 0
    for attempt in range(40):
        signal.setitimer(signal.ITIMER_REAL, 0.02 + 0.001 * attempt)
        try:
            while True:
                read_raw(sys.argv[1])
        except KeyboardInterrupt:
            ended += 1
    print(ended)
"""


@pytest.mark.parametrize("name", ["rows.txt", pytest.param("rows.graph", marks=pytest.mark.slow)])
def test_interrupted_readers_neither_crash_nor_swallow_it(tmp_path, name):
    path, n = tmp_path / name, 300_000
    if name == "rows.txt":
        path.write_text("0 1 5\n1 2 6\n2 3 7\n" * n)
    else:
        path.write_text(f"{n} {n - 1}\n2\n" + "".join(f"{i - 1} {i + 1}\n" for i in range(2, n)) + f"{n - 1}\n")
    assert run_python(INTERRUPTED, path).stdout == "40\n"


def interruptible() -> None:
    """Undo, in a child, that a shell lets its background jobs ignore SIGINT."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_interrupted_conversion_ends_soon_and_leaves_nothing(tmp_path):
    os.mkfifo(tmp_path / "endless")
    command = [sys.executable, "-m", "mst", "convert", "endless", "graph.arrow", "--from", "edges"]
    process = subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, preexec_fn=interruptible
    )
    with pytest.raises(BrokenPipeError), (tmp_path / "endless").open("wb") as stream:
        for part in range(1000):  # of which one that is not interrupted reads all
            stream.write(b"0 1 5\n1 2 6\n" * 8192)
            if part == 200:
                process.send_signal(signal.SIGINT)
    assert process.wait() in (130, -signal.SIGINT)
    assert process.stderr is not None and process.stderr.read() == "mst convert: interrupted\n"
    assert [file.name for file in tmp_path.iterdir()] == ["endless"]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("# Nodes: 1152921504606846976 Edges: 1\n0 1\n", "expected whole counts below 10¹⁸"),
        ("# Nodes: 2^60\n0 1\n", "expected whole counts below 10¹⁸"),
        ("# Nodes: -5 Edges: 1\n0 1\n", "expected whole counts below 10¹⁸"),
        ("# Edges: 5\n0 1\n", "declares 5 edge rows but has 1"),
        (
            "# Nodes: 2 Edges: 1\n# Nodes: 3 Edges: 1\n0 1\n",
            "line 2: '# Nodes: 3 Edges: 1': expected the counts",
        ),
        ("p sp 2000000000 1\na 1 2 3\n", "2,000,000,000 vertices are too many for 1 edge row"),
        ("EdgeArray\n0 2000000000\n", "2,000,000,001 vertices are too many for 1 edge row"),
        ("# Nodes: 5 Edges: 1\n" * 1001 + "0 1\n", "at most 1,000 comments"),
        ("SECTION Comment\n" + "Name x\n" * 100_001, "within 100,000 lines"),
        (
            "NAME: x\nDIMENSION: 3\nEDGE_WEIGHT_TYPE: EXPLICIT\n" + "COMMENT: x\n" * 100_001,
            "within 100,000 lines",
        ),
    ],
)
def test_declarations_are_checked(tmp_path, content, problem):
    assert problem in message_of(tmp_path / "declared", content)


@pytest.mark.parametrize(
    ("comment", "n"),
    [
        ("# Nodes: 5", 5),
        ("% nodes = 5, edges = 1 (simple)", 5),
        ("# Nodes: 1,234 Edges: 1", 1234),
        ("# nodes 1 to 5", 2),
    ],
)
def test_counts_are_read_from_comments(tmp_path, comment, n):
    (tmp_path / "declared").write_text(f"# made by a program\n{comment}\n0 1\n")
    assert read_raw(tmp_path / "declared").n == n


def test_writing_a_graph_that_would_not_be_read_is_refused(tmp_path):
    with pytest.raises(InputError, match="too many for 1 edge row"):
        write(tmp_path / "huge.gr", Graph(2**33, [0], [1], [5]))


@pytest.mark.parametrize(
    ("before", "flood", "after"),
    [
        (b"", b"#\n", b"0 1 5\n"),
        pytest.param(b"c\n", b"c\n", b"p sp 2 1\na 1 2 5\n", marks=pytest.mark.slow),
        pytest.param(b"# rows\n", b"\n", b"0 1 5\n", marks=pytest.mark.slow),
    ],
)
def test_a_compressed_flood_of_comments_is_skipped_in_seconds(tmp_path, before, flood, after):
    path = tmp_path / "flood.gz"
    path.write_bytes(gzip.compress(before + flood * 40_000_000 + after, 1))
    started = time.process_time()
    assert read_raw(path, format="dimacs" if flood == b"c\n" else None).w.tolist() == [5]
    assert time.process_time() - started < 8


@pytest.mark.parametrize(("format", "other", "dtype"),
                         [("galois", "galois-float", "f4"), ("galois", "galois-float", "f8"),
                          ("galois-float", "galois", "i4"), ("galois-float", "galois", "i8")])  # fmt: skip
def test_galois_files_whose_weights_would_be_read_as_another_type_are_not_written(
    tmp_path, format, other, dtype
):
    graph = Graph(2, [0], [1], np.array([5], dtype))
    with pytest.raises(InputError, match=f"the format {other}"):
        write(tmp_path / "graph", graph, format=format)
    write(tmp_path / "graph", graph, format=other)
    assert read_raw(tmp_path / "graph", format=other).w.dtype == dtype


def test_members_of_npz_files_that_are_not_needed_stay_unread(tmp_path):
    path = tmp_path / "matrix.npz"
    scipy.sparse.save_npz(path, scipy.sparse.csr_array([[0, 5], [5, 0]]))
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive, archive.open("unused.npy", "w") as member:
        np.lib.format.write_array_header_1_0(
            member, {"descr": "<f8", "fortran_order": False, "shape": (4_000_000,)}
        )
        for _ in range(32):
            member.write(bytes(1_000_000))
    tracemalloc.start()
    try:
        assert read_raw(path).w.tolist() == [5]
        assert tracemalloc.get_traced_memory()[1] < 4_000_000
    finally:
        tracemalloc.stop()


def test_npz_arrays_of_a_declared_size_that_they_lack_are_refused_before_any_allocation(tmp_path):
    path = tmp_path / "matrix.npz"
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("format", "shape", "data", "indices", "indptr"):
            with archive.open(f"{name}.npy", "w") as member:
                header = {"descr": "<f8", "fortran_order": False, "shape": (2**40,)}
                np.lib.format.write_array_header_1_0(member, header)
    assert "declares 8,796,093,022,3" in message_of(path, path.read_bytes())


def test_a_canonical_file_that_is_cut_while_it_is_opened_raises_an_error(tmp_path):
    write(tmp_path / "graph.arrow", Graph(2, [0] * 10_000, [1] * 10_000, range(10_000)))
    ended = run_python(
        """
        import os, sys
        import pyarrow
        from mst.formats import canonical

        class CutAfterwards:
            def __init__(self, mapped, opened=pyarrow.ipc.open_file):
                self.batches = opened(mapped)
                self.schema, self.num_record_batches = self.batches.schema, self.batches.num_record_batches

            def get_batch(self, index):
                batch = self.batches.get_batch(index)
                os.truncate(sys.argv[1], 8192)
                return batch

        pyarrow.ipc.open_file = CutAfterwards
        try:
            canonical.read_canonical(sys.argv[1])
        except canonical.FormatError as error:
            print(error)
        """,
        tmp_path / "graph.arrow",
    )
    assert "the file was truncated while it was opened" in ended.stdout


NESTED_ALIASES = "a0: &a0 [x, x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 11)
)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("[" * 100_000, "line 1: nested deeper than 64"),
        ("- " * 100_000, "line 1: nested deeper than 64"),
        (NESTED_ALIASES, "line 6: more than 100,000 values"),
        (NESTED_ALIASES.replace(": &", ":\n  <<: &").replace("[x, x]", "{x: 1}"), "more than 100,000 values"),
        ("a: &a [*a]", "alias 'a' is used inside the value that it stands for"),
        ("a: 2001-99-99", "a value cannot be read: month must be in 1..12"),
        ("a: " + "9" * 5000, "a value cannot be read: Exceeds the limit"),
        ("a: !!bool maybe", "a value cannot be read"),
        ("a:\n\tb: 1", "line 2: a tab, which YAML does not allow here: indent with spaces"),
        ("a:\n  b: 1\n\tc: 2", "line 3: a tab, which YAML does not allow here: indent with spaces"),
        ('a: b\nc: "\\d"', "line 2: in double quotes, a backslash begins an escape: use single quotes"),
        ("a: @x", "line 1: no value can begin with '@': put it in quotes"),
    ],
)
def test_hostile_yaml_is_refused(tmp_path, content, problem):
    (tmp_path / "hostile.yaml").write_text(content)
    ended = run_python(
        """
        import sys, pathlib
        from mst.errors import ConfigError
        from mst.yaml_models import read_yaml

        try:
            read_yaml(pathlib.Path(sys.argv[1]))
        except ConfigError as error:
            print(error)
        """,
        tmp_path / "hostile.yaml",
    )
    assert problem in ended.stdout


def test_info_names_a_special_file_that_cannot_be_read(capsys):
    assert main(["info", "/proc/self/mem"]) == 2
    assert capsys.readouterr().err == (
        "mst info: /proc/self/mem: the file data cannot be read: [Errno 5] Input/output error\n"
    )


@pytest.mark.parametrize(
    "content",
    [
        "5 5 12\n7 2 5\n7 1 3\n",  # no header of METIS
        "5 5 001\n7 2 5\n7 1 3\n",  # two of three words are a neighbour and its weight
        "5 5 010\n7 2 5\n7 3 4\n",  # each edge is at one end
        "4 2 011\n7 2 5\n7 1 6\n",  # with two weights
        "5 5 010\n7 2 6\n",  # vertex 6 of 5
        "2 1 010\n7 2 1\n7 1 2\n7 1 2\n",  # more rows than vertices
        "2 2 010\n",  # more edges than pairs
        "5 5 10.5\n7 2 5\n",
        "5 3 2.5\n",  # no word of a header has a fraction or a sign
        "5 3 -1\n",
    ],
)
def test_edges_that_are_no_adjacency_lists_are_read(tmp_path, content):
    (tmp_path / "rows").write_text(content)
    assert read_raw(tmp_path / "rows").m == content.count("\n")


@pytest.mark.parametrize(
    ("content", "formats"),
    [
        ("6 5\n0 1\n1 2\n2 3\n3 4\n", "edges or headed"),  # a headed list without its last row
        ("6 5\n", "edges or headed or metis"),
        ("5 5\n2 5\n1 3\n2 4\n3 5\n", "edges or headed or metis"),  # a METIS ring without its last row
        ("0 1\n1 0\n", "matrix or edges"),
        ("0 1 2\n1 0 3\n2 3 0\n", "matrix or edges"),
        *(
            (f"5 5 {digits}\n{rows}", "edges or metis")
            for digits in ("010", "10", "100")  # without the last row
            for rows in ("", "7 2 5\n", "7 2 5\n7 1 3\n7 2 4\n7 3 5\n")
        ),
        ("4 2 011\n7 2 5.5\n7 1 5.5\n7 4 6\n", "edges or metis"),
        ("4 2 110\n7 1 2\n7 1 1\n7 1 4\n", "edges or metis"),
        ("4 6 000\n2 3 4\n1 3 4\n1 2 4\n", "edges or metis"),
    ],
)
def test_content_of_two_formats_is_refused_with_their_names(tmp_path, content, formats):
    assert f"could be {formats}: say which with format=" in message_of(tmp_path / "unclear", content)


def test_rows_of_three_are_no_adjacency_lists_whose_weights_find_no_place(tmp_path):
    (tmp_path / "edge").write_text("3 2 111\n")
    raw = read_raw(tmp_path / "edge")
    assert (raw.format, raw.m, raw.w.tolist()) == ("edges", 1, [111])


@pytest.mark.parametrize(
    ("declared", "row", "formats"),
    [("", "{} {}\n", "headed or metis"), (" 010", "7 {} {}\n", "edges or metis")],
)
def test_a_long_metis_ring_in_any_order_is_no_edge_list(tmp_path, rng, declared, row, formats):
    n = 60_000
    order = rng.permutation(n) + 1
    neighbours = np.empty((n + 1, 2), np.int64)
    neighbours[order, 0], neighbours[order, 1] = np.roll(order, 1), np.roll(order, -1)
    rows = "".join(row.format(a, b) for a, b in neighbours[1:].tolist())
    assert f"could be {formats}" in message_of(tmp_path / "ring", f"{n} {n}{declared}\n{rows}")
    assert read_raw(tmp_path / "ring", format="metis").m == n
