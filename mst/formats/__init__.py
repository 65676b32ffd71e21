"""One file per file format: read and write."""
