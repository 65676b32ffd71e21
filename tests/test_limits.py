"""Processor time and memory that control groups grant, as in a container or a cluster's job."""

from __future__ import annotations

import math

import psutil
import pytest

import mst
from mst import cores, limits
from mst.bench.measure.processes import memory_limit
from mst.streaming.memory import Budget


@pytest.fixture
def group(tmp_path, monkeypatch):
    """Return a function that writes the groups of this process and the mounted files of groups."""

    def written(groups, files):
        (tmp_path / "groups").write_text(groups)
        for name, text in files.items():
            (file := tmp_path / "mounted" / name).parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)

    monkeypatch.setattr(limits, "_GROUPS", tmp_path / "groups")
    monkeypatch.setattr(limits, "_MOUNTED", tmp_path / "mounted")
    limits.processor_quota.cache_clear()
    yield written
    limits.processor_quota.cache_clear()


VERSION_1 = "6:cpuset:/apart\n5:memory:/docker/x\n4:cpu,cpuacct:/docker/x\n0::/system.slice\n"
"""The groups of a process in a container, which sees its own groups as the topmost ones; that of processors differs."""


def test_groups_above_limit_the_time_of_their_members(group):
    group("0::/a/b\n", {"a/cpu.max": "150000 100000\n", "a/b/cpu.max": "max 100000\n"})
    assert limits.processor_quota() == 1.5


def test_time_by_groups_of_version_1(group):
    for folder, quota in (("cpu", 200_000), ("cpu/apart", 50_000)):
        group(
            VERSION_1,
            {
                f"{folder}/cpu.cfs_{name}_us": f"{value}\n"
                for name, value in (("quota", quota), ("period", 100_000))
            },
        )
    assert limits.processor_quota() == 2


def test_time_without_a_limit(group):
    group(VERSION_1, {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"})
    assert limits.processor_quota() == math.inf


@pytest.mark.parametrize(
    ("inside", "folder", "limit", "used", "cached"),
    [
        ("0::/a/b\n", "a", "memory.max", "memory.current", "inactive_file"),
        (VERSION_1, "memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ],
)
def test_memory_that_a_group_leaves_counts_what_the_system_can_drop(group, inside, folder, limit, used, cached):
    files = {limit: "9000000\n", used: "5000000\n", "memory.stat": f"anon 7\n{cached} 2000000\n"}
    group(inside, {f"{folder}/{name}": text for name, text in files.items()})
    assert limits.free_memory() == 6_000_000 and memory_limit(0.5) == 3_000_000
    assert Budget.of("2T", 1).memory == 9_000_000 and Budget.of(8_000_000, 1).memory == 8_000_000
    group(inside, {f"{folder}/{used}": "99000000\n"})
    assert limits.free_memory() == 0


@pytest.mark.parametrize("groups", ["0::/\n", "0::/a\n", ""])
def test_memory_without_a_limit_is_the_machines(group, groups):
    group(groups, {"a/memory.max": "max\n", "a/memory.current": "5\n", "a/memory.stat": "inactive_file 0\n"})
    assert limits.free_memory() > 0.5 * psutil.virtual_memory().available
    assert Budget.of("1000T", 1).memory == psutil.virtual_memory().total
    assert limits.processor_quota() == math.inf


@pytest.mark.skipif(cores.usable_cores() < 2, reason="needs two cores")
@pytest.mark.parametrize(("quota", "width"), [(0.5, 1), (1.0, 1), (1.5, 2), (math.inf, cores.usable_cores())])
def test_quota_limits_the_default_and_no_request(quota, width, monkeypatch):
    monkeypatch.setattr(cores, "processor_quota", lambda: quota)
    assert cores.granted_cores() == width and cores.usable_width() <= width
    assert mst.minimum_spanning_forest((3, [0, 1], [1, 2], [1.0, 2.0]), threads=2).edge_ids.tolist() == [0, 1]
