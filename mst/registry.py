"""Finds algorithms without importing them, and fingerprints their sources. `mst.execute` runs them.

**The contract of an algorithm file**, ``mst/algorithms/<paradigm>/<any_name>.py``. At its top a literal:

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

and these functions:

- ``prepare(graph, *, width, **options) -> problem``: Builds the algorithm's own data structure, such as CSR. Timed as
  *init*.
- ``transfer(problem) -> problem`` (optional): Host-to-device copies. Timed as *transfer*.
- ``solve(problem) -> result``: The algorithm. Timed as *compute*; called repeatedly on one problem, so it must
  not change it.
- ``collect(problem, result) -> numpy.ndarray``: Edge ids of the forest on the host, in any order. None if
  only a total is known (programs on disk); then ``weight(problem, result) -> str`` returns it as printed.
- ``skip(facts, *, width, **options) -> str | None`` (optional): The reason why this graph or width does not
  fit, else None. It gets `Facts`, never the graph, and must use only builtins: planning works without numba
  or CuPy, so it runs without its module.
- ``counters(problem, result) -> dict`` (optional): Numbers that the solve counted itself: rounds, edges kept,
  messages, …
- ``phases(problem) -> dict[str, float]`` (optional): Seconds per named phase, from a separate instrumented run.
- ``timed_solve(problem) -> (result, seconds)`` (optional): `solve` for programs on disk: the seconds are
  reported by the program, without its start.

**On a GPU** (paradigm cuda) there may be three more:

- ``edge_ids(result) -> cupy.ndarray``: The edge ids, left on the device; without this function, graphs on the
  device are refused.
- ``device_bytes(problem) -> int``: Device memory that `solve` uses, in bytes.
- ``PROFILED`` and ``profiled(launches) -> dict``: Names of metrics of NVIDIA's profiler, and the counters
  computed from its figures for each launch.

**Under MPI** (paradigm mpi) all ranks call these functions together, each on its own part:

- ``prepare(part, *, comm, **options) -> problem``: `part` is an `mst.edge_slice.EdgeSlice`: rows
  ``[m * r // p, m * (r + 1) // p)`` of the edge list on rank `r` of `p`, mapped from the canonical file, and
  all of the graph that the rank may read. `comm` is an mpi4py communicator; the width is its size. An algorithm
  that needs another distribution sends the edges itself.
- ``solve(problem) -> result``: Results may stay where they are found.
- ``collect(problem, result) -> numpy.ndarray``: All edge ids on rank 0; other ranks may return anything.
- ``counters(problem, result) -> dict`` (optional): May reduce over the ranks; rank 0's answer counts.

mpi4py is imported inside functions: importing it starts MPI.

Files and folders whose names start with an underscore are helpers, not algorithms. Folders named by ``$MST_ALGORITHMS``
(separated like ``$PATH``) are also searched, so an algorithm need not be put into an installed package.
Programs on disk that the configuration describes (see `mst.programs`) are listed as ``command-<name>``.
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
"""Beginning of the names of modules whose files are outside the package."""

EXTRAS = {
    "workflow": ("snakemake", "pandas", "seaborn", "matplotlib", "jinja2", "pygments", "rocrate"),
    "mpi": ("mpi4py",),
    "peers": ("scipy", "networkx", "rustworkx", "networkit"),
    "peers-gpl": ("igraph",),
    "cuda13": ("cupy", "pynvml"),
}
"""The packages of each extra, by the names that they are imported by."""

# Everything of an algorithm that a run reaches; `skip` only decides whether there is a run.
_REACHED_BY_RUNS = (
    *("prepare", "transfer", "solve", "collect", "weight", "counters", "phases", "timed_solve"),
    *("edge_ids", "device_bytes", "PROFILED", "profiled"),  # on a GPU
)


@dataclass(frozen=True)
class Algorithm:
    """An algorithm's literal, read from its file; `load` imports the code."""

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
        """Return the algorithm that a file defines, without running it."""
        return cls(file=file, **read_literal(file))

    def resolve(self, options: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return all options with defaults filled in; unknown names and illegal values are refused."""
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
        """Return the canonical text of options: those that differ from the defaults, or ``default``."""
        resolved = self.resolve(options)
        changed = [_option_text(k, v) for k, v in sorted(resolved.items()) if v != self.options[k].default]
        return ",".join(changed) or "default"

    def parse_slug(self, slug: str) -> dict[str, Any]:
        """Return the options that `options_slug` wrote."""
        pairs = [] if slug == "default" else [pair.split("=", 1) for pair in slug.split(",")]
        return self.resolve(dict(pairs))

    def changed_options(self, slug: str) -> dict[str, Any]:
        """Return the options in a text of `options_slug` that differ from the defaults."""
        return {k: v for k, v in self.parse_slug(slug).items() if v != self.options[k].default}

    @property
    def uses_gpu(self) -> bool:
        """Whether it runs on a GPU, as those of other libraries may."""
        return self.paradigm == "cuda" or not {"cupy", "pylibcugraph"}.isdisjoint(self.requires)

    def missing(self) -> str | None:
        """Return why this algorithm cannot be imported here, or None."""
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
        """Raise `DependencyError` with the remedy if this algorithm cannot be imported here."""
        if reason := self.missing():
            remedy = "" if self.program else f": {_remedy(self)}"
            raise DependencyError(f"{self.id} {reason}{remedy}")

    def skip(self, facts: Facts, *, width: int = 1, options: Mapping[str, Any] | None = None) -> str | None:
        """Return the reason why this graph, width or option set does not fit, or None; imports nothing."""
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
        """Whether there are graphs, widths or options for which `skip` may have a reason."""
        return bool(self.limits or self.program or self._skip)

    @cached_property
    def _skip(self) -> Callable[..., str | None] | None:
        return skip_function(self.file)

    def source_fingerprint(self) -> str:
        """Return 12 hex digits over all that this algorithm's runs depend on.

        That is the code that they reach (`mst.fingerprints`), some keys of the literal, and the versions
        of a peer's packages.
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
    """Return the algorithm of that id, or raise `ConfigError` with the nearest known one."""
    known = algorithms()
    if not isinstance(algorithm, str) or algorithm not in known:
        hint = nearest(str(algorithm), known)
        raise ConfigError(f"no algorithm {algorithm!r}{hint}; `mst list` shows them all")
    return known[algorithm]


@cache
def algorithms() -> dict[str, Algorithm]:
    """Return every algorithm by id, in the order of paradigms and ids, importing none of them."""
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
    """List the configuration's programs as ``command-<name>``, here and in every process started from here."""
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
    """Return an option in the form that names its records' folder."""
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
    return f"install what {algorithm.file} requires"  # for a user's algorithm, an extra need not bring it


def installing(package: str) -> str:
    """Return the command that installs a package with the extra that brings it; empty if none does."""
    extras = (extra for extra, packages in EXTRAS.items() if package in packages)
    return next((f"pip install '.[{extra}]' in a clone of mst" for extra in extras), "")
