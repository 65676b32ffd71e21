"""Kernels of the sequential Kruskal algorithms: their scan, and the partition of quicksort."""
