"""Every combination of an algorithm's options, for tests that no combination may fail."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any


def option_combinations(
    algorithm: Any, *, numbers: tuple[float, ...] = (), **values: Any
) -> Iterator[dict[str, Any]]:
    """Yield the options of each combination, without those at their default.

    Options take each of their choices, or both truth values, or the default and `numbers`; `values` replaces that,
    by the option's name.
    """
    spread = {}
    for option in algorithm.options.values():
        default = option.default
        if option.name in values:
            spread[option.name] = values[option.name]
        elif option.choices or isinstance(default, bool):
            spread[option.name] = option.choices or (True, False)
        else:
            spread[option.name] = (default, *numbers)
    for combination in product(*spread.values()):
        options = dict(zip(spread, combination, strict=True))
        yield {name: value for name, value in options.items() if value != algorithm.options[name].default}
