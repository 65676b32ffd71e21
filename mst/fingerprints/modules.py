"""Modules and their definitions: their content, and its references to other modules of the package."""

from __future__ import annotations

import ast
import builtins
import hashlib
import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from mst.fingerprints import cuda
from mst.fingerprints.syntax import COMPOUND, bound_names, changed_names, counted, imports_of
from mst.fingerprints.writing import WORKERS, Import, Reach, Use, Writer, looked_up

PACKAGE = Path(__file__).resolve().parents[1]
# How code is fingerprinted and where machine code is kept changes no result, though `njit` reaches both.
_UNCOUNTED = ("fingerprints/", "primitives/code_cache.py", "mst/cache.py")
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
_PURE_CALLS = re.compile(
    "builtins|numpy|re|pathlib|functools|collections|typing|ctypes|threading|itertools|operator|math|dataclasses|"
    "types|struct|enum|string"
)
_CHANGES = re.compile("regist|overload|append|add$|update|setdefault|insert|extend|set")


class Node:
    """A part of a fingerprint: its content, and the nodes that it refers to."""

    text = ""
    references: Sequence[Reference] = ()
    keywords: Iterable[str] = ()
    parameters: Sequence[str] = ()
    prose: Sequence[str] = ()
    place = ""
    modules: Iterable[Module] = ()

    def read(self) -> None:
        """Fill the fields from the sources, once."""

    def part(self, name: str) -> str:
        """Return the text that stands for a name bound by this node."""
        return name


class Reference(NamedTuple):
    """A name of a node, and the attributes taken of it."""

    node: Node
    name: str
    attributes: str = ""


class Whole(Node):
    """All definitions of some modules with their names, for look-ups by name while the program runs."""

    def __init__(self, modules: Sequence[Module]):
        self.modules = modules

    def read(self) -> None:
        if not self.references:
            texts = []
            references: list[Reference] = []
            for module in self.modules:
                for name in sorted(module.definitions):
                    texts.append(name)
                    references.append(Reference(module.definitions[name], name))
                for name, target in sorted(module.imports.items()):
                    found = resolved(target)
                    texts += [name, found if isinstance(found, str) else "@"]
                    references += [] if isinstance(found, str) else [found]
            self.references, self.text = references, digest(" ".join(texts))


class Cuda(Node):
    """CUDA sources."""

    def __init__(self, paths: Sequence[Path]):
        self.paths = paths

    def read(self) -> None:
        self.text = self.text or digest("\n".join(sorted(map(cuda_text, self.paths))))


