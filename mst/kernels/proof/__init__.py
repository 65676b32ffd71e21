"""That a forest is minimum: Kruskal's reconstruction tree, maxima on tree paths, and a second scan in order."""
