"""Snakemake that polls its jobs every second; unchanged, the executor polls less and less often until a job ends."""

from __future__ import annotations

from snakemake.cli import main
from snakemake_executor_plugin_slurm import Executor

Executor.next_seconds_between_status_checks = property(lambda self: 1, lambda self, seconds: None)

if __name__ == "__main__":
    main()
