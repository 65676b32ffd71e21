"""Generated graphs: reproducible by seed, and as their definitions require."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from types import SimpleNamespace

import networkx as nx
import numba
import numpy as np
import psutil
import pytest
import scipy.sparse.csgraph
import scipy.spatial
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

import mst
from mst.cli import main
from mst.errors import ConfigError, InputError, OutOfMemoryError
from mst.generators import GENERATORS, binomial, generate, geometric
from mst.generators.delaunay import _along_a_line
from mst.generators.points import BITS, random_points
from mst.kernels.generate import delaunay as generate_delaunay
from mst.kernels.generate import hilbert
from mst.kernels.primitives import pairs
from mst.kernels.union_find import connectivity
from mst.weights import WeightSpec

# Parameters, and the SHA-256 of n, u, v and w. A change of these invalidates every measurement on generated graphs.
SMALL: dict[str, tuple[dict, str]] = {
    "barabasi-albert": (dict(n=200, k=3), "a2248cfde088d01c"),
    "binomial": (dict(n=100, p=0.08), "9c1c139236ea450c"),
    "caveman": (dict(cliques=7, size=6), "b75a609a7bb46c49"),
    "circulant": (dict(n=60, offsets=(1, 7, 30)), "1b08680bfe569a10"),
    "complete": (dict(n=30), "7455ade5dac58a44"),
    "connected-caveman": (dict(cliques=7, size=6), "91e7fefcd902b6c7"),
    "delaunay": (dict(n=300), "e299e1edfebf2603"),
    "dense": (dict(n=40), "12339112d83c147d"),
    "geometric": (dict(n=300), "4ccf28e5eb881e87"),
    "grid": (dict(rows=12, columns=17), "cf6c5b21d3629d67"),
    "hypercube": (dict(dimension=6), "2dc0981beaabfbc2"),
    "k-out": (dict(n=150, k=3), "952eb8368c292e60"),
    "kronecker": (dict(scale=7, edge_factor=4), "28cc01869aa05e6f"),
    "path": (dict(n=50), "51298efe23e27c1d"),
    "power-law": (dict(n=200, m=700, size=3), "5ecc7aba25372f2e"),
    "rmat": (dict(scale=8, m=900), "ccdd3519b344daea"),
    "road": (dict(rows=14, columns=15), "4abba8cb888de0f0"),
    "star": (dict(n=50), "79072b451d87cc6b"),
    "tree": (dict(n=120), "71238f2394ad138e"),
    "uniform": (dict(n=120, m=400), "6741c7dcd350fb37"),
    "watts-strogatz": (dict(n=100, k=6, p=0.3), "a36a5e1800407188"),
}


def digest(graph: mst.Graph) -> str:
    total = hashlib.sha256(str(graph.n).encode())
    for array, kind in ((graph.u, "<i8"), (graph.v, "<i8"), (graph.w, "<i4")):
        total.update(np.ascontiguousarray(array.astype(kind)).data)
    return total.hexdigest()[:16]


def make(name: str, **more) -> mst.Graph:
    return generate(name, **{**SMALL[name][0], **more})


def edge_set(graph: mst.Graph) -> set[tuple[int, int]]:
    return set(zip(graph.u.tolist(), graph.v.tolist(), strict=True))


def ends(edges: np.ndarray) -> set[tuple[int, int]]:
    """Return packed pairs as pairs of ids."""
    return set(zip((edges >> np.uint64(32)).tolist(), (edges & np.uint64(2**32 - 1)).tolist(), strict=True))


def degrees(graph: mst.Graph) -> np.ndarray:
    return np.bincount(graph.u, minlength=graph.n) + np.bincount(graph.v, minlength=graph.n)


def component_count(graph: mst.Graph) -> int:
    matrix = scipy.sparse.coo_array((np.ones(graph.m), (graph.u, graph.v)), shape=(graph.n, graph.n))
    return scipy.sparse.csgraph.connected_components(matrix, directed=False)[0] if graph.n else 0


def networkx_edges(graph: nx.Graph) -> set[tuple[int, int]]:
    return {(min(a, b), max(a, b)) for a, b in graph.edges()}


@pytest.fixture(params=[1, 2], ids=["width-1", "width-2"])
def width(request):
    before = numba.get_num_threads()
    if request.param > numba.config.NUMBA_NUM_THREADS:
        pytest.skip("this machine has one core")
    numba.set_num_threads(request.param)
    yield request.param
    numba.set_num_threads(before)


# --- every generator --------------------------------------------------------------------------------------


def test_every_generator_is_tested():
    assert list(SMALL) == list(GENERATORS)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] * (n in ("delaunay", "geometric"))) for n in SMALL]
)
def test_the_same_seed_makes_the_same_graph(name, width):
    assert digest(make(name)) == SMALL[name][1]
    fixed = ("caveman", "circulant", "complete", "connected-caveman", "grid", "hypercube", "path", "star")
    assert (edge_set(make(name, seed=2)) == edge_set(make(name))) == (name in fixed)
    weights = [make(name, seed=seed, order="sorted").w for seed in (1, 2)]
    assert not np.array_equal(*weights)


@pytest.mark.parametrize("name", SMALL)
def test_edges_are_simple_and_in_range(name):
    graph = make(name)
    assert graph.u.dtype == graph.v.dtype == np.int32
    assert (graph.u < graph.v).all()
    assert graph.u.min() >= 0 and graph.v.max() < graph.n
    assert len(edge_set(graph)) == graph.m
    assert graph.w.min() >= 1 and graph.name == name


@pytest.mark.parametrize("name", SMALL)
def test_orders_hold_the_same_edges_with_the_same_weights(name):
    shuffled, ordered = make(name), make(name, order="sorted")
    rows = np.lexsort((ordered.v, ordered.u))
    assert np.array_equal(rows, np.arange(ordered.m))
    back = np.lexsort((shuffled.v, shuffled.u))
    for field in ("u", "v", "w"):
        assert np.array_equal(getattr(shuffled, field)[back], getattr(ordered, field))
    # Shuffled rows have no trend: rank correlation of row and second end, five standard deviations.
    correlation = scipy.stats.spearmanr(np.arange(shuffled.m), shuffled.v).statistic
    assert abs(correlation) < 5 / math.sqrt(shuffled.m)


@pytest.mark.parametrize("name", SMALL)
def test_connected_graphs_are_connected(name):
    parameters = {"circulant": dict(offsets=(2, 3)), "geometric": dict(radius=0.2)}.get(name, {})
    for seed in range(3):
        graph = make(name, connected=True, seed=seed, **parameters)
        assert component_count(graph) == 1
        assert (graph.u < graph.v).all() and len(edge_set(graph)) == graph.m


@pytest.mark.parametrize("name", [name for name, known in GENERATORS.items() if known.connected == "always"])
def test_generators_of_connected_graphs_always_connect(name):
    assert component_count(make(name)) == 1


@pytest.mark.parametrize("name", SMALL)
def test_relabelling_keeps_the_structure(name):
    plain, renamed = make(name, relabel=False), make(name, relabel=True)
    assert sorted(degrees(plain)) == sorted(degrees(renamed))
    assert component_count(plain) == component_count(renamed)
    assert name == "complete" or edge_set(plain) != edge_set(renamed)
    assert (renamed.u < renamed.v).all()


@pytest.mark.parametrize(
    ("name", "parameters", "n", "m"),
    [
        ("binomial", dict(n=0, p=0.5), 0, 0),
        ("binomial", dict(n=9, p=0), 9, 0),
        ("binomial", dict(n=9, p=1), 9, 36),
        ("caveman", dict(cliques=0, size=3), 0, 0),
        ("caveman", dict(cliques=3, size=1), 3, 0),
        ("caveman", dict(cliques=1, size=4, connected=True), 4, 6),
        ("circulant", dict(n=1, offsets=[]), 1, 0),
        ("circulant", dict(n=2, offsets=1), 2, 1),
        ("complete", dict(n=0), 0, 0),
        ("complete", dict(n=1), 1, 0),
        ("delaunay", dict(n=0), 0, 0),
        ("delaunay", dict(n=1), 1, 0),
        ("delaunay", dict(n=2), 2, 1),
        ("delaunay", dict(n=3), 3, 3),
        ("dense", dict(n=1, connected=True), 1, 0),
        ("geometric", dict(n=0), 0, 0),
        ("geometric", dict(n=1, connected=True), 1, 0),
        ("geometric", dict(n=20, radius=0), 20, 0),
        ("geometric", dict(n=20, radius=2), 20, 190),
        ("grid", dict(rows=1, columns=1), 1, 0),
        ("grid", dict(rows=1, columns=5), 5, 4),
        ("grid", dict(rows=5, columns=1), 5, 4),
        ("hypercube", dict(dimension=0), 1, 0),
        ("k-out", dict(n=0), 0, 0),
        ("k-out", dict(n=1, k=0), 1, 0),
        ("k-out", dict(n=2, k=5), 2, 1),
        ("k-out", dict(n=5, k=0, m=0), 5, 0),
        ("path", dict(n=0), 0, 0),
        ("path", dict(n=1), 1, 0),
        ("power-law", dict(n=0, m=0), 0, 0),
        ("power-law", dict(n=1, m=0, connected=True), 1, 0),
        ("power-law", dict(n=5, m=2, components=3), 5, 2),
        ("power-law", dict(n=9, m=36, size=4), 9, 36),
        ("rmat", dict(scale=0), 1, 0),
        ("rmat", dict(scale=1, m=1), 2, 1),
        ("rmat", dict(scale=3, m=0), 8, 0),
        ("rmat", dict(scale=3, m=7, connected=True), 8, 7),
        ("rmat", dict(scale=4, m=120), 16, 120),
        ("road", dict(rows=1, columns=1), 1, 0),
        ("road", dict(rows=3, columns=3, share=1, connected=True), 9, 12),
        ("road", dict(rows=4, columns=4, share=0), 16, 0),
        ("road", dict(rows=1, columns=1, bends=5, largest_degree=6, connected=True), 3, 2),
        ("star", dict(n=0), 0, 0),
        ("tree", dict(n=0), 0, 0),
        ("tree", dict(n=1, shape="uniform"), 1, 0),
        ("tree", dict(n=2, shape="uniform"), 2, 1),
        ("tree", dict(n=2, shape="binary"), 2, 1),
        ("uniform", dict(n=0, m=0), 0, 0),
        ("uniform", dict(n=0, m=0, connected=True), 0, 0),
        ("uniform", dict(n=1, m=0, connected=True), 1, 0),
        ("uniform", dict(n=5, m=10), 5, 10),
        ("uniform", dict(n=5, m=10, connected=True), 5, 10),
        ("uniform", dict(n=5, m=4, connected=True), 5, 4),
        ("watts-strogatz", dict(n=0, k=0), 0, 0),
        ("watts-strogatz", dict(n=5, k=4, p=1), 5, 10),
        ("watts-strogatz", dict(n=3, k=2, p=1), 3, 3),
    ],
)
def test_smallest_and_fullest_graphs(name, parameters, n, m):
    for order in ("shuffled", "sorted"):
        graph = generate(name, order=order, **parameters)
        assert (graph.n, graph.m) == (n, m)
        assert len(edge_set(graph)) == m and (graph.u < graph.v).all()


@pytest.mark.parametrize("name", ["uniform", "rmat", "watts-strogatz"])
def test_distinct_weights(name):
    graph = make(name, weights=WeightSpec("int32", 1, 1000, distinct=True))
    assert len(np.unique(graph.w)) == graph.m


# --- random graphs ----------------------------------------------------------------------------------------


@given(st.integers(0, 40), st.data())
def test_uniform_has_exactly_m_edges(n, data):
    everything = n * (n - 1) // 2
    connected = data.draw(st.booleans())
    m = data.draw(st.integers(max(n - 1, 0) if connected else 0, everything))
    graph = generate("uniform", n=n, m=m, connected=connected, seed=data.draw(st.integers(0, 99)))
    assert len(edge_set(graph)) == graph.m == m
    assert not connected or component_count(graph) == min(n, 1)


@pytest.mark.parametrize("connected", [False, True])
def test_uniform_chooses_every_pair_equally_often(connected):
    """Counted over many seeds, with and without a spanning tree among the edges."""
    n, m, tries = 7, 9, 500
    times = Counter(
        pair
        for seed in range(tries)
        for pair in edge_set(generate("uniform", n=n, m=m, seed=seed, connected=connected))
    )
    mean = tries * m / 21
    assert len(times) == 21
    assert sum((count - mean) ** 2 / mean for count in times.values()) < 20 + 5 * math.sqrt(40)


def test_uniform_degrees_are_binomial():
    graph = generate("uniform", n=20_000, m=80_000)
    seen = np.bincount(degrees(graph), minlength=25)[:25]
    expected = scipy.stats.poisson.pmf(np.arange(25), 8) * graph.n
    likely = expected > 20
    assert ((seen - expected)[likely] ** 2 / expected[likely]).sum() < 60


def test_dense_has_nine_tenths_of_all_pairs():
    assert generate("dense", n=200).m == 17_910
    assert generate("dense", n=200, share="2/3").m == 13_267


def test_k_out_leaves_no_vertex_isolated():
    graph = generate("k-out", n=3000, k=4)
    assert degrees(graph).min() >= 4
    assert 11_950 < graph.m < 12_000  # k² arcs on average repeat an edge
    assert generate("k-out", n=3000, k=4, m=11_990).m == 11_990
    assert generate("k-out", n=3000, k=4, m=12_500).m == 12_500


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("k-out", dict(n=500, k=1)),
        ("geometric", dict(n=20, radius=0.3)),
        ("watts-strogatz", dict(n=30, k=2, p=0.5, seed=2)),
    ],
)
def test_graphs_are_tried_until_one_is_connected(name, parameters):
    assert component_count(generate(name, **parameters)) > 1
    assert component_count(generate(name, **parameters, connected=True)) == 1


def test_graphs_that_are_never_connected_are_given_up():
    with pytest.raises(InputError, match="none of 100 attempts was connected: raise k"):
        generate("k-out", n=5, k=0, connected=True)


def test_binomial_edge_counts_have_the_right_distribution():
    """The variates of evenly spaced bits have the probabilities of the distribution."""
    for trials, p in ((12, 0.3), (5000, 0.01), (300, 0.97), (40, 1e-6)):
        spread = Counter(binomial.binomial_quantile(trials, p, bits) for bits in range(0, 2**64, 2**64 // 1000))
        for k in range(trials + 1):
            expected = scipy.stats.binom.pmf(k, trials, p)
            assert abs(spread[k] / spread.total() - expected) < 2e-3
    # The sum of all probabilities is rounded to less than this number.
    assert binomial.binomial_quantile(12, 0.7, 2**64 - 1) == 9


def test_binomial_mass_is_more_exact_than_logarithms_of_doubles():
    exact = math.comb(10**4, 2500) * 3**7500 * 10**30 // 4**10_000
    assert binomial._mass(10**4, 0.25, 2500) == pytest.approx(exact / 1e30, rel=1e-15)
    assert binomial._mass(4, 0.5, 2) == 0.375
    assert float(binomial._log_factorial(256)) == pytest.approx(math.lgamma(257), rel=1e-15)


def test_binomial_graphs_of_bhargava_and_zaia():
    graph = generate("binomial", n=350_000, p=8e-6)
    mean = 8e-6 * 350_000 * 349_999 / 2
    assert abs(graph.m - mean) < 5 * math.sqrt(mean)


def test_rmat_fills_quarters_by_their_probabilities():
    graph = generate("rmat", scale=10, edge_factor=100, simple=False, a=0.5, b=0.2, c=0.1)
    assert graph.m == 102_400
    for level in (0, 4, 9):
        u, v = graph.u >> level & 1, graph.v >> level & 1
        seen = np.bincount(2 * u + v)
        expected = np.array([0.5, 0.2, 0.1, 0.2]) * graph.m
        assert ((seen - expected) ** 2 / expected).sum() < 30  # three degrees of freedom: 1.4e-6
    assert (graph.u == graph.v).any() and (graph.u > graph.v).any()


def test_rmat_makes_the_drawn_arcs_simple():
    drawn = generate("rmat", scale=7, simple=False, order="sorted")
    rows = list(zip(drawn.u.tolist(), drawn.v.tolist()))
    assert rows == sorted(rows)
    simple = generate("rmat", scale=7)
    expected = {(min(a, b), max(a, b)) for a, b in edge_set(drawn) if a != b}
    assert edge_set(simple) == expected
    assert drawn.m == 8 * 128 > simple.m


@pytest.mark.parametrize("scale", [1, 2, 3, 5, 8])
def test_rmat_reaches_every_vertex_of_any_scale(scale):
    graph = generate("rmat", scale=scale, edge_factor=400, a=0.25, b=0.25, c=0.25)
    assert graph.n == 2**scale
    assert graph.m > 0.94 * graph.n * (graph.n - 1) / 2


def test_rmat_of_exactly_m_edges_is_a_sample_of_a_larger_graph():
    graph = generate("rmat", scale=8, m=3000)
    assert graph.m == 3000
    assert generate("rmat", scale=8, m=3000, connected=True).m == 3000
    assert generate("rmat", scale=8, edge_factor=2, connected=True).m <= 512
    assert generate("rmat", scale=6, m=63, connected=True).m == 63  # the tree alone
    multigraph = generate("rmat", scale=6, m=200, connected=True, simple=False)
    assert multigraph.m == 200 and component_count(multigraph) == 1


def test_kronecker_ids_do_not_reveal_degrees():
    graph = generate("kronecker", scale=12)
    plain = generate("kronecker", scale=12, relabel=False)
    assert np.argmax(degrees(plain)) == 0
    ranks = scipy.stats.spearmanr(np.arange(graph.n), degrees(graph)).statistic
    assert abs(ranks) < 5 / math.sqrt(graph.n)
    assert scipy.stats.spearmanr([x.bit_count() for x in range(plain.n)], degrees(plain)).statistic < -0.9


def test_rmat_statistics_follow_the_published_graph():
    """The ECL-MST paper's rmat16: 3,900 components, maximum degree 569. Not of GTgraph's defaults."""
    graph = generate("rmat", scale=16, a=0.55, b=0.1, c=0.1)
    assert abs(graph.m - 483_933) < 0.005 * 483_933
    assert abs(component_count(graph) - 3_900) < 0.08 * 3_900
    assert 500 < degrees(graph).max() < 640


def test_watts_strogatz_rewires_a_share():
    n, k, p = 4000, 6, 0.25
    lattice = edge_set(generate("watts-strogatz", n=n, k=k, p=0))
    assert lattice == networkx_edges(nx.watts_strogatz_graph(n, k, 0))
    graph = generate("watts-strogatz", n=n, k=k, p=p)
    moved = n * k // 2 - len(lattice & edge_set(graph))
    assert graph.m == n * k // 2
    assert abs(moved - p * graph.m) < 5 * math.sqrt(graph.m * p * (1 - p))
    clustering = nx.average_clustering(nx.Graph(list(edge_set(graph))))
    theirs = nx.average_clustering(nx.watts_strogatz_graph(n, k, p, seed=1))
    assert abs(clustering - theirs) < 0.03


@given(st.integers(1, 16), st.data())
def test_watts_strogatz_stays_simple_when_crowded(n, data):
    k = 2 * data.draw(st.integers(0, (n - 1) // 2))
    p = data.draw(st.sampled_from([0.0, 0.5, 1.0]))
    graph = generate("watts-strogatz", n=n, k=k, p=p, seed=data.draw(st.integers(0, 99)))
    assert len(edge_set(graph)) == graph.m == n * k // 2
    assert degrees(graph).min() >= k // 2  # the near end of an edge never moves


def test_barabasi_albert_grows_by_preference():
    n, k = 30_000, 3
    graph = generate("barabasi-albert", n=n, k=k, order="sorted")
    assert graph.m == (n - k) * k == nx.barabasi_albert_graph(50, k).number_of_edges() + (n - 50) * k
    brought = np.bincount(graph.v, minlength=n)  # to earlier vertices
    assert (brought[k + 1 :] == k).all() and brought[k] == k and (brought[:k] == 0).all()
    # The tail: a share of about k(k+1)/(d(d+1)) has a degree of at least d.
    for d in (6, 12, 24):
        share = (degrees(graph) >= d).mean()
        assert share == pytest.approx(k * (k + 1) / (d * (d + 1)), rel=0.15)


def test_barabasi_albert_when_every_earlier_vertex_is_chosen():
    assert generate("barabasi-albert", n=41, k=40).m == 40
    assert degrees(generate("barabasi-albert", n=42, k=40)).min() >= 1


@pytest.mark.parametrize("size", [2, 3, 20])
def test_power_law_has_the_prescribed_numbers(size):
    n, m, components = 3000, 20_000, 41
    graph = generate("power-law", n=n, m=m, size=size, components=components)
    assert (graph.n, graph.m, component_count(graph)) == (n, m, components)
    last = edge_set(graph) & {(x, x + 1) for x in range(n - 80, n, 2)}
    assert len(last) == 40 and (degrees(graph)[-80:] == 1).all() and degrees(graph).min() == 1
    clustering = nx.average_clustering(nx.Graph(list(edge_set(graph))))
    low, high = {2: (0, 0.05), 3: (0.08, 0.2), 20: (0.25, 1)}[size]
    assert low <= clustering < high


@pytest.mark.parametrize(("skew", "shift"), [(1, 0), (2, 0), (2, 50), (3, 7), (5, 20)])
def test_power_law_draws_vertices_by_a_power_law(skew, shift):
    """Few edges among many vertices hardly ever repeat, so that degrees are binomial."""
    n, m = 200_000, 10_000
    graph = generate("power-law", n=n, m=m, skew=skew, shift=shift)
    bounds = np.array([0, 1, 2, 5, 20, 100, 1000, 10_000, n])
    share = ((bounds + shift) / (n + shift)) ** (1 / skew)
    expected = 2 * m * np.diff(share) / (1 - share[0])
    seen = np.add.reduceat(degrees(graph), bounds[:-1])
    assert (abs(seen - expected) < 5 * np.sqrt(expected) + 0.02 * expected).all()


@pytest.mark.parametrize("shape", ["recursive", "uniform", "binary"])
def test_trees_are_trees(shape):
    for n in (1, 2, 3, 4, 50, 777):
        graph = generate("tree", n=n, shape=shape)
        assert graph.m == n - 1 and component_count(graph) == 1


def test_uniform_trees_are_uniform():
    """Counted over many seeds, each of the 16 labelled trees of four vertices is equally frequent."""
    tries = 800
    seen = Counter(
        frozenset(edge_set(generate("tree", n=4, shape="uniform", seed=seed))) for seed in range(tries)
    )
    assert len(seen) == 16
    assert sum((count - 50) ** 2 / 50 for count in seen.values()) < 15 + 5 * math.sqrt(30)


def test_trees_have_the_documented_depths():
    def depth(shape: str, root: int) -> int:
        tree = nx.Graph(list(edge_set(generate("tree", n=2000, shape=shape))))
        return nx.eccentricity(tree, root)

    assert depth("binary", 0) == 10
    assert depth("recursive", 0) < 45
    assert 60 < depth("uniform", 0) < 300


# --- structured graphs ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "parameters", "theirs"),
    [
        ("circulant", dict(n=50, offsets=[1, 2]), nx.circulant_graph(50, [1, 2])),
        ("circulant", dict(n=12, offsets="2,6"), nx.circulant_graph(12, [2, 6])),
        ("circulant", dict(n=9, offsets=2, connected=True), nx.circulant_graph(9, [2])),
        ("complete", dict(n=20), nx.complete_graph(20)),
        ("caveman", dict(cliques=5, size=4), nx.caveman_graph(5, 4)),
        ("connected-caveman", dict(cliques=5, size=4), nx.connected_caveman_graph(5, 4)),
        ("connected-caveman", dict(cliques=2, size=3), nx.connected_caveman_graph(2, 3)),
        ("caveman", dict(cliques=4, size=5, connected=True), nx.connected_caveman_graph(4, 5)),
        ("path", dict(n=9), nx.path_graph(9)),
        ("star", dict(n=9), nx.star_graph(8)),
        ("star", dict(n=8, hubs=3), nx.Graph([(0, 1), (0, 2), (0, 3), (1, 4), (2, 5), (0, 6), (1, 7)])),
        ("star", dict(n=3, hubs=5), nx.star_graph(2)),
        ("grid", dict(rows=4, columns=6), nx.convert_node_labels_to_integers(nx.grid_2d_graph(4, 6))),
        ("tree", dict(n=31, shape="binary"), nx.balanced_tree(2, 4)),
    ],
)
def test_structured_graphs_equal_those_of_networkx(name, parameters, theirs):
    graph = generate(name, order="sorted", **parameters)
    assert graph.n == theirs.number_of_nodes()
    assert list(zip(graph.u.tolist(), graph.v.tolist())) == sorted(networkx_edges(theirs))
    assert component_count(graph) == nx.number_connected_components(theirs)


def test_hypercube_joins_ids_that_differ_in_one_bit():
    graph = generate("hypercube", dimension=9)
    assert graph.m == 9 * 2**8
    assert all((a ^ b).bit_count() == 1 for a, b in edge_set(graph))


def test_roads_keep_a_share_of_the_grid():
    whole = edge_set(generate("grid", rows=30, columns=40))
    for connected in (False, True):
        road = generate("road", rows=30, columns=40, share=0.6, connected=connected)
        assert road.m == round(0.6 * len(whole)) and edge_set(road) <= whole
        assert (component_count(road) == 1) == connected


def test_bends_and_dead_ends_keep_the_road():
    plain = dict(rows=30, columns=40, share=0.64, connected=True)
    road = nx.Graph(list(edge_set(generate("road", **plain))))
    graph = generate("road", **plain, bends=2000, largest_degree=9)
    assert (graph.n, graph.m) == (1200 + 2000 + 64 * 5, road.number_of_edges() + 2000 + 64 * 5)
    assert component_count(graph) == 1 and degrees(graph).max() == 9
    bent = nx.Graph(list(edge_set(generate("road", **plain, bends=2000))), bends=0)
    nx.set_edge_attributes(bent, 0, "bends")
    starts = []
    for x in range(1200, 3200):
        a, b = bent[x]
        starts.append(min(a, b))
        bent.add_edge(a, b, bends=bent[x][a]["bends"] + bent[x][b]["bends"] + 1)
        bent.remove_node(x)
    assert {frozenset(edge) for edge in bent.edges()} == {frozenset(edge) for edge in road.edges()}
    assert {bends for _, _, bends in bent.edges(data="bends")} == {1, 2}
    assert starts == sorted(starts)  # vertices of a road are near its ends


# --- geometry ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [1, 2, 5, 26])
def test_hilbert_positions_and_points_are_inverse(order):
    codes = np.arange(min(4**order, 1024), dtype=np.uint64)
    x, y = hilbert.points_at(codes, order)
    assert (np.abs(np.diff(x)) + np.abs(np.diff(y)) == 1).all()  # neighbours on the curve are neighbours
    assert [hilbert.position_of(a, b, order) for a, b in zip(x, y, strict=True)] == codes.tolist()
    high = np.arange(4**order - 10 if order > 2 else 0, 4**order, dtype=np.uint64)
    x, y = hilbert.points_at(high, order)
    assert [hilbert.position_of(a, b, order) for a, b in zip(x, y, strict=True)] == high.tolist()


def test_cells_of_the_hilbert_curve_are_contiguous():
    codes = np.arange(4**5, dtype=np.uint64)
    x, y = hilbert.points_at(codes, 5)
    coarse = [hilbert.position_of(a >> 2, b >> 2, 3) for a, b in zip(x, y, strict=True)]
    # Two levels off: an even number, since each level transposes the curve.
    assert coarse == (codes >> np.uint64(4)).tolist()


def test_points_are_distinct_and_cover_the_square():
    points = random_points(20_000, seed=3)
    assert len(np.unique(points.codes)) == 20_000
    for axis in (points.x, points.y):
        assert axis.min() >= 0 and axis.max() < 2**BITS
        times = np.bincount(axis >> (BITS - 4), minlength=16)
        assert ((times - 1250) ** 2 / 1250).sum() < 50


@pytest.mark.parametrize("n", [1, 2, 40, 1500])
@pytest.mark.parametrize("radius", [None, 0.0, 0.003, 0.05, 0.3, 2.0])
def test_geometric_graphs_join_all_near_points(n, radius):
    if n * (radius or 0) > 300:
        n = 200
    graph = generate("geometric", n=n, radius=radius)
    points = random_points(n, 1, "points 0")
    square = geometric._squared_radius(n, radius)
    dx, dy = (axis[:, None] - axis for axis in (points.x, points.y))
    near = np.argwhere(np.triu(dx * dx + dy * dy <= square, 1))
    assert edge_set(graph) == set(map(tuple, near.tolist()))


def test_default_radius_equals_that_of_the_dimacs_challenge():
    side = 2**BITS
    assert math.sqrt(geometric._squared_radius(2**15, None)) / side == pytest.approx(
        0.55 * math.sqrt(math.log(2**15) / 2**15)
    )
    graph = generate("geometric", n=2**15)
    assert abs(graph.m - 160_240) < 2_000  # the challenge's rgg_n_2_15_s0


@pytest.mark.parametrize("n", [4, 5, 10, 100, 3000])
@pytest.mark.parametrize("seed", [1, 2])
def test_delaunay_equals_qhull(n, seed):
    points = random_points(n, seed)
    corners = scipy.spatial.Delaunay(np.column_stack([points.x, points.y]).astype(float)).simplices
    sides = np.sort(corners[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
    assert edge_set(generate("delaunay", n=n, seed=seed)) == set(map(tuple, sides.tolist()))


def triangulated(x, y) -> set[tuple[int, int]]:
    x, y = np.asarray(x, np.int64), np.asarray(y, np.int64)
    order = generate_delaunay.insertion_order(len(x), np.uint64(1))
    assert sorted(order) == list(range(len(x)))
    start = generate_delaunay.first_triangle(x, y, order)
    corners = generate_delaunay.triangulate(x, y, order, start)
    return ends(generate_delaunay.edges_of(corners, len(x)))


@pytest.mark.parametrize("side", [2, 3, 5, 12])
@pytest.mark.parametrize("scale", [1, 2**26 // 12])
def test_delaunay_of_a_lattice_where_all_circles_tie(side, scale):
    x, y = (axis.ravel() * scale for axis in np.divmod(np.arange(side * side), side))
    edges = triangulated(x, y)
    assert len(edges) == 3 * side * side - 3 - 4 * (side - 1)  # Euler: all hull points are corners of it
    for a, b in edges:  # sides of the unit squares, and one diagonal each
        assert max(abs(x[a] - x[b]), abs(y[a] - y[b])) == scale


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=3, max_size=30, unique=True))
@settings(max_examples=2 * settings.default.max_examples)
def test_delaunay_of_degenerate_points_is_a_triangulation_with_empty_circles(points):
    x, y = np.array(points).T
    if np.linalg.matrix_rank(np.column_stack([x - x[0], y - y[0]])) < 2:
        assert generate_delaunay.first_triangle(x, y, np.arange(len(x), dtype=np.int32)) == -1
        return
    order = generate_delaunay.insertion_order(len(x), np.uint64(1))
    corners = generate_delaunay.triangulate(x, y, order, generate_delaunay.first_triangle(x, y, order))
    triangles = corners.reshape(-1, 3)
    area = 0
    for a, b, c in triangles[(triangles < len(x)).all(axis=1)].tolist():
        turn = (x[b] - x[a]) * (y[c] - y[a]) - (y[b] - y[a]) * (x[c] - x[a])
        assert turn > 0
        area += turn
        for p in range(len(x)):
            rows = [[x[q] - x[p], y[q] - y[p]] for q in (a, b, c)]
            matrix = [[dx, dy, dx * dx + dy * dy] for dx, dy in rows]
            assert round(np.linalg.det(np.array(matrix, float))) <= 0
    assert area == round(2 * scipy.spatial.ConvexHull(points).volume)


COORDINATES = st.tuples(st.integers(0, 2**26 - 1), st.integers(0, 2**26 - 1))


def int64_point(point: tuple[int, int]) -> tuple[np.int64, np.int64]:
    return np.int64(point[0]), np.int64(point[1])


def determinant(a, b, c, p) -> int:
    """Return the in-circle determinant, computed with Python's integers."""
    (ax, ay), (bx, by), (cx, cy) = ((q[0] - p[0], q[1] - p[1]) for q in (a, b, c))
    lifts = (ax * ax + ay * ay, bx * bx + by * by, cx * cx + cy * cy)
    minors = (bx * cy - by * cx, cx * ay - cy * ax, ax * by - ay * bx)
    return sum(lift * minor for lift, minor in zip(lifts, minors, strict=True))


