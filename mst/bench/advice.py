"""Builds the table of advice from records, and judges it on other graphs: ``python -m mst.bench.advice RESULTS``.

RESULTS is a folder that ``mst measure --configfile config/benchmarks/advice.yaml`` has filled; the table is written to
``RESULTS/advice.json``. With ``--judge TABLE`` no table is made: that table's choices are compared with the best
candidates on the graphs of RESULTS (``config/benchmarks/advice-check.yaml``), and TABLE gets the count of good ones.

A time is the median over the processes of whole calls (``call`` and ``call_on_device`` of a record). A record counts if
it is proved, undisturbed, of the present code and of at least three processes; of several, the newest counts.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, product
from math import log2
from pathlib import Path
from typing import Any

import pandas as pd

from mst import atomic, catalog, registry
from mst.advice import HOPELESS, INSPECTION, Candidate, Table, for_one_solve
from mst.advice.kinds import are_in_order, weights_along_rows
from mst.bench.records.compare import DISTURBED
from mst.bench.records.store import Record, load_records, medians
from mst.bench.statistics import FEWEST_PROCESSES, geometric_mean, summarise
from mst.catalog.download import Sources
from mst.formats.canonical import read_canonical
from mst.units import counted

SAME = 1.08  # kinds of weights share a cell if its choice costs none of them more than this factor
WITHIN = 1.2
"""A choice is good if its candidate's time, with the cost of choosing, is within this factor of the best one's."""


@dataclass(frozen=True)
class MeasuredGraph:
    """A graph, the kind of its weights, whether its rows are in their order, and seconds by candidate."""

    name: str
    n: int
    m: int
    kind: str
    in_order: bool = False
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def cell(self) -> tuple[int, int]:
        """The graph's cell: octave of m, half octave of the density."""
        return round(log2(self.m)), round(2 * log2(self.m / self.n))


def main(arguments: Sequence[str] | None = None) -> int:
    """Make a table, or judge one."""
    parser = argparse.ArgumentParser(prog="mst.bench.advice", description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path, metavar="RESULTS")
    parser.add_argument("--judge", type=Path, metavar="TABLE", help="judge this table; note the count in it")
    chosen = parser.parse_args(arguments)
    machine, measured = read(chosen.results)
    if chosen.judge is None:
        made = {"machine": machine, "cells": cells(measured)}
        write_table(chosen.results / "advice.json", made)
        print(f"{chosen.results / 'advice.json'}: {len(made['cells'])} cells of {len(measured)} graphs")
    else:
        data = json.loads(chosen.judge.read_text())
        verdicts = judge(Table(data), measured)
        good = int((verdicts.regret <= WITHIN).sum())
        print(report(verdicts), f"within 20 % of the best in {good} of {len(verdicts)} cases", sep="\n\n")
        write_table(chosen.judge, {**data, "checked": {"good": good, "cases": len(verdicts)}})
    return 0


def write_table(file: Path, data: Mapping[str, Any]) -> None:
    """Write a table, one line per cell, so that two tables can be compared line by line."""
    head = "".join(f" {json.dumps(key)}: {json.dumps(data[key])},\n" for key in data if key != "cells")
    lines = ",\n".join(f"  {json.dumps(cell)}" for cell in data["cells"])
    atomic.write_text(file, f'{{\n{head} "cells": [\n{lines}\n ]\n}}\n')


def read(results: Path) -> tuple[str, list[MeasuredGraph]]:
    """Return the machine in words and the measured graphs; print how many records do not count, and why."""
    entries, sources = catalog.load(), Sources.from_environment()
    found: dict[str, MeasuredGraph] = {}
    machines: dict[str, Mapping[str, Any]] = {}
    unused: Counter[str] = Counter()
    for record in sorted(load_records(results / "records"), key=lambda r: r.measurement["created"]):
        if reason := objection(record, entries):
            unused[reason] += 1
            continue
        graph = record.measurement["graph"]
        machines[record.run.machine] = record.measurement["machine"]
        if graph["name"] not in found:
            entry = entries[graph["name"]]
            folder, _ = catalog.obtain(entry, results / "graphs" / entry.name / entry.recipe, sources=sources)
            weights = read_canonical(folder / "graph.arrow").w
            facts = weights_along_rows(weights), are_in_order(weights)
            found[entry.name] = MeasuredGraph(entry.name, graph["n"], graph["m"], *facts)
        found[graph["name"]].seconds.update(times_of(record))
    for reason, count in unused.most_common():
        print(f"{counted(count, 'record')} not counted: {reason}")
    if len(machines) != 1:
        sys.exit(f"{results} has usable records of {', '.join(machines) or 'no machine'}: one is needed")
    (machine,), measured = machines.values(), list(found.values())
    gpus = machine["gpus"][:1] if any(gpu for _, gpu in settings(measured)) else []
    return ", ".join([machine["cpu"], f"{machine['cores']} cores", *gpus]), measured


