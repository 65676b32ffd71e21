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
kernels on: see `mst.kernels.primitives.cuda_sources`.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
import re
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from mst.kernels.primitives import cuda_sources

PACKAGE = Path(__file__).resolve().parents[2]
# How code is fingerprinted and where machine code is kept changes no result, though `njit` reaches both.
_UNCOUNTED = ("sources.py", "cuda_sources.py", "code_cache.py", "cache.py")
# Methods of `Graph` that work for their caller: they count where they are used, not where graphs are.
_WORKERS_OF_CALLS = ("csr", "_csr")
_DYNAMIC = frozenset(("eval", "exec", "globals", "locals", "vars", "dir", "__import__"))
# Where local names count; compiled code names them in `objmode` and in the option `locals` of `njit`.
_BY_LOCAL_NAMES = frozenset(("eval", "exec", "locals", "vars", "dir", "objmode"))
_IMPORTERS = ("importlib", "pkgutil", "runpy", "sys.modules", "builtins.__import__")
# Decorators of other packages that register nothing.
_PURE_DECORATORS = re.compile(
    "njit|jit|intrinsic|overload|vectorize|guvectorize|cache|lru_cache|singledispatch|wraps|total_ordering|"
    "dataclass|unique|property|contextmanager|runtime_checkable|final|no_type_check"
)
# Other packages whose calls register nothing.
_PURE_CALLS: tuple[str, ...] = (
    "builtins",
    "numpy",
    "re",
    "pathlib",
    "functools",
    "collections",
    "typing",
    "ctypes",
    "threading",
)
_PURE_CALLS += ("itertools", "operator", "math", "dataclasses", "types", "struct", "enum", "string")
_CHANGES = re.compile("regist|overload|append|add$|update|setdefault|insert|extend|set")
_UNCOUNTED_FIELDS = frozenset(("ctx", "type_comment", "type_params", "kind", "returns", "annotation", "simple"))
_SILENT = (ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal)
_COMPOUND = (ast.If, ast.Try, ast.With, ast.For, ast.While, ast.Match, ast.TryStar)


# Each definition is read once: threads that import kernels at once must not see it half read.
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
    if path.suffix != ".py":
        return _digest(_cuda_text(path))[:16]
    module = _module(path)
    roots = list(dict.fromkeys(module.definitions.values()))
    names = ",".join((module.name, *module.definitions))
    return _digest(names + _covered(roots, exact=True))[:16]


@cache
def algorithm_fingerprint(path: Path, roots: tuple[str, ...], options: tuple[tuple[str, Any], ...]) -> str:
    """Return 16 hex digits over the definitions of a file that `roots` name and all that they reach.

    Parameters
    ----------
    path : Path
    roots : tuple of str
        Those that the file does not have are passed over.
    options : tuple of (str, object)
        Names and defaults of the options, which come to the functions as keywords.
    """
    with _one_reads:
        module = _module(Path(path).resolve())
        present = {name: found for name in roots if (found := module.member(name)) is not None}
        covered = _covered([found.node for found in present.values()], keywords={name for name, _ in options})
        parts = [(name, node.part(part) + rest) for name, (node, part, rest) in present.items()]
        return _digest(f"{options} {parts} {covered}")[:16]


def forget() -> None:
    """Read every file again from now on."""
    for remembered in (
        _file_fingerprint,
        algorithm_fingerprint,
        _module,
        _module_file,
        _cuda_text,
        _cuda_files,
    ):
        remembered.cache_clear()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


# --- reaching definitions


class _Node:
    """A part of a fingerprint: its content, and the nodes that it refers to."""

    text = ""
    references: Sequence[_Reference] = ()
    keywords: Iterable[str] = ()
    parameters: Sequence[str] = ()
    prose: Sequence[str] = ()
    place = ""
    modules: Iterable[_Module] = ()

    def read(self) -> None:
        """Fill the fields from the sources, once."""

    def part(self, name: str) -> str:
        """Return the text that stands for a name bound by this node."""
        return name


class _Reference(NamedTuple):
    """A name of a node, and the attributes taken of it."""

    node: _Node
    name: str
    attributes: str = ""


class _Use(NamedTuple):
    """A name to be looked up from a scope, and the attributes taken of it."""

    scope: _Scope | None
    name: str
    attributes: str = ""


class _Import(NamedTuple):
    """An import that binds a name in a scope."""

    scope: _Scope | None
    name: str
    target: str


def _covered(roots: Sequence[_Node], *, exact: bool = False, keywords: Iterable[str] = ()) -> str:
    """Return the text of all definitions that `roots` reach: equal texts for equal code."""
    spelt = set(keywords)
    reached, modules = _reach(roots, spelt)
    # Each effect stands alone: the order in which modules are imported is a matter of style.
    effects: dict[_Module, list[_Node]] = {}
    pending = list(modules)
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


