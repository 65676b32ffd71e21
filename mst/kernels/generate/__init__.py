"""Kernels of the graph generators: they fill arrays of packed pairs of vertices (``u << 32 | v``)."""
