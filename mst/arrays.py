"""Arrays of other libraries, in host memory or on a device, and operations on NumPy arrays."""

from __future__ import annotations

import _thread
import sys
from collections.abc import Callable, Iterable
from queue import SimpleQueue
from typing import Any

import numpy as np

from mst.errors import InputError

# DLPack's numbers for CUDA memory and CUDA managed memory.
_CUDA = (2, 13)


def is_foreign(values: Any) -> bool:
    """Return whether this is an array of another library that supports DLPack."""
    return hasattr(values, "__dlpack__") and not isinstance(values, np.ndarray)


def detached(values: Any) -> Any:
    """Return an array without the record of its gradient, which some libraries refuse to export."""
    detach = getattr(values, "detach", None)
    return detach() if callable(detach) else values


def as_numpy(values: Any, name: str) -> np.ndarray:
    """Return values as a NumPy array, if possible as a view of another library's array.

    Raises
    ------
    InputError
        The values are not an array of numbers in host memory; the message begins with `name`.

    Examples
    --------
    >>> as_numpy([[1, 2]], "X").shape
    (1, 2)
    """
    if type(values) is np.ndarray:
        return values
    try:
        readable = detached(values)
        if hasattr(readable, "__dlpack__") and not hasattr(readable, "__array__"):
            return np.from_dlpack(readable)
        return np.asarray(readable)
    except MemoryError:
        raise
    except Exception as error:  # every library raises a different error
        raise InputError(f"{name} is not an array of numbers: {error}") from error


def contiguous(array: np.ndarray, dtype: np.dtype, threads: int) -> np.ndarray:
    """Return a one-dimensional array as a contiguous one of `dtype`: unchanged, or a copy that `threads` write.

    Examples
    --------
    >>> contiguous(np.arange(6)[::2], np.dtype(np.float32), 2).tolist()
    [0.0, 2.0, 4.0]
    """
    if threads == 1 or (array.dtype == dtype and array.flags.c_contiguous):
        return np.ascontiguousarray(array, dtype)
    copy = np.empty(array.shape, dtype)
    parts = [slice(*(len(array) * (t + i) // threads for i in (0, 1))) for t in range(threads)]
    ended: SimpleQueue[BaseException | None] = SimpleQueue()

    def write(part: slice) -> None:
        try:
            np.copyto(copy[part], array[part], casting="unsafe")
            ended.put(None)
        except BaseException as error:
            ended.put(error)

    # An interruption could leave `concurrent.futures` locked, and the pool of `mst.kernels` would be a circular import.
    for part in parts:
        _thread.start_new_thread(write, (part,))
    for error in [ended.get() for _ in parts]:
        if error is not None:
            raise error
    return copy


def distinct_values(values: np.ndarray) -> np.ndarray:
    """Return the distinct values of a one-dimensional array, ascending.

    For integers, sorting is five to eighty times as fast as hashing, which `numpy.unique` does.

    Examples
    --------
    >>> distinct_values(np.array([7, 5, 7])).tolist()
    [5, 7]
    """
    ascending = np.sort(values)
    return ascending[first_of_runs(ascending)]


def first_of_runs(values: np.ndarray) -> np.ndarray:
    """Return which values of a one-dimensional array differ from the one before them, as the first always does.

    Examples
    --------
    >>> first_of_runs(np.array([5, 5, 7])).tolist()
    [True, False, True]
    """
    first = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=first[1:])
    return first


def readable(graph: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return ``(n, u, v, w)`` with NumPy arrays in place of other libraries' arrays.

    Raises
    ------
    InputError
        As for `as_numpy`.
    """
    return tuple(
        as_numpy(part, name) if is_foreign(part) else part for part, name in zip(graph, ("n", "u", "v", "w"))
    )


def to_arrow(values: np.ndarray) -> Any:
    """Return a contiguous array of integers or floats as a pyarrow array, without a copy.

    pyarrow's own conversion imports pandas, which takes longer than writing a graph.
    """
    import pyarrow as pa

    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, pa.py_buffer(values)])


def is_on_device(values: Any) -> bool:
    """Return whether an array is on a CUDA device, by its CUDA array interface or by DLPack."""
    if isinstance(values, np.ndarray | list | int):
        return False
    try:
        array = detached(values)
        if hasattr(array, "__cuda_array_interface__"):
            return True
        return hasattr(array, "__dlpack_device__") and int(array.__dlpack_device__()[0]) in _CUDA
    except Exception:  # DLPack does not know the device, so the array cannot be read, either
        return False


def importer(arrays: Iterable[Any]) -> Callable[[Any], Any] | None:
    """Return the function ``from_dlpack`` of the library of the first foreign array; None if there is none.

    Examples
    --------
    >>> importer([np.arange(3), [4]]) is None
    True
    """
    for array in filter(is_foreign, arrays):
        # By the array API standard; for libraries that do not follow it, such as PyTorch, the package itself.
        spaces = [array.__array_namespace__()] if hasattr(array, "__array_namespace__") else []
        spaces += [sys.modules.get(cls.__module__.partition(".")[0]) for cls in type(array).__mro__]
        for space in spaces:
            if space is not np and callable(function := getattr(space, "from_dlpack", None)):
                return function
    return None
