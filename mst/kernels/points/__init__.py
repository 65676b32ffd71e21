"""Spanning trees of points: a k-d tree, nearest neighbours, and Borůvka's rounds over both.

A single worker is called without numba's thread pool: a process that was forked after the pool was used must not
enter it.
"""

# Neighbours found for each point before the first round: more take longer to find, but save searches later.
_LISTED = 6
# In a grid, six neighbours have the same distance; a seventh, which is farther, shows that these are all.
_LISTED_IN_3D = 7


def listed_neighbours(dimensions: int, samples: int) -> int:
    """Return how many neighbours of each point to list: at least enough for core distances that count `samples` points.

    Examples
    --------
    >>> from mst.kernels.points import listed_neighbours
    >>> listed_neighbours(2, 1), listed_neighbours(3, 10)
    (6, 9)
    """
    return max(_LISTED_IN_3D if dimensions == 3 else _LISTED, samples - 1)