@given(COORDINATES, COORDINATES, COORDINATES, COORDINATES)
def test_in_circle_is_exact(a, b, c, p):
    assert generate_delaunay._in_circle(*map(int64_point, (a, b, c, p))) == (determinant(a, b, c, p) > 0)


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=3, max_size=3))
def test_in_circle_is_exact_near_ties(steps):
    """The points are corners of a large square, three of which are moved by a few units."""
    far = 2**26 - 1
    b, c, p = (
        (x + dx, y + dy) for (x, y), (dx, dy) in zip(((far, 0), (far, far), (0, far)), steps, strict=True)
    )
    inside = generate_delaunay._in_circle(*map(int64_point, ((0, 0), b, c, p)))
    assert inside == (determinant((0, 0), b, c, p) > 0)


LIFTS, MINORS = st.integers(0, 2**53), st.integers(-(2**53), 2**53)


@given(LIFTS, MINORS, LIFTS, MINORS, LIFTS, MINORS)
def test_sums_of_three_products_are_exact(a, bc, b, ca, c, ab):
    def positive(*factors) -> bool:
        return generate_delaunay._is_positive(*map(np.int64, factors))

    assert positive(a, bc, b, ca, c, ab) == (a * bc + b * ca + c * ab > 0)
    # Doubles cannot distinguish these sums from zero.
    assert not positive(a, bc, a, -bc, c, 0)
    assert positive(a, bc, a, -bc, 1, 1) and not positive(a, bc, a, -bc, 1, -1)


