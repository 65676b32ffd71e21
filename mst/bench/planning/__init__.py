"""Experiments, sites, and the runs they request."""
