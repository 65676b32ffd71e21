"""Outputs: files are replaced as a whole, links followed, streams written to; names cannot command a terminal."""

from __future__ import annotations

import errno
import io
import os
import re
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import threading
import zipfile

import pytest
from scripts import run_mst, run_python

from mst import InputError, formats
from mst.cli import main
from mst.errors import FormatError

EDGES = "0 1 5\n1 2 7\n2 0 6\n"


@pytest.fixture
def place(tmp_path):
    (tmp_path / "graph.txt").write_text(EDGES)
    return tmp_path


@pytest.mark.parametrize(
    "arguments", [("convert", "graph.txt", "-"), ("solve", "graph.txt", "--out", "-", "--json")]
)
def test_a_dash_is_standard_output_and_everything_else_is_said_beside_it(place, arguments):
    ended = run_mst(*arguments, cwd=place)
    assert ended.returncode == 0, ended.stderr
    (place / "found.txt").write_text(ended.stdout)
    assert sorted(formats.read(place / "found.txt").w.tolist())[:2] == [5, 6]
    assert ended.stderr.count("\n") == 1
    assert sorted(file.name for file in place.iterdir()) == ["found.txt", "graph.txt"]


def test_links_are_followed(place):
    (place / "real").mkdir()
    (place / "link.txt").symlink_to("real/target.txt")
    for _ in range(2):  # the target does not exist at first
        assert main(["convert", str(place / "graph.txt"), str(place / "link.txt")]) == 0
        assert (place / "link.txt").is_symlink()
        assert formats.read(place / "real" / "target.txt").m == 3


def test_devices_and_pipes_stay_what_they_are(place):
    pipe, null = place / "pipe", place / "null"
    os.mkfifo(pipe)
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()))
    reader.start()
    assert main(["convert", str(place / "graph.txt"), str(pipe)]) == 0
    reader.join(timeout=20)
    assert stat.S_ISFIFO(pipe.stat().st_mode) and b"# Nodes: 3 Edges: 3" in received[0]
    null.symlink_to("/dev/null")
    assert main(["solve", str(place / "graph.txt"), "--out", str(null)]) == 0
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)  # noqa: PTH116
    assert sorted(file.name for file in place.iterdir()) == ["graph.txt", "null", "pipe"]


@pytest.mark.parametrize("closed", [">&-", "2>&-"])
def test_a_closed_stream_is_not_written_to(place, closed):
    command = f"exec {shlex.quote(sys.executable)} -m mst solve graph.txt --out forest.gr {closed}"
    ended = subprocess.run(["sh", "-c", command], cwd=place, capture_output=True, text=True, timeout=120)
    assert (ended.returncode, ended.stderr) == (0, "") and formats.read(place / "forest.gr").m == 2


@pytest.mark.parametrize("command", ["convert graph.txt -", "solve graph.txt --out -"])
def test_a_reader_may_close_the_output(place, command):
    # More than a pipe holds.
    (place / "graph.txt").write_text("".join(f"{i} {i + 1} 5\n" for i in range(20_000)))
    script = f"{shlex.quote(sys.executable)} -m mst --quiet {command} | head -n 1; exit ${{PIPESTATUS[0]}}"
    ended = subprocess.run(["bash", "-c", script], cwd=place, capture_output=True, text=True, timeout=120)
    assert (ended.returncode, ended.stderr, ended.stdout.count("\n")) == (1, "", 1)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_terminated_command_leaves_no_partial_file(place, number):
    program = f"""
        import os, signal
        from pathlib import Path
        from mst.cli import main

        def replace(temporary, target):
            assert temporary.is_file()
            os.kill(os.getpid(), {number:d})

        # Under nohup, the tests ignore SIGHUP, and so would this process.
        signal.signal({number:d}, signal.SIG_DFL)
        Path.replace = replace
        assert main(["convert", "graph.txt", "graph.gr"]) == 130
    """
    assert run_python(program, cwd=place).stderr == "mst convert: interrupted\n"
    assert [file.name for file in place.iterdir()] == ["graph.txt"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")  # noqa: PTH110
def test_a_full_device_is_an_error(place, capsys):
    assert main(["convert", str(place / "graph.txt"), "/dev/full"]) == 2
    assert "/dev/full cannot be written: No space left on device" in capsys.readouterr().err


def test_a_copy_of_a_pipe_that_does_not_fit_is_named(monkeypatch, capsys):
    def copy(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(shutil, "copyfileobj", copy)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(EDGES.encode())))
    assert main(["solve", "-"]) == 2
    shown = capsys.readouterr().err
    assert re.fullmatch(
        r"mst solve: .*/mst-.*/standard input cannot be written: No space left on device\n", shown
    )


def test_standard_input_that_cannot_be_read_is_named(monkeypatch, capsys):
    class Unreadable(io.RawIOBase):
        def readable(self) -> bool:
            return True

        def readinto(self, _) -> int:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(Unreadable())))
    assert main(["solve", "-"]) == 2
    assert capsys.readouterr().err == "mst solve: standard input cannot be read: Input/output error\n"


def test_a_folder_is_refused(place, capsys):
    (place / "folder.txt").mkdir()
    assert main(["convert", str(place / "graph.txt"), str(place / "folder.txt")]) == 2
    assert "folder.txt cannot be written: it is a folder" in capsys.readouterr().err
    with pytest.raises(InputError, match="it is a folder"):
        formats.write(place / "folder.txt", formats.read(place / "graph.txt"))


HOSTILE = "a\x1b[2Jb\x9b\u202ec"


def test_names_of_files_do_not_command_the_terminal(place, capsys):
    shutil.copy(place / "graph.txt", place / f"{HOSTILE}.txt")
    (place / f"bad{HOSTILE}\n.txt").write_text("nothing\n")
    (place / os.fsdecode(b"bytes\xff.txt")).write_text("nothing\n")
    lines = f"two\nlines\tof{HOSTILE}"
    for name in (f"{HOSTILE}.txt", f"bad{HOSTILE}\n.txt", os.fsdecode(b"bytes\xff.txt"), "missing\x1b", lines):
        for arguments in (["info", name], ["solve", name], ["convert", name, str(place / f"{HOSTILE}.gr")]):
            main([arguments[0], str(place / arguments[1]), *arguments[2:]])
    printed = "".join(capsys.readouterr())
    assert "a\\x1b[2Jb\\x9b\\u202ec" in printed and "\\udcff" in printed
    assert not set(printed) & set("\x1b\x9b\u202e\r")
    assert "two\\nlines\\tof" in printed and "two\n" not in printed


def test_names_in_archives_are_escaped_in_errors(tmp_path):
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        for name in (f"{HOSTILE}\n1.txt", f"{HOSTILE}2.txt"):
            archive.writestr(name, EDGES)
    with pytest.raises(FormatError) as caught:
        formats.read(tmp_path / "two.zip")
    assert not set(str(caught.value)) & set("\x1b\x9b\u202e\n")