class Module:
    """A Python file: its definitions by name, the targets of its imports, and its statements with side effects."""

    def __init__(self, path: Path):
        self.path = path
        self.definitions: dict[str, Definition] = {}
        self.imports: dict[str, str] = {}
        self.stars: list[str] = []
        self.effects: list[Definition] = []
        self.whole = Whole([self])
        self._imported: list[Module] | None = None
        self._targets: list[str] = []
        self._workers: Definition | None = None
        self._overloads: dict[str, list[Definition]] | None = None
        inside = path.is_relative_to(PACKAGE)
        parts = ("mst", *path.relative_to(PACKAGE).with_suffix("").parts) if inside else (path.stem,)
        self.name, self.package = ".".join(parts), parts[:-1]
        self._split(ast.parse(path.read_text("utf-8"), str(path)).body)

    def _split(self, body: list[ast.stmt]) -> None:
        """Fill the definitions, imports and effects from the statements of the file."""
        bound: list[tuple[ast.stmt, list[str]]] = []
        brought: dict[str, set[str]] = {}
        importing: list[tuple[int, str]] = []
        for statement in counted(body):
            for inner in ast.walk(statement) if isinstance(statement, COMPOUND) else (statement,):
                if isinstance(inner, (ast.Import, ast.ImportFrom)):
                    imported, modules, stars = imports_of(inner, self.package)
                    self._targets += modules
                    self.stars += stars
                    for name, target in imported.items():
                        brought.setdefault(name, set()).add(target)
                        importing.append((len(bound), name))
            bound.append((statement, bound_names(statement)))
        known = {name for _, names in bound for name in names}
        self.imports = {k: v.pop() for k, v in brought.items() if k not in known and len(v) == 1}
        # Names that several statements bind, one of them by an import.
        for i, name in importing:
            if name not in self.imports and name not in bound[i][1]:
                bound[i][1].append(name)
        for statement, names in bound:
            names += [name for name in changed_names(statement) if name in known and name not in names]
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
            definition = Definition(self, [bound[j][0] for j in sorted(members)])
            for j in members:
                self.definitions |= dict.fromkeys(bound[j][1], definition)
        kept = [statement for statement, names in effects if self._has_effect(statement, names)]
        if kept:
            self.effects = [Definition(self, kept)]

    def imported(self) -> list[Module]:
        """Return the modules of this package, other than its root, that this one imports."""
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
        if isinstance(statement, COMPOUND):
            return any(
                self._has_effect(inner, ["?"])
                for inner in ast.walk(statement)
                if isinstance(inner, ast.stmt)
                and not isinstance(inner, (*COMPOUND, ast.Import, ast.ImportFrom, ast.Pass, ast.Raise))
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
        # The method belongs to the result of another call, which is checked, too.
        return name == "?" or bool(_PURE_CALLS.fullmatch(name.split(".")[0]))

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
            if found is None or not isinstance(found.node, Definition):
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

    def overloads_of(self, names: Iterable[str]) -> list[Definition]:
        """Return the definitions that overload one of these names for compiled code, in their order."""
        if self._overloads is None:
            self._overloads = {}
            for definition in dict.fromkeys(self.definitions.values()):
                for statement in definition.statements:
                    for decorator in getattr(statement, "decorator_list", ()):
                        if name := self._overloaded(decorator):
                            self._overloads.setdefault(name, []).append(definition)
        return [definition for name in names for definition in self._overloads.get(name, ())]

    def member(self, name: str) -> Reference | None:
        """Return the definition of this package that a name of this module stands for, or None."""
        if name in self.definitions:
            return Reference(self.definitions[name], name)
        if name in self.imports:
            imported = resolved(self.imports[name])
            return None if isinstance(imported, str) else imported
        for base in self.stars:
            if (file := _module_file(base)) and (found := module_at(file).member(name)):
                return found
        return None

    def workers(self) -> Definition | None:
        """Return the methods of the class `Graph` that count where they are called."""
        if self._workers is None and "Graph" in self.definitions:
            graph = self.definitions["Graph"].statements[0]
            methods = [s for s in getattr(graph, "body", ()) if getattr(s, "name", None) in WORKERS]
            self._workers = Definition(self, methods)
        return self._workers


@cache
def module_at(path: Path) -> Module:
    """Return the module of a file, read once."""
    return Module(path)


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
    return f"{file.parent.name}/{file.name}".startswith(_UNCOUNTED)


def modules_of(names: Iterable[str]) -> list[Module]:
    """Return the modules of this package among dotted names; its root does nothing but name them."""
    files = (_module_file(name) for name in names if name != "mst")
    return [module_at(file) for file in files if file is not None and not _is_uncounted(file)]


def resolved(dotted: str) -> str | Reference:
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
        module, rest = module_at(file), path[size:]
        if rest and rest[0] in module.imports and rest[0] not in module.definitions:
            return resolved(".".join([module.imports[rest[0]], *rest[1:]]))
        found = module.member(rest[0]) if rest else None
        if found is None:
            return Reference(module.whole, ".".join(rest))
        return found._replace(attributes="".join([found.attributes, *(f".{name}" for name in rest[1:])]))
    return dotted


class Definition(Node):
    """Statements of a module that bind names together."""

    def __init__(self, module: Module, statements: list[ast.stmt]):
        self.module, self.statements, self.place = module, statements, module.name
        self.parts: dict[str, int] = {}
        self._read = False

    def read(self) -> None:
        if self._read:
            return
        self._read = True
        written = Writer(self.module.package, self.module.path == PACKAGE / "graph.py")
        for statement in self.statements:
            written.write(statement, None)
        self.keywords, self.parameters, self.prose = written.keywords, written.parameters, written.prose
        self.modules = [self.module, *modules_of(written.imported)]
        self._resolve_names(written)

    def part(self, name: str) -> str:
        """Return the place of a name among those that are bound here."""
        return str(self.parts.get(name, name))

    def _resolve_names(self, written: Writer) -> None:
        """Fill text and references: names become numbers, qualified names or references to their definitions."""
        own = [name for name, definition in self.module.definitions.items() if definition is self]
        names = _Names(self, written, own)
        for token in written.tokens:
            names.add(token)
        for name in own:
            self.parts.setdefault(name, len(self.parts))
        overloads = self.module.overloads_of(self.parts)
        names.references += [Reference(overload, "overload") for overload in overloads if overload is not self]
        self.text, self.references = digest("\0".join(names.text)), names.references


class _Names:
    """The text and the references of a definition, from its tokens; `own` are the names that it binds."""

    def __init__(self, definition: Definition, written: Writer, own: Iterable[str]):
        self.text: list[str] = []
        self.references: list[Reference] = []
        self._definition, self._module, self._own = definition, definition.module, frozenset(own)
        self._local: dict[tuple[int, str], int] = {}
        self._literal = bool(written.names & _BY_LOCAL_NAMES) or "locals" in written.keywords

    def add(self, token: str | Use | Import | Reach) -> None:
        """Add a token."""
        if isinstance(token, str):
            self.text.append(token)
        elif isinstance(token, Reach):
            reached = _reached(token, self._module.path)
            if not reached and token.kind == "cuda":
                self.text.append(f"str:{token.name!r}")
            for node in reached:
                self._refer(Reference(node, ""))
        elif isinstance(token, Import):
            kind, found = looked_up(token.scope, token.name)
            if kind != "import" and (kind != "module" or token.name in self._own):
                # Other statements bind this name, too.
                self.text.append("import")
                self._refer(resolved(token.target))
                self._use(kind, found, token.name, "")
        else:
            self._use(*looked_up(token.scope, token.name), token.name, token.attributes)

    def _use(self, kind: str, found: Any, name: str, attributes: str) -> None:
        """Add a name, bound as `looked_up` says, and the attributes taken of it."""
        module, parts = self._module, self._definition.parts
        if kind == "local":
            number = self._local.setdefault((id(found), name), len(self._local))
            self.text.append(f"%{name if self._literal else number}{attributes}")
        elif kind == "class":
            self.text.append(f".{name}{attributes}")
        elif kind == "import":
            self._refer(resolved(found + attributes))
        elif name in self._own:
            self.text.append(f"self{parts.setdefault(name, len(parts))}{attributes}")
        elif name in module.definitions:
            self._refer(Reference(module.definitions[name], name, attributes))
        elif name in module.imports:
            self._refer(resolved(module.imports[name] + attributes))
        elif member := module.member(name):
            self._refer(member._replace(attributes=member.attributes + attributes))
        else:
            outside = [base for base in module.stars if _module_file(base) is None]
            self.text.append(f"builtins.{name}{attributes}{outside or ''}")
            if name in _DYNAMIC:
                self._refer(Reference(module.whole, ""))
            if name == "__import__":
                self._refer_by_name()

    def _refer(self, found: str | Reference) -> None:
        if isinstance(found, Reference):
            self.text.append("@")
            self.references.append(found)
            return
        self.text.append(found)
        if found.startswith(_IMPORTERS):
            self._refer_by_name()

    def _refer_by_name(self) -> None:
        nodes = _imported_by_name(self._definition.statements)
        self.references += [Reference(node, "") for node in nodes]


def _reached(token: Reach, user: Path) -> list[Node]:
    """Return the nodes that a part of the code in the file `user` may reach without naming them."""
    if token.kind == "package":
        return _imported_by_name(())
    if token.kind == "workers":
        file = _module_file("mst.graph")
        workers = module_at(file).workers() if file and user != PACKAGE / "graph.py" else None
        return [workers] if workers else []
    if not token.name:
        return [Cuda(list(_cuda_files().values()))]
    paths = _cuda_paths(token.name, user)
    return [Cuda(paths)] if paths else []


def forget() -> None:
    """Read every file again from now on."""
    for remembered in (module_at, _module_file, cuda_text, _cuda_files):
        remembered.cache_clear()


def digest(text: str) -> str:
    """Return the SHA-256 of a text, in hex digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def _imported_by_name(statements: Iterable[ast.stmt]) -> list[Node]:
    """Return the modules that are imported by names spelt out, or the whole package if a name is computed."""
    calls = [n for s in statements for n in ast.walk(s) if isinstance(n, ast.Call) and n.args]
    names = [c.args[0] for c in calls if ast.unparse(c.func).split(".")[-1] in ("import_module", "__import__")]
    spelt = [str(name.value) for name in names if isinstance(name, ast.Constant)]
    if spelt and len(spelt) == len(names):
        return [module.whole for module in modules_of(spelt)]
    return [Whole([module_at(file) for file in sorted(PACKAGE.rglob("*.py")) if not _is_uncounted(file)])]


@cache
def _cuda_files() -> dict[str, Path]:
    """Return all CUDA files of the package by their path in it."""
    return {str(file.relative_to(PACKAGE)): file for file in sorted(PACKAGE.rglob("*.cu*")) if file.is_file()}


def _cuda_paths(name: str, user: Path) -> list[Path]:
    """Return the files that a name may mean: the one beside `user`, else all whose path ends with the name."""
    neighbour = user.parent / name
    if neighbour.is_file():
        return [neighbour.resolve()]
    return [file for place, file in _cuda_files().items() if f"/{place}".endswith(f"/{name}")]


@cache
def cuda_text(path: Path) -> str:
    """Return the text of a CUDA source for fingerprints, read once."""
    return cuda.text_of(path, _cuda_paths)
