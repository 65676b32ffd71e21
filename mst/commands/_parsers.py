"""The commands, found without importing them, and the parsers of their arguments."""

from __future__ import annotations

import argparse
import ast
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import NoReturn

from mst.errors import nearest

_HELP = re.compile(r"^HELP = (.+)$", re.MULTILINE)
EVERYWHERE = ("--quiet", "--verbose", "--debug")
"""Flags that every command accepts, anywhere on its command line."""


def commands() -> dict[str, tuple[str, str]]:
    """Return each command's module and one-line help, reading no more than the files' text."""
    found = {}
    for file in sorted(Path(__file__).parent.glob("[!_]*.py")):
        if help := _HELP.search(file.read_text("utf-8")):
            found[file.stem.rstrip("_")] = (file.stem, ast.literal_eval(help[1]))
    return found


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, without the usage of all options, and name the nearest option."""

    def error(self, message: str) -> NoReturn:
        print(
            f"{self.prog}: {message}{self._hint(message)}; {self.prog} --help lists all arguments",
            file=sys.stderr,
        )
        sys.exit(2)

    def _hint(self, message: str) -> str:
        """Return the nearest option, value or assignment that an error of `argparse` could have meant."""
        if refused := re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)", message):
            return nearest(refused[1], re.findall(r"[\w-]+", refused[2]))
        unknown = re.search(r"unrecognized arguments: (--?[\w-]+)?\s*(\S+=\S+)?", message)
        if unknown is None:
            return ""
        option, assignment = unknown.groups()
        # Any two options are similar by their dashes.
        if option and (hint := nearest(option, self._option_string_actions, cutoff=0.7)):
            return hint
        for action in self._actions:
            if action.metavar == "NAME=VALUE" and assignment:
                return f" (did you mean '{action.option_strings[0]} {assignment}'?)"
            if str(action.metavar).startswith("-- ") and option:
                return f" (did you mean '-- {option}'?)"
        return ""


def parser(name: str, module: ModuleType) -> argparse.ArgumentParser:
    """Return the parser of the command that a module of `mst.commands` implements."""
    found = _Parser(
        prog=f"mst {name}",
        description=module.HELP,
        epilog="Also: --quiet prints only results and errors; --verbose shows progress from the start.",
    )
    module.configure(found)
    return found
