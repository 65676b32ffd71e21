"""``mst solve``: the forest of a graph file."""

from __future__ import annotations

import argparse
import json
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from mst.commands._arguments import add_format, add_json, add_options, add_threads, assignments
from mst.commands._print import beside, graph_size
from mst.progress import Step, step
from mst.units import counted, seconds

HELP = "compute the minimum spanning forest of a graph file"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "file", metavar="FILE", help="graph file of any known format, plain or compressed; - is standard input"
    )
    parser.add_argument("--algorithm", default="auto", metavar="ID", help="see mst list (default: auto)")
    add_options(parser)
    add_threads(parser, "width: threads or GPUs")
    add_format(parser, "read FILE as this format; by default its content decides")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the forest's edges there (u v w)")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Read, solve, print."""
    import mst
    from mst import formats, registry
    from mst.kernels.primitives.machine_code import FirstCompiled, code_seconds
    from mst.solver import choose_now, width_of

    options = assignments(arguments.option, "--option", "sort=radix")
    if arguments.out:
        formats.check_target(arguments.out)
    with step(f"reading {arguments.file}") as working, FirstCompiled(partial(_say_that_it_compiles, working)):
        started = perf_counter()
        graph = mst.read_graph(arguments.file, format=arguments.format)
        read_seconds = perf_counter() - started - code_seconds()
        named, threads = arguments.algorithm, arguments.threads
        if named == "auto":
            choice = choose_now(graph, threads, options)
            named, threads, options = choice.algorithm, choice.width, {**choice.options, **options}
        working.update(f"{named} on {graph_size(graph.n, graph.m)}")
        forest = mst.minimum_spanning_forest(graph, algorithm=named, threads=threads, **options)
    algorithm = registry.get(forest.algorithm)
    parts = {"read": read_seconds, **forest.seconds, "code": code_seconds()}
    if arguments.out:
        with step(f"writing {arguments.out}"):
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
            part: round(taken, 6)
            for part, taken in parts.items()
            if taken > 1e-4 or part not in ("transfer", "code")
        },
    }
    if arguments.json:
        print(json.dumps(summary), file=beside(arguments.out))
    else:
        print(_as_text(summary), file=beside(arguments.out))
    return 0


def _say_that_it_compiles(working: Step) -> None:
    working.update(f"{working.text} (compiling, once for this machine)")


def write_forest(path: Path, forest: Any) -> None:
    """Write the forest's edges as a graph file; the suffix names the format."""
    from mst.formats import write
    from mst.graph import Graph

    u, v, w = forest.edges()
    write(path, Graph(forest.graph.n, u, v, w, name=f"forest of {forest.graph.name}"))


def _as_text(summary: dict[str, Any]) -> str:
    parts = {{"code": "machine code"}.get(part, part): value for part, value in summary["seconds"].items()}
    phases = ", ".join(f"{part} {seconds(value)}" for part, value in parts.items())
    return (
        f"{summary['file']}: {graph_size(summary['vertices'], summary['edges'])}\n"
        f"forest: {counted(summary['forest_edges'], 'edge')}, {counted(summary['components'], 'component')}, "
        f"weight {summary['weight']}\n"
        f"{summary['algorithm']}, width {summary['width']}: {phases}"
    )
