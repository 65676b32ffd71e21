"""What the kernels of `filter_boruvka.cu` are given: settings, workspace, and the struct that carries both.

Nothing here needs CUDA: arrays come from any module with numpy's `empty`, so that the same plan drives a GPU and
the emulator of the tests.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

STAGES = 72
TIE_CAPACITY = 1 << 20
TIMES = (12 + 3 * STAGES) // 2  # where the instrumented build notes times, in 64-bit words of the control block
PIECE = 512
SPREAD = 65536
PHASES = [
    "threshold",
    "nearest",
    "join",
    "hook_vertices",
    "follow_vertices",
    "extract",
    "settle",
    "hook",
    "follow",
    "relabel",
    "tail",
    "compose",
    "outside",
    "end",
]
STATUS = ("emitted", "rounds", "light_records", "finals", "outside", "ties", "heavy_records", "roots")

_POINTERS = [
    "u",
    "v",
    "edge_keys",
    "offsets",
    "keys",
    "neighbours",
    "ids",
    "nearest",
    "choice",
    "labels",
    "levels",
    "best0",
    "best1",
    "records0",
    "records1",
    "low0",
    "low1",
    "ties",
    "composed",
    "outside",
    "pieces",
    "lightest",
    "forest",
    "control",
    "status",
]
_COUNTS = [
    "n",
    "m",
    "group",
    "long_row",
    "samples",
    "rank",
    "light",
    "seed",
    "place_bits",
    "key_shift",
    "id_shift",
    "unused",
]
PLAN = np.dtype([(name, np.uint64) for name in _POINTERS] + [(name, np.uint32) for name in _COUNTS])


@dataclass(frozen=True)
class Settings:
    """How a solve goes about its graph; see the struct `Plan` in ``plan.cuh``."""

    group: int
    long_row: int
    samples: int
    rank: int
    light: int
    seed: int


def settings(
    n: int, m: int, *, csr: bool = True, factor: float = 0.0, samples: int = 4096, seed: int = 1
) -> Settings:
    """Choose the settings for a graph of `n` vertices and `m` edges.

    Parameters
    ----------
    csr : bool
        Whether a solve starts from rows; without, it has no first round that costs no records.
    factor : float
        Light edges per vertex; 0 chooses by the average degree.
    samples : int
        Weights sampled for the threshold, at most; 4096 is the kernels' limit.
    seed : int
        Of the sample.
    """
    degree = 2 * m / max(n, 1)
    factor = factor or _factor(degree, csr)
    share = factor * n / max(m, 1)
    filtered = share < 0.9 and m > 0
    # A rank of some dozens is precise enough; more samples cost time.
    samples = min(samples, max(1024, -(-int(64 / max(share, 1e-9)) // 1024) * 1024))
    group = next((lanes for limit, lanes in ((9, 1), (12, 2), (24, 4), (48, 8)) if degree < limit), 32)
    return Settings(
        group=group,
        long_row=PIECE if group < 32 else max(16384, int(4 * degree)),
        samples=samples if filtered else 0,
        rank=min(int(samples * share), samples - 1) if filtered else 0,
        light=min(int(factor * n), m) if filtered else m,
        seed=seed,
    )


def arrays(
    n: int, m: int, slots: int, *, csr: bool, key_bits: int, long_row: int = PIECE, piece: int = PIECE
) -> dict[str, tuple[type, int]]:
    """Return the workspace of a solve: name to (dtype, length).

    Every list has room for the worst case, so no setting and no weight distribution can overflow it.
    """
    records = capacity(m)
    pieces = slots // piece + slots // (long_row + 1) + 1 if csr else 1
    wide = key_bits == 64
    minima = n // 2 + 2 if csr else n + 2
    return {
        "nearest": (np.uint32, n if csr else 0),
        "choice": (np.uint32, n if csr else 0),
        "labels": (np.uint32, n),
        "levels": (np.uint32, n if csr else 2 * n),
        "best0": (np.uint64, max(minima, SPREAD)),
        "best1": (np.uint64, max(minima, SPREAD)),
        "records0": (np.uint32, 4 * records),
        "records1": (np.uint32, 4 * records),
        "low0": (np.uint32, records if wide else 0),
        "low1": (np.uint32, records if wide else 0),
        "ties": (np.uint64, TIE_CAPACITY),
        "composed": (np.uint32, n // 2 + 1),
        "outside": (np.uint32, n if csr else n // 32 + 32),
        "pieces": (np.uint32, 4 * pieces),
        "lightest": (np.uint32, (4 if wide else 2) * pieces),
        "control": (np.uint64, TIMES + 4 * STAGES),
    }


def _factor(degree: float, csr: bool) -> float:
    """Light edges per vertex that were fastest on an H200, by average degree; see docs/performance-cuda.md."""
    for limit, factor in ((2.8, 2.0), (3.5, 0.75), (7.0, 1.15), (12.0, 0.85)):
        if degree < limit:
            return factor
    for limit, with_rows, without in ((40.0, 0.95, 1.1), (200.0, 1.5, 1.6)):
        if degree < limit:
            return with_rows if csr else without
    return 2.5 if csr else 4.0


def items_per_thread(n: int, m: int, *, csr: bool) -> int:
    """Return the records that a thread has in flight: more of them pay where the vertices' words stay in the cache."""
    return 4 if not csr and m >= 1 << 20 and n <= 1 << 21 else 2


