"""Finds algorithms without importing them, and fingerprints their sources; `mst.execute` runs them.

**The contract of an algorithm file**, ``mst/algorithms/<paradigm>/<any_name>.py``. The file begins with a literal:

    ALGORITHM = dict(
        id="kruskal",              # unique, lower case, dashes
        paradigm="sequential",     # sequential, threads, cuda, mpi, peer
        paper=None,                # a key of citations in config/graphs.yaml, or "ours"
        title="Kruskal",           # for tables
        input="edges",             # input of prepare: edges, csr
        options=dict(sort=dict(default="radix", choices=("radix", "comparison"), help="…"),
                     sample=dict(default=20, min=1, help="…")),  # max of whole numbers: 2³¹ - 1 by default
        exact=True,                # a minimum spanning forest, not an approximate one
        ties="order",              # "order": by (weight, edge id); "any": peers that break ties differently
        requires=("numba",),       # packages to import
        limits=dict(m=2_000_000),  # larger graphs are unsupported (n, m)
    )

It defines these functions:

- ``prepare(graph, *, width, **options) -> problem``: Builds the algorithm's own data structure, such as CSR. Timed as
  *init*.
- ``transfer(problem) -> problem`` (optional): Copies from host to device. Timed as *transfer*.
- ``solve(problem) -> result``: Runs the algorithm. Timed as *compute*. It is called repeatedly on the same problem and
  must not change it.
- ``collect(problem, result) -> numpy.ndarray``: Returns the forest's edge ids on the host, in any order; or None if
  only a total is known (programs on disk), which ``weight(problem, result) -> str`` then returns as printed.
- ``skip(facts, *, width, **options) -> str | None`` (optional): Returns the reason why the algorithm does not support
  this graph or width, or None. Its argument is a `Facts`, never the graph. It must use only builtins, since it runs
  without the rest of its file: planning works without numba and CuPy.
- ``counters(problem, result) -> dict`` (optional): Returns numbers that the solve counted: rounds, edges kept,
  messages, …
- ``phases(problem) -> dict[str, float]`` (optional): Returns the seconds of each phase of a separate, instrumented run.
- ``timed_solve(problem) -> (result, seconds)`` (optional): Replaces `solve` for programs on disk, which report the
  seconds themselves, without the start of the program.

**On a GPU** (paradigm cuda), a file may also define:

- ``edge_ids(result) -> cupy.ndarray``: Returns the edge ids on the device. Without it, graphs on a device are not
  supported.
- ``device_bytes(problem) -> int``: Returns the bytes of device memory that `solve` uses.
- ``PROFILED`` and ``profiled(launches) -> dict``: Names metrics of NVIDIA's profiler; computes counters from the
  profiler's values for each launch.

**Under MPI** (paradigm mpi), all ranks call these functions together, each for its own part:

- ``prepare(part, *, comm, **options) -> problem``: `part` is an `mst.edge_slice.EdgeSlice`: rows
  ``[m * r // p, m * (r + 1) // p)`` of the edge list on rank `r` of `p`, mapped from the canonical file. The rank must
  not read more of the graph; an algorithm that needs another distribution sends the edges itself. `comm` is an mpi4py
  communicator, whose size is the width.
- ``solve(problem) -> result``: Results may stay on the ranks that find them.
- ``collect(problem, result) -> numpy.ndarray``: Returns all edge ids on rank 0; other ranks may return anything.
- ``counters(problem, result) -> dict`` (optional): May reduce over the ranks; the value on rank 0 counts.

Import mpi4py inside functions, since importing it starts MPI.

Files and folders whose names begin with an underscore are helpers, not algorithms. Folders in ``$MST_ALGORITHMS``
(separated as in ``$PATH``) are searched, too, so that an algorithm need not be added to an installed package. Programs
on disk that the configuration describes (see `mst.programs`) are listed as ``command-<name>``.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

from mst import programs
from mst.algorithm_files import PARADIGMS, Option, check_limits, options_of, read_literal, skip_function
from mst.errors import ConfigError, DependencyError, nearest
from mst.facts import Facts
from mst.fingerprints import algorithm_fingerprint
from mst.fingerprints.modules import PACKAGE
from mst.names import path_part

EXTRA_FOLDERS = "MST_ALGORITHMS"
USERS_MODULE = "mst_algorithms_"
"""Prefix of the names of modules whose files are outside the package."""

EXTRAS = {
    "workflow": ("snakemake", "pandas", "seaborn", "matplotlib", "jinja2", "pygments", "rocrate"),
    "mpi": ("mpi4py",),
    "peers": ("scipy", "networkx", "rustworkx", "networkit"),
    "peers-gpl": ("igraph",),
    "cuda13": ("cupy", "pynvml"),
}
"""The packages of each extra, by the names under which they are imported."""

# The functions of an algorithm that a run reaches, unlike `skip`, which only decides whether there is a run.
_REACHED_BY_RUNS = (
    *("prepare", "transfer", "solve", "collect", "weight", "counters", "phases", "timed_solve"),
    *("edge_ids", "device_bytes", "PROFILED", "profiled"),  # on a GPU
)


@dataclass(frozen=True)
class Algorithm:
    """An algorithm, as the literal in its file describes it; `load` imports the code."""

    id: str
    paradigm: str
    title: str
    file: Path
    paper: str | None = None
    input: str = "edges"
    options: Mapping[str, Option] = field(default_factory=dict)
    exact: bool = True
    ties: str = "order"
    requires: tuple[str, ...] = ()
    limits: Mapping[str, int] = field(default_factory=dict)
    program: programs.Program | None = None

    @classmethod
    def of_file(cls, file: Path) -> Algorithm:
        """Return the algorithm that a file defines, without running the file."""
        return cls(file=file, **read_literal(file))

    def resolve(self, options: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return the values of all options; raise `ConfigError` for an unknown option or an illegal value."""
        if not options:
            return self._defaults.copy()
        given = dict(options)
        for name in given:
            if name not in self.options:
                known = ", ".join(self.options) or "none"
                raise ConfigError(
                    f"{self.id} has no option {name!r}{nearest(name, self.options)}; it has: {known}"
                )
        return {
            name: option.parse(given[name], self.id) if name in given else option.default
            for name, option in self.options.items()
        }

    @cached_property
    def _defaults(self) -> dict[str, Any]:
        return {name: option.default for name, option in self.options.items()}

    def options_slug(self, options: Mapping[str, Any] | None = None) -> str:
        """Return options as text: those that differ from the defaults, sorted by name, or ``default``."""
        resolved = self.resolve(options)
        changed = [_option_text(k, v) for k, v in sorted(resolved.items()) if v != self.options[k].default]
        return ",".join(changed) or "default"

    def parse_slug(self, slug: str) -> dict[str, Any]:
        """Return the values of all options from the text of `options_slug`."""
        pairs = [] if slug == "default" else [pair.split("=", 1) for pair in slug.split(",")]
        return self.resolve(dict(pairs))

    def changed_options(self, slug: str) -> dict[str, Any]:
        """Return the values in a text of `options_slug` that differ from the defaults."""
        return {k: v for k, v in self.parse_slug(slug).items() if v != self.options[k].default}

    @property
    def uses_gpu(self) -> bool:
        """Whether it runs on a GPU, itself or by another library."""
        return self.paradigm == "cuda" or not {"cupy", "pylibcugraph"}.isdisjoint(self.requires)

    def missing(self) -> str | None:
        """Return why this algorithm cannot run here (a package or program is missing), or None."""
        if self.program and (reason := self.program.missing()):
            return reason
        absent = [p for p in self.requires if not is_importable(p)]
        verb = "is" if len(absent) == 1 else "are"
        return f"needs {', '.join(absent)}, which {verb} not installed" if absent else None

    @cached_property
    def _module(self) -> str | None:
        """Name of the module, if the file is in the package."""
        if not self.file.is_relative_to(PACKAGE):
            return None
        return ".".join(("mst", *self.file.relative_to(PACKAGE).with_suffix("").parts))

    def load(self) -> ModuleType:
        """Import the algorithm's module."""
        return self._loaded

    @cached_property
    def _loaded(self) -> ModuleType:
        self.refuse_missing()
        if self.program:
            return importlib.import_module("mst.algorithms.peers._program").Command(self.program)
        if self._module:
            return importlib.import_module(self._module)
        name = USERS_MODULE + self.id
        if name not in sys.modules:
            spec = importlib.util.spec_from_file_location(name, self.file)
            assert spec is not None and spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            sys.modules[name] = module
        return sys.modules[name]

    def refuse_missing(self) -> None:
        """Raise `DependencyError` with the remedy if a package or program that this algorithm needs is missing."""
        if reason := self.missing():
            remedy = "" if self.program else f": {_remedy(self)}"
            raise DependencyError(f"{self.id} {reason}{remedy}")

    def skip(self, facts: Facts, *, width: int = 1, options: Mapping[str, Any] | None = None) -> str | None:
        """Return why the algorithm does not support a graph, width or options, or None; nothing is imported."""
        for name, limit in self.limits.items():
            if getattr(facts, name) > limit:
                return f"{name} = {getattr(facts, name):,} is above its limit of {limit:,}"
        if self.program and facts.weight_dtype not in self.program.weights:
            return f"it takes {', '.join(self.program.weights)} weights, not {facts.weight_dtype}"
        if self._skip is None:
            return None
        resolved = self.resolve(options)
        try:
            reason = self._skip(facts, width=width, **resolved)
        except Exception as error:
            inside = error.__traceback__ and error.__traceback__.tb_next
            line = inside.tb_lineno if inside else self._skip.__code__.co_firstlineno
            raise ConfigError(
                f"{self.file}, line {line}: skip raised {type(error).__name__}: {error}; it runs without its module, "
                "so it must not use other names of the file"
            ) from error
        if not isinstance(reason, str | None):
            raise ConfigError(f"{self.file}: skip must return a reason, as a string, or None, got {reason!r}")
        return reason

    @cached_property
    def may_skip(self) -> bool:
        """Whether `skip` may return a reason for some graph, width or options."""
        return bool(self.limits or self.program or self._skip)

    @cached_property
    def _skip(self) -> Callable[..., str | None] | None:
        return skip_function(self.file)

    def source_fingerprint(self) -> str:
        """Return 12 hex digits that cover everything on which this algorithm's runs depend.

        This is the code that runs reach (`mst.fingerprints`), some keys of the literal, and the versions of a peer's
        packages.
        """
        literal = (self.paradigm, self.input, self.exact, self.ties)
        options = tuple((name, option.default) for name, option in self.options.items())
        roots = ("Command",) if self.program else _REACHED_BY_RUNS
        total = hashlib.sha256(repr(literal).encode())
        total.update(algorithm_fingerprint(self.file, roots, options).encode())
        if self.program:
            total.update(self.program.fingerprint().encode())
        if self.paradigm == "peer":
            for package in self.requires:
                total.update(f"{package}=={_version(package)}\0".encode())
        return total.hexdigest()[:12]


