"""How the page writes quantities: three significant digits and a unit."""

from __future__ import annotations

from typing import Any


def known(value: Any) -> bool:
    """Return whether there is a value: neither None nor NaN."""
    return value is not None and value == value


def seconds(value: float | None) -> str:
    """Write a time with three significant digits and a unit."""
    if not known(value):
        return ""
    assert value is not None
    for limit, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if value >= limit:
            return f"{value / limit:.3g} {unit}" if value / limit < 1000 else f"{value / limit:,.0f} {unit}"
    return f"{value * 1e9:.0f} ns"


def count(value: float | None) -> str:
    """Write a count: exact below ten thousand, then three digits with k, M or G."""
    if not known(value):
        return ""
    assert value is not None
    for limit, unit in ((1e9, " G"), (1e6, " M"), (1e4, " k")):
        if value >= limit:
            return f"{value / (1e3 if unit == ' k' else limit):.3g}{unit}"
    return f"{value:,.0f}"


def counted(count: int, noun: str) -> str:
    """Return a count with its noun, which takes an s where that is due.

    Examples
    --------
    >>> from mst.reporting.units import counted
    >>> counted(1, "edge"), counted(1200, "edge")
    ('1 edge', '1,200 edges')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def times(value: float | None) -> str:
    """Write a ratio."""
    if not known(value):
        return ""
    assert value is not None
    return f"{value:.2f}×" if value < 10 else f"{value:.1f}×" if value < 100 else f"{value:.0f}×"


def size(value: float | None) -> str:
    """Write bytes with a binary unit."""
    if not known(value):
        return ""
    assert value is not None
    for limit, unit in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if value >= limit:
            return f"{value / limit:.3g} {unit}"
    return f"{value:.0f} B"
