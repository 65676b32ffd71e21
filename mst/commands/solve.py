"""``mst solve``: the forest of a graph file."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

from mst.commands._print import graph_size
from mst.reporting.units import counted

HELP = "compute the minimum spanning forest of a graph file"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("file", metavar="FILE", help="graph file of any known format, plain or compressed")
    parser.add_argument("--algorithm", default="auto", metavar="ID", help="see mst list (default: auto)")
    add_options(parser)
    parser.add_argument("--threads", type=int, metavar="N", help="width: threads or GPUs")
    parser.add_argument("--format", metavar="F", help="read FILE as this format instead of asking its content")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the forest's edges there (u v w)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare ``--option K=V``, which may be given several times."""
    parser.add_argument(
        "--option", action="append", default=[], metavar="K=V", help="an option of the algorithm; repeatable"
    )


def parse_options(pairs: list[str]) -> dict[str, str]:
    """Return ``K=V`` texts as a mapping."""
    from mst.errors import ConfigError

    for pair in pairs:
        if "=" not in pair:
            raise ConfigError(f"--option {pair!r}: expected K=V, such as sort=radix")
    return dict(pair.split("=", 1) for pair in pairs)


def run(arguments: argparse.Namespace) -> int:
    """Read, solve, print."""
    import mst
    from mst import registry
    from mst.kernels.primitives.machine_code import FirstCompiled, code_seconds
    from mst.solver import choose, width_of

    options = parse_options(arguments.option)
    with FirstCompiled(_say_that_it_compiles):
        started = perf_counter()
        graph = mst.read_graph(arguments.file, format=arguments.format)
        read_seconds = perf_counter() - started - code_seconds()
        named, threads = arguments.algorithm, arguments.threads
        if named == "auto":
            choice = choose(graph, threads)
            named, threads, options = choice.algorithm, choice.width, {**choice.options, **options}
        forest = mst.minimum_spanning_forest(graph, algorithm=named, threads=threads, **options)
    algorithm = registry.get(forest.algorithm)
    parts = {"read": read_seconds, **forest.seconds, "code": code_seconds()}
    if arguments.out:
        write_forest(arguments.out, forest)
    summary = {
        "file": arguments.file,
        "vertices": graph.n,
        "edges": graph.m,
        "components": forest.components,
        "forest_edges": len(forest),
        "weight": forest.weight,
        "algorithm": algorithm.id,
        "options": algorithm.resolve(options),
        "width": width_of(algorithm, threads),
        "seconds": {
            part: round(seconds, 6)
            for part, seconds in parts.items()
            if seconds > 1e-4 or part not in ("transfer", "code")
        },
    }
    if arguments.json:
        print(json.dumps(summary))
    else:
        _print(summary)
    return 0


def _say_that_it_compiles() -> None:
    if sys.stderr.isatty():
        print("compiling, once for this machine…", file=sys.stderr)


def write_forest(path: Path, forest: Any) -> None:
    """Write the forest's edges as a graph file of its own; the suffix names the format."""
    from mst.formats import write
    from mst.graph import Graph

    u, v, w = forest.edges()
    write(path, Graph(forest.graph.n, u, v, w, name=f"forest of {forest.graph.name}"))


def _print(summary: dict[str, Any]) -> None:
    parts = {{"code": "machine code"}.get(part, part): value for part, value in summary["seconds"].items()}
    seconds = ", ".join(f"{part} {value:.3f} s" for part, value in parts.items())
    print(
        f"{summary['file']}: {graph_size(summary['vertices'], summary['edges'])}\n"
        f"forest: {counted(summary['forest_edges'], 'edge')}, {counted(summary['components'], 'component')}, "
        f"weight {summary['weight']}\n"
        f"{summary['algorithm']}, width {summary['width']}: {seconds}",
        file=sys.stdout,
    )
