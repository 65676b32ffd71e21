"""Subcommands of `mst`: one module each, with `HELP`, `configure(parser)` and `run(arguments)`."""
