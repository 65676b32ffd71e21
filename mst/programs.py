"""Programs on disk that find minimum spanning forests: how to call one, and how to read its output.

The configuration describes programs under ``programs:``; the registry lists each as ``command-<name>``::

    programs:
      ecl:
        title: ECL-MST
        command: /opt/ecl/ecl-mst {graph}
        format: ecl
        weights: [int32]
        total: 'total weight: (\\d+)'
        seconds: 'runtime: ([\\d.]+) ms'
        unit: ms

If a program lists the edges, its forest is proved; if it only prints a total, the total is checked.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from string import Formatter
from typing import Any

from mst.errors import ConfigError, nearest
from mst.graph import WEIGHT_DTYPES

ENVIRONMENT = "MST_PROGRAMS"
UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
PARADIGMS = ("peer", "threads", "cuda")


@dataclass(frozen=True)
class Program:
    """How to call a program and read its output.

    Attributes
    ----------
    name : str
        Lower-case letters, digits and dashes.
    command : tuple of str
        Program and arguments; a string is split as by a shell, but no shell runs it. ``{graph}`` stands for the file to
        read, ``{output}`` for a file to which edges may be written, ``{width}`` for the number of threads or devices,
        and ``{name}`` for the value of an option. Double a literal brace.
    format : str
        A format of ``mst list formats`` that can be written.
    edges : str, optional
        A regular expression with the named groups ``u`` and ``v``, which finds every edge of the forest in the
        file ``{output}`` if the command names it, else in standard output. ``^`` and ``$`` match at each line.
    total : str, optional
        A regular expression whose only group is the forest's total weight in standard output. At least one of `edges`
        and `total` must be given; `edges` proves more, and `total` is then not read.
    first_vertex : int
        The number of the first vertex in `edges`.
    seconds : str, optional
        A regular expression whose only group is the time of the computation, as the program states it. Without it, the
        time of the whole process counts, including reading the file.
    unit : str
        Unit of this time: ``s``, ``ms``, ``us`` or ``ns``.
    title : str
        Name for tables.
    paradigm : str
        ``peer`` (one thread), ``threads`` or ``cuda``, which decides the widths of runs.
    weights : tuple of str
        Supported weight dtypes.
    simple : bool
        Whether to remove parallel edges and self-loops first; edges are mapped back to the original ids.
    options : mapping
        Options, described as in an algorithm's literal; their values replace the placeholders in the command.
    limits : mapping
        Largest ``n`` and ``m``.
    environment : mapping of str to str
        Further environment variables, with the same placeholders.
    versions : mapping of str to str
        Versions of the program's source and of the tools that built it, such as its commit and ``cuda``, for records.
    counters : mapping of str to str
        For each counter, a regular expression whose only group is a number in standard output.
    phases : mapping of str to str
        The same for the time of each phase, in `unit`.
    instrumented : tuple of str
        Command of a build that prints phases and counters, which are then read only from its output, the phases in
        further processes. Without it, they are read from the output of each process of `command`.
    """

    name: str
    command: tuple[str, ...]
    format: str
    edges: str | None = None
    total: str | None = None
    first_vertex: int = 0
    seconds: str | None = None
    unit: str = "s"
    title: str = ""
    paradigm: str = "peer"
    weights: tuple[str, ...] = tuple(dtype.name for dtype in WEIGHT_DTYPES)
    simple: bool = True
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    limits: Mapping[str, int] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    counters: Mapping[str, str] = field(default_factory=dict)
    phases: Mapping[str, str] = field(default_factory=dict)
    instrumented: tuple[str, ...] = ()

    def missing(self) -> str | None:
        """Return why the program cannot be started here, or None."""
        program = self.command[0]
        if shutil.which(program):
            return None
        fault = "whose file is not executable: use chmod +x" if Path(program).is_file() else "not found"
        return f"needs the program {program}, {fault}"

    def fingerprint(self) -> str:
        """Return hex digits over this description, the program, and the scripts among its arguments."""
        # Unused keys do not count, so that programs keep their records when another key is introduced.
        described = {
            key: value
            for key, value in asdict(self).items()
            if value or key not in ("versions", "counters", "phases", "instrumented")
        }
        total = hashlib.sha256(json.dumps(described, sort_keys=True).encode())
        for word in (*self.command, *self.instrumented):
            found = shutil.which(word) or (word if Path(word).is_file() else None)
            if found:
                total.update(Path(found).read_bytes())
        return total.hexdigest()


def from_mapping(name: str, values: Mapping[str, Any]) -> Program:
    """Return the program that a mapping describes.

    Raises
    ------
    ConfigError
        A key or a value is illegal; the message names the program, the key and the legal values.

    Examples
    --------
    >>> from mst.programs import from_mapping
    >>> described = {"command": "solve {graph}", "format": "dimacs", "total": r"weight (\\d+)"}
    >>> from_mapping("mine", described).command
    ('solve', '{graph}')
    """
    where = f"programs.{name}"
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]*", str(name)):
        raise ConfigError(f"{where}: use lower-case letters, digits and dashes in its name")
    if not isinstance(values, Mapping):
        raise ConfigError(f"{where}: expected a mapping of keys to values, got {type(values).__name__}")
    known = [f.name for f in fields(Program) if f.name != "name"]
    for key in values:
        if key not in known:
            raise ConfigError(
                f"{where}.{key}: unknown key{nearest(str(key), known)}; known: {', '.join(known)}"
            )
    for key in ("command", "format"):
        if not values.get(key):
            raise ConfigError(f"{where}.{key} is missing")
    program = Program(str(name), **{key: _typed(where, key, value) for key, value in values.items()})
    _check(where, program)
    return program


def _typed(where: str, key: str, value: Any) -> Any:
    """Return the value as the field's type, or raise `ConfigError`."""
    kinds: dict[str, Any] = {
        **dict.fromkeys(("command", "instrumented", "weights"), (str, list, tuple)),
        **dict.fromkeys(("options", "limits", "environment", "versions", "counters", "phases"), Mapping),
        "simple": bool,
        "first_vertex": int,
    }
    kind: Any = kinds.get(key, str)
    if value is None and key in ("edges", "total", "seconds"):
        return None
    if not isinstance(value, kind):
        raise ConfigError(f"{where}.{key}: {value!r} has the wrong type, {type(value).__name__}")
    if key in ("command", "instrumented"):
        try:
            return tuple(shlex.split(value)) if isinstance(value, str) else tuple(map(str, value))
        except ValueError as error:
            raise ConfigError(f"{where}.{key}: {value!r}: {error}") from None
    if key == "weights":
        return (value,) if isinstance(value, str) else tuple(map(str, value))
    if key in ("environment", "versions", "counters", "phases"):
        return {str(name): str(text) for name, text in value.items()}
    return value


