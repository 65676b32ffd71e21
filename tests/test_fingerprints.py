"""Fingerprints cover the code that an algorithm reaches, in any file, and nothing else."""

from __future__ import annotations

import ast
import os
import re
import shutil
import textwrap
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from scripts import run_python

from mst import fingerprints, registry
from mst.fingerprints import kept, modules

FILTERS = {"filter-boruvka", "bucket", "filter-boruvka-mpi"}
SHARED_TREES = {"filter-boruvka-threads", "bucket-threads", "filter-boruvka-mpi"}
KRUSKALS = {"kruskal", "qkruskal", "filter-kruskal"}
SORTERS = SHARED_TREES | {"component-boruvka", "ghs-mpi", "reservation-kruskal"}
LIBRARIES = {"cugraph", "networkit-kruskal", "networkit-prim", "networkx", "rustworkx", "scipy"}
ROWS = {
    "bucket-cuda",
    "component-boruvka",
    "contract-boruvka",
    "contract-boruvka-cuda",
    "ecl-mst-cuda",
    "edge-boruvka",
}
ROWS |= {
    "edge-boruvka-cuda",
    "filter-boruvka",
    "filter-boruvka-cuda",
    "filter-boruvka-mpi",
    "filter-boruvka-threads",
}
ROWS |= {"ghs-mpi", "gunrock-cuda", "prim-dense", "prim-heap"}


# Most files of a copy are those of the copy before, and parsing takes half of the time.
PARSED = cache(ast.parse)


@pytest.fixture(autouse=True)
def kept_here(tmp_path, monkeypatch):
    """Keep fingerprints in a folder of the test, so that it computes its own."""
    monkeypatch.setattr(modules.ast, "parse", lambda text, *_: PARSED(text))
    monkeypatch.setattr(kept, "cache_root", lambda: tmp_path / "cache")
    kept.forget()
    yield tmp_path / "cache" / "fingerprints"
    kept.forget()


class Copy:
    """A copy of the package whose files a test may change."""

    def __init__(self, root: Path):
        self.root = root

    def fingerprints(self) -> dict[str, str]:
        """Return the fingerprint of every algorithm."""
        fingerprints.forget()
        files = (self.root / "algorithms").glob("[!_]*/[!_]*.py")
        found = [registry.Algorithm.of_file(file) for file in sorted(files)]
        return {algorithm.id: algorithm.source_fingerprint() for algorithm in found}

    def changed(self, before: dict[str, str]) -> set[str]:
        """Return the algorithms whose fingerprint has changed."""
        now = self.fingerprints()
        assert now.keys() == before.keys()
        return {name for name in now if now[name] != before[name]}

    def defining(self, text: str) -> Path:
        """Return the only file with this line, or with a line that begins so."""
        pattern = re.compile(rf"^{re.escape(text)}", re.MULTILINE)
        found = [
            f
            for f in self.root.rglob("*.*")
            if f.suffix in (".py", ".cu", ".cuh") and pattern.search(f.read_text())
        ]
        assert len(found) == 1, (text, found)
        return found[0]

    def edit(self, text: str, old: str, new: str) -> None:
        """Replace the first `old` after the line that begins with `text`."""
        file = self.defining(text)
        content = file.read_text()
        start = re.search(rf"^{re.escape(text)}", content, re.MULTILINE).start()
        at = content.index(old, start)
        file.write_text(content[:at] + new + content[at + len(old) :])

    def rewrite(self, change: Callable[[str], str], *suffixes: str) -> None:
        """Change every file of some kinds."""
        for file in self.root.rglob("*.*"):
            if file.suffix in suffixes:
                text = file.read_text()
                if (new := change(text)) != text:
                    file.write_text(new)

    def module(self, file: Path) -> str:
        """Return the dotted name of a file."""
        return ".".join(("mst", *file.relative_to(self.root).with_suffix("").parts))


