"""The candidates of a table of measurements, and the choice of one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

GPU = (None, "host", "device")
"""Values of `gpu`: no GPU may be used; one may, and the graph is in host memory; or the graph is on the device."""

_LOCATIONS = {"gpu": "host", "device": "device"}


@dataclass(frozen=True)
class Choice:
    """A candidate to run, and the measurements behind it.

    Attributes
    ----------
    algorithm : str
    options : mapping of str to object
        Where they differ from the defaults.
    width : int
    gpu : str or None
        *host* or *device* where the algorithm runs on a GPU; see `GPU`.
    margin : float or None
        Time of the next best algorithm in this cell over this one's; None where there was no other.
    times : mapping of str to float
        Every usable candidate's time over the best one's, ascending.
    m, density : int, float
        The cell that decided: edges, and edges per vertex.
    kinds : tuple of str
        The kinds of weights that it stands for.
    machine : str
        The machine of the measurements.
    extrapolated : str
        How the graph lies outside the table; empty if it does not.
    seconds : float
        Time of the best candidate in that cell.
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
"""Our algorithm on a GPU, where its calls also check arrays that are in host memory."""

FALLBACK = Choice("filter-boruvka", 1)
FALLBACK_ON_DEVICE = Choice(OURS_ON_GPU, 1, options={"start": "edges"}, gpu="device")
"""The choice if nothing was measured."""


@dataclass(frozen=True)
class Candidate:
    """A candidate of the table: algorithm, options as `Algorithm.parse_slug` reads them, and place."""

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
        """Location of the graph if this runs on a GPU."""
        return _LOCATIONS.get(self.place)

    @property
    def width(self) -> int:
        """Cores that it takes; 1 on a GPU."""
        return 1 if self.gpu else int(self.place)

    def fits(self, width: int, gpu: str | None) -> bool:
        """Whether it can run on `width` cores, or on a GPU with the graph at `gpu`."""
        if gpu == "device" or self.gpu:
            return self.gpu == gpu
        return self.width <= width


def for_one_solve(algorithm: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options of an algorithm for one solve of a graph that is given as edges.

    Rows of the graph save a GPU less time than it takes to make them.

    Examples
    --------
    >>> for_one_solve("filter-boruvka-cuda", {"seed": 2})
    {'start': 'edges', 'seed': 2}
    """
    return {**({"start": "edges"} if algorithm == OURS_ON_GPU else {}), **options}
