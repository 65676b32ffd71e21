"""The candidates of a table of measurements, and the choice of one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

GPU = (None, "host", "device")
"""Values of `gpu`: no GPU may be used; one may be used for a graph in host memory; or the graph is on the device."""

_LOCATIONS = {"gpu": "host", "device": "device"}


@dataclass(frozen=True)
class Choice:
    """A candidate to run, and the measurements behind it.

    Attributes
    ----------
    algorithm : str
    options : mapping of str to object
        The options that differ from the defaults.
    width : int
    gpu : str or None
        *host* or *device* if the algorithm runs on a GPU; see `GPU`.
    margin : float or None
        Time of the next best algorithm in the cell over this one's; None if there is no other.
    times : mapping of str to float
        Time of every usable candidate over that of the best, ascending.
    m, density : int, float
        Edges, and edges per vertex, of the cell that decided.
    kinds : tuple of str
        The kinds of weights that the cell stands for.
    machine : str
        The machine of the measurements.
    extrapolated : str
        In what way the graph is outside the table; empty if it is not.
    seconds : float
        Time of the best candidate in the cell.
    """

    algorithm: str
    width: int
    margin: float | None = None
    times: Mapping[str, float] = field(default_factory=dict)
    machine: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    gpu: str | None = None
    m: int = 0
    density: float = 0.0
    kinds: tuple[str, ...] = ()
    extrapolated: str = ""
    seconds: float = 0.0


OURS_ON_GPU = "filter-boruvka-cuda"
"""Our algorithm for a GPU, whose calls also check arrays in host memory."""

FALLBACK = Choice("filter-boruvka", 1)
FALLBACK_ON_DEVICE = Choice(OURS_ON_GPU, 1, options={"start": "edges"}, gpu="device")
"""The choice if nothing was measured."""


@dataclass(frozen=True)
class Candidate:
    """A candidate of the table: the algorithm, its options as text for `Algorithm.parse_slug`, and the place."""

    algorithm: str
    slug: str
    place: str

    @classmethod
    def parse(cls, name: str) -> Candidate:
        """Read ``algorithm[options]@place``.

        Examples
        --------
        >>> from mst.advice import Candidate
        >>> Candidate.parse("filter-boruvka-cuda[start=edges]@gpu")
        Candidate(algorithm='filter-boruvka-cuda', slug='start=edges', place='gpu')
        """
        found = re.fullmatch(r"([\w-]+)(?:\[(.+)\])?@(\w+)", name)
        if found is None:
            raise ValueError(f"{name!r} is not of the form algorithm[options]@place")
        return cls(found[1], found[2] or "default", found[3])

    def __str__(self) -> str:
        slug = "" if self.slug == "default" else f"[{self.slug}]"
        return f"{self.algorithm}{slug}@{self.place}"

    @property
    def gpu(self) -> str | None:
        """Location of the graph if the candidate runs on a GPU: see `GPU`."""
        return _LOCATIONS.get(self.place)

    @property
    def width(self) -> int:
        """Number of cores; 1 on a GPU."""
        return 1 if self.gpu else int(self.place)

    def fits(self, width: int, gpu: str | None) -> bool:
        """Return whether it can run on up to `width` cores, or on a GPU for a graph at `gpu`."""
        if gpu == "device" or self.gpu:
            return self.gpu == gpu
        return self.width <= width


def for_one_solve(algorithm: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options for a single solve of a graph that is given as edges.

    On a GPU, a single solve saves less time by CSR rows than it takes to build them.

    Examples
    --------
    >>> for_one_solve("filter-boruvka-cuda", {"seed": 2})
    {'start': 'edges', 'seed': 2}
    """
    return {**({"start": "edges"} if algorithm == OURS_ON_GPU else {}), **options}
