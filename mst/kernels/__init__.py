"""Building blocks over plain arrays. They know none of the package's data types and import nothing above them."""

import os
import sys

from mst.cores import named_threads

# `mst.kernels.primitives.jit` gives the reason. It is set here, too, since other modules may import numba before that.
os.environ.setdefault("NUMBA_THREADING_LAYER", "omp")
# Checked before numba is loaded, since numba's own error for a bad NUMBA_NUM_THREADS is less clear.
named_threads()


class _Afresh:
    """Makes numba load from scratch if an interrupted import left some of its modules: a second import would fail."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if name in ("numba", "llvmlite"):
            parts = [module for module in list(sys.modules) if module.startswith(f"{name}.")]
            # While another thread loads it, `importlib.util.find_spec` may still call this.
            if name not in sys.modules:
                for part in parts:
                    sys.modules.pop(part, None)


sys.meta_path.insert(0, _Afresh)
