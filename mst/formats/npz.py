"""SciPy's sparse matrices (``scipy.sparse.save_npz``): every stored entry is an edge, including explicit zeros.

Matrices in csr, csc and coo format are read without SciPy. As in SciPy, values stored for the same entry are added up.
A symmetric matrix is read as a graph that has each edge once; otherwise, every entry is an edge.
"""

from __future__ import annotations

import math
import zipfile
import zlib
from typing import Any

import numpy as np

from mst.arrays import first_of_runs
from mst.errors import FormatError
from mst.formats.arcs import Arcs, check_offsets, graph_from_arcs
from mst.formats.base import Format, RawGraph
from mst.formats.source import Source

_POSITIONS = {"coo": ("row", "col"), "csr": ("indices", "indptr"), "csc": ("indices", "indptr")}
_MOST_EXPANSION = 1200
"""The most bytes that a byte of a member can expand to; with deflate, it is 1032."""

_READ_ERRORS = (
    OSError,
    ValueError,
    EOFError,
    KeyError,
    NotImplementedError,
    RuntimeError,
    zipfile.BadZipFile,
    zlib.error,
)


def sniff(source: Source) -> bool:
    """Return whether this is a zip archive whose first file is a NumPy array."""
    return source.head.startswith(b"PK\x03\x04") and b".npy" in source.head[:4096]


def read(source: Source) -> RawGraph:
    """Read a matrix."""
    from mst.kernels.io.adjacency import row_of_each_slot

    if not source.plain:
        raise FormatError(source.path, "an npz file is compressed inside: decompress the outer layer first")
    arrays = _arrays(source, ("format", "shape", "data"))
    kind = arrays["format"].tobytes().replace(b"\0", b"").decode(errors="replace")
    arrays |= _arrays(source, _POSITIONS.get(kind, ()))
    n = _vertex_count(source, arrays)
    w = _weights(source, arrays["data"])
    if kind == "coo":
        u, v = (_ids(source, arrays, key, len(w)) for key in _POSITIONS[kind])
    elif kind in ("csr", "csc"):
        v = _ids(source, arrays, "indices", len(w))
        offsets = _ids(source, arrays, "indptr", n + 1)
        check_offsets(source.path, offsets, len(v))
        u = row_of_each_slot(offsets[:n], len(v), np.int32(0) if n < 2**31 else np.int64(0))
    else:
        raise FormatError(source.path, f"expected a csr, csc or coo matrix, found {kind}: save it as csr")
    return graph_from_arcs(source.path, "npz", n, _sum_duplicates(u, v, w), declared_m=len(w))


def _sum_duplicates(u: np.ndarray, v: np.ndarray, w: np.ndarray) -> Arcs:
    """Add up values at the same position; if positions strictly ascend, none is stored twice."""
    same = u[1:] == u[:-1]
    if not ((u[1:] < u[:-1]) | (same & (v[1:] <= v[:-1]))).any():
        return Arcs(u, v, w)
    permutation = np.lexsort((v, u))
    u, v, w = u[permutation], v[permutation], w[permutation]
    first = np.flatnonzero(first_of_runs(u) | first_of_runs(v))
    return Arcs(u[first], v[first], np.add.reduceat(w, first, dtype=w.dtype))


def _arrays(source: Source, names: tuple[str, ...]) -> dict[str, np.ndarray]:
    """Return the named members as arrays, without reading others."""
    try:
        with zipfile.ZipFile(source.path) as archive:
            missing = [name for name in names if f"{name}.npy" not in archive.namelist()]
            if not missing:
                return {name: _member(archive, f"{name}.npy") for name in names}
    except _READ_ERRORS as error:
        raise FormatError(source.path, f"expected a matrix of scipy.sparse.save_npz: {error}") from error
    raise FormatError(source.path, f"expected a matrix of scipy.sparse.save_npz; it lacks {', '.join(missing)}")


def _member(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    """Return an array, after a check that its declared size matches the member's, and is possible for its bytes."""
    info = archive.getinfo(name)
    with archive.open(info) as stream:
        version = np.lib.format.read_magic(stream)
        header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        try:
            shape, _, dtype = header[version](stream)
        except MemoryError:
            raise
        except Exception as error:  # from Python's parser, or from NumPy for a literal of the wrong type
            raise ValueError(f"{name} has no valid header: {error}") from error
        declared = stream.tell() + math.prod(shape) * dtype.itemsize
    if declared != info.file_size or declared > _MOST_EXPANSION * (info.compress_size + 1):
        raise ValueError(f"{name} declares {declared:,} bytes, which is not its size")
    with archive.open(info) as stream:
        return np.lib.format.read_array(stream, allow_pickle=False)


def _vertex_count(source: Source, arrays: dict[str, np.ndarray]) -> int:
    shape = arrays["shape"].ravel().tolist()
    if len(shape) != 2 or shape[0] != shape[1] or not isinstance(shape[0], int) or shape[0] < 0:
        raise FormatError(source.path, f"expected a square matrix, found shape {tuple(shape)}")
    return shape[0]


def _ids(source: Source, arrays: dict[str, np.ndarray], key: str, count: int) -> np.ndarray:
    array: Any = arrays.get(key)
    if array is None or array.dtype.kind not in "iu" or array.shape != (count,):
        raise FormatError(source.path, f"expected {count:,} integers in {key!r}: the file is damaged")
    return array.astype(np.int32 if array.dtype == np.int32 else np.int64, copy=False)


def _weights(source: Source, data: np.ndarray) -> np.ndarray:
    if data.ndim != 1 or data.dtype.kind not in "biuf" or data.dtype.itemsize > 8:
        raise FormatError(
            source.path,
            f"expected a one-dimensional array of real numbers, found {data.dtype} of shape {data.shape}",
        )
    if data.dtype.kind == "f" and np.isnan(data).any():
        raise FormatError(source.path, f"stored entry {int(np.argmax(np.isnan(data))):,} is NaN")
    return data.astype(data.dtype.newbyteorder("="), copy=False)


FORMAT = Format("npz", "SciPy sparse matrix", (".npz",), sniff, read)
