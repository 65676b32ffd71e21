"""Cores that a process can keep busy where a control group limits its time, as in a container."""

from __future__ import annotations

import math

import pytest

import mst
from mst import cores


@pytest.fixture
def quota(tmp_path):
    """Return a function that computes the quota, given the groups of a process and the mounted files of groups."""

    def of(groups, files):
        (tmp_path / "groups").write_text(groups)
        for name, text in files.items():
            (file := tmp_path / "mounted" / name).parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return cores._quota.__wrapped__(tmp_path / "groups", tmp_path / "mounted")

    return of


def test_groups_above_limit_their_members(quota):
    inside = "0::/a/b\n"
    assert quota(inside, {"a/cpu.max": "150000 100000\n", "a/b/cpu.max": "max 100000\n"}) == 1.5
    assert quota(inside, {"a/b/cpu.max": "50000 100000\n"}) == 0.5


def test_groups_of_version_1_and_a_container_whose_own_group_is_the_root(quota):
    inside = "5:memory:/docker/x\n4:cpu,cpuacct:/docker/x\n0::/system.slice\n"
    assert quota(inside, {"cpu/cpu.cfs_quota_us": "200000\n", "cpu/cpu.cfs_period_us": "100000\n"}) == 2
    assert quota(inside, {"cpu/cpu.cfs_quota_us": "-1\n"}) == math.inf


def test_no_limit_and_no_groups(quota, tmp_path):
    assert quota("0::/\n", {}) == math.inf
    assert cores._quota.__wrapped__(tmp_path / "absent", tmp_path) == math.inf


@pytest.mark.skipif(cores.usable_cores() < 2, reason="needs two cores")
def test_quota_limits_the_default_and_no_request(monkeypatch):
    for granted, width in ((0.5, 1), (1.0, 1), (1.5, 2), (math.inf, cores.usable_cores())):
        monkeypatch.setattr(cores, "_quota", lambda granted=granted: granted)
        assert cores.granted_cores() == width and cores.usable_width() <= width
        assert mst.minimum_spanning_forest((3, [0, 1], [1, 2], [1.0, 2.0]), threads=2).edge_ids.tolist() == [
            0,
            1,
        ]
