"""The SLURM of the tests: it starts, schedules jobs, and leaves no process behind."""

from __future__ import annotations

import psutil
import pytest
import slurm as slurm_of_the_tests

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1800)]


def test_slurm_starts_and_leaves_no_process(tmp_path):
    if reason := slurm_of_the_tests.missing():
        pytest.skip(reason)
    running = slurm_of_the_tests.Slurm(tmp_path / "slurm")
    try:
        running.start()
        pids = [process.pid for process in running.processes.values()]
        assert len(pids) == 4
        running.command("sbatch", "--wrap", "sleep 60", "-o", "/dev/null")
    finally:
        running.stop()
    assert not any(psutil.pid_exists(pid) for pid in pids)
    here = str(tmp_path)
    left = [p.info for p in psutil.process_iter(["cmdline"]) if here in " ".join(p.info["cmdline"] or [])]
    assert not left


def test_slurm_has_two_nodes_and_one_gpu(slurm):
    ranks = slurm.command("srun", "-N2", "-n4", "--ntasks-per-node=2", "printenv", "SLURMD_NODENAME")
    assert sorted(ranks.split()) == ["n1", "n1", "n2", "n2"]
    shown = 'echo "$SLURMD_NODENAME $CUDA_VISIBLE_DEVICES"'
    assert slurm.command("srun", "-p", "gpu", "--gpus=1", "sh", "-c", shown).split() == ["n1", "0"]
    assert slurm.command("srun", "-p", "gpu", "sh", "-c", shown).split() == ["n1"]
