"""``mst advise``: which algorithm suits a graph on so many cores, and what that rests on."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

HELP = "say which algorithm suits a graph and this hardware, and by what measured margin"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("graph", nargs="?", metavar="FILE", help="graph file; or give --n and --m")
    parser.add_argument("--n", type=int, metavar="N", help="vertices")
    parser.add_argument("--m", type=int, metavar="M", help="undirected edges")
    parser.add_argument("--threads", type=int, metavar="N", help="cores that may be used (default: all)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Look the graph up in the table."""
    from mst import advice
    from mst.errors import ConfigError
    from mst.solver import read_graph, usable_width

    if arguments.graph is not None:
        graph = read_graph(arguments.graph)
        n, m = graph.n, graph.m
    elif arguments.n is not None and arguments.m is not None:
        n, m = arguments.n, arguments.m
    else:
        raise ConfigError("name a graph FILE, or give --n and --m")
    width = arguments.threads or usable_width()
    choice = advice.choose(n, m, width=width)
    if arguments.json:
        print(json.dumps({"n": n, "m": m, "cores": width, **asdict(choice)}))
        return 0
    print(f"n={n:,} m={m:,} on {width} cores: {choice.algorithm} with {choice.width} threads")
    for name, ratio in list(choice.times.items())[1:]:
        print(f"  {name}: {ratio / next(iter(choice.times.values())):.2f} times as long")
    print(f"measured on {choice.machine or 'nothing'}")
    return 0
