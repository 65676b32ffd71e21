"""Arrays of other libraries in, arrays of the same libraries out."""

from __future__ import annotations

import copy
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import mst
from mst import Graph, InputError, UnsupportedError
from mst.arrays import as_numpy, contiguous, importer, is_on_device
from mst.interop import device

EDGES = (0, 1, 2, 0), (1, 2, 0, 3), (5.0, 7.0, 6.0, 8.0)


class Tensor:
    """A tensor of a library that follows DLPack and refuses what PyTorch refuses."""

    __module__ = "standin.tensors"

    def __init__(self, array, gradient=False, place=(1, 0)):
        self.array, self.gradient, self.place = np.asarray(array), gradient, place

    def detach(self):
        return Tensor(self.array, place=self.place)

    def __getitem__(self, ids):
        assert isinstance(ids, Tensor)
        return Tensor(self.array[ids.array], self.gradient, self.place)

    def __len__(self):
        return len(self.array)

    def tolist(self):
        return self.array.tolist()

    def __dlpack_device__(self):
        if self.place == "meta":
            raise ValueError("Unknown device type meta for Dlpack")
        return self.place

    def __dlpack__(self, **how):
        if self.gradient:
            raise BufferError("Can't export tensors that require gradient")
        if self.place == "meta":
            raise RuntimeError("no data on meta")
        return self.array.__dlpack__(**how)


@pytest.fixture(autouse=True)
def standin(monkeypatch):
    library = ModuleType("standin")
    library.from_dlpack = lambda exported: Tensor(np.from_dlpack(exported))
    monkeypatch.setitem(sys.modules, "standin", library)


def tensors():
    return [Tensor(np.array(column)) for column in EDGES]


def test_a_graph_of_tensors_has_a_forest_of_tensors():
    u, v, w = tensors()
    plain = mst.minimum_spanning_forest((4, *EDGES))
    forest = mst.minimum_spanning_forest((4, u, v, w))
    assert isinstance(forest.edge_ids, Tensor) and forest.edge_ids.tolist() == [0, 2, 3]
    for ours, theirs in zip(forest.edges(), plain.edges()):
        assert isinstance(ours, Tensor) and ours.tolist() == theirs.tolist()
    for name, arguments in (("labels", {"k": 2}), ("linkage", {}), ("bottleneck", {"x": [0], "y": u[u]})):
        ours, theirs = (getattr(f, name)(**arguments) for f in (forest, forest.forest))
        assert isinstance(ours, Tensor) and ours.tolist() == theirs.tolist()
    assert all(isinstance(part, Tensor) for part in forest.paths(0, 2))
    assert (forest.weight, forest.components, len(forest), forest.is_unique()) == (19.0, 1, 3, True)
    assert repr(forest) == repr(plain) and forest.digest == plain.digest
    assert set(dir(plain)) <= set(dir(forest)), "an interactive shell completes them"
    heaviest = mst.minimum_spanning_forest((4, u, v, w), maximum=True)
    assert isinstance(heaviest.edge_ids, Tensor) and heaviest.weight == 21.0


def test_edges_are_rows_of_the_tensors_themselves():
    u, v, w = Tensor(np.array(EDGES[0], np.int64)), EDGES[1], Tensor(np.array(EDGES[2]), gradient=True)
    ends, others, weights = mst.minimum_spanning_forest((4, u, v, w)).edges()
    assert ends.array.dtype == np.int64 and weights.gradient
    assert isinstance(others, Tensor) and others.tolist() == [1, 0, 3]


@pytest.mark.slow
def test_more_edges_and_points_of_tensors_have_forests_of_tensors():
    forest = mst.minimum_spanning_forest((4, *tensors()))
    added = forest.add_edges(Tensor([1]), Tensor([3]), Tensor([0.5], gradient=True))
    assert isinstance(added.edge_ids, Tensor) and added.weight == 11.5
    tree = mst.from_points(Tensor(np.array([[0.0], [3.0], [1.0]]), gradient=True), threads=1)
    assert all(isinstance(column, Tensor) for column in tree.edges()) and tree.weight == 3.0
    assert isinstance(mst.from_points([[0.0], [3.0]], threads=1), mst.Forest)


def test_forests_of_tensors_can_be_copied_and_have_no_other_attributes():
    forest = mst.minimum_spanning_forest((4, *tensors()))
    assert copy.copy(forest).edge_ids.tolist() == [0, 2, 3]
    with pytest.raises(AttributeError, match="nothing"):
        forest.nothing  # noqa: B018


def test_arrays_of_libraries_without_an_import_give_numpys(monkeypatch):
    monkeypatch.delitem(sys.modules, "standin")
    forest = mst.minimum_spanning_forest((4, *tensors()))
    assert type(forest) is mst.Forest and type(forest.edge_ids) is np.ndarray


def test_the_namespace_of_the_array_standard_counts():
    class Standard(Tensor):
        __module__ = "elsewhere"

        def __array_namespace__(self):
            return SimpleNamespace(from_dlpack=from_dlpack)

    def from_dlpack(exported):
        return Standard(np.from_dlpack(exported))

    forest = mst.minimum_spanning_forest((4, *EDGES[:2], Standard(np.array(EDGES[2]))))
    assert type(forest.edge_ids) is Standard and type(forest.edges()[2]) is Tensor