def _reach(roots: Sequence[_Node], spelt: set[str]) -> tuple[list[_Node], dict[_Module, None]]:
    """Return all nodes that `roots` reach, and their modules; add the keywords that they spell to `spelt`."""
    reached: dict[_Node, None] = dict.fromkeys(roots)
    order = list(reached)
    modules: dict[_Module, None] = {}
    for node in order:
        node.read()
        spelt.update(node.keywords)
        modules.update(dict.fromkeys(node.modules))
        for other, _, _ in node.references:
            if other not in reached:
                reached[other] = None
                order.append(other)
    return order, modules


def _lines(nodes: list[_Node], spelt: set[str], exact: bool, roots: set[_Node]) -> str:
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


class _Whole(_Node):
    """All definitions of some modules with their names, for look-ups by name while the program runs."""

    def __init__(self, modules: Sequence[_Module]):
        self.modules = modules

    def read(self) -> None:
        if not self.references:
            texts = []
            references: list[_Reference] = []
            for module in self.modules:
                for name in sorted(module.definitions):
                    texts.append(name)
                    references.append(_Reference(module.definitions[name], name))
                for name, target in sorted(module.imports.items()):
                    found = resolved(target)
                    texts += [name, found if isinstance(found, str) else "@"]
                    references += [] if isinstance(found, str) else [found]
            self.references, self.text = references, _digest(" ".join(texts))


class _Cuda(_Node):
    """CUDA sources."""

    def __init__(self, paths: Sequence[Path]):
        self.paths = paths

    def read(self) -> None:
        self.text = self.text or _digest("\n".join(sorted(map(_cuda_text, self.paths))))


# --- modules