@pytest.fixture
def copy(tmp_path, monkeypatch):
    root = tmp_path / "mst"
    shutil.copytree(modules.PACKAGE, root, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(modules, "PACKAGE", root)
    yield Copy(root)
    fingerprints.forget()


@pytest.fixture(scope="module")
def before():
    """Return the fingerprints of the package as it is."""
    return {a.id: a.source_fingerprint() for a in registry.algorithms().values() if not a.program}


def test_copy_of_the_package_has_the_same_fingerprints(copy, before):
    assert copy.changed(before) == set()


def test_moving_and_renaming_a_file_of_kernels_changes_nothing(copy, before):
    file = copy.defining("def build_csr(")
    old = copy.module(file)
    file.rename(copy.root / "kernels" / "compressed_rows.py")
    copy.rewrite(lambda text: text.replace(old, "mst.kernels.compressed_rows"), ".py")
    assert copy.changed(before) == set()


def test_moving_and_renaming_a_kernel_changes_nothing(copy, before):
    file = copy.defining("def bucket_numbers(")
    text = file.read_text()
    start = text.index("@njit\ndef bucket_numbers(")
    folder = copy.root / "kernels" / "nested"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    header = (
        "import numpy\nfrom numpy import uint64\nfrom mst.kernels import " + file.stem + " as there\n"
        "from " + copy.module(copy.defining("def njit(")) + " import njit as compiled\n\n"
    )
    moved = text[start:].replace("@njit", "@compiled").replace("bucket_numbers", "numbers_of_buckets")
    moved = moved.replace("np.uint64", "uint64").replace("np.", "numpy.")
    moved = re.sub(r"\b(_ONE|_BELOW|_INFINITE|_LEAST_NORMAL)\b", r"there.\1", moved)
    if file.parent != copy.root / "kernels":
        header = header.replace("from mst.kernels import", f"from {copy.module(file.parent / 'x')[:-2]} import")
    (folder / "numbers.py").write_text(header + moved)
    file.write_text(text[:start])
    importing = re.compile(rf"from {re.escape(copy.module(file))} import bucket_numbers")
    new = "from mst.kernels.nested.numbers import numbers_of_buckets as bucket_numbers"
    copy.rewrite(lambda text: importing.sub(new, text), ".py")
    assert copy.changed(before) == set()


def test_order_of_definitions_and_local_names_change_nothing(copy, before):
    file = copy.defining("def bucket_numbers(")
    text = file.read_text()
    start, head = text.index("@njit\ndef bucket_numbers("), text.index("_ONE = ")
    constants = text[head:start]
    function = re.sub(r"\bnumber\b", "found", text[start:])
    file.write_text(
        text[:head] + function + "\n\n" + "\n".join(reversed(constants.strip().splitlines())) + "\n"
    )
    assert copy.changed(before) == set()


def test_comments_docstrings_annotations_and_imports_change_nothing(copy, before):
    def reword(text: str) -> str:
        text = re.sub(r'^( *)"""[^"]*?"""$', r'\1"""Something else."""', text, flags=re.MULTILINE)
        text = re.sub(r"^( +)(return .*)$", r"\1# A remark.\n\1\2", text, flags=re.MULTILINE)
        text = text.replace("from numpy import ", "from numpy  import ").replace(" -> int:", " -> object:")
        return text.replace("import numpy as np\n", "import math as unused\nimport numpy as np\n")

    copy.rewrite(reword, ".py")
    assert copy.changed(before) == set()


@pytest.mark.slow
def test_title_help_limits_and_messages_of_errors_change_nothing(copy, before):
    file = copy.root / "algorithms" / "sequential" / "bucket.py"
    text = file.read_text()
    text = re.sub(r'title="[^"]*"', 'title="Another"', text, count=1)
    text = re.sub(r'help="[^"]*"', 'help="Other words"', text)
    file.write_text(re.sub(r'(raise UnsupportedError\(\s*f?")', r"\1Sorry: ", text))
    assert copy.changed(before) == set()


@pytest.mark.slow
@pytest.mark.parametrize(
    "definition,old,new,expected",
    [
        ("def bucket_numbers(", "x == 0", "x <= 0", {"bucket", "bucket-threads"}),
        ("_LEAST_NORMAL = ", "smallest_normal", "tiny", {"bucket", "bucket-threads"}),
        ("def ranked_forest(", "return", "return 1 *", {"edge-boruvka"}),
        ("def build_csr(", "return", "return 1 *", ROWS),
        ("_BLOCK_SLOTS = ", "= ", "= 1 + ", ROWS),
        ("def sort_words(", "m <= _FEW", "m < _FEW", LIBRARIES | SORTERS | KRUSKALS | FILTERS),
        ("def yield_core(", "sched_yield", "pause", SHARED_TREES),
        ("def lightest_of_parallel_edges(", "return", "return 1 *", LIBRARIES),
        ("def permuted(", "return", "return 1 +", set()),
        ("DEVICE u32 row_of_slot(", "<= slot", "< slot", {"contract-boruvka-cuda", "gunrock-cuda"}),
        (
            "DEVICE void atomic_argmin(",
            "now == seen",
            "now != seen",
            {"contract-boruvka-cuda", "flat-boruvka-cuda", "jucele-cuda"},
        ),
        ("#define COMPRESSION", "0", "1", {"edge-boruvka-cuda", "flat-boruvka-cuda"}),
        ("#define BLOCK_COMPONENTS", "1024", "512", {"bucket-cuda", "filter-boruvka-cuda"}),
        ("#define RUNG", "0", "1", {"ecl-mst-cuda"}),
        ("enum Counter { FRONTIER", "FRONTIER, ADDED", "ADDED, FRONTIER", {"gunrock-cuda"}),
    ],
)
def test_editing_an_operator_or_a_constant_changes_the_algorithms_that_reach_it(
    copy, before, definition, old, new, expected
):
    copy.edit(definition, old, new)
    assert copy.changed(before) == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    "name,old,new", [("jucele", "BLOCK = 64", "BLOCK = 128"), ("gunrock", "KEY_BITS=p.key_bits", "KEY_BITS=64")]
)
def test_launch_sizes_and_macros_count(copy, before, name, old, new):
    file = copy.root / "algorithms" / "cuda" / f"{name}.py"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))
    assert copy.changed(before) == {f"{name}-cuda"}


