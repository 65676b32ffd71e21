"""Experiments, sites, and the runs that they ask for."""