def get(algorithm: str) -> Algorithm:
    """Return the algorithm with an id; if there is none, raise `ConfigError` with the most similar id."""
    known = algorithms()
    if not isinstance(algorithm, str) or algorithm not in known:
        hint = nearest(str(algorithm), known)
        if str(algorithm).startswith("command-") and not any(
            program.startswith("command-") for program in known
        ):
            hint = ": a program of the configuration is measured, as by `mst run`, but solves no other graphs"
        raise ConfigError(f"no algorithm {algorithm!r}{hint}; `mst list` shows them all")
    return known[algorithm]


@cache
def algorithms() -> dict[str, Algorithm]:
    """Return all algorithms by id, sorted by paradigm and id, without importing them."""
    found: dict[str, Algorithm] = {}
    own = sorted((PACKAGE / "algorithms").glob("[!_]*/[!_]*.py"))
    named = [Path(folder) for folder in os.environ.get(EXTRA_FOLDERS, "").split(os.pathsep) if folder]
    for folder in named:
        if not folder.is_dir():
            raise ConfigError(
                f"{folder} is not a folder: ${EXTRA_FOLDERS} lists folders of algorithms, as $PATH does"
            )
    for file in [*own, *(file for folder in named for file in sorted(folder.resolve().glob("[!_]*.py")))]:
        algorithm = Algorithm.of_file(file)
        if algorithm.id in found:
            raise ConfigError(f"{file} and {found[algorithm.id].file} both define {algorithm.id!r}")
        found[algorithm.id] = algorithm
    found |= {a.id: a for a in map(_algorithm_of_program, programs.known())}
    return dict(sorted(found.items(), key=lambda item: (PARADIGMS.index(item[1].paradigm), item[0])))


