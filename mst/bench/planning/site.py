"""The machines that runs are measured on: the one at hand, or the nodes of a cluster as its site describes them.

Nothing is measured on a cluster's login node, so the site file beside the workflow's cluster profile describes the
compute nodes. Profiles of known hardware, such as that of the source papers, are in ``config/machines/``; sites and
experiments name them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field, PositiveInt, field_validator, model_validator

from mst import registry
from mst.bench.machine import Hardware
from mst.errors import ConfigError, nearest
from mst.names import MACHINE
from mst.resources import path as resource
from mst.yaml_models import StrictModel, parse, read_yaml

Paradigm = Literal[registry.PARADIGMS]  # type: ignore[valid-type]
Widths = Annotated[list[PositiveInt], Field(min_length=1)]


class HardwareProfile(StrictModel):
    """A profile of ``config/machines/``: a machine's hardware, and the widths measured on it.

    Facts not stated by its source are omitted.
    """

    title: str
    source: str = Field("", description="publication that describes it")
    cpu: str = ""
    sockets: int = Field(1, ge=1)
    cores: int | None = Field(None, ge=1, description="physical cores of one node")
    hardware_threads: int | None = Field(None, ge=1, description="of one node; default: one per core")
    memory_gib: int | None = Field(None, ge=1, description="of one node")
    gpus: list[str] = Field(default_factory=list, description="CUDA devices of one node, by name")
    driver: str | None = None
    nodes: int = Field(1, ge=1)
    widths: dict[Paradigm, Widths] = Field(default_factory=dict, description="threads, ranks or GPUs")


def hardware_profile(name: str) -> HardwareProfile:
    """Return a profile of ``config/machines/``, or raise `ConfigError` with the nearest known one.

    >>> hardware_profile("shou-he-cpu").widths["threads"]
    [1, 2, 4, 8, 16, 32, 64, 128]
    """
    known = {file.stem: file for file in sorted(resource("config/machines").glob("*.yaml"))}
    if name not in known:
        hint = f"{nearest(name, known)}; it has: {', '.join(known)}"
        raise ConfigError(f"no machine {name!r} in config/machines{hint}")
    return parse(HardwareProfile, read_yaml(known[name]), str(known[name]))


class Queue(StrictModel):
    """Resources besides processors that a job requests; None leaves one to the scheduler."""

    partition: str | None = Field(None, description="as for sbatch --partition")
    account: str | None = Field(None, description="as for sbatch --account")
    qos: str | None = Field(None, description="as for sbatch --qos")
    constraint: str | None = Field(None, description="as for sbatch --constraint")
    memory: float | None = Field(None, gt=0, description="GiB of each node that a job may hold")
    time: int = Field(60, ge=1, description="minutes after which the scheduler ends a job")
    extra: str = Field("", description="further options of sbatch, passed on unchanged")
    modules: list[str] = Field(default_factory=list, description="loaded with --sdm env-modules")

    def resources(self) -> dict[str, str | int | None]:
        """Return the resources by the names of Snakemake's SLURM executor, which omits those that are None."""
        return {
            "slurm_partition": self.partition,
            "slurm_account": self.account,
            "qos": self.qos,
            "constraint": self.constraint,
            # The engine accepts no None here; without a memory request, the executor asks for none.
            "mem_mb": round(self.memory * 1024) if self.memory else 0,
            "runtime": self.time,
            "slurm_extra": self.extra or None,
            # Runs that share a job of the scheduler take turns in it.
            "turn": 1,
        }


class Work(Queue):
    """Jobs that are not timed: references, proofs, the report, and graphs where nodes reach the network."""

    cpus: int = Field(2, ge=1, description="processors of each job")
    graphs: bool = Field(False, description="fetch and generate graphs in jobs, too, not on the login node")


