"""``mst solve``: the forest of a graph file."""

from __future__ import annotations

import argparse
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from mst.atomic import is_standard_output
from mst.commands._arguments import add_format, add_json, add_options, add_threads, assignments, reads_in_parts
from mst.commands._print import graph_size, json_text, message_stream
from mst.progress import remark, step
from mst.units import counted, seconds

if TYPE_CHECKING:
    from mst.forest import Forest
    from mst.solver import Request
    from mst.streaming import StreamForest

HELP = "compute the minimum spanning forest of a graph file"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        metavar="FILE",
        help="graph file of any known format, plain or compressed, or Parquet; - is standard input",
    )
    parser.add_argument("--algorithm", default="auto", metavar="ID", help="see mst list (default: auto)")
    add_options(parser)
    add_threads(parser, "threads that may be used (default: all cores)")
    add_format(parser, "read FILE as this format; by default its content decides")
    parser.add_argument(
        "--memory",
        metavar="SIZE",
        help="read the file in parts, using at most this much memory, such as 8G: for graphs that do not fit",
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="write the forest's edges there; its name decides the format (.csv for pandas, .parquet with edge ids)",
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    import mst
    from mst import registry
    from mst.formats.files import read_weighted
    from mst.solver import Request, check_request, choose, code_seconds, width_of

    options: dict[str, Any] = assignments(arguments.option, "--option", "sort=radix")
    if arguments.out:
        check_target(arguments.out)
        _refuse_within(arguments.out, Path(arguments.file))
    asked = Request(arguments.algorithm, arguments.threads, options)
    check_request(asked)  # before a large file is read
    if reads_in_parts(arguments.file, arguments.format, arguments.memory):
        return _solve_in_parts(arguments, asked)
    with step(f"reading {arguments.file}") as working:
        started = perf_counter()
        graph, weighted = read_weighted(arguments.file, format=arguments.format)
        read_seconds = perf_counter() - started - code_seconds()
        named, threads = arguments.algorithm, arguments.threads
        if asked.is_auto:
            choice = choose(graph, asked)
            named, threads, options = choice.algorithm, choice.width, {**choice.options, **options}
        working.update(f"{named} on {graph_size(graph.n, graph.m)}")
        forest = mst.minimum_spanning_forest(graph, algorithm=named, threads=threads, **options)
    algorithm = registry.get(forest.algorithm)
    taken = {"read": read_seconds, **forest.seconds, "code": code_seconds()}
    if arguments.out:
        with step(f"writing {arguments.out}"):
            ids = getattr(graph, "labels", None)
            write_forest(arguments.out, forest, ids)
        # A format that keeps no ids numbers the vertices from 0 or 1.
        if not _keeps_ids(arguments.out) and ids not in (None, range(1, graph.n + 1)):
            _remark_lost_ids(arguments, "numbers the vertices in the order of their ids")
    taken = {part: value for part, value in taken.items() if value > 1e-4 or part not in ("transfer", "code")}
    width = width_of(algorithm, threads)
    _print_summary(arguments, forest, algorithm.id, algorithm.resolve(options), width, taken, weighted)
    return 0


def _solve_in_parts(arguments: argparse.Namespace, asked: Request) -> int:
    """Solve for a file that need not fit into memory."""
    from mst.formats.ids import count_used
    from mst.solver import batch_solver, code_seconds
    from mst.streaming import forest_of_file, open_edges

    started = perf_counter()
    checkpoint = None
    if arguments.out and not is_standard_output(arguments.out):
        checkpoint = arguments.out.with_name(arguments.out.name + ".checkpoint")
    solve, width = batch_solver(asked)
    file = open_edges(Path(arguments.file), format=arguments.format, width=width, memory=arguments.memory)
    forest = forest_of_file(file, solve=solve, width=width, memory=arguments.memory, checkpoint=checkpoint)
    if arguments.out:
        with step(f"writing {arguments.out}"):
            write_forest(arguments.out, forest, file.ids)
        known = file.n is not None or _keeps_ids(arguments.out)
        if not known and forest.n > max(file.least_n or 0, count_used(forest.n, forest.u, forest.v)):
            _remark_lost_ids(arguments, "has a vertex for each number from 0 to the largest id")
    if checkpoint:
        checkpoint.unlink(missing_ok=True)
    taken = {**forest.seconds, "all": perf_counter() - started, "code": code_seconds()}
    named = forest.algorithm or arguments.algorithm
    _print_summary(arguments, forest, named, asked.options, width, taken, file.weighted)
    return 0


def _remark_lost_ids(arguments: argparse.Namespace, numbering: str) -> None:
    remark(f"{arguments.out} {numbering} in {arguments.file}; write .txt, .csv or .parquet to keep the ids")


def _print_summary(
    arguments: argparse.Namespace,
    forest: Forest | StreamForest,
    algorithm: str,
    options: dict[str, Any],
    width: int,
    taken: dict[str, float],
    weighted: bool,
) -> None:
    from mst import registry

    if forest.m and not weighted:
        remark(f"{arguments.file}: has no weights; every edge weighs 1")
    # Every algorithm that "auto" chooses is exact.
    exact = arguments.algorithm == "auto" or registry.get(algorithm).exact
    summary = {
        "file": arguments.file,
        "vertices": forest.n,
        "edges": forest.m,
        "components": forest.components,
        "forest_edges": len(forest),
        "weight": forest.weight,
        "exact": exact,
        "algorithm": algorithm,
        "options": options,
        "width": width,
        "seconds": {part: round(value, 6) for part, value in taken.items()},
    }
    print(json_text(summary) if arguments.json else _as_text(summary), file=message_stream(arguments.out))


def check_target(path: Path) -> None:
    """Raise the errors that `write_forest` would raise for any forest, before there is one."""
    from mst import formats

    formats.check_target(path, format="canonical" if _is_parquet_name(path) else None)


def _refuse_within(out: Path, graph: Path) -> None:
    """Raise `InputError` if a forest would replace its graph, or become a part of it."""
    from mst.errors import InputError

    if out.is_file() and graph.exists() and out.samefile(graph):
        raise InputError(f"{out} is the graph: write the forest to another file")
    if _is_parquet_name(out) and graph.is_dir() and out.parent.samefile(graph):
        raise InputError(f"{out} would become part of the graph: write the forest to another folder")


def _keeps_ids(path: Path) -> bool:
    """Return whether a forest that is written there keeps any ids of vertices."""
    from mst import formats

    return _is_parquet_name(path) or formats.FORMATS[formats.check_target(path)].keeps_ids


def write_forest(path: Path, forest: Any, ids: Any) -> None:
    """Write the forest's edges as a graph file, in the format that the suffix names, with these ids if it keeps any."""
    import numpy as np

    from mst.formats import write
    from mst.graph import Graph

    if _is_parquet_name(path):
        from mst.streaming.files import write_parquet

        write_parquet(path, forest, np.array(ids) if isinstance(ids, list) else ids)
    else:
        # The forest of a stream has no graph.
        name = f"forest of {getattr(getattr(forest, 'graph', None), 'name', '')}"
        write(path, Graph(forest.n, *forest.edges(), name=name), ids=ids if _keeps_ids(path) else None)


def _is_parquet_name(path: Path) -> bool:
    return path.suffix.lower() == ".parquet"


def _as_text(summary: dict[str, Any]) -> str:
    # The parts of a stream overlap, and code is loaded in all of them.
    code = "of which compiling or loading code" if "all" in summary["seconds"] else "compiling or loading code"
    times = {code if part == "code" else part: value for part, value in summary["seconds"].items()}
    phases = ", ".join(f"{part} {seconds(value)}" for part, value in times.items())
    kind = "forest" if summary["exact"] else "approximate forest"
    return (
        f"{summary['file']}: {graph_size(summary['vertices'], summary['edges'])}\n"
        f"{kind}: {counted(summary['forest_edges'], 'edge')}, {counted(summary['components'], 'component')}, "
        f"weight {summary['weight']}\n"
        f"{summary['algorithm']}, width {summary['width']}: {phases}"
    )
