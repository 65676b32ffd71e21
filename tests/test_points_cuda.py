"""Trees of points on a GPU: its kernels emulated on the host, beside brute force, and the trees of a device."""

from __future__ import annotations

from types import SimpleNamespace

import emulated
import numpy as np
import pytest
import test_points

import mst
from mst import InputError, UnsupportedError
from mst.algorithms.cuda.device import points


def by_emulator(emulator_folder, X, samples, seed=1):
    X = np.ascontiguousarray(X, float) + 0.0
    device = emulated.PointsDevice(emulator_folder, points.macros_of(X.shape[1], samples), seed)
    u, v, w = points.tree_of_points(device, X, samples)
    return list(zip(w.tolist(), u.tolist(), v.tolist()))


SETS = {**test_points.sets_of_points(), **test_points.sets_of_many_leaves()}


@pytest.mark.parametrize("samples", [1, 5])
@pytest.mark.parametrize(
    "name",
    [
        "2 random, 2-D",
        "100 random, 2-D",
        "all equal",
        "zeros of both signs",
        "square grid, shuffled",
        "grid and a half, equal points",
        "far clusters",
        "clusters within clusters, some points equal",
        "rings",
    ],
)
def test_emulated_tree_is_that_of_brute_force(emulator_folder, name, samples):
    X = SETS[name].astype(float)
    samples = min(samples, len(X))
    for seed in (1, 2):
        assert by_emulator(emulator_folder, X, samples, seed) == test_points.by_brute_force(X, samples)


@pytest.mark.slow
@pytest.mark.parametrize(("dimensions", "samples"), [(1, 2), (2, 17), (3, 1), (3, 5), (5, 1), (8, 2), (10, 5)])
def test_emulated_trees_of_all_sets_are_those_of_brute_force(emulator_folder, dimensions, samples):
    for X in SETS.values():
        if X.shape[1] == dimensions and samples <= len(X):
            X = X.astype(float)
            assert by_emulator(emulator_folder, X, samples) == test_points.by_brute_force(X, samples)


def test_chains_of_links_are_followed_to_their_ends(emulator_folder):
    """Points with growing gaps are each nearest to the one before: all links are one chain, in the first round."""
    X = np.cumsum(np.arange(1.0, 1500))[:, None]
    assert by_emulator(emulator_folder, X, 1) == [(float(i + 1), i - 1, i) for i in range(1, len(X))]


class AlikeAtFirst:
    """NumPy, but that the hashes of the first two seeds are all alike."""

    def __init__(self):
        self.seeds = []

    def __getattr__(self, name):
        return getattr(np, name)

    def full(self, size, seed, dtype):
        self.seeds.append(seed)
        return np.full(size, seed, dtype)

    def sort(self, hashes):
        if len(self.seeds) < 3:
            hashes[:] = 7
        return np.sort(hashes)


def test_places_that_share_a_hash_are_hashed_anew():
    X = np.repeat(np.random.default_rng(3).random((50, 2)), 2, axis=0)
    xp = AlikeAtFirst()
    first, (others, place) = points._distinct(xp, X)
    assert xp.seeds == [1, 2, 3]
    assert first.tolist() == list(range(0, 100, 2))
    assert others.tolist() == list(range(1, 100, 2)) and place.tolist() == list(range(50))


@pytest.mark.parametrize(
    ("options", "message"),
    [({"k": 3}, "k takes points in host memory"), ({"threads": 2}, "not on 2 threads: leave threads out")],
)
def test_points_on_a_device_refuse_what_runs_on_the_host(options, message):
    interface = {"shape": (4, 2), "typestr": "<f8", "data": (0, False), "version": 3}
    with pytest.raises(UnsupportedError, match=message):
        mst.from_points(SimpleNamespace(__cuda_array_interface__=interface), **options)


def test_kernels_have_limits():
    assert points.macros_of(16, 33) == {"DIMENSIONS": 16, "LISTED": 32, "CORES": 1}
    with pytest.raises(UnsupportedError, match="up to 16 dimensions, not 17"):
        points.macros_of(17, 1)
    with pytest.raises(UnsupportedError, match="min_samples may be up to 33 on a GPU, not 34"):
        points.macros_of(2, 34)


def rows(forest):
    return [np.asarray(column.get() if hasattr(column, "get") else column) for column in forest.edges()]


@pytest.mark.cuda
@pytest.mark.parametrize("name", SETS)
def test_tree_on_the_device_is_that_of_one_core(cupy, name):
    X = SETS[name].astype(float)
    for samples in (1, 2, 5):
        if samples <= len(X) and X.shape[1] <= points.MOST_DIMENSIONS:
            there = rows(mst.from_points(cupy.asarray(X), min_samples=samples))
            here = rows(mst.from_points(X, min_samples=samples, threads=1))
            assert all(map(np.array_equal, there, here)), samples


@pytest.mark.cuda
@pytest.mark.parametrize("dimensions", [1, 2, 3, 6])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_points_of_the_host_go_to_a_gpu_and_back(cupy, dimensions, dtype):
    rng = np.random.default_rng(dimensions)
    X = (rng.random((70_000, dimensions)) * (1e300 if dtype == "float64" else 1)).astype(dtype)
    by_gpu, by_core = mst.from_points(X), mst.from_points(X, threads=1)
    assert (by_gpu.algorithm, by_core.algorithm) == ("boruvka-points-cuda", "boruvka-points")
    assert all(map(np.array_equal, rows(by_gpu), rows(by_core)))


@pytest.mark.cuda
def test_wrong_points_on_the_device_are_refused_by_place(cupy):
    X = cupy.zeros((5, 2))
    X[3, 1] = cupy.nan
    with pytest.raises(InputError, match=r"X\[3, 1\] is nan"):
        mst.from_points(X)
    with pytest.raises(InputError, match=r"X\[1, 0\] is 18446744073709551615, which float64 cannot represent"):
        mst.from_points(cupy.array([[0], [2**64 - 1]], cupy.uint64))
    with pytest.raises(InputError, match="min_samples = 6 is above the number of points, 5"):
        mst.from_points(cupy.zeros((5, 2)), min_samples=6)
    with pytest.raises(UnsupportedError, match="16 dimensions"):
        mst.from_points(cupy.zeros((5, 17)))


@pytest.mark.cuda
@pytest.mark.parametrize("n", [0, 1, 2])
def test_few_points_on_the_device(cupy, n):
    forest = mst.from_points(cupy.arange(2.0 * n).reshape(n, 2))
    assert len(forest) == max(n - 1, 0) and forest.components == min(n, 1)


@pytest.mark.cuda
def test_tree_on_the_device_answers_queries_once_it_is_on_the_host(cupy):
    X = np.random.default_rng(9).random((3000, 2))
    there, here = mst.from_points(cupy.asarray(X)).to_host(), mst.from_points(X, threads=1)
    assert np.array_equal(there.linkage(), here.linkage())
    assert np.array_equal(there.labels(k=9), here.labels(k=9))