def use_programs(described: Mapping[str, Any] | None) -> None:
    """Add the configuration's programs as ``command-<name>``, in this process and in those that it starts."""
    if isinstance(described, Mapping):
        for name, values in described.items():
            _algorithm_of_program(programs.from_mapping(name, values))
    programs.export(described)
    algorithms.cache_clear()


def _algorithm_of_program(program: programs.Program) -> Algorithm:
    where = f"programs.{program.name}"
    check_limits(f"{where}.limits", program.limits)
    return Algorithm(
        id=f"command-{program.name}",
        paradigm=program.paradigm,
        title=program.title or program.name,
        file=PACKAGE / "algorithms" / "peers" / "_program.py",
        options=options_of(f"{where}.options", program.options),
        ties="any",
        requires=("numba",),
        limits=program.limits,
        program=program,
    )


def _option_text(name: str, value: Any) -> str:
    """Return an option as text, which becomes part of the name of a folder of records."""
    text = f"{name}={str(value).lower() if isinstance(value, bool) else value}"
    if "," in text:
        raise ConfigError(f"option {text}: a value must not contain a comma")
    return path_part(text, "option")


@cache
def is_importable(package: str) -> bool:
    """Return whether a package can be imported here, without importing it."""
    try:
        return importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):
        return False


@cache
def _version(package: str) -> str:
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "absent"


def _remedy(algorithm: Algorithm) -> str:
    if algorithm.file.is_relative_to(PACKAGE):
        if algorithm.paradigm in ("sequential", "threads"):
            return "pip install numba, with a version of Python that it supports"
        if "pylibcugraph" in algorithm.requires:
            return "install RAPIDS' pylibcugraph for your CUDA version, which no extra of mst includes"
        if remedy := next(filter(None, map(installing, algorithm.requires)), ""):
            return remedy
    return f"install what {algorithm.file} requires"  # extras need not contain it


def installing(package: str) -> str:
    """Return the command that installs the extra with a package; empty if no extra has it."""
    extras = (extra for extra, packages in EXTRAS.items() if package in packages)
    return next((f"pip install '.[{extra}]' in a clone of mst" for extra in extras), "")
