"""Energy counters over an imitation of the kernel's files and of nvidia-ml-py."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mst.bench.measure import energy
from mst.bench.measure.energy import measure_energy, nvml_counters, per_solve, rapl_counters

RANGE = 262_143_328_850  # microjoules, as on many Intel processors


def zone(root: Path, path: str, name: str, microjoules: int, span: int | None = RANGE) -> Path:
    folder = root / path
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "name").write_text(name + "\n")
    (folder / "energy_uj").write_text(f"{microjoules}\n")
    if span is not None:
        (folder / "max_energy_range_uj").write_text(f"{span}\n")
    return folder / "energy_uj"


@pytest.fixture
def server(tmp_path) -> Path:
    """Two packages with their parts, memory apart, the platform, and a second entry for the first package."""
    for socket in (0, 1):
        zone(tmp_path, f"intel-rapl:{socket}", f"package-{socket}", 1_000_000)
        zone(tmp_path, f"intel-rapl:{socket}:0", "core", 400_000)
        zone(tmp_path, f"intel-rapl:{socket}:1", "dram", 2_000_000)
    zone(tmp_path, "intel-rapl:2", "psys", 9_000_000)
    zone(tmp_path, "intel-rapl-mmio:0", "package-0", 1_000_000)
    (tmp_path / "dtpm").mkdir()
    return tmp_path


def test_rapl_domains_do_not_overlap(server):
    assert [c.name for c in rapl_counters(server)] == ["package-0", "dram-0", "package-1", "dram-1"]


def test_energy_is_the_gain_of_the_counters(server):
    with measure_energy(rapl_counters(server)) as used:
        zone(server, "intel-rapl:0", "package-0", 4_500_000)
        zone(server, "intel-rapl:1:1", "dram", 2_250_000)
    assert used == pytest.approx({"package-0": 3.5, "dram-0": 0.0, "package-1": 0.0, "dram-1": 0.25})
    once = per_solve(used, 5)
    assert once["joules"] == pytest.approx(0.75)
    assert once["domains"] == pytest.approx({"package-0": 0.7, "dram-0": 0.0, "package-1": 0.0, "dram-1": 0.05})


def test_counter_that_wrapped_once_is_corrected(tmp_path):
    zone(tmp_path, "intel-rapl:0", "package-0", RANGE - 2_000_000)
    with measure_energy(rapl_counters(tmp_path)) as used:
        zone(tmp_path, "intel-rapl:0", "package-0", 3_000_000)
    assert used == {"package-0": pytest.approx(5.0)}


def test_counter_that_may_have_wrapped_twice_is_left_out(tmp_path, monkeypatch):
    zone(tmp_path, "intel-rapl:0", "package-0", 0)
    times = iter((0.0, 300.0))
    monkeypatch.setattr(energy.time, "monotonic", lambda: next(times))
    with measure_energy(rapl_counters(tmp_path)) as used:
        zone(tmp_path, "intel-rapl:0", "package-0", 5_000_000)
    assert not used and per_solve(used, 1) is None


@pytest.mark.parametrize("content", ["", "not a number"])
def test_unreadable_counter_is_left_out(tmp_path, content):
    zone(tmp_path, "intel-rapl:0", "package-0", 0).write_text(content)
    zone(tmp_path, "intel-rapl:1", "package-1", 0, span=None)
    assert rapl_counters(tmp_path) == []


def test_counter_that_becomes_unreadable_is_left_out(tmp_path):
    file = zone(tmp_path, "intel-rapl:0", "package-0", 0)
    with measure_energy(rapl_counters(tmp_path)) as used:
        file.unlink()
    assert not used


def test_energy_of_a_failing_block_is_measured(server):
    with pytest.raises(ValueError, match="inside"), measure_energy(rapl_counters(server)) as used:
        zone(server, "intel-rapl:0", "package-0", 2_000_000)
        raise ValueError("inside")
    assert sum(used.values()) == pytest.approx(1.0)


def test_without_counters_energy_is_none(tmp_path):
    assert rapl_counters(tmp_path / "absent") == []
    with measure_energy([]) as used:
        pass
    assert not used


def test_counters_of_this_host_can_be_read():
    with measure_energy() as used:
        sum(range(10_000))
    assert all(joules >= 0 for joules in used.values())
    assert bool(rapl_counters() + nvml_counters()) == bool(used)


class FakeNvml:
    """The functions of nvidia-ml-py that are used; millijoules by device, None where the device does not count."""

    class NVMLError(Exception):
        pass

    def __init__(self, *millijoules: int | None, starts: bool = True):
        self.millijoules, self._starts = list(millijoules), starts

    def nvmlInit(self):
        if not self._starts:
            raise self.NVMLError("no driver")

    def nvmlDeviceGetCount(self):
        return len(self.millijoules)

    def nvmlDeviceGetHandleByIndex(self, index):
        if index >= len(self.millijoules):
            raise self.NVMLError("no such device")
        return index

    def nvmlDeviceGetHandleByUUID(self, name):
        if name != "GPU-two":
            raise self.NVMLError("no such device")
        return 1

    def nvmlDeviceGetTotalEnergyConsumption(self, device):
        if self.millijoules[device] is None:
            raise self.NVMLError("not supported")
        return self.millijoules[device]


def test_every_gpu_that_counts_is_read(monkeypatch):
    library = FakeNvml(5_000, None, 7_000)
    monkeypatch.setitem(sys.modules, "pynvml", library)
    counters = nvml_counters({})
    assert [c.name for c in counters] == ["gpu-0", "gpu-2"]
    with measure_energy(counters) as used:
        library.millijoules = [6_500, None, 7_000]
    assert used == pytest.approx({"gpu-0": 1.5, "gpu-2": 0.0})


@pytest.mark.parametrize(
    ("visible", "names"),
    [("1", ["gpu-1"]), ("GPU-two", ["gpu-GPU-two"]), ("", []), ("7", []), ("-1", []), ("1,7,0", ["gpu-1"])],
)
def test_only_visible_gpus_are_read(monkeypatch, visible, names):
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml(1_000, 2_000))
    assert [c.name for c in nvml_counters({"CUDA_VISIBLE_DEVICES": visible})] == names


@pytest.mark.parametrize("library", [FakeNvml(1, starts=False), None], ids=["no driver", "not installed"])
def test_without_nvml_no_gpu_is_read(monkeypatch, library):
    monkeypatch.setitem(sys.modules, "pynvml", library)
    assert nvml_counters({}) == []
