"""Filtering, batching and joining edges: the kernels that our own algorithms share."""
