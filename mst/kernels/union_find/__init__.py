"""Union-find, sequential and concurrent, and connected components found with it."""
