"""Reading and writing graph files: one module per format.

The format of a file to read is detected from its content; that of a file to write is chosen by its name.

Examples
--------
>>> import pathlib, tempfile
>>> from mst import Graph, formats
>>> with tempfile.TemporaryDirectory() as folder:
...     file = pathlib.Path(folder, "triangle.gr.gz")
...     formats.write(file, Graph(3, [0, 1, 2], [1, 2, 0], [5, 7, 6]))
...     formats.detect(file), formats.read(file).w.tolist()
('dimacs', [5, 7, 6])
"""

from mst.formats.base import FileSummary, Format, RawGraph, RawStream
from mst.formats.detection import FORMATS
from mst.formats.files import check_target, detect, file_path, open_stream, read, read_raw, write

__all__ = [
    "FORMATS",
    "FileSummary",
    "Format",
    "RawGraph",
    "RawStream",
    "check_target",
    "detect",
    "file_path",
    "open_stream",
    "read",
    "read_raw",
    "write",
]