@pytest.mark.parametrize("field", range(4))
def test_tensors_that_cannot_be_read_are_refused_by_name(field):
    graph = [4, *tensors()]
    graph[field] = Tensor(np.array(graph[field]) if field == 0 else graph[field].array, place="meta")
    with pytest.raises(InputError, match=f"{'nuvw'[field]} is not an array of numbers: no data on meta"):
        mst.minimum_spanning_forest(tuple(graph))


def test_tensors_that_cannot_be_read_are_refused_in_other_calls():
    nowhere = Tensor([0], place="meta")
    forest = mst.minimum_spanning_forest((4, *tensors()))
    for call in (
        lambda: mst.from_points(nowhere),
        lambda: forest.add_edges([0], [1], nowhere),
        lambda: forest.bottleneck(nowhere, 1),
        lambda: mst.minimum_spanning_forest([([0], [1], nowhere)]),
        lambda: mst.Forest(Graph(2, [0], [1], [1]), nowhere),
        lambda: Graph(2, nowhere, [1], [1]),
        lambda: Graph(2, [0], [1], nowhere),
    ):
        with pytest.raises(InputError, match="no data on meta"):
            call()


def test_lack_of_memory_is_no_wrong_argument():
    class Large:
        def __array__(self, *_, **__):
            raise MemoryError

    with pytest.raises(MemoryError):
        as_numpy(Large(), "X")


def test_error_of_a_thread_that_copies_is_raised(monkeypatch):
    def copyto(*_, **__):
        raise MemoryError

    monkeypatch.setattr(np, "copyto", copyto)
    with pytest.raises(MemoryError):
        contiguous(np.arange(6)[::2], np.dtype(np.float32), 2)


@pytest.mark.parametrize("kind, expected", [(1, False), (2, True), (3, False), (13, True)])
def test_memory_of_cuda_is_on_a_device(kind, expected):
    assert is_on_device(Tensor([0], place=(kind, 0))) is expected


def test_arrays_of_numpys_namespace_give_numpys():
    array = SimpleNamespace(__dlpack__=None, __array_namespace__=lambda: np)
    assert importer([array]) is None


def test_graph_takes_tensors_with_gradients():
    u, v, w = tensors()
    assert Graph(4, u, v, Tensor(w.array, gradient=True)).w.tolist() == w.tolist()


def test_batches_of_tensors_may_be_filled_again():
    u, v, w = tensors()

    def batches():
        for weight in (9.0, 4.0):
            w.array[:] = weight
            yield u, v, w

    forest = mst.minimum_spanning_forest(batches())
    assert forest.edge_ids.tolist() == [4, 5, 7] and forest.weight == 12.0


def test_tensors_on_a_device_have_a_forest_of_tensors(monkeypatch):
    u, v, w = (Tensor(np.array(column), place=(2, 0)) for column in ((0, 1, 2), (1, 2, 0), (5, 7, 6)))
    w.gradient = True
    # NumPy in place of CuPy, and its Kruskal in place of a kernel.
    monkeypatch.setattr(device, "_cupy", lambda: np)
    monkeypatch.setattr(
        device,
        "device_graph",
        lambda n, *columns: SimpleNamespace(n=n, **dict(zip("uvw", (c.array for c in columns)))),
    )
    monkeypatch.setattr(device, "execute", lambda *_, **__: SimpleNamespace(result=np.array([2, 0])))
    monkeypatch.setattr(device, "implementation_of", lambda _: SimpleNamespace(edge_ids=lambda found: found))
    forest = mst.minimum_spanning_forest((3, u, v, w), algorithm="ecl-mst-cuda")
    assert isinstance(forest, device.DeviceForest) and isinstance(forest.edge_ids, Tensor)
    assert forest.edge_ids.tolist() == [0, 2] and forest.components == 1
    assert [type(column) for column in forest.edges()] == [Tensor] * 3 and forest.edges()[2].gradient
    with pytest.raises(UnsupportedError, match="negate"):
        mst.minimum_spanning_forest((3, u, v, w), maximum=True)


def test_pytorch():
    torch = pytest.importorskip("torch")
    u, v = torch.tensor([0, 1, 2]), torch.tensor([1, 2, 0])
    w = torch.tensor([5.0, 7.0, 6.0], requires_grad=True)
    forest = mst.minimum_spanning_forest((3, u, v, w))
    assert isinstance(forest.edge_ids, torch.Tensor) and forest.edge_ids.tolist() == [0, 2]
    assert [column.dtype for column in forest.edges()] == [torch.int64, torch.int64, torch.float32]
    forest.edges()[2].sum().backward()
    assert w.grad.tolist() == [1.0, 0.0, 1.0]
    assert isinstance(forest.labels(k=2), torch.Tensor)
    for weights in (w.to("meta"), w.bfloat16(), w.to_sparse(), torch._neg_view(w)):
        with pytest.raises(InputError, match="w is not an array of numbers"):
            mst.minimum_spanning_forest((3, u, v, weights))
    with pytest.raises(InputError, match="X is not an array of numbers"):
        mst.from_points(torch.zeros(3, 2, device="meta"))
