"""Plan, run, measure, record and compare."""
