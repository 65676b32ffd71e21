"""Shared by the drivers of Filter-Borůvka with many workers: threads, or the ranks of a host.

The rules and constants are in `mst.kernels.filter_boruvka.policy`, below the proof, which also follows them.
"""