class _Module:
    """A Python file: its definitions by name, the targets of its imports, and its statements with side effects."""

    def __init__(self, path: Path):
        self.path = path
        self.definitions: dict[str, _Definition] = {}
        self.imports: dict[str, str] = {}
        self.stars: list[str] = []
        self.effects: list[_Definition] = []
        self.whole = _Whole([self])
        self._imported: list[_Module] | None = None
        self._targets: list[str] = []
        self._workers: _Definition | None = None
        inside = path.is_relative_to(PACKAGE)
        parts = ("mst", *path.relative_to(PACKAGE).with_suffix("").parts) if inside else (path.stem,)
        self.name, self._package = ".".join(parts), parts[:-1]
        self._split(ast.parse(path.read_text("utf-8"), str(path)).body)

    def _split(self, body: list[ast.stmt]) -> None:
        """Fill the definitions, imports and effects from the statements of the file."""
        bound: list[tuple[ast.stmt, list[str]]] = []
        brought: dict[str, set[str]] = {}
        importing: list[tuple[int, str]] = []
        for statement in _counted(body):
            for inner in ast.walk(statement) if isinstance(statement, _COMPOUND) else (statement,):
                if isinstance(inner, (ast.Import, ast.ImportFrom)):
                    imported: dict[str, str] = {}
                    self._targets += self._note_imports(inner, imported)
                    for name, target in imported.items():
                        brought.setdefault(name, set()).add(target)
                        importing.append((len(bound), name))
            bound.append((statement, _bound_names(statement)))
        known = {name for _, names in bound for name in names}
        self.imports = {k: v.pop() for k, v in brought.items() if k not in known and len(v) == 1}
        # Names that several statements bind, one of them by an import.
        for i, name in importing:
            if name not in self.imports and name not in bound[i][1]:
                bound[i][1].append(name)
        for statement, names in bound:
            names += [name for name in _changed_names(statement) if name in known and name not in names]
        effects = [(s, names) for s, names in bound if not isinstance(s, (ast.Import, ast.ImportFrom))]
        bound = [(statement, names) for statement, names in bound if names]
        # Statements that bind a name in common are one definition, in their order.
        owner: dict[str, int] = {}
        groups: dict[int, list[int]] = {}
        for i, (_, names) in enumerate(bound):
            merged = sorted({owner[name] for name in names if name in owner})
            groups[i] = [j for old in merged for j in groups.pop(old)] + [i]
            for j in groups[i]:
                owner |= dict.fromkeys(bound[j][1], i)
        for members in groups.values():
            definition = _Definition(self, [bound[j][0] for j in sorted(members)])
            for j in members:
                self.definitions |= dict.fromkeys(bound[j][1], definition)
        kept = [statement for statement, names in effects if self._has_effect(statement, names)]
        if kept:
            self.effects = [_Definition(self, kept)]

    def _note_imports(self, node: ast.Import | ast.ImportFrom, into: dict[str, str]) -> list[str]:
        """Write the target of each imported name to `into`; return the dotted names of modules that may be meant."""
        if isinstance(node, ast.Import):
            for name in node.names:
                into[name.asname or name.name.split(".")[0]] = (
                    name.name if name.asname else name.name.split(".")[0]
                )
            targets = [name.name for name in node.names]
        else:
            above = self._package[: len(self._package) - node.level + 1] if node.level else ()
            base = ".".join([*above, *([node.module] if node.module else [])])
            if base == "__future__":
                return []
            for name in node.names:
                if name.name == "*":
                    self.stars.append(base)
                else:
                    into[name.asname or name.name] = f"{base}.{name.name}"
            targets = [base, *(f"{base}.{name.name}" for name in node.names)]
        return targets

    def imported(self) -> list[_Module]:
        """Modules of this package, other than its root, that are imported with this one."""
        if self._imported is None:
            self._imported = modules_of(self._targets)
        return self._imported

    def _has_effect(self, statement: ast.stmt, names: list[str]) -> bool:
        """Return whether a statement may do more than bind its names."""
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            registers = any(self._registers(decorator) for decorator in statement.decorator_list)
            return registers or (isinstance(statement, ast.ClassDef) and self._runs_code_of_a_base(statement))
        if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            if isinstance(statement, ast.AnnAssign) and statement.value is None:
                return False
            calls = [n for n in ast.walk(statement) if isinstance(n, ast.Call)]
            return not names or not all(map(self._is_pure_call, calls))
        if isinstance(statement, _COMPOUND):
            return any(
                self._has_effect(inner, ["?"])
                for inner in ast.walk(statement)
                if isinstance(inner, ast.stmt)
                and not isinstance(inner, (*_COMPOUND, ast.Import, ast.ImportFrom, ast.Pass, ast.Raise))
            )
        return True

    def _outside(self, node: ast.expr) -> str | None:
        """Return the qualified name of an object of another package, ``?`` for a computed one; None in this package."""
        attributes: list[str] = []
        while isinstance(node, ast.Attribute):
            attributes.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return "?"
        if node.id in self.definitions or (found := self.imports.get(node.id, "")).split(".")[0] == "mst":
            return None
        if not found:
            found = f"builtins.{node.id}" if hasattr(builtins, node.id) else "builtins.local"
        return ".".join([found, *reversed(attributes)])

    def _is_pure_call(self, call: ast.Call) -> bool:
        """Return whether a call surely changes nothing beyond its result."""
        if isinstance(call.func, ast.Attribute) and _CHANGES.search(call.func.attr):
            return False
        name = self._outside(call.func)
        if name is None:
            # A function of this package may keep the functions that are passed to it.
            return not any(
                self._is_function(n) for given in (call.args, call.keywords) for a in given for n in ast.walk(a)
            )
        # A method of the result of another call, which is checked, too.
        return name == "?" or name.split(".")[0] in _PURE_CALLS

    def _is_function(self, node: ast.AST) -> bool:
        """Return whether an expression may be a function of this package."""
        if isinstance(node, ast.Lambda):
            return True
        if not isinstance(node, ast.Name):
            return False
        known = self.definitions.get(node.id)
        inside = self.imports.get(node.id, "").split(".")[0] == "mst"
        return inside or (known is not None and any(hasattr(s, "decorator_list") for s in known.statements))

    def _registers(self, decorator: ast.expr) -> bool:
        """Return whether a decorator may keep a reference to the function that it decorates."""
        function = decorator.func if isinstance(decorator, ast.Call) else decorator
        spelt = ast.unparse(function)
        name = self._outside(function) or self.imports.get(spelt, spelt)
        last = name.split(".")[-1]
        if last == "overload" and isinstance(decorator, ast.Call):
            return self._overloaded(decorator) is None
        return not _PURE_DECORATORS.fullmatch(last)

    def _runs_code_of_a_base(self, statement: ast.ClassDef) -> bool:
        """Return whether a base class of this package runs code for a new subclass (``__init_subclass__``)."""
        if statement.keywords:
            return True
        bases = [ast.unparse(base).split(".") for base in statement.bases if self._outside(base) is None]
        for first, *rest in bases:
            found = self.member(first) if not rest else None
            if found is None or not isinstance(found.node, _Definition):
                return True
            for own in found.node.statements:
                if any(
                    getattr(inner, "name", None) == "__init_subclass__" for inner in getattr(own, "body", ())
                ):
                    return True
                if isinstance(own, ast.ClassDef) and found.node.module._runs_code_of_a_base(own):
                    return True
        return False

    def _overloaded(self, decorator: ast.expr) -> str | None:
        """Return the function of this module that a decorator overloads for compiled code."""
        if not isinstance(decorator, ast.Call) or not decorator.args:
            return None
        name, target = self._outside(decorator.func), decorator.args[0]
        if name is None or name.split(".")[-1] != "overload" or not isinstance(target, ast.Name):
            return None
        return target.id if target.id in self.definitions else None

    def overloads_of(self, names: Iterable[str]) -> list[_Definition]:
        """Definitions that overload one of these for compiled code, in their order."""
        if self._overloads is None:
            self._overloads = {}
            for definition in dict.fromkeys(self.definitions.values()):
                for statement in definition.statements:
                    for decorator in getattr(statement, "decorator_list", ()):
                        if name := self._overloaded(decorator):
                            self._overloads.setdefault(name, []).append(definition)
        return [definition for name in names for definition in self._overloads.get(name, ())]

    _overloads: dict[str, list[_Definition]] | None = None

    def member(self, name: str) -> _Reference | None:
        """Return the definition of this package that a name of this module stands for, or None."""
        if name in self.definitions:
            return _Reference(self.definitions[name], name)
        if name in self.imports:
            imported = resolved(self.imports[name])
            return None if isinstance(imported, str) else imported
        for base in self.stars:
            if (file := _module_file(base)) and (found := _module(file).member(name)):
                return found
        return None

    def workers(self) -> _Definition | None:
        """The methods of the class `Graph` that count where they are used."""
        if self._workers is None and "Graph" in self.definitions:
            graph = self.definitions["Graph"].statements[0]
            methods = [s for s in getattr(graph, "body", ()) if getattr(s, "name", None) in _WORKERS_OF_CALLS]
            self._workers = _Definition(self, methods)
        return self._workers


