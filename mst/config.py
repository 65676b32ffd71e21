"""The configuration: one typed model over ``config/config.yaml``."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, ValidationInfo, field_validator

from mst import registry
from mst.bench.machine import Hardware, host_name, this_machine
from mst.bench.planning.experiment import Experiment, read_experiment
from mst.bench.planning.plan import GraphState
from mst.bench.planning.site import Machine, Site
from mst.bench.records.schema import read_json
from mst.errors import ConfigError
from mst.names import path_part
from mst.resources import path as resource
from mst.yaml_models import StrictModel, parse, place_in, read_yaml

if TYPE_CHECKING:
    from mst.catalog import Catalog, Entry
    from mst.catalog.download import Sources

ENVIRONMENT = "MST_CONFIG"

COMMITTED = Path("results")
"""Folder of the committed reference bundles, independent of `results`."""


class Config(StrictModel):
    """The keys of ``config/config.yaml``."""

    machine: str | None = Field(None, description="name of this machine in results; default: the host's name")
    results: str = Field("results", min_length=1, description="folder of everything produced")
    page: str | None = Field(
        None,
        description="name of the experiment's folder in reports/experiments; default: the results themselves",
    )
    mirrors: list[str] = Field(default_factory=list, description="folders or address prefixes, tried first")
    offline: bool = Field(False, description="never touch the network")
    scale: Literal["small", "full"] = Field("small", description="scale of the papers' experiments")
    strict: bool = Field(False, description="an unavailable graph is an error")
    programs: dict[str, dict[str, Any]] = Field(
        default_factory=dict, description="MST programs on disk, run as command-NAME: see mst/programs.py"
    )
    site: Site | None = Field(None, description="a cluster; the cluster profile adds it from its site.yaml")
    experiment: Experiment = Field(description="the graphs and runs of the default experiment")
    _files: tuple[Path, ...] = ()  # it was merged from these, each overriding the ones before

    @field_validator("results")
    @classmethod
    def _check_results(cls, value: str) -> str:
        # Snakemake takes braces for wildcards.
        if "{" in value or "}" in value:
            raise ValueError("name a folder without braces")
        try:
            folder = Path(value).expanduser()
        except RuntimeError:
            raise ValueError("name a folder: there is no such home") from None
        if folder.exists() and not folder.is_dir():
            raise ValueError("name a folder: this is a file")
        return str(folder)

    @field_validator("machine", "page")
    @classmethod
    def _check_name(cls, value: str | None, info: ValidationInfo) -> str | None:
        return value if value is None else path_part(value, str(info.field_name))

    @property
    def machine_name(self) -> str:
        """Name of this machine in results."""
        return self.machine or path_part(
            os.environ.get("MST_MACHINE") or host_name(), "machine", "$MST_MACHINE"
        )

    @property
    def scope(self) -> str:
        """Scope of the experiment in the workflow (see `mst.scopes`)."""
        return f"experiments/{self.page}" if self.page else "default"

    @property
    def root(self) -> Path:
        """Folder of everything produced."""
        return Path(self.results)

    @property
    def records(self) -> Path:
        """Folder of records."""
        return self.root / "records"

    def sources(self) -> Sources:
        """Return the sources of raw graph files."""
        from mst.catalog.download import Sources

        return Sources.from_environment(self.mirrors, self.offline)


def load(path: Path | None = None, profile: Path | None = None) -> Config:
    """Read the configuration: `path`, else ``$MST_CONFIG`` (JSON), else ``config/config.yaml``.

    A Snakemake `profile` adds its site, as `with_profile` does.
    """
    if profile:
        return with_profile(load(path), profile)
    if path is None and (text := os.environ.get(ENVIRONMENT)):
        try:
            values = json.loads(text)
        except ValueError:
            raise ConfigError(f"${ENVIRONMENT} must be JSON: give a file by --configfile") from None
        return from_mapping(values, f"${ENVIRONMENT}")
    file = path or resource("config/config.yaml")
    return from_mapping(read_yaml(file), str(file), [file])


def with_profile(config: Config, profile: Path) -> Config:
    """Return a configuration with the site that the ``configfile`` of a Snakemake profile describes.

    Raises
    ------
    ConfigError
        The profile names no configuration file, or that file describes no site.
    """
    file = profile / "profile.yaml"
    match read_yaml(file):
        case {"configfile": str(named) | [str(named)]}:
            added = read_yaml(profile / named)
        case _:
            raise ConfigError(f"{file} names no configfile with a site: add one, or leave out --profile")
    if not isinstance(added, dict) or not added.get("site"):
        raise ConfigError(f"{profile / named} describes no site: add one, or leave out --profile")
    return parse(Config, {**config.model_dump(), **added}, str(profile / named))


def from_mapping(
    values: Mapping[str, Any], where: str = "config/config.yaml", merged: Sequence[Path] = ()
) -> Config:
    """Return the configuration in a mapping, such as Snakemake's `config`, which was `merged` from files.

    Without files, the values may be text, as on a command line.
    """
    if isinstance(values, Mapping):
        # Read here first: a mistake in an algorithm's file would be reported for each key that names algorithms.
        registry.algorithms()
        # Experiments name algorithms, so the programs among these must be known first.
        try:
            registry.use_programs(values.get("programs"))
        except ConfigError as error:
            # The message begins with the keys, without the file, which `use_programs` does not know.
            keys = str(error).partition(":")[0].removesuffix(" is missing").split(".")
            place = place_in(merged, keys) or where
            raise ConfigError(f"{place}: {error}") from None
        values = dict(values)
    made = parse(Config, values, where, merged=merged, strict=None if merged else False)
    made._files = tuple(merged)
    return made


def papers(config: Config) -> dict[str, Experiment]:
    """Return every experiment of ``config/papers/`` by the name of its file, at the configuration's scale."""
    return {file.stem: read_experiment(file).at_scale(config.scale) for file in _paper_files()}


