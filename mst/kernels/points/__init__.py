"""Spanning trees of points: a k-d tree, nearest neighbours, and Borůvka's rounds over both.

One worker is called without numba's thread pool, which a process that was forked after its use must not enter.
"""
