"""Wrong calls of every public function: an error of this package that names the mistake, or the right answer."""

from __future__ import annotations

import decimal
import fractions
import io
import sys
from pathlib import Path

import numpy as np
import pytest

import mst
from mst import Forest, Graph, InputError, MSTError, formats, mpi
from mst.advice.kinds import weights_along_rows
from mst.interop.device import device_graph
from mst.interop.inputs import from_networkx, from_scipy
from mst.interop.tables import from_table
from mst.streaming import forest_of_batches, open_edges, prove_batches

nx = pytest.importorskip("networkx")
pandas = pytest.importorskip("pandas")
pyarrow = pytest.importorskip("pyarrow")
sparse = pytest.importorskip("scipy.sparse")

from mst.csgraph import minimum_spanning_tree  # noqa: E402
from mst.interop import networkx as backend  # noqa: E402


class OnDevice:
    """An array on a device as other libraries see it, here without a device."""

    @property
    def __cuda_array_interface__(self) -> dict:
        return {"shape": (3,), "typestr": "<i4", "data": (0, False), "version": 3}


TRIANGLE = Graph(3, [0, 1, 2], [1, 2, 0], [5, 7, 6])
solve = mst.minimum_spanning_forest
FOREST = Forest(TRIANGLE, [0, 2])
DEVICE = OnDevice()

# Values of types that callers confuse, by name.
VALUES = {
    "none": None,
    "true": True,
    "int": 7,
    "negative": -1,
    "huge": 10**400,
    "float": 1.5,
    "nan": float("nan"),
    "inf": float("inf"),
    "complex": 1j,
    "text": "x",
    "bytes": b"x",
    "nul": "a\0b",
    "object": object(),
    "function": len,
    "dict": {0: 1, 1: 2, 2: 0},
    "set": {0, 1, 2},
    "ragged": [[1], [2, 3]],
    "nested": [[0, 1], [1, 0]],
    "floats": [0.5, 1.0, 2.0],
    "nones": [None] * 3,
    "texts": ["a", "b", "c"],
    "decimals": [decimal.Decimal(1)] * 3,
    "fractions": [fractions.Fraction(1, 2)] * 3,
    "beyond int64": [2**70] * 3,
    "negatives": [-1, -2, -3],
    "range": range(3),
    "0-d": np.array(3),
    "3-d": np.zeros((2, 2, 2)),
    "complex array": np.array([1j, 2j, 3]),
    "text array": np.array(["a", "b", "c"]),
    "object array": np.array([object()] * 3),
    "dates": np.array(["2020-01-01"] * 3, "M8[D]"),
    "spans": np.array([1, 2, 3], "m8[s]"),
    "rows of fields": np.zeros(3, [("a", int)]),
    "long doubles": np.ones(3, np.longdouble),
    "booleans": np.array([True, False, True]),
    "masked": np.ma.array([0, 1, 2], mask=[0, 1, 0]),
    "matrix": np.matrix([[0, 1], [1, 0]]),
    "sparse": sparse.csr_array(np.eye(3)),
    "series": pandas.Series([1, 2, 0], index=[5, 6, 7]),
    "series with gaps": pandas.Series([0, 1, None]),
    "nullable": pandas.array([0, 1, None], "Int64"),
    "frame": pandas.DataFrame({"u": [0], "v": [1], "w": [2]}),
    "arrow": pyarrow.array([1, 2, 0]),
    "arrow with nulls": pyarrow.array([0, 1, None]),
    "networkx": nx.path_graph(4),
    "on a device": DEVICE,
}

COLUMNS = {"range", "series", "arrow"}
GRAPHS = {"sparse", "frame", "networkx"}
HASHABLE = {key for key, value in VALUES.items() if getattr(type(value), "__hash__", None)}


def path_graph(*weights):
    graph = nx.Graph()
    graph.add_weighted_edges_from((i, i + 1, weight) for i, weight in enumerate(weights))
    return graph


def by_backend(graph, **arguments):
    return list(backend.minimum_spanning_edges(graph, **arguments))


class OneRank:
    """A communicator of one rank."""

    rank, size = 0, 1

    def allgather(self, value):
        return [value]


def solve_on_ranks(edges, **options):
    return mpi.minimum_spanning_forest(edges, OneRank(), **options)


