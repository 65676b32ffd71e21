"""``mst convert``: a graph file into another format."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from mst.commands._print import beside

HELP = "convert a graph file into another format"


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("source", metavar="IN", help="a graph file; its content decides the format")
    parser.add_argument("target", metavar="OUT", help="the file to write; its name decides the format")
    parser.add_argument("--from", dest="source_format", metavar="FORMAT", help="read IN as this format")
    parser.add_argument("--to", dest="target_format", metavar="FORMAT", help="write OUT in this format")
    parser.add_argument(
        "--simple",
        action="store_true",
        help="drop self-loops, keep the lightest of parallel edges, sort the rows by (u, v)",
    )
    parser.add_argument(
        "--weights",
        metavar="DTYPE:LOW:HIGH[:distinct]",
        help="generate weights, such as int32:1:1000; the same edge gets the same weight in any order of rows",
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of generated weights (default: %(default)s)")


def run(args: Namespace) -> int:
    from mst import formats
    from mst.graph import Graph
    from mst.simplify import simplify
    from mst.weights import WeightSpec, hash_weights

    spec = WeightSpec.parse(args.weights) if args.weights is not None else None
    raw = formats.read_raw(args.source, format=args.source_format)
    graph = raw.graph()
    for remark in raw.summary.remarks:
        print(f"{args.source}: {remark}", file=sys.stderr)
    if args.simple:
        graph, merged = simplify(graph)
        print(
            f"{args.source}: dropped {merged.loops:,} self-loops, {merged.reciprocal:,} reciprocal arcs, "
            f"{merged.parallel:,} parallel edges",
            file=sys.stderr,
        )
    if spec is not None:
        w = hash_weights(graph.u, graph.v, seed=args.seed, spec=spec)
        graph = Graph(graph.n, graph.u, graph.v, w, trusted=True)
    elif raw.w is None:
        print(f"{args.source}: has no weights; every edge weighs 1 (see --weights)", file=sys.stderr)
    formats.write(args.target, graph, format=args.target_format)
    summary = f"{args.target}: n = {graph.n:,}, m = {graph.m:,}, weights {graph.w.dtype}"
    print(summary, file=beside(args.target))
    return 0
