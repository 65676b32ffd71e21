"""CUDA C++ building blocks (`*.cuh`, `*.cu`), their loader, and the layout of what they are given."""
