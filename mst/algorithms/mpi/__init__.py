"""Algorithms of one paradigm, a file each."""
