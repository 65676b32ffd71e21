"""The algorithm that suits a graph and the hardware: a table of measurements, and the nearest entry in it.

The table (``config/advice.json``, or the file that ``$MST_ADVICE`` names) is made by ``python -m mst.bench.advice`` on
one machine. A *cell* has a number of edges, a density, and the kinds of weights that it was measured with
(`mst.advice.kinds`). It holds the time of each candidate, as a geometric mean over graphs. Kinds share a cell unless
they change the answer. `Table.choose` takes the nearest cell, and ``algorithm="auto"`` its fastest candidate that
accepts the graph.

A candidate is named ``algorithm[options]@place``. The place is a number of cores; ``gpu``, where the graph is in
host memory and is copied to the device and the forest back; or ``device``, where the graph is on the device and the
forest stays there.
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
