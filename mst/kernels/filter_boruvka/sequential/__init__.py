"""Filter-Borůvka on one core, step by step."""
