"""Measurements and proofs on disk: read, checked, compared, packed and merged."""
