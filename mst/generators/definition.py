"""Definition of a generator: parameters, checked before anything is made, and the function that makes the edges."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from mst.errors import ConfigError, InputError, OutOfMemoryError, nearest

MAX_VERTICES = 2**32


class Edges(NamedTuple):
    """Edges as a generator's function returns them.

    Attributes
    ----------
    n : int
        Number of vertices, at most 2³² since ends are packed.
    pairs : numpy.ndarray of uint64, shape (m,)
        ``u << 32 | v`` for each edge, with ``u < v`` but for multigraphs.
    arrangement : {"any", "sorted", "shuffled"}
        How the rows lie, so that nothing is sorted or shuffled twice.
    """

    n: int
    pairs: np.ndarray
    arrangement: str = "any"


@dataclass(frozen=True)
class Parameter:
    """A parameter of a generator.

    Attributes
    ----------
    kind : type
        ``int``, ``float``, ``bool``, ``str`` or ``tuple`` (of int).
    help : str
        One line.
    default : object
        Taken when the parameter is left out; ``...`` when it must be given. None stands for what `help` says.
    low, high : int or float
        Legal values, bounds included.
    choices : tuple of str
        Legal words, for ``str``.
    """

    kind: type
    help: str
    default: Any = ...
    low: float = 0
    high: float = math.inf
    choices: tuple[str, ...] = ()

    @property
    def required(self) -> bool:
        """True when there is no default."""
        return self.default is ...

    def read(self, value: Any) -> Any:
        """Return `value`, of Python, YAML or a command line, as this kind; ValueError says the limit."""
        if value is None and self.default is None:
            return None
        if self.kind is bool:
            return _word(value if isinstance(value, str) else str(value).lower(), ("true", "false")) == "true"
        if self.kind is str:
            return _word(value, self.choices)
        if self.kind is tuple:
            items = value.split(",") if isinstance(value, str) else value
            if not isinstance(items, Iterable):
                items = [items]
            return tuple(self._within(_whole(item)) for item in items)
        return self._within(_whole(value) if self.kind is int else _real(value))

    def _within(self, number: Any) -> Any:
        if not self.low <= number <= self.high:
            raise ValueError(f"must be {_range(self.low, self.high)}")
        return number


@dataclass(frozen=True)
class Generator:
    """A generator of graphs.

    Attributes
    ----------
    name, title : str
        Id, and one line that describes it.
    parameters : dict of str to Parameter
        By name, in the order of the function's signature.
    make : callable
        ``make(seed=…, connected=…, **values) -> Edges``.
    connected : {"always", "on request", "never"}
        Whether every graph is connected, a connected one can be requested, or neither.
    relabels : bool
        The vertices' names are permuted by definition.
    """

    name: str
    title: str
    parameters: dict[str, Parameter]
    make: Callable[..., Edges]
    connected: str
    relabels: bool = False

    def resolve(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return every parameter's value, or raise one error that names what is wrong.

        Examples
        --------
        >>> from mst.generators import GENERATORS
        >>> GENERATORS["grid"].resolve({"rows": "4", "columns": 5})
        {'rows': 4, 'columns': 5}
        """
        for name in given:
            if name not in self.parameters:
                known = ", ".join(self.parameters)
                raise ConfigError(
                    f"generator {self.name!r} has no parameter {name!r}{nearest(name, self.parameters)}: "
                    f"it takes {known}"
                )
        values = {}
        for name, parameter in self.parameters.items():
            if name not in given:
                if parameter.required:
                    raise ConfigError(f"generator {self.name!r} needs {name} ({parameter.help}): give {name}=…")
                values[name] = parameter.default
                continue
            try:
                values[name] = parameter.read(given[name])
            except ValueError as error:
                raise InputError(f"generator {self.name!r}: {name} = {given[name]!r} {error}") from None
        return values

    def build(self, seed: int, connected: bool, values: dict[str, Any]) -> Edges:
        """Make the edges, from values that `resolve` returned."""
        if connected and self.connected == "never":
            raise InputError(
                f"generator {self.name!r} cannot promise a connected graph: leave connected out, "
                "or choose a generator that can"
            )
        edges = self.make(seed=seed, connected=connected, **values)
        if edges.n > MAX_VERTICES:
            raise InputError(
                f"generator {self.name!r}: {edges.n:,} vertices are more than 2³²: make it smaller"
            )
        return edges


def generator(
    title: str,
    parameters: dict[str, Parameter],
    *,
    name: str = "",
    connected: str = "never",
    relabels: bool = False,
) -> Callable[[Callable[..., Edges]], Callable[..., Edges]]:
    """Declare the function below as a generator, named as it is (underscores become dashes)."""

    def declare(make: Callable[..., Edges]) -> Callable[..., Edges]:
        declared = Generator(
            name=name or make.__name__.replace("_", "-"),
            title=title,
            parameters=parameters,
            make=make,
            connected=connected,
            relabels=relabels,
        )
        make.generator = declared  # type: ignore[attr-defined]
        return make

    return declare


def generators_of(module: ModuleType) -> list[Generator]:
    """Return the generators that a module defines or imports."""
    return [
        value.generator
        for value in vars(module).values()
        if isinstance(getattr(value, "generator", None), Generator)
    ]


def empty_pairs(m: int, n: int = 0) -> np.ndarray:
    """Return an uninitialised array for `m` packed pairs, after a check that memory suffices for `n` vertices too."""
    # Pairs, then both ends while the pairs are still there; the weights follow when the pairs are gone.
    require_memory(16 * m + 8 * n, f"{m:,} edges")
    return np.empty(m, np.uint64)


def require_memory(needed: int, what: str) -> None:
    """Raise an OutOfMemoryError that says how many bytes are needed and free, unless they are free."""
    import psutil

    free = psutil.virtual_memory().available
    if needed > free:
        raise OutOfMemoryError(
            f"{what} need about {needed / 1e9:,.1f} GB while they are made, and {free / 1e9:,.1f} GB are free: "
            "make a smaller graph"
        )


def require(condition: bool, generator: str, problem: str) -> None:
    """Raise an InputError that names the generator, unless `condition` holds."""
    if not condition:
        raise InputError(f"generator {generator!r}: {problem}")


def _whole(value: Any) -> int:
    try:
        number = Fraction(value.replace("_", "") if isinstance(value, str) else value)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        raise ValueError("must be a whole number") from None
    if isinstance(value, bool | np.bool_) or number.denominator != 1:
        raise ValueError("must be a whole number")
    return int(number)


def _real(value: Any) -> float:
    try:
        number = float(Fraction(value)) if isinstance(value, str) else float(value)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        raise ValueError("must be a number") from None
    if isinstance(value, bool | np.bool_) or not math.isfinite(number):
        raise ValueError("must be a finite number")
    return number


def _word(value: Any, choices: tuple[str, ...]) -> str:
    if value not in choices:
        raise ValueError(f"must be one of {', '.join(choices)}{nearest(str(value), choices)}")
    return value


def _range(low: float, high: float) -> str:
    return f"at least {low}" if high == math.inf else f"from {low} to {high}"