# A call with one argument, and the values that it takes; all others must be refused.
CALLS = {
    "graph": (solve, GRAPHS),
    "algorithm": (lambda x: solve(TRIANGLE, algorithm=x), set()),
    "algorithm, arrays": (lambda x: solve((3, [0, 1], [1, 2], [1, 2]), algorithm=x), set()),
    "threads": (lambda x: solve(TRIANGLE, algorithm="cas-boruvka", threads=x), {"none", "true"}),
    "threads of one": (lambda x: solve(TRIANGLE, algorithm="kruskal", threads=x), {"none", "true"}),
    "maximum": (lambda x: solve(TRIANGLE, maximum=x), {"none", "true", "int", "negative", "huge"}),
    "option": (lambda x: solve(TRIANGLE, algorithm="kruskal", sort=x), set()),
    "unknown option": (lambda x: solve(TRIANGLE, algorithm="kruskal", sorted=x), set()),
    "tuple, n": (lambda x: solve((x, [0], [0], [1])), {"true", "int", "0-d"}),
    "tuple, u": (lambda x: solve((3, x, [1, 2, 0], [1, 2, 3])), COLUMNS),
    "tuple, w": (lambda x: solve((3, [0, 1, 2], [1, 2, 0], x)), COLUMNS | {"floats", "booleans", "negatives"}),
    "Graph, n": (lambda x: Graph(x, [0], [0], [1]), {"true", "int", "0-d"}),
    "Graph, u": (lambda x: Graph(3, x, [1, 2, 0], [1, 2, 3]), COLUMNS),
    "Graph, v": (lambda x: Graph(3, [1, 2, 0], x, [1, 2, 3]), COLUMNS),
    "Graph, w": (lambda x: Graph(3, [0, 1, 2], [1, 2, 0], x), COLUMNS | {"floats", "booleans", "negatives"}),
    "Forest, graph": (lambda x: Forest(x, [0]), set()),
    "Forest, edge_ids": (lambda x: Forest(TRIANGLE, x), set()),
    "Forest, threads": (lambda x: Forest(TRIANGLE, [0], threads=x), {"none", "true"}),
    "to_networkx, nodes": (
        FOREST.to_networkx,
        COLUMNS
        | {"none", "nul", "floats", "texts", "complex array", "text array", "spans", "negatives"}
        | {"series with gaps", "arrow with nulls", "nullable", "frame"},
    ),
    "to_networkx, weight": (lambda x: FOREST.to_networkx(weight=x), {"text", "nul"}),
    "read_graph": (mst.read_graph, set()),
    "read_graph, format": (lambda x: mst.read_graph(__file__, format=x), set()),
    "write, path": (lambda x: formats.write(x, TRIANGLE), set()),
    "write, graph": (lambda x: formats.write("/nowhere/a.gr", x), set()),
    "write, format": (lambda x: formats.write("/nowhere/a.gr", TRIANGLE, format=x), set()),
    "write, ids": (lambda x: formats.write("/nowhere/a.txt", TRIANGLE, ids=x), set()),
    "detect": (formats.detect, set()),
    "csgraph": (minimum_spanning_tree, {"sparse", "matrix", "nested"}),
    "csgraph, algorithm": (lambda x: minimum_spanning_tree(np.eye(2), algorithm=x), set()),
    "backend, G": (by_backend, {"networkx"}),
    "backend, algorithm": (lambda x: by_backend(path_graph(1, 2), algorithm=x), set()),
    "backend, attribute": (lambda x: by_backend(path_graph(1, 2), weight=x), HASHABLE),
    "backend, weight": (
        lambda x: by_backend(path_graph(1, x)),
        {"true", "int", "negative", "huge", "float", "inf"},
    ),
    "ranks": (solve_on_ranks, set()),
    "ranks, algorithm": (lambda x: solve_on_ranks((3, [0], [1], [1]), algorithm=x), set()),
    "from_networkx": (from_networkx, {"networkx"}),
    "from_networkx, attribute": (lambda x: from_networkx(path_graph(1, 2), weight=x), set()),
    "from_networkx, weight": (
        lambda x: from_networkx(path_graph(1, x)),
        {"true", "int", "negative", "float", "inf", "0-d"},
    ),
    "from_scipy": (from_scipy, {"sparse"}),
    "from_table": (from_table, {"frame"}),
    "device array among others": (lambda x: solve((3, DEVICE, x, DEVICE)), set()),
    "device algorithm": (lambda x: solve((3, DEVICE, DEVICE, DEVICE), algorithm=x), set()),
}


