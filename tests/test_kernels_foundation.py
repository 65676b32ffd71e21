"""The building blocks: what a piece of code reaches, machine code that is never stale, sorting, hooks, sums."""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import oracles
import pytest

from mst.graph import Graph
from mst.kernels import sources
from mst.kernels.cache import cache_root
from mst.kernels.exact_sum import bin_sums
from mst.kernels.jit import njit
from mst.kernels.parallel_edges import lightest_of_pairs
from mst.kernels.radix import argsort
from mst.kernels.reconstruction import find_summits, gather_ends, join, joined_by, summit_dtype
from mst.kernels.union_find import find


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Return a function that writes files into a package of its own, which `sources` takes for mst."""
    root = tmp_path / "mst"
    monkeypatch.setattr(sources, "PACKAGE", root)

    def write(**files: str) -> Path:
        for name, text in files.items():
            *folders, stem = name.split("__")
            stem = stem.removesuffix("_cu") + ".cu" if stem.endswith("_cu") else stem + ".py"
            path = root.joinpath(*folders, stem)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text))
        sources.closure.cache_clear()
        sources.fingerprint.cache_clear()
        return root

    yield write
    sources.closure.cache_clear()
    sources.fingerprint.cache_clear()


BASE = {
    "algorithms__threads__a": '''
        """An algorithm."""
        from mst.kernels.one import f
        from mst.order import keys

        def solve(x):
            """Solve."""
            # A comment.
            text = "# no comment"
            return f(x)
    ''',
    "kernels__one": "from mst.kernels import two\n\ndef f(x):\n    return two.g(x)\n",
    "kernels__two": "def g(x):\n    return x + 1\n",
    "kernels__other": "y = 1\n",
    "order": "def keys(x):\n    return x\n",
}


def test_a_closure_holds_what_is_reached_and_nothing_else(package):
    root = package(**BASE)
    found = {f.relative_to(root).as_posix() for f in sources.closure(root / "algorithms/threads/a.py")}
    assert found == {"algorithms/threads/a.py", "kernels/one.py", "kernels/two.py"}


@pytest.mark.parametrize(
    "name,old,new,changes",
    [
        ("algorithms__threads__a", "# A comment.", "# Another.\n\n", False),
        ("algorithms__threads__a", '"""Solve."""', '"""Solve it\n            well."""', False),
        ("algorithms__threads__a", '"""An algorithm."""', "", False),
        ("algorithms__threads__a", '"# no comment"', '"# another"', True),
        ("algorithms__threads__a", "f(x)", "f(x) + 0", True),
        ("kernels__one", "two.g(x)", "two.g(x) * 1", True),
        ("kernels__two", "x + 1", "x + 2", True),
        ("kernels__two", "x + 1", "x + 1  ", False),
        ("kernels__two", "x + 1", "x + 1  # more", False),
        ("kernels__other", "y = 1", "y = 2", False),
        ("order", "return x", "return -x", False),
    ],
)
def test_fingerprints_follow_the_meaning_of_what_is_reached(package, name, old, new, changes):
    file = package(**BASE) / "algorithms/threads/a.py"
    before = sources.fingerprint(file)
    assert old in BASE[name]
    package(**{**BASE, name: BASE[name].replace(old, new)})
    assert (sources.fingerprint(file) != before) is changes


def test_cuda_files_and_what_they_include_are_reached(package):
    files = {
        "algorithms__cuda__a": "SOURCE = 'a.cu'\n",
        "algorithms__cuda__a_cu": '#include "b.cu"\n#include <system.cu>\n',
        "kernels__cuda__b_cu": "// here\n",
        "kernels__cuda__c_cu": "// elsewhere\n",
    }
    root = package(**files)
    file = root / "algorithms/cuda/a.py"
    assert {f.name for f in sources.closure(file)} == {"a.py", "a.cu", "b.cu"}
    before = sources.fingerprint(file)
    package(**{**files, "kernels__cuda__b_cu": "// changed\n"})
    assert sources.fingerprint(file) != before


def test_machine_code_is_made_anew_when_a_callee_in_another_file_changes(tmp_path):
    """numba's own cache would return the stale 1 here."""
    kernels = tmp_path / "mst" / "kernels"
    kernels.mkdir(parents=True)
    for name in ("jit.py", "cache.py", "sources.py", "__init__.py"):
        shutil.copy(sources.PACKAGE / "kernels" / name, kernels / name)
    (tmp_path / "mst" / "__init__.py").write_text("")
    header = "from mst.kernels.jit import njit\n"
    (kernels / "caller.py").write_text(
        header + "from mst.kernels.callee import g\n@njit\ndef f(x):\n    return g(x)\n"
    )
    program = (
        "from mst.kernels.caller import f\nvalue = f(1)\n"
        "print(value, sum(f.stats.cache_hits.values()), sum(f.stats.cache_misses.values()))"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "MST_CACHE": str(tmp_path / "cache")}

    def run(callee: str) -> list[str]:
        (kernels / "callee.py").write_text(
            header + f"@njit(inline='always')\ndef g(x):\n    # {len(callee)}\n    return {callee}\n"
        )
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    assert run("x + 0") == ["1", "0", "1"]
    assert run("x + 0") == ["1", "1", "0"], "the second process compiles again"
    assert run("x + 5") == ["6", "0", "1"]
    assert run("x + 0") == ["1", "1", "0"], "the first version's code is gone"


