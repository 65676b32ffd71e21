"""Fingerprints of code by its content: they cover the definitions that a piece of code reaches, and nothing else.

A *definition* is a function, class or constant at the top of a module, with every statement that binds its name. Its
content is its syntax tree: references to definitions of this package stand for their content, references to other
packages for their qualified names (``numpy.cumsum``), and local names for their order of appearance. Files, modules,
functions and local names, imports, comments, docstrings, annotations and the texts of raised errors do not count, so
moving or renaming code changes no fingerprint. The names of attributes, of fields and of keywords count, and the name
of a parameter does where any keyword, option or string that is reached spells it.

A fingerprint covers the definitions that its roots reach, numbered in the order in which they are reached. Where a
reference cannot be followed, all that it may mean is covered: a module that is used other than by its attributes, and
the package where a module is imported by a name that is computed. Statements with side effects count wherever their
module is imported, and numba's overloads with the function that they overload. CUDA sources are covered from their
kernels on: see `mst.fingerprints.cuda`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

from mst.fingerprints import kept, modules
from mst.fingerprints.modules import Module, Node, cuda_text, digest, module_at

# Each definition is read once, and threads that import kernels at the same time must not see it half read.
_one_reads = threading.RLock()


def fingerprint(path: Path) -> str:
    """Return 16 hex digits over everything in a Python or CUDA file and all that it reaches, for keys of machine code.

    Names of the file's definitions, texts of errors and the modules of all that is reached count here, since they are
    part of machine code: numba imports those modules when it loads it.
    """
    with _one_reads:
        return _file_fingerprint(Path(path).resolve())


@cache
def _file_fingerprint(path: Path) -> str:
    """Return the result of `fingerprint` for an absolute path, read once."""
    return kept.remembered(path, "all", partial(_of_file, path))


def _of_file(path: Path) -> str:
    if path.suffix != ".py":
        return digest(cuda_text(path))[:16]
    module = module_at(path)
    roots = list(dict.fromkeys(module.definitions.values()))
    names = ",".join((module.name, *module.definitions))
    return digest(names + _covered(roots, exact=True))[:16]


@cache
def algorithm_fingerprint(path: Path, roots: tuple[str, ...], options: tuple[tuple[str, Any], ...]) -> str:
    """Return 16 hex digits over the definitions of a file that `roots` name and all that they reach.

    Parameters
    ----------
    path : Path
    roots : tuple of str
        Names of definitions; those that the file does not have are skipped.
    options : tuple of (str, object)
        Names and defaults of the options, which functions receive as keywords.
    """
    with _one_reads:
        path = Path(path).resolve()
        return kept.remembered(path, repr((roots, options)), partial(_of_algorithm, path, roots, options))


def _of_algorithm(path: Path, roots: tuple[str, ...], options: tuple[tuple[str, Any], ...]) -> str:
    module = module_at(path)
    present = {name: found for name in roots if (found := module.member(name)) is not None}
    covered = _covered([found.node for found in present.values()], keywords={name for name, _ in options})
    parts = [(name, node.part(part) + rest) for name, (node, part, rest) in present.items()]
    return digest(f"{options} {parts} {covered}")[:16]


def forget() -> None:
    """Read every file again from now on."""
    kept.forget()
    modules.forget()
    _file_fingerprint.cache_clear()
    algorithm_fingerprint.cache_clear()


def _covered(roots: Sequence[Node], *, exact: bool = False, keywords: Iterable[str] = ()) -> str:
    """Return the text of all definitions that `roots` reach: equal texts for equal code."""
    spelt = set(keywords)
    reached, modules_of_nodes = _reach(roots, spelt)
    # Each effect stands alone: the order in which modules are imported is a matter of style.
    effects: dict[Module, list[Node]] = {}
    pending = list(modules_of_nodes)
    while pending:
        module = pending.pop()
        if module in effects:
            continue
        pending.extend(module.imported())
        effects[module] = []
        if module.effects:
            effects[module], more = _reach(module.effects, spelt)
            pending.extend(more)
    lines = [_lines(reached, spelt, exact, set(roots))]
    lines += sorted(_lines(nodes, spelt, exact, set()) for nodes in effects.values() if nodes)
    return "\n\n".join(lines)


def _reach(roots: Sequence[Node], spelt: set[str]) -> tuple[list[Node], dict[Module, None]]:
    """Return all nodes that `roots` reach, and their modules; add the keywords that they spell to `spelt`."""
    reached: dict[Node, None] = dict.fromkeys(roots)
    order = list(reached)
    modules_of_nodes: dict[Module, None] = {}
    for node in order:
        node.read()
        spelt.update(node.keywords)
        modules_of_nodes.update(dict.fromkeys(node.modules))
        for other, _, _ in node.references:
            if other not in reached:
                reached[other] = None
                order.append(other)
    return order, modules_of_nodes


def _lines(nodes: list[Node], spelt: set[str], exact: bool, roots: set[Node]) -> str:
    """Return a line of text for each node: content, references by number, and the parameters that count."""
    number = {node: str(i) for i, node in enumerate(nodes)}
    lines = []
    for node in nodes:
        if exact or node in roots:
            named: Any = node.parameters
        else:
            named = [(i, name) for i, name in enumerate(node.parameters) if name in spelt]
        prose = (node.place, *node.prose) if exact else ()
        references = " ".join(
            [f"{number[other]}.{other.part(name)}{rest}" for other, name, rest in node.references]
        )
        lines.append(f"{node.text} {references} {named or ''} {prose or ''}")
    return "\n".join(lines)