@cache
def _module(path: Path) -> _Module:
    return _Module(path)


@cache
def _module_file(module: str) -> Path | None:
    """Return the file of a module of this package by its dotted name, or None."""
    first, *parts = module.split(".")
    if first != "mst":
        return None
    base = PACKAGE.joinpath(*parts)
    candidates = (base.with_suffix(".py"), base / "__init__.py") if parts else (base / "__init__.py",)
    return next((file for file in candidates if file.is_file()), None)


def _is_uncounted(file: Path) -> bool:
    """Return whether a file is one of those that no fingerprint covers."""
    return file.name in _UNCOUNTED and file.parent.name == Path(__file__).parent.name


def modules_of(names: Iterable[str]) -> list[_Module]:
    """Return the modules of this package among dotted names; its root does nothing but name them."""
    files = (_module_file(name) for name in names if name != "mst")
    return [_module(file) for file in files if file is not None and not _is_uncounted(file)]


def resolved(dotted: str) -> str | _Reference:
    """Return the definition of this package that a dotted name stands for, or the name itself if it is outside."""
    path = dotted.split(".")
    if path[0] != "mst":
        return dotted
    for size in range(len(path), 0, -1):
        file = _module_file(".".join(path[:size]))
        if file is None:
            continue
        if _is_uncounted(file):
            return "uncounted"
        module, rest = _module(file), path[size:]
        if rest and rest[0] in module.imports and rest[0] not in module.definitions:
            return resolved(".".join([module.imports[rest[0]], *rest[1:]]))
        found = module.member(rest[0]) if rest else None
        if found is None:
            return _Reference(module.whole, ".".join(rest))
        return found._replace(attributes="".join([found.attributes, *(f".{name}" for name in rest[1:])]))
    return dotted


# --- definitions


class _Scope:
    """Names of a function, class or comprehension."""

    def __init__(self, parent: _Scope | None, kind: str):
        self.parent, self.kind = parent, kind
        self.bound: set[str] = set()
        self.elsewhere: set[str] = set()
        self.imports: dict[str, str] = {}


