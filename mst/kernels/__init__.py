"""Building blocks over plain arrays. They know none of the package's data types and import nothing above them."""

from mst.cores import named_threads

# Before numba is loaded, which has errors of its own for it.
named_threads()