@pytest.fixture(autouse=True)
def without_cupy(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "cupy", None)
    monkeypatch.chdir(tmp_path)  # no file is called as one of the values


@pytest.mark.parametrize("call", CALLS)
def test_a_value_of_another_type_is_refused_by_this_package_or_taken(call):
    function, taken = CALLS[call]
    assert taken <= VALUES.keys()
    for name, value in VALUES.items():
        if name in taken:
            function(value)
        else:
            with pytest.raises(MSTError):
                pytest.fail(f"{call} took {name}: {function(value)!r}")


def sparse_with(**damage):
    matrix = sparse.csr_array(np.ones((3, 3)))
    for field, values in damage.items():
        setattr(matrix, field, np.array(values))
    return matrix


def table(**columns):
    return pandas.DataFrame(columns)


def arrow(names, metadata=None):
    columns = [pyarrow.array([0, 1]), pyarrow.array([1, 2]), *([pyarrow.array([3, 4])] * (len(names) - 2))]
    return pyarrow.table(columns, names=names).replace_schema_metadata(metadata)


def frame_of(names):
    return pandas.DataFrame([[0, 1, *[5] * (len(names) - 2)]], columns=names)


# Calls with wrong argument values, and the message.
WRONG = {
    "NUL in a path": (lambda: mst.read_graph("a\0b"), "NUL"),
    "path of bytes": (lambda: mst.read_graph(b"a.gr"), "bytes"),
    "empty path": (lambda: mst.read_graph(""), "is a folder"),
    "graph of another library": (lambda: solve(fractions.Fraction(1)), "from fractions.Fraction: give an"),
    "ids for a format without any": (
        lambda: formats.write("a.gr", TRIANGLE, ids=range(1, 4)),
        "a.gr: dimacs files keep no ids of vertices",
    ),
    "ids of too few vertices": (
        lambda: formats.write("a.txt", TRIANGLE, ids=[7, 8]),
        "one value for each of 3 vertices, got 2",
    ),
    "ids of too many vertices": (
        lambda: formats.write("a.txt", TRIANGLE, ids=range(4)),
        "one value for each of 3 vertices, got 4",
    ),
    "ids that are texts": (lambda: formats.write("a.txt", TRIANGLE, ids=list("abc")), "ids must hold"),
    "nullable columns of points": (
        lambda: mst.from_points(table(x=[1.0, 2.0], y=[3.0, 4.0]).astype("Float64")),
        r"dtype object: convert it first, for example a pandas frame with X.to_numpy\(float\)",
    ),
    "no cluster": (lambda: FOREST.labels(k=0), "3 vertices in 1 tree cannot form 0 clusters"),
    "negative edge id": (lambda: Forest(TRIANGLE, [-1]), "-1 is not an edge: ids run from 0 to 2"),
    "foreign edge id": (lambda: Forest(TRIANGLE, [3]), "3 is not an edge"),
    "edge id above int64": (lambda: Forest(TRIANGLE, np.array([2**63], np.uint64)), "92233720"),
    "edge id twice": (lambda: Forest(TRIANGLE, [1, 0, 1]), "edge 1 occurs more than once"),
    "ids that are floats": (lambda: Forest(TRIANGLE, [0.0]), "float64"),
    "ids that are booleans": (lambda: Forest(TRIANGLE, [True, False]), "bool"),
    "more edges than a forest has": (lambda: Forest(TRIANGLE, [0, 1, 2]), "3 edges close a cycle"),
    "names in a dict": (lambda: FOREST.to_networkx({0: "a", 1: "b", 2: "c"}), r"list\(nodes.values"),
    "names in a set": (lambda: FOREST.to_networkx({"a", "b", "c"}), "vertex 0"),
    "names without hash": (lambda: FOREST.to_networkx([[0], [1], [2]]), "unhashable"),
    "None as a name": (lambda: FOREST.to_networkx(["a", None, "b"]), r"nodes\[1\] is None"),
    "the id's attribute": (lambda: FOREST.to_networkx(weight="id"), "other than 'id'"),
    "rounded in a tuple": (lambda: solve((3, [0, 1], [1, 2], [2**53 + 1, 0.5])), "has weight 9007199254740993"),
    "rounded in a tuple, integers": (
        lambda: solve((3, [0, 1], [1, 2], [-1, 2**63 + 1])),
        "has weight 9223372036854775809",
    ),
    "rounded in a frame": (
        lambda: solve(table(u=[0, 1], v=[1, 2], w=np.array([2**53 + 1, 0.5], object))),
        r"w\[0\] has weight 9007199254740993",
    ),
    "end above int64 in a batch": (
        lambda: solve([(np.array([0, 2**63 + 5], np.uint64), [1, 1], [5, 7])]),
        r"batch 0: u\[1\] = 9223372036854775813 is not a vertex",
    ),
    "column twice, pandas": (lambda: solve(frame_of(["u", "v", "w", "w"])), "the table has the columns"),
    "end twice, pandas": (lambda: solve(frame_of(["u", "v", "v", "w"])), "the table has the columns"),
    "column twice, Arrow": (lambda: solve(arrow(["u", "v", "w", "w"])), "w more than once"),
    "two weights": (lambda: solve(frame_of(["u", "v", "w", "weight"])), "u, v, w, weight"),
    "two pairs of ends": (lambda: solve(frame_of(["u", "v", "source", "target"])), "u, v, source, target"),
    "Arrow vertex count": (lambda: solve(arrow(["u", "v"], {"n": "1" * 5000})), "metadata declare"),
    "Arrow vertex count below the ids": (lambda: solve(arrow(["u", "v"], {"n": "2"})), "is not a vertex"),
    **{
        f"ends that are booleans, {kind}": (
            lambda make=make: solve(make({"u": [False, True], "v": [True, True], "w": [1, 2]})),
            "u holds booleans such as False, not vertex ids",
        )
        for kind, make in {
            "pandas": pandas.DataFrame,
            "Arrow": pyarrow.table,
            "Arrow's dictionaries": lambda columns: pyarrow.table(
                {name: pyarrow.array(column).dictionary_encode() for name, column in columns.items()}
            ),
        }.items()
    },
    "column of lists": (lambda: solve(table(u=[0], v=[1], w=[[1, 2]])), "w must be one-dimensional"),
    "column of ragged lists": (
        lambda: solve(table(u=[0, 1], v=[1, 2], w=[[1], [1, 2]])),
        "w is not a column of numbers",
    ),
    "column of complex": (lambda: solve(table(u=[0], v=[1], w=[1j])), "complex128"),
    "column of dates": (lambda: solve(table(u=[0], v=[1], w=pandas.to_datetime(["2020-01-01"]))), "datetime64"),
    "Arrow structures": (
        lambda: solve(pyarrow.table({"u": [0], "v": [1], "w": [{"a": 1}]})),
        "w has dtype object",
    ),
    "csgraph, column outside": (
        lambda: minimum_spanning_tree(sparse_with(indices=[0, 1, 9, 0, 1, 2, 0, 1, 2])),
        "indices must be < 3",
    ),
    "csgraph, negative column": (
        lambda: minimum_spanning_tree(sparse_with(indices=[0, 1, -1, 0, 1, 2, 0, 1, 2])),
        "indices must be >= 0",
    ),
    "sparse, column outside": (lambda: solve(sparse_with(indices=[0, 1, 9, 0, 1, 2, 0, 1, 2])), "damaged"),
    "sparse, rows that descend": (lambda: solve(sparse_with(indptr=[0, 5, 3, 9])), "damaged"),
    "sparse, rows that end before the first entry": (
        lambda: solve(sparse_with(indptr=[0, 5, 3, -1])),
        "damaged",
    ),
    "on a device without CuPy": (lambda: solve((3, DEVICE, DEVICE, DEVICE)), "CuPy, which is not installed"),
    "on a device, by name": (
        lambda: solve((3, DEVICE, DEVICE, DEVICE), algorithm="filter-boruvka-cuda"),
        "CuPy, which is not installed",
    ),
    "device_graph without CuPy": (
        lambda: device_graph(3, DEVICE, DEVICE, DEVICE),
        "CuPy, which is not installed",
    ),
    "under MPI": (lambda: solve(TRIANGLE, algorithm="ghs-mpi"), "mst.mpi"),
    "no algorithm of that name": (lambda: solve(TRIANGLE, algorithm="kruskall"), "did you mean"),
    **{
        f"{name} by {width} threads": (
            lambda call=call, width=width: call(width),
            f"threads must be at least 1, got {width}",
        )
        for width in (0, -1)
        for name, call in {
            "batches": lambda width: forest_of_batches([], solve=solve, width=width),
            "proof of batches": lambda width: prove_batches(solve([]), [], width=width),
            "file of edges": lambda width: open_edges(Path("e.parquet"), width=width),
        }.items()
    },
    "batches by too many threads": (
        lambda: forest_of_batches([], solve=solve, width=10**6),
        "threads=1000000 is above the",
    ),
    **{
        f"columns in a {type(values).__name__}": (
            lambda values=values: solve((3, values, [1, 2, 0], [5, 7, 6])),
            f"u must be an array or a list, got {type(values).__name__}: give list",
        )
        for values in ({0, 1, 2}, map(int, "012"), {0: 0, 1: 0, 2: 0}.keys(), b"012", "012")
    },
    "an end that is missing": (
        lambda: solve((3, pandas.Series([0, None], dtype="Int64"), [1, 2], [5, 7])),
        r"u\[1\] is missing: drop that edge",
    ),
    "an open file": (
        lambda: solve(io.StringIO("0 1 5\n")),
        "batch 0: .* got text: to read a file, give its path",
    ),
    "lines of bytes": (
        lambda: solve(io.BytesIO(b"0 1 5\n")),
        "batch 0: .* got text: to read a file, give its path",
    ),
    "three in a tuple": (
        lambda: solve((3, [0], [1])),
        r"\(n, u, v, w\), got 3 values: put n, the number of vertices",
    ),
    "nothing in a tuple": (lambda: solve(()), "got 0 values"),
    "three in a tuple, maximum": (lambda: solve((3, [0], [1]), maximum=True), "got 3 values"),
}

