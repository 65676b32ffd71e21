"""Loops of the published algorithms for many threads."""