def objection(record: Record, entries: catalog.Catalog) -> str:
    """Return why a record does not count, or an empty string."""
    run, graph = record.measurement["run"], record.measurement["graph"]
    if run["source_fingerprint"] != registry.get(run["algorithm"]).source_fingerprint():
        return "of other code"
    if graph["name"] not in entries or graph["recipe"] != entries[graph["name"]].recipe:
        return "of another graph than the catalogue's"
    if not record.proved:
        return "unproved or unfinished"
    if flags := DISTURBED & set(record.measurement["conditions"]["flags"]):
        return f"disturbed ({', '.join(sorted(flags))})"
    return "" if dict(times_of(record)) else f"no whole calls of {FEWEST_PROCESSES} processes"


def times_of(record: Record) -> Iterator[tuple[str, float]]:
    """Yield the candidates that a record measures, named by the options of its calls, each with its seconds."""
    run, algorithm = record.measurement["run"], registry.get(record.run.algorithm)
    options = for_one_solve(algorithm.id, algorithm.changed_options(record.run.options))
    own = "gpu" if run["paradigm"] == "cuda" else str(run["width"])
    for part, place in (("call", own), ("call_on_device", "device")):
        calls = summarise(medians(record.measurement, part))
        if calls.median is not None and calls.count >= FEWEST_PROCESSES:
            yield str(Candidate(algorithm.id, algorithm.options_slug(options), place)), calls.median


def settings(measured: Iterable[MeasuredGraph]) -> list[tuple[int, str | None]]:
    """Return the parts of the hardware that a caller may use: cores, and the graph's location if there is a GPU."""
    candidates = {Candidate.parse(name) for one in measured for name in one.seconds}
    widths = sorted({1, *(candidate.width for candidate in candidates)})
    locations = {candidate.gpu for candidate in candidates}
    found: list[tuple[int, str | None]] = [(width, None) for width in widths]
    if "host" in locations:
        found += [(width, "host") for width in widths]
    return [*found, (1, "device")] if "device" in locations else found


def cells(measured: Sequence[MeasuredGraph]) -> list[dict[str, Any]]:
    """Return the table's cells: at each size and density, kinds with the same best candidates share a cell.

    A cell keeps the candidates near the best, those needed by an answer or its margin, and those that answer
    for another kind at the same size and density, so that the cost of mistaking the kind is known.
    """
    where = settings(measured)
    by_cell: dict[tuple, dict[str, list[MeasuredGraph]]] = {}
    for one in measured:
        if one.seconds and not one.in_order:
            by_cell.setdefault(one.cell, {}).setdefault(one.kind, []).append(one)
    made = []
    for _, kinds in sorted(by_cell.items()):
        groups: list[dict[str, list[MeasuredGraph]]] = []
        for kind in sorted(kinds, key=lambda kind: (-len(kinds[kind]), kind)):
            fitting = (group for group in groups if alike([*group.values(), kinds[kind]], where))
            if (group := next(fitting, None)) is None:
                groups.append(group := {})
            group[kind] = kinds[kind]
        graphs_of = [list(chain.from_iterable(group.values())) for group in groups]
        means_of = list(map(pooled, graphs_of))
        leaders = set().union(*(leading(means, where) for means in means_of))
        for group, graphs, means in zip(groups, graphs_of, means_of, strict=True):
            kept = sorted(leaders & means.keys() | promising(means))
            m = geometric_mean(graph.m for graph in graphs)
            density = m / geometric_mean(graph.n for graph in graphs)
            about = dict(m=round(m), density=round(density, 1), kinds=sorted(group), graphs=len(graphs))
            made.append({**about, "times": {name: float(f"{means[name]:.3g}") for name in kept}})
    return [cell for cell in made if cell["times"]]


