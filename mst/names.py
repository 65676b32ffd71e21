"""The check of names that become parts of paths: of machines, pages, graphs, algorithms, options and layouts."""

from __future__ import annotations

import re

from mst.errors import ConfigError, shorten

PART = r"[A-Za-z0-9][A-Za-z0-9 ._=,+{}@-]{0,199}"
"""Pattern of all names that may become a file or a folder."""
MACHINE = r"[A-Za-z0-9][A-Za-z0-9.-]{0,99}"
_RULES = {
    "machine": (re.compile(MACHINE), "ASCII letters, digits, dots and dashes"),
    "algorithm": (re.compile(r"[a-z0-9][a-z0-9-]{0,99}"), "lower-case letters, digits and dashes"),
    # Snakemake takes braces for wildcards.
    "page": (
        re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,99}"),
        "ASCII letters, digits, spaces, dots, dashes and underscores",
    ),
    "": (re.compile(PART), "ASCII letters, digits, spaces and ._=,+{}@-"),
}


def path_part(name: str, kind: str, where: str = "") -> str:
    """Return `name` if it is a safe name for a file or a folder, which cannot lead out of the parent folder.

    Parameters
    ----------
    name : str
    kind : str
        What the name is for; fewer characters are legal for a ``machine``, ``page`` or ``algorithm``.
    where : str
        Source of the name, for error messages.

    Raises
    ------
    ConfigError
        The name has illegal characters; the message states the legal ones.

    Examples
    --------
    >>> from mst.names import path_part
    >>> path_part("USA-road-d.NY", "graph")
    'USA-road-d.NY'
    >>> path_part("../evil", "machine", "$MST_MACHINE")
    Traceback (most recent call last):
    mst.errors.ConfigError: $MST_MACHINE: machine name '../evil': use ASCII letters, digits, dots and dashes, starting \
with a letter or digit
    """
    pattern, legal = _RULES.get(kind, _RULES[""])
    if not pattern.fullmatch(name):
        source = f"{where}: " if where else ""
        raise ConfigError(f"{source}{kind} name {shorten(name)}: use {legal}, starting with a letter or digit")
    return name