def test_collinear_points_are_joined_along_their_line():
    assert ends(_along_a_line(np.array([5, 1, 3]), np.array([5, 1, 3]))) == {(1, 2), (0, 2)}
    assert len(_along_a_line(np.array([], np.int64), np.array([], np.int64))) == 0


# --- packed pairs and components --------------------------------------------------------------------------


def test_unique_and_compact_keep_the_order():
    nothing = int(pairs.DROPPED)
    some = np.array([3, 3, 5, 9, 9, 9, nothing, nothing], np.uint64)
    assert some[: pairs.unique(some)].tolist() == [3, 5, 9]
    some = np.array([nothing, 8, 2, nothing, 8], np.uint64)
    assert some[: pairs.compact(some)].tolist() == [8, 2, 8]


def test_keep_connected_keeps_joining_pairs_and_the_first_others():
    edges = np.array([0 << 32 | 1, 1 << 32 | 2, 0 << 32 | 2, 0 << 32 | 3, 1 << 32 | 3, 2 << 32 | 4], np.uint64)
    kept = edges.copy()
    connectivity.keep_connected(5, kept, 5)
    assert kept[:5].tolist() == edges[[0, 1, 2, 3, 5]].tolist()
    assert connectivity.is_connected(5, edges) and not connectivity.is_connected(6, edges)


