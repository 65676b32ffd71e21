"""Scopes: the default experiment, its first part, and those of a paper, graph or algorithm, with their plans."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from mst import catalog, registry
from mst import config as settings
from mst.bench.planning.batches import BATCHES, Batch, batches, folder_of
from mst.bench.planning.experiment import Experiment, Part
from mst.bench.planning.plan import GraphState, Planned, plan
from mst.bench.planning.site import Machine
from mst.bench.records.reference import Reference, bundles
from mst.config import COMMITTED, Config
from mst.errors import ConfigError, InputError, nearest


@dataclass(frozen=True)
class Scopes:
    """Everything on which the plan of a scope depends, besides manifests and records."""

    config: Config
    papers: Mapping[str, Experiment]
    catalog: catalog.Catalog
    machines: Sequence[Machine]

    @classmethod
    def of(cls, config: Config, machines: Sequence[Machine]) -> Scopes:
        """Return the scopes of a configuration, with the committed papers and catalogue."""
        return cls(config, settings.papers(config), catalog.load(), machines)

    def experiment(self, scope: str) -> Experiment:
        """Return the experiment of a scope: default, first, papers/NAME, graphs/NAME or algorithms/NAME.

        If the configuration has a `page`, experiments/PAGE is the default experiment, too. An unknown scope, paper or
        algorithm raises `ConfigError`; the callers check names of graphs.
        """
        kind, _, name = scope.partition("/")
        if scope == "first":
            return self.config.experiment.beginning()
        if kind == "papers":
            if name not in self.papers:
                raise ConfigError(
                    f"no paper {name!r}{nearest(name, self.papers)}; `mst list papers` shows them all"
                )
            return self.papers[name]
        if kind == "graphs":
            runs = self.config.experiment.runs
            if not any(block.covers(name) and not block.left_out for block in runs):
                # All blocks are for other graphs: a request for this one means the runs of every block.
                runs = [block.model_copy(update={"graphs": None}) for block in runs if not block.left_out]
            return self.config.experiment.model_copy(update={"graphs": [name], "runs": runs})
        if kind == "algorithms":
            whole, algorithm = self.config.experiment, registry.get(name)
            blocks = [block for block in whole.runs if block.takes(algorithm)]
            graphs = [graph for graph in whole.graphs if any(block.covers(graph) for block in blocks)]
            # Without the baseline, the page would compare the algorithm with nothing.
            return Part(graphs=graphs, algorithms=[name, whole.baseline]).of(whole)
        if scope not in ("default", self.config.scope):
            raise ConfigError(
                f"no experiment {scope!r}{nearest(scope, ('default', 'first'))}: give default, first, papers/NAME, "
                "graphs/NAME or algorithms/NAME"
            )
        return self.config.experiment

    def graphs(self, scope: str) -> list[str]:
        """Return the graphs that a scope needs, each once."""
        return list(dict.fromkeys(self.experiment(scope).graphs))

    def graph_states(self, scopes: Iterable[str]) -> dict[str, GraphState]:
        """Return the states of graphs that have a manifest; one whose file has changed since is ``waiting``."""
        states = settings.graph_states(self.config, self.catalog, chain.from_iterable(map(self.graphs, scopes)))
        for name in states:
            made = settings.graph_folder(self.config, self.catalog[name]) / "manifest.json"
            if self.catalog[name].has_changed_since(made):
                states[name] = GraphState(name, "waiting", reason="its file is newer than the graph made of it")
        return states

    def plan(self, scope: str, graphs: Mapping[str, GraphState] | None = None) -> list[Planned]:
        """Return the plan of a scope, given the states of its graphs, by default from the existing manifests."""
        if graphs is None:
            graphs = settings.graph_states(self.config, self.catalog, self.graphs(scope))
        return plan(self.experiment(scope), graphs, machines=self.machines, records=self.config.records)

    def batches(self, scope: str, rows: Iterable[Planned], *, apart: bool = False) -> list[Batch]:
        """Return the batches of rows of a scope's plan; with `apart`, each software environment has its own batches."""
        return batches(self.plan(scope, {}), rows, apart=apart)

    def request_document(self, scope: str) -> dict[str, Any]:
        """Return everything that a scope's plan and table depend on, besides graphs and this machine's records."""
        known, planned = registry.algorithms(), {row.algorithm for row in self.plan(scope, {})}
        return {
            "config": self.config.model_dump(mode="json"),
            "papers": {name: experiment.model_dump(mode="json") for name, experiment in self.papers.items()},
            "algorithms": {a.id: [a.missing(), a.options_slug()] for a in known.values()},
            "code": {name: a.source_fingerprint() for name, a in known.items() if name in planned},
            "machines": [{"name": machine.name, **machine.hardware.as_dict()} for machine in self.machines],
            "imported": _records_of_others(self.config, {machine.name for machine in self.machines}),
        }


