"""Forests as arrays of the library that the graph came from, such as PyTorch's tensors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

import numpy as np

from mst.arrays import importer
from mst.forest import Forest


@dataclass(frozen=True, eq=False, repr=False)
class ArrayForest:
    """A forest as arrays of another library, in host memory.

    It has every attribute and method of a `Forest`, such as `edge_ids`, `edges` and `labels`; all of them take and
    return arrays of that library.

    Attributes
    ----------
    forest : Forest
        The same forest as NumPy arrays.
    from_dlpack : callable
        The library's function of this name.
    given : tuple of three arrays
        The columns u, v and w of the graph; None for those that did not come from that library.
    """

    forest: Forest
    from_dlpack: Callable[[Any], Any]
    given: tuple[Any, Any, Any] = (None, None, None)

    def __len__(self) -> int:
        return len(self.forest)

    def __repr__(self) -> str:
        return repr(self.forest)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in self.__dataclass_fields__:
            raise AttributeError(name)
        value = getattr(self.forest, name)
        if not callable(value):
            return self._out(value)

        @wraps(value)
        def call(*arguments: Any, **options: Any) -> Any:
            return self._out(value(*arguments, **options))

        return call

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self.forest)})

    def edges(self) -> tuple[Any, Any, Any]:
        """Return the arrays ``(u, v, w)`` of the forest's edges, in the order of `edge_ids`.

        These are rows of the given arrays. So they keep their dtypes, and gradients of PyTorch's tensors propagate back
        to the weights of the graph.
        """
        ids, kept = self._out(self.forest.edge_ids), self.forest.edges()
        u, v, w = (self._out(a) if b is None else b[ids] for a, b in zip(kept, self.given))
        return u, v, w

    def _out(self, value: Any) -> Any:
        """Return a result with the library's arrays in place of NumPy's."""
        if isinstance(value, np.ndarray):
            return self.from_dlpack(value if value.flags.writeable else value.copy())
        if isinstance(value, tuple):
            return tuple(map(self._out, value))
        return ArrayForest(value, self.from_dlpack) if isinstance(value, Forest) else value


def in_library_of(forest: Forest, *given: Any) -> Forest | ArrayForest:
    """Return a forest as arrays of the library of the first foreign array among `given`; unchanged if there is none."""
    from_dlpack = importer(given)
    if from_dlpack is None:
        return forest
    columns = [column if importer([column]) is from_dlpack else None for column in given]
    u, v, w = columns if len(columns) == 3 else (None, None, None)
    return ArrayForest(forest, from_dlpack, (u, v, w))