def test_option_of_a_decorator_and_default_of_an_option_count(copy, before):
    text = copy.defining("def bucket_numbers(").read_text()
    copy.defining("def bucket_numbers(").write_text(text.replace("@njit\ndef b", "@njit(fastmath=True)\ndef b"))
    assert copy.changed(before) == {"bucket", "bucket-threads"}
    file = copy.root / "algorithms" / "sequential" / "kruskal.py"
    file.write_text(file.read_text().replace('default="radix"', 'default="comparison"'))
    assert copy.changed(before) == {"bucket", "bucket-threads", "kruskal"}


def test_moving_device_functions_and_renaming_cuda_files_changes_nothing(copy, before):
    header, cuda = copy.defining("DEVICE u32 row_of_slot("), copy.defining("DEVICE u32 row_of_slot(").parent
    text = header.read_text()
    start = text.index("DEVICE u32 row_of_slot(")
    base = cuda / "base.cuh"
    base.write_text(base.read_text() + "\n" + re.sub(r"\brow_of_slot\b", "slots_row", text[start:]))
    header.unlink()
    copy.rewrite(
        lambda text: re.sub(r"\brow_of_slot\b", "slots_row", text.replace('"row_of_slot.cuh"', '"base.cuh"')),
        ".cu",
        ".cuh",
    )
    (cuda / "gunrock.cu").rename(cuda / "frontiers.cu")
    copy.rewrite(lambda text: text.replace('"gunrock.cu"', '"frontiers.cu"'), ".py")
    copy.rewrite(lambda text: "// A remark.\n" + text.replace("  ", "\t /* here */ "), ".cu", ".cuh")
    assert copy.changed(before) == set()


def test_a_program_on_disk_reaches_little_of_the_package(copy):
    """It asked whether numba is loaded, which counted as an import by a name that is computed: of any module."""
    file = copy.root / "algorithms" / "peers" / "_program.py"
    found = set()
    for text in ("A = 1\n", "A = 2\n"):
        (copy.root / "reporting" / "table.py").write_text(text)
        fingerprints.forget()
        found.add(fingerprints.algorithm_fingerprint(file, ("Command",), ()))
    assert len(found) == 1


