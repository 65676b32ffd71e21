"""Filter-Borůvka by many workers, threads or the ranks of one host, step by step."""
