"""The definitions that the kernels of a CUDA source reach, as a text that moving and renaming do not change.

A source and the files that it includes are split into definitions at the top: functions, types, constants, macros. From
the kernels on, definitions are followed by the identifiers in them and written down in the order in which they are
reached, so comments, spaces, the names of files and the file that holds a definition do not count. Definitions have
numbers for names; kernels, macros, names in capitals, members and local variables keep theirs. A definition counts with
the conditions (``#if``) that it stands under. Where places matter (a macro that is defined twice, or after a use of
its name) or a source cannot be split, all of its text counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

Find = Callable[[str, Path], list[Path]]
_TOKEN = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])'""", re.DOTALL)
_WORD = re.compile(
    r"""(?:\bu8|\b[uUL])?"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])'|[A-Za-z_]\w*|\.?\d(?:[eEpP][+-]|[\w.'])*|"""
    r"""<<=|>>=|\.\.\.|->|::|<<|>>|[-+*/%&|^<>=!]=|&&|\|\||\+\+|--|\#\#|\S""",
    re.VERBOSE,
)
_DIRECTIVE = re.compile(r"\s*#\s*(\w*)\s*(.*)")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_TYPES = ("struct", "class", "union", "enum", "typedef")


def text_of(path: Path, find: Find) -> str:
    """Return the text of the definitions that a source's kernels reach, or of all definitions if it has no kernels.

    Parameters
    ----------
    path : Path
    find : callable of (str, Path) to list of Path
        Finds the files that a name may mean in the file that names it.
    """
    source = _Source(find)
    try:
        source.add(path)
        return source.followed()
    except _IrregularError:
        whole: list[str] = []
        _expand(path, find, set(), whole)
        return " ".join(whole)


class _IrregularError(Exception):
    """A CUDA source that cannot be split into definitions."""


def _lines(path: Path) -> list[str]:
    """Return the lines of a source without comments, continued lines joined."""
    text = path.read_text("utf-8").replace("\\\n", " ")
    return _TOKEN.sub(lambda found: " " if found[0].startswith("/") else found[0], text).splitlines()


def _included(path: Path, find: Find, argument: str) -> Path | None:
    """Return the file of this package that an ``#include`` with this argument names, else None."""
    name = argument.strip()[1:-1]
    if not argument.startswith('"'):
        return None
    found = find(name, path)
    return found[0] if found else None


def _expand(path: Path, find: Find, seen: set[Path], into: list[str]) -> None:
    """Append the words of a file to `into`, included files of this package in place, each once."""
    seen.add(path)
    for line in _lines(path):
        directive = _DIRECTIVE.fullmatch(line)
        if directive is None:
            into += _WORD.findall(line)
        elif directive[1] == "include" and (file := _included(path, find, directive[2])):
            if file not in seen:
                _expand(file, find, seen, into)
        elif directive[0].split() != ["#pragma", "once"]:
            into.append(f"\n#{directive[1]} {' '.join(directive[2].split())}\n")


class _Chunk(NamedTuple):
    """A definition at the top of a CUDA source: its words, the names that it defines, and where it stands."""

    place: int
    conditions: tuple[str, ...]
    words: list[str]
    names: list[str]
    macro: bool
    root: bool


