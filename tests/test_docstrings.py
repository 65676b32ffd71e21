"""Every example in a public docstring runs, and every public function has one."""

from __future__ import annotations

import doctest
import importlib
import inspect

import pytest

import mst
from mst import registry
from mst.fingerprints.modules import PACKAGE
from mst.interop import networkx as networkx_backend

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


def called_by_users() -> list[str]:
    names = [f"mst.{name}" for name in mst.__all__ if inspect.isroutine(getattr(mst, name))]
    names += [f"mst.formats.{name}" for name in ("detect", "read", "read_raw", "write")]
    names += [f"mst.interop.networkx.{name}" for name in networkx_backend.FUNCTIONS]
    names += [f"mst.interop.inputs.{name}" for name in ("convert", "from_networkx", "from_scipy")]
    names += ["mst.interop.tables.from_table"]
    return [*names, "mst.csgraph.minimum_spanning_tree", "mst.proof.prove", "mst.proof.check_forest"]


@pytest.mark.parametrize("name", ["mst.Graph", "mst.Forest", *called_by_users()])
def test_public_functions_have_an_example(name):
    module, _, called = name.rpartition(".")
    documented = inspect.getdoc(getattr(importlib.import_module(module), called)) or ""
    assert doctest.DocTestParser().get_examples(documented)
