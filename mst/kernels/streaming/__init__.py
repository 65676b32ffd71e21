"""Edges of a stream, batch by batch: those that a forest cannot drop, and those that contradict a forest.

The kernels run without Python's lock, so that Python threads run them for several slices of a stream at a time.
"""
