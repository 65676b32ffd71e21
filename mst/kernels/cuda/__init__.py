"""CUDA C++ kernels and their parts (`*.cu`, `*.cuh`), their loader, and the argument of filter-Borůvka's kernels."""
