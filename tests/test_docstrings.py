"""Every example in a public docstring runs."""

from __future__ import annotations

import doctest
import importlib

import pytest

from mst import registry
from mst.kernels.sources import PACKAGE

NEEDS_HARDWARE = ("mst.algorithms.cuda", "mst.algorithms.mpi", "mst.kernels.cuda")


def modules() -> list[str]:
    files = sorted(PACKAGE.rglob("*.py"))
    names = [".".join(("mst", *f.relative_to(PACKAGE).with_suffix("").parts)) for f in files]
    names = [n.removesuffix(".__init__") for n in names if not n.endswith("__main__")]
    return [n for n in names if not n.startswith(NEEDS_HARDWARE)]


@pytest.mark.parametrize("name", modules())
def test_examples(name):
    for algorithm in registry.algorithms().values():
        if name.endswith("." + algorithm.file.stem) and algorithm.missing():
            pytest.skip(algorithm.missing() or "")
    module = importlib.import_module(name)
    result = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0
