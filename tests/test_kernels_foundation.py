"""The building blocks: machine code that is never stale, sorting, reconstruction trees, sums."""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import oracles
import pytest
from scripts import run_python

from mst import order
from mst.cache import cache_root
from mst.fingerprints.modules import PACKAGE
from mst.graph import Graph
from mst.kernels.graph.simplify import lightest_of_parallel_edges
from mst.kernels.primitives import code_cache
from mst.kernels.primitives.ascending import ascending, write_ascending
from mst.kernels.primitives.bitmap import count_ones, get_bit, set_bits, write_positions_of_ones, zeroed
from mst.kernels.primitives.exact_sum import bin_sums
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.radix import records, sorted_records
from mst.kernels.proof.reconstruction import (
    edge_dtype,
    find_joining_ranks,
    find_root_paths,
    find_tie_bounds,
    gather_edges,
    id_dtype,
    link_trees,
    put_in_order,
    root_path_dtype,
)
from mst.kernels.union_find.sequential import find


@pytest.mark.slow
def test_machine_code_is_made_anew_when_a_callee_in_another_file_changes(tmp_path):
    """numba's own cache would return the stale 1 here."""
    kernels = tmp_path / "mst" / "kernels"
    (kernels / "primitives").mkdir(parents=True)
    copied = ("jit", "code_cache", "forks", "machine_code", "__init__")
    below = ("cache.py", "cores.py", "limits.py", "progress.py", "units.py", "errors.py")
    for name in (*(f"kernels/primitives/{name}.py" for name in copied), *below):
        shutil.copy(PACKAGE / name, tmp_path / "mst" / name)
    shutil.copytree(PACKAGE / "fingerprints", tmp_path / "mst" / "fingerprints")
    (tmp_path / "mst" / "__init__.py").write_text("")
    (kernels / "__init__.py").write_text("")
    header = "from mst.kernels.primitives.jit import njit\n"
    (kernels / "caller.py").write_text(
        header + "from mst.kernels.callee import g\n@njit\ndef f(x):\n    return g(x)\n"
    )
    program = (
        "from mst.kernels.caller import f\nvalue = f(1)\n"
        "print(value, sum(f.stats.cache_hits.values()), sum(f.stats.cache_misses.values()))"
    )
    # Byte code of a file of the same size and second passes for current.
    environment = dict(PYTHONDONTWRITEBYTECODE=1, PYTHONPATH=tmp_path, MST_CACHE=tmp_path / "cache")

    def run(callee: str) -> list[str]:
        (kernels / "callee.py").write_text(
            header + f"@njit(inline='always')\ndef g(x):\n    # {len(callee)}\n    return {callee}\n"
        )
        return run_python(program, cwd=tmp_path, **environment).stdout.split()

    assert run("x + 0") == ["1", "0", "1"]
    assert run("x + 0") == ["1", "1", "0"], "the second process compiles again"
    assert run("x + 5") == ["6", "0", "1"]
    assert run("x + 0") == ["1", "1", "0"], "the first version's code is gone"


def test_code_compiled_with_loaded_code_loads_what_that_calls_by_address(tmp_path):
    """The address would be missing in the third process, which would call 0."""
    (tmp_path / "chain.py").write_text(
        "from mst.kernels.primitives.jit import njit\nfrom mst.kernels.primitives.out_of_line import call\n"
        "@njit\ndef far(x):\n    return x + 1\n"
        "@njit\ndef near(x):\n    return call(far, x)\n"
        "@njit\ndef outer(x, y):\n    return near(x) + y\n"
    )
    for y, printed in (("1", "3 0"), ("0.5", "2.5 0"), ("0.5", "2.5 1")):
        program = f"from chain import outer\nprint(outer(1, {y}), sum(outer.stats.cache_hits.values()))"
        done = run_python(program, PYTHONPATH=tmp_path, MST_CACHE=tmp_path / "cache")
        assert done.stdout.strip() == printed


def test_code_of_two_signatures_never_has_one_file():
    """numba's numbered names collide where two processes save at once: one signature's code is run for the other's."""
    names = {find._cache._cache_file._data_name(1) for _ in range(2)}
    assert len(names) == 2


