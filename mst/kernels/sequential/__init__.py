"""Loops of sequential algorithms."""
