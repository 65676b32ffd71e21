"""Sources of formulas: the records of one machine, and the numbers that a paper printed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from mst import registry
from mst.bench.records.store import Record, medians
from mst.bench.statistics import FEWEST_PROCESSES, summarise
from mst.catalog import read_manifest
from mst.errors import MSTError
from mst.facts import Facts
from mst.reporting.papers.evidence import (
    RATIO,
    TIMES,
    objection,
    objection_to_numbers,
    resembles,
    sessions,
    took_turns,
)
from mst.reporting.papers.formula import Failed, Leaf, Missing, Selection, Source, Unfit, parse_selection
from mst.reporting.papers.published import SCALE, as_number, published, published_tables

Key = tuple[str, str, str]  # graph, algorithm and options of a run


@dataclass
class Measured(Source):
    """The records of one machine, as a source of formulas.

    `machine` has its facts (`mst.bench.machine.Hardware.as_dict`) and its ``name``; `runs` its records by width, of
    several layouts the fastest; `others` the other layouts and older versions, for numbers that those lack; `reasons`
    why planned runs were not possible; `facts` the manifests by graph; `programs` the program that is looked up in
    place of each port. If it is `judging`, records that judge no claim (`mst.reporting.papers.evidence`) are missing;
    if it is `wide`, wide intervals that cover 95 % serve.
    """

    machine: Mapping[str, Any]
    runs: dict[Key, dict[int, Record]] = field(default_factory=dict)
    others: dict[tuple[Key, int], list[Record]] = field(default_factory=dict)
    facts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    reasons: dict[tuple[Key, int], str] = field(default_factory=dict)
    sessions: Mapping[Path, tuple[str, float]] = field(default_factory=dict)
    programs: Mapping[str, str] | None = None
    judging: bool = False
    wide: bool = False
    known: dict[tuple, Any] = field(default_factory=dict, repr=False)
    """Numbers that were read before, which are the same for all programs and whether or not this is judging."""

    @property
    def name(self) -> str:
        """Name of the machine in results."""
        return str(self.machine["name"])

    def of_programs(self, originals: Mapping[str, str]) -> Measured:
        """Return this source with each port replaced by its program; ports without one are missing."""
        return replace(self, programs=originals)

    def leaf(self, quantity: str, selection: Selection, graph: str, name: str = "") -> Leaf:
        """Return a number of a record; raise `Missing` with the best reason known."""
        key = self._key(selection, graph)
        if quantity == "wrong":
            best = self._wrong(key, selection)
        elif quantity == "ran":
            best = self._ran(key, selection)
        else:
            found = [self._number(key, record, quantity, name) for record in self._records(key, selection)]
            # The best of several widths is the best of those that judge, if any do.
            judging = [leaf for leaf in found if leaf and not leaf.objection] if self.judging else []
            if (judging or found)[0] is None:
                raise Missing(f"{selection} on {graph}: no {name or quantity} in its record")
            best = (judging or found)[0]
        if self.judging and best.objection:
            raise Missing(f"{_named(key)} at width {best.width} on {graph}: {best.objection}")
        return best

    def turns(self, quantity: str, over: Selection, under: Selection, graph: str) -> tuple[Leaf, Leaf] | None:
        """Return the times of two runs whose processes took turns; raise `Missing` if they judge nothing."""
        first = self._best(quantity, over, graph)
        try:
            second = self._best(quantity, under, graph)
        except Missing:
            return None  # the first may be missing for another reason, which `leaf` gives
        place = (first.path, second.path, quantity, self.wide)
        if place not in self.known:
            self.known[place] = _by_turns(first, second, quantity, wide=self.wide)
        both = self.known[place]
        if both and self.judging and both[0].objection:
            compared = " / ".join(f"{record.run.algorithm}@{record.run.width}" for record in (first, second))
            raise Missing(f"{compared} on {graph}: {both[0].objection}")
        return both

    def _best(self, quantity: str, selection: Selection, graph: str) -> Record:
        """Return the fastest record of a selection, of those that judge, if any do; raise `Missing` as `leaf` does."""
        found = self._records(self._key(selection, graph), selection)
        judging = [record for record in found if not objection(record, quantity)] if self.judging else []
        return (judging or found)[0]

    def _number(self, key: Key, record: Record, quantity: str, name: str) -> Leaf | None:
        place = (record.path, quantity, name, self.wide)
        if place not in self.known:
            self.known[place] = self._read_versions(key, record, quantity, name)
        return self.known[place]

    def _read_versions(self, key: Key, record: Record, quantity: str, name: str) -> Leaf | None:
        for each in (record, *self.others.get((key, record.run.width), ())):
            behind = None if quantity == "excess" else _read(each, quantity, name)
            value = self._excess(each) if behind is None else summarise(behind).median
            if each.proved and value is not None:
                against = objection(each, quantity, behind, wide=self.wide)
                leaf = _leaf(value, each, against, behind or ())
                return replace(leaf, session=self.sessions.get(each.path)) if quantity in TIMES else leaf
        return None

    def fact(self, name: str, graph: str) -> float:
        """Return a fact of a graph from its manifest, else from any record of it."""
        manifest = self.facts.get(graph, {})
        value = manifest.get({"max_degree": "maximum_degree"}.get(name, name))
        if value is None and name in ("n", "m"):
            value = next((record.measurement["graph"][name] for record in self._on(graph)), None)
        if value is None:
            raise Missing(f"no facts are known of {graph}")
        return float(value)

    def has(self, graph: str) -> bool:
        """Return whether the machine has a record of the graph, or knows its facts."""
        return self.measured(graph) or self.facts.get(graph, {}).get("status") == "ok"

    def measured(self, graph: str) -> bool:
        """Return whether the machine has a record of the graph; its facts may be known from another machine."""
        return graph in self._graphs

    def stands_in(self, other: str, graph: str) -> bool:
        """Return whether another graph was measured and may stand in for a graph, by the facts of both."""
        return self.measured(other) and resembles(graph, self.facts.get(other, {}))

    def generated(self, graph: str) -> bool:
        """Return whether a graph was generated here."""
        return bool(self.facts.get(graph, {}).get("generator"))

    @cached_property
    def _graphs(self) -> set[str]:
        return {key[0] for key in self.runs}

    def _on(self, graph: str) -> Iterator[Record]:
        """Yield the records of a graph."""
        return (record for key, own in self.runs.items() if key[0] == graph for record in own.values())

    def _key(self, selection: Selection, graph: str) -> Key:
        """Return the graph, the algorithm and the options that are looked up."""
        if self.programs is not None:
            selection = program_of(selection, self.programs)
        return graph, selection.algorithm, options_text(selection)

    def _records(self, key: Key, selection: Selection) -> list[Record]:
        """Return the records of a selection, the fastest first."""
        graph, own = key[0], self.runs.get(key, {})
        found = [own[width] for width in sorted(own) if selection.width in (0, width)]
        shown = [record for record in found if _shown(record, selection.over)]
        if not shown:
            if reason := self._unfit(selection, graph):
                raise Unfit(f"{selection} on {graph}: {reason}")
            failed = any(record.status != "ok" for record in found)
            raise (Failed if failed else Missing)(self._why(key, selection))
        return sorted(shown, key=lambda record: _median(record) or np.inf) if len(shown) > 1 else shown

    def _ran(self, key: Key, selection: Selection) -> Leaf:
        if record := self.runs.get(key, {}).get(selection.width or 1):
            return _leaf(_shown(record, "+"), record, objection(record))
        if self._unfit(selection, key[0]):
            return Leaf(0.0)
        raise Missing(self._why(key, selection))

    def _unfit(self, selection: Selection, graph: str) -> str | None:
        """Return why the algorithm takes this graph on no machine."""
        known = registry.algorithms().get(selection.algorithm)
        manifest = self.facts.get(graph, {})
        if known is None or manifest.get("status") != "ok":
            return None
        return known.skip(Facts.of_manifest(manifest), width=1, options=dict(selection.options))

    def _excess(self, record: Record) -> float | None:
        """Return how much heavier the forest is than the minimum, which any exact run on the graph found."""
        on_graph = self._on(record.run.graph)
        exact = (r for r in on_graph if r.proved and (r.proof or {}).get("grade") == "identical")
        least = next((r.measurement["forest"]["weight"] for r in exact), None)
        own = (record.measurement["forest"] or {}).get("weight")
        return None if least is None or own is None or not float(least) else float(own) / float(least) - 1

    def _wrong(self, key: Key, selection: Selection) -> Leaf:
        judged = [r for r in self.runs.get(key, {}).values() if r.status == "wrong" or r.proved]
        judged = [r for r in judged if not objection(r, "wrong")] or judged
        if not judged:
            raise Missing(self._why(key, selection))
        first, wrong = judged[0], sum(r.status == "wrong" for r in judged)
        return _leaf(wrong, first, objection(first, "wrong"))

    def _why(self, key: Key, selection: Selection) -> str:
        """Return why a selection has no number, as the record, the plan or the graph's manifest says."""
        (graph, algorithm, _), width = key, selection.width or 1
        run = _named(key) + f" at width {width}" * (width > 1)
        if record := self.runs.get(key, {}).get(width):
            reason = record.measurement["reason"] or (record.proof or {}).get("reason") or "no proof here"
            return f"{run} on {graph}: {record.status if record.status != 'ok' else 'unproved'}, {reason}"
        status = self.facts.get(graph, {}).get("status")
        otherwise = "the graph is unavailable" if status == "unavailable" else "not run"
        # A program or algorithm that is not installed has one row for all its options.
        found = self.reasons.get((key, width)) or self.reasons.get(((graph, algorithm, "default"), 1))
        return f"{run} on {graph}: {found or otherwise}"