class _Definition(_Node):
    """Statements of a module that bind names together."""

    def __init__(self, module: _Module, statements: list[ast.stmt]):
        self.module, self.statements, self.place = module, statements, module.name
        self.parts: dict[str, int] = {}
        self._read = False

    def read(self) -> None:
        if self._read:
            return
        self._read = True
        written = _Writer(self.module)
        for statement in self.statements:
            written.write(statement, None)
        self.keywords, self.parameters, self.prose = written.keywords, written.parameters, written.prose
        self.modules = [self.module, *modules_of(written.imported)]
        self._resolve_names(written)

    def part(self, name: str) -> str:
        """Return the place of a name among those that are bound here."""
        return str(self.parts.get(name, name))

    def _resolve_names(self, written: _Writer) -> None:
        """Fill text and references: names become numbers, qualified names or references to their definitions."""
        own = {name for name, definition in self.module.definitions.items() if definition is self}
        text: list[str] = []
        references: list[_Reference] = []
        local: dict[tuple[int, str], int] = {}
        literal = bool(written.names & _BY_LOCAL_NAMES) or "locals" in written.keywords

        def refer(found: str | _Reference) -> None:
            if isinstance(found, str):
                text.append(found)
                if found.startswith(_IMPORTERS):
                    by_name()
            else:
                text.append("@")
                references.append(found)

        def by_name() -> None:
            references.extend(_Reference(node, "") for node in _imported_by_name(self.statements))

        for token in written.tokens:
            if isinstance(token, str):
                text.append(token)
                continue
            if isinstance(token, _Node):
                refer(_Reference(token, ""))
                continue
            scope, name, attributes = token
            kind, found = _looked_up(scope, name)
            if isinstance(token, _Import):
                if kind == "import" or (kind == "module" and name not in own):
                    continue
                # Other statements bind this name, too.
                text.append("import")
                refer(resolved(token.target))
                attributes = ""
            if kind == "local":
                number = local.setdefault((id(found), name), len(local))
                text.append(f"%{name if literal else number}{attributes}")
            elif kind == "class":
                text.append(f".{name}{attributes}")
            elif kind == "import":
                refer(resolved(found + attributes))
            elif name in own:
                text.append(f"self{self.parts.setdefault(name, len(self.parts))}{attributes}")
            elif name in self.module.definitions:
                refer(_Reference(self.module.definitions[name], name, attributes))
            elif name in self.module.imports:
                refer(resolved(self.module.imports[name] + attributes))
            elif member := self.module.member(name):
                refer(member._replace(attributes=member.attributes + attributes))
            else:
                outside = [base for base in self.module.stars if _module_file(base) is None]
                text.append(f"builtins.{name}{attributes}{outside or ''}")
                if name in _DYNAMIC:
                    refer(_Reference(self.module.whole, ""))
                if name == "__import__":
                    by_name()
        for name in own:
            self.parts.setdefault(name, len(self.parts))
        overloads = self.module.overloads_of(self.parts)
        references += [_Reference(overload, "overload") for overload in overloads if overload is not self]
        self.text = _digest("\0".join(text))
        self.references = references


def _looked_up(scope: _Scope | None, name: str) -> tuple[str, Any]:
    """Return how a name is bound in a scope: a local, a name of a class, an import or a name of the module."""
    inner = scope
    while scope is not None:
        if name in scope.elsewhere:
            return ("module", None) if f"global {name}" in scope.elsewhere else _looked_up(scope.parent, name)
        if scope.kind != "class" or scope is inner:
            if name in scope.bound:
                return ("class" if scope.kind == "class" else "local"), scope
            if name in scope.imports:
                return "import", scope.imports[name]
        scope = scope.parent
    return "module", None


def _imported_by_name(statements: Iterable[ast.stmt]) -> list[_Node]:
    """Return the modules that are imported by names spelt out, or the whole package where a name is computed."""
    calls = [n for s in statements for n in ast.walk(s) if isinstance(n, ast.Call) and n.args]
    names = [c.args[0] for c in calls if ast.unparse(c.func).split(".")[-1] in ("import_module", "__import__")]
    spelt = [str(name.value) for name in names if isinstance(name, ast.Constant)]
    if spelt and len(spelt) == len(names):
        return [module.whole for module in modules_of(spelt)]
    return [_Whole([_module(file) for file in sorted(PACKAGE.rglob("*.py")) if not _is_uncounted(file)])]


