"""A drop-in replacement for `scipy.sparse.csgraph.minimum_spanning_tree`.

Examples
--------
>>> from scipy.sparse import csr_array
>>> from mst.csgraph import minimum_spanning_tree
>>> graph = csr_array([[0, 8, 0, 3], [0, 0, 2, 5], [0, 0, 0, 6], [0, 0, 0, 0]])
>>> minimum_spanning_tree(graph).toarray().astype(int)
array([[0, 0, 0, 3],
       [0, 0, 2, 5],
       [0, 0, 0, 0],
       [0, 0, 0, 0]])
"""

from mst.interop.scipy import DtypeError, ShapeError, minimum_spanning_tree

__all__ = ["DtypeError", "ShapeError", "minimum_spanning_tree"]