# --- refusals ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "parameters", "error", "message"),
    [
        ("unifrom", {}, ConfigError, "no generator 'unifrom' (did you mean 'uniform'?)"),
        ("uniform", dict(n=5), ConfigError, "'uniform' needs m (edges, exactly): give m=…"),
        ("uniform", dict(n=5, m=1, k=2), ConfigError, "has no parameter 'k'"),
        (
            "grid",
            dict(rows=5, colums=2),
            ConfigError,
            "'colums' (did you mean 'columns'?): it takes rows, columns",
        ),
        ("uniform", dict(n=5, m=11), InputError, "5 vertices have 10 pairs, so m = 11 is too many"),
        ("uniform", dict(n=5, m=3, connected=True), InputError, "m must be at least 4"),
        ("uniform", dict(n=-1, m=3), InputError, "n = -1 must be from 0 to 4294967296"),
        ("uniform", dict(n=2**33, m=3), InputError, "must be from 0 to 4294967296"),
        ("uniform", dict(n=5.5, m=3), InputError, "n = 5.5 must be a whole number"),
        ("uniform", dict(n="five", m=3), InputError, "n = 'five' must be a whole number"),
        ("uniform", dict(n=True, m=0), InputError, "n = True must be a whole number"),
        ("uniform", dict(n=None, m=0), InputError, "n = None must be a whole number"),
        ("uniform", dict(n=float("inf"), m=0), InputError, "must be a whole number"),
        ("dense", dict(n=50, share=1.1), InputError, "share = 1.1 must be from 0 to 1"),
        ("dense", dict(n=50, share=0.01, connected=True), InputError, "m must be at least 49"),
        ("dense", dict(n=50, share="1/0"), InputError, "share = '1/0' must be a number"),
        ("dense", dict(n=50, share=True), InputError, "share = True must be a finite number"),
        ("dense", dict(n=np.True_), InputError, "must be a whole number"),
        ("binomial", dict(n=10, p=float("nan")), InputError, "p = nan must be a finite number"),
        ("binomial", dict(n=2**32, p=0.5), InputError, "makes about 4.6e+18 edges: lower it"),
        ("caveman", dict(cliques=3, size=2, connected=True), InputError, "size must be at least 3"),
        ("caveman", dict(cliques=2**20, size=2**20), InputError, "is more than 2³² vertices"),
        ("connected-caveman", dict(cliques=3, size=2), InputError, "generator 'connected-caveman': cliques of"),
        ("grid", dict(rows=2**20, columns=2**20), InputError, "is more than 2³² vertices"),
        ("circulant", dict(n=9, offsets=[5]), InputError, "offset 5 must be below 5"),
        ("circulant", dict(n=9, offsets=[0]), InputError, "has the element 0, but each must be"),
        (
            "circulant",
            dict(n=9, offsets="1,x"),
            InputError,
            "offsets = '1,x' has the element 'x', but each must be a whole number, at least 1",
        ),
        ("circulant", dict(n=9, offsets=[1, 1]), InputError, "repeat: give each once"),
        ("circulant", dict(n=9, offsets=[3], connected=True), InputError, "common divisor 3"),
        ("hypercube", dict(dimension=33), InputError, "dimension = 33 must be from 0 to 32"),
        ("k-out", dict(n=1), InputError, "n must be at least 2"),
        ("k-out", dict(n=5, m=11), InputError, "5 vertices have fewer than m = 11 pairs"),
        ("k-out", dict(n=5, k=0, m=3), InputError, "k = 0 arcs cannot make m = 3 edges"),
        ("rmat", dict(scale=5, a=0.6, b=0.3, c=0.2), InputError, "a + b + c = 1.1 is above 1"),
        ("rmat", dict(scale=5, m=9, edge_factor=9), InputError, "give edge_factor or m, not both"),
        ("rmat", dict(scale=3, m=29), InputError, "8 vertices have fewer than m = 29 pairs"),
        ("rmat", dict(scale=3, m=5, connected=True), InputError, "they must be at least 7"),
        ("rmat", dict(scale=8, m=9, a=1, b=0, c=0), InputError, "distinct edges, but m = 9: lower m"),
        ("rmat", dict(scale=8, simple="no"), InputError, "simple = 'no' must be one of true, false"),
        ("road", dict(rows=9, columns=9, share=0.1, connected=True), InputError, "raise share"),
        (
            "tree",
            dict(n=5, shape="binery"),
            InputError,
            "'binery' must be one of recursive, uniform, binary (did",
        ),
        ("watts-strogatz", dict(n=9, k=3), InputError, "k = 3 is odd"),
        ("watts-strogatz", dict(n=4, k=4), InputError, "k = 4 neighbours need more than 4 vertices"),
        ("barabasi-albert", dict(n=4, k=4), InputError, "k = 4 others need more than 4 vertices"),
        ("power-law", dict(n=9, m=9, shift=10), InputError, "shift = 10 is above n = 9"),
        ("power-law", dict(n=9, m=9, components=2, connected=True), InputError, "leave connected or"),
        ("power-law", dict(n=8, m=9, components=5), InputError, "8 vertices cannot have 5 components"),
        ("power-law", dict(n=9, m=5, components=3), InputError, "m = 5 must be from 6 to 12"),
        ("star", dict(n=5, hubs=2**64), InputError, "hubs = 18446744073709551616 must be from 1 to 4294967296"),
        ("path", dict(n=5, order="random"), ConfigError, "no row order 'random': use shuffled or sorted"),
        ("path", dict(n=5, seed=1.5), InputError, "the seed must be an integer, got 1.5"),
    ],
)
def test_bad_parameters_are_refused(name, parameters, error, message):
    with pytest.raises(error) as raised:
        generate(name, **parameters)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("name", "parameters", "purpose"),
    [
        ("uniform", dict(n=1000, m=100_000), "100,000 edges"),
        ("complete", dict(n=1000), "499,500 edges"),
        ("hypercube", dict(dimension=15), "245,760 edges"),
        ("circulant", dict(n=80_000, offsets=[1]), "80,000 edges"),
        ("path", dict(n=100_001), "100,000 edges"),
        ("star", dict(n=100_001), "100,000 edges"),
        ("road", dict(rows=9, columns=9, largest_degree=2000), "127,840 edges"),
        ("tree", dict(n=100_001), "100,000 edges"),
        ("rmat", dict(scale=15), "262,144 edges"),
        ("k-out", dict(n=50_000, k=2), "100,000 edges"),
        ("delaunay", dict(n=20_000), "triangles of 20,000 points"),
        ("geometric", dict(n=50_000), "50,000 points"),
        ("geometric", dict(n=2000, radius=2), "1,999,000 edges"),
    ],
)
def test_graphs_that_do_not_fit_in_memory_are_refused(name, parameters, purpose, monkeypatch):
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=1_500_000))
    with pytest.raises(OutOfMemoryError) as raised:
        generate(name, **parameters)
    assert f"{purpose} need about" in str(raised.value)


