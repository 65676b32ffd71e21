"""Chooses the algorithm for a graph and the hardware, by the nearest entry in a table of measurements.

``python -m mst.bench.advice`` makes the table (``config/advice.json``, or the file that ``$MST_ADVICE`` names) on one
machine. A *cell* stands for a number of edges, a density, and kinds of weights (`mst.advice.kinds`), which share a cell
unless they change the answer. It holds the time of each candidate, as a geometric mean over graphs. `Table.choose`
finds the nearest cell, and ``algorithm="auto"`` runs its fastest candidate that supports the graph.

A candidate is named ``algorithm[options]@place``. The place is a number of cores; ``gpu``, if the graph is copied from
host memory to the device and the forest back; or ``device``, if the graph is on the device and the forest stays there.
"""

from mst.advice.best import is_for_one_core, measured_best, table
from mst.advice.candidates import FALLBACK, FALLBACK_ON_DEVICE, OURS_ON_GPU, Candidate, Choice, for_one_solve
from mst.advice.cells import HOPELESS, INSPECTION, Table

__all__ = [
    "FALLBACK",
    "FALLBACK_ON_DEVICE",
    "HOPELESS",
    "INSPECTION",
    "OURS_ON_GPU",
    "Candidate",
    "Choice",
    "Table",
    "for_one_solve",
    "is_for_one_core",
    "measured_best",
    "table",
]
