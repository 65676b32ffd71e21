"""Formats times, counts, ratios and sizes as text, with a few significant digits and a unit.

Functions that accept None return an empty string for None and NaN.
"""

from __future__ import annotations

from typing import Any

DIGITS = 3


def known(value: Any) -> bool:
    """Return whether a value is neither None nor NaN."""
    return value is not None and value == value


def seconds(value: float | None, digits: int = DIGITS) -> str:
    """Return a time with its unit, from nanoseconds to seconds.

    Examples
    --------
    >>> seconds(0.0123), seconds(75.0), seconds(4.2e-5), seconds(8.04e-4, 2), seconds(3e-8), seconds(None)
    ('12.3 ms', '75 s', '42 µs', '800 µs', '30 ns', '')
    """
    if value is None or not known(value):
        return ""
    for limit, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if value >= limit:
            return f"{_without_exponent(value / limit, digits)} {unit}"
    return f"{value * 1e9:.0f} ns"


def _without_exponent(value: float, digits: int = DIGITS) -> str:
    """Return a number below a thousand with so many significant digits, others as whole numbers."""
    return f"{float(f'{value:.{digits}g}'):,g}" if value < 1000 else f"{value:,.0f}"


def duration(seconds: float) -> str:
    """Return whole seconds, with minutes and hours if there are any.

    Examples
    --------
    >>> duration(7.4), duration(200), duration(7265)
    ('7 s', '3 min 20 s', '2 h 1 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def prefixed(value: float, digits: int = DIGITS) -> str:
    """Return a number with k, M or G from a thousand on.

    Examples
    --------
    >>> prefixed(999), prefixed(1584), prefixed(999_999)
    ('999', '1.58 k', '1 M')
    """
    rounded = float(f"{value:.{digits}g}")
    for limit, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if abs(rounded) >= limit:
            return f"{rounded / limit:.{digits}g}{unit}"
    return f"{rounded:.{digits}g}"


def count(value: float | None) -> str:
    """Return a count: exact below ten thousand, then with k, M or G.

    Examples
    --------
    >>> count(9999), count(12_345), count(None)
    ('9,999', '12.3 k', '')
    """
    if value is None or not known(value):
        return ""
    return f"{value:,.0f}" if value < 1e4 else prefixed(value)


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return a count with its noun in the right number.

    Examples
    --------
    >>> counted(1, "edge"), counted(1200, "edge"), counted(0, "vertex", "vertices")
    ('1 edge', '1,200 edges', '0 vertices')
    """
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def times(value: float | None) -> str:
    """Return a ratio.

    Examples
    --------
    >>> times(1.234), times(12.34), times(1234.5)
    ('1.23×', '12.3×', '1,234×')
    """
    if value is None or not known(value):
        return ""
    return f"{value:,.{2 if value < 10 else 1 if value < 100 else 0}f}×"


def percent(share: float | None) -> str:
    """Return a share as a percentage.

    Examples
    --------
    >>> percent(0.0312), percent(0.5)
    ('3.1 %', '50.0 %')
    """
    return f"{100 * share:.1f} %" if share is not None and known(share) else ""


def size(value: float | None) -> str:
    """Return a number of bytes of memory with a binary unit.

    Examples
    --------
    >>> size(512), size(1020 * 2**20), size(3 * 2**30)
    ('512 B', '1,020 MiB', '3 GiB')
    """
    if value is None or not known(value):
        return ""
    for limit, unit in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if value >= limit:
            return f"{_without_exponent(value / limit)} {unit}"
    return f"{value:.0f} B"


def decimal_size(value: float) -> str:
    """Return a number of bytes of files, networks and devices with a decimal unit.

    Examples
    --------
    >>> decimal_size(999), decimal_size(3_667_907)
    ('999 B', '3.7 MB')
    """
    if value < 1000:
        return f"{value:.0f} B"
    units = ["kB", "MB", "GB", "TB"]
    while value >= 999_950 and len(units) > 1:
        value, units = value / 1000, units[1:]
    return f"{value / 1000:.1f} {units[0]}"