def test_parameters_are_read_from_numbers_and_strings():
    assert GENERATORS["uniform"].resolve({"n": "1_000", "m": 1e3}) == {"n": 1000, "m": 1000}
    assert GENERATORS["circulant"].resolve({"n": 9, "offsets": "1, 2"})["offsets"] == (1, 2)
    assert GENERATORS["rmat"].resolve({"scale": 3, "simple": "false", "m": None})["simple"] is False
    assert GENERATORS["dense"].resolve({"n": 9, "share": "2/3"})["share"] == 2 / 3
    assert generate("path", n=2, name="road").name == "road"


# --- command line -----------------------------------------------------------------------------------------


def test_command_writes_a_graph(tmp_path, capsys):
    file = tmp_path / "road.gr"
    arguments = ["generate", "road", "--param", "rows=9", "columns=8", "--param", "share=2/3", "--connected"]
    more = ["--seed", "3", "--weights", "int32:1:1000:distinct", "--order", "sorted", "--out", str(file)]
    assert main([*arguments, *more]) == 0
    assert "n = 72, m = 85, weights int32" in capsys.readouterr().out
    weights = WeightSpec("int32", 1, 1000, distinct=True)
    expected = generate(
        "road", rows=9, columns=8, share=2 / 3, connected=True, seed=3, weights=weights, order="sorted"
    )
    graph = mst.read_graph(file)
    assert edge_set(graph) == edge_set(expected)
    assert np.array_equal(graph.w, expected.w)


