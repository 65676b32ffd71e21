"""The drop-in returns the same as SciPy's function."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import scipy.sparse as sparse
from scipy.sparse.csgraph import minimum_spanning_tree as scipys
from scripts import run_python

import mst
from mst import InputError
from mst.csgraph import ShapeError, minimum_spanning_tree
from mst.graph import frozen

# Once code is loaded, matrices of few entries are solved by this alone.
from mst.interop.inputs import from_scipy
from mst.kernels.sequential.kruskal_rows import forest_of_rows


def alike(ours, theirs) -> bool:
    return (
        type(ours) is type(theirs)
        and ours.dtype == theirs.dtype
        and ours.shape == theirs.shape
        and ours.indices.dtype == theirs.indices.dtype
        and np.array_equal(ours.indptr, theirs.indptr)
        and np.array_equal(ours.indices, theirs.indices)
        and np.array_equal(ours.data, theirs.data, equal_nan=True)
    )


INPUTS = {
    "dense": np.array([[0, 8, 0, 3], [0, 0, 2, 5], [0, 0, 0, 6], [0, 0, 0, 0]]),
    "list": [[0, 1.5], [2.5, 0]],
    "dense with infinities": np.array([[0, np.inf, 2], [1, 0, np.nan], [0, 0, 0]]),
    "dense, nearly zero": np.array([[0, 1e-8, 2e-8], [-1e-8, 0, 0], [5e-324, 1.1e-8, 0]]),
    "dense, float32": np.array([[0, 1e-8, 1.1e-8], [np.inf, 0, 3], [0, 0, np.nan]], np.float32),
    "dense, Fortran order": np.array([[0, 8, 0, 3], [0, 0, 2, 5], [7, 1, 0, 6], [0, 0, 0, 0]], order="F"),
    "dense, bytes swapped": np.array([[0, 2, 1], [3, 0, 4], [0, 0, 0]], ">i4"),
    "dense, unsigned": np.array([[0, 2**64 - 1], [2**63, 0]], np.uint64),
    "matrix": np.ones((3, 3)).view(np.matrix),
    "masked": np.ma.masked_equal([[0, 2, 9], [3, 0, 0], [9, 4, 0]], 9),
    "csr array": sparse.csr_array([[0, 2, 1], [3, 0, 4], [0, 0, 0]]),
    "csr matrix": sparse.csr_matrix([[0, 2, 1], [3, 0, 4], [0, 0, 0]]),
    "csc matrix": sparse.csc_matrix([[0, 2, 1], [3, 0, 4], [0, 0, 0]], dtype=np.float32),
    "coo array with duplicates": sparse.coo_array(([1, 2, 4], ([0, 0, 2], [1, 1, 1])), shape=(3, 3)),
    "lil": sparse.lil_array(np.array([[0, 2], [3, 0]])),
    "dok": sparse.dok_array(np.array([[0, 2], [3, 0]])),
    "bool": sparse.csr_array(np.array([[False, True], [True, False]])),
    "64-bit": sparse.csr_array(np.array([[0, 2**40], [0, 0]])),
    "explicit zero": sparse.csr_array(([0.0, 3.0, 4.0], ([0, 1, 0], [1, 2, 2])), shape=(3, 3)),
    "negative": sparse.csr_array(np.array([[0, -2, 4], [0, 0, -1], [0, 0, 0]])),
    "stored infinity": sparse.csr_array(([np.inf, 1.0], ([0, 1], [1, 2])), shape=(3, 3)),
    "stored nan": sparse.csr_array(([np.nan, 1.0, np.inf], ([0, 1, 0], [1, 2, 2])), shape=(3, 3)),
    "diagonal": sparse.csr_array(np.diag([5.0, 1.0, 2.0])),
    "empty dense": np.zeros((0, 0)),
    "empty sparse": sparse.csr_array((0, 0)),
    "one vertex": np.zeros((1, 1)),
    "no edges": np.zeros((4, 4)),
}


@pytest.mark.parametrize("name", INPUTS)
def test_every_kind_of_input_gives_scipys_output(name):
    assert alike(minimum_spanning_tree(INPUTS[name]), scipys(INPUTS[name]))


def test_a_masked_array_without_a_mask_has_an_edge_for_each_element():
    # SciPy fails here.
    tree = minimum_spanning_tree(np.ma.masked_array([[1.0, 3, 9], [2, 1, 5], [9, 9, 1]]))
    assert tree.toarray().tolist() == [[0, 0, 0], [2, 0, 5], [0, 0, 0]]


def test_unsorted_and_repeated_entries_count_as_scipy_counts_them():
    data, indices, indptr = np.array([4.0, 1.0, 3.0, 2.0]), np.array([2, 1, 1, 0]), np.array([0, 3, 4, 4])
    raw = sparse.csr_array((data, indices, indptr), shape=(3, 3))
    ours, theirs = minimum_spanning_tree(raw.copy()), scipys(raw.copy())
    assert ours.indices.tolist() == theirs.indices.tolist() and ours.data.tolist() == theirs.data.tolist()


@pytest.mark.parametrize("symmetric", (False, True))
def test_random_matrices_with_distinct_weights(symmetric, rng):
    for _ in range(30):
        n = int(rng.integers(1, 40))
        matrix = sparse.random_array((n, n), density=rng.random() / 2, rng=rng, format="csr")
        matrix.data = rng.permutation(matrix.nnz) - matrix.nnz / 2 + 0.25
        if symmetric:
            matrix = matrix + matrix.T
        assert alike(minimum_spanning_tree(matrix), scipys(matrix))


def test_random_matrices_with_ties_have_the_same_weight(rng):
    for _ in range(30):
        n = int(rng.integers(1, 40))
        dense = rng.integers(0, 4, (n, n)) * (rng.random((n, n)) < 0.3)
        ours, theirs = minimum_spanning_tree(dense), scipys(dense)
        assert ours.sum() == theirs.sum() and ours.nnz == theirs.nnz
        kept = ours.tocoo()
        assert (dense[kept.row, kept.col] == kept.data).all()


WEIGHTS = {
    "fractions": lambda rng, m: rng.standard_normal(m),
    "narrow fractions": lambda rng, m: rng.random(m).astype(np.float32).astype(float),
    "ties": lambda rng, m: rng.integers(-2, 3, m).astype(float),
    "zeros": lambda rng, m: rng.choice([0.0, -0.0, 5e-324, -5e-324], m),
    "infinities": lambda rng, m: rng.choice([np.inf, -np.inf, 1e308, 0.0], m),
    "nan": lambda rng, m: rng.choice([np.nan, np.inf, 1.0, 0.0], m),
}


def no_general_solve(*_, **__):
    pytest.fail("a general solve")


@pytest.mark.parametrize("name", WEIGHTS)
def test_few_entries_give_the_tree_of_an_algorithm(name, rng, monkeypatch):
    for _ in range(40):
        n, m = int(rng.integers(1, 60)), int(rng.integers(0, 300))
        offsets = np.concatenate([[0], np.cumsum(rng.multinomial(m, np.ones(n) / n))]).astype(np.int32)
        # Unsorted, with repeated entries and a diagonal.
        columns = rng.integers(0, n, m, np.int32)
        matrix = sparse.csr_array((WEIGHTS[name](rng, m), columns, offsets), shape=(n, n))
        for keep_zeros in (False, True):
            with monkeypatch.context() as patch:
                if not np.isnan(matrix.data).any():
                    patch.setattr(mst, "minimum_spanning_forest", no_general_solve)
                few = minimum_spanning_tree(matrix, keep_zeros=keep_zeros)
            general = minimum_spanning_tree(matrix, keep_zeros=keep_zeros, algorithm="kruskal")
            assert alike(few, general) and few.data.tobytes() == general.data.tobytes()


@pytest.mark.parametrize(
    "name", ["csr array", "csr matrix", "csc matrix", "dense", "bool", "empty sparse", "one vertex"]
)
def test_few_entries_are_solved_in_one_call(name, monkeypatch):
    monkeypatch.setattr(mst, "minimum_spanning_forest", no_general_solve)
    assert alike(minimum_spanning_tree(INPUTS[name]), scipys(INPUTS[name]))


def test_few_entries_need_one_version_of_the_code():
    """Numba compiles another for arrays with gaps or of another writability, and for a flag that is no bool."""
    matrix = sparse.csr_array(np.array([[0, 2.0, 1], [3, 0, 4], [0, 0, 0]]))
    tree = minimum_spanning_tree(matrix)
    versions = len(forest_of_rows.signatures)
    for part in ("data", "indices", "indptr"):
        spread = matrix.copy()
        setattr(spread, part, np.repeat(getattr(matrix, part), 2)[::2])
        assert alike(minimum_spanning_tree(spread), tree)
        setattr(spread, part, frozen(getattr(matrix, part)))
        assert alike(minimum_spanning_tree(spread), tree)
    minimum_spanning_tree(matrix, keep_zeros=1)
    assert len(forest_of_rows.signatures) == versions


DAMAGED = [
    ([1, 1, 2], [0, 1], [1, 2]),
    ([0, 2, 1], [0, 1], [1, 2]),
    ([0, -1, 2], [0, 1], [1, 2]),
    ([0, 3, 2], [0, 1], [1, 2]),
    ([0, 1, 3], [0, 1], [1, 2]),
    ([0, 1, -1], [0, 1], [1, 2]),
    ([0, 1, 2], [0, 2], [1, 2]),
    ([0, 1, 2], [-1, 1], [1, 2]),
]


@pytest.mark.parametrize("convert", ["csr", "csc", "bsr"])
@pytest.mark.parametrize(("offsets", "columns", "weights"), [*DAMAGED, ([0, 1, 0], [], [])])
def test_damaged_arrays_are_refused(offsets, columns, weights, convert):
    matrix = sparse.csr_array((2, 2)).asformat(convert)
    values = np.array(weights, float)
    matrix.data = values.reshape(-1, 1, 1) if convert == "bsr" else values
    matrix.indptr, matrix.indices = np.array(offsets, np.int32), np.array(columns, np.int32)
    for call in (lambda: minimum_spanning_tree(matrix, algorithm="kruskal"), lambda: from_scipy(matrix)):
        with pytest.raises(InputError, match="damaged"):
            call()


@pytest.mark.parametrize("algorithm", ["auto", "kruskal"])
@pytest.mark.parametrize(
    ("offsets", "columns", "weights"),
    [([0, 1, 2, 2], [1, 0], [1.0, 2.0]), ([0, 1, 2], [1, 0], [1.0]), ([0, 1, 2], [[1, 0]], [[1.0, 2.0]])],
)
def test_arrays_of_wrong_shapes_are_refused(offsets, columns, weights, algorithm):
    matrix = sparse.csr_array((2, 2))
    matrix.data = np.array(weights)
    matrix.indptr, matrix.indices = np.array(offsets, np.int32), np.array(columns, np.int32)
    with pytest.raises(ShapeError, match="damaged"):
        minimum_spanning_tree(matrix, algorithm=algorithm)


@pytest.mark.parametrize("algorithm", ["auto", "kruskal"])
def test_arrays_may_be_longer_than_the_entries(algorithm):
    matrix = sparse.csr_array(
        (np.array([2.0, 3.0, 99.0]), np.array([1, 2, 0], np.int32), np.array([0, 1, 2, 2], np.int32)),
        shape=(3, 3),
    )
    tree = minimum_spanning_tree(matrix, algorithm=algorithm)
    assert (tree.data.tolist(), tree.indices.tolist(), tree.indptr.tolist()) == ([2, 3], [1, 2], [0, 1, 2, 2])


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint16, np.int32, np.uint64, np.float32])
def test_every_dtype_of_weights_is_kept_where_asked_for(dtype):
    matrix = sparse.csr_array(np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]], dtype))
    tree = minimum_spanning_tree(matrix, keep_dtype=True, algorithm="kruskal")
    assert tree.dtype == dtype and tree.indices.tolist() == [1, 2]


@pytest.mark.parametrize(("offsets", "columns", "weights"), [*DAMAGED, ([0, 1, 2], [0, 1], [1, np.nan])])
def test_few_entries_that_are_damaged_are_left_to_the_general_checks(offsets, columns, weights):
    arrays = (np.array(offsets, np.int32), np.array(columns, np.int32), np.array(weights, float))
    assert [len(part) for part in forest_of_rows(*map(frozen, arrays), False)] == [0, 0, 0]


@pytest.mark.parametrize("overwrite", (False, True))
def test_the_input_stays_as_it_was(overwrite):
    matrix = sparse.csr_array(np.array([[0, 2, 1], [3, 0, 4], [0, 0, 0]], float))
    before = matrix.copy()
    tree = minimum_spanning_tree(matrix, overwrite)
    tree.data[:] = -1
    assert alike(matrix, before)


def test_any_exact_algorithm_can_be_named():
    for algorithm in ("kruskal", "boruvka"):
        assert minimum_spanning_tree(INPUTS["dense"], algorithm=algorithm).sum() == 10
        tree = minimum_spanning_tree(INPUTS["csr matrix"], algorithm=algorithm)
        assert alike(tree, scipys(INPUTS["csr matrix"]))


def test_more_threads_than_cores_are_refused_for_few_entries():
    with pytest.raises(mst.UnsupportedError, match="above the"):
        minimum_spanning_tree(INPUTS["csr array"], threads=10**6)


@pytest.mark.parametrize("shape", [(2, 3), (3, 2), (3,), (2, 2, 2)])
def test_wrong_shapes_raise_value_errors(shape):
    dense = np.ones(shape)
    for matrix in (dense, sparse.csr_array(dense)) if len(shape) == 2 else (dense,):
        for error in (ValueError, InputError, ShapeError):
            with pytest.raises(error, match="matrix"):
                minimum_spanning_tree(matrix)


def test_a_missing_library_is_named_with_its_remedy(monkeypatch):
    forest = mst.minimum_spanning_forest((2, [0], [1], [1]))
    calls = (
        ("scipy", lambda: minimum_spanning_tree(INPUTS["list"])),
        ("scipy", forest.to_scipy),
        ("networkx", forest.to_networkx),
    )
    for name in ("scipy.sparse", "networkx"):
        monkeypatch.setitem(sys.modules, name, None)
    for package, call in calls:
        with pytest.raises(
            mst.DependencyError, match=f"{package}, which is not installed: pip install {package}$"
        ):
            call()


def test_modules_of_the_documentation_are_loaded_on_first_use():
    program = (
        "import sys, mst\n"
        "heavy = {'numba', 'scipy', 'pyarrow', 'pandas', 'matplotlib'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
        "assert mst.csgraph.minimum_spanning_tree([[0, 5], [0, 0]]).nnz == 1\n"
        "assert not hasattr(mst, 'nothing') and not hasattr(mst.interop, 'nothing')\n"
        "assert callable(mst.interop.inputs.from_networkx) and callable(mst.mpi.minimum_spanning_forest)\n"
        "assert not {'mpi4py', 'networkx'} & set(sys.modules)\n"
    )
    run_python(program)


def test_entries_given_twice_are_summed_where_scipy_sums_them():
    for dtype in (np.float64, np.float32, np.int64, bool):
        entries = np.array([2, 3, 4, 1], dtype), np.array([1, 1, 2, 0]), np.array([0, 2, 3, 4])
        matrix = sparse.csr_array(entries, shape=(3, 3))
        assert alike(minimum_spanning_tree(matrix), scipys(matrix)), dtype


def test_spare_capacity_after_the_last_entry_is_ignored():
    matrix = sparse.csr_array((3, 3))
    matrix.data, matrix.indices = np.array([3.0, 1.0, 2.0, 9.0]), np.array([1, 2, 0, 0], np.int32)
    matrix.indptr = np.array([0, 1, 2, 3], np.int32)
    assert minimum_spanning_tree(matrix).toarray().tolist() == [[0, 0, 0], [0, 0, 1], [2, 0, 0]]


def test_zeros_are_kept_on_request():
    zeros = sparse.csr_array(([0.0, 3.0, 0.0], ([0, 1, 0], [1, 2, 2])), shape=(3, 3))
    assert minimum_spanning_tree(zeros).nnz == scipys(zeros).nnz == 0
    tree = minimum_spanning_tree(zeros, keep_zeros=True)
    assert tree.nnz == 2 and tree.data.tolist() == [0, 0] and tree.indices.tolist() == [1, 2]
    # No edge of a dense matrix weighs zero.
    assert minimum_spanning_tree(np.zeros((3, 3)), keep_zeros=True).nnz == 0
    # But of a masked one that is not masked.
    masked = np.ma.masked_array([[0, 0, 3], [0, 0, 2], [0, 0, 0]], [[1, 0, 0], [1, 1, 0], [1, 1, 1]])
    tree = minimum_spanning_tree(masked, keep_zeros=True, keep_dtype=True)
    assert tree.data.tolist() == [0, 2] and tree.indices.tolist() == [1, 2] and tree.dtype == masked.dtype


@pytest.mark.parametrize("dtype", ["bool", "i1", "u2", "i4", "i8", "u8", "f4", "f8"])
def test_weights_keep_their_dtype_on_request(dtype):
    dense = np.array([[0, 3, 1], [2, 0, 4], [0, 0, 0]]).astype(dtype)
    for given in (dense, np.ma.masked_equal(dense, 0), sparse.csr_array(dense)):
        tree = minimum_spanning_tree(given, keep_dtype=True)
        assert tree.dtype == np.dtype(dtype)
        assert (tree.astype(float).toarray() == scipys(dense.astype(float)).toarray()).all()
        assert minimum_spanning_tree(given).dtype == np.float64


def test_weights_of_16_bits_become_those_of_32():
    tree = minimum_spanning_tree(np.array([[0, 1.5], [0, 0]], np.float16), keep_dtype=True)
    assert tree.dtype == np.float32 and tree.toarray().tolist() == [[0, 1.5], [0, 0]]


def test_large_integers_are_compared_exactly_with_their_dtype():
    large = 2**60
    matrix = sparse.csr_array(([large + 2, large + 1, large], ([0, 0, 1], [1, 2, 2])), shape=(3, 3))
    assert minimum_spanning_tree(matrix, keep_dtype=True).data.tolist() == [large + 1, large]


def of_wide_indices(data, columns, offsets):
    n = len(offsets) - 1
    matrix = sparse.csr_array((n, n))
    matrix.data, matrix.indices, matrix.indptr = data, np.array(columns, np.int64), np.array(offsets, np.int64)
    return matrix


@pytest.mark.parametrize("entries", ["few", "none"])
def test_indices_of_64_bits_are_solved_in_one_call(entries, monkeypatch):
    monkeypatch.setattr(mst, "minimum_spanning_forest", no_general_solve)
    matrix = sparse.csr_array(np.array([[0, 2.0, 1], [3, 0, 4], [0, 0, 0]]) * (entries == "few"))
    wide = of_wide_indices(matrix.data, matrix.indices, matrix.indptr)
    assert alike(minimum_spanning_tree(wide), minimum_spanning_tree(matrix))


def test_indices_may_have_16_bits():
    matrix = sparse.csr_array(np.array([[0, 2.0, 1], [0, 0, 4], [0, 0, 0]]))
    narrow = matrix.copy()
    narrow.indices, narrow.indptr = matrix.indices.astype(np.int16), matrix.indptr.astype(np.int16)
    assert alike(minimum_spanning_tree(narrow), minimum_spanning_tree(matrix))


@pytest.mark.parametrize(
    ("offsets", "columns"), [([0, 1, 2], [2**32, 0]), ([0, 1, 2], [1, -(2**32)]), ([0, 2**32 + 1, 2], [1, 0])]
)
def test_indices_that_32_bits_would_make_valid_are_refused(offsets, columns):
    with pytest.raises(InputError, match="damaged"):
        minimum_spanning_tree(of_wide_indices(np.array([1.0, 2.0]), columns, offsets))


def test_csr_arrays_are_not_copied(monkeypatch):
    graphs = []
    solve = mst.minimum_spanning_forest
    monkeypatch.setattr(
        mst, "minimum_spanning_forest", lambda graph, **how: graphs.append(graph) or solve(graph, **how)
    )
    matrix = sparse.csr_array(np.array([[0, 2, 1], [3, 0, 4], [0, 0, 0]], np.float32))
    minimum_spanning_tree(matrix, keep_dtype=True, threads=1)
    assert np.shares_memory(graphs[0].w, matrix.data) and np.shares_memory(graphs[0].v, matrix.indices)