def scope_folder(config: Config, scope: str) -> Path:
    """Return the folder of a scope's table, figures, page and batches."""
    if scope == "default":
        return config.root
    # The runs on a graph, and of an algorithm, depend on the experiment.
    apart = scope.startswith(("graphs/", "algorithms/")) and config.page
    return config.root / "reports" / (config.scope if apart else "") / scope


def batch_folder(config: Config, scope: str, batch: Batch) -> Path:
    """Return the folder of a batch's indexes: see `mst.bench.planning.batches.folder_of`."""
    own = scope_folder(config, scope) / BATCHES
    folders = ("", "reports/*/*/", "reports/experiments/*/*/*/")
    others = [file for folder in folders for file in sorted(config.root.glob(folder + BATCHES))]
    return folder_of(batch, config.records, own, others)


def _records_of_others(config: Config, own: set[str]) -> dict[str, Any]:
    """Return the number of records in each folder of another machine, and the digests of bundles."""
    folders = [*config.records.glob("*"), *COMMITTED.glob("reference/*/records/*")]
    others = sorted(f for f in folders if f.is_dir() and not (f.parent == config.records and f.name in own))
    counts: dict[str, Any] = {str(f): sum(1 for _ in f.glob("*/*/*/w*/*.json")) for f in others}
    return counts | bundles(COMMITTED)


def read_plan(file: Path) -> list[dict[str, Any]]:
    """Return the rows of a plan that the workflow wrote; none if there is no file."""
    try:
        rows = json.loads(file.read_text()) if file.is_file() else []
    except ValueError:
        rows = None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InputError(f"{file}: not a plan: delete it, and the workflow makes it again")
    return rows


def stand_ins(papers: Mapping[str, Experiment], scope: str) -> dict[str, str]:
    """Return the graphs that replace others on a paper's page, by the names of the replaced ones."""
    from mst.reporting.papers import claims

    kind, _, name = scope.partition("/")
    return claims.stand_ins_of(papers[name]) if kind == "papers" else {}


def page_manifests(
    config: Config, own: Iterable[Path], scope: str, references: Iterable[Reference]
) -> list[Path]:
    """Return the manifests of all graphs on a scope's page: the scope's own, and some of other machines' records.

    Of the latter, the default page shows all, and a paper's page the graphs that the paper's experiment leaves out
    here, and stand-ins. A graph that is unavailable here has both, since other machines may have measured it.
    """
    made = list(own)
    kind, _, name = scope.partition("/")
    if kind not in ("default", "papers"):
        return made
    committed = [file for reference in references for file in reference.manifests]
    others = [*sorted(config.root.glob("manifests/*/*.json")), *committed]
    known = {file.parts[-3]: _is_available(file) for file in made}
    found = [file for file in others if not known.get(file.parent.name)]
    if kind == "papers":
        experiments = settings.papers(config)
        shown = {*known, *experiments[name].left_out, *stand_ins(experiments, scope).values()}
        found = [file for file in found if file.parent.name in shown]
    return [*made, *found]


def _is_available(manifest: Path) -> bool:
    """Return whether a manifest belongs to a graph that could be made; if damaged, it does not."""
    with suppress(InputError):
        return catalog.read_manifest(manifest).status == "ok"
    return False
