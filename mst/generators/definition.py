"""Definition of a generator: its parameters, which are checked first, and the function that makes the edges."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from mst.errors import ConfigError, InputError, OutOfMemoryError, nearest
from mst.limits import free_memory

MAX_VERTICES = 2**32
"""Limit on the number of vertices, since two ends are packed into 64 bits."""


class Edges(NamedTuple):
    """The edges of a generated graph.

    Attributes
    ----------
    n : int
        Number of vertices, at most `MAX_VERTICES`.
    pairs : numpy.ndarray of uint64, shape (m,)
        ``u << 32 | v`` for each edge, with ``u < v`` except in multigraphs.
    arrangement : {"any", "sorted", "shuffled"}
        Order of the pairs, so that they need not be sorted or shuffled twice.
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
        The value if the parameter is omitted; ``...`` if it is required. `help` explains a default of None.
    low, high : int or float
        The smallest and the largest valid number.
    choices : tuple of str
        Valid strings, for ``str``.
    """

    kind: type
    help: str
    default: Any = ...
    low: float = 0
    high: float = math.inf
    choices: tuple[str, ...] = ()

    @property
    def required(self) -> bool:
        """Whether there is no default."""
        return self.default is ...

    def read(self, value: Any) -> Any:
        """Convert a value from Python, YAML or a command line to `kind`.

        Raises
        ------
        ValueError
            The value is invalid; the message completes "name = value …".

        Examples
        --------
        >>> from mst.generators import Parameter
        >>> Parameter(int, "vertices").read("1e3")
        1000
        """
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
            return tuple(map(self._element, items))
        return self._within(_whole(value) if self.kind is int else _real(value))

    def _element(self, item: Any) -> int:
        try:
            return self._within(_whole(item))
        except ValueError:
            allowed = f"must be a whole number, {_range(self.low, self.high)}"
            raise ValueError(f"has the element {item!r}, but each {allowed}") from None

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
        By name, in the order of the signature of `make`.
    make : callable
        ``make(seed=…, connected=…, **values) -> Edges``.
    connected : {"always", "on request"}
        Whether graphs are connected.
    relabels : bool
        Whether the definition of the graph requires a random permutation of the vertex ids.
    """

    name: str
    title: str
    parameters: dict[str, Parameter]
    make: Callable[..., Edges]
    connected: str
    relabels: bool = False

    def resolve(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the values of all parameters, converted and completed with defaults.

        Parameters
        ----------
        given : dict
            Values by parameter name.

        Raises
        ------
        ConfigError
            A parameter is unknown or missing.
        InputError
            A value is invalid.

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
                    raise ConfigError(
                        f"generator {self.name!r} needs {name} ({parameter.help}): give {name}=…, on the command "
                        f"line as --param {name}=…"
                    )
                values[name] = parameter.default
                continue
            try:
                values[name] = parameter.read(given[name])
            except ValueError as error:
                raise InputError(f"generator {self.name!r}: {name} = {given[name]!r} {error}") from None
        return values

    def build(self, seed: int, connected: bool, values: dict[str, Any]) -> Edges:
        """Make the edges of a graph.

        Parameters
        ----------
        seed : int
        connected : bool
        values : dict
            As returned by `resolve`.

        Raises
        ------
        InputError
            There is no such graph; the message begins with the generator's name.
        """
        try:
            edges = self.make(seed=seed, connected=connected, **values)
            require(edges.n <= MAX_VERTICES, f"{edges.n:,} vertices are more than 2³²: make it smaller")
        except InputError as error:
            raise InputError(f"generator {self.name!r}: {error}") from None
        return edges


def generator(
    title: str, parameters: dict[str, Parameter], *, connected: str, relabels: bool = False
) -> Callable[[Callable[..., Edges]], Callable[..., Edges]]:
    """Return a decorator that declares a function as the generator with its name (with dashes for underscores).

    Parameters
    ----------
    title : str
    parameters : dict of str to Parameter
    connected, relabels
        See `Generator`.
    """

    def declare(make: Callable[..., Edges]) -> Callable[..., Edges]:
        name = make.__name__.replace("_", "-")
        vars(make)["generator"] = Generator(name, title, parameters, make, connected, relabels)
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
    """Return an uninitialised array for `m` packed pairs.

    Parameters
    ----------
    m : int
    n : int
        Number of vertices for which the generator also needs memory.

    Returns
    -------
    numpy.ndarray of uint64, shape (m,)

    Raises
    ------
    OutOfMemoryError
        The graph does not fit into memory.
    """
    # At the peak, the pairs and both columns of ends are in memory; the pairs are freed before there are weights.
    require_memory(16 * m + 8 * n, f"{m:,} edges")
    return np.empty(m, np.uint64)


def pack(smaller: np.ndarray, larger: np.ndarray) -> np.ndarray:
    """Return packed pairs of the ends in two uint64 arrays of the same shape.

    Examples
    --------
    >>> import numpy as np
    >>> from mst.generators.definition import pack
    >>> pack(np.array([1], np.uint64), np.array([2], np.uint64)).tolist() == [2**32 + 2]
    True
    """
    return smaller << np.uint64(32) | larger


def pair_count(n: int) -> int:
    """Return the number of pairs of `n` vertices.

    >>> pair_count(5)
    10
    """
    return n * (n - 1) // 2


def require_memory(needed: int, purpose: str) -> None:
    """Raise an `OutOfMemoryError` that names the purpose, unless `needed` bytes are free."""
    free = free_memory()
    if needed > free:
        raise OutOfMemoryError(
            f"{purpose} need about {needed / 1e9:,.1f} GB while they are made, but {free / 1e9:,.1f} GB are free: "
            "make a smaller graph"
        )


def require(condition: bool, problem: str) -> None:
    """Raise an `InputError`, to which `Generator.build` adds the generator's name, unless `condition` holds."""
    if not condition:
        raise InputError(problem)


def _whole(value: Any) -> int:
    try:
        number = Fraction(value.replace("_", "") if isinstance(value, str) else value)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        raise ValueError("must be a whole number") from None
    if isinstance(value, bool) or number.denominator != 1:
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
