"""Loops and exchanges of algorithms by message passing."""
