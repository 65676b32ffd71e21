"""Reads files of algorithms without running them: the literal `ALGORITHM`, its options, and the function `skip`.

`mst.registry` documents their contract.
"""

from __future__ import annotations
import __future__

import ast
import contextlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Any

from mst.errors import ConfigError, nearest
from mst.names import path_part

_USUAL_LITERAL = re.compile(r"^ALGORITHM = (dict\(\n(?: .*\n|\n)*\)\n)", re.MULTILINE)
PARADIGMS = ("sequential", "threads", "cuda", "mpi", "peer")
_NEEDED = frozenset(("id", "paradigm", "title"))
_KINDS: dict[str, tuple[Any, str]] = {
    **dict.fromkeys(("id", "paradigm", "title", "input", "ties"), (str, "a string")),
    "paper": (str | None, "a string or None"),
    "exact": (bool, "True or False"),
    "requires": (tuple | list, 'a tuple of names, such as ("numba",)'),
    **dict.fromkeys(("options", "limits"), (Mapping, "a mapping")),
}
_LEGAL = {"paradigm": PARADIGMS, "input": ("edges", "csr"), "ties": ("order", "any")}
_RESERVED = ("comm", "facts", "graph", "output", "part", "width")


@dataclass(frozen=True)
class Option:
    """An option of an algorithm, such as a published optimisation to switch off: its default and legal values."""

    name: str
    default: Any
    choices: tuple = ()
    min: float | None = None
    max: float | None = None
    help: str = ""

    def parse(self, value: Any, owner: str) -> Any:
        """Return `value` (a Python value or its text form) as this option's type, or raise `ConfigError`."""
        kind = type(self.default)
        if type(value) is kind and value == self.default:
            return value
        try:
            if kind is bool:
                parsed: Any = {"true": True, "on": True, "1": True, "false": False, "off": False, "0": False}[
                    str(value).lower()
                ]
            elif kind is int and str(value) != str(int(value)):
                raise ValueError
            else:
                parsed = kind(value)
                if kind is float and not isfinite(parsed):  # which the JSON of a record cannot represent
                    raise ValueError
        except (KeyError, TypeError, ValueError, OverflowError):
            name = "a finite float" if kind is float else kind.__name__
            raise ConfigError(
                f"{owner}: option {self.name}={value!r} must be {name}, such as {self.default!r}"
            ) from None
        if self.choices and parsed not in self.choices:
            legal = ", ".join(map(str, self.choices))
            raise ConfigError(f"{owner}: option {self.name}={value!r} must be one of {legal}")
        above = self.min is None or parsed >= self.min
        below = self.max is None or parsed <= self.max
        if not (above and below):
            limits = {"at least": self.min, "at most": self.max}
            words = " and ".join(f"{word} {limit}" for word, limit in limits.items() if limit is not None)
            raise ConfigError(f"{owner}: option {self.name}={value!r} must be {words}")
        return parsed


def read_literal(file: Path) -> dict[str, Any]:
    """Return the literal `ALGORITHM` of a file, with its options as `Option`; raise `ConfigError` if it is illegal."""
    line, literal = _find_literal(file)
    where = f"{file}, line {line}"
    for key in literal:
        if key not in _KINDS:
            raise ConfigError(f"{where}: unknown key {key!r}{nearest(key, _KINDS)}")
    if absent := _NEEDED - literal.keys():
        raise ConfigError(f"{where}: ALGORITHM lacks {', '.join(sorted(absent))}")
    for key, value in literal.items():
        kind, words = _KINDS[key]
        if not isinstance(value, kind):
            raise ConfigError(f"{where}: {key} must be {words}, got {value!r}")
        if key in _LEGAL and value not in _LEGAL[key]:
            raise ConfigError(f"{where}: {key} {value!r} must be one of {', '.join(_LEGAL[key])}")
    path_part(literal["id"], "algorithm", where)
    check_limits(where, literal.get("limits", {}))
    options = options_of(where, literal.get("options", {}), most=2**31 - 1)  # kernels add to them in 64 bits
    return {**literal, "options": options}


