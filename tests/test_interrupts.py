"""Ctrl-C while compiled code runs, or while its result is made a Python object, raises `KeyboardInterrupt`."""

from __future__ import annotations

import ast
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from queue import SimpleQueue

import pytest
from scripts import run_python

import mst
from mst.cli import main
from mst.kernels.parallel.pool import Pool

TREES = {file: ast.parse(file.read_text()) for file in Path(mst.__file__).parent.rglob("*.py")}


def functions(*, compiled: bool) -> Iterator[tuple[Path, ast.FunctionDef]]:
    """Yield the functions of the package that numba compiles, or the others, with their files."""
    for file, tree in TREES.items():
        for node in ast.walk(tree):
            decorators = node.decorator_list if isinstance(node, ast.FunctionDef) else []
            if (
                isinstance(node, ast.FunctionDef)
                and any("njit" in ast.unparse(d) for d in decorators) == compiled
            ):
                yield file, node


def called(node: ast.AST) -> str:
    """Return the name of the function that an expression calls, or an empty string."""
    return ast.unparse(node.func).rpartition(".")[2] if isinstance(node, ast.Call) else ""


def returns_any_of(function: ast.FunctionDef, makers: set[str]) -> bool:
    """True when a function returns what one of the makers returned, alone or in a tuple."""
    nodes = list(ast.walk(function))
    names = {
        ast.unparse(target)
        for node in nodes
        if isinstance(node, ast.Assign) and called(node.value) in makers
        for target in node.targets
    }
    returned = [node.value for node in nodes if isinstance(node, ast.Return) and node.value is not None]
    parts = [part for value in returned for part in (value.elts if isinstance(value, ast.Tuple) else [value])]
    return any(called(part) in makers or ast.unparse(part) in names for part in parts)


def test_python_calls_no_compiled_function_that_returns_a_named_tuple():
    """To make it, numba calls the class, in which an interruption ends in a segmentation fault."""
    makers = {"_replace"} | {
        node.name
        for tree in TREES.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and "NamedTuple" in map(ast.unparse, node.bases)
    }
    compiled, found = list(functions(compiled=True)), set()
    while new := {f.name for _, f in compiled if returns_any_of(f, makers)} - found:
        found |= new
        makers |= new
    assert found, "this test recognises none of the compiled functions that return named tuples"
    wrong = {
        f"{file}, {function.name} calls {called(node)}"
        for file, function in functions(compiled=False)
        for node in ast.walk(function)
        if called(node) in found
    }
    assert not wrong


INTERRUPTED = """
    import io, os, random, signal, sys, time
    import numpy as np
    from mst import Graph, minimum_spanning_forest
    from mst.arrays import contiguous
    from mst.formats import dimacs
    from mst.kernels.parallel.parts import by_threads
    from mst.proof import check_forest, prove
    from mst.streaming import prove_batches

    rng, dice = np.random.default_rng(1), random.Random(1)
    graph = Graph(60, rng.integers(0, 60, 400), rng.integers(0, 60, 400), rng.random(400))
    work, attempts = sys.argv[1], int(sys.argv[2])
    ids = minimum_spanning_forest(graph, algorithm="kruskal").edge_ids

    def once():
        if work == "proof":
            assert prove(graph, ids).ok and check_forest(graph, ids, reference_weight=float(graph.w[ids].sum())).ok
        elif work == "stream":
            minimum_spanning_forest(iter(batches))
        elif work == "second pass":
            assert prove_batches(of_batches, batches, width=2).ok
        elif work == "parts":
            with by_threads(2) as parts:
                assert parts(1 << 16, lambda first, last: last - first) == [1 << 12] * 16
        elif work == "rows":
            dimacs.FORMAT.write(io.BytesIO(), many)
        elif work == "columns":
            assert contiguous(graph.w[::-1], graph.w.dtype, 2)[0] == graph.w[-1]
        else:
            minimum_spanning_forest(graph, algorithm=work)

    def threads():
        return len(os.listdir("/proc/self/task"))

    many = Graph(60, *(np.tile(column, 40) for column in (graph.u, graph.v, graph.w)))
    batches = [(graph.u, graph.v, graph.w)] * 50
    of_batches = minimum_spanning_forest(batches)
    once()
    before = threads()
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    ended = 0
    for _ in range(attempts):
        stop = time.monotonic() + 60
        try:
            signal.setitimer(signal.ITIMER_REAL, dice.uniform(0.0005, 1 / attempts))
            while time.monotonic() < stop:
                once()
        except KeyboardInterrupt:
            ended += 1
    stop = time.monotonic() + 60
    # An interruption may come before the first statement that ends a pool of two.
    while threads() > before + 2 and time.monotonic() < stop:
        time.sleep(0.01)
    assert time.monotonic() < stop, f"{threads() - before} threads are left"
    print(ended)
"""


