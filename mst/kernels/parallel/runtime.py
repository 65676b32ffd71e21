"""The runtime of parallel kernels: their width, their shared work queue, and the threading layer below.

Every parallel kernel has the same shape: `width` workers, each taking chunks from a shared work queue until it is
empty. The queue balances the load for any input order and any other load on the cores, at one atomic addition per
chunk. A worker is a function ``…_worker`` that takes its number, `worker` (int64, below `width`), and the arguments of
the kernel; `schedule` is a `Schedule`, and `width`, `grain` and `tallies` are its fields. Unless a docstring says
otherwise, an element that one worker writes and another uses in the same pass is accessed through
`mst.kernels.primitives.atomics`, or atomics order the two accesses.

A parallel kernel unpacks the named tuples it writes to before its loop: inside a `prange`, numba takes a store through
an attribute, ``edges.a[i] = x``, for dead code and drops it (`tests/test_parallel_kernels.py` looks for
such stores).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, NamedTuple

import numba
import numpy as np

from mst.kernels.parallel.launch import run
from mst.kernels.primitives.atomics import fetch_add, load
from mst.kernels.primitives.hashing import hash1
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.recycled import empty

# Places in an array of tallies, 128 bytes apart: neighbouring cache lines are fetched in pairs. FOREST counts forest
# edges, LIVE the elements a kernel leaves to the next; FINISHED is a third counter, which each
# module that uses it renames.
FOREST, LIVE, FINISHED, _DELAY, _SPINS, _QUEUES = 0, 16, 32, 48, 64, 80


class Schedule(NamedTuple):
    """The work queue of a parallel kernel.

    Attributes
    ----------
    width : int
        Workers.
    grain : int
        Elements per chunk.
    tallies : numpy.ndarray of int64, shape (80 + 16 * width,)
        From `new_tallies`.
    """

    width: int
    grain: int
    tallies: np.ndarray


def new_tallies(width: int, delay_seed: int = 0) -> np.ndarray:
    """Return zeroed shared tallies for kernels of up to `width` workers: int64, shape (80 + 16 * width,).

    Parameters
    ----------
    width : int
    delay_seed : int
        Unless 0, workers wait for a pseudo-random time at some chunks, for tests that perturb schedules.
    """
    tallies = np.zeros(_QUEUES + 16 * width, np.int64)
    tallies[_DELAY] = delay_seed
    return tallies


@njit
def reset_queue(tallies, width):
    """Put all chunks back into the work queue: a parallel kernel's first statement, before its workers start.

    Parameters
    ----------
    tallies : array of int64, shape (80 + 16 * width,)
        From `new_tallies`; for each worker they count the chunks taken from its queue.
    width : int
        Workers.
    """
    for worker in range(width):
        tallies[_QUEUES + 16 * worker] = 0


@njit
def next_chunk(tallies, worker, width, grain, size):
    """Take a chunk from the work queue; return its range ``first … last - 1``, or ``(size, size)`` once it is empty.

    The chunks of ``0 … size - 1`` form `width` contiguous shares, one queue per worker. A worker first empties its own
    queue in order, then steals from the others: in every pass, a core reads the same memory unless it
    falls behind.

    Parameters
    ----------
    tallies : array of int64, shape (80 + 16 * width,)
    worker, width, grain, size : int
        This worker's number, the number of workers, the length of a chunk, and the number of elements.
    """
    chunks = (size + grain - 1) // grain
    for step in range(width):
        owner = (worker + step) % width
        begin_share, end_share = owner * chunks // width, (owner + 1) * chunks // width
        place = _QUEUES + 16 * owner
        if load(tallies, place) < end_share - begin_share:
            chunk = begin_share + fetch_add(tallies, place, 1)
            if chunk < end_share:
                inject_delay(tallies, chunk)
                return chunk * grain, min((chunk + 1) * grain, size)
    return size, size


@njit
def inject_delay(tallies, chunk):
    """Wait up to a few tens of microseconds if the delay seed in `tallies` selects this chunk; never if it is 0."""
    if tallies[_DELAY]:
        _wait(tallies[_DELAY], chunk, tallies)


@njit
def _wait(seed, chunk, tallies):
    """Wait at a quarter of the chunks, chosen by the seed, for up to 4,095 atomic additions to `tallies`."""
    x = hash1(np.uint64(seed), np.uint64(chunk))
    if x & np.uint64(3) == 0:
        for _ in range((x >> np.uint64(8)) & np.uint64(4095)):
            fetch_add(tallies, _SPINS, 1)


def grain_for(size: int, width: int, *, smallest: int, largest: int, multiple: int = 1) -> int:
    """Return a chunk length that splits `size` elements into about 16 chunks for each of `width` workers.

    It is clipped to `smallest` … `largest`, and then rounded down to a multiple of `multiple`, at least `multiple`.
    """
    wanted = min(max(size // (16 * width), smallest), largest)
    return max(wanted // multiple, 1) * multiple


def touched_empty(
    shape: int | tuple[int, ...], dtype: Any, width: int, tallies: np.ndarray, used: int | None = None
) -> np.ndarray:
    """Return an uninitialised array whose pages all `width` workers have touched in parallel.

    The operating system clears a page on its first write. Workers writing side by side would all fault on the
    same huge page at once: each clears one, and all but one are discarded.

    Parameters
    ----------
    shape : int or tuple of int
    dtype : dtype
    width : int
        Workers.
    tallies : numpy.ndarray of int64
        From `new_tallies`.
    used : int, optional
        Rows likely to be written; later rows' pages are left untouched.
    """
    array = empty(shape, dtype)
    rows = len(array) if used is None else min(used, len(array))
    if width > 1 and rows and array[:rows].nbytes >= 2 * _HUGE_PAGE:
        raw = array[:rows].reshape(-1).view(np.uint8)
        _touch(width, raw, -raw.ctypes.data % _HUGE_PAGE, tallies)
    return array


_HUGE_PAGE = 1 << 21
_PAGE = 1 << 12


@njit
def _touch(width, raw, head, tallies):
    """Write to every page of `raw`, uint8 (k,), whose first huge page begins at `head`; a chunk is a huge page."""
    reset_queue(tallies, width)
    run(width, _touch_worker, width, raw, head, tallies)


@njit
def _touch_worker(worker, width, raw, head, tallies):
    """One worker of `_touch`."""
    first, last = next_chunk(tallies, worker, width, _HUGE_PAGE, raw.size + _HUGE_PAGE)
    while first < last:
        start, stop = max(first + head - _HUGE_PAGE, 0), min(last + head - _HUGE_PAGE, raw.size)
        for i in range(start, stop, _PAGE):
            raw[i] = 0
        first, last = next_chunk(tallies, worker, width, _HUGE_PAGE, raw.size + _HUGE_PAGE)


@contextmanager
def workers(width: int) -> Iterator[None]:
    """Run the parallel kernels called by this thread in `width` threads; then restore the previous width.

    Raises
    ------
    ValueError
        More threads than were launched; see `refusal`.

    Examples
    --------
    >>> import numba
    >>> from mst.kernels.parallel.runtime import workers
    >>> with workers(1):
    ...     numba.get_num_threads()
    1
    """
    before = numba.get_num_threads()
    numba.set_num_threads(width)
    try:
        yield
    finally:
        numba.set_num_threads(before)


def several_workers(width: int) -> AbstractContextManager[None]:
    """Return `workers(width)`; for one thread a context that does nothing, so that no others are launched."""
    return workers(width) if width > 1 else nullcontext()


def launched() -> int:
    """Return the largest number of threads a kernel can have in this process."""
    return numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]


def refusal(width: int) -> str | None:
    """Return the reason why `width` threads cannot run in this process, or None.

    numba launches its threads once. A width above the number of cores (oversubscription) must be set before that, in
    the environment variable ``NUMBA_NUM_THREADS``.
    """
    available = launched()
    if width <= available:
        return None
    return (
        f"{width} threads were requested and this process has {available}: "
        f"start it with NUMBA_NUM_THREADS={width} in its environment"
    )


def facts() -> dict[str, str | int]:
    """Return the threading layer of this process, for a measurement to record; cheap once threads run.

    Returns
    -------
    dict
        ``layer``: the threading layer in use (``omp``; it is pinned in `mst.kernels`), ``library``: its
        vendor, ``launched``: the largest number of threads that a run can have.
    """
    with workers(1):  # numba chooses the threading layer then
        pass
    layer = numba.threading_layer()
    library = ""
    if layer == "omp":
        from numba.np.ufunc import omppool  # type: ignore[attr-defined]

        library = omppool.openmp_vendor
    return {"layer": layer, "library": library, "launched": launched()}