# --- small packages


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Return a function that writes modules into a package and returns the fingerprint of its algorithm."""
    root = tmp_path / "mst"
    monkeypatch.setattr(modules, "PACKAGE", root)

    def fingerprint(modules: dict[str, str]) -> str:
        shutil.rmtree(root, ignore_errors=True)
        for name, text in {"__init__": "", "kernels/__init__": "", **modules}.items():
            path = root / (name if "." in name else f"{name}.py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text))
        fingerprints.forget()
        return fingerprints.algorithm_fingerprint(root / "a.py", ("prepare", "solve"), (("depth", 1),))

    yield fingerprint
    fingerprints.forget()


BASE = {
    "a": "from mst.kernels.x import f\nfrom mst.kernels.y import g\ndef solve(p):\n    return f(p) - g(p)\n",
    "kernels/x": "def f(p):\n    return h(p)\ndef h(p):\n    return p + 1\n",
    "kernels/y": "def g(p):\n    return h(p)\ndef h(p):\n    return p + 2\n",
}
SAME = {
    "aliases": {"a": "from mst.kernels import x, y as z\ndef solve(p):\n    return x.f(p) - z.g(p)\n"},
    "relative imports": {"a": BASE["a"].replace("mst.", ".")},
    "late imports": {
        "a": "def solve(p):\n    import mst.kernels.y\n    from mst.kernels.x import f as k\n"
        "    return k(p) - mst.kernels.y.g(p)\n"
    },
    "names of helpers": {"kernels/y": "def g(p):\n    return other(p)\ndef other(q):\n    return q + 2\n"},
    "both in one module": {
        "kernels/x": "def f(p):\n    return h(p)\ndef h(p):\n    return p + 1\ndef i(p):\n    return p + 2\n"
        "def g(p):\n    return i(p)\n",
        "kernels/y": "from mst.kernels.x import g\n",
    },
    "a module that is not reached": {
        "kernels/z": "def h(p):\n    return p\n",
        "kernels/y": BASE["kernels/y"] + "def k():\n    pass\n",
    },
    "type checking": {
        "kernels/y": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from x import y\n"
        + BASE["kernels/y"]
    },
}
DIFFERENT = {
    "helpers of one name swapped": {
        "kernels/x": BASE["kernels/x"].replace("+ 1", "+ 2"),
        "kernels/y": BASE["kernels/y"].replace("+ 2", "+ 1"),
    },
    "functions swapped": {
        "a": BASE["a"].replace("x import f", "x import f as g").replace("y import g", "y import g as f")
    },
    "one helper for both": {"kernels/y": "from mst.kernels.x import h\ndef g(p):\n    return h(p)\n"},
    "operands swapped": {"a": BASE["a"].replace("f(p) - g(p)", "g(p) - f(p)")},
    "a global for a local name": {"a": BASE["a"].replace("g(p)\n", "g(f)\n")},
    "another function of numpy": {"kernels/y": "import numpy\ndef g(p):\n    return numpy.sort(p)\n"},
    "a side effect": {"kernels/y": "import os\nos.environ['OMP'] = '1'\n" + BASE["kernels/y"]},
    "a registration": {
        "kernels/y": BASE["kernels/y"]
        + "from numba import extending\n@extending.overload_method(int, 'f')\ndef i(p):\n    pass\n"
    },
}


@pytest.mark.parametrize("name", SAME)
def test_same_definitions_elsewhere_keep_the_fingerprint(package, name):
    assert package(BASE | SAME[name]) == package(BASE)


@pytest.mark.parametrize("name", DIFFERENT)
def test_other_definitions_change_the_fingerprint(package, name):
    assert package(BASE | DIFFERENT[name]) != package(BASE)


RETURNS_N = "def solve(p):\n    return N\n"
RECORD = "from typing import NamedTuple\nclass K(NamedTuple):\n    {}: int\n    {}: int\n"
RECORD += "def solve(p):\n    return K(p, 1).a\n"
OVERLOAD = (
    "from numba.extending import overload\ndef f(p):\n    return p\n@overload(f)\ndef _(p):\n    return {}\n"
)
EITHER = "def solve(p):\n    if p:\n        from {} import f\n    else:\n        from two import f\n    return f(p)\n"
TRIED = (
    "try:\n    from {} import f\nexcept ImportError:\n    from two import f\ndef solve(p):\n    return f(p)\n"
)
REGISTRY = "T = []\ndef keep(f):\n    T.append(f)\n    return f\ndef solve(p):\n    return T[0](p)\n"
SUBCLASSES = (
    "class K:\n    def __init_subclass__(cls):\n        K.made = cls\ndef solve(p):\n    return K.made.one\n"
)
CUDA = {"a": "S = 'k.cu'\ndef solve(p):\n    return S\n"}
SCOPES = "n = {}\nclass K:\n    n = 1\n    def k(self):\n        return n\ndef solve(p):\n    return K().k()\n"
OUTER = "N = 1\ndef solve(p):\n    N = p\n    def k():\n        {} N\n        N += 1\n    k()\n    return N\n"
KINDS = {
    "a": "from mst.kernels.x import K\ndef solve(p):\n    return K.__subclasses__()\n",
    "kernels/x": "class K:\n    pass\n",
}
BY_NAME = "import importlib\ndef solve(p):\n    importlib.import_module('re')\n    importlib.import_module(p)\n"
MEMBER = "from mst.kernels import x\ndef solve(p):\n    return x.K.{}\n"
KIND = "from mst.kernels.x import K\nclass L(K):\n    one = {}\n"
EFFECT = "import os\nos.environ['OMP'] = '{}'\ndef g():\n    pass\n"
IMPORTS = "import mst.kernels.z\ndef solve(p):\n    return p\n"
LATE = {"a": IMPORTS, "kernels/z": "def f():\n    from mst.kernels.v import g\n    g()\nf()\n"}
CHECKED = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    pass\nelse:\n    N = {}\n" + RETURNS_N
HANDLED = "try:\n    import fast\nexcept ImportError:\n    N = {}\n" + RETURNS_N
ELSE = "if max(1, 2) > 3:\n    M = 0\nelse:\n    N = {}\n" + RETURNS_N
REGISTERED = "from functools import singledispatch\n@singledispatch\ndef k(p):\n    return p\n@k.register\n"
FIELDS = (
    "from dataclasses import dataclass\n@dataclass\nclass K:\n    n: {} = 1\ndef solve(p):\n    return K()\n"
)
PARTS = [
    (CHECKED, 1, 2),
    (HANDLED, 1, 2),
    (ELSE, 1, 2),
    (REGISTERED + "def _(p: {}):\n    return -p\ndef solve(p):\n    return k(p)\n", "int", "str"),
    (FIELDS, "int", "ClassVar[int]"),
    ("def solve(p):\n    raise OSError(p, n={})\n", 1, 2),
    ("def solve(p):\n    raise OSError from p({})\n", 1, 2),
    ("def solve(p):\n    {} = 1\n    return eval('n')\n", "n", "m"),
    ("from numba import njit\n@njit(locals=p)\ndef solve(p):\n    {} = p\n    return p\n", "n", "m"),
    ("def solve(p):\n    return '{}.cu'\n", "n", "m"),
    ("def solve(p, *, n={}):\n    return n\n", 1, 2),
    ("class K(dict, n={}):\n    pass\ndef solve(p):\n    return K()\n", 1, 2),
    ("n = 1\ndef solve(p):\n    [{} := x for x in p]\n    return n\n", "n", "m"),
]
HEAD = "import numpy as np\nimport importlib\nfrom mst.kernels import x\nfrom mst.kernels.x import *\n"
CUDA_PARTS = [
    ("#include <{}>\n", "one", "two"),
    ("#if A\nint h = 1;\n#elif {}\nint h = 2;\n#endif\n", "B", "C"),
    ("static_assert({});\n", 1, 2),
    ("#define h 1\n{}", "", "#undef h\n"),
    ("enum K {{ h = {} }};\n", 1, 2),
]
PAIRS = {
    "arguments swapped under keywords": (
        {"a": "def k(a, b):\n    return a - b\ndef solve(p):\n    return k(a=p, b=1)\n"},
        {"a": "def k(b, a):\n    return b - a\ndef solve(p):\n    return k(a=p, b=1)\n"},
    ),
    "arguments swapped under a dictionary": (
        {"a": "def k(a, b):\n    return a - b\ndef solve(p):\n    return k(**{'a': p, 'b': 1})\n"},
        {"a": "def k(b, a):\n    return b - a\ndef solve(p):\n    return k(**{'a': p, 'b': 1})\n"},
    ),
    "arguments swapped under options": (
        {"a": "def k(depth=0, b=0):\n    return depth - b\ndef solve(**o):\n    return k(**o)\n"},
        {"a": "def k(b=0, depth=0):\n    return b - depth\ndef solve(**o):\n    return k(**o)\n"},
    ),
    "an effect of a module that is imported": (
        {"a": IMPORTS, "kernels/z": EFFECT.format(1)},
        {"a": IMPORTS, "kernels/z": EFFECT.format(2)},
    ),
    "an effect of a module that an effect imports": (
        LATE | {"kernels/v": EFFECT.format(1)},
        LATE | {"kernels/v": EFFECT.format(2)},
    ),
    **{
        f"a part of {text!r}": (
            CUDA | {"kernels/k.cu": text.format(one) + "__global__ void f() { h; }\n"},
            CUDA | {"kernels/k.cu": text.format(other) + "__global__ void f() { h; }\n"},
        )
        for text, one, other in CUDA_PARTS
    },
    **{
        f"a part of {text!r}": ({"a": text.format(one)}, {"a": text.format(other)})
        for text, one, other in PARTS
    },
    "a name that a class hides from no method": ({"a": SCOPES.format(1)}, {"a": SCOPES.format(2)}),
    "a name of an outer function or of the module": (
        {"a": OUTER.format("global")},
        {"a": OUTER.format("nonlocal")},
    ),
    "a module of a computed name beside others": (
        {"a": BY_NAME, "kernels/z": "n = 1\n"},
        {"a": BY_NAME, "kernels/z": "n = 2\n"},
    ),
    "another attribute of a class": (
        {"a": MEMBER.format("one"), "kernels/x": "class K:\n    one, two = 1, 2\n"},
        {"a": MEMBER.format("two"), "kernels/x": "class K:\n    one, two = 1, 2\n"},
    ),
    "a class that is found by its base": (
        KINDS | {"kernels/z": KIND.format(1)},
        KINDS | {"kernels/z": KIND.format(2)},
    ),
    "fields swapped": ({"a": RECORD.format("a", "b")}, {"a": RECORD.format("b", "a")}),
    "two arrays or one": (
        {
            "a": "import numpy as np\nA = np.empty(3)\nB = np.empty(3)\ndef solve(p):\n    A[0] = p\n    return B\n"
        },
        {"a": "import numpy as np\nA = np.empty(3)\ndef solve(p):\n    A[0] = p\n    return A\n"},
    ),
    "names unpacked in another order": (
        {"a": "A, B = range(2)\ndef solve(p):\n    return A\n"},
        {"a": "B, A = range(2)\ndef solve(p):\n    return A\n"},
    ),
    "an entry added to a table": (
        {"a": "T = {}\ndef k(p):\n    return p\nT['k'] = k\ndef solve(p):\n    return T[p](1)\n"},
        {"a": "T = {}\ndef k(p):\n    return -p\nT['k'] = k\ndef solve(p):\n    return T[p](1)\n"},
    ),
    "an attribute of a module by name": (
        {"a": HEAD + "def solve(p):\n    return getattr(x, p)\n", "kernels/x": "def f(p):\n    return p\n"},
        {"a": HEAD + "def solve(p):\n    return getattr(x, p)\n", "kernels/x": "def f(p):\n    return -p\n"},
    ),
    "functions of a module swapped that are called by name": (
        {
            "a": HEAD + "def solve(p):\n    return getattr(x, p)\n",
            "kernels/x": "def f(p):\n    return p\ndef g(p):\n    return -p\n",
        },
        {
            "a": HEAD + "def solve(p):\n    return getattr(x, p)\n",
            "kernels/x": "def g(p):\n    return p\ndef f(p):\n    return -p\n",
        },
    ),
    "globals by name": (
        {"a": "def f(p):\n    return p\ndef solve(p):\n    return globals()[p]\n"},
        {"a": "def f(p):\n    return -p\ndef solve(p):\n    return globals()[p]\n"},
    ),
    "a star import": (
        {"a": HEAD + "def solve(p):\n    return f(p)\n", "kernels/x": "def f(p):\n    return p\n"},
        {"a": HEAD + "def solve(p):\n    return f(p)\n", "kernels/x": "def f(p):\n    return -p\n"},
    ),
    "a module imported by name": (
        {
            "a": HEAD + "def solve(p):\n    return importlib.import_module(p)\n",
            "kernels/x": "def f(p):\n    return p\n",
        },
        {
            "a": HEAD + "def solve(p):\n    return importlib.import_module(p)\n",
            "kernels/x": "def f(p):\n    return -p\n",
        },
    ),
    "a module that is loaded found by name": (
        {
            "a": "import sys\ndef solve(p):\n    return sys.modules[p]\n",
            "kernels/x": "def f(p):\n    return p\n",
        },
        {
            "a": "import sys\ndef solve(p):\n    return sys.modules[p]\n",
            "kernels/x": "def f(p):\n    return -p\n",
        },
    ),
    "an overload for compiled code": (
        {"a": HEAD + "def solve(p):\n    return x.f(p)\n", "kernels/x": OVERLOAD.format(1)},
        {"a": HEAD + "def solve(p):\n    return x.f(p)\n", "kernels/x": OVERLOAD.format(2)},
    ),
    "the rows of a graph": (
        {
            "a": "def prepare(g):\n    return g.csr()\n",
            "graph": "class Graph:\n    def csr(self):\n        return 1\n",
        },
        {
            "a": "def prepare(g):\n    return g.csr()\n",
            "graph": "class Graph:\n    def csr(self):\n        return 2\n",
        },
    ),
    "a function kept by a decorator": (
        {"a": REGISTRY + "@keep\ndef f(p):\n    return p\n"},
        {"a": REGISTRY + "@keep\ndef f(p):\n    return -p\n"},
    ),
    "a function kept by a call": (
        {"a": REGISTRY + "def f(p):\n    return p\n_ = keep(f)\n"},
        {"a": REGISTRY + "def f(p):\n    return -p\n_ = keep(f)\n"},
    ),
    "a class kept by its base": (
        {"a": SUBCLASSES + "class L(K):\n    one = 1\n"},
        {"a": SUBCLASSES + "class L(K):\n    one = 2\n"},
    ),
    "one of two imports": ({"a": EITHER.format("one")}, {"a": EITHER.format("six")}),
    "one of two imports of a module": ({"a": TRIED.format("one")}, {"a": TRIED.format("six")}),
    "all names of another package": (
        {"a": "from one import *\ndef solve(p):\n    return f(p)\n"},
        {"a": "from two import *\ndef solve(p):\n    return f(p)\n"},
    ),
    "an import of a module that is used by name": (
        {
            "a": HEAD + "def solve(p):\n    return getattr(x, p)\n",
            "kernels/x": "from mst.z import f\n",
            "z": "def f():\n    return 1\n",
        },
        {
            "a": HEAD + "def solve(p):\n    return getattr(x, p)\n",
            "kernels/x": "from mst.z import f\n",
            "z": "def f():\n    return 2\n",
        },
    ),
    "a default argument": (
        {"a": "def solve(p, q=1):\n    return p\n"},
        {"a": "def solve(p, q=2):\n    return p\n"},
    ),
    "a captured name or an own one": (
        {"a": "def solve(p):\n    q = 1\n    def k(r):\n        return q\n    return k\n"},
        {"a": "def solve(p):\n    q = 1\n    def k(r):\n        return r\n    return k\n"},
    ),
    "a text that reads like a comment": (
        {"a": "def solve(p):\n    return '# a'\n"},
        {"a": "def solve(p):\n    return '# b'\n"},
    ),
    "the first iterable of a comprehension": (
        {"a": "def solve(p, q):\n    return [p for p in p]\n"},
        {"a": "def solve(p, q):\n    return [p for p in q]\n"},
    ),
    "a negated attribute": (
        {"a": "def solve(p):\n    return -p.real\n"},
        {"a": "def solve(p):\n    return (-p).real\n"},
    ),
    "recursion and its neighbour": (
        {"a": "def solve(p):\n    return k(p)\ndef k(p):\n    return solve(p)\n"},
        {"a": "def solve(p):\n    return k(p)\ndef k(p):\n    return k(p)\n"},
    ),
    "a macro defined after its use": (
        CUDA | {"kernels/k.cu": "#define N 1\n#if N\n#define M 2\n#endif\n__global__ void f() { M; }\n"},
        CUDA | {"kernels/k.cu": "#if N\n#define M 2\n#endif\n#define N 1\n__global__ void f() { M; }\n"},
    ),
    "overloads of CUDA in sight": (
        CUDA
        | {
            "kernels/k.cu": "int h(long x) { return 1; }\nint h(int x) { return 2; }\n__global__ void f() { h(1); }\n"
        },
        CUDA
        | {
            "kernels/k.cu": "int h(long x) { return 1; }\n__global__ void f() { h(1); }\nint h(int x) { return 2; }\n"
        },
    ),
    "a condition around a definition": (
        CUDA | {"kernels/k.cu": "#if A\nint h() { return 1; }\n#endif\n__global__ void f() { h(); }\n"},
        CUDA | {"kernels/k.cu": "#if B\nint h() { return 1; }\n#endif\n__global__ void f() { h(); }\n"},
    ),
    "a source whose name is computed": (
        {"a": "def solve(p):\n    return f'{p}.cu'\n", "kernels/k.cu": "int n = 1;\n"},
        {"a": "def solve(p):\n    return f'{p}.cu'\n", "kernels/k.cu": "int n = 2;\n"},
    ),
    "device functions swapped": (
        CUDA
        | {
            "kernels/k.cu": "int h() { return 1; }\nint i() { return 2; }\n__global__ void f() { h() - i(); }\n"
        },
        CUDA
        | {
            "kernels/k.cu": "int i() { return 1; }\nint h() { return 2; }\n__global__ void f() { h() - i(); }\n"
        },
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_code_that_means_something_else_has_another_fingerprint(package, name):
    one, other = PAIRS[name]
    base = {name: text for name, text in BASE.items() if name not in ("a", "kernels/x")} | {"kernels/x": ""}
    assert package(base | one) != package(base | other)


@pytest.mark.parametrize(
    ("source", "others"), [("k.cu", "kernels/k.cu"), ("kernels/k.cu", "kernels/other_k.cu")]
)
def test_sources_of_like_names_do_not_count(package, source, others):
    named = CUDA | {source: "int n = 1;\n"}
    assert package(named | {others: "int n = 2;\n"}) == package(named)


def test_conditions_that_are_only_imported_change_no_fingerprint(package):
    with_try = "try:\n    import fast\nexcept ImportError:\n    fast = None\ndef g(p):\n    return fast or p\n"
    other = with_try.replace("import fast", "import slow as fast")
    assert package(BASE | {"kernels/y": with_try}) != package(BASE | {"kernels/y": other})


def test_machine_code_keys_follow_a_callee_to_another_module(tmp_path, monkeypatch):
    """Machine code names the modules of all functions that it calls, and numba imports them when it loads it."""
    monkeypatch.setattr(modules, "PACKAGE", tmp_path)
    found = set()
    for name in ("there", "elsewhere"):
        (tmp_path / f"{name}.py").write_text("def g(x):\n    return x + 1\n")
        (tmp_path / "k.py").write_text(f"from mst.{name} import g\ndef f(x):\n    return g(x)\n")
        fingerprints.forget()
        found.add(fingerprints.fingerprint(tmp_path / "k.py"))
    fingerprints.forget()
    assert len(found) == 2


def test_machine_code_keys_follow_messages_and_names(tmp_path, monkeypatch):
    monkeypatch.setattr(modules, "PACKAGE", tmp_path)
    file = tmp_path / "k.py"
    texts = [
        "def f(x):\n    raise ValueError('a')\n",
        "def f(x):\n    raise ValueError('b')\n",
        "def g(x):\n    raise ValueError('a')\n",
    ]
    found = set()
    for text in texts:
        file.write_text(text)
        fingerprints.forget()
        found.add(fingerprints.fingerprint(file))
    fingerprints.forget()
    assert len(found) == 3


def test_sources_are_read_in_any_locale(tmp_path):
    """Compiling changes the locale of all threads for moments, too."""
    code = "from mst import registry; print(registry.get('filter-boruvka').source_fingerprint())"
    done = run_python(code, LC_ALL="C", PYTHONCOERCECLOCALE=0, PYTHONUTF8=0, MST_CACHE=tmp_path)
    assert done.stdout.split() == [registry.get("filter-boruvka").source_fingerprint()]


# --- fingerprints on disk


@pytest.fixture
def module(tmp_path, monkeypatch) -> Path:
    """Return the only file of a package."""
    (tmp_path / "package").mkdir()
    monkeypatch.setattr(modules, "PACKAGE", tmp_path / "package")
    file = tmp_path / "package" / "k.py"
    file.write_text("def solve(problem):\n    return 1\n")
    yield file
    monkeypatch.undo()
    fingerprints.forget()


def asked_again(file: Path) -> tuple[str, str]:
    """Return both fingerprints of a file as a new process would."""
    fingerprints.forget()
    return fingerprints.fingerprint(file), fingerprints.algorithm_fingerprint(file, ("solve",), (("depth", 1),))


def test_kept_fingerprints_are_those_that_are_computed_and_no_code_is_read_again(
    module, kept_here, monkeypatch
):
    computed = asked_again(module)
    assert len(set(computed)) == 2
    (file,) = kept_here.iterdir()
    assert len(file.read_text().split()) == 6
    monkeypatch.setattr(fingerprints, "module_at", None)
    assert asked_again(module) == computed
    # Other roots and options are other questions.
    with pytest.raises(TypeError):
        fingerprints.algorithm_fingerprint(module, ("solve",), (("depth", 2),))
    with pytest.raises(TypeError):
        fingerprints.algorithm_fingerprint(module, ("prepare",), (("depth", 1),))


@pytest.mark.parametrize("change", ["itself", "another", "added", "removed", "renamed"])
def test_any_change_to_the_package_asks_anew(module, change, monkeypatch):
    """Times and sizes may stay as they are."""
    other = module.with_name("other.cuh")
    other.write_text("int a;")
    asked_again(module)
    changed = {"itself": module, "another": other}.get(change)
    if changed:
        times = changed.stat()
        changed.write_text(changed.read_text().replace("1", "2").replace("a", "b"))
        os.utime(changed, ns=(times.st_atime_ns, times.st_mtime_ns))
    elif change == "added":
        module.with_name("b.py").touch()
    elif change == "removed":
        other.unlink()
    else:
        other.rename(module.with_name("renamed.cuh"))
    monkeypatch.setattr(fingerprints, "module_at", None)
    with pytest.raises(TypeError):
        asked_again(module)


@pytest.mark.parametrize("cut", [1, 5, 20, 40])
def test_damaged_lines_are_computed_again(module, kept_here, monkeypatch, cut):
    computed = asked_again(module)
    (file,) = kept_here.iterdir()
    whole = file.read_bytes()
    file.write_bytes(whole[:-cut])
    assert asked_again(module) == computed
    with monkeypatch.context() as patch:
        patch.setattr(fingerprints, "module_at", None)
        assert asked_again(module) == computed
    file.write_bytes(bytes(255 - byte if i % 9 == 0 else byte for i, byte in enumerate(whole)))
    assert asked_again(module) == computed
    assert asked_again(module) == computed


def test_fingerprints_of_code_that_changes_meanwhile_are_not_kept(module, kept_here, monkeypatch):
    def read(path: Path) -> modules.Module:
        path.write_text("def solve(problem):\n    return 2\n")
        return modules.module_at(path)

    monkeypatch.setattr(fingerprints, "module_at", read)
    second = asked_again(module)
    assert not kept_here.exists()
    monkeypatch.setattr(fingerprints, "module_at", modules.module_at)
    assert asked_again(module) == second
    module.write_text("def solve(problem):\n    return 1\n")
    assert asked_again(module) != second


def test_code_outside_the_package_is_not_kept(module, kept_here, tmp_path):
    (tmp_path / "user.py").write_text("def solve(problem):\n    return 1\n")
    asked_again(tmp_path / "user.py")
    assert not kept_here.exists()


def test_without_a_cache_fingerprints_are_computed(module, kept_here):
    computed = asked_again(module)
    shutil.rmtree(kept_here.parent)
    kept_here.parent.touch()
    assert asked_again(module) == computed
