"""Galois and Lonestar graphs (``.gr``): compressed sparse rows in little-endian binary.

Version 1 holds four uint64 (``1``, bytes per weight, ``n``, ``arcs``), ``n`` uint64 row ends, ``arcs`` uint32
neighbours padded to 8 bytes, and the weights. Version 2 has uint64 neighbours. A file does not say whether its
weights are integers or floats: they are read as int32 or int64, or as float32 or float64 if the format is named
``galois-float``. https://iss.oden.utexas.edu/?p=projects/galois.
"""

from __future__ import annotations

from typing import IO

import numpy as np

from mst.errors import FormatError, InputError
from mst.formats.arcs import Arcs, check_ends, check_offsets, graph_from_arcs
from mst.formats.base import Format, RawGraph
from mst.formats.source import Source
from mst.graph import Graph

_UINT64 = np.dtype("<u8")


def sniff(source: Source) -> bool:
    """Return whether the version is 1 or 2, and the counts agree with the size of the file."""
    if len(source.head) < 32:
        return False
    version, width, n, arcs = (int(x) for x in np.frombuffer(source.head[:32], _UINT64))
    if version not in (1, 2) or width not in (0, 4, 8):
        return False
    size = 32 + 8 * n + _padded(4 * version * arcs) + width * arcs
    return source.size is None or source.size in (size, size + (-size) % 8)


def _padded(size: int) -> int:
    """Return `size`, a multiple of 4, rounded up to a multiple of 8."""
    return size + size % 8


def read(source: Source) -> RawGraph:
    """Read a graph; each edge occurs once if every arc has its reverse."""
    return _read(source, "galois", {4: "<i4", 8: "<i8"})


def _read_floats(source: Source) -> RawGraph:
    """Read a graph with float weights; each edge occurs once if every arc has its reverse."""
    return _read(source, "galois-float", {4: "<f4", 8: "<f8"})


def _read(source: Source, format: str, dtypes: dict[int, str]) -> RawGraph:
    from mst.kernels.io.adjacency import row_of_each_slot

    version, width, n, arcs = (int(x) for x in source.array(_UINT64, 4, "numbers of the header"))
    if version not in (1, 2):
        raise FormatError(source.path, f"expected version 1 or 2, found {version}")
    if width not in (0, 4, 8):
        raise FormatError(source.path, f"expected weights of 0, 4 or 8 bytes, found {width}")
    ends = source.array(_UINT64, n, "row ends").view(np.int64)
    offsets = np.concatenate([np.zeros(1, np.int64), ends])
    check_offsets(source.path, offsets, arcs)
    v = source.array("<u4" if version == 1 else _UINT64, arcs, "neighbours")
    if version == 1 and arcs % 2:
        source.read(4)
    check_ends(source.path, n, v)
    w = source.array(dtypes[width], arcs, "weights") if width else None
    if (width * arcs) % 8 and not source.at_end():
        source.read(4)
    source.expect_end()
    if w is not None and w.dtype.kind == "f" and np.isnan(w).any():
        raise FormatError(source.path, f"the weight of arc {int(np.argmax(np.isnan(w))):,} is NaN")
    # Below 2³¹, signed and unsigned integers have the same bytes, so no copy is needed.
    id_dtype = np.int32 if version == 1 and n < 2**31 else np.int64
    v = v.view(id_dtype) if v.itemsize == np.dtype(id_dtype).itemsize else v.astype(id_dtype)
    arrays = Arcs(row_of_each_slot(offsets[:n], arcs, id_dtype(0)), v, w)
    return graph_from_arcs(source.path, format, n, arrays, arcs)


def write(sink: IO[bytes], graph: Graph) -> None:
    """Write both arcs of each edge, with weights in the graph's dtype, as version 1 (or 2, from 2³² vertices on).

    Raises
    ------
    InputError
        The weights are floats, which would be read back as integers.
    """
    if graph.w.dtype.kind == "f":
        raise InputError(
            f"galois files do not record that weights are {graph.w.dtype}: name the format galois-float when writing "
            "and reading, or write another format"
        )
    _write(sink, graph)


def _write_floats(sink: IO[bytes], graph: Graph) -> None:
    """Write a graph as `write` does; raise `InputError` for integer weights, which would be read back as floats."""
    if graph.w.dtype.kind != "f":
        raise InputError(f"galois-float files hold float weights, not {graph.w.dtype}: use the format galois")
    _write(sink, graph)


def _write(sink: IO[bytes], graph: Graph) -> None:
    from mst.kernels.io.adjacency import symmetric_rows

    offsets, neighbours, w = symmetric_rows(graph.n, graph.u, graph.v, graph.w)
    version, arcs = (1 if graph.n < 2**32 else 2), len(neighbours)
    sink.write(np.array([version, w.itemsize, graph.n, arcs], _UINT64).tobytes())
    sink.write(offsets[1:].astype(_UINT64).tobytes())
    sink.write(neighbours.astype("<u4" if version == 1 else _UINT64).tobytes())
    if version == 1 and arcs % 2:
        sink.write(bytes(4))
    sink.write(w.astype(w.dtype.newbyteorder("<")).tobytes())


FORMAT = Format("galois", "Galois binary rows, integer weights", (".sgr", ".csgr", ".vgr"), sniff, read, write)
# Only used if named, since nothing in a file distinguishes floats from integers.
FLOAT_FORMAT = Format(
    "galois-float", "Galois binary rows, float weights", (), lambda source: False, _read_floats, _write_floats
)