def _named(key: Key) -> str:
    _, algorithm, options = key
    return algorithm if options == "default" else f"{algorithm}[{options}]"


def program_of(selection: Selection, originals: Mapping[str, str]) -> Selection:
    """Return the program that stands for a port; raise `Missing` if there is none.

    If only the port without options has a program, the options that differ from the port's defaults are the program's.

    >>> program_of(parse_selection("ecl-mst-cuda[rung=2,seed=1]"), {"ecl-mst-cuda": "command-ecl-mst"}).name
    'command-ecl-mst[rung=2]'
    """
    found = originals.get(selection.name) or originals.get(selection.algorithm)
    if found is None:
        raise Missing(f"no original program is known for {selection.name}")
    program = parse_selection(found)
    if selection.name in originals:
        return program
    changed = options_text(selection)
    options = tuple((k, v) for k, _, v in (pair.partition("=") for pair in changed.split(",")) if v)
    return replace(program, options=options)


@cache
def options_text(selection: Selection) -> str:
    """Return the options of a selection as the records' paths have them."""
    given = dict(selection.options)
    known = registry.algorithms().get(selection.algorithm)
    if known is not None:
        return known.options_slug(given)
    return ",".join(f"{k}={v}" for k, v in sorted(given.items())) or "default"


def _shown(record: Record, over: str) -> bool:
    flags = record.measurement["conditions"]["flags"]
    fits = over == "+" or ("oversubscribed" in flags) == (over == "!")
    return record.proved and "width-not-granted" not in flags and fits