class _Writer:
    """Writes syntax trees as tokens: texts, nodes, and names to be looked up with the attributes taken of them.

    `write` calls the method of a node's kind from `_SPECIAL`, or writes the kind and all fields.
    """

    def __init__(self, module: _Module):
        self.module = module
        self.tokens: list[Any] = []
        self.keywords: set[str] = set()
        self.parameters: list[str] = []
        self.prose: list[str] = []
        self.imported: list[str] = []
        self.names: set[str] = set()

    def write(self, node: Any, scope: _Scope | None) -> None:
        kind = type(node)
        special = _SPECIAL.get(kind)
        if special is not None:
            special(self, node, scope)
            return
        known = _FIELDS.get(kind)
        if known is None:
            _FIELDS[kind] = known = tuple(f for f in kind._fields if f not in _UNCOUNTED_FIELDS)
        self.tokens.append(kind.__name__)
        for field in known:
            value = getattr(node, field, None)
            if value is None:
                self.tokens.append("-")
            elif isinstance(value, ast.AST):
                self.write(value, scope)
            elif isinstance(value, list):
                if field in ("body", "orelse", "finalbody"):
                    self._body(value, scope)
                else:
                    self._several(value, scope)
            else:
                self.tokens.append(repr(value))

    def _several(self, nodes: Sequence[Any], scope: _Scope | None) -> None:
        self.tokens.append(f"[{len(nodes)}")
        for node in nodes:
            if isinstance(node, str):
                # Attributes that a class pattern names.
                self.tokens.append(repr(node))
            else:
                self.write(node, scope)

    def _body(self, body: list[ast.stmt], scope: _Scope | None) -> None:
        counted = list(_counted(body))
        self.tokens.append(f"[{sum(not isinstance(statement, _SILENT) for statement in counted)}")
        for statement in counted:
            self.write(statement, scope)

    def _none(self, node: None, scope: _Scope | None) -> None:
        self.tokens.append("-")

    def _name(self, node: ast.Name, scope: _Scope | None) -> None:
        if type(node.ctx) is not ast.Load:
            self._bind(node.id, scope)
            return
        self.names.add(node.id)
        self.tokens.append(_Use(scope, node.id))

    def _bind(self, name: str, scope: _Scope | None) -> None:
        if scope is not None:
            scope.bound.add(name)
        self.tokens.append(_Use(scope, name))

    def _attribute(self, node: ast.Attribute, scope: _Scope | None) -> None:
        attributes = [node.attr]
        value = node.value
        while isinstance(value, ast.Attribute):
            attributes.append(value.attr)
            value = value.value
        self.names.update(attributes)
        if "__subclasses__" in attributes:
            self.tokens += _imported_by_name(())
        taken = "".join([f".{name}" for name in reversed(attributes)])
        if isinstance(value, ast.Name):
            self.names.add(value.id)
            if type(node.ctx) is ast.Load:
                self.tokens.append(_Use(scope, value.id, taken))
            else:
                self.tokens += [_Use(scope, value.id), taken]
        else:
            self.tokens.append("Attribute")
            self.write(value, scope)
            self.tokens.append(taken)
        if not _WORKERS.isdisjoint(attributes) and self.module.path != PACKAGE / "graph.py":
            file = _module_file("mst.graph")
            workers = _module(file).workers() if file else None
            if workers:
                self.tokens.append(workers)

    def _compare(self, node: ast.Compare, scope: _Scope | None) -> None:
        self.tokens.append("Compare")
        self.write(node.left, scope)
        self._several(node.ops, scope)
        self.tokens.append(f"[{len(node.comparators)}")
        for operator, value in zip(node.ops, node.comparators):
            if isinstance(operator, (ast.In, ast.NotIn)) and ast.unparse(value) == "sys.modules":
                # Whether a module is loaded; only a look-up there reaches it.
                self.tokens.append("sys.modules")
            else:
                self.write(value, scope)

    def _constant(self, node: ast.Constant, scope: _Scope | None) -> None:
        value = node.value
        if type(value) is str:
            if value.endswith((".cu", ".cuh")) and (paths := _cuda_paths(value, self.module.path)):
                self.tokens.append(_Cuda(paths))
                return
            if value.isidentifier():
                self.keywords.add(value)
        self.tokens.append(f"{type(value).__name__}:{value!r}")

    def _joined(self, node: ast.JoinedStr, scope: _Scope | None) -> None:
        self.tokens.append("f")
        for value in node.values:
            if isinstance(value, ast.Constant):
                if str(value.value).endswith((".cu", ".cuh")):
                    self.tokens.append(_Cuda(list(_cuda_files().values())))
                self.tokens.append(f"s:{value.value!r}")
            else:
                self.write(value, scope)
        self.tokens.append(")")

    def _raise(self, node: ast.Raise, scope: _Scope | None) -> None:
        self.tokens.append("Raise")
        if isinstance(node.exc, ast.Call):
            self.tokens.append("Call")
            self.write(node.exc.func, scope)
            self.tokens.append(f"[{len(node.exc.args)}")
            for argument in node.exc.args:
                self._text_of_error(argument, scope)
            self._several(node.exc.keywords, scope)
        else:
            self.write(node.exc, scope)
        self.write(node.cause, scope)

    def _text_of_error(self, node: ast.expr, scope: _Scope | None) -> None:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            self.prose.append(node.value)
            self.tokens.append("text")
        elif isinstance(node, ast.JoinedStr):
            at = len(self.tokens)
            self.write(node, scope)
            self.prose += [token for token in self.tokens[at:] if isinstance(token, str) and token[:2] == "s:"]
            self.tokens[at:] = [t for t in self.tokens[at:] if not (isinstance(t, str) and t[:2] == "s:")]
        else:
            self.write(node, scope)

    def _keyword(self, node: ast.keyword, scope: _Scope | None) -> None:
        if node.arg is not None:
            self.keywords.add(node.arg)
        self.tokens.append(f"{node.arg}=")
        self.write(node.value, scope)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: _Scope | None) -> None:
        self.tokens.append(type(node).__name__)
        self._several(node.decorator_list, scope)
        if scope is not None and scope.kind == "class":
            scope.bound.add(node.name)
            self.tokens.append(f".{node.name}")
        else:
            self._bind(node.name, scope)
        own = _Scope(scope, "function")
        self._arguments(node.args, scope, own)
        if any("register" in ast.unparse(decorator) for decorator in node.decorator_list):
            self.tokens += [ast.unparse(a.annotation) for a in node.args.args if a.annotation]
        self._body(node.body, own)

    def _lambda(self, node: ast.Lambda, scope: _Scope | None) -> None:
        self.tokens.append("Lambda")
        own = _Scope(scope, "function")
        self._arguments(node.args, scope, own)
        self.write(node.body, own)

    def _arguments(self, node: ast.arguments, outer: _Scope | None, own: _Scope) -> None:
        self._several(node.defaults, outer)
        self._several(node.kw_defaults, outer)
        extra = [a for a in (node.vararg, node.kwarg) if a]
        self.tokens.append(
            f"{len(node.posonlyargs)} {len(node.args)} {len(node.kwonlyargs)} {bool(node.vararg)} {bool(node.kwarg)}"
        )
        for argument in (*node.posonlyargs, *node.args, *node.kwonlyargs, *extra):
            self.parameters.append(argument.arg)
            self._bind(argument.arg, own)

    def _class(self, node: ast.ClassDef, scope: _Scope | None) -> None:
        self.tokens.append("ClassDef")
        self._several(node.decorator_list, scope)
        self._several(node.bases, scope)
        self._several(node.keywords, scope)
        self._bind(node.name, scope)
        makes_fields = any("dataclass" in ast.unparse(d) for d in node.decorator_list)
        makes_fields = makes_fields or any("NamedTuple" in ast.unparse(base) for base in node.bases)
        own = _Scope(scope, "class")
        body = list(_counted(node.body))
        if scope is None and node.name == "Graph" and self.module.path == PACKAGE / "graph.py":
            body = [s for s in body if getattr(s, "name", None) not in _WORKERS]
        self.tokens.append(f"[{len(body)}")
        for statement in body:
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                # Fields become parameters and attributes.
                self.keywords.add(statement.target.id)
                annotation = ast.unparse(statement.annotation)
                if not makes_fields or re.search("ClassVar|InitVar|KW_ONLY", annotation):
                    self.tokens.append(annotation)
            self.write(statement, own)

    def _annotated(self, node: ast.AnnAssign, scope: _Scope | None) -> None:
        self.tokens.append("Assign" if node.value is not None else "Declare")
        self.tokens.append("[1")
        self.write(node.target, scope)
        self.write(node.value, scope)

    def _walrus(self, node: ast.NamedExpr, scope: _Scope | None) -> None:
        holder = scope
        while holder is not None and holder.kind == "comprehension":
            holder = holder.parent
        self.tokens.append("NamedExpr")
        self._bind(node.target.id, holder)
        self.write(node.value, scope)

    def _comprehension(self, node: Any, scope: _Scope | None) -> None:
        self.tokens.append(type(node).__name__)
        own = _Scope(scope, "comprehension")
        self.tokens.append(f"[{len(node.generators)}")
        for i, generator in enumerate(node.generators):
            self.write(generator.iter, own if i else scope)
            self.write(generator.target, own)
            self._several(generator.ifs, own)
            self.tokens.append(str(generator.is_async))
        for field in ("key", "value", "elt"):
            if hasattr(node, field):
                self.write(getattr(node, field), own)

    def _handler(self, node: ast.ExceptHandler, scope: _Scope | None) -> None:
        self.tokens.append("ExceptHandler")
        self.write(node.type, scope)
        if node.name:
            self._bind(node.name, scope)
        self._body(node.body, scope)

    def _pattern(self, node: Any, scope: _Scope | None) -> None:
        self.tokens.append(type(node).__name__)
        for field in node._fields:
            value = getattr(node, field)
            if field in ("name", "rest"):
                if value is None:
                    self.tokens.append("-")
                else:
                    self._bind(value, scope)
            elif isinstance(value, list):
                self._several(value, scope)
            else:
                self.write(value, scope)

    def _import(self, node: ast.Import | ast.ImportFrom, scope: _Scope | None) -> None:
        imported: dict[str, str] = {}
        self.imported += self.module._note_imports(node, imported)
        if scope is not None:
            # A name that several imports bind is a local one.
            scope.bound.update(k for k, v in imported.items() if scope.imports.get(k, v) != v)
            scope.imports |= imported
        self.tokens += [_Import(scope, name, target) for name, target in imported.items()]

    def _elsewhere(self, node: ast.Global | ast.Nonlocal, scope: _Scope | None) -> None:
        if scope is not None:
            scope.elsewhere.update(node.names)
            if isinstance(node, ast.Global):
                scope.elsewhere.update(f"global {name}" for name in node.names)


