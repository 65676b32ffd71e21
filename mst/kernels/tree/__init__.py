"""Queries of a spanning forest: merges of clusters, labels, bottlenecks, paths, and new edges."""
