"""``mst table``: an experiment's measurements on this machine, a row for each run and a column for each graph."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Any

from mst.commands._arguments import add_config, add_scopes
from mst.units import counted

if TYPE_CHECKING:
    from mst.bench.planning.plan import Planned
    from mst.bench.records.store import Run
    from mst.config import Config

HELP = "print an experiment's times on this machine, compared with those of one algorithm"

Measurement = dict[str, Any]


def configure(parser: argparse.ArgumentParser) -> None:
    add_scopes(parser)
    add_config(parser)
    parser.add_argument(
        "--part",
        choices=sorted(PARTS),
        default="compute",
        help="first: from the graph in memory to the end of the first solve; call: a whole call of the library, from "
        "arrays to the forest; memory: MiB beyond the graph",
    )
    parser.add_argument(
        "--against", metavar="ALGORITHM", help="compare with this algorithm (default: the baseline, at width 1)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the proved measurements of the planned runs by the current code."""
    from mst import config, registry
    from mst.commands._print import columns
    from mst.errors import InputError
    from mst.scopes import Scopes

    settings = config.load(arguments.configfile)
    known = Scopes.of(settings, [config.local_machine(settings)])
    states = known.graph_states(arguments.scopes)
    rows = list(chain.from_iterable(known.plan(scope, states) for scope in arguments.scopes))
    done = {row.run: row for row in rows if row.status == "done" and row.run}
    proved = list(_measured(settings, done))
    measured = dict(proved)
    part = PARTS[arguments.part]
    found = {key: value for key, m in measured.items() if (value := part(m)) is not None}
    if measured and not found:
        raise InputError(f"no measurement of these runs has the part {arguments.part}: name another --part")
    if not found:
        raise InputError(
            f"{settings.records} has no proved measurements of these runs by the current code on "
            f"{settings.machine_name}: run `mst measure`"
        )
    against = arguments.against or known.experiment(arguments.scopes[0]).baseline
    unit = "MiB" if arguments.part == "memory" else "ms"
    print(columns(table(found, registry.get(against).id, unit)))
    flags = Counter(flag for key in found for flag in measured[key]["conditions"]["flags"])
    remarks = [f"{count} flagged {flag}" for flag, count in flags.most_common()]
    if unproved := len(done) - len(proved):
        remarks.append(f"{counted(unproved, 'other')} failed, wrong or unproved: `mst report` shows why")
    missing = [row for row in rows if row.is_missing]
    if count := len({(row.graph, row.algorithm, row.options, row.width) for row in missing}):
        remarks.append(f"{count:,} to be measured")
    print("; ".join((counted(len(found), "run"), *remarks)))
    return 0


def table(
    figures: Mapping[tuple[str, str], float], against: str, unit: str = "ms"
) -> list[tuple[str | float | None, ...]]:
    """Return a head, a row of figures for each run, and the ratio of the figure of `against` to its figure.

    Parameters
    ----------
    figures : mapping of (str, str) to float
        By run and graph, in the order of the rows and columns.
    against : str
        The run that the last columns compare with: the geometric mean over the graphs of both, the least and the
        greatest ratio.

    Examples
    --------
    >>> from mst.commands.table import table
    >>> found = {("kruskal", "NY"): 9.0, ("ours", "NY"): 3.0, ("kruskal", "FL"): 8.0, ("ours", "FL"): 2.0}
    >>> table(found, "kruskal")[-1]
    ('ours', 3.0, 2.0, 3.46, 3.0, 4.0)
    """
    from mst.bench.statistics import geometric_mean

    runs, graphs = (list(dict.fromkeys(names)) for names in zip(*figures, strict=True))
    head = (unit, *graphs, f"{against} / this", "least", "greatest")
    rows: list[tuple[str | float | None, ...]] = [head]
    for name in runs:
        shared = [graph for graph in graphs if (name, graph) in figures and (against, graph) in figures]
        ratios = [figures[against, graph] / figures[name, graph] for graph in shared if figures[name, graph]]
        ends = (geometric_mean(ratios), min(ratios), max(ratios)) if ratios else (None,) * 3
        values = (figures.get((name, graph)) for graph in graphs)
        rows.append((name, *map(_rounded, (*values, *ends))))
    return rows


def _measured(settings: Config, done: Mapping[Run, Planned]) -> Iterator[tuple[tuple[str, str], Measurement]]:
    """Yield every proved measurement with the name of its run and its graph."""
    from mst.bench.records.store import read_measurement, read_proof

    for run, row in done.items():
        path = settings.records / run.path
        measurement = read_measurement(path)
        if (read_proof(path, measurement) or {}).get("status") == "ok":
            options = f"[{row.options}]" if row.options != "default" else ""
            width = f" ×{row.width}" if row.width > 1 else ""
            yield (f"{row.algorithm}{options}{width}", row.graph), measurement


def _milliseconds(*parts: str) -> Callable[[Measurement], float | None]:
    """Return a function from a measurement to the sum of its parts, of each the median over the processes."""

    def figure(measurement: Measurement) -> float | None:
        from mst.bench.records.store import medians
        from mst.bench.statistics import summarise

        found = [summarise(medians(measurement, part)).median for part in parts]
        return 1e3 * sum(seconds or 0.0 for seconds in found) if found[0] is not None else None

    return figure


def _first(measurement: Measurement) -> float | None:
    """Return the milliseconds of preparing, copying and the first solve, or of the warm-up if there is one."""
    samples = measurement["samples"]
    solves = zip_longest(samples.get("warmup", []), samples.get("compute", []), fillvalue=list[float]())
    first = [[*warmup, *compute][:1] for warmup, compute in solves]
    return _milliseconds("first", "init", "transfer")({"samples": {**samples, "first": first}})


def _memory(measurement: Measurement) -> float | None:
    working = measurement["memory"]["working_bytes"]
    return None if working is None else working / 2**20


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.3g}")


PARTS: dict[str, Callable[[Measurement], float | None]] = {
    "compute": _milliseconds("compute"),
    "init": _milliseconds("init"),
    "transfer": _milliseconds("transfer"),
    "call": _milliseconds("call"),
    "first": _first,
    "memory": _memory,
}