_WORKERS = frozenset(_WORKERS_OF_CALLS)
_FIELDS: dict[type, tuple[str, ...]] = {}
_SPECIAL: dict[type, Callable[[_Writer, Any, _Scope | None], None]] = {
    type(None): _Writer._none,
    ast.Name: _Writer._name,
    ast.Attribute: _Writer._attribute,
    ast.Compare: _Writer._compare,
    ast.Constant: _Writer._constant,
    ast.JoinedStr: _Writer._joined,
    ast.Raise: _Writer._raise,
    ast.keyword: _Writer._keyword,
    ast.FunctionDef: _Writer._function,
    ast.AsyncFunctionDef: _Writer._function,
    ast.Lambda: _Writer._lambda,
    ast.ClassDef: _Writer._class,
    ast.AnnAssign: _Writer._annotated,
    ast.NamedExpr: _Writer._walrus,
    ast.ListComp: _Writer._comprehension,
    ast.SetComp: _Writer._comprehension,
    ast.DictComp: _Writer._comprehension,
    ast.GeneratorExp: _Writer._comprehension,
    ast.ExceptHandler: _Writer._handler,
    ast.MatchAs: _Writer._pattern,
    ast.MatchStar: _Writer._pattern,
    ast.MatchMapping: _Writer._pattern,
    ast.Import: _Writer._import,
    ast.ImportFrom: _Writer._import,
    ast.Global: _Writer._elsewhere,
    ast.Nonlocal: _Writer._elsewhere,
}


