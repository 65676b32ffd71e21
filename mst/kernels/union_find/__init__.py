"""Union-find, for one thread and for many, and components by it."""
