"""``mst convert``: a graph file into another format."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from mst.commands._arguments import refuse_without
from mst.commands._print import remark_written
from mst.progress import remark, step
from mst.units import counted

HELP = "convert a graph file into another format"


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("source", metavar="IN", help="a graph file, or -; its content decides the format")
    parser.add_argument("target", metavar="OUT", help="the file to write, or -; its name decides the format")
    parser.add_argument("--from", dest="source_format", metavar="FORMAT", help="read IN as this format")
    parser.add_argument("--to", dest="target_format", metavar="FORMAT", help="write OUT in this format")
    parser.add_argument(
        "--simple",
        action="store_true",
        help="drop self-loops, keep only the lightest of parallel edges, sort the rows by (u, v)",
    )
    parser.add_argument(
        "--weights",
        metavar="DTYPE:LOW:HIGH[:distinct][:ORDER]",
        help="generate weights, such as int32:1:1000; the same edge gets the same weight in any order of rows, "
        "unless they are to follow the rows: ORDER is ascending, descending or local",
    )
    parser.add_argument("--seed", type=int, help="seed of the generated weights (default: 1)")


def run(args: Namespace) -> int:
    from mst import formats
    from mst.formats.ids import count_used
    from mst.graph import Graph
    from mst.simplify import simplify
    from mst.weights import WeightSpec, hash_weights

    refuse_without(args, "weights", "seed")
    spec = WeightSpec.parse(args.weights) if args.weights is not None else None
    target = formats.FORMATS[formats.check_target(args.target, format=args.target_format)]
    with step(f"reading {args.source}"):
        raw = formats.read_raw(args.source, format=args.source_format)
        graph = raw.graph()
    for assumed in raw.summary.remarks:
        remark(f"{args.source}: {assumed}")
    if args.simple:
        with step(f"simplifying {args.source}"):
            graph, merged = simplify(graph)
        remark(
            f"{args.source}: dropped {counted(merged.loops, 'self-loop')}, "
            f"{counted(merged.reciprocal, 'reciprocal arc')}, {counted(merged.parallel, 'parallel edge')}"
        )
    if spec is not None:
        w = hash_weights(graph.u, graph.v, seed=1 if args.seed is None else args.seed, spec=spec)
        graph = Graph(graph.n, graph.u, graph.v, w, trusted=True)
    elif raw.w is None:
        remark(f"{args.source}: has no weights; every edge weighs 1 (see --weights)")
    ids = raw.ids if target.keeps_ids else None
    # A list with ids has no vertex count, so it would lose vertices without edges.
    if ids is not None and target.keeps_isolated and count_used(graph.n, graph.u, graph.v) < graph.n:
        ids = None
    with step(f"writing {args.target}"):
        formats.write(args.target, graph, format=args.target_format, ids=ids)
    # A format that keeps no ids numbers the vertices from 0 or 1.
    if ids is None and (raw.original_ids is not None or raw.base > (0 if target.keeps_ids else 1)):
        remark(f"{args.target} renumbers the vertices in the order of their ids in {args.source}")
    remark_written(args.target, graph, target)
    return 0
