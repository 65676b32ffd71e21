"""The argument and workspace of the kernels in ``filter_boruvka.cu``, with the layout of ``filter_boruvka.cuh``.

Nothing here needs CUDA, so that a GPU and the tests' emulator share this layout.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

ROUNDS = 136
TIE_CAPACITY = 1 << 20
CLOCK_NOTES = (12 + 4 * ROUNDS) // 2  # where the control block's clock notes begin, in 64-bit words
PIECE = 512  # slots per piece of a long row
SPREAD = 65536  # words over which the minima of few components are spread
PHASES = (
    "threshold",
    "row_minima",
    "combine_pieces",
    "hook_vertices",
    "compress_vertices",
    "extract",
    "resolve_ties",
    "hook_components",
    "compress_components",
    "relabel",
    "finish_in_block",
    "light_components",
    "mark_outside",
    "end",
)
COUNTERS = (
    "forest_edges",
    "rounds",
    "light_worklist",  # holes included
    "light_components",
    "outside",
    "ties",
    "heavy_worklist",  # holes included
    "first_round_components",
    "phases",
)

_POINTERS = (
    "u",
    "v",
    "edge_keys",
    "offsets",
    "keys",
    "neighbours",
    "lightest_neighbour",
    "lightest_id",
    "labels",
    "component_hooks",
    "minima0",
    "minima1",
    "worklist0",
    "worklist1",
    "key_low0",
    "key_low1",
    "ties",
    "light_component",
    "outside",
    "pieces",
    "piece_minima",
    "forest",
    "control",
    "counters",
)
_NUMBERS = (
    "n",
    "m",
    "lanes_per_row",
    "long_row",
    "samples",
    "threshold_rank",
    "expected_light",
    "seed",
    "index_bits",
    "key_shift",
    "id_shift",
    "unused",
)
ARGUMENT = np.dtype([(name, np.uint64) for name in _POINTERS] + [(name, np.uint32) for name in _NUMBERS])


class Shape(NamedTuple):
    """The numbers that determine the size of the workspace; `slots` is 0 if a solve starts from the edge list."""

    n: int
    m: int
    slots: int
    csr: bool
    key_bits: int


class Settings(NamedTuple):
    """The settings of a solve, as the struct ``FilterBoruvka`` explains them."""

    lanes_per_row: int
    long_row: int
    samples: int
    threshold_rank: int
    expected_light: int
    seed: int


class CandidateLayout(NamedTuple):
    """How a candidate's bits hold an index and a prefix of (key, edge id); see ``candidate_of`` in worklist.cuh."""

    index_bits: int
    key_shift: int
    id_shift: int


def workspace(
    shape: Shape, long_row: int, *, piece: int = PIECE, spread: int = SPREAD
) -> dict[str, tuple[Any, int]]:
    """Return a solve's workspace: name to (dtype, elements).

    Every list has space for the worst case, so no setting and no distribution of weights can overflow it.

    Parameters
    ----------
    shape : Shape
    long_row : int
        A row with more slots is split into pieces.
    piece, spread : int
        The kernels' macros ``PIECE`` and ``SPREAD``.
    """
    n, csr, wide = shape.n, shape.csr, shape.key_bits == 64
    entries = worklist_capacity(shape.m)
    pieces = shape.slots // piece + shape.slots // (long_row + 1) + 1 if csr else 1
    minima = max(n // 2 + 2 if csr else n + 2, spread)
    return {
        "lightest_neighbour": (np.uint32, n if csr else 0),
        "lightest_id": (np.uint32, n if csr else 0),
        "labels": (np.uint32, n),
        "component_hooks": (np.uint32, 64 + (n if csr else 2 * n)),
        "minima0": (np.uint64, minima),
        "minima1": (np.uint64, minima),
        "worklist0": (np.uint32, 4 * entries),
        "worklist1": (np.uint32, 4 * entries),
        "key_low0": (np.uint32, entries if wide else 0),
        "key_low1": (np.uint32, entries if wide else 0),
        "ties": (np.uint64, TIE_CAPACITY),
        "light_component": (np.uint32, n // 2 + 1 if csr else n),
        "outside": (np.uint32, n if csr else n // 32 + 32),
        "pieces": (np.uint32, 4 * pieces),
        "piece_minima": (np.uint32, (4 if wide else 2) * pieces),
        "control": (np.uint64, CLOCK_NOTES + 4 * ROUNDS),
    }


def worklist_capacity(m: int) -> int:
    """Return the capacity of a worklist for `m` edges: at most an eighth of it is holes, and 7/6 > 8/7."""
    return m + m // 6 + 1024


def candidate_layout(m: int, key_bits: int, largest: int) -> CandidateLayout:
    """Return how a candidate packs a prefix of (key, edge id) above an index into the worklist.

    Parameters
    ----------
    m : int
        Edges.
    key_bits : int
        32 or 64.
    largest : int
        The largest key; leading zeros of 32-bit keys leave more bits for ids.
    """
    index_bits = (worklist_capacity(m) - 1).bit_length()
    if key_bits == 64:
        return CandidateLayout(index_bits, key_shift=32 - index_bits, id_shift=index_bits)
    id_bits = max(m - 1, 1).bit_length()
    kept = min(id_bits, 64 - index_bits - largest.bit_length())
    return CandidateLayout(index_bits, key_shift=kept, id_shift=id_bits - kept)


def argument(
    shape: Shape, settings: Settings, candidates: CandidateLayout, addresses: Mapping[str, int]
) -> np.ndarray:
    """Return the kernels' argument, `ARGUMENT` of shape (1,); arrays without an address in `addresses` become null."""
    filled = np.zeros(1, ARGUMENT)
    numbers = {"n": shape.n, "m": shape.m, **settings._asdict(), **candidates._asdict()}
    for name, value in {**addresses, **numbers}.items():
        filled[name] = value
    return filled


def phase_seconds(notes: np.ndarray, total: float) -> dict[str, float]:
    """Return seconds per phase from the clock notes of the instrumented build.

    Parameters
    ----------
    notes : numpy.ndarray of uint64
        (phase << 56 | clock) at the start of the kernel and at the end of each phase; zero after the last.
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