def test_command_lists_every_generator(capsys):
    assert main(["generate", "--list"]) == 0
    output = capsys.readouterr().out
    for name, known in GENERATORS.items():
        assert name in output and all(parameter in output for parameter in known.parameters)
    assert main(["generate", "grid", "--list"]) == 0
    words = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert words == ["grid", "two-dimensional", "rows", "columns"]


@pytest.mark.parametrize(("name", "lost"), [("g.csv.gz", True), ("g.txt", False)])
def test_command_says_that_vertices_without_edges_are_lost(name, lost, capsys, tmp_path):
    from mst.cli import main

    file = tmp_path / name
    assert main(["generate", "uniform", "--param", "n=7", "m=1", "--out", str(file)]) == 0
    assert ("5 vertices without edges will be missing" in capsys.readouterr().err) == lost
    assert mst.read_graph(file).n == (2 if lost else 7)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["uniform"], "give a generator and --out FILE"),
        (["unifrm"], "did you mean 'uniform'?"),
        (["--out", "x.gr"], "give a generator and --out FILE"),
        (["uniform", "--param", "n", "--out", "x.gr"], "--param 'n' is not NAME=VALUE"),
        (["uniform", "--param", "n=1", "n=2", "--out", "x.gr"], "--param n is given twice"),
        (["uniform", "--param", "n=1", "m=0", "--out", "x.unknown"], "x.unknown"),
        (
            ["uniform", "--param", "n=1", "m=0", "--weights", "int8:0:1", "--out", "x.gr"],
            "no dtype 'int8' for weights",
        ),
    ],
)
def test_command_refuses(arguments, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["generate", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