def capacity(m: int) -> int:
    """Return the places of a list of `m` records: an eighth of what a stage appends is holes at most, and 7/6 > 8/7."""
    return m + m // 6 + 1024


def offer_layout(m: int, key_bits: int, largest: int) -> dict[str, int]:
    """Return how an offer packs a prefix of (key, edge id) above a place; see `offer_of` in ``records.cuh``.

    Parameters
    ----------
    m : int
        Edges.
    key_bits : int
        32 or 64.
    largest : int
        Largest key, which tells how many bits of 32-bit keys matter.
    """
    place_bits = (capacity(m) - 1).bit_length()
    if key_bits == 64:
        return {"place_bits": place_bits, "key_shift": 32 - place_bits, "id_shift": place_bits}
    id_bits = max(m - 1, 1).bit_length()
    kept = min(id_bits, 64 - place_bits - largest.bit_length())
    return {"place_bits": place_bits, "key_shift": kept, "id_shift": id_bits - kept}


def needed_bytes(layout: dict[str, tuple[type, int]]) -> int:
    """Return the bytes of a workspace."""
    return sum(np.dtype(dtype).itemsize * length for dtype, length in layout.values())


def fill_plan(how: Settings, n: int, m: int, offers: dict[str, int], pointers: dict[str, Any]) -> np.ndarray:
    """Return the struct: settings, sizes and addresses; those not given are null."""
    plan = np.zeros(1, PLAN)
    for name, address in pointers.items():
        plan[name] = address
    plan["n"], plan["m"] = n, m
    for name in ("group", "long_row", "samples", "rank", "light", "seed"):
        plan[name] = getattr(how, name)
    for name, value in offers.items():
        plan[name] = value
    return plan


def phase_seconds(notes: np.ndarray, total: float) -> dict[str, float]:
    """Return seconds per phase from the clock notes of the instrumented build.

    Parameters
    ----------
    notes : numpy.ndarray of uint64
        (phase << 56 | clock) at the start of the kernel and at the end of each phase; zero behind the last.
    total : float
        Seconds of the whole kernel, to which the clock is scaled.
    """
    used = notes[notes != 0]
    clocks = (used & np.uint64((1 << 56) - 1)).astype(np.int64)
    spent = dict.fromkeys(PHASES, 0.0)
    if len(used) < 2 or clocks[-1] <= clocks[0]:
        return spent
    for phase, cycles in zip((used[1:] >> np.uint64(56)).tolist(), np.diff(clocks).tolist(), strict=True):
        spent[PHASES[phase]] += cycles * total / float(clocks[-1] - clocks[0])
    return spent