def test_code_that_no_index_names_is_removed_when_code_is_saved(tmp_path):
    (tmp_path / "one.py").write_text(
        "from mst.kernels.primitives.jit import njit\n@njit\ndef one(x):\n    return x + 1\n"
    )

    def call(x: str) -> set[Path]:
        run_python(f"from one import one\none({x})", PYTHONPATH=tmp_path, MST_CACHE=tmp_path / "cache")
        return set(tmp_path.glob("cache/numba/one-*/*"))

    (code,) = (file for file in call("1") if file.suffix == ".nbc")
    (index,) = call("1") - {code}
    index.unlink()
    left = code.with_name(index.name + ".tmp.0123456789abcdef")
    left.touch()
    recent = call("0.5")
    assert {code, left, index} < recent and len(recent) == 4, "another process may be about to name it"
    for file in recent - {left}:
        os.utime(file, (0, 0))
    assert code not in (after := call("1j")) and recent - {code} < after and len(after) == 4


def test_processes_that_need_a_function_at_once_compile_it_once(tmp_path):
    (tmp_path / "one.py").write_text(
        "from mst.kernels.primitives.jit import njit\n@njit\ndef one(x):\n    return x + 1\n"
        "@njit\ndef two(x):\n    return one(x) + one(x + 0.5)\n"
    )
    program = (
        "from one import one, two\n"
        "print(input(), two(1), [sum(f.stats.cache_misses.values()) for f in (one, two)])"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "MST_CACHE": str(tmp_path / "cache")}
    started = [
        subprocess.Popen(
            [sys.executable, "-c", program],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    for process in started:
        process.stdin.write("at once\n")
        process.stdin.flush()
    printed = sorted(process.communicate()[0].strip() for process in started)
    assert printed == ["at once 4.5 [0, 0]"] * 2 + ["at once 4.5 [2, 1]"]


def test_a_stopped_process_that_compiles_keeps_others_waiting_for_a_while_only(tmp_path, monkeypatch):
    monkeypatch.setenv("MST_CACHE", str(tmp_path))
    monkeypatch.setattr(code_cache, "_PATIENCE", 0.1)
    (tmp_path / "one.py").write_text("def one(x):\n    return x + 1\n")
    namespace: dict = {}
    exec(compile((tmp_path / "one.py").read_text(), str(tmp_path / "one.py"), "exec"), namespace)
    first, second = (njit(namespace["one"]) for _ in range(2))
    assert not first._cache._waited() and first._cache.locked
    assert second(1) == 2 and not second._cache.locked and second.stats.cache_misses
    first._cache.unlock()
    assert njit(namespace["one"])(1) == 2, "the code was kept all the same"


def test_njit_takes_options_by_name_only():
    with pytest.raises(TypeError, match="by name"):
        njit("void()")

    @njit(fastmath=False)
    def inverse(x):
        return 1.0 / x

    assert inverse(0.0) == math.inf, "error_model must be numpy's"


def test_cache_root_follows_the_environment(monkeypatch):
    monkeypatch.setenv("MST_CACHE", "~/here")
    assert cache_root() == Path("~/here").expanduser()
    monkeypatch.delenv("MST_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/there")
    assert cache_root() == Path("/there/mst")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_root() == Path("~/.cache/mst").expanduser()
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 2**31 - 2)  # no account
    with pytest.raises(OSError):
        cache_root().mkdir(parents=True)


@pytest.mark.parametrize("dtype", (np.uint32, np.uint64))
def test_bitmap_words_hold_the_bits_of_packbits(dtype, rng):
    present = rng.random(200) < 0.3
    words = np.packbits(np.append(present, np.zeros(56, bool)), bitorder="little").view(dtype)

    @njit
    def bits(words, size):
        return [get_bit(words, i) for i in range(size)]

    assert bits(words, 200) == present.tolist()
    if dtype == np.uint32:
        written = zeroed(200, dtype)
        set_bits(np.flatnonzero(present), written)
        assert np.array_equal(written, words[: len(written)])
    else:

        @njit
        def ones(word, out):
            return count_ones(word), write_positions_of_ones(word, 1000, out, 1)

        for word in (*words[:3], np.uint64(0), np.uint64(2**64 - 1), np.uint64(2**63)):
            positions = np.zeros(66, np.int64)
            expected = [1000 + i for i in range(64) if int(word) >> i & 1]
            assert ones(word, positions) == (len(expected), 1 + len(expected))
            assert positions[1 : 1 + len(expected)].tolist() == expected


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
def test_distinct_ids_are_sorted_and_repeated_ones_counted(dtype, rng):
    for m in (1, 63, 64, 65, 128, 6400, 7001):
        for size in (m, max(m // 2, 1), max(m // 70, 1), 1):
            ids = rng.permutation(m)[:size].astype(dtype)
            rising = np.sort(ids)
            parts = (np.arange(m - size, m, dtype=dtype), np.arange(size, dtype=dtype))
            for given in (ids, rising, rising[::-1].copy(), *parts):
                found, different = ascending(given, m)
                assert different == size and found.dtype == np.int64 and (found == np.sort(given)).all()
            for place in {0, (size - 1) // 2, 1023 % size, 1024 % size, size - 1}:
                twice = np.insert(rising, place, rising[place])
                assert ascending(twice, m)[1] == ascending(twice[::-1].copy(), m)[1] == size
            repeated = np.append(ids, ids[:1])
            assert ascending(repeated, m)[1] == size
            assert ascending(np.append(ids, dtype(m)), m)[1] == -1
            assert ascending(np.append(ids, np.iinfo(dtype).max).astype(dtype), m)[1] == -1
            assert ascending(np.append(rising, dtype(m)), m)[1] == -1
    assert ascending(np.empty(0, dtype), 5)[1] == 0


def test_ascending_ids_stay_within_their_part_and_leave_no_bits(rng):
    for size in (1, 69, 70, 71, 640):
        ids, words, out = (
            rng.permutation(640)[:size].astype(np.uint32) + np.uint32(128),
            zeroed(640),
            np.full(900, -7),
        )
        assert write_ascending(ids, words, np.uint64(128), out[100 : 100 + size]) == size
        assert (out[100 : 100 + size] == np.sort(ids)).all() and not words.any()
        assert (out[:100] == -7).all() and (out[100 + size :] == -7).all()


def test_find_halves_paths():
    parent = np.array([0, 0, 1, 2, 3, 4, 5])
    assert find(parent, 6) == 0
    assert parent.tolist() == [0, 0, 0, 2, 2, 4, 4]


def forest_records(graph, ids, dtype):
    """The records of a forest, lightest first, and how many are as heavy as the one before."""
    weights = graph.w[ids]
    edges, ranked = (np.empty(len(ids), edge_dtype(np.dtype(dtype), graph.m, weights.dtype)) for _ in range(2))
    gather_edges(graph.u.astype(dtype), graph.v.astype(dtype), weights, ids, edges)
    return ranked, put_in_order(edges, *sorted_records(*records(order.keys(weights))), ranked)


@pytest.mark.parametrize("dtype", (np.uint32, np.uint64))
def test_reconstruction_tree_gives_joining_edges_and_root_paths(dtype, rng):
    n = 60
    graph = Graph(n, rng.integers(0, n, 55), rng.integers(0, n, 55), rng.integers(0, 30, 55))
    ids = np.array(oracles.by_python_kruskal(graph))
    by_rank = ids[np.argsort(graph.w[ids], kind="stable")]
    ranked, ties = forest_records(graph, ids, dtype)
    assert ranked["id"].tolist() == by_rank.tolist()
    assert ties == len(ids) - len(set(graph.w[ids].tolist()))
    ends = np.column_stack((ranked["u"], ranked["v"])).astype(np.int64)
    assert np.array_equal(ends, np.column_stack((graph.u, graph.v))[by_rank])
    links = np.empty((n, 2), dtype)
    assert link_trees(ranked, np.arange(n, dtype=dtype), links, np.empty((0, 3), dtype)) == -1
    joined, tree = {}, [{x} for x in range(n)]
    for rank, (a, b) in enumerate(ends.tolist()):
        for x in tree[a]:
            for y in tree[b]:
                joined[x, y] = joined[y, x] = rank
        both = tree[a] | tree[b]
        for x in both:
            tree[x] = both
    pairs = np.array([(x, y) for x in range(n) for y in range(n) if x != y] + [(0, 0)], dtype)
    a, b, ranks = pairs[:, 0].copy(), pairs[:, 1].copy(), np.empty(len(pairs), np.uint64)
    find_joining_ranks(links, a, b, len(pairs) - 1, np.empty(len(pairs), np.uint32), ranks)
    for (x, y), rank in zip(pairs[:-1].tolist(), ranks.tolist()):
        assert rank == joined[x, y] if (x, y) in joined else rank >= n
    root_paths, tie_bounds = (
        np.empty(n, root_path_dtype(np.dtype(dtype), graph.w.dtype)),
        np.empty(n, np.uint32),
    )
    find_root_paths(ranked, root_paths)
    find_tie_bounds(ranked, tie_bounds)
    for x in range(n):
        root, steps, rank = x, 0, -1
        while links[root, 1] < n:
            rank, root, steps = int(links[root, 1]), links[root, 0], steps + 1
        assert steps <= math.log2(n) and root in tree[x]
        assert root_paths[x]["root"] == root and links[root, 1] == n - 1 + len(tree[x])
        assert root_paths[x]["weight"] == graph.w[by_rank[max(rank, 0)]]
        assert tie_bounds[x] == (by_rank[rank] + 1 if rank >= 0 else 0)


def test_ids_of_all_edges_fit_their_dtype():
    assert (id_dtype(2**32 - 2), id_dtype(2**32 - 1)) == (np.uint32, np.uint64)


def test_places_out_of_order_are_detected():
    graph = Graph(4, [0, 1, 2], [1, 2, 3], [5, 5, 4])
    ids = np.arange(3)
    edges = np.empty(3, edge_dtype(np.dtype(np.uint32), 3, graph.w.dtype))
    gather_edges(graph.u.view(np.uint32), graph.v.view(np.uint32), graph.w, ids, edges)
    nothing = np.empty(0, np.uint32)
    for places, found in (([2, 0, 1], 1), ([2, 1, 0], -1), ([0, 1, 2], -1), ([0, 2, 1], -1)):
        assert put_in_order(edges, np.array(places, np.uint64), nothing, np.empty_like(edges)) == found


def test_linking_stops_at_a_cycle():
    graph = Graph(4, [0, 1, 2, 3], [1, 2, 0, 3], [1, 2, 3, 4])
    for ids in ([0, 1, 2, 3], [0, 1, 3]):
        ranked, _ = forest_records(graph, np.array(ids), np.uint32)
        parent, links = np.arange(4, dtype=np.uint32), np.empty((4, 2), np.uint32)
        assert link_trees(ranked, parent, links, np.empty((0, 3), np.uint32)) == 2
        assert links[:, 1].tolist() == [0, 3 + 3, 1, 3 + 1]


def test_of_equally_light_parallel_edges_the_first_is_kept():
    u, v = np.array([0, 1, 0, 2, 2, 0]), np.array([1, 0, 1, 2, 1, 1])
    w = np.array([5, 4, 4, 1, 9, 6])
    pairs = np.array([1, 1, 1, 8, 5, 1], np.uint64)
    by_pair = np.argsort(pairs, kind="stable")
    assert lightest_of_parallel_edges(u, v, w, pairs, by_pair).tolist() == [1, 4]


def test_bins_hold_every_significand():
    high, low = bin_sums(np.array([1.0, -0.5, np.inf, -np.inf, -np.inf, 5e-324, 0.0, -0.0]))
    value = sum((int(h) * 2**27 + int(l)) << max(e - 1, 0) for e, (h, l) in enumerate(zip(high[:-1], low[:-1])))
    assert value == 2**1073 + 1, "one half, and the least of all floats"
    assert (high[-1], low[-1]) == (-1, 3)


def test_linear_algebra_is_loaded_only_when_compiled_code_calls_it():
    program = (
        "import sys, mst, numba, numpy as np\n"
        "mst.minimum_spanning_forest((2, [0], [1], [5]), algorithm='kruskal')\n"
        "assert 'numba' in sys.modules and 'scipy.linalg' not in sys.modules\n"
        "assert numba.njit(lambda a: a @ a)(np.full((2, 2), 3.0)).sum() == 72\n"
        "assert 'scipy.linalg' in sys.modules\n"
    )
    run_python(program)


def test_numba_has_one_threading_layer_whichever_module_loads_it_first():
    """This one imports numba before `mst.kernels.primitives.jit`; numba alone would prefer TBB."""
    done = run_python(
        """
        import os
        os.environ.pop("NUMBA_THREADING_LAYER", None)
        import mst.kernels.filter_boruvka.parallel.records, numba
        print(numba.config.THREADING_LAYER)
        """
    )
    assert done.stdout == "omp\n"
