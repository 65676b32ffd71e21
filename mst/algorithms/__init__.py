"""One file per algorithm, found by `mst.registry` without being imported."""
