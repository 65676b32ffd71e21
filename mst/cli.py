"""The command `mst`, which imports only the subcommand of `mst.commands` that is called."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO, cast

from mst import progress
from mst.commands._interrupt import interrupt_on_signals
from mst.commands._parsers import EVERYWHERE, commands, parser
from mst.errors import MSTError, names_missing_numba, nearest, printable
from mst.version import __version__

EXIT_ERROR = 2


class _Printable:
    """A text stream that escapes control characters, and also line feeds and tabs within `names`."""

    def __init__(self, stream: Any, names: Sequence[str]) -> None:
        self._stream = self.unescaped = stream
        with contextlib.suppress(AttributeError):  # not all streams have an encoding
            stream.reconfigure(errors="backslashreplace")
        parts = [part for name in names for part in name.split("/")]
        self._names = [part for part in parts if part.strip() and printable(part, "\n\t") != printable(part)]

    def write(self, text: str) -> int:
        progress.clear()
        for name in self._names:
            text = text.replace(name, printable(name))
        return self._stream.write(text if text == "\r" else printable(text, "\n\t"))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; control characters in names do not reach the terminal."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    # A stream is None if the caller has closed it.
    streams = [stream or Path(os.devnull).open("w") for stream in (sys.stdout, sys.stderr)]  # noqa: SIM115
    out, err = (cast(TextIO, _Printable(stream, arguments)) for stream in streams)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            return _main(arguments)
        finally:
            _drop_unwritable_output()


def _main(arguments: list[str]) -> int:
    """Run a command.

    Errors that `mst` raises on purpose are one or two lines on standard error with exit code 2; ``--debug``
    shows the traceback.
    """
    # Arguments after -- are for the program that a command starts.
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments
    given = {flag for flag in EVERYWHERE if flag in own}
    arguments = [a for a in own if a not in given] + arguments[len(own) :]
    known = commands()
    name = arguments[0] if arguments else "--help"
    if name not in (*known, "-h", "--help", "--version"):
        print(f"mst: no command {name!r}{nearest(name, known)}; mst --help lists them", file=sys.stderr)
        return EXIT_ERROR
    try:
        try:
            if name in ("-h", "--help"):
                print(overview(known))
                return 0 if arguments else EXIT_ERROR
            if name == "--version":
                print(f"mst {__version__}")
                return 0
            module = importlib.import_module(f"mst.commands.{known[name][0]}")
            parsed = parser(name, module).parse_args(arguments[1:])
            interrupt_on_signals()
            with _verbosity(given, json=getattr(parsed, "json", False)):
                return int(names_missing_numba(module.run)(parsed) or 0)
        finally:
            # Here an error can still be reported; Python's own flush at exit would print a traceback.
            sys.stdout.flush()
    except KeyboardInterrupt:
        print(f"mst {name}: interrupted", file=sys.stderr)
        return 130
    except Exception as error:
        if isinstance(error, BrokenPipeError) or isinstance(error.__cause__, BrokenPipeError):
            # The process that reads our output has closed the pipe.
            return 1
        if "--debug" in given or (problem := _in_words(error)) is None:
            raise
        print(f"mst {name}: {problem}", file=sys.stderr)
        return EXIT_ERROR


def _in_words(error: Exception) -> str | None:
    """Return the problem that an error reports; None for a defect of this package, which needs a traceback."""
    match error:
        case MSTError():
            return f"{error}{_remedy(error)}"
        case MemoryError():
            return f"out of memory: {error}"
        case ModuleNotFoundError():
            package = (error.name or "mst").split(".")[0]
            return None if package == "mst" else _missing(package, error)
        case OSError():
            place = "" if error.filename is None else f"{error.filename}: "
            return f"{place}{error.strerror or error}"
    return None


def _remedy(error: MSTError) -> str:
    """Return where a graph of the catalogue has its file, if its name was given instead."""
    cause = error.__cause__
    if isinstance(cause, FileNotFoundError):
        from mst import catalog

        with contextlib.suppress(MSTError, OSError):
            if (name := str(cause.filename)) in catalog.load():
                return f"; it is a graph of the catalogue: `mst fetch {name}` prints the path of its file"
    return ""


def _drop_unwritable_output() -> None:
    """Drop output that cannot be written, since Python would try again at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _missing(package: str, error: ModuleNotFoundError) -> str:
    """Return which package is missing, and the extra that installs it, or else the line that imports it.

    Extras install only what this package imports; for a user's algorithm, the line is in its file.
    """
    from mst.registry import USERS_MODULE, installing

    stack = list(traceback.walk_tb(error.__traceback__))
    users = [entry for entry in stack if entry[0].f_globals.get("__name__", "").startswith(USERS_MODULE)]
    if not users and (remedy := installing(package)):
        return f"this needs {package}, which is not installed: {remedy}"
    lines = users or [entry for entry in stack if not entry[0].f_code.co_filename.startswith("<frozen ")]
    frame, line = lines[-1]
    file = Path(frame.f_code.co_filename)
    is_beside = bool(users) and file.with_name(f"{error.name}.py").is_file()
    remedy = ": an algorithm is one file, so move its code there" if is_beside else ""
    return f"{file}, line {line}: this needs {error.name}, which is not installed{remedy}"


def _verbosity(given: set[str], *, json: bool) -> contextlib.AbstractContextManager[None]:
    """Return the context for a command: it shows progress, or prints only results and errors."""
    if "--quiet" in given:
        return progress.silence()
    return contextlib.nullcontext() if json else progress.show_progress(verbose="--verbose" in given)


def overview(known: dict[str, tuple[str, str]]) -> str:
    """Return the text of ``mst --help``, with a line for each known command."""
    lines = [f"  {name:<10} {text}" for name, (_, text) in known.items()]
    return "\n".join(
        [
            "usage: mst COMMAND [options]",
            "",
            "Minimum spanning forests, fast and reproducible.",
            "",
            *lines,
            "",
            "mst COMMAND --help explains a command; --version prints the version. Every command takes --quiet (only",
            "results and errors), --verbose (progress from the start, the time of each step) and --debug (tracebacks).",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
