"""Spanning trees of points: a k-d tree, nearest neighbours, and Borůvka's rounds over both.

One worker is called without numba's thread pool, which a process that was forked after its use must not enter.
"""

# Neighbours that are found for each point before the first round: more of them cost more, and save searches later.
_LISTED = 6
# In a grid, six are at one distance; the next one is farther, which shows that there are no others.
_LISTED_IN_3D = 7


def listed_neighbours(dimensions: int, samples: int) -> int:
    """Return how many neighbours of each point are listed: also those that tell the core distance of `samples`.

    Examples
    --------
    >>> from mst.kernels.points import listed_neighbours
    >>> listed_neighbours(2, 1), listed_neighbours(3, 10)
    (6, 9)
    """
    return max(_LISTED_IN_3D if dimensions == 3 else _LISTED, samples - 1)