class Node(Queue):
    """One kind of compute node, and the algorithms that run there: a machine of the results."""

    machine: str = Field(pattern=f"^{MACHINE}$", description="its name in the results")
    runs: list[str] = Field(description="paradigms, or ids of algorithms, that are measured here")
    hardware: str | None = Field(None, description="a profile of config/machines/ for keys that are not given")
    cpus: int = Field(0, ge=0, description="processors of one node, as sinfo -o %c counts them")
    threads_per_core: int = Field(
        1, ge=1, description="processors that share a core; sinfo -o %z: the last number"
    )
    gpus: int = Field(0, ge=0, description="of one node")
    gpu_model: str | None = Field(None, description="as the scheduler spells it, where it has several")
    nodes: int = Field(1, ge=1, description="most nodes of one MPI run")
    exclusive: bool = Field(True, description="no other job on a node while something is timed there")
    mpi: str = Field("srun --mpi=pmi2", description="command that starts ranks")

    @model_validator(mode="before")
    @classmethod
    def _fill_from_profile(cls, value: Any) -> Any:
        if not isinstance(value, dict) or not isinstance(value.get("hardware"), str):
            return value
        known = hardware_profile(value["hardware"])
        filled: dict[str, Any] = {"gpus": len(known.gpus), "nodes": known.nodes}
        if known.cores:
            threads = known.hardware_threads or known.cores
            filled |= {"cpus": threads, "threads_per_core": threads // known.cores}
        return {**filled, **value}

    @model_validator(mode="after")
    def _check_cpus(self) -> Node:
        if not self.cpus:
            raise ValueError("give the cpus of a node, or name its hardware")
        if self.cpus % self.threads_per_core:
            raise ValueError(
                f"cpus: {self.cpus} is not a multiple of threads_per_core: {self.threads_per_core}"
            )
        return self

    @field_validator("runs")
    @classmethod
    def _check_runs(cls, value: list[str]) -> list[str]:
        known = [*registry.PARADIGMS, *registry.algorithms()]
        for name in value:
            if name not in known:
                raise ValueError(f"no paradigm or algorithm {name!r}{nearest(name, known)}")
        return value

    @property
    def cores(self) -> int:
        """Physical cores of one node."""
        return self.cpus // self.threads_per_core

    def declared(self) -> Hardware:
        """Return this kind of node as the site describes it; records hold the hardware that their jobs found."""
        known = hardware_profile(self.hardware) if self.hardware else HardwareProfile(title="")
        memory = round(self.memory or known.memory_gib or 0)
        gpus = tuple((known.gpus + ["GPU"] * self.gpus)[: self.gpus])
        return Hardware(known.cpu, known.sockets, self.cores, self.cpus, memory, gpus)

    def run_resources(self, paradigm: str, width: int) -> dict[str, str | int | None]:
        """Return the resources of a timed run: exactly its GPUs or ranks, and exclusive nodes."""
        exclusive = "--exclusive" if self.exclusive else ""
        asked: dict[str, str | int | None] = {
            **self.resources(),
            "slurm_extra": " ".join(filter(None, [exclusive, self.extra])) or None,
            **dict.fromkeys(("gpu", "gpu_model", "nodes", "tasks", "mpi")),
        }
        if self.gpus and paradigm in ("cuda", "peer"):
            asked |= {"gpu": width, "gpu_model": self.gpu_model}
        if paradigm == "mpi" and width > 1:
            nodes, on_each = self.layout(width) or (1, width)
            spread = f"--nodes={nodes} --ntasks-per-node={on_each} --cpus-per-task={self.threads_per_core}"
            asked |= {"nodes": nodes, "tasks": width, "mpi": f"{self.mpi} {spread}"}
        return asked

    def run_cpus(self, paradigm: str, width: int) -> int:
        """Return the processors per task of a timed run."""
        return self.threads_per_core if paradigm == "mpi" and width > 1 else self.cpus

    def layout(self, ranks: int) -> tuple[int, int] | None:
        """Return the fewest nodes, and ranks on each, that hold `ranks` evenly, one to a core; None if none do."""
        for nodes in range(1, self.nodes + 1):
            if ranks % nodes == 0 and ranks // nodes <= self.cores:
                return nodes, ranks // nodes
        return None


class Site(StrictModel):
    """A cluster: its kinds of nodes, and how to request them."""

    scratch: str | None = Field(None, description="node-local folder for compiled code")
    work: Work = Field(Work(), description="the resources of jobs that are not timed")
    nodes: dict[str, Node] = Field(min_length=1, description="kinds of compute nodes, by any names")

    @field_validator("nodes")
    @classmethod
    def _check_machines(cls, value: dict[str, Node]) -> dict[str, Node]:
        names = [node.machine for node in value.values()]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two kinds of nodes are called {name!r}: each machine needs a different name")
        return value

    def node(self, machine: str) -> Node:
        """Return the kind of node named `machine` in the results."""
        return next(node for node in self.nodes.values() if node.machine == machine)


@dataclass(frozen=True)
class Machine:
    """A machine that runs are planned for: its name in the results, its hardware, and how to request it.

    The machine at hand has no `node`.
    """

    name: str
    hardware: Hardware
    node: Node | None = None

    def cores(self, paradigm: str) -> int:
        """Return the cores available to a run of this paradigm: a node's, or all nodes' for MPI."""
        return self.hardware.cores * (self.node.nodes if self.node and paradigm == "mpi" else 1)

    def layout(self, paradigm: str, width: int) -> str:
        """Return the placement of ranks on nodes, as ``<nodes>x<ranks on each>``; empty if there is no choice."""
        spread = self.node.layout(width) if self.node and paradigm == "mpi" else None
        return f"{spread[0]}x{spread[1]}" if spread else ""

    def takes(self, algorithm: registry.Algorithm) -> bool:
        """Return whether this algorithm is measured here."""
        return self.node is None or algorithm.paradigm in self.node.runs or algorithm.id in self.node.runs
