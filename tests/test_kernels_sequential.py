"""The building blocks of the sequential algorithms, one by one."""

from __future__ import annotations

import adversarial
import numpy as np
import pytest
from expected import by_kruskal

import mst
from mst import order
from mst.graph import frozen
from mst.kernels.filter_boruvka.parallel import passes
from mst.kernels.filter_boruvka.sequential import join, sample, scatter, select, select_rows, trees
from mst.kernels.graph import csr
from mst.kernels.parallel.runtime import workers
from mst.kernels.primitives import buckets, radix
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.keys import LazyKeys, keys_at, lazy_keys
from mst.kernels.primitives.prefetch import prefetch, prefetch_to_write
from mst.kernels.proof.tree_paths import longest_path
from mst.kernels.sequential import kruskal, partition, plain_kruskal
from mst.kernels.union_find.sequential import fourth_ancestor, unite_by_rank

U32, U64 = np.uint32, np.uint64
LOW = U64(2**32 - 1)


def plain_keys(values, dtype=U32):
    """Keys that are the values themselves."""
    return LazyKeys(frozen(np.asarray(values, dtype)), dtype(0), dtype(0))


def coded(levels):
    """One code per edge, ids ascending."""
    return (np.asarray(levels, U64) << U64(32)) | np.arange(len(levels), dtype=U64)


# Keys


@pytest.mark.parametrize("dtype", (np.int32, np.int64, np.float32, np.float64))
def test_lazy_keys_order_like_weights(dtype, rng):
    weights = frozen(np.append(adversarial.extremes(dtype), rng.integers(-99, 99, 200).astype(dtype)))
    keys = keys_at(lazy_keys(weights), np.arange(len(weights)))
    assert keys.dtype.itemsize == weights.itemsize
    assert np.array_equal(keys[:, None] < keys, weights[:, None] < weights)
    assert np.array_equal(keys[:, None] == keys, weights[:, None] == weights)


# Radix sort


@pytest.mark.parametrize("m", (0, 1, 2, 31, 33, 47, 49, 5_000, 70_000))
@pytest.mark.parametrize("bits", (0, 1, 11, 32, 64))
def test_radix_sorts_stably(m, bits, rng):
    keys = rng.integers(0, 2**bits - 1, m, np.uint64, endpoint=True)
    keys = keys if bits > 32 else keys.astype(U32)
    for shared in (0, 2**31):
        shifted = keys | keys.dtype.type(shared)
        before = shifted.copy()
        assert np.array_equal(radix.argsort(shifted), np.argsort(shifted, kind="stable"))
        assert np.array_equal(shifted, before)
        words, ids = radix.sorted_records(*radix.records(shifted))
        found = ids if len(ids) else words & LOW
        assert np.array_equal(found, np.argsort(shifted, kind="stable"))


@pytest.mark.parametrize("packed", (True, False))
def test_radix_sorts_a_range_alone(packed, rng):
    keys = rng.integers(0, 1000, 900).astype(U32 if packed else U64)
    words, ids = radix.records(keys)
    before = words.copy()
    spare = np.empty_like(words), np.empty_like(ids)
    there = radix.sort_words(words, ids, 100, 700, *spare)
    result = spare[0][:600] if there else words[100:700]
    assert np.array_equal(result, np.sort(before[100:700]))
    assert np.array_equal(words[:100], before[:100])
    assert np.array_equal(words[700:], before[700:])


