"""Edges of generated graphs."""