def _find_literal(file: Path) -> tuple[int, dict[str, Any]]:
    """Return the line and the value of the literal."""
    try:
        text = file.read_text("utf-8")
    except UnicodeDecodeError:
        raise ConfigError(f"{file} is not text in UTF-8: convert it") from None
    if usual := _USUAL_LITERAL.search(text):
        # Parsing all files completely takes longer than a process needs to solve its first graph.
        with contextlib.suppress(SyntaxError, ValueError):
            literal = _evaluate(ast.parse(usual[1], str(file), "eval").body)
            return text.count("\n", 0, usual.start(1)) + 1, literal
    for node in _statements(file, text):
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", None) == "ALGORITHM":
            try:
                return node.lineno, _evaluate(node.value)
            except ValueError as error:
                raise ConfigError(f"{file}, line {node.lineno}: ALGORITHM must be a literal: {error}") from None
    raise ConfigError(f"{file} has no ALGORITHM literal: see mst/registry.py, or prefix its name with '_'")


def check_limits(where: str, limits: Mapping[str, Any]) -> None:
    """Raise `ConfigError` unless all limits are whole numbers for n or m."""
    for name, limit in limits.items():
        if name not in ("n", "m") or type(limit) is not int:
            raise ConfigError(f"{where}: limits must give n or m as whole numbers, got {name} = {limit!r}")


def options_of(
    where: str, literal: Mapping[str, Mapping[str, Any]], most: int | None = None
) -> dict[str, Option]:
    """Return the options of a literal; whole numbers are limited to `most` unless an option has a limit."""
    known = [f.name for f in fields(Option) if f.name != "name"]
    for name, spec in literal.items():
        if not isinstance(spec, Mapping) or "default" not in spec:
            raise ConfigError(f"{where}: option {name!r} must be a mapping with a default")
        for key in spec:
            if key not in known:
                hint = f"{nearest(str(key), known)}; known: {', '.join(known)}"
                raise ConfigError(f"{where}: option {name!r}: unknown key {key!r}{hint}")
        if name in _RESERVED or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", str(name)):
            raise ConfigError(
                f"{where}: option {name!r}: use letters, digits, dashes and _, and none of {', '.join(_RESERVED)}"
            )
        default, choices = spec["default"], spec.get("choices", ())
        if not isinstance(default, bool | int | float | str):
            raise ConfigError(f"{where}: option {name!r}: its default must be a number, a string or a bool")
        if not isinstance(choices, tuple | list) or (choices and default not in choices):
            raise ConfigError(
                f"{where}: option {name!r}: choices must list the default, {default!r}, and others"
            )
        if not all(isinstance(spec.get(bound, 0), int | float) for bound in ("min", "max")):
            raise ConfigError(f"{where}: option {name!r}: min and max must be numbers")
    whole = {name: {"max": most} if type(spec["default"]) is int else {} for name, spec in literal.items()}
    return {
        name: Option(name, **{**whole[name], **spec, "choices": tuple(spec.get("choices", ()))})
        for name, spec in literal.items()
    }


def _evaluate(node: ast.expr) -> Any:
    if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "dict" and not node.args:
        return {str(k.arg): _evaluate(k.value) for k in node.keywords}
    if isinstance(node, ast.Dict):
        return {
            _evaluate(k): _evaluate(v) for k, v in zip(node.keys, node.values, strict=True) if k is not None
        }
    try:
        return ast.literal_eval(node)
    except ValueError:
        raise ValueError(f"write the value of {ast.unparse(node)}") from None


def _statements(file: Path, text: str) -> list[ast.stmt]:
    """Return the statements of a file; raise `ConfigError` with the line if it is not valid Python."""
    try:
        return ast.parse(text, str(file)).body
    except SyntaxError as error:
        raise ConfigError(f"{file}, line {error.lineno}: {error.msg}") from None


@cache
def skip_function(file: Path) -> Callable[..., str | None] | None:
    """Return the function `skip` of a file, compiled without the rest; None if the file does not define it."""
    for node in _statements(file, file.read_text("utf-8")):
        if isinstance(node, ast.FunctionDef) and node.name == "skip":
            namespace: dict[str, Any] = {}
            # Annotations stay text, since they use names of the module.
            flags = __future__.annotations.compiler_flag
            exec(compile(ast.Module([node], []), str(file), "exec", flags, dont_inherit=True), namespace)
            return namespace["skip"]
    return None
