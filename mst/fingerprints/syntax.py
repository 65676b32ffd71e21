"""The statements of a module that count, the names that they bind or change, and what imports stand for."""

from __future__ import annotations

import ast
from collections.abc import Iterable

SILENT = (ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal)
COMPOUND = (ast.If, ast.Try, ast.With, ast.For, ast.While, ast.Match, ast.TryStar)


def counted(body: Iterable[ast.stmt]) -> Iterable[ast.stmt]:
    """Return the statements that count: no docstrings, no `pass`, no blocks for type checkers or command lines."""
    for statement in body:
        if isinstance(statement, ast.Pass):
            continue
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            continue
        if isinstance(statement, ast.If) and ast.unparse(statement.test).split(".")[-1] == "TYPE_CHECKING":
            yield from counted(statement.orelse)
            continue
        if isinstance(statement, ast.If) and ast.unparse(statement.test).startswith("__name__ == "):
            continue
        yield statement


def bound_names(statement: ast.stmt) -> list[str]:
    """Return the names that a statement at the top of a module binds or changes; imports alone bind none."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [statement.name]
    if isinstance(statement, ast.AnnAssign) and statement.value is None:
        return []
    found: dict[str, None] = {}
    if isinstance(statement, COMPOUND):
        for inner in _top_statements(statement):
            found |= dict.fromkeys(bound_names(inner))
    for target in _targets(statement):
        for node in ast.walk(target):
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                found[node.id] = None
    if not isinstance(statement, COMPOUND):
        found |= {n.target.id: None for n in ast.walk(statement) if isinstance(n, ast.NamedExpr)}
    return list(found)


def changed_names(statement: ast.stmt) -> list[str]:
    """Return the names whose values a statement at the top of a module changes by an item or an attribute."""
    found = []
    for target in [] if isinstance(statement, COMPOUND) else _targets(statement):
        base = target
        while isinstance(base, (ast.Attribute, ast.Subscript)):
            base = base.value
        if isinstance(base, ast.Name) and base is not target:
            found.append(base.id)
    return found


def _targets(statement: ast.stmt) -> list[ast.expr]:
    """Return the expressions that a statement, apart from those within it, assigns to or deletes."""
    match statement:
        case ast.Assign() | ast.Delete():
            return statement.targets
        case ast.AnnAssign() | ast.AugAssign() | ast.For():
            return [statement.target]
        case ast.With():
            return [item.optional_vars for item in statement.items if item.optional_vars]
    return []


def _top_statements(statement: ast.stmt) -> Iterable[ast.stmt]:
    """Return the statements directly within a compound one."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        for inner in getattr(statement, field, ()):
            if isinstance(inner, ast.stmt):
                yield inner
            else:
                yield from inner.body


def imports_of(
    node: ast.Import | ast.ImportFrom, package: tuple[str, ...]
) -> tuple[dict[str, str], list[str], list[str]]:
    """Return the target of each name that an import in a package binds, the modules that may be meant, and the stars.

    Modules are dotted names; the stars are the modules from which all names are imported.
    """
    if isinstance(node, ast.Import):
        bound = {
            name.asname or name.name.split(".")[0]: name.name if name.asname else name.name.split(".")[0]
            for name in node.names
        }
        return bound, [name.name for name in node.names], []
    above = package[: len(package) - node.level + 1] if node.level else ()
    base = ".".join([*above, *([node.module] if node.module else [])])
    if base == "__future__":
        return {}, [], []
    bound = {name.asname or name.name: f"{base}.{name.name}" for name in node.names if name.name != "*"}
    stars = [base for name in node.names if name.name == "*"]
    return bound, [base, *(f"{base}.{name.name}" for name in node.names)], stars
