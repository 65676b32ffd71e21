"""The decisions of Filter-Borůvka: how many edges are light, when another filter pays off, how large a batch is.

They affect only the running time: any value gives the same forest. The drivers in `mst.algorithms` (one core, threads,
ranks, hosts) and the proof share the rules, each with a separate `Policy`. Below, *ids are local* means that most edges
connect vertices with nearby ids, and *weights follow rows* that edges in nearby rows mostly have similar weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt

MOST_BATCHES = 255
"""Limit on batches per round: the number of an edge's batch is stored in a byte."""

SELECTIVE = 128
"""If fewer than one edge in this many is selected, most blocks of edges have none and are skipped as a whole."""


@dataclass(frozen=True)
class Policy:
    """Constants of the method; the figures behind them are in ``docs/design-notes/``.

    Attributes
    ----------
    light : float
        Light edges per tree. Slightly more than one edge per tree joins most vertices into one tree, the giant, so that
        nearly all further edges close cycles.
    take_all : float
        Share of light edges above which all edges are treated as light: a filter would read nearly all of them twice.
    fewest_to_filter : int
        One core joins all edges at once if the number of heavy edges times the edges per vertex is below this: as long
        as all data fit in its caches, joining an edge is as fast as filtering it (``one-core.md``).
    fewest_at_vertices, per_vertex_at_vertices : int and float
        In graphs of at least this many edges per worker and per vertex, one worker tests on a sample whether weights
        follow vertices (``one-core.md``), while the others wait (``many-cores.md``, step 79).
    giant : float
        If one tree has more than this share of the vertices, edges are tested against a bitmap of that tree instead of
        roots. Threads and ranks also copy the edges that leave the tree, which costs more (``many-cores.md``, step 21).
    max_kept_share : float
        If a filter kept more than this share of the heavy edges, no further filter is tried: weights then depend
        on communities (``many-cores.md``, step 23). Threads and ranks decide by `expected_drop_share`, and do not look
        up the roots of selected edges if more than this share would be kept (step 49).
    most_further, per_vertex_further : float
        Dense graphs have at least `per_vertex_further` edges per vertex. If a filter of a dense graph would keep more
        than `max_kept_share` and most vertices are still apart, each tree joins its lightest edge. If fewer are, the
        lightest edges that join all trees in a sample come next, up to the share `most_further` (``one-core.md``).
    few_trees, least_open : float
        In dense graphs, trees join their lightest edges again and again while more than the share `least_open` of the
        heavy edges join two trees and the trees number at most `few_trees` times the edges per vertex, or a sixteenth
        of that if a filter would drop enough (``one-core.md``).
    closing : float
        If more than this share of one core's batches closed a cycle, and were joined twice, edges that no filter drops
        are sorted and joined one by one instead (``one-core.md``).
    uneven : float
        If one of 64 equal ranges has more than this share of the sampled keys, buckets of equal width are too uneven.
    max_unfiltered : int
        Up to this many edges are joined without a further filter: a sample would cost more.
    reads_per_join : float
        Edges that can be read in the time it takes to scatter and join one. A further filter pays off if it saves
        more time in joining than it takes to read all others again.
    round_cost : int
        Edges that a worker reads in the fixed time of a round, whatever its size: sampling, bounds, and waiting for the
        others. Ranks synchronise about ten times per round (``message-passing.md``), threads three times.
    batches_per_tree : int
        Trees per edge of a batch at width 1: smaller batches gain nothing (``many-cores.md``, step 22).
    batch_wait : float
        The time that each additional worker adds to the two waits of a batch, as the number of edges from which cycle
        edges can be dropped in that time (``many-cores.md``, steps 16 and 17).
    contended : int
        With fewer vertices per worker, as in dense graphs, several workers need the same cache lines of parents at
        once, so that storing an equal value again costs more than a test (``many-cores.md``, step 40).
    crowded : float
        If more than this share of 2048 sampled ends are on the cache lines of earlier ends, workers also need the same
        lines at once, whatever the number of vertices: some are hubs (``many-cores.md``, step 47).
    fewest_edges : int
        Threads take graphs of at least this many edges divided by the number of threads, clipped to the range
        `fewest_for_many` to `fewest_for_few` (``many-cores.md``, steps 48 and 52). Two threads share one core's passes
        over all other graphs of `fewest_for_few` edges or more, and join in stages (steps 54 and 60).
    in_order : int
        Up to this many threads leave rows sorted by weight to one core, which joins them one by one, if ids are local,
        or if rows are also sorted by source and number at least `per_vertex_by_source` per vertex; two threads leave
        all sorted rows to one core. The exception is rows that threads join in order (`per_vertex_in_order`).
    leaving, light_leaving : float
        Each worker solves a block of vertices by itself if at most the share `leaving` of the edges leave their block,
        and at most the share `light_leaving`, times the number of blocks up to six, of the light edges. Light edges
        that leave freeze trees early (``many-cores.md``, step 53); the denser the graph, the more edges are then
        deferred (step 78).
    per_vertex_in_blocks : tuple of three float
        The most edges per vertex at which workers solve blocks: two workers if the rows of a block are scattered, two
        workers otherwise, and more workers (step 78).
    fewest_in_blocks : int
        From this many edges on, solving blocks is faster than one core.
    few_left : int
        Up to this many edges left by the blocks are joined by one thread.
    tile, fewest_for_tiles, left_by_tiles : int, int and float
        If weights follow rows, edges that close cycles among `tile` rows are dropped first, in graphs of at least
        `fewest_for_tiles` edges per vertex, unless more than the share `left_by_tiles` is left (``many-cores.md``, step
        61). A tile is a multiple of 64.
    range, per_vertex_in_order : int and tuple of two float and an int
        If ids are not local, several threads join rows sorted by weight in order, while they filter ranges of about
        `range` later rows. The graph must have at least as many edges per vertex as the first number, and as the second
        times the number of threads. Above the third, two threads leave the rows to one core, which soon has a spanning
        tree (``many-cores.md``, step 67). In other graphs, a round reads only the rows that it may join (step 68).
    per_vertex_by_source : float
        The least edges per vertex at which three or more threads join rows in order if these are also sorted by source
        (step 74).
    smallest_chunk, largest_chunk : int
        Limits on the edges per chunk of the work queue: taking a smaller chunk costs as much as its work, and at the
        end all other workers may wait for a larger one.
    """

    light: float = 1.3
    take_all: float = 0.75
    fewest_to_filter: int = 250_000
    fewest_at_vertices: int = 1 << 13
    per_vertex_at_vertices: float = 1.1
    giant: float = 0.25
    max_kept_share: float = 0.8
    most_further: float = 1 / 8
    per_vertex_further: float = 4.5
    few_trees: float = 2.0
    least_open: float = 1 / 16
    closing: float = 0.25
    uneven: float = 1 / 8
    max_unfiltered: int = 4096
    reads_per_join: float = 10.0
    round_cost: int = 0
    batches_per_tree: int = 128
    batch_wait: float = 15.0
    contended: int = 4096
    crowded: float = 0.1
    fewest_edges: int = 2_000_000
    fewest_for_many: int = 200_000
    fewest_for_few: int = 500_000
    in_order: int = 4
    leaving: float = 1 / 16
    light_leaving: float = 1 / 1024
    per_vertex_in_blocks: tuple[float, float, float] = (2.5, 5, 16)
    fewest_in_blocks: int = 100_000
    few_left: int = 1 << 14
    tile: int = 1 << 15
    fewest_for_tiles: int = 3
    left_by_tiles: float = 0.5
    range: int = 1 << 11
    per_vertex_in_order: tuple[float, float, int] = (3, 1 / 2, 64)
    per_vertex_by_source: float = 1.5
    smallest_chunk: int = 1024
    largest_chunk: int = 1 << 14


