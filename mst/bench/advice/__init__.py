"""Makes the table of advice by measurements: ``python -m mst.bench.advice``."""
