"""Subcommands of `mst`: one module each.

Each has `HELP`, its line in the list of commands; `configure`, which declares its arguments; and `run`, which returns
the exit status.
"""
