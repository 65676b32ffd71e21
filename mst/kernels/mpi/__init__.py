"""Loops and exchanges of message-passing algorithms."""
