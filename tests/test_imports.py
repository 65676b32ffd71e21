"""Imports point one way: from commands and reports down to the kernels."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from mst.kernels.primitives.sources import PACKAGE

LAYERS = (
    {"errors"},
    {"kernels"},
    {"graph", "order", "forest"},
    {"formats", "catalog", "download", "generators"},
    {"registry"},
    {"algorithms"},
    {"bench"},
    {"reporting"},
    {"commands", "cli"},
)


def parts() -> dict[str, set[str]]:
    """Return, for each module or folder of the package's top, the others that it imports when it runs."""
    reached: dict[str, set[str]] = {}
    for file in PACKAGE.rglob("*.py"):
        own = file.relative_to(PACKAGE).with_suffix("").parts[0]
        reached.setdefault(own, set()).update(imported(ast.parse(file.read_text())) - {own})
    return reached


def imported(tree: ast.AST) -> set[str]:
    """Return what code imports of the package, by the first name below it; types alone do not count."""
    if isinstance(tree, ast.If) and ast.unparse(tree.test) == "TYPE_CHECKING":
        return set()
    if isinstance(tree, ast.ImportFrom) and tree.module == "mst":
        names = {alias.name for alias in tree.names}
        return {name for name in names if Path(PACKAGE, name).is_dir() or Path(PACKAGE, f"{name}.py").is_file()}
    modules = [tree.module or ""] if isinstance(tree, ast.ImportFrom) else []
    modules += [alias.name for alias in tree.names] if isinstance(tree, ast.Import) else []
    found = {module.split(".")[1] for module in modules if module.startswith("mst.")}
    return found.union(*(imported(child) for child in ast.iter_child_nodes(tree)))


def test_no_part_is_imported_by_what_it_imports():
    TopologicalSorter(parts()).prepare()  # raises CycleError, which names the cycle


@pytest.mark.parametrize("layer", range(len(LAYERS)))
def test_no_layer_imports_one_above_it(layer):
    above = set().union(*LAYERS[layer + 1 :])
    reached, direct = parts(), set(LAYERS[layer])
    pending = list(direct)
    while pending:
        for name in reached.get(pending.pop(), set()) - direct:
            direct.add(name)
            pending.append(name)
    assert direct & above == set()


def test_an_import_is_seen_wherever_it_stands():
    code = (
        "if TYPE_CHECKING:\n    from mst.cli import main\n"
        "def f():\n    import mst.graph\n    from mst import order, Forest\n"
    )
    assert imported(ast.parse(code)) == {"graph", "order"}
