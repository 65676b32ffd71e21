"""An experiment: its graphs, algorithms, options and widths, and how long they are measured."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, FiniteFloat, field_validator, model_validator

from mst import registry
from mst.bench.planning.site import Widths, hardware_profile
from mst.errors import ConfigError, nearest
from mst.yaml_models import StrictModel, parse, read_yaml

Scalar = bool | int | float | str


class Measure(StrictModel):
    """Processes, samples and limits of a run."""

    processes: int = Field(5, ge=1, description="fresh processes per run")
    samples: int = Field(5, ge=1, description="timed solves per process, after the warm-up")
    budget: FiniteFloat = Field(
        10.0,
        gt=0,
        description="seconds per run, and what other runs leave of theirs; limits the processes and samples",
    )
    timeout: FiniteFloat = Field(300.0, gt=0, description="seconds after which one process is ended")
    memory: FiniteFloat = Field(
        0.9, gt=0, description="GiB that a run may hold; a value up to 1 is a share of free memory"
    )
    phases: bool = Field(True, description="measure seconds by phase in up to three more processes")
    profile: bool = Field(False, description="record a GPU profiler's counters in up to three more processes")


class Block(StrictModel):
    """Some algorithms with their options and widths."""

    algorithms: list[str] | Literal["all"] = Field(description="their ids, or all")
    without: list[str] = Field(default_factory=list, description="algorithms that `all` leaves out here")
    options: dict[str, Scalar | list[Scalar]] = Field(
        default_factory=dict, description="a value or a list for each; all combinations are run"
    )
    widths: Widths | Literal["one", "powers", "cores", "source"] = Field(
        "powers",
        description="powers: of two, and all cores; cores: only all cores; source: the widths of `machine`",
    )
    graphs: list[str] | None = Field(None, description="only these of the experiment's graphs")
    without_graphs: list[str] = Field(default_factory=list, description="all graphs but these")
    oversubscribe: bool = Field(
        False, description="allow widths above the cores; their runs are marked, not plotted"
    )
    hyperthreads: bool = Field(False, description="allow widths above the cores, up to the hardware threads")
    measure: Measure | None = Field(None, description="replaces that of the experiment")
    optional: bool = Field(False, description="unknown algorithms are reported, not refused")
    left_out: str = Field("", description="why these runs are not made; the page shows it")

    @model_validator(mode="after")
    def _check_names(self) -> Block:
        named = self.algorithms if isinstance(self.algorithms, list) and not self.optional else []
        for name in (*named, *self.without):
            registry.get(name)
        for option, values in self.options.items():
            if values == []:
                raise ValueError(f"option {option} has no value: give one, or leave the option out")
        for algorithm in filter(self.takes, registry.algorithms().values()):
            if algorithm.id not in self.absent:
                list(option_sets(self, algorithm))
        return self

    def covers(self, graph: str) -> bool:
        """Return whether a graph belongs to this block."""
        return graph not in self.without_graphs and (self.graphs is None or graph in self.graphs)

    def takes(self, algorithm: registry.Algorithm) -> bool:
        """Return whether an algorithm belongs to this block."""
        named = self.algorithms == "all" or algorithm.id in self.algorithms
        return named and algorithm.id not in self.without

    @property
    def absent(self) -> list[str]:
        """Programs named but not configured, or configured without an option of an optional block."""
        named, known = self.algorithms if isinstance(self.algorithms, list) else [], registry.algorithms()
        needed = self.options.keys() if self.optional else set()
        return [name for name in named if name not in known or needed - known[name].options.keys()]


class Part(StrictModel):
    """A part of an experiment that can be measured in place of the whole."""

    graphs: list[str] = Field(description="some of the experiment's graphs")
    algorithms: list[str] | None = Field(None, description="default: all of the experiment")
    measure: Measure | None = Field(None, description="replaces that of the experiment")
    within: FiniteFloat | None = Field(None, gt=0, description="replaces that of the experiment")

    @field_validator("algorithms")
    @classmethod
    def _check_algorithms(cls, value: list[str] | None) -> list[str] | None:
        # The experiment may lack them: a file given to Snakemake may replace the graphs and runs of the default
        # experiment, and leave its first part.
        for name in value or ():
            registry.get(name)
        return value

    def of(self, whole: Experiment) -> Experiment:
        """Return this part of an experiment: the runs of these algorithms on these graphs."""
        runs = whole.runs
        if self.algorithms is not None:
            chosen = set(self.algorithms)
            named = [(b, chosen if b.algorithms == "all" else chosen & {*b.algorithms}) for b in runs]
            runs = [block.model_copy(update={"algorithms": sorted(kept)}) for block, kept in named if kept]
        replaced = {"measure": self.measure or whole.measure, "within": self.within or whole.within}
        return whole.model_copy(update={"graphs": self.graphs, "runs": runs, **replaced})


class Experiment(StrictModel):
    """One file of ``config/papers/``, or the default experiment of ``config/config.yaml``."""

    title: str = Field(description="heading of the experiment's page")
    paper: str | None = Field(None, description="the paper that it belongs to, a file of config/papers/")
    description: str = Field("", description="shown on its page, below the title")
    baseline: str = Field("kruskal", description="the sequential algorithm to which speedups are relative")
    machine: str | None = Field(None, description="the source's hardware, a profile of config/machines/")
    graphs: list[str] = Field(description="names in the catalogue, config/graphs.yaml")
    runs: list[Block] = Field(description="blocks of runs; if several contain a run, the first one decides")
    measure: Measure = Field(Measure(), description="processes, samples and limits of each run")
    within: FiniteFloat | None = Field(
        None, gt=0, description="seconds that all runs share: each run's budget is at most an equal part"
    )
    small: Part | None = Field(None, description="the part that a laptop measures in minutes")
    left_out: dict[str, str] = Field(default_factory=dict, description="graphs that are not run, and why")
    first: Part | None = Field(None, description="the part that `make report` measures and shows first")

    @field_validator("baseline")
    @classmethod
    def _check_baseline(cls, value: str) -> str:
        return registry.get(value).id

    @field_validator("machine")
    @classmethod
    def _check_machine(cls, value: str | None) -> str | None:
        if value:
            hardware_profile(value)
        return value

    def beginning(self) -> Experiment:
        """Return the experiment's `first` part."""
        return self.first.of(self) if self.first else self.model_copy(update={"graphs": []})

    def at_scale(self, scale: str) -> Experiment:
        """Return the experiment at a scale: all of it at ``full``, its `small` version at ``small``."""
        if scale == "full" or self.small is None:
            return self
        reason = "left out at scale: small; run it with scale: full"
        left_out = {graph: reason for graph in self.graphs if graph not in self.small.graphs}
        return self.small.of(self).model_copy(update={"left_out": {**self.left_out, **left_out}})

    @model_validator(mode="after")
    def _check_names(self) -> Experiment:
        if not self.machine and any(block.widths == "source" for block in self.runs):
            raise ValueError("widths: source needs machine: NAME, a profile of config/machines/")
        for graph in self.graphs:
            if not any(block.covers(graph) and not block.left_out for block in self.runs):
                hint = nearest(graph, {name for block in self.runs for name in block.graphs or ()})
                raise ValueError(
                    f"no block of runs has the graph {graph}{hint}: add it to the graphs of one, too"
                )
        return self


