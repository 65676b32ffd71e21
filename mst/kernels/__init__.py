"""Building blocks over plain arrays. They know none of the package's data types and import nothing above them."""

import sys

from mst.cores import named_threads

# Before numba is loaded, which has errors of its own for it.
named_threads()


class _Afresh:
    """Has numba loaded from the start where an interruption left parts of it, without which the rest fails."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if name in ("numba", "llvmlite"):
            parts = [module for module in list(sys.modules) if module.startswith(f"{name}.")]
            # While another thread loads it, `importlib.util.find_spec` may still come here.
            if name not in sys.modules:
                for part in parts:
                    sys.modules.pop(part, None)


sys.meta_path.insert(0, _Afresh)