def _leaf(value: float, record: Record, objection: str, medians: Iterable[float] = ()) -> Leaf:
    return Leaf(float(value), tuple(medians), str(record.path), record.run.width, objection)


def _by_turns(over: Record, under: Record, quantity: str, *, wide: bool) -> tuple[Leaf, Leaf] | None:
    """Return the times of the turns that both records took, with the objection to their ratios."""
    both = [_read(record, quantity, "") for record in (over, under)]
    number = min(map(len, both))
    disturbed = any(objection(record, quantity) for record in (over, under))
    if disturbed or number < FEWEST_PROCESSES or not took_turns(over, under, number):
        return None
    against = ""
    if any(objection_to_numbers(quantity, numbers, wide=wide) for numbers in both):
        ratios = [a / b for a, b in zip(*both, strict=False)]
        against = objection_to_numbers(RATIO, ratios, wide=wide)
    first, second = (
        _leaf(float(np.median(numbers)), record, against, numbers[:number])
        for record, numbers in zip((over, under), both, strict=True)
    )
    return first, second


def _median(record: Record) -> float | None:
    return summarise(medians(record.measurement)).median


def _read(record: Record, quantity: str, name: str) -> list[float]:
    """Return a quantity of each process of a record."""
    measurement = record.measurement
    samples = [process for process in measurement["samples"].get("compute", []) if process]
    phases = [process for process in measurement["phases"] if name in process]
    match quantity:
        case "T" | "I":
            return medians(measurement, {"T": "compute", "I": "init"}[quantity])
        case "M":
            return [float(np.mean(process)) for process in samples]
        case "spread" if any(len(own) > 1 for own in samples):
            return [float(np.std(own, ddof=1) / np.mean(own)) for own in samples if len(own) > 1]
        case "share":
            return [process[name] / sum(process.values()) for process in phases if sum(process.values())]
        case "phase":
            return [process[name] for process in phases]
        case "memory":
            return measurement["memory"]["working_by_process"]
    # A program that solves several times in a process states their spread.
    counted = (_counter(process, name or quantity) for process in measurement["counters"])
    return [value for value in counted if value is not None]


def _counter(counters: Mapping[str, Any], name: str) -> float | None:
    """Return a counter; an entry or the mean of one that is a list."""
    name, _, place = name.removesuffix("]").partition("[")
    value = counters.get(name)
    if isinstance(value, list) and place == "mean" and value:
        value = float(np.mean(value))
    elif isinstance(value, list) and place.lstrip("-").isdigit() and -len(value) <= int(place) < len(value):
        value = value[int(place)]
    return value if isinstance(value, int | float) else None


