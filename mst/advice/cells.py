"""A table of measurements in cells, and the search for the cell nearest to a graph."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from math import inf, log2
from statistics import fmean
from typing import Any, NamedTuple

from mst import registry
from mst.advice.candidates import FALLBACK, FALLBACK_ON_DEVICE, GPU, Candidate, Choice
from mst.advice.kinds import KINDS

_STEPS = 4
"""Sizes are looked up in steps of a quarter of an octave."""

HOPELESS = 2.5
"""A candidate this many times slower than another on the same hardware may be missing from a cell."""

INSPECTION = 1e-5
"""Seconds for inspecting a few weights: 10 to 12 µs on one core of an EPYC."""

_OTHER_KEYS, _OTHER_WEIGHTS = 1.0, 3.0
"""Distances, in octaves of m, that are added between *wide* and *random* weights, and between *local* and others.

Local weights change the choice more than 64-bit keys: for 0.5 M vertices, 4 M edges and int64 weights, the best
algorithm of the nearest cell with local weights took 181 ms, that of the nearest cell with random weights 38 ms (one
core of an EPYC).

The smallest graphs with local weights in the table have 30,000 edges. On 32 to 128 vertices with 16 to 32 edges each,
`prim-dense` takes 0.75 to 1.0 times as long as `kruskal` with local weights, as with random ones.
"""


class _Cell(NamedTuple):
    """A cell of the table, the binary logarithms of its edges and density, and the usable candidates in it."""

    log_m: float
    log_density: float
    facts: Mapping[str, Any]
    candidates: list[Candidate]

    def seconds(self, candidate: Candidate) -> float:
        """Return the measured time of a candidate."""
        return self.facts["times"][str(candidate)]


class _Question(NamedTuple):
    """The size and density of a graph in steps of the table, its weights, and the hardware and algorithms to use."""

    size: int
    density: int
    weights: str
    width: int
    gpu: str | None
    without: frozenset[str]


class Table:
    """Cells of one machine, and a cache of answers.

    Parameters
    ----------
    data : mapping
        ``machine`` is its name in words. ``cells`` are mappings with ``m``, ``density``, the ``kinds`` of weights that
        the cell stands for, and ``times`` (seconds by candidate). ``checked``, if choices were tried on graphs outside
        the table, has the number of ``cases``, and of ``good`` ones, within 20 % of the best.
    """

    def __init__(self, data: Mapping[str, Any]):
        self.machine: str = data["machine"]
        self.cells: list[dict[str, Any]] = list(data["cells"])
        self.checked: Mapping[str, int] | None = data.get("checked")
        self._cells = [
            _Cell(log2(cell["m"]), log2(cell["density"]), cell, list(map(Candidate.parse, cell["times"])))
            for cell in self.cells
        ]
        self.widths = sorted({c.width for cell in self._cells for c in cell.candidates if not c.gpu})
        # A report asks about hundreds of graphs on the same hardware, a loop over small graphs about one at a time.
        self._nearest, self._usable = cache(self._nearest_choice), cache(self._usable_cells)
        self._uninspected = cache(self._choice_uninspected)

    def choose(
        self,
        n: int,
        m: int,
        *,
        weights: str = KINDS[0],
        width: int = 1,
        gpu: str | None = None,
        without: frozenset[str] = frozenset(),
    ) -> Choice:
        """Return the measured best for a graph of `n` vertices and `m` undirected edges.

        This is the best candidate of the nearest cell. Weights matter only for algorithms on one core.

        Parameters
        ----------
        n, m : int
        weights : str
            One of `mst.advice.kinds.KINDS`.
        width : int
            Cores that may be used; the choice may take fewer.
        gpu : str, optional
            *host* if a GPU may be used and the graph is in host memory, *device* if the graph is on the device.
        without : frozenset of str
            Algorithms not to choose.

        Examples
        --------
        >>> from mst import advice
        >>> advice.table().choose(1_000_000, 1_500_000).algorithm
        'filter-boruvka'
        """
        if weights not in KINDS:
            raise ValueError(f"weights must be one of {', '.join(KINDS)}, got {weights!r}")
        if gpu not in GPU:
            raise ValueError(f"gpu must be one of None, 'host' and 'device', got {gpu!r}")
        return self._answer(_Question(*_steps(n, m), weights, width, gpu, without))

    def choose_uninspected(
        self,
        n: int,
        m: int,
        *,
        wide: bool = True,
        width: int,
        gpu: str | None,
        without: frozenset[str] = frozenset(),
    ) -> Choice | None:
        """Return the choice without inspecting weights, or None if inspecting them pays.

        Every graph pays for the inspection, but only some kinds of weights gain by it: the mean gain over all kinds
        decides. Weights can be *wide* only if their dtype is.
        """
        return self._uninspected(*_steps(n, m), wide, width, gpu, without)

    def _choice_uninspected(
        self, size: int, density: int, wide: bool, width: int, gpu: str | None, without: frozenset[str]
    ) -> Choice | None:
        choices = [
            self._answer(_Question(size, density, kind, width, gpu, without))
            for kind in KINDS
            if wide or kind != "wide"
        ]
        usual = choices[0]
        name = next(iter(usual.times), "")
        lost = fmean(choice.seconds * (choice.times.get(name, HOPELESS) - 1) for choice in choices)
        return None if usual.times and lost > INSPECTION else usual

    def winners(self, width: int) -> list[Candidate]:
        """Return the candidates that are the fastest in some cell on up to `width` cores, in the table's order."""
        usable = self._usable(width, None, frozenset())
        return list(dict.fromkeys(min(cell.candidates, key=cell.seconds) for cell in usable))

    def _answer(self, asked: _Question) -> Choice:
        """Return the choice; weights matter only if random ones lead to an algorithm on one core."""
        usual = self._nearest(asked._replace(weights=KINDS[0]))
        if usual.gpu or usual.width > 1 or asked.weights == KINDS[0]:
            return usual
        return self._nearest(asked._replace(width=1, gpu=None))

    def _nearest_choice(self, asked: _Question) -> Choice:
        """Return the best candidate of the nearest cell in which one can run."""
        log_m, log_density = asked.size / _STEPS, asked.density / _STEPS
        usable = self._usable(asked.width, asked.gpu, asked.without)
        if not usable:
            return FALLBACK_ON_DEVICE if asked.gpu == "device" else FALLBACK

        def distance(cell: _Cell) -> float:
            near = abs(log_m - cell.log_m) + abs(log_density - cell.log_density)
            return near + _distance_of_weights(asked.weights, cell.facts["kinds"])

        nearest = min(usable, key=distance)
        sizes, kinds = [cell.log_m for cell in usable], nearest.facts["kinds"]
        outside = []
        if not min(sizes) - 1 <= log_m <= max(sizes) + 1:
            outside.append(f"m: measured from {2 ** min(sizes):,.0f} to {2 ** max(sizes):,.0f} edges")
        if asked.weights not in kinds:
            outside.append(f"weights: measured with {', '.join(kinds)} ones, not with {asked.weights} ones")
        return self._choice(nearest, asked.width, "; ".join(outside))

    def _usable_cells(self, width: int, gpu: str | None, without: frozenset[str]) -> list[_Cell]:
        """Return the cells with candidates that can run on this hardware, each with these candidates alone."""
        usable = []
        for cell in self._cells:
            fitting = [c for c in cell.candidates if c.fits(width, gpu) and c.algorithm not in without]
            if fitting:
                usable.append(cell._replace(candidates=fitting))
        # A cell says nothing about hardware that it was not measured on, unless it is too small for that hardware.
        tried = [cell for cell in usable if self._was_tried(cell, width, gpu)]
        least = min((cell.log_m for cell in tried), default=inf)
        return [cell for cell in usable if cell.log_m < least or cell in tried]

    def _was_tried(self, cell: _Cell, width: int, gpu: str | None) -> bool:
        """Return whether a cell was measured on the GPU, or else on at least two cores and a quarter of `width`."""
        if gpu:
            return any(candidate.gpu for candidate in cell.candidates)
        cores = min(width, max(self.widths, default=1))
        return any(candidate.width >= max(min(cores, 2), cores // 4) for candidate in cell.candidates)

    def _choice(self, cell: _Cell, width: int, outside: str) -> Choice:
        """Return the fastest candidate of a cell."""
        ranked = sorted(cell.candidates, key=cell.seconds)
        best = ranked[0]
        least = cell.seconds(best)
        times = {str(candidate): cell.seconds(candidate) / least for candidate in ranked}
        others = [times[str(candidate)] for candidate in ranked if candidate.algorithm != best.algorithm]
        algorithm = registry.get(best.algorithm)
        widest = max(candidate.width for candidate in ranked)
        return Choice(
            algorithm=best.algorithm,
            # If the largest measured width was the fastest, all cores are used.
            width=width if best.width == widest > 1 else best.width,
            margin=others[0] if others else None,
            times=times,
            machine=self.machine,
            options=algorithm.changed_options(best.slug),
            gpu=best.gpu,
            m=cell.facts["m"],
            density=cell.facts["density"],
            kinds=tuple(cell.facts["kinds"]),
            extrapolated=outside,
            seconds=least,
        )


def _distance_of_weights(weights: str, kinds: Collection[str]) -> float:
    """Return the distance, in octaves of m, between kinds of weights: a graph's and those of a cell."""
    if weights in kinds:
        return 0.0
    return _OTHER_WEIGHTS if weights == "local" or set(kinds) == {"local"} else _OTHER_KEYS


def _steps(n: int, m: int) -> tuple[int, int]:
    """Return the size and the density of a graph in steps of the table."""
    return round(_STEPS * log2(max(m, 1))), round(_STEPS * log2(max(m / max(n, 1), 0.1)))