# Calls that stand for another library's, with the built-in exception that its callers would catch, too.
WRONG_THERE = {
    "csgraph, complex": (lambda: minimum_spanning_tree(np.array([[0, 1j], [0, 0]])), "complex128", TypeError),
    "csgraph, complex sparse": (
        lambda: minimum_spanning_tree(sparse.csr_array(np.array([[0, 1j], [0, 0]]))),
        "complex128",
        TypeError,
    ),
    "csgraph, complex masked": (
        lambda: minimum_spanning_tree(np.ma.array([[0, 1j], [0, 0]])),
        "complex128",
        TypeError,
    ),
    "csgraph, text": (lambda: minimum_spanning_tree(np.array([["0", "1"], ["1", "0"]])), "<U1", TypeError),
    "csgraph, objects": (
        lambda: minimum_spanning_tree(np.array([[0, 2], [0, 0]], object)),
        "object",
        TypeError,
    ),
    "csgraph, dates": (lambda: minimum_spanning_tree(np.zeros((2, 2), "M8[D]")), "datetime64", TypeError),
    "csgraph, ragged": (lambda: minimum_spanning_tree([[0, 1], [1]]), "all of the same length", ValueError),
    "csgraph, rows that descend": (
        lambda: minimum_spanning_tree(sparse_with(indptr=[0, 5, 3, 9])),
        "non-decreasing",
        ValueError,
    ),
    "csgraph, rows that end before the first entry": (
        lambda: minimum_spanning_tree(sparse_with(indptr=[0, 5, 3, 0])),
        "non-decreasing",
        ValueError,
    ),
    "csgraph, rows beyond the end": (
        lambda: minimum_spanning_tree(sparse_with(indptr=[0, 3, 6, 99])),
        "damaged",
        ValueError,
    ),
    "backend, unknown algorithm": (
        lambda: by_backend(path_graph(1, 2), algorithm="dijkstra"),
        "not a valid choice",
        ValueError,
    ),
    "backend, text": (
        lambda: by_backend(path_graph(1, "far")),
        "must have a real number as its weight, got str",
        TypeError,
    ),
    "backend, weights without an order": (
        lambda: by_backend(path_graph(np.longdouble(1), decimal.Decimal(1))),
        "cannot be ordered",
        TypeError,
    ),
    "backend, no graph": (lambda: by_backend([(0, 1)]), "list is not a networkx graph", TypeError),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_argument_is_named(name):
    call, message = WRONG[name]
    with pytest.raises(MSTError, match=message):
        call()


@pytest.mark.parametrize("name", WRONG_THERE)
def test_a_wrong_argument_raises_what_the_other_library_would(name):
    call, message, builtin = WRONG_THERE[name]
    with pytest.raises(MSTError, match=message) as caught:
        call()
    assert isinstance(caught.value, builtin)


DAMAGE = [
    *[("csc", "indices", 1, value) for value in (-1, 6, 2**31 - 1)],
    *[("bsr", "indices", 1, value) for value in (-1, 3, 2**31 - 1)],
    *[(kind, "indptr", at, value) for kind in ("csc", "bsr") for at in (0, 1, -1) for value in (-1, 2**31 - 1)],
    *[("coo", field, 1, value) for field in ("row", "col") for value in (-1, 6, 2**31 - 1)],
]


@pytest.mark.parametrize("function", [solve, minimum_spanning_tree])
@pytest.mark.parametrize(("kind", "field", "at", "value"), DAMAGE)
def test_a_damaged_sparse_matrix_of_any_format_is_refused(kind, field, at, value, function):
    matrix = sparse.coo_matrix(np.kron(1 - np.eye(3), np.ones((2, 2))))
    matrix = matrix.tobsr((2, 2)) if kind == "bsr" else matrix.asformat(kind)
    getattr(matrix, field)[at] = value
    with pytest.raises(InputError, match=f"the {kind} matrix is damaged"):
        function(matrix)


# The same, and right.
RIGHT = {
    "names in an array": (lambda: len(FOREST.to_networkx(np.array(["a", "b", "c"]))), 3),
    "names in an iterator": (lambda: sorted(FOREST.to_networkx(iter("abc")).edges), [("a", "b"), ("a", "c")]),
    "names in a series": (
        lambda: sorted(FOREST.to_networkx(pandas.Series(["a", "b", "c"], index=[5, 6, 7]))),
        ["a", "b", "c"],
    ),
    "names that are pairs": (
        lambda: sorted(FOREST.to_networkx([(0, 0), (0, 1), (1, 0)])),
        [(0, 0), (0, 1), (1, 0)],
    ),
    "u, v and weight": (lambda: solve(frame_of(["u", "v", "weight"])).weight, 5),
    "source, target and w": (lambda: solve(arrow(["source", "target", "w"])).weight, 7),
    "exact whole numbers beside fractions": (
        lambda: solve((3, [0, 1], [1, 2], [2**53, 0.5])).weight,
        2**53 + 0.5,
    ),
    "ids with steps": (
        lambda: formats.write("a.csv", TRIANGLE, ids=range(5, 11, 2)) or Path("a.csv").read_text(),
        "source,target,weight\n5,7,5\n7,9,7\n9,5,6\n",
    ),
    "no edge ids": (lambda: len(Forest(TRIANGLE, [])), 0),
    "a path of any type": (lambda: formats.write(Path("a.gr"), TRIANGLE) or mst.read_graph("a.gr").m, 3),
}


@pytest.mark.parametrize("name", RIGHT)
def test_an_unusual_argument_gives_the_right_answer(name):
    call, expected = RIGHT[name]
    assert call() == expected


@pytest.mark.parametrize("n", [None, "3", 1.5, -1, 2**31, [3], float("nan")])
def test_vertex_counts_of_graphs_on_a_device_are_checked(n, monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", np)
    monkeypatch.setattr("mst.interop.device.as_cupy", lambda array, name: np.asarray(array))
    none = np.empty(0, np.int32)
    assert device_graph(3, none, none, none).n == 3
    with pytest.raises(MSTError, match="vertex count"):
        device_graph(n, none, none, none)


def test_floating_point_errors_that_the_caller_raises_interrupt_no_call():
    rows, tiny = np.arange(299), np.full(299, 5e-324)
    narrow = (300, rows, rows + 1, tiny.astype(np.float32))
    batches = [(rows, rows + 1, tiny), (rows, rows + 1, 0 * tiny)]
    points = np.array([[1e-320], [3e-320]]), np.array([[1e-200], [1e200]])
    with np.errstate(all="raise"):
        assert weights_along_rows(tiny) == "wide"
        with pytest.raises(InputError, match="cannot be stored as float32"):
            mst.minimum_spanning_forest(narrow).add_edges([0], [5], [5e-324])
        assert prove_batches(mst.minimum_spanning_forest(batches), batches).ok
        assert [float(mst.from_points(X).weight) for X in points] == [2e-320, 1e200]
