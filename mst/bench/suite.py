"""One core side by side: ours, Kruskal, its proof, other libraries and programs on disk, by turns.

``python -m mst.bench.suite sequential`` is what ``make bench-sequential`` runs: `mst.bench.side_by_side` by the
processor's clock. ``--command 'NAME=/path/program {graph}'`` adds a program (`mst.bench.side_by_side.Command`).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

from mst import registry
from mst.bench import side_by_side
from mst.bench.measure.session import pinned_environment
from mst.bench.side_by_side import PROOF, Case, Command, Comparison, Contender, sequential_cases
from mst.errors import ConfigError, MSTError, nearest

PER_VERTEX, PER_EDGE = 24, 16
"""Bytes that a solve may take at its peak, beyond the input."""

PEERS = ("scipy", "rustworkx", "networkit-kruskal", "networkit-prim", "igraph", "networkx")
OURS = "filter-boruvka"
UNFILTERED = Contender(OURS, {"filter": "off"})

CONTENDERS = (
    Contender(OURS),
    Contender(OURS, {"input": "csr"}),
    UNFILTERED,
    Contender("kruskal"),
    Contender(PROOF),
    Contender("scipy"),
    Contender("rustworkx"),
    # Never near the fastest, and minutes on such graphs.
    Contender("networkit-kruskal", most_vertices=5e6),
    Contender("networkit-prim", most_vertices=5e6),
    Contender("igraph", most_edges=2e6),
    Contender("networkx", most_edges=5e5),
)


def comparisons(programs: Sequence[str]) -> tuple[Comparison, ...]:
    """Return what the suite is run for, with programs of these labels."""
    return (
        Comparison("kruskal", ("scipy", "rustworkx"), "kruskal / scipy, rustworkx"),
        Comparison(PROOF, ("kruskal",), "proof / kruskal"),
        Comparison(OURS, PEERS, f"{OURS} / fastest peer"),
        Comparison(f"{OURS}[input=csr]", PEERS, f"{OURS} from CSR / fastest peer"),
        *(Comparison(OURS, (label,), f"{OURS} / {label}") for label in programs),
        Comparison(OURS, (UNFILTERED.label,), "with / without its filter"),
    )


def cases(scale: str) -> list[Case]:
    """Return the graphs for one core, and those whose weights might do the filter harm."""
    part = 1 if scale == "full" else 100
    size = dict(n=2_000_000 // part, m=8_000_000 // part)
    only = (OURS, UNFILTERED.label, "kruskal", PROOF)
    weak = [Case("uniform 2 M, degree 8", "uniform", size, weights, only) for weights in side_by_side.ARRANGED]
    weak += [
        Case(f"communities of {each}", "communities", dict(**size, size=each), "by community", only)
        for each in (16, 1000)
    ]
    return [*sequential_cases(scale), *weak]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the suite; return 0 if all forests were right."""
    parser = side_by_side.parser_of("python -m mst.bench.suite", __doc__.split("\n\n")[0])
    parser.add_argument("suite", choices=("sequential", "first-call"))
    parser.add_argument("--contenders", nargs="*", metavar="ID", help="only these algorithms")
    parser.add_argument(
        "--clock", choices=("cpu", "wall"), default="cpu", help="what is compared; both are written"
    )
    chosen = parser.parse_args(arguments)
    try:
        if chosen.suite == "first-call":
            print(first_calls(chosen.contenders))
            return 0
        contenders = [*CONTENDERS, *programs()]
        if chosen.contenders is not None:
            for name in chosen.contenders:
                side_by_side.find(name)
            contenders = [c for c in contenders if c.algorithm in chosen.contenders]
        named = [*contenders, *(Command.parse(text) for text in chosen.command)]
        wanted = side_by_side.chosen_cases(cases(chosen.scale), chosen.graphs)
        report = side_by_side.run("sequential", wanted, named, chosen, chosen.clock)
    except MSTError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return side_by_side.tell(report, page(report), chosen.out)


def programs() -> Iterator[Contender]:
    """Yield the programs on disk that are configured (`mst.programs`)."""
    for name in registry.algorithms():
        if name.startswith("command-"):
            yield Contender(name)


def page(report: dict[str, Any]) -> str:
    """Return times, ratios, weak spots and memory as Markdown."""
    clock = report["clock"]
    usual = [r for r in report["results"] if not r["case"]["only"]]
    weak = [r for r in report["results"] if r["case"]["only"]]
    labels = dict.fromkeys(label for r in usual for label in r["contenders"])
    known = {c.label for c in CONTENDERS}
    compared = comparisons([label for label in labels if label not in known])
    ours = {OURS, f"{OURS}[input=csr]", UNFILTERED.label, "kruskal", PROOF}
    parts = [side_by_side.header(report)]
    if usual:
        parts += [side_by_side.times(usual, clock), side_by_side.speedups(usual, compared, clock)]
    if weak:
        against = [c for c in compared if c.ours in (OURS, PROOF)]
        parts += ["Weak spots:", side_by_side.times(weak, clock), side_by_side.speedups(weak, against, clock)]
    parts.append(side_by_side.shares(report["results"], PER_VERTEX, PER_EDGE, ours.__contains__))
    return "\n\n".join(part for part in [*parts, side_by_side.left_out(report)] if part)


# First calls

_FIRST_CALL = """
import sys, time
import numpy as np
from mst import registry
from mst.graph import Graph
rng = np.random.default_rng(1)
n, m = 3000, 40_000
graph = Graph(n, rng.integers(0, n, m), rng.integers(0, n, m), rng.integers(0, 2**24, m, np.int32))
chosen = registry.get(sys.argv[1])
started = time.process_time()
module = chosen.load()
problem = module.prepare(graph, width=1, **chosen.resolve({}))
module.collect(problem, module.solve(problem))
print(time.process_time() - started)
"""


def first_calls(wanted: Sequence[str] | None) -> str:
    """Return a table of the processor seconds of a first call: with nothing cached on disk, and from the cache."""
    names = wanted or [name for name, a in registry.algorithms().items() if a.paradigm == "sequential"]
    body = []
    for name in names:
        if name not in registry.algorithms():
            raise ConfigError(f"no algorithm {name!r}{nearest(name, registry.algorithms())}")
        with tempfile.TemporaryDirectory(prefix="mst-cache-") as cache:
            environment = {**os.environ, **pinned_environment(1), "MST_CACHE": cache}
            command = [sys.executable, "-c", _FIRST_CALL, name]
            seconds = [
                float(
                    subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
                )
                for _ in range(2)
            ]
        body.append((name, *(f"{s:.2f}" for s in seconds)))
    return side_by_side.rows(("algorithm", "compiling, s", "from the cache, s"), body)


if __name__ == "__main__":
    sys.exit(main())
