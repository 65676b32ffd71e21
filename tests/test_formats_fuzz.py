"""Damaged files give an `MSTError` or a valid graph, in little time; valid text is never read as another graph."""

from __future__ import annotations

import gzip
import io
import random
import re
import time

import numpy as np
import pytest
import scipy.sparse
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from mst import FormatError, Graph, MSTError
from mst.formats import FORMATS, read_raw, write
from mst.formats.base import too_many_vertices

pytest.importorskip("zstandard")

import parser_attack

SECONDS = 5.0
"""Limit for reading a damaged file of some kilobytes."""


def damaged(content: bytes, dice: random.Random) -> bytes:
    """Return the content after one to eight random changes."""
    data = bytearray(content)
    for _ in range(dice.choice([1, 1, 1, 2, 3, 8])):
        at = dice.randrange(len(data) + 1)
        accident = dice.randrange(6)
        if accident == 0:
            data[at : at + 1] = bytes([dice.randrange(256)])
        elif accident == 1:
            del data[at : at + dice.choice([1, 1, 2, 5, 40])]
        elif accident == 2:
            data[at:at] = dice.choice(parser_attack.WORDS)
        elif accident == 3:
            del data[at:]
        elif accident == 4:
            start = dice.randrange(len(data) + 1)
            data[at:at] = data[start : start + dice.choice([1, 4, 20])]
        else:
            data[at : at + 1] = dice.choice(parser_attack.WORDS)
    return bytes(data)


def written_samples(folder) -> dict[str, bytes]:
    """Return the content of a small file of every writable format and of some others."""
    rng = np.random.default_rng(3)
    u, v = rng.integers(0, 12, 30), rng.integers(0, 12, 30)
    edges = u != v
    w = rng.integers(-99, 99, 30)[edges]
    samples = {}
    for format in (f.id for f in FORMATS.values() if f.writable):
        weights = w.astype(np.float32 if format == "galois-float" else np.int32)
        write(folder / "sample", Graph(12, u[edges], v[edges], weights), format=format)
        samples[format] = (folder / "sample").read_bytes()
    buffer = io.BytesIO()
    scipy.sparse.save_npz(buffer, scipy.sparse.random_array((6, 6), density=0.4, rng=rng, format="csr"))
    samples["npz"] = buffer.getvalue()
    samples |= parser_attack.OTHERS
    samples |= {packing: parser_attack.packed(samples["dimacs"], packing) for packing in parser_attack.PACKINGS}
    return samples


def attempt(path, content: bytes, format: str | None = None) -> None:
    """Read a file; an error must be an `MSTError` that names the file, and a graph must be valid."""
    path.write_bytes(content)
    started = time.monotonic()
    try:
        raw = read_raw(path, format=format)
    except MSTError as error:
        assert str(path) in str(error)
    else:
        graph = raw.graph()
        assert graph.m == raw.m == len(raw.v)
        assert raw.original_ids is None or len(raw.original_ids) == raw.n
    assert time.monotonic() - started < SECONDS


@pytest.mark.parametrize("name", ["graph", "graph.gr", "graph.graph"])
def test_damaged_small_files(tmp_path, name):
    samples = written_samples(tmp_path)
    dice = random.Random(name)
    names, formats = sorted(samples), [None, None, *FORMATS]
    for _ in range(1200):
        attempt(tmp_path / name, damaged(samples[dice.choice(names)], dice), dice.choice(formats))


def test_damaged_real_files(tmp_path, mirror):
    dice = random.Random(1)
    files = [path for path in sorted(mirror.glob("*.gz")) if path.name != "usa13509.tsp.gz"]
    for path in files:
        with gzip.open(path) as stream:
            head = stream.read(70_000)
        for _ in range(6):
            attempt(tmp_path / "graph", damaged(head[: dice.choice([300, 3000, 70_000])], dice))
        packed = path.read_bytes()[:20_000]
        attempt(tmp_path / "graph", damaged(packed, dice))


@settings(max_examples=3 * settings.default.max_examples)
@given(st.binary(max_size=200), st.sampled_from([None, *FORMATS]))
def test_any_bytes(tmp_path_factory, content, format):
    attempt(tmp_path_factory.getbasetemp() / "bytes", content, format)


WORDS_OF_ALL_FORMATS = [*"0123x.#%ap", "10", "-1", "1.5", "1e5", "nan", "inf", "sp"]
LINES = st.lists(st.lists(st.sampled_from(WORDS_OF_ALL_FORMATS), max_size=5).map(" ".join), max_size=8).map(
    "\n".join
)


@settings(max_examples=5 * settings.default.max_examples)
@given(LINES, st.sampled_from([None, *FORMATS]))
def test_any_words(tmp_path_factory, text, format):
    attempt(tmp_path_factory.getbasetemp() / "words", text.encode(), format)


# A second reader of the most common formats, slow and simple: both readers must accept the same texts.

_WHOLE = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"(?ai)[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf|infinity)")


class Refused(Exception):
    pass


def plain_vertex(word: str, low: int, high: int) -> int:
    if not _WHOLE.fullmatch(word) or not low <= int(word) <= high:
        raise Refused
    return int(word)


def plain_weights(words: list[str]) -> list:
    if all(_WHOLE.fullmatch(word) for word in words):
        return [plain_vertex(word, -(2**63), 2**63 - 1) for word in words]
    for word in words:
        if not _DECIMAL.fullmatch(word):
            raise Refused
        if "n" not in word.lower() and np.isinf(float(word)):
            raise Refused
        # An integer that float64 would round is refused beside fractions.
        if _WHOLE.fullmatch(word) and plain_vertex(word, -(2**63), 2**63 - 1) != int(float(word)):
            raise Refused
    return [float(word) for word in words]


