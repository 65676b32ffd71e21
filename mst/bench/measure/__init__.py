"""Measuring: fresh pinned processes, their samples, and the machine around them."""