@pytest.mark.parametrize(
    "work",
    [
        "proof",
        "stream",
        "second pass",
        "parts",
        "columns",
        "rows",
        "filter-boruvka-threads",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("boruvka", "qkruskal", "filter-kruskal")),
    ],
)
def test_every_interruption_raises_keyboard_interrupt(work):
    attempts = "400" if work in ("second pass", "columns") else "100"
    assert run_python(INTERRUPTED, work, attempts).stdout == f"{attempts}\n"


IN_CALLBACK = """
    import os, signal, sys, time
    import numba
    from numba.core.codegen import CPUCodeLibrary
    from mst.commands._interrupt import interrupt_on_signals

    number, hook = int(sys.argv[1]), CPUCodeLibrary._object_compiled_hook

    @classmethod
    def interrupted(_, *compiled):
        if not sent:
            sent.append(number)
            os.kill(os.getpid(), number)
        return hook(*compiled)

    sent = []
    CPUCodeLibrary._object_compiled_hook = interrupted
    # A shell's background jobs ignore SIGINT, nohup ignores SIGHUP, and so do the tests under either.
    for other in (signal.SIGHUP, signal.SIGTERM):
        signal.signal(other, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    interrupt_on_signals()
    try:
        numba.njit(lambda x: x + 1)(1)
        time.sleep(20)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        os._exit(0)  # Python ends by SIGINT if an interruption has left code that numba makes
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interruption_in_a_callback_of_llvm_is_not_lost(number):
    done = run_python(IN_CALLBACK, number.value)
    assert (done.stdout, done.stderr) == ("interrupted\n", "")


LOADING = """
    import sys
    from mst import minimum_spanning_forest

    class Interrupting:
        def find_spec(name, path=None, target=None):
            if name in parts:
                parts.remove(name)
                raise KeyboardInterrupt

    parts = ["llvmlite.binding.ffi", "numba.core.typing.templates", "numba.core.cpu", "numba.np.ufunc.dufunc"]
    sys.meta_path.insert(0, Interrupting)
    while parts:
        left = len(parts)
        try:
            minimum_spanning_forest((2, [0], [1], [5]), algorithm="kruskal")
        except KeyboardInterrupt:
            assert len(parts) == left - 1
    assert minimum_spanning_forest((2, [0], [1], [5]), algorithm="kruskal").weight == 5
"""


def test_a_call_works_after_one_was_interrupted_while_it_loaded_numba():
    run_python(LOADING)


LEFT_OPEN = """
    from mst.kernels.parallel.pool import Pool

    def calls():
        with Pool(2) as pool:
            yield pool.submit(pow, 2, 3).result()
            yield pool

    results = calls()
    assert next(results) == 8
"""


def test_a_process_ends_while_a_generator_holds_a_pool():
    run_python(LEFT_OPEN)


LEFT_READING = """
    import _thread, sys, time
    from pathlib import Path
    from pyarrow import parquet
    from mst.streaming import open_edges

    class Slow(parquet.ParquetFile):
        def read_row_group(self, *how, **more):
            begun.append(None)
            time.sleep(0.3)
            print("decoded", flush=True)
            return super().read_row_group(*how, **more)

    begun, batches = [], open_edges(Path(sys.argv[1]), width=2).batches(0)
    parquet.ParquetFile = Slow
    _thread.start_new_thread(list, (batches,))
    while len(begun) < 2:
        time.sleep(0.001)
"""


def test_a_process_waits_for_threads_in_the_code_of_arrow(tmp_path):
    """One that returned from it while Python ends would abort the process."""
    from pyarrow import parquet, table

    parquet.write_table(table({"u": [0] * 4, "v": [1] * 4}), path := tmp_path / "e.parquet", row_group_size=1)
    assert run_python(LEFT_READING, path).stdout.count("decoded") >= 2


class Interrupted(SimpleQueue):
    """Interrupts the main thread once it has put in None."""

    def put(self, item):
        super().put(item)
        if item is None and threading.get_ident() == threading.main_thread().ident:
            raise KeyboardInterrupt


def test_every_thread_of_a_pool_ends_when_its_end_is_interrupted():
    pool = Pool(3)
    pool._calls = Interrupted()
    with pytest.raises(KeyboardInterrupt), pool:
        pass
    for _ in range(3):
        pool._ended.get(timeout=60)


def test_a_command_runs_in_another_thread():
    answers = SimpleQueue()
    thread = threading.Thread(target=lambda: answers.put(main(["completion", "bash"])))
    thread.start()
    thread.join()
    assert not answers.empty() and answers.get() == 0