def plain_rows(text: str) -> list[list[str]]:
    """Return the words of each line; a blank is a space, a tab or a carriage return."""
    lines = (re.findall(r"[^ \t\r]+", line) for line in text.split("\n"))
    return [words for words in lines if words]


def plain_dimacs(text: str) -> tuple[int, list]:
    rows = [words for words in plain_rows(text) if not words[0].startswith("c")]
    if not rows or len(rows[0]) != 4 or rows[0][:2] != ["p", "sp"] or not all(map(str.isdecimal, rows[0][2:])):
        raise Refused
    n, m = (plain_vertex(word, 0, 10**18 - 1) for word in rows.pop(0)[2:])
    if len(rows) != m or any(len(words) != 4 or words[0] != "a" for words in rows) or too_many_vertices(n, m):
        raise Refused
    ends = [(plain_vertex(words[1], 1, n) - 1, plain_vertex(words[2], 1, n) - 1) for words in rows]
    return n, [(*pair, w) for pair, w in zip(ends, plain_weights([words[3] for words in rows]))]


def plain_edges(text: str) -> tuple[int, list]:
    """Return the graph of two or three columns separated by blanks or commas, without counts and header row."""
    rows = [words for words in plain_rows(text) if words[0][0] not in "#%/"]
    if all(len(words) == 1 and "," in words[0] for words in rows):
        rows = [words[0].split(",") for words in rows]
    width = len(rows[0]) if rows else 0
    if width not in (2, 3) or any(len(words) != width for words in rows):
        raise Refused
    ends = [tuple(plain_vertex(word, 0, 2**63 - 1) for word in words[:2]) for words in rows]
    places = {vertex: i for i, vertex in enumerate(sorted({vertex for pair in ends for vertex in pair}))}
    weights = plain_weights([words[2] for words in rows]) if width == 3 else [1] * len(rows)
    return len(places), [(places[a], places[b], w) for (a, b), w in zip(ends, weights)]


def compare(path, text: str, format: str, plain) -> bool:
    """Assert that both readers refuse the text or read the same graph; return whether they read it."""
    path.write_text(text, newline="")
    try:
        wanted = plain(text)
    except Refused:
        wanted = None
    try:
        graph = read_raw(path, format=format).graph()
        seen = graph.n, list(zip(graph.u.tolist(), graph.v.tolist(), graph.w.tolist()))
    except FormatError:
        seen = None
    assert repr(seen) == repr(wanted), text
    return seen is not None


WORDS = st.sampled_from(
    ["0", "1", "2", "3", "7", "9", "12", "+4", "-1", "05", "0.5", ".5", "5.", "1e3", "-2.5e-3", "1e400", "inf"]
    + ["-inf", "nan", "1_0", "0x1", "9223372036854775807", "9223372036854775808", "123456789012345678901.5"]
    + ["2.2250738585072011e-308", "٣", "-", ".", "1,2", "a", "c", "#", "%"]
)
SEPARATORS = st.sampled_from([" ", " ", " ", "\t", "  ", " \t"])
ENDS = st.sampled_from(["\n", "\n", "\n", "\r\n", " \n", "\n\n"])


@st.composite
def tables(draw, width, tag=""):
    lines = []
    for _ in range(draw(st.integers(0, 6))):
        words = draw(st.lists(st.sampled_from(["1", "2", "3"]) | WORDS, min_size=width, max_size=width))
        words = words if draw(st.integers(0, 9)) else words[1:]
        lines.append(tag + draw(SEPARATORS).join(words) + draw(ENDS))
    return "".join(lines)


@settings(max_examples=5 * settings.default.max_examples)
@given(st.integers(2, 3).flatmap(tables))
def test_edge_lists_are_read_as_by_the_plain_reader(tmp_path_factory, text):
    rows = [words for words in plain_rows(text) if words[0][0] not in "#%/"]
    # The plain reader takes no header.
    assume(not rows or any(map(_DECIMAL.fullmatch, re.split("[ ,]", " ".join(rows[0])))))
    compare(tmp_path_factory.getbasetemp() / "plain.txt", text.lstrip(), "edges", plain_edges)


@settings(max_examples=5 * settings.default.max_examples)
@given(tables(3, tag="a "), st.integers(0, 6), st.integers(0, 12))
@example("a 1 1 0.5\na 1 1 9223372036854775807\n", 1, 1)
def test_dimacs_files_are_read_as_by_the_plain_reader(tmp_path_factory, table, m, n):
    path = tmp_path_factory.getbasetemp() / "plain.gr"
    rows = sum(1 for line in table.split("\n") if line.strip())
    compare(path, f"p sp {n} {rows if m else m}\n{table}", "dimacs", plain_dimacs)


def test_the_plain_reader_agrees_on_damaged_files(tmp_path, rng):
    """Some of the files must be valid, so that not only errors are compared."""
    dice = random.Random(2)
    rows = [(*rng.integers(1, 9, 2), rng.integers(-50, 50) / 4) for _ in range(6)]
    edges = "".join(f"{a} {b} {w}\n" for a, b, w in rows)
    dimacs = f"p sp 8 {len(rows)}\n" + "".join(f"a {a} {b} {w}\n" for a, b, w in rows)
    for text, format, plain in ((edges, "edges", plain_edges), (dimacs, "dimacs", plain_dimacs)):
        both = 0
        for _ in range(400):
            changed = damaged(text.encode(), dice).decode(errors="ignore").replace("\0", "").replace("\f", "")
            # The plain reader supports neither counts in comments, delimiters, nor header rows.
            if format == "edges" and re.search(
                r"[,;|]|odes|[\v\x1c-\x1f\x85\ufeff]|^\s*[^\s\d.+#%/-]", changed
            ):
                continue
            both += compare(tmp_path / "graph", changed, format, plain)
        assert both > 20
