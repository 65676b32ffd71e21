"""Builds the table of advice from measurements: ``python -m mst.bench.advice``."""
