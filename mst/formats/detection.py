"""The list of formats, and finding one by the content of a file, by its id, or by the suffix of a name."""

from __future__ import annotations

import contextlib
from pathlib import Path

from mst import atomic
from mst.errors import ConfigError, FormatError, InputError, nearest
from mst.formats import (
    bhargava_zaia,
    canonical,
    dimacs,
    ecl,
    edges,
    galois,
    gbbs,
    headed,
    matrix,
    matrix_market,
    metis,
    npz,
    pbbs,
    steinlib,
    tntp,
    tsplib,
)
from mst.formats.base import Format
from mst.formats.source import PARQUET_SIGNATURE, Source, strip_compression
from mst.formats.text import decoded

# In the order of detection, from distinctive first bytes to plain rows of numbers.
FORMATS: dict[str, Format] = {
    known.id: known
    for known in (
        canonical.FORMAT,
        npz.FORMAT,
        galois.FORMAT,
        galois.FLOAT_FORMAT,
        ecl.FORMAT,
        bhargava_zaia.FORMAT,
        matrix_market.FORMAT,
        pbbs.FORMAT,
        gbbs.FORMAT,
        dimacs.FORMAT,
        steinlib.FORMAT,
        tntp.FORMAT,
        tsplib.FORMAT,
        metis.FORMAT,
        matrix.FORMAT,
        headed.FORMAT,
        edges.FORMAT,
        edges.CSV_FORMAT,
    )
}
"""All formats by id."""


def format_of(source: Source) -> Format:
    """Return the format of a file by its content, or, if that is unknown, by its name."""
    if source.head_complete and not source.head.strip():
        raise FormatError(source.path, "the file is empty: expected a graph")
    for candidate in FORMATS.values():
        if candidate.sniff(source):
            if candidate is edges.FORMAT and source.name.lower().endswith(matrix_market.FORMAT.suffixes):
                raise FormatError(
                    source.path,
                    "a Matrix Market file begins with %%MatrixMarket, without which its size is read as an edge: add "
                    "that line, or say format=edges (--format edges) if this is an edge list",
                    line=1,
                )
            return candidate
    if source.head.startswith(PARQUET_SIGNATURE):
        raise FormatError(
            source.path,
            "only mst solve and mst verify read Parquet files, and not from a pipe: in Python, pass a pyarrow.dataset "
            "or a table",
        )
    for candidate in FORMATS.values():
        # The reader reports the first line that violates the format. Edge lists may have any words in line 1.
        if candidate not in (edges.FORMAT, edges.CSV_FORMAT) and source.name.lower().endswith(
            candidate.suffixes
        ):
            return candidate
    if edges.has_names(source):
        return edges.FORMAT  # whose reader reports that names are not ids
    raise FormatError(
        source.path,
        f"unknown format: convert the file to one of {', '.join(FORMATS)}; if it is in one of these, "
        "say which with format=…, or --format (convert: --from)",
        text=decoded(source.head.split(b"\n")[0]),
    )


def format_named(format: str) -> Format:
    """Return a format by its id, or by a suffix that no other format has, such as ``mtx``."""
    found = FORMATS.get(format) if isinstance(format, str) else None
    if found is None:
        of_suffix = [known for known in FORMATS.values() if f".{format}".lower() in known.suffixes]
        if len(of_suffix) != 1:
            raise ConfigError(
                f"no file format {format!r}{nearest(str(format), FORMATS)}; the formats are {', '.join(FORMATS)}"
            )
        found = of_suffix[0]
    return found


def format_by_suffix(path: Path) -> Format:
    """Return the format in which to write a file, by its suffix; a pipe or device without one gets an edge list."""
    name = strip_compression(path.name).lower()
    for candidate in FORMATS.values():
        if candidate.writable and name.endswith(candidate.suffixes):
            return candidate
    with contextlib.suppress(OSError):
        if atomic.is_stream(path):
            return edges.FORMAT
    suffixes = dict.fromkeys(end for known in FORMATS.values() if known.writable for end in known.suffixes[:1])
    raise InputError(
        f"{path}: no format that can be written has this suffix: use {', '.join(suffixes)}, optionally followed by the "
        "suffix of a compression; mst solve also writes .parquet; elsewhere, a format can be named: "
        f"{', '.join(writable_formats())}"
    )


def writable_formats() -> list[str]:
    """Return the ids of the formats that can be written."""
    return [candidate.id for candidate in FORMATS.values() if candidate.writable]
