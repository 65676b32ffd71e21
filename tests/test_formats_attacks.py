"""Hostile and cut files: never another graph, a traceback, a crash, or much time and memory."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from mst import FormatError
from mst.formats import read_raw

ROUNDED = 2**53 + 1


def message_of(path, content: bytes | str, format: str | None = None) -> str:
    """Return the message of the `FormatError` that a file raises."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(FormatError) as caught:
        read_raw(path, format=format)
    return str(caught.value)


def python(code: str, *arguments: object) -> subprocess.CompletedProcess:
    """Run code in a separate process, which may crash."""
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=240)


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
    assert "would round" in message and ("9007199254740993" in message or "9223372036854775807" in message)


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


@pytest.mark.parametrize("name", ["rows.txt", "rows.graph"])
def test_interrupted_readers_neither_crash_nor_swallow_it(tmp_path, name):
    path, n = tmp_path / name, 300_000
    if name == "rows.txt":
        path.write_text("0 1 5\n1 2 6\n2 3 7\n" * n)
    else:
        path.write_text(f"{n} {n - 1}\n2\n" + "".join(f"{i - 1} {i + 1}\n" for i in range(2, n)) + f"{n - 1}\n")
    ended = python(INTERRUPTED, path)
    assert (ended.returncode, ended.stdout) == (0, "40\n"), ended.stderr


def test_interrupted_conversion_ends_soon_and_leaves_nothing(tmp_path):
    os.mkfifo(tmp_path / "endless")
    command = [sys.executable, "-m", "mst", "convert", "endless", "graph.arrow", "--from", "edges"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    with contextlib.suppress(BrokenPipeError), (tmp_path / "endless").open("wb") as stream:
        for part in range(400):
            stream.write(b"0 1 5\n1 2 6\n" * 8192)
            if part == 200:
                process.send_signal(signal.SIGINT)
                sent = time.monotonic()
    assert process.wait(timeout=60) in (130, -signal.SIGINT)
    assert time.monotonic() - sent < 10
    assert process.stderr is not None and process.stderr.read() == "mst convert: interrupted\n"
    assert [file.name for file in tmp_path.iterdir()] == ["endless"]