def read_experiment(path: Path) -> Experiment:
    """Read an experiment file."""
    return parse(Experiment, read_yaml(path), str(path))


def widths_of(block: Block, paradigm: str, cores: int, machine: str | None = None) -> list[int]:
    """Return a block's ascending widths for a paradigm that can have `cores`; ``source`` means those of `machine`."""
    if paradigm in ("sequential", "peer") or block.widths == "one":
        return [1]
    if block.widths == "source" and machine is not None:
        return sorted(set(hardware_profile(machine).widths.get(paradigm, [1])))
    if paradigm == "cuda":
        return block.widths if isinstance(block.widths, list) else [1]
    if block.widths == "cores":
        return [cores]
    if isinstance(block.widths, list):
        return sorted(set(block.widths))
    powers = [2**k for k in range(cores.bit_length())]
    return powers if powers[-1] == cores else [*powers, cores]


def option_sets(block: Block, algorithm: registry.Algorithm) -> Iterator[dict[str, Any]]:
    """Yield every combination of the block's options."""
    swept = {k: v if isinstance(v, list) else [v] for k, v in block.options.items()}
    for values in itertools.product(*swept.values()):
        yield algorithm.resolve(dict(zip(swept, values, strict=True)))


def wants(block: Block, algorithm: registry.Algorithm, graph: str, options: str, width: int) -> bool:
    """Return whether a block requests this run; widths that depend on the machine count as requested."""
    if block.left_out or not block.covers(graph) or not block.takes(algorithm):
        return False
    is_parallel = algorithm.paradigm in ("threads", "mpi")
    if isinstance(block.widths, list) and is_parallel and width not in block.widths:
        return False
    try:
        return options in {algorithm.options_slug(o) for o in option_sets(block, algorithm)}
    except ConfigError:
        return False