def _check(where: str, program: Program) -> None:
    from mst.formats.detection import writable_formats

    choices: tuple[tuple[str, Iterable[str], Collection[str]], ...] = (
        ("format", (program.format,), writable_formats()),
        ("unit", (program.unit,), UNITS),
        ("paradigm", (program.paradigm,), PARADIGMS),
        ("weights", program.weights, [dtype.name for dtype in WEIGHT_DTYPES]),
        ("limits", program.limits, ("n", "m")),
    )
    for key, given, legal in choices:
        for value in given:
            if value not in legal:
                raise ConfigError(
                    f"{where}.{key}: {value!r} must be one of {', '.join(legal)}{nearest(value, legal)}"
                )
    if program.edges is None and program.total is None:
        raise ConfigError(f"{where}: give edges or total, without which its forest cannot be proved")
    _check_pattern(f"{where}.edges", program.edges, {"u", "v"})
    _check_pattern(f"{where}.total", program.total, set())
    _check_pattern(f"{where}.seconds", program.seconds, set())
    for key in ("counters", "phases"):
        for name, pattern in getattr(program, key).items():
            _check_pattern(f"{where}.{key}.{name}", pattern, set())
    placeholders = {"graph", "output", "width", *program.options}
    texts = {
        f"{where}.command": program.command,
        f"{where}.instrumented": program.instrumented,
        **{f"{where}.environment.{name}": (text,) for name, text in program.environment.items()},
    }
    for place, text in ((place, text) for place, words in texts.items() for text in words):
        for used in _placeholders(place, text):
            if used not in placeholders:
                raise ConfigError(
                    f"{place}: unknown placeholder {{{used}}}{nearest(used, placeholders)}; "
                    f"known: {', '.join(sorted(placeholders))}; double a literal brace"
                )
    for key in ("command", "instrumented"):
        words = getattr(program, key)
        if words and not any("graph" in _placeholders(where, text) for text in words):
            raise ConfigError(f"{where}.{key}: has no {{graph}}, so the program cannot find its input")


def _check_pattern(where: str, pattern: str | None, names: set[str]) -> None:
    if pattern is None:
        return
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise ConfigError(f"{where}: {pattern!r} is not a regular expression: {error}") from None
    if names:
        if set(compiled.groupindex) != names:
            raise ConfigError(f"{where}: {pattern!r} must have the named groups (?P<u>…) and (?P<v>…)")
    elif compiled.groups != 1:
        raise ConfigError(
            f"{where}: {pattern!r} must have one group, for the number, but has {compiled.groups}"
        )


def _placeholders(where: str, text: str) -> set[str]:
    try:
        return {name for _, name, _, _ in Formatter().parse(text) if name is not None}
    except ValueError as error:
        raise ConfigError(f"{where}: {text!r}: {error}; double a literal brace") from None


def export(programs: Mapping[str, Any] | None) -> None:
    """Make the configuration's programs `known` to this process and to those that it starts."""
    if programs is not None and not isinstance(programs, Mapping):
        raise ConfigError(f"programs: expected a mapping of names to programs, got {type(programs).__name__}")
    if programs:
        # YAML reads an unquoted day, such as a version, as a date.
        os.environ[ENVIRONMENT] = json.dumps(programs, default=str)
    else:
        os.environ.pop(ENVIRONMENT, None)


def known() -> tuple[Program, ...]:
    """Return the programs that ``$MST_PROGRAMS`` describes (JSON: name to description)."""
    text = os.environ.get(ENVIRONMENT, "")
    if not text:
        return ()
    try:
        described = json.loads(text)
        pairs = sorted(described.items())
    except (ValueError, AttributeError):
        raise ConfigError(f"${ENVIRONMENT} must be a JSON object of programs by name") from None
    return tuple(from_mapping(name, values) for name, values in pairs)
