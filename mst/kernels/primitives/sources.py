"""Which source files a piece of code reaches, and a fingerprint of what they say.

The fingerprint covers a file and, transitively, what it imports from `mst.kernels`, `mst.algorithms`, `mst.order` and
`mst.edge_slice`, what builds a graph's rows where it asks for them, and the CUDA files that these include. Comments,
blank lines and docstrings do not count: editing them changes no result and reruns nothing.
"""

from __future__ import annotations

import ast
import hashlib
import io
import re
import tokenize
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2]
_REACHED = ("mst.kernels", "mst.algorithms", "mst.order", "mst.edge_slice")
# `Graph.csr` works for whoever calls it, and of `Graph` it alone takes time.
_WORKERS_OF_CALLS = {"csr": "mst.kernels.graph.csr"}
_CUDA_TOKEN = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])'""", re.DOTALL)
_CUDA_NAME = re.compile(r"""["']([\w/.-]+\.cuh?)["']""")


@cache
def closure(path: Path) -> tuple[Path, ...]:
    """Return the files that `path` reaches, itself included, sorted."""
    seen: set[Path] = set()
    pending = [Path(path).resolve()]
    while pending:
        file = pending.pop()
        if file not in seen:
            seen.add(file)
            pending.extend(_reached_from(file))
    return tuple(sorted(seen))


@cache
def fingerprint(path: Path) -> str:
    """Return 16 hex digits over the meaning of every file that `path` reaches."""
    total = hashlib.sha256()
    for file in closure(path):
        total.update(file.name.encode() + b"\0" + _meaning(file).encode() + b"\0")
    return total.hexdigest()[:16]


def forget() -> None:
    """Read every file anew from now on."""
    for remembered in (closure, fingerprint, _reached_from, _meaning):
        remembered.cache_clear()


@cache
def _reached_from(file: Path) -> list[Path]:
    text = file.read_text()
    if file.suffix != ".py":
        return _cuda_files(file, re.findall(r'^\s*#\s*include\s+"([^"]+)"', text, re.MULTILINE))
    modules: list[str] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            modules += [node.module, *(f"{node.module}.{name.name}" for name in node.names)]
        elif isinstance(node, ast.Import):
            modules += [name.name for name in node.names]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            modules += filter(None, [_WORKERS_OF_CALLS.get(node.func.attr)])
    files = [_module_file(module) for module in modules if module.startswith(_REACHED)]
    return [f for f in files if f is not None] + _cuda_files(file, _CUDA_NAME.findall(text))


def _module_file(module: str) -> Path | None:
    base = PACKAGE.joinpath(*module.split(".")[1:])
    for candidate in (base.with_suffix(".py"), base / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None


def _cuda_files(file: Path, names: list[str]) -> list[Path]:
    folders = (file.parent, PACKAGE / "kernels", PACKAGE / "kernels" / "cuda")
    found = (next((f / n for f in folders if (f / n).is_file()), None) for n in names)
    return [path.resolve() for path in found if path is not None]


@cache
def _meaning(file: Path) -> str:
    text = file.read_text()
    if file.suffix != ".py":
        code = _CUDA_TOKEN.sub(lambda token: " " if token[0].startswith("/") else token[0], text)
        return "\n".join(line.rstrip() for line in code.splitlines() if line.strip())
    lines = text.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    inside_strings: set[int] = set()
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            inside_strings.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            value = body[0].value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                docstrings.update(range(value.lineno, (value.end_lineno or value.lineno) + 1))
    kept = {number: line.rstrip() for number, line in enumerate(lines, 1) if number not in docstrings}
    return "\n".join(line for number, line in kept.items() if line or number in inside_strings)
