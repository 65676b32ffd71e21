"""`njit` and `intrinsic` with the settings of this package, and machine code kept on disk (`code_cache`).

A module that imports a part of numba imports numba first, even if it does not use the name: while another thread loads
numba, the module then waits for all of numba instead of finding the part half loaded.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mst.cores import usable_cores

# numba prefers TBB if it is installed, which differs between machines: always use the same layer.
os.environ.setdefault("NUMBA_THREADING_LAYER", "omp")
# By default, GNU's OpenMP lets idle threads spin for about 10 ms: on a busy machine they keep the core from the thread
# that they wait for. Half a millisecond bridges the serial steps between two passes; with one or two cores, one of
# which is often busy, a tenth of that costs nothing.
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ.setdefault("GOMP_SPINCOUNT", "10000" if usable_cores() > 2 else "1000")

import numba
from numba.core import serialize

from mst.kernels.primitives.code_cache import keep_code

# Compiled code calls this function for the dtype of each array it returns, where nothing handles an exception:
# an interruption in its Python code would cause a SystemError or a crash. A hit in this cache runs no Python code.
serialize._numba_unpickle = functools.lru_cache(maxsize=None)(serialize._numba_unpickle)

if TYPE_CHECKING:

    def intrinsic(function: Callable) -> Callable[..., Any]:
        """Like `numba.extending.intrinsic`: compiled code calls the result without the first argument, the context."""

else:
    from numba.extending import intrinsic  # noqa: F401


BY_NAME: dict[tuple[str, str], Any] = {}
"""The functions that `njit` has decorated, by module name and function name."""


def njit(*args: Any, **options: Any) -> Any:
    """Like `numba.njit`, with the machine code kept on disk; used with options, or as a bare decorator.

    Parameters
    ----------
    **options
        Passed on. ``error_model="numpy"`` and ``boundscheck=False`` are the defaults here.
    """

    def decorate(function: Callable) -> Any:
        dispatcher = numba.njit(**{"error_model": "numpy", "boundscheck": False, **options})(function)
        keep_code(dispatcher, function)
        BY_NAME[function.__module__, function.__qualname__] = dispatcher
        return dispatcher

    if len(args) == 1 and callable(args[0]) and not options:
        return decorate(args[0])
    if args:
        raise TypeError("give njit its options by name")
    return decorate
