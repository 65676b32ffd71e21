"""Kernels of `mst.streaming`: they find the edges of a batch that may belong to the forest, or that contradict it.

The kernels release the GIL, so that Python threads run them for several slices of a stream at once.
"""