@pytest.mark.parametrize("dtype", (U32, U64))
@pytest.mark.parametrize("m", (0, 1, 2, 3, 20, 300))
def test_edges_of_a_batch_sort_by_key_and_id(dtype, m, rng):
    ramp = np.arange(m)
    swapped = ramp.copy()
    swapped[m // 2 : m // 2 + 2] = swapped[m // 2 : m // 2 + 2][::-1]
    for keys in (
        ramp,
        ramp[::-1],
        ramp * 0,
        ramp // 2,
        (ramp // 2)[::-1],
        rng.permutation(m),
        rng.integers(0, 9, m),
    ):
        for ids in (ramp, ramp[::-1], swapped, rng.permutation(m)):
            ids = ids.astype(U32)
            order = np.empty(m, U32)
            join.sort_by_key(plain_keys(keys, dtype), ids, order)
            assert np.array_equal(order, np.lexsort((ids, keys[ids])))


# Comparison sort


@pytest.mark.parametrize("dtype", (U32, U64))
@pytest.mark.parametrize("m", (0, 1, 2, 3, 16, 17, 18, 100, 3_000))
def test_whole_edges_sort_by_key_and_id(dtype, m, rng):
    ramp = np.arange(m)
    for keys in (
        ramp, ramp[::-1], ramp * 0, ramp % 2, ramp % 7, np.minimum(ramp, ramp[::-1]), -np.minimum(ramp, ramp[::-1]) + m,
        rng.permutation(m), rng.integers(0, 50, m), np.where(ramp % 2, 2**31, 2**32 - 1),
    ):  # fmt: skip
        keys = keys.astype(dtype)
        u, v = rng.integers(0, 99, (2, m)).astype(np.int32)
        edges = plain_kruskal.whole_edges(keys, u, v)
        assert edges.dtype.itemsize == (16 if dtype == U32 else 24)
        plain_kruskal.sort_edges(edges)
        order_ = np.argsort(keys, kind="stable")
        assert np.array_equal(edges["id"], order_) and np.array_equal(edges["key"], keys[order_])
        assert np.array_equal(edges["u"], u[order_]) and np.array_equal(edges["v"], v[order_])


def test_heapsort_ends_ranges_that_quicksort_has_split_too_often(rng):
    keys = rng.permutation(2_000).astype(U32)
    for splits, most in ((0, 1), (1, 1), (2, 1), (50, 16)):
        edges = plain_kruskal.whole_edges(keys, *np.zeros((2, 2_000), np.int32))
        plain_kruskal._sort_roughly(edges, splits)
        assert np.abs(edges["key"].astype(int) - np.arange(2_000)).max() < most


def test_union_by_rank_links_below_the_higher_root_and_compresses_paths():
    parent, rank = np.arange(9, dtype=U32), np.zeros(9, np.uint8)
    assert unite_by_rank(parent, rank, 8, 7) and parent[7] == 8 and rank[8] == 1
    assert unite_by_rank(parent, rank, 0, 7) and parent[0] == 8 and rank[8] == 1
    assert unite_by_rank(parent, rank, 5, 6) and unite_by_rank(parent, rank, 6, 0)
    assert parent[8] == 5 and rank[5] == 2
    assert not unite_by_rank(parent, rank, 7, 0)
    assert parent[7] == parent[0] == 5


# Partition and Kruskal's loop


@pytest.mark.parametrize("dtype", (U32, U64))
def test_partition_is_stable(dtype, rng):
    keys = rng.integers(0, 20, 500).astype(dtype)
    records = radix.records(keys)
    words, ids = records
    pivot = (U64(9) << U64(32)) | LOW if dtype == U32 else U64(9)
    middle = partition.partition(records, 50, 450, pivot, records.empty())
    found = ids if len(ids) else (words & LOW).astype(np.int64)
    inside = np.arange(50, 450)
    light = keys[50:450] <= 9
    assert middle == 50 + light.sum()
    assert np.array_equal(found[50:450], np.concatenate((inside[light], inside[~light])))
    assert np.array_equal(found[:50], np.arange(50))


@pytest.mark.parametrize("arrange", (np.sort, lambda x: np.sort(x)[::-1].copy(), lambda x: x))
def test_sampled_quantile_is_near(arrange, rng):
    words = arrange(rng.integers(0, 2**60, 20_000).astype(U64))
    for wanted in (0, 5_000, 10_000, 20_000):
        pivot = partition.sampled_quantile(words, 0, 20_000, wanted, 1_023)
        assert abs((words <= pivot).sum() - wanted) < 1_500


def test_kruskal_adds_joining_edges_and_drops_cycle_edges():
    u, v = np.array([0, 1, 0, 3, 2], U32), np.array([1, 2, 2, 4, 3], U32)
    growth = kruskal.Growth(np.arange(5, dtype=U32), u, v, np.empty(4, np.int32))
    records = radix.records(np.arange(5, dtype=U32))
    assert kruskal.add_in_order(growth, records, 0, 3, 0) == 2
    assert growth.forest[:2].tolist() == [0, 1]
    assert kruskal.drop_cycle_edges(growth, records, 2, 5) == 4
    assert (records.words[2:4] & LOW).tolist() == [3, 4]


def test_fourth_ancestor_shortens_the_path():
    parent = np.array([0, 0, 1, 2, 3, 4, 5], U32)
    assert fourth_ancestor(parent, 6) == 2
    assert parent.tolist() == [0, 0, 1, 2, 3, 4, 2]
    assert fourth_ancestor(parent, 3) == 0


def test_prefetch_of_any_index_is_harmless():
    @njit
    def ask(one, two):
        for i in range(-3, 20):
            prefetch(one, i)
            prefetch_to_write(two, i)
        return one.sum() + two.sum()

    assert ask(frozen(np.ones(4, U32)), np.ones((3, 2), U64)) == 10


# Selection


def test_stratified_places():
    for m in (1, 5, 1000):
        places = sample.stratified(m, 100)
        assert len(places) == min(m, 100)
        assert (np.diff(places) > 0).all()
        assert places[0] >= 0
        assert places[-1] < m


@pytest.mark.parametrize("weights", ("random", "equal", "few", "extreme"))
@pytest.mark.parametrize("dtype", (np.int32, np.float64))
def test_a_split_cuts_ties_by_id(weights, dtype, rng):
    m = 30_000
    values = {
        "random": rng.integers(-(10**6), 10**6, m),
        "equal": np.full(m, 3),
        "few": rng.integers(0, 3, m),
        "extreme": np.full(m, np.iinfo(np.int32).max),
    }[weights].astype(dtype)
    keys = lazy_keys(frozen(values))
    all_keys = keys_at(keys, np.arange(m))
    sampled = sample.sample(keys, places := sample.stratified(m, 2_048), places, m)
    for wanted in (100, 9_000, 29_999):
        split = sampled.split(wanted)
        light = (all_keys < split.key) | ((all_keys == split.key) & (np.arange(m) < split.tie))
        assert abs(light.sum() - wanted) < 1_500
        codes = np.empty(m, U64)
        window = sampled.window(high=split.key)
        count = select.select_light(keys, split, window, codes)
        assert np.array_equal(codes[:count] & LOW, np.flatnonzero(light))
        levels = (codes[:count] >> U64(32)).astype(np.int64)
        assert levels.max(initial=0) <= window.largest_level
        by_key = np.argsort(values[light], kind="stable")
        assert (np.diff(levels[by_key]) >= 0).all()
        for outside, label in label_cases(rng, 500):
            u, v = (frozen(rng.integers(0, 500, m).astype(U32)) for _ in "uv")
            count = select.select_heavy(
                keys,
                split,
                select.Ends(u, v, np.empty(0, U64)),
                select.Trees(label, outside),
                sampled.window(low=split.key),
                codes,
            )
            far = label != 0
            apart = far[u] | far[v] if len(outside) else label[u] != label[v]
            assert np.array_equal(codes[:count] & LOW, np.flatnonzero(~light & apart))


def label_cases(rng, n):
    """With a giant tree 0 and its bitmap; without either."""
    label = np.where(rng.random(n) < 0.8, 0, np.arange(n)).astype(U32)
    label[0] = 0
    yield trees.mark_outside(label, U32(0)), label
    yield np.empty(0, U32), rng.integers(0, 9, n).astype(U32)


@pytest.mark.parametrize("n", (1, 31, 32, 33, 100))
def test_outside_bitmap(n, rng):
    label = rng.integers(0, 2, n).astype(U32)
    bits = trees.mark_outside(label, U32(0))
    assert np.array_equal(np.unpackbits(bits.view(np.uint8), bitorder="little")[:n], label)


def test_flatten_and_giant():
    parent = np.array([0, 0, 1, 2, 4, 4, 5, 3], U32)
    trees.flatten(parent)
    assert parent.tolist() == [0, 0, 0, 0, 4, 4, 4, 0]
    assert trees.giant_label(parent) == (0, 5 / 8)


def test_windows_keep_the_order(rng):
    for dtype, low, high in ((U32, 0, 2**32 - 1), (U64, 0, 2**64 - 1), (U64, 5, 5), (U64, 2**40, 2**40 + 9)):
        keys = np.sort(rng.integers(0, np.iinfo(dtype).max, 300, dtype))
        ids = np.arange(300)
        window = sample.Sample(ids, keys, keys, 300).window(dtype(low), dtype(high))
        assert window.low <= low <= high <= window.high
        codes = np.empty(300, U64)
        assert select.select_all(plain_keys(keys, dtype), window, codes) == 300
        levels = (codes >> U64(32)).astype(np.int64)
        assert (np.diff(levels) >= 0).all()
        assert levels[-1] <= window.largest_level < 2**32


def test_all_light_keys_below_the_sample_have_level_zero():
    keys = plain_keys([9, 2, 7, 100])
    window = sample.Window(U32(7), U32(9), U32(0))
    codes = np.empty(4, U64)
    select.select_all(keys, window, codes)
    assert (codes >> U64(32)).tolist() == [2, 0, 0, 2]


@pytest.mark.parametrize("paired", (False, True))
def test_light_edges_are_moved_and_edges_between_trees_kept(paired, rng):
    m = 200
    u, v = (frozen(rng.integers(0, 50, m).astype(U32)) for _ in "uv")
    levels = rng.integers(0, 10, m)
    codes = coded(levels)
    pairs = (u | (v.astype(U64) << U64(32))) if paired else np.empty(0, U64)
    light, light_pairs = np.empty(m, U64), np.empty(len(pairs), U64)
    moved = select.move_light(codes, pairs, m, 4, light, light_pairs)
    below = np.flatnonzero(levels <= 4)
    assert np.array_equal(light[:moved] & LOW, below)
    rest = np.flatnonzero(levels > 4)
    assert np.array_equal(codes[: m - moved] & LOW, rest)
    if paired:
        assert np.array_equal(light_pairs[:moved] & LOW, u[below])
        assert np.array_equal(pairs[: m - moved] >> U64(32), v[rest])
    label = rng.integers(0, 3, 50).astype(U32)
    none = frozen(np.empty(0, U32))
    ends = select.Ends(none, none, pairs) if paired else select.Ends(u, v, pairs)
    kept = select.keep_between_trees(ends, codes, m - moved, label)
    assert np.array_equal(codes[:kept] & LOW, rest[label[u[rest]] != label[v[rest]]])


# Rows


def csr_of(n, u, v, w):
    offsets, neighbours, weights, ids = csr.build_csr(n, u, v, w)
    return offsets, neighbours.view(U32), lazy_keys(frozen(weights)), ids.view(U32)


@pytest.mark.parametrize("ends", (np.int32, np.int64))
@pytest.mark.parametrize("weights", (np.int8, np.float64))
@pytest.mark.parametrize("shape", ("random", "star", "last vertices", "loops", "one vertex"))
@pytest.mark.parametrize("block", (1, 64, 1 << 17))
def test_rows_by_blocks_are_stable(ends, weights, shape, block, rng, monkeypatch):
    n, m = (1 if shape == "one vertex" else 301), 900
    u, v = (rng.integers(n - 3 if shape == "last vertices" else 0, n, m).astype(ends) for _ in "uv")
    if shape == "star":
        u[:] = 150
    elif shape == "loops":
        u[:] = v
    w = rng.integers(-100, 100, m).astype(weights)
    monkeypatch.setattr(csr, "_CACHED", 0)
    monkeypatch.setattr(csr, "_BLOCK_SLOTS", block)
    offsets, neighbours, slot_weights, ids = csr.build_csr(n, u, v, w)
    edges = np.flatnonzero(u != v)
    rows, others, edges = np.append(u[edges], v[edges]), np.append(v[edges], u[edges]), np.tile(edges, 2)
    in_order = np.lexsort((edges, rows))
    assert np.array_equal(offsets, np.searchsorted(rows[in_order], np.arange(n + 1)))
    assert np.array_equal(neighbours, others[in_order])
    assert np.array_equal(ids, edges[in_order])
    assert np.array_equal(slot_weights, w[ids])
    assert (neighbours.dtype, slot_weights.dtype, ids.dtype) == (u.dtype, w.dtype, np.int32)


@pytest.mark.parametrize("degree", (0.5, 3, 200))
def test_rows_and_edges_select_the_same_edges(degree, rng):
    n = 150
    m = int(n * degree)
    u, v = rng.integers(0, n, m).astype(np.int32), rng.integers(0, n - 20, m).astype(np.int32)
    u[u == v] = n - 1  # row n - 2 and others stay empty
    w = rng.integers(0, 40, m).astype(np.int32)
    rows = select_rows.Rows(*csr_of(n, u, v, w))
    keys = order.keys(w)
    split = sample.Split(U32(keys[np.argsort(w)[m // 4]]), m // 2, m // 4)
    light = (keys < split.key) | ((keys == split.key) & (np.arange(m) < split.tie))
    window = sample.Window(keys.min(), keys.max(), U32(0))
    ends = np.minimum(u, v).astype(U64) | (np.maximum(u, v).astype(U64) << U64(32))
    starts = select_rows.RowStarts(np.zeros(2 * m + 1, np.uint8), np.empty(n + 1, U32))
    count = select_rows.row_starts(rows.offsets, *starts)
    assert np.array_equal(starts.rows[:count], np.flatnonzero(np.diff(rows.offsets)))
    assert starts.marks[: 2 * m].sum() == count
    selected = codes, pairs = select_rows.CodedEdges(np.empty(m + 1, U64), np.empty(m + 1, U64))
    below, above = (select_rows.Wanted(split, heavy, window) for heavy in (False, True))
    for function, arguments, wanted in (
        (select_rows.select_slots, (starts, rows, below), light),
        (select_rows.select_slots, (starts, rows, above), ~light),
        (select_rows.select_few_slots, (rows, below), light),
    ):
        count = function(*arguments, selected)
        by_id = np.argsort(codes[:count] & LOW)
        assert np.array_equal((codes[:count] & LOW)[by_id], np.flatnonzero(wanted))
        assert np.array_equal(pairs[:count][by_id], ends[wanted])
        assert np.array_equal((codes[:count] >> U64(32))[by_id], keys[wanted] - keys.min())
    label = np.where(rng.random(n) < 0.6, 3, np.arange(n)).astype(U32)
    apart = np.flatnonzero(~light & (label[u] != label[v]))
    for giant in (U32(3), U32(2**32 - 1)):
        count = select_rows.select_heavy_rows(rows, above, label, giant, selected)
        by_id = np.argsort(codes[:count] & LOW)
        assert np.array_equal((codes[:count] & LOW)[by_id], apart)
        both = np.stack((pairs[:count] & LOW, pairs[:count] >> U64(32)))[:, by_id]
        assert np.array_equal(np.sort(both, axis=0), np.sort((label[u[apart]], label[v[apart]]), axis=0))


# Batches


def joined(n, u, v, keys, codes, largest_level, *, shift=None, largest=64):
    """Scatter and join all codes; return the edge ids and how often a batch closed a cycle."""
    m = len(codes)
    bits = max(0, largest_level.bit_length() - 5) if shift is None else shift
    buckets = np.zeros((largest_level >> bits) + 1, U32)
    scatter.count_codes(codes, m, U64(32 + bits), 10, buckets)
    records = np.empty((m, 2), U64)
    ends = select.Ends(frozen(u.astype(U32)), frozen(v.astype(U32)), np.empty(0, U64))
    scatter.scatter(ends, codes, m, U64(32 + bits), buckets, records)
    forest = join.Forest(np.arange(n, dtype=U32), np.empty(n, U32))
    scatter.sort_large_buckets(records, buckets, largest, np.zeros(len(buckets), bool), keys)
    size, _, conflicts = join.join(records, buckets, 4, largest, keys, forest, 0)
    assert (forest.parent <= np.arange(n)).all()
    return np.sort(forest.edges[:size]), conflicts


def kruskal_ids(n, u, v, keys):
    return by_kruskal(mst.Graph(n, u, v, keys.astype(np.int64)))


@pytest.mark.parametrize("n", (2, 30, 3_000))
@pytest.mark.parametrize("span", (1, 50, 2**20))
@pytest.mark.parametrize("shift", (None, 0, 20))
def test_batches_join_as_kruskal(n, span, shift, rng):
    m = 3_000
    if shift == 0 and span > 50:
        shift = 4
    u, v, keys = rng.integers(0, n, m), rng.integers(0, n, m), rng.integers(0, span, m).astype(U32)
    ids, conflicts = joined(n, u, v, plain_keys(keys), coded(keys), max(span - 1, 1), shift=shift)
    assert np.array_equal(ids, kruskal_ids(n, u, v, keys))
    if n == 30 and span == 2**20 and shift is None:
        # All buckets are sorted, and batches that are cut from them are in order.
        assert conflicts == 0
        ids, conflicts = joined(n, u, v, plain_keys(keys), coded(keys), span - 1, largest=500)
        assert np.array_equal(ids, kruskal_ids(n, u, v, keys)) and conflicts > 0


def test_batches_drop_edges_that_close_a_cycle():
    # One batch, heaviest edge first: joined in this order, edge 0 would displace edge 3.
    u, v = np.array([0, 1, 2, 0]), np.array([1, 2, 3, 3])
    keys = np.array([9, 1, 2, 3], U32)
    ids, conflicts = joined(4, u, v, plain_keys(keys), coded(np.zeros(4)), 1)
    assert ids.tolist() == [1, 2, 3]
    assert conflicts == 1


@pytest.mark.parametrize("waiting", range(4))
@pytest.mark.parametrize("size", range(60, 68))
def test_unsorted_bucket_is_never_cut_together_with_waiting_edges(waiting, size, rng):
    # Few edges of bucket 0 wait for bucket 1, whose keys descend, and which may be too small to be sorted.
    u, v = rng.integers(0, 12, (2, waiting + size))
    keys = np.append(rng.integers(0, 32, waiting), np.arange(size)[::-1] // 3 + 32).astype(U32)
    ids, _ = joined(12, u, v, plain_keys(keys), coded(keys), 63, shift=5)
    assert np.array_equal(ids, kruskal_ids(12, u, v, keys))


def test_large_buckets_are_sorted_unless_settled(rng):
    keys = rng.integers(0, 30, 600).astype(U32)
    records = np.empty((600, 2), U64)
    records[:, 1] = rng.permutation(600)
    records[:, 0] = records[:, 1] * U64(7)
    ids = records[:, 1].tolist()
    buckets, settled = np.array([0, 100, 300, 400, 600], U32), np.array([False, False, False, False, True])
    scatter.sort_large_buckets(records, buckets, 150, settled, plain_keys(keys))
    assert records[:, 1].tolist() == ids[:100] + sorted(ids[100:300], key=lambda e: (keys[e], e)) + ids[300:]
    assert np.array_equal(records[:, 0], records[:, 1] * U64(7))


@pytest.mark.parametrize("width", (1, 2))
def test_buckets_of_one_key_are_settled_if_ids_ascend(width, rng):
    count, shift = 10_000, U64(32 + 1)
    # Keys 0 and 1 share the first bucket, 40 and 41 the last; 16 is alone in its own, and the others are empty.
    keys = rng.choice(np.array([0, 1, 16, 40], U32), count)
    keys[9000] = 41
    codes = coded(keys >> 1)

    def settled(some):
        if width == 1:
            return scatter.settled_buckets(some, len(some), shift, plain_keys(keys), 12)
        with workers(width):
            return passes.settled_buckets(width, some, len(some), shift, plain_keys(keys), 12)

    assert np.flatnonzero(~settled(codes)).tolist() == [0, 10]
    for place in (3, 4999, 5000, count - 2):
        swapped = codes.copy()
        swapped[[place, place + 1]] = swapped[[place + 1, place]]
        assert not settled(swapped).any()


@pytest.mark.parametrize("threads", (1, 2))
@pytest.mark.parametrize("dtype", (np.int32, np.float32, np.int64))
def test_few_weights_and_outliers_that_no_sample_shows_are_taken_in_order(threads, dtype, rng):
    # Enough edges for two threads to share the passes.
    n, m = 60_000, 600_000
    u, v = rng.integers(0, n, (2, m)).astype(np.int32)
    v = np.where(u == v, (v + 1) % n, v).astype(np.int32)
    w = rng.integers(0, 6, m).astype(dtype)
    # As many edges as a large bucket has, in one stretch of rows of which a sample takes few or none.
    w[5000:5700], w[150_000:150_700] = rng.integers(-9, -1, 700), rng.integers(9, 20, 700)
    name = "filter-boruvka" if threads == 1 else "filter-boruvka-threads"
    found = mst.minimum_spanning_forest((n, u, v, w), algorithm=name, threads=threads).edge_ids
    assert np.array_equal(found, by_kruskal((n, u, v, w)))


def test_large_buckets_are_refined(rng):
    levels = np.concatenate((rng.integers(0, 100, 5_000), rng.integers(0, 2**20, 500)))
    codes, shift = coded(levels), U64(32 + 12)
    starts = np.zeros(2**8, U32)
    assert scatter.count_codes(codes, len(codes), shift, 100, starts) >= 5_000
    number = scatter.refine_buckets(codes, len(codes), shift, starts, 60)
    buckets_, ids = codes >> U64(32), codes & LOW
    assert np.array_equal(ids, np.arange(len(codes)))
    assert buckets_.max() < number < 2**8 + 2 * len(codes) // 60
    assert (np.diff(buckets_[np.argsort(levels, kind="stable")].astype(np.int64)) >= 0).all()
    # 100 levels in 2¹² of a bucket: pieces of 64 levels at the finest that 5,000 / 60 asks for.
    assert np.bincount(buckets_.astype(np.int64)).max() < 5_000 * 0.75


# Buckets of the approximation


@pytest.mark.parametrize("bits", (-3, 0, 2, 10))
def test_bucket_numbers_keep_order_and_bound(bits, rng):
    weights = np.sort(np.concatenate((2.0 ** rng.uniform(-1074, 1023, 5_000), [0.0, 0.0, 5e-324, np.inf])))
    numbers = np.empty(len(weights), U32)
    buckets.bucket_numbers(weights, 52 - bits, numbers)
    assert (np.diff(numbers.astype(np.int64)) >= 0).all()
    positive = (weights > 0) & np.isfinite(weights)
    assert not set(numbers[positive]) & set(numbers[~positive])
    assert numbers[0] == numbers[1] != numbers[-1]
    factor = 1 + 2.0**-bits if bits >= 0 else 2.0**2.0**-bits
    for number in np.unique(numbers[positive]):
        alike = weights[positive & (numbers == number)]
        assert alike.max() / alike.min() < factor


# Paths


def test_longest_path_of_forests(rng):
    networkx = pytest.importorskip("networkx")
    assert longest_path(0, *np.empty((2, 0), np.int64)) == longest_path(3, *np.empty((2, 0), np.int64)) == 0
    i = np.arange(50)
    assert longest_path(51, i, i + 1) == 50 and longest_path(51, np.zeros(50, int), i + 1) == 2
    for most in (1, 4, 100):
        child = np.flatnonzero(rng.random(200) < 0.95)[1:]
        parent = np.maximum(child - rng.integers(1, most + 1, len(child)), 0)
        places = rng.permutation(200)
        forest = networkx.Graph(list(zip(places[child].tolist(), places[parent].tolist(), strict=True)))
        trees = map(forest.subgraph, networkx.connected_components(forest))
        expected = max(map(networkx.diameter, trees))
        assert longest_path(200, places[child], places[parent]) == expected
