"""``mst advise``: the best algorithm for a graph on this hardware, and the measurements behind it."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from mst.commands._arguments import add_json, add_threads
from mst.commands._print import json_text
from mst.units import counted, seconds

_USUAL_DENSITY = 8
"""Edges per vertex if only the number of edges is known: between roads and social networks."""

HELP = "show the best algorithm for a graph on this hardware, and its measured margin"


def configure(parser: argparse.ArgumentParser) -> None:
    from mst.advice.kinds import KINDS

    parser.add_argument("graph", nargs="?", metavar="FILE", help="graph file (or use --m and --n)")
    parser.add_argument("--n", type=int, metavar="N", help=f"vertices (default: M/{_USUAL_DENSITY})")
    parser.add_argument("--m", type=int, metavar="M", help="undirected edges")
    parser.add_argument("--weights", choices=KINDS, help="kind of weights (default: random)")
    add_threads(parser, "cores that may be used (default: all)")
    parser.add_argument(
        "--gpu",
        choices=("auto", "none", "host", "device"),
        default="auto",
        help="whether a GPU may be used, and where the graph is (auto: host if this machine has one)",
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Look the graph up in the table."""
    from mst import advice
    from mst.bench.machine import this_machine
    from mst.cores import usable_width

    here = this_machine()
    gpu = {"auto": "host" if here.gpus else None, "none": None}.get(arguments.gpu, arguments.gpu)
    facts = _facts(arguments)
    width = arguments.threads or usable_width()
    asked = {name: facts[name] for name in ("n", "m", "weights") if name in facts}
    choice = advice.table().choose(**asked, width=width, gpu=gpu)
    elsewhere = not choice.machine.startswith(f"{here.cpu}, {here.cores} cores")
    if arguments.json:
        sizes = {"m": facts["m"], "measured_m": choice.m}
        print(json_text({**facts, "cores": width, **asdict(choice), **sizes, "elsewhere": elsewhere}))
    else:
        print("\n".join(explanation(facts, width, choice, elsewhere)))
    return 0


def _facts(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the known facts of the graph, from its file or from the arguments."""
    from mst.advice.kinds import are_in_order, weights_along_rows
    from mst.errors import ConfigError
    from mst.solver import read_graph

    facts: dict[str, Any]
    for name, least in (("n", 1), ("m", 0), ("threads", 1)):
        given = getattr(arguments, name)
        if given is not None and not given >= least:
            raise ConfigError(f"--{name} must be at least {least}, got {given:g}")
    if arguments.graph is not None:
        if arguments.n is not None or arguments.m is not None:
            raise ConfigError(f"n and m are read from {arguments.graph}: leave out --n and --m")
        graph = read_graph(arguments.graph)
        facts = {"n": graph.n, "m": graph.m, "weights": weights_along_rows(graph.w)}
        facts["in_order"] = are_in_order(graph.w)
    elif arguments.m is not None:
        facts = {"n": arguments.n or max(arguments.m // _USUAL_DENSITY, 1), "m": arguments.m}
    else:
        raise ConfigError("name a graph FILE, or give its numbers of edges and vertices by --m and --n")
    return facts | ({"weights": arguments.weights} if arguments.weights else {})


def explanation(facts: dict[str, Any], width: int, choice: Any, elsewhere: bool) -> list[str]:
    """Return the lines that state the choice and the measurements behind it."""
    lines = [f"n={facts['n']:,} m={facts['m']:,}"]
    if "weights" in facts:
        order = ", rows in their order" if facts.get("in_order") else ""
        lines[0] += f", {facts['weights']} weights{order}"
    given = "".join(f" {key}={value}" for key, value in choice.options.items())
    place = {
        None: f"{choice.width} of {width} cores",
        "host": "the GPU, transfers included",
        "device": "the GPU, where the graph is",
    }[choice.gpu]
    lines.append(f"{choice.algorithm}{given} on {place}")
    if choice.seconds and choice.m and not (choice.extrapolated and facts["m"] < choice.m):
        # Every algorithm is close to linear in the edges, except for fewer than those of the table.
        about = seconds(choice.seconds * facts["m"] / choice.m, 2)
        lines[-1] += f": about {about} for {counted(facts['m'], 'edge')}, a whole call"
    if choice.margin is not None:
        lines.append(f"the next best algorithm took {choice.margin:.2f} times as long")
    if not choice.times:
        return [*lines, "no measurement applies to this hardware"]
    lines.append("times relative to the best (@N on N cores, @gpu with transfers, @device without them):")
    lines += [f"  {name}: {ratio:.2f}" for name, ratio in choice.times.items()]
    kinds = ", ".join(choice.kinds)
    lines.append(
        f"nearest measurement: m={choice.m:,}, {choice.density:g} edges per vertex, {kinds} weights, on "
        f"{choice.machine}"
    )
    if elsewhere:
        lines.append("measured on another machine: docs/advice.md says how to measure this one")
    if choice.extrapolated:
        lines.append(f"extrapolated: {choice.extrapolated}")
    return lines