def _counted(body: Iterable[ast.stmt]) -> Iterable[ast.stmt]:
    """Return the statements that count: no docstrings, no `pass`, no blocks for type checkers or command lines."""
    for statement in body:
        if isinstance(statement, ast.Pass):
            continue
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            continue
        if isinstance(statement, ast.If) and ast.unparse(statement.test).split(".")[-1] == "TYPE_CHECKING":
            yield from _counted(statement.orelse)
            continue
        if isinstance(statement, ast.If) and ast.unparse(statement.test).startswith("__name__ == "):
            continue
        yield statement


def _bound_names(statement: ast.stmt) -> list[str]:
    """Return the names that a statement at the top of a module binds or changes; imports alone bind none."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [statement.name]
    if isinstance(statement, ast.AnnAssign) and statement.value is None:
        return []
    found: dict[str, None] = {}
    if isinstance(statement, _COMPOUND):
        for inner in _top_statements(statement):
            found |= dict.fromkeys(_bound_names(inner))
        targets: list[ast.expr] = []
        if isinstance(statement, ast.For):
            targets = [statement.target]
        if isinstance(statement, ast.With):
            targets = [item.optional_vars for item in statement.items if item.optional_vars]
    elif isinstance(statement, (ast.Assign, ast.Delete)):
        targets = statement.targets
    elif isinstance(statement, (ast.AnnAssign, ast.AugAssign)):
        targets = [statement.target]
    else:
        targets = []
    for target in targets:
        for node in ast.walk(target):
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                found[node.id] = None
    if not isinstance(statement, _COMPOUND):
        found |= {n.target.id: None for n in ast.walk(statement) if isinstance(n, ast.NamedExpr)}
    return list(found)


def _changed_names(statement: ast.stmt) -> list[str]:
    """Return the names whose values a statement at the top of a module changes by an item or an attribute."""
    if isinstance(statement, (ast.Assign, ast.Delete)):
        targets = statement.targets
    elif isinstance(statement, (ast.AnnAssign, ast.AugAssign)):
        targets = [statement.target]
    else:
        return []
    found = []
    for target in targets:
        base = target
        while isinstance(base, (ast.Attribute, ast.Subscript)):
            base = base.value
        if isinstance(base, ast.Name) and base is not target:
            found.append(base.id)
    return found


def _top_statements(statement: ast.stmt) -> Iterable[ast.stmt]:
    """Return the statements directly within a compound one."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        for inner in getattr(statement, field, ()):
            if isinstance(inner, ast.stmt):
                yield inner
            else:
                yield from inner.body


# --- CUDA


@cache
def _cuda_files() -> dict[str, Path]:
    """Return all CUDA files of the package by their path in it."""
    return {str(file.relative_to(PACKAGE)): file for file in sorted(PACKAGE.rglob("*.cu*")) if file.is_file()}


def _cuda_paths(name: str, user: Path) -> list[Path]:
    """Return the files that a name may mean: the one in the folder of `user`, else all of the package with this end."""
    beside = user.parent / name
    if beside.is_file():
        return [beside.resolve()]
    return [file for place, file in _cuda_files().items() if f"/{place}".endswith(f"/{name}")]


@cache
def _cuda_text(path: Path) -> str:
    """Return the text of a CUDA source for fingerprints, read once."""
    return cuda_sources.text_of(path, _cuda_paths)