def pooled(graphs: Sequence[MeasuredGraph]) -> dict[str, float]:
    """Return the geometric means over the graphs, of the candidates measured on all of them."""
    names = set.intersection(*(set(graph.seconds) for graph in graphs))
    return {name: geometric_mean(graph.seconds[name] for graph in graphs) for name in names}


def usable(seconds: Mapping[str, float], width: int, gpu: str | None) -> dict[str, float]:
    """Return the candidates that can run there, fastest first."""
    fitting = [name for name in seconds if Candidate.parse(name).fits(width, gpu)]
    return {name: seconds[name] for name in sorted(fitting, key=seconds.__getitem__)}


def promising(seconds: Mapping[str, float]) -> set[str]:
    """Return the candidates near the best on the same hardware."""
    best = {str(c): min(usable(seconds, c.width, c.gpu).values()) for c in map(Candidate.parse, seconds)}
    return {name for name in seconds if seconds[name] < HOPELESS * best[name]}


def leading(seconds: Mapping[str, float], where: Iterable[tuple[int, str | None]]) -> set[str]:
    """Return the best candidate and the best of another algorithm, for all parts of the hardware."""
    kept: set[str] = set()
    for width, gpu in where:
        of_each: dict[str, str] = {}
        for name in usable(seconds, width, gpu):
            of_each.setdefault(Candidate.parse(name).algorithm, name)
        kept.update(list(of_each.values())[:2])
    # With one on a GPU, even a slow one, the table shows that a GPU was tried.
    kept.update([name for name in usable(seconds, 1, "host") if Candidate.parse(name).gpu][:1])
    return kept


def alike(kinds: Sequence[Sequence[MeasuredGraph]], where: Iterable[tuple[int, str | None]]) -> bool:
    """Return whether one choice suits the graphs of all kinds, for all parts of the hardware."""
    means = pooled(list(chain.from_iterable(kinds)))
    for width, gpu in where:
        best = next(iter(usable(means, width, gpu)), None)
        for graphs in kinds:
            # Some candidates are measured for one kind only.
            own = usable(pooled(graphs), width, gpu)
            if own and (best is None or own[best] > SAME * min(own.values())):
                return False
    return True


def judge(table: Table, measured: Sequence[MeasuredGraph]) -> pd.DataFrame:
    """Return a row for every graph and all parts of the hardware where the chosen candidate was measured.

    Its *regret* is the candidate's time with the cost of choosing, over the best candidate's time.
    """
    rows = []
    for one, (width, gpu) in product(measured, settings(measured)):
        # Like `mst.advice.measured_best`, this inspects weights only where that pays.
        choice, cost = table.choose_uninspected(one.n, one.m, width=width, gpu=gpu), 0.0
        if choice is None:
            choice = table.choose(one.n, one.m, weights=one.kind, width=width, gpu=gpu)
            cost = INSPECTION
        place = {"host": "gpu", "device": "device", None: str(choice.width)}[choice.gpu]
        slug = registry.get(choice.algorithm).options_slug(choice.options)
        name, times = str(Candidate(choice.algorithm, slug, place)), usable(one.seconds, width, gpu)
        if name in times:
            best, seconds = next(iter(times.items()))
            found = (one.kind, name, best, seconds, (times[name] + cost) / seconds)
            rows.append((width, gpu or "none", one.name, *found))
    return pd.DataFrame(rows, columns=["cores", "gpu", "graph", "kind", "chosen", "best", "seconds", "regret"])


def report(verdicts: pd.DataFrame) -> str:
    """Return in how many cases the choice was within 20 % of the best, by hardware, and the worst cases."""
    good = (verdicts.regret <= WITHIN).groupby([verdicts.cores, verdicts.gpu], sort=False)
    counts, worst = good.agg(good="sum", cases="size"), verdicts.nlargest(20, "regret")
    return f"within 20 % of the best:\n{counts}\n\n{worst.to_string(index=False, float_format='%.3g')}"


if __name__ == "__main__":
    sys.exit(main())
