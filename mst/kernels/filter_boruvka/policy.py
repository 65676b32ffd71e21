"""When an edge is light, when a filter pays, how large a batch is: what Filter-Borůvka decides by counting.

Everything here decides costs and nothing else: any value gives the same forest. One core, threads, ranks, hosts and the
proof share the rules; where measurements say that a constant differs, they have instances of `Policy` side by side.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt

MOST_BATCHES = 255
"""The number of an edge's batch is a byte."""

SELECTIVE = 128
"""Of so many edges one is selected, or fewer: blocks of edges that have none are then passed over as a whole."""


@dataclass(frozen=True)
class Policy:
    """Constants of the method; the figures behind them are in ``docs/performance*.md``.

    Attributes
    ----------
    light : float
        Light edges per tree. A little above 1: most vertices then are in one tree, the giant, and more would be joined
        only to close cycles (``performance.md``, *What it costs*).
    take_all : float
        Share of light edges above which all edges are light: a filter would read nearly everything twice.
    giant : float
        Share of the vertices in one tree from which on a bitmap of that tree stands for all roots. Threads and ranks
        copy the edges that leave it, which costs more than a bitmap (``performance-threads.md``, step 21).
    useless : float
        Share of the heavy edges that a filter kept above which no further one is tried: weights follow communities
        then (``performance-threads.md``, step 23). Threads and ranks weigh that share (`expected_use`).
    uneven : float
        Share of the sampled keys in one of 64 equal ranges from which on equally wide buckets would be too unequal.
    few : int
        So many edges are joined without any further filter: a sample would cost more.
    rescan : float
        Edges that can be read in the time in which one is scattered and joined. A further filter has to spare the
        joining of so many that reading all others again pays.
    round_cost : int
        Edges that a worker reads in the time that a round takes whatever its size: sampling, bounds, and waiting for
        the others. Ranks meet some ten times a round (``performance-mpi.md``, step 8), threads three times.
    batches_per_tree : int
        Trees over the edges of a batch at width 1: smaller batches gain nothing (``performance-threads.md``, step 22).
    wait : float
        Edges whose cycles are dropped in the time that both waits of a batch take, for each other worker
        (``performance-threads.md``, steps 16 and 17).
    contended : int
        Vertices per worker below which the parents' cache lines are wanted by several workers at once, so that
        rewriting what is there already costs more than a test (dense graphs; ``performance-threads.md``).
    smallest_chunk, largest_chunk : int
        Edges of a chunk of the work queue: below, taking it costs as much as the work; above, workers wait for one.
    """

    light: float = 1.3
    take_all: float = 0.75
    giant: float = 0.25
    useless: float = 0.8
    uneven: float = 1 / 8
    few: int = 4096
    rescan: float = 10.0
    round_cost: int = 0
    batches_per_tree: int = 128
    wait: float = 15.0
    contended: int = 4096
    smallest_chunk: int = 1024
    largest_chunk: int = 1 << 14


ONE_CORE = Policy()

PROOF = Policy(useless=0.5)
"""A proof sorts what it takes, so that a filter which spares half of it pays already."""

THREADS = Policy(take_all=1.3 / 1.7, giant=0.5)

RANKS = Policy(take_all=1.3 / 1.7, giant=0.5, round_cost=200_000)
"""The ranks of one host, which share memory."""

HOSTS = Policy(light=2.0, take_all=0.5)
"""Ranks that share no memory: a second filter would cost more messages than the edges that it spares."""


# -- one core and the proof -------------------------------------------------------------------------------------


def light_edges_by_density(edges: int, trees: int, policy: Policy) -> int:
    """Return how many of `edges` between `trees`, at least one, are light on one core.

    More where edges are so many that reading them again costs more.
    """
    return int(policy.light * trees * max(1.0, edges / (8 * trees)) ** 0.3)


def takes_all(light: float, edges: float, policy: Policy) -> bool:
    """Return whether so many light edges are nearly all of the `edges`."""
    return light > policy.take_all * edges


def sample_size(edges: int, light: int) -> int:
    """Return how many of `edges` one core samples to find about the `light` lightest: some 64 of these, at least."""
    return min(32_768, max(1024, 64 * edges // light))


def bucket_size(trees: int) -> int:
    """Return the size of a batch on one core: so few that hardly any batch closes a cycle while trees are many."""
    return max(8, int(trees ** (1 / 3)))


# -- many workers -----------------------------------------------------------------------------------------------


def draws(edges: int, trees: int, width: int) -> int:
    """Return how many of `edges` to sample: more where the light ones are a small share of them, and at more width.

    Batches are larger there, and one that was drawn far too large holds all workers up.
    """
    return int(min(max(64 * width * edges // trees, 4096), 16384, edges))


def light_edges(edges: float, trees: int, policy: Policy) -> float:
    """Return how many of `edges` between `trees` are light: a little more than there are trees, or what connects all.

    Connected already by its light edges (as a random graph is from ``log(trees) / 2`` edges a vertex on), a dense graph
    needs no second look at all edges.
    """
    trees = max(trees, 1)
    return trees * max(policy.light, min(edges / trees / 64, log(trees) / 2 + 3))


def expected_use(kept: float, heavy: int) -> float:
    """Return what share of the heavy edges another filter may drop, 0 to 1: one that kept most will do so again."""
    return min(1.0, max(0.0, 2 * (1 - kept / max(heavy, 1))))


def batch_count(edges: float, trees: int, width: int, policy: Policy) -> int:
    """Return into how many batches to cut `edges` that join `trees`.

    Each has all workers wait for each other twice, and the larger it is, the longer one of them drops its cycle edges:
    those of the last batch, while the others have nothing left to do. The sum of both is least where a batch is as the
    root of the edges.
    """
    size = max(trees // policy.batches_per_tree, int(sqrt(policy.wait * (width - 1) * edges)), 1)
    return int(min(max(edges / size, 1), MOST_BATCHES))


def is_contended(vertices: int, width: int, policy: Policy) -> bool:
    """Return whether the cache lines that all workers want are a good share of those of the parents."""
    return width > 1 and vertices < policy.contended * width
