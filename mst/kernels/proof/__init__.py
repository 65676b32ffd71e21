"""The proof that a forest is minimum: Kruskal's reconstruction tree, maxima on tree paths, and a scan in order."""