def _paper_files() -> list[Path]:
    return sorted(resource("config/papers").glob("*.yaml"))


def check_interpreter() -> None:
    """Refuse a Python that Snakemake cannot start scripts with: it passes the path to a shell without quotes."""
    if re.search(r"[^\w@%+=:,./-]", sys.executable):
        raise ConfigError(
            f"Snakemake cannot start scripts with {sys.executable}: its path has a blank or another character that the "
            "shell interprets. Move the clone, or its .venv, to a path without such characters"
        )


def check_graphs(config: Config, catalog: Catalog) -> None:
    """Refuse experiments, of the configuration or a paper, with a graph that the catalogue does not have."""
    # Papers are read again, at full scale, where the keys have the same places as in the file.
    papers = [(read_experiment(file), (file,), ()) for file in _paper_files()]
    for experiment, files, above in [(config.experiment, config._files, ("experiment",)), *papers]:
        own = "the configuration's experiment: " if above else ""
        for keys, name in _named_graphs(experiment):
            try:
                catalog[name]
            except ConfigError as error:
                place = place_in(files, (*above, *keys))
                raise ConfigError(f"{place}: {own}{error}" if place else f"{own}{error}") from None


def _named_graphs(experiment: Experiment) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield the keys of every name of a graph, and the name."""
    parts = {"small": experiment.small, "first": experiment.first}
    lists: dict[tuple[str | int, ...], Sequence[str]] = {("graphs",): experiment.graphs}
    lists |= {(key, "graphs"): part.graphs for key, part in parts.items() if part}
    for number, block in enumerate(experiment.runs):
        lists["runs", number, "graphs"] = block.graphs or ()
        lists["runs", number, "without_graphs"] = block.without_graphs
    return (((*keys, place), name) for keys, names in lists.items() for place, name in enumerate(names))


def graph_folder(config: Config, entry: Entry) -> Path:
    """Return the folder of a graph's canonical file and manifest."""
    return config.root / "graphs" / entry.name / entry.recipe


def graph_states(config: Config, catalog: Catalog, names: Iterable[str]) -> dict[str, GraphState]:
    """Return the state of each graph that has a manifest."""
    from mst.catalog import read_manifest

    states = {}
    for name in dict.fromkeys(names):
        file = graph_folder(config, catalog[name]) / "manifest.json"
        if file.is_file():
            manifest = read_manifest(file)
            if manifest.status == "ok":
                states[name] = GraphState(name, "ok", manifest.facts(), manifest.digest or "")
            else:
                states[name] = GraphState(name, "unavailable", reason=manifest.reason or "no location has it")
    return states


def hardware_of(config: Config, name: str | None = None) -> Hardware:
    """Return this machine's hardware; raise `ConfigError` if the machine `name` is known with other hardware."""
    here = this_machine()
    name = name or config.machine_name
    file = config.root / "machines" / f"{name}.json"
    known = read_json(file, "fingerprint") if file.is_file() else here.as_dict()
    if known["fingerprint"] == here.fingerprint:
        return here
    present = {key: value for key, value in here.as_dict().items() if key != "fingerprint"}
    changes = [f"{key}: was {known.get(key)!r}, is {v!r}" for key, v in present.items() if known.get(key) != v]
    remedy = "give this machine another name, by machine: NAME in config/config.yaml or by MST_MACHINE=NAME"
    if config.site:
        remedy = "list these nodes in the site file as another kind, with another name"
    raise ConfigError(
        f"{file}: machine {name!r} is known with different hardware ({'; '.join(changes)}); {remedy}"
    )


def local_machine(config: Config) -> Machine:
    """Return this machine."""
    return Machine(config.machine_name, hardware_of(config))


def machines(config: Config) -> list[Machine]:
    """Return all machines for which runs are planned: this one, or each kind of node of the site."""
    if config.site is None:
        return [local_machine(config)]
    return [Machine(node.machine, node.declared(), node) for node in config.site.nodes.values()]
