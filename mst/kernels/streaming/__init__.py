"""Edges of a stream, batch by batch: those a forest cannot drop, and those that contradict a forest.

The kernels release the GIL, so that Python threads run them for several slices of a stream at once.
"""
