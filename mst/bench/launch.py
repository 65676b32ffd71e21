"""The command that starts ranks: the installed MPI's ``mpiexec``, or the value of ``$MST_MPIEXEC``."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mst.bench.output import output_of
from mst.errors import ConfigError

VARIABLE = "MST_MPIEXEC"
# Addresses of MPICH's UCX netmod fill the longest values that SLURM's pmi2 allows, and it cuts some of them: of
# 104 starts of four ranks on two nodes seven failed or hung, of 40 with libfabric none (MPICH 5.0, SLURM 22.05).
_UNDER_PMI2 = {"MPIR_CVAR_CH4_NETMOD": "ofi"}
_OPEN_MPI_ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


@dataclass(frozen=True)
class Launcher:
    """A program that starts ranks, as the words of its command, and its MPI library: mpich, openmpi or other."""

    words: tuple[str, ...]
    kind: str = "other"


def launch_command(ranks: int, command: Sequence[str], launcher: Launcher) -> tuple[list[str], dict[str, str]]:
    """Return the command line that runs `command` on `ranks` ranks, and variables to add to its environment.

    A launcher's words may contain ``{ranks}``; otherwise ``-n RANKS`` is appended.
    Under SLURM's pmi2, MPICH uses libfabric unless the environment names another netmod.

    >>> launch_command(4, ["python", "job.py"], Launcher(("srun", "--mpi=pmi2")))
    (['srun', '--mpi=pmi2', '-n', '4', 'python', 'job.py'], {'MPIR_CVAR_CH4_NETMOD': 'ofi'})
    >>> launch_command(2, ["job"], Launcher(("mpiexec",), "openmpi"))[0]
    ['mpiexec', '--oversubscribe', '--bind-to', 'none', '-n', '2', 'job']
    """
    words = [word.replace("{ranks}", str(ranks)) for word in launcher.words]
    if not any("{ranks}" in word for word in launcher.words):
        if launcher.kind == "openmpi":
            words += ["--oversubscribe", "--bind-to", "none"]
        words += ["-n", str(ranks)]
    added = _OPEN_MPI_ENVIRONMENT if launcher.kind == "openmpi" else {}
    if "--mpi=pmi2" in words:
        added = {name: value for name, value in _UNDER_PMI2.items() if name not in os.environ}
    return [*words, *command], dict(added)


def find_launcher(environment: Mapping[str, str] = os.environ) -> Launcher | None:
    """Return the launcher of this environment, or None if there is none.

    ``$MST_MPIEXEC`` comes first; then ``mpiexec`` beside the interpreter, from PyPI's MPI packages; then the
    one on the path.

    Raises
    ------
    ConfigError
        ``$MST_MPIEXEC`` names no program.
    """
    if named := environment.get(VARIABLE, "").strip():
        try:
            words = tuple(shlex.split(named))
        except ValueError as error:
            raise ConfigError(f"${VARIABLE}: {error}: {named}") from None
        if shutil.which(words[0], path=environment.get("PATH")) is None:
            raise ConfigError(
                f"${VARIABLE} names {words[0]!r}, which is not on PATH: correct it, or `mpi` in the site"
            )
        is_launcher = Path(words[0]).name.startswith(("mpiexec", "mpirun"))
        return Launcher(words, _kind(words[0]) if is_launcher else "other")
    bundled = Path(sys.executable).parent / "mpiexec"
    found = str(bundled) if bundled.is_file() else shutil.which("mpiexec", path=environment.get("PATH"))
    return Launcher((found,), _kind(found)) if found else None


@cache
def _kind(program: str) -> str:
    """Return the MPI library of a launcher, from the output of ``--version``."""
    said = output_of([program, "--version"], env={**os.environ, **_OPEN_MPI_ENVIRONMENT})
    if "Open MPI" in said or "OpenRTE" in said or "PRRTE" in said:
        return "openmpi"
    return "mpich" if "HYDRA" in said.upper() else "other"
