"""Experiments, sites, and the runs that they request."""