ONE_CORE = Policy()

PROOF = Policy(max_kept_share=0.5)
"""A proof sorts its edges, so a filter pays off even if it drops only half of them."""

THREADS = Policy(take_all=1.3 / 1.7, giant=0.5, fewest_at_vertices=100_000, per_vertex_at_vertices=1.75)

RANKS = Policy(take_all=1.3 / 1.7, giant=0.5, round_cost=200_000)
"""The ranks of one host, which share memory."""

HOSTS = Policy(light=2.0, take_all=0.5)
"""Ranks that share no memory: a second filter would take more messages than it saves."""


# -- one core and the proof -------------------------------------------------------------------------------------


def light_edges_by_density(edges: int, trees: int, policy: Policy) -> int:
    """Return how many of `edges` between `trees`, at least one tree, are light on one core.

    The number per tree grows with density, since reading the heavy edges again costs more.
    """
    return int(policy.light * trees * max(1.0, edges / (8 * trees)) ** 0.3)


def takes_all(light: float, edges: float, policy: Policy) -> bool:
    """Return whether to treat all `edges` as light, because `light` of them are nearly all."""
    return light > policy.take_all * edges


def filters(edges: int, vertices: int, policy: Policy) -> bool:
    """Return whether a graph has enough edges for a filter to pay off on one core."""
    return edges * (edges - vertices) >= policy.fewest_to_filter * vertices