def gather(
    records: Iterable[Record],
    rows: Iterable[Mapping[str, Any]] = (),
    manifests: Iterable[Mapping[str, Any]] = (),
) -> list[Measured]:
    """Return one source for each machine that has records, in their order.

    `rows` are the tidy table: which version of a run is current, and why planned runs were not possible. Without it the
    newest version counts. `manifests` are facts of the graphs.
    """

    def places(row: Mapping[str, Any]) -> tuple[str, Key, int]:
        return row["machine"], (row["graph"], row["algorithm"], row["options"]), int(row["width"] or 1)

    table = list(rows)
    versions = {(*places(r), r["fingerprint"]) for r in table if r.get("current") and r.get("fingerprint")}
    facts = {manifest["name"]: manifest for manifest in manifests}
    machines: dict[str, Measured] = {}
    for record in records:
        machine, key, width = places(vars(record.run))
        if machine not in machines:
            machines[machine] = Measured({"name": machine, **record.measurement["machine"]}, facts=facts)
        machines[machine].others.setdefault((key, width), []).append(record)
    for machine, source in machines.items():
        source.sessions = sessions(record for found in source.others.values() for record in found)
        for (key, width), found in source.others.items():
            found.sort(key=lambda record: record.measurement["created"], reverse=True)
            current = [r for r in found if not table or (machine, key, width, r.run.fingerprint) in versions]
            if current:
                # The fastest proved layout of an MPI run.
                fastest = min(current, key=lambda r: (not _shown(r, ""), _median(r) or np.inf))
                first = fastest if table else current[0]
                source.runs.setdefault(key, {})[width] = first
                found.remove(first)
    for row in table:
        if row.get("status") in ("unsupported", "unavailable") and row["machine"] in machines:
            machine, key, width = places(row)
            machines[machine].reasons[key, width] = row.get("reason") or row["status"]
    return [source for source in machines.values() if source.runs]


class Printed(Source):
    """Printed numbers of one paper for one kind of machine, as a source of formulas: values without intervals."""

    name = "printed"

    def __init__(self, paper: str, machine: str | None = None):
        self.paper = paper
        self._leaves = _printed_leaves(paper, machine)
        self._graphs = {key[2] for key in self._leaves}

    def leaf(self, quantity: str, selection: Selection, graph: str, name: str = "") -> Leaf:
        """Return a printed number; shares are worked out from the printed phases, ran from the times."""
        if quantity == "share":
            same = [v for k, v in self._leaves.items() if k[:3] == ("phase", _canonical(selection), graph)]
            return Leaf(self.leaf("phase", selection, graph, name).value / sum(same))
        key = ("T" if quantity == "ran" else quantity, _canonical(selection), graph, name)
        if key not in self._leaves and not selection.width:
            widths = {k[1][2] for k in self._leaves if k[0] == "T" and k[1][:2] == key[1][:2] and k[2] == graph}
            found = [self.leaf(quantity, replace(selection, width=at), graph, name) for at in sorted(widths)]
            if found:
                return min(found, key=lambda leaf: leaf.value)
        if key not in self._leaves:
            raise Missing(f"{quantity} of {selection} on {graph} is not printed")
        value = self._leaves[key]
        if quantity == "ran":
            return Leaf(float(not np.isnan(value)))
        if np.isnan(value):
            raise Unfit(f"{selection} cannot run {graph}")
        return Leaf(value)

    def fact(self, name: str, graph: str) -> float:
        """Return a printed fact of a graph."""
        for table, about in published_tables().items():
            if about.paper == self.paper and name in about.facts:
                value = published(table).number(about.facts[name], (graph,))
                return value / 2 if name == "m" and about.facts[name] == "arcs" else value
        raise Missing(f"{name} of {graph} is not printed")

    def has(self, graph: str) -> bool:
        """Return whether the paper prints anything of this graph."""
        return graph in self._graphs


def _canonical(selection: Selection) -> tuple[str, str, int]:
    return selection.algorithm, options_text(selection), selection.width


@cache
def _printed_leaves(paper: str, machine: str | None) -> dict[tuple, float]:
    leaves = {}
    for name, about in published_tables().items():
        if about.paper != paper or (machine is not None and about.machine not in (None, machine)):
            continue
        for row in published(name).rows:
            for quantity, columns in about.values.items():
                for column, given in columns.items():
                    selections = [given] if isinstance(given, str) else given
                    for selection in selections if row[column] else ():
                        chosen = parse_selection(selection.format(**row))
                        key = (quantity, _canonical(chosen), row["graph"], row.get("phase", ""))
                        leaves[key] = as_number(row[column]) * SCALE[about.unit]
    return leaves


def read_manifests(files: Iterable[Path], set_aside: Callable[[str], None]) -> list[dict[str, Any]]:
    """Return the manifests in files; `set_aside` takes the reasons of invalid ones."""
    found = []
    for file in files:
        try:
            found.append(read_manifest(file).model_dump(mode="json"))
        except MSTError as error:
            set_aside(str(error))
    return found
