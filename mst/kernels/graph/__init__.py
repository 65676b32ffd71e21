"""From an edge list to rows, to a simple graph, to consecutive ids."""