def samples_vertices(edges: int, vertices: int, width: int, policy: Policy) -> bool:
    """Return whether a sample is to show if weights follow vertices, whose lightest edges are then joined first."""
    return edges >= max(policy.fewest_at_vertices * width, policy.per_vertex_at_vertices * vertices)


def sample_size(edges: int, light: int) -> int:
    """Return how many of `edges` one core samples, so that about 64 of the `light` lightest are in the sample."""
    return min(32_768, max(1024, 64 * edges // light))


def batch_size(trees: int) -> int:
    """Return the edges per batch on one core: so few that batches rarely close a cycle while there are many trees."""
    return max(8, int(trees ** (1 / 3)))


# -- many workers -----------------------------------------------------------------------------------------------


def draw_count(edges: int, trees: int, width: int) -> int:
    """Return how many of `edges` to sample for `width` workers: more for few trees, and for more workers.

    With few trees, the light edges are a smaller share of all. More workers take larger batches, and a batch that is
    far too large delays them all.
    """
    return int(min(max(64 * width * edges // trees, 4096), 16384, edges))


def light_edges(edges: float, trees: int, policy: Policy) -> float:
    """Return how many of `edges` between `trees` are light: a little more than the trees, or enough to connect all.

    A dense graph that its light edges connect (as ``log(trees) / 2`` edges per vertex connect a random graph) needs no
    second pass over all edges.
    """
    trees = max(trees, 1)
    return trees * max(policy.light, min(edges / trees / 64, log(trees) / 2 + 3))


def expected_drop_share(kept: float, heavy: int) -> float:
    """Return the share of edges that another filter may drop, 0 to 1, expected from one that kept `kept` of `heavy`."""
    return min(1.0, max(0.0, 2 * (1 - kept / max(heavy, 1))))


def batch_count(edges: float, trees: int, width: int, policy: Policy) -> int:
    """Return the number of batches into which to cut `edges` that join `trees`.

    In each batch, all workers wait for each other twice; the larger the last batch, the longer one worker drops its
    cycle edges while the others are idle. The total idle time is smallest if the batch size is proportional to the
    square root of the number of edges.
    """
    size = max(trees // policy.batches_per_tree, int(sqrt(policy.batch_wait * (width - 1) * edges)), 1)
    return int(min(max(edges / size, 1), MOST_BATCHES))


def is_for_one_core(edges: int, width: int, policy: Policy) -> bool:
    """Return whether one core's join is expected to be as fast as that of `width` threads."""
    fewest = min(max(policy.fewest_edges // width, policy.fewest_for_many), policy.fewest_for_few)
    return width <= 2 or edges < fewest


def asks_for_order(edges: int, width: int, policy: Policy) -> bool:
    """Return whether `width` threads check whether rows are sorted by weight, if ids are not local."""
    return edges * width >= 2 * policy.fewest_edges


def joins_in_order(edges: int, vertices: int, width: int, by_source: bool, policy: Policy) -> bool:
    """Return whether `width` threads join rows sorted by weight in order, if ids are not local.

    `by_source` says whether the rows are also sorted by their first ends.
    """
    least, per_thread, _ = policy.per_vertex_in_order
    per_vertex = max(least, per_thread * width)
    if by_source and width > 2:
        per_vertex = min(per_vertex, policy.per_vertex_by_source)
    return edges >= per_vertex * vertices and asks_for_order(edges, width, policy)


def most_in_blocks(vertices: int, width: int, scattered: bool, policy: Policy) -> float:
    """Return the most edges for which `width` workers each solve a block, with `scattered` rows or not."""
    of_two_scattered, of_two, of_more = policy.per_vertex_in_blocks
    return vertices * (of_more if width > 2 else of_two_scattered if scattered else of_two)


def light_share_leaving(vertices: int, edges: int, blocks: int, policy: Policy) -> float:
    """Return the largest share of light edges that may leave their block."""
    return policy.light_leaving * min(blocks, 6) * min(1.0, 4 * vertices / edges) ** 2


def joins_few_trees(edges: int, vertices: int, trees: int, open_share: float, policy: Policy) -> bool:
    """Return whether the lightest edges that leave so few `trees` of a dense graph are joined in place of a filter.

    `open_share` of its heavy edges join two trees.
    """
    most = policy.few_trees * edges / vertices * (1 if open_share > policy.max_kept_share else 1 / 16)
    return open_share > policy.least_open and trees <= most


def has_row_per_worker(edges: int, vertices: int, width: int) -> bool:
    """Return whether so many edges share a vertex that each worker fills a separate table before all are merged."""
    return edges >= 8 * width * vertices


def shares_passes(edges: int, width: int, policy: Policy) -> bool:
    """Return whether `width` threads share the passes over a graph that `is_for_one_core`."""
    return width == 2 and edges >= policy.fewest_for_few
