"""Paths in forests, and the comparison of every edge with them."""
