"""Energy counters over a made-up sysfs tree and a made-up NVML."""

from __future__ import annotations

import ctypes
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from mst.bench.measure import energy
from mst.bench.measure.energy import counters_here, measure_energy, nvml_counters, rapl_counters

pytestmark = pytest.mark.alone

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
    """Two packages with their parts, memory apart, the platform, and a second door to the first package."""
    for socket in (0, 1):
        zone(tmp_path, f"intel-rapl:{socket}", f"package-{socket}", 1_000_000)
        zone(tmp_path, f"intel-rapl:{socket}:0", "core", 400_000)
        zone(tmp_path, f"intel-rapl:{socket}:1", "dram", 2_000_000)
    zone(tmp_path, "intel-rapl:2", "psys", 9_000_000)
    zone(tmp_path, "intel-rapl-mmio:0", "package-0", 1_000_000)
    (tmp_path / "dtpm").mkdir()
    return tmp_path


def test_domains_that_do_not_overlap(server):
    assert [c.name for c in rapl_counters(server)] == ["package-0", "dram-0", "package-1", "dram-1"]


def test_energy_is_what_the_counters_gained(server):
    with measure_energy(rapl_counters(server)) as used:
        zone(server, "intel-rapl:0", "package-0", 4_500_000)
        zone(server, "intel-rapl:1:1", "dram", 2_250_000)
    assert used.domains == pytest.approx({"package-0": 3.5, "dram-0": 0.0, "package-1": 0.0, "dram-1": 0.25})
    assert used.joules == pytest.approx(3.75)
    assert used.as_dict() == {"joules": used.joules, "domains": used.domains, "seconds": used.seconds}


def test_a_counter_that_wrapped(tmp_path):
    zone(tmp_path, "intel-rapl:0", "package-0", RANGE - 2_000_000)
    with measure_energy(rapl_counters(tmp_path)) as used:
        zone(tmp_path, "intel-rapl:0", "package-0", 3_000_000)
    assert used.joules == pytest.approx(5.0)


def test_a_counter_that_could_have_wrapped_twice_says_nothing(tmp_path, monkeypatch):
    zone(tmp_path, "intel-rapl:0", "package-0", 0)
    times = iter((0.0, 300.0))
    monkeypatch.setattr(energy.time, "monotonic", lambda: next(times))
    with measure_energy(rapl_counters(tmp_path)) as used:
        zone(tmp_path, "intel-rapl:0", "package-0", 5_000_000)
    assert used.joules is None and used.as_dict() is None


@pytest.mark.parametrize("content", ["", "not a number"])
def test_a_counter_that_cannot_be_read_is_left_out(tmp_path, content):
    zone(tmp_path, "intel-rapl:0", "package-0", 0).write_text(content)
    zone(tmp_path, "intel-rapl:1", "package-1", 0, span=None)
    assert rapl_counters(tmp_path) == []


def test_a_counter_that_stops_answering_says_nothing(tmp_path):
    file = zone(tmp_path, "intel-rapl:0", "package-0", 0)
    with measure_energy(rapl_counters(tmp_path)) as used:
        file.unlink()
    assert used.joules is None


def test_the_energy_of_a_block_that_fails_is_still_told(server):
    with pytest.raises(ValueError, match="inside"), measure_energy(rapl_counters(server)) as used:
        zone(server, "intel-rapl:0", "package-0", 2_000_000)
        raise ValueError("inside")
    assert used.joules == pytest.approx(1.0)


def test_nothing_to_read(tmp_path):
    assert rapl_counters(tmp_path / "absent") == []
    with measure_energy([]) as used:
        time.sleep(0.02)
    assert used.joules is None and 0.02 <= used.seconds < 10


def test_whatever_this_host_has_can_be_read():
    with measure_energy() as used:
        sum(range(10_000))
    assert used.joules is None if not counters_here() else used.joules >= 0


@dataclass
class FakeNvml:
    """The calls of NVML that are used; millijoules by device, None where the device does not count."""

    millijoules: list[int | None]
    broken: bool = False

    def nvmlInit_v2(self):
        return 9 if self.broken else 0

    def nvmlDeviceGetCount_v2(self, out):
        out._obj.value = len(self.millijoules)
        return 0

    def nvmlDeviceGetHandleByIndex_v2(self, index, out):
        out._obj.value = index.value + 1
        return 0 if index.value < len(self.millijoules) else 2

    def nvmlDeviceGetHandleByUUID(self, name, out):
        out._obj.value = 2
        return 0 if name == b"GPU-two" else 6

    def nvmlDeviceGetTotalEnergyConsumption(self, device, out):
        value = self.millijoules[device.value - 1]
        if value is None:
            return 3
        out._obj.value = value
        return 0


def test_every_gpu_that_counts():
    library = FakeNvml([5_000, None, 7_000])
    counters = nvml_counters(library, {})
    assert [c.name for c in counters] == ["gpu-0", "gpu-2"]
    with measure_energy(counters) as used:
        library.millijoules = [6_500, None, 7_000]
    assert used.domains == pytest.approx({"gpu-0": 1.5, "gpu-2": 0.0})


@pytest.mark.parametrize(
    ("visible", "names"), [("1", ["gpu-1"]), ("GPU-two", ["gpu-GPU-two"]), ("", []), ("7", []), ("-1", [])]
)
def test_only_the_gpus_that_this_process_may_use(visible, names):
    library = FakeNvml([1_000, 2_000])
    assert [c.name for c in nvml_counters(library, {"CUDA_VISIBLE_DEVICES": visible})] == names


def test_a_driver_that_does_not_start():
    assert nvml_counters(FakeNvml([1], broken=True), {}) == []


def test_no_library(monkeypatch):
    def absent(name):
        raise OSError(name)

    monkeypatch.setattr(ctypes, "CDLL", absent)
    assert nvml_counters(environment={}) == []
