"""Code that several drivers of Filter-Borůvka share: of threads, of the ranks of a host, and partly of one core.

The rules and constants are in `mst.kernels.filter_boruvka.policy`, where the proof can also use them.
"""
