"""The commands, found without importing them, and the parsers of their arguments."""

from __future__ import annotations

import argparse
import ast
import re
from pathlib import Path
from types import ModuleType

_HELP = re.compile(r"^HELP = (.+)$", re.MULTILINE)
EVERYWHERE = ("--quiet", "--verbose", "--debug")
"""Flags that every command takes, at any place."""


def commands() -> dict[str, tuple[str, str]]:
    """Return each command's module and one-line help, reading no more than the files' text."""
    found = {}
    for file in sorted(Path(__file__).parent.glob("[!_]*.py")):
        if help := _HELP.search(file.read_text("utf-8")):
            found[file.stem.rstrip("_")] = (file.stem, ast.literal_eval(help[1]))
    return found


def parser(name: str, module: ModuleType) -> argparse.ArgumentParser:
    """Return the parser of the command that a module of `mst.commands` implements."""
    found = argparse.ArgumentParser(
        prog=f"mst {name}",
        description=module.HELP,
        epilog="Also: --quiet prints results and errors alone; --verbose shows progress from the start.",
    )
    module.configure(found)
    return found
