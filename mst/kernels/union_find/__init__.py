"""Union-find, sequential and concurrent, and connected components by it."""
