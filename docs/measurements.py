"""Tables of the committed reference records: ``python docs/measurements.py`` writes docs/measurements.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from mst.bench.records.reference import Reference, references
from mst.bench.records.store import Record, load_records, medians
from mst.bench.statistics import summarise
from mst.commands.table import table

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/measurements.md"


class Column(NamedTuple):
    """A run of every graph of a table: algorithm, width and options, and its name in the head."""

    name: str
    algorithm: str
    width: int = 1
    options: str = "default"


class Table(NamedTuple):
    """A table of the page: a row for each graph that `least` or more of its columns have."""

    title: str
    machine: str
    columns: Sequence[Column]
    note: str = ""
    least: int = 2


def widths(name: str, algorithm: str, *numbers: int) -> list[Column]:
    """Return a column for each width of an algorithm."""
    return [Column(f"{name} × {width}", algorithm, width) for width in numbers]


def plain(*algorithms: str) -> list[Column]:
    """Return a column for each algorithm, at width 1 with its default options."""
    return [Column(f"`{algorithm}`", algorithm) for algorithm in algorithms]


TABLES = [
    Table(
        "Our algorithms, libraries and a port",
        "h100-16c",
        plain("filter-boruvka", "kruskal", "scipy", "rustworkx", "filter-boruvka-cuda", "ecl-mst-cuda"),
        "`ecl-mst-cuda` is our port of ECL-MST.",
        least=4,
    ),
    Table(
        "Threads and ranks",
        "h100-16c",
        [
            *widths("threads", "filter-boruvka-threads", 1, 2, 4, 8, 16),
            *widths("ranks", "filter-boruvka-mpi", 4, 16),
        ],
        "One thread runs `filter-boruvka`; on the smallest graphs, several threads run it, too.",
        least=7,
    ),
    Table(
        "Durbhakula's algorithms",
        "h100-16c",
        [
            *plain("boruvka"),
            Column("`boruvka`, not covered", "boruvka", 1, "covered=false"),
            *widths("locks", "lock-boruvka", 1, 2, 4),
            *widths("CAS", "cas-boruvka", 1, 2, 4),
        ],
        least=6,
    ),
    Table(
        "Biagiotti's variants on roads",
        "h100-16c",
        [
            *plain("prim-heap", "boruvka"),
            *widths("`contract-boruvka`", "contract-boruvka", 16),
            Column("GPU-u", "contract-boruvka-cuda", 1, "memory=unified"),
            Column("GPU-e", "contract-boruvka-cuda", 1, "memory=unified,scan=host,work=edge"),
            *plain("contract-boruvka-cuda"),
        ],
        "All are ports; the last is a port of UMinho's code. GPU-u uses unified memory, GPU-e also a thread per slot.",
        least=5,
    ),
    Table(
        "Bhargava and Zaia's programs in two builds",
        "h100-16c",
        [
            Column("sequential, their makefile", "command-bhargava-zaia-sequential"),
            Column("sequential, -O3", "command-bhargava-zaia-sequential", 1, "build=optimised"),
            Column("ParlayLib × 8", "command-bhargava-zaia-parlay", 8),
            Column("CUDA", "command-bhargava-zaia-cuda"),
            Column("CUDA, wait-free", "command-bhargava-zaia-cuda", 1, "union_find=wait-free"),
            Column("CUDA, shuffled", "command-bhargava-zaia-cuda", 1, "order=shuffled"),
        ],
        "All are the authors' programs; that of the last column reads the edges in random order.",
    ),
    Table(
        "Shou and He's CUDA code and baselines",
        "h100-16c",
        [
            *plain("edge-boruvka-cuda"),
            Column("`kruskal` as published", "kruskal", 1, "prefetch=false,sort=comparison,union=rank"),
            *plain("filter-kruskal"),
        ],
    ),
]


def page(found: Iterable[Reference]) -> str:
    """Return the page: the machines, and every table."""
    machines = {reference.machine: reference for reference in found}
    newest = {name: _newest(load_records(reference.records)) for name, reference in machines.items()}
    lines = [
        "# Measurements",
        "",
        "This page shows times of our algorithms, of libraries and of the papers' programs. `python",
        "docs/measurements.py` makes it from the records in `results/reference/`. Times are milliseconds of",
        "*compute*, the median of the processes' medians ([method](method.md)); every forest is proved. A ~ marks a",
        "time of fewer than three processes; *spread* means that the processes' medians lie more than 10 % apart; × 4",
        "means four threads or ranks. The last rows show the time of the first column divided by that of each column:",
        "geometric mean, least and greatest ratio. The [machines](#machines) are described at the end. Edges are",
        "undirected. Whole calls, which take longer, are under [performance](performance.md).",
    ]
    for entry in TABLES:
        lines += ["", f"## {entry.title}", "", *_lines(entry, newest[entry.machine])]
    lines += ["", "## Machines"]
    for name, reference in machines.items():
        lines += ["", f"**{name}**: {reference.about.title}, {reference.about.date}. {reference.about.note}"]
    return "\n".join(lines) + "\n"


def _newest(records: Iterable[Record]) -> dict[tuple[str, Column], Record]:
    """Return the newest proved record of each run, by graph and column without a name."""
    found: dict[tuple[str, Column], Record] = {}
    for record in sorted(records, key=lambda record: record.measurement["created"]):
        if record.proved:
            run = record.run
            found[run.graph, Column("", run.algorithm, run.width, run.options)] = record
    return found


def _lines(entry: Table, newest: Mapping[tuple[str, Column], Record]) -> Iterator[str]:
    """Yield the lines of a table: its notes, a row for each graph, and the ratios to its first column."""
    graphs = {graph: record.measurement["graph"]["m"] for (graph, _), record in newest.items()}
    shown = {
        (column.name, graph): newest[graph, column._replace(name="")]
        for column in entry.columns
        for graph in graphs
        if (graph, column._replace(name="")) in newest
    }
    count = Counter(graph for _, graph in shown)
    shown = {key: record for key, record in shown.items() if count[key[1]] >= entry.least}
    times = {key: 1e3 * (summarise(medians(record.measurement)).median or 0) for key, record in shown.items()}
    head, *rows = zip(*table(times, entry.columns[0].name), strict=True)
    bodies, ratios = rows[:-3], rows[-3:] if len(rows) > 4 else rows[-3:-2]
    flags = Counter(flag for record in shown.values() for flag in record.measurement["conditions"]["flags"])
    disturbed = [
        f"{flags[flag]} of {len(shown)} runs are flagged *{flag}*"
        for flag in ("busy", "stolen", "spread")
        if flags[flag]
    ]
    yield " ".join(filter(None, (f"{entry.machine}.", entry.note, *(f"{text}." for text in disturbed))))
    yield ""
    yield _row(("graph", "edges", *head[1:]))
    yield "|---|" + "---:|" * len(head)
    for name, *values in sorted(bodies, key=lambda row: graphs[row[0]]):
        cells = [
            _number(value, few=value is not None and len(medians(shown[run, name].measurement)) < 3)
            for run, value in zip(head[1:], values, strict=True)
        ]
        yield _row((name, f"{graphs[name]:,}", *cells))
    for name, *values in ratios:
        yield _row((name, "", *map(_number, values)))


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _number(value: float | None, few: bool = False) -> str:
    return "–" if value is None else f"{'~' if few else ''}{value:,.10g}"


if __name__ == "__main__":
    PAGE.write_text(page(references(ROOT / "results")))