def test_njit_takes_options_by_name_only():
    with pytest.raises(TypeError, match="by name"):
        njit("void()")

    @njit(fastmath=False)
    def inverse(x):
        return 1.0 / x

    assert inverse(0.0) == math.inf, "error_model must be numpy's"


def test_caches_lie_where_the_environment_says(monkeypatch):
    monkeypatch.setenv("MST_CACHE", "~/here")
    assert cache_root() == Path("~/here").expanduser()
    monkeypatch.delenv("MST_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/there")
    assert cache_root() == Path("/there/mst")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_root() == Path("~/.cache/mst").expanduser()


@pytest.mark.parametrize("dtype", (np.uint32, np.uint64))
@pytest.mark.parametrize("m", (0, 1, 2, 31, 32, 33, 1000, 70_000))
def test_radix_sort_is_stable(dtype, m, rng):
    top = np.iinfo(dtype).max
    for keys in (
        rng.integers(0, top, m, dtype=dtype, endpoint=True),
        rng.integers(0, 3, m, dtype=dtype),
        np.full(m, top, dtype),
        rng.integers(0, 5, m, dtype=dtype) << dtype(27),
        np.arange(m, dtype=dtype)[::-1].copy(),
    ):
        before = keys.copy()
        assert np.array_equal(argsort(keys), np.argsort(keys, kind="stable"))
        assert np.array_equal(keys, before)


def test_find_halves_paths():
    parent = np.array([0, 0, 1, 2, 3, 4, 5])

    @njit
    def root(parent, x):
        return find(parent, x)

    assert root(parent, 6) == 0
    assert parent.tolist() == [0, 0, 0, 2, 2, 4, 4]


@pytest.mark.parametrize("dtype", (np.int32, np.int64))
def test_reconstruction_knows_who_joined_whom(dtype, rng):
    n = 60
    graph = Graph(n, rng.integers(0, n, 55), rng.integers(0, n, 55), rng.integers(0, 30, 55))
    ids = np.array(oracles.by_python_kruskal(graph))
    by_rank = np.argsort(graph.w[ids], kind="stable")
    space, ends = np.empty((len(ids), 2), dtype), np.empty((len(ids), 2), dtype)
    u, v = graph.u.astype(dtype), graph.v.astype(dtype)
    gather_ends(u, v, ids, by_rank, space, ends)
    assert np.array_equal(ends, np.column_stack((u, v))[ids[by_rank]])
    hooks, links = np.empty((n, 2), dtype), np.empty_like(ends)
    assert join(ends, hooks, links) == -1
    joined = {(x, x): -1 for x in range(n)}
    tree = [{x} for x in range(n)]
    for rank, (a, b) in enumerate(ends.tolist()):
        for x in tree[a]:
            for y in tree[b]:
                joined[x, y] = joined[y, x] = rank
        both = tree[a] | tree[b]
        for x in both:
            tree[x] = both
    for x in range(n):
        for y in range(n):
            assert joined_by(hooks, x, y) == joined.get((x, y), n)
    weights = graph.w[ids][by_rank]
    summits = np.empty(n, summit_dtype(dtype, graph.m, weights.dtype))
    find_summits(hooks, links, ids, by_rank, weights, summits)
    for x in range(n):
        root, steps, rank = x, 0, -1
        while hooks[root, 1] < 0:
            rank, root, steps = hooks[root, 1] + n, hooks[root, 0], steps + 1
        assert steps <= math.log2(n) and root in tree[x]
        assert (summits[x]["root"], summits[x]["edge"]) == (root, ids[by_rank[rank]] if rank >= 0 else -1)
        assert summits[x]["weight"] == weights[max(rank, 0)]


def test_join_stops_at_a_cycle():
    ends = np.array([[0, 1], [1, 2], [2, 0], [3, 3]], np.int32)
    hooks, links = np.empty((4, 2), np.int32), np.empty((4, 2), np.int32)
    assert join(ends, hooks, links) == 2
    assert join(ends[[0, 1, 3]], hooks, links[:3]) == 2


def test_lightest_of_pairs_prefers_the_first_of_equals():
    u, v = np.array([0, 1, 0, 2, 2, 0]), np.array([1, 0, 1, 2, 1, 1])
    w = np.array([5, 4, 4, 1, 9, 6])
    pairs = np.array([1, 1, 1, 8, 5, 1], np.uint64)
    by_pair = np.argsort(pairs, kind="stable")
    assert lightest_of_pairs(u, v, w, pairs, by_pair).tolist() == [1, 4]


def test_bins_hold_every_significand():
    high, low = bin_sums(np.array([1.0, -0.5, np.inf, -np.inf, -np.inf, 5e-324, 0.0, -0.0]))
    value = sum((int(h) * 2**27 + int(l)) << max(e - 1, 0) for e, (h, l) in enumerate(zip(high[:-1], low[:-1])))
    assert value == 2**1073 + 1, "one half, and the least of all floats"
    assert (high[-1], low[-1]) == (-1, 3)
