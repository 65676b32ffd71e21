"""The command line's commands, a module each: `HELP`, `configure(parser)` and `run(args) -> exit code`.

Modules import what is heavy inside `run`, so that ``mst --help`` stays quick.
"""
