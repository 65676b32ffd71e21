"""Snakemake that asks for its jobs every second: the executor lets more and more time pass while none has ended."""

from __future__ import annotations

from snakemake.cli import main
from snakemake_executor_plugin_slurm import Executor

Executor.next_seconds_between_status_checks = property(lambda self: 1, lambda self, seconds: None)

if __name__ == "__main__":
    main()
