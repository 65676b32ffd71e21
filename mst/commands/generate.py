"""``mst generate``: a generated graph, into a file."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from typing import TYPE_CHECKING

from mst.commands._arguments import add_format, assignments
from mst.commands._print import remark_written
from mst.progress import step

if TYPE_CHECKING:
    from mst.generators import Generator

HELP = "generate a graph: uniform, grid, rmat, delaunay and more"


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("generator", nargs="?", metavar="GENERATOR", help="see --list")
    parser.add_argument(
        "--list", action="store_true", help="list the generators, or only GENERATOR, and the parameters"
    )
    parser.add_argument(
        "--param",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME=VALUE",
        help="parameters of the generator, for instance n=1000 m=5000",
    )
    parser.add_argument("--seed", type=int, default=1, help="any integer (default: %(default)s)")
    parser.add_argument(
        "--weights",
        default="int32:1:16777215",
        metavar="DTYPE:LOW:HIGH[:distinct][:ORDER]",
        help="weights to generate: integers up to HIGH, floats below it; ORDER along the rows: ascending, descending "
        "or local (default: %(default)s, in no order)",
    )
    parser.add_argument("--connected", action="store_true", help="require a connected graph")
    parser.add_argument(
        "--order", default="shuffled", metavar="ORDER", help="order of the rows: shuffled or sorted"
    )
    parser.add_argument("--relabel", action="store_true", default=None, help="renumber the vertices at random")
    parser.add_argument("--out", metavar="FILE", help="the file to write, or -; its name decides the format")
    add_format(parser, "write this format; by default the name of FILE decides")


def run(args: Namespace) -> int:
    from mst import formats
    from mst.errors import ConfigError
    from mst.generators import GENERATORS, generate, known
    from mst.weights import WeightSpec

    named = [known(args.generator)] if args.generator is not None else []
    if args.list:
        print(_listing(named or GENERATORS.values()))
        return 0
    if args.generator is None or args.out is None:
        raise ConfigError("give a generator and --out FILE, or --list to see the generators")
    target = formats.FORMATS[formats.check_target(args.out, format=args.format)]
    with step(f"generating {args.generator}") as working:
        graph = generate(
            args.generator,
            seed=args.seed,
            weights=WeightSpec.parse(args.weights),
            connected=args.connected,
            order=args.order,
            relabel=args.relabel,
            **assignments(args.param, "--param", "n=1000"),
        )
        working.update(f"writing {args.out}")
        formats.write(args.out, graph, format=args.format)
    remark_written(args.out, graph, target)
    return 0


def _listing(generators: Iterable[Generator]) -> str:
    lines = []
    for generator in generators:
        lines += [generator.name, f"  {generator.title}; connected {generator.connected}"]
        for name, parameter in generator.parameters.items():
            has_default = parameter.default is not None and not parameter.required
            default = f" (default {_shown(parameter.default)})" if has_default else ""
            lines.append(f"    {name:<12} {parameter.help}{default}")
        lines.append("")
    return "\n".join(lines).rstrip()


def _shown(default: object) -> str:
    if isinstance(default, bool):
        return str(default).lower()
    return f"{default:.6g}" if isinstance(default, float) else str(default)