class _Source:
    """A CUDA source and the files that it includes, split into definitions."""

    def __init__(self, find: Find) -> None:
        self._find = find
        self.chunks: list[_Chunk] = []
        self.outside: set[str] = set()
        self._seen: set[Path] = set()
        self._conditions: list[str] = []

    def add(self, path: Path) -> None:
        """Split a file into `chunks`, and the files that it includes."""
        self._seen.add(path)
        words: list[str] = []
        depth, typed, ended = 0, False, False
        inner: list[int] = []
        outer = len(self._conditions)
        for line in _lines(path):
            directive = _DIRECTIVE.fullmatch(line)
            if directive is not None:
                if ended:
                    self._finish(words)
                    words, typed, ended = [], False, False
                kind, argument = directive[1], " ".join(directive[2].split())
                if words:
                    self._inside(kind, depth, inner)
                    words.append(f"#{kind} {argument}\n")
                else:
                    self._between(path, kind, argument)
                continue
            for word in _WORD.findall(line):
                if ended:
                    # The semicolon after a type or an initialiser belongs to it.
                    if word == ";" or typed:
                        words.append(word)
                        ended = word != ";" and ended
                        if word == ";":
                            self._finish(words)
                            words, typed = [], False
                        continue
                    self._finish(words)
                    words, typed, ended = [], False, False
                words.append(word)
                if word in ("{", "(", "["):
                    if depth == 0 and word == "{":
                        typed = "=" in words or not _IDENTIFIER.fullmatch(words[0]) or not _is_function(words)
                    depth += 1
                elif word in ("}", ")", "]"):
                    depth -= 1
                    ended = depth == 0 and word == "}"
                elif word == ";" and depth == 0:
                    self._finish(words)
                    words, typed = [], False
                if depth < 0 or (ended and inner):
                    raise _IrregularError
        if ended:
            self._finish(words)
            words = []
        if words or depth or inner or len(self._conditions) != outer:
            raise _IrregularError

    def _inside(self, kind: str, depth: int, inner: list[int]) -> None:
        """Check a directive within a definition: no branch of a condition may open or close it."""
        if kind in ("if", "ifdef", "ifndef"):
            inner.append(depth)
        elif kind in ("else", "elif", "endif"):
            if not inner or inner[-1] != depth:
                raise _IrregularError
            if kind == "endif":
                inner.pop()
        elif kind != "pragma":
            raise _IrregularError

    def _between(self, path: Path, kind: str, argument: str) -> None:
        """Follow a directive between definitions."""
        if kind == "include":
            file = _included(path, self._find, argument)
            if file is None:
                self.outside.add(argument)
            elif file not in self._seen:
                self.add(file)
        elif kind in ("if", "ifdef", "ifndef"):
            self._conditions.append(f"#{kind} {argument}\n")
        elif kind in ("else", "elif"):
            if not self._conditions:
                raise _IrregularError
            self._conditions[-1] += f"#{kind} {argument}\n"
        elif kind == "endif":
            if not self._conditions:
                raise _IrregularError
            self._conditions.pop()
        elif kind == "define":
            found = re.match(r"(\w+)(\(?)", argument)
            if not found:
                raise _IrregularError
            words = ["#define", found[1] + found[2], *_WORD.findall(argument[found.end() :])]
            self._keep(words, [found[1]], macro=True)
        elif kind == "undef":
            raise _IrregularError
        elif not (kind == "pragma" and argument == "once"):
            self._keep([f"#{kind} {argument}\n"], [], root=True)

    def _keep(self, words: list[str], names: list[str], *, macro: bool = False, root: bool = False) -> None:
        self.chunks.append(_Chunk(len(self.chunks), tuple(self._conditions), words, names, macro, root))

    def _finish(self, words: list[str]) -> None:
        """Keep a definition that has been read to its end."""
        if words == [";"]:
            return
        if words[0] in ("namespace", "using") or words[:3] == ["extern", '"C"', "{"]:
            raise _IrregularError
        names = _defined(words)
        self._keep(words, names, root=not names or "__global__" in words)

    def followed(self) -> str:
        """Return the definitions that kernels reach, or all if there are no kernels."""
        defining: dict[str, list[_Chunk]] = {}
        for chunk in self.chunks:
            for name in chunk.names:
                defining.setdefault(name, []).append(chunk)
        self._check_macros(defining)
        fixed = {n for c in self.chunks if c.macro or "__global__" in c.words for n in c.names}
        kernels = [chunk for chunk in self.chunks if "__global__" in chunk.words]
        roots = [c for c in self.chunks if c.root and not c.names]
        roots = sorted(kernels, key=lambda c: c.names) + roots if kernels else list(self.chunks)
        order, reached = list(roots), {chunk.place for chunk in roots}
        number: dict[str, int] = {}
        text = sorted(self.outside)
        for chunk in order:
            text.append("\n")
            for word in (w for part in (chunk.conditions, chunk.words) for w in part):
                found = _IDENTIFIER.findall(word) if word.startswith("#") and word != "#define" else [word]
                for name in found:
                    for other in defining.get(name, ()):
                        if other.place not in reached:
                            reached.add(other.place)
                            order.append(other)
                places = defining.get(word, ())
                if places and word not in fixed and not word.isupper():
                    text.append(f"${number.setdefault(word, len(number))}")
                else:
                    text.append(word)
                if len(places) > 1:
                    # How many of the definitions of this name come before.
                    text.append(f":{sum(other.place < chunk.place for other in places)}")
        return " ".join(text)

    def _check_macros(self, defining: dict[str, list[_Chunk]]) -> None:
        """Refuse macros that are defined in several places, or after a use."""
        macros = {name: chunks for name, chunks in defining.items() if any(c.macro for c in chunks)}
        for chunks in macros.values():
            if not all(c.macro and c.conditions[:1] == chunks[0].conditions[:1] for c in chunks):
                raise _IrregularError
            if len(chunks) > 1 and not chunks[0].conditions:
                raise _IrregularError
        for chunk in self.chunks:
            for word in (w for part in (chunk.conditions, chunk.words) for w in part):
                for name in _IDENTIFIER.findall(word) if word.startswith("#") else [word]:
                    if name not in chunk.names and any(
                        other.place > chunk.place for other in macros.get(name, ())
                    ):
                        raise _IrregularError


def _is_function(words: list[str]) -> bool:
    """Return whether the words before a brace are the head of a function."""
    return words[-2] in (")", "const", "noexcept", "override") or (
        "(" in words and not set(words) & set(_TYPES)
    )


def _defined(words: list[str]) -> list[str]:
    """Return the names that a definition gives."""
    top: list[str] = []
    depth = 0
    for word in words:
        depth -= word in ("}", ")", "]")
        if depth == 0:
            top.append(word)
        depth += word in ("{", "(", "[")
    if top[0] in ("static_assert", "_Static_assert") or "operator" in top:
        return []
    if top[0] == "typedef":
        if "(" in words:
            raise _IrregularError
        return [word for word in top if _IDENTIFIER.fullmatch(word)][-1:]
    heads = [i for i, word in enumerate(top) if word in ("struct", "class", "union", "enum")]
    if heads and "{" in words and not ("(" in top and top.index("(") < top.index("{")):
        after = top[heads[-1] + 1 :]
        names = [word for word in after if _IDENTIFIER.fullmatch(word) and word != "class"]
        if "enum" in top:
            names += [b for a, b in pairwise(words) if a in ("{", ",") and _IDENTIFIER.fullmatch(b)]
        return list(dict.fromkeys(names))
    calls = [
        a for a, b in pairwise(top) if b == "(" and _IDENTIFIER.fullmatch(a) and a not in ("asm", "alignas")
    ]
    if calls and "=" not in top[: top.index("(")]:
        return [calls[-1]]
    names, initialised = [], False
    for word, following in pairwise(top):
        initialised = word == "=" or (initialised and word != ",")
        if not initialised and following in ("=", ";", "[", ",", "{") and _IDENTIFIER.fullmatch(word):
            names.append(word)
    return names
