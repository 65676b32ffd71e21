"""Syntax trees as tokens: a text for each part that counts, and the names in it, each with its scope."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from mst.fingerprints.syntax import SILENT, counted, imports_of

WORKERS = frozenset(("csr", "_csr"))
"""Methods of `Graph` that do work for their callers: they count where they are called, not wherever graphs are used."""

_UNCOUNTED_FIELDS = frozenset(("ctx", "type_comment", "type_params", "kind", "returns", "annotation", "simple"))


class Use(NamedTuple):
    """A name to be looked up from a scope, and the attributes taken of it."""

    scope: Scope | None
    name: str
    attributes: str = ""


class Import(NamedTuple):
    """An import that binds a name in a scope."""

    scope: Scope | None
    name: str
    target: str


class Reach(NamedTuple):
    """Code that an expression may reach without naming it.

    Its `kind` is ``cuda``, files of this name or all of them; ``workers``, the methods of `Graph` in `WORKERS`; or
    ``package``, any of its modules.
    """

    kind: str
    name: str = ""


class Scope:
    """Names of a function, class or comprehension."""

    def __init__(self, parent: Scope | None, kind: str):
        self.parent, self.kind = parent, kind
        self.bound: set[str] = set()
        self.elsewhere: set[str] = set()
        self.imports: dict[str, str] = {}


def looked_up(scope: Scope | None, name: str) -> tuple[str, Any]:
    """Return how a name is bound in a scope: a local, a name of a class, an import or a name of the module."""
    inner = scope
    while scope is not None:
        if name in scope.elsewhere:
            return ("module", None) if f"global {name}" in scope.elsewhere else looked_up(scope.parent, name)
        if scope.kind != "class" or scope is inner:
            if name in scope.bound:
                return ("class" if scope.kind == "class" else "local"), scope
            if name in scope.imports:
                return "import", scope.imports[name]
        scope = scope.parent
    return "module", None


class Writer:
    """Writes syntax trees as tokens: texts, and names to be looked up with the attributes taken of them.

    `write` calls the method of a node's kind from `_SPECIAL`, or writes the kind and all fields.

    Parameters
    ----------
    package : tuple of str
        The parts of the dotted name of the package that holds the module.
    of_graph : bool
        Whether this is the module of `Graph`.
    """

    def __init__(self, package: tuple[str, ...], of_graph: bool):
        self.package, self.of_graph = package, of_graph
        self.tokens: list[str | Use | Import | Reach] = []
        self.keywords: set[str] = set()
        self.parameters: list[str] = []
        self.prose: list[str] = []
        self.imported: list[str] = []
        self.names: set[str] = set()

    def write(self, node: Any, scope: Scope | None) -> None:
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

    def _several(self, nodes: Sequence[Any], scope: Scope | None) -> None:
        self.tokens.append(f"[{len(nodes)}")
        for node in nodes:
            if isinstance(node, str):
                # The names of attributes in a class pattern.
                self.tokens.append(repr(node))
            else:
                self.write(node, scope)

    def _body(self, body: list[ast.stmt], scope: Scope | None) -> None:
        statements = list(counted(body))
        self.tokens.append(f"[{sum(not isinstance(statement, SILENT) for statement in statements)}")
        for statement in statements:
            self.write(statement, scope)

    def _none(self, node: None, scope: Scope | None) -> None:
        self.tokens.append("-")

    def _name(self, node: ast.Name, scope: Scope | None) -> None:
        if type(node.ctx) is not ast.Load:
            self._bind(node.id, scope)
            return
        self.names.add(node.id)
        self.tokens.append(Use(scope, node.id))

    def _bind(self, name: str, scope: Scope | None) -> None:
        if scope is not None:
            scope.bound.add(name)
        self.tokens.append(Use(scope, name))

    def _attribute(self, node: ast.Attribute, scope: Scope | None) -> None:
        attributes = [node.attr]
        value = node.value
        while isinstance(value, ast.Attribute):
            attributes.append(value.attr)
            value = value.value
        self.names.update(attributes)
        if "__subclasses__" in attributes:
            self.tokens.append(Reach("package"))
        taken = "".join([f".{name}" for name in reversed(attributes)])
        if isinstance(value, ast.Name):
            self.names.add(value.id)
            if type(node.ctx) is ast.Load:
                self.tokens.append(Use(scope, value.id, taken))
            else:
                self.tokens += [Use(scope, value.id), taken]
        else:
            self.tokens.append("Attribute")
            self.write(value, scope)
            self.tokens.append(taken)
        if not WORKERS.isdisjoint(attributes):
            self.tokens.append(Reach("workers"))

    def _compare(self, node: ast.Compare, scope: Scope | None) -> None:
        self.tokens.append("Compare")
        self.write(node.left, scope)
        self._several(node.ops, scope)
        self.tokens.append(f"[{len(node.comparators)}")
        for operator, value in zip(node.ops, node.comparators):
            if isinstance(operator, (ast.In, ast.NotIn)) and ast.unparse(value) == "sys.modules":
                # A test whether a module is loaded; only a look-up in `sys.modules` would reach the module.
                self.tokens.append("sys.modules")
            else:
                self.write(value, scope)

    def _constant(self, node: ast.Constant, scope: Scope | None) -> None:
        value = node.value
        if type(value) is str:
            if value.endswith((".cu", ".cuh")):
                self.tokens.append(Reach("cuda", value))
                return
            if value.isidentifier():
                self.keywords.add(value)
        self.tokens.append(f"{type(value).__name__}:{value!r}")

    def _joined(self, node: ast.JoinedStr, scope: Scope | None) -> None:
        self.tokens.append("f")
        for value in node.values:
            if isinstance(value, ast.Constant):
                if str(value.value).endswith((".cu", ".cuh")):
                    self.tokens.append(Reach("cuda"))
                self.tokens.append(f"s:{value.value!r}")
            else:
                self.write(value, scope)
        self.tokens.append(")")

    def _raise(self, node: ast.Raise, scope: Scope | None) -> None:
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

    def _text_of_error(self, node: ast.expr, scope: Scope | None) -> None:
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

    def _keyword(self, node: ast.keyword, scope: Scope | None) -> None:
        if node.arg is not None:
            self.keywords.add(node.arg)
        self.tokens.append(f"{node.arg}=")
        self.write(node.value, scope)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope | None) -> None:
        self.tokens.append(type(node).__name__)
        self._several(node.decorator_list, scope)
        if scope is not None and scope.kind == "class":
            scope.bound.add(node.name)
            self.tokens.append(f".{node.name}")
        else:
            self._bind(node.name, scope)
        own = Scope(scope, "function")
        self._arguments(node.args, scope, own)
        if any("register" in ast.unparse(decorator) for decorator in node.decorator_list):
            self.tokens += [ast.unparse(a.annotation) for a in node.args.args if a.annotation]
        self._body(node.body, own)

    def _lambda(self, node: ast.Lambda, scope: Scope | None) -> None:
        self.tokens.append("Lambda")
        own = Scope(scope, "function")
        self._arguments(node.args, scope, own)
        self.write(node.body, own)

    def _arguments(self, node: ast.arguments, outer: Scope | None, own: Scope) -> None:
        self._several(node.defaults, outer)
        self._several(node.kw_defaults, outer)
        extra = [a for a in (node.vararg, node.kwarg) if a]
        self.tokens.append(
            f"{len(node.posonlyargs)} {len(node.args)} {len(node.kwonlyargs)} {bool(node.vararg)} {bool(node.kwarg)}"
        )
        for argument in (*node.posonlyargs, *node.args, *node.kwonlyargs, *extra):
            self.parameters.append(argument.arg)
            self._bind(argument.arg, own)

    def _class(self, node: ast.ClassDef, scope: Scope | None) -> None:
        self.tokens.append("ClassDef")
        self._several(node.decorator_list, scope)
        self._several(node.bases, scope)
        self._several(node.keywords, scope)
        self._bind(node.name, scope)
        makes_fields = any("dataclass" in ast.unparse(d) for d in node.decorator_list)
        makes_fields = makes_fields or any("NamedTuple" in ast.unparse(base) for base in node.bases)
        own = Scope(scope, "class")
        body = list(counted(node.body))
        if scope is None and node.name == "Graph" and self.of_graph:
            body = [s for s in body if getattr(s, "name", None) not in WORKERS]
        self.tokens.append(f"[{len(body)}")
        for statement in body:
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                # Fields become parameters and attributes.
                self.keywords.add(statement.target.id)
                annotation = ast.unparse(statement.annotation)
                if not makes_fields or re.search("ClassVar|InitVar|KW_ONLY", annotation):
                    self.tokens.append(annotation)
            self.write(statement, own)

    def _annotated(self, node: ast.AnnAssign, scope: Scope | None) -> None:
        self.tokens.append("Assign" if node.value is not None else "Declare")
        self.tokens.append("[1")
        self.write(node.target, scope)
        self.write(node.value, scope)

    def _walrus(self, node: ast.NamedExpr, scope: Scope | None) -> None:
        holder = scope
        while holder is not None and holder.kind == "comprehension":
            holder = holder.parent
        self.tokens.append("NamedExpr")
        self._bind(node.target.id, holder)
        self.write(node.value, scope)

    def _comprehension(self, node: Any, scope: Scope | None) -> None:
        self.tokens.append(type(node).__name__)
        own = Scope(scope, "comprehension")
        self.tokens.append(f"[{len(node.generators)}")
        for i, generator in enumerate(node.generators):
            self.write(generator.iter, own if i else scope)
            self.write(generator.target, own)
            self._several(generator.ifs, own)
            self.tokens.append(str(generator.is_async))
        for field in ("key", "value", "elt"):
            if hasattr(node, field):
                self.write(getattr(node, field), own)

    def _handler(self, node: ast.ExceptHandler, scope: Scope | None) -> None:
        self.tokens.append("ExceptHandler")
        self.write(node.type, scope)
        if node.name:
            self._bind(node.name, scope)
        self._body(node.body, scope)

    def _pattern(self, node: Any, scope: Scope | None) -> None:
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

    def _import(self, node: ast.Import | ast.ImportFrom, scope: Scope | None) -> None:
        imported, modules, _ = imports_of(node, self.package)
        self.imported += modules
        if scope is not None:
            # A name that several imports bind is a local one.
            scope.bound.update(k for k, v in imported.items() if scope.imports.get(k, v) != v)
            scope.imports |= imported
        self.tokens += [Import(scope, name, target) for name, target in imported.items()]

    def _elsewhere(self, node: ast.Global | ast.Nonlocal, scope: Scope | None) -> None:
        if scope is not None:
            scope.elsewhere.update(node.names)
            if isinstance(node, ast.Global):
                scope.elsewhere.update(f"global {name}" for name in node.names)


_FIELDS: dict[type, tuple[str, ...]] = {}
_SPECIAL: dict[type, Callable[[Writer, Any, Scope | None], None]] = {
    type(None): Writer._none,
    ast.Name: Writer._name,
    ast.Attribute: Writer._attribute,
    ast.Compare: Writer._compare,
    ast.Constant: Writer._constant,
    ast.JoinedStr: Writer._joined,
    ast.Raise: Writer._raise,
    ast.keyword: Writer._keyword,
    ast.FunctionDef: Writer._function,
    ast.AsyncFunctionDef: Writer._function,
    ast.Lambda: Writer._lambda,
    ast.ClassDef: Writer._class,
    ast.AnnAssign: Writer._annotated,
    ast.NamedExpr: Writer._walrus,
    ast.ListComp: Writer._comprehension,
    ast.SetComp: Writer._comprehension,
    ast.DictComp: Writer._comprehension,
    ast.GeneratorExp: Writer._comprehension,
    ast.ExceptHandler: Writer._handler,
    ast.MatchAs: Writer._pattern,
    ast.MatchStar: Writer._pattern,
    ast.MatchMapping: Writer._pattern,
    ast.Import: Writer._import,
    ast.ImportFrom: Writer._import,
    ast.Global: Writer._elsewhere,
    ast.Nonlocal: Writer._elsewhere,
}
