"""``mst verify``: is this the minimum spanning forest?"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from mst.commands._arguments import add_format, add_json, add_threads, reads_in_parts, refuse_without
from mst.commands._print import json_text
from mst.progress import step
from mst.units import counted, seconds

if TYPE_CHECKING:
    from mst.proof import Proof
    from mst.streaming.batches import Batch
    from mst.streaming.files import EdgeFile

HELP = "prove a forest, or the measurement of a run, against its graph"
_MISMATCHES_SHOWN = 20


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("graph", metavar="GRAPH", nargs="?", type=Path, help="graph file, or -")
    parser.add_argument("forest", metavar="FOREST", nargs="?", type=Path, help="forest file (its edges), or -")
    add_format(
        parser, "read both files as this format, except a Parquet FOREST; convert one first if they differ"
    )
    parser.add_argument(
        "--memory",
        metavar="SIZE",
        help="read GRAPH in parts, and FOREST (a Parquet file of mst solve --memory), using at most this much memory; "
        "Parquet graphs are always read in parts",
    )
    add_threads(parser, "with --memory: threads that compare")
    parser.add_argument("--record", type=Path, metavar="FILE", help="prove a measurement instead of a forest")
    parser.add_argument("--reference", type=Path, metavar="FILE", help="reference.json of the record's graph")
    parser.add_argument("--batch", type=Path, metavar="FILE", help="prove the measurements that a batch lists")
    parser.add_argument(
        "--index", type=Path, metavar="FILE", help="where to list the proved records of the batch"
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Prove; exit with 1 when the forest is wrong."""
    from mst.errors import ConfigError
    from mst.solver import code_seconds

    refuse_without(arguments, "batch", "index")
    if not arguments.batch:
        refuse_without(arguments, "record", "reference")
    if (arguments.record or arguments.batch) and not arguments.reference:
        raise ConfigError("--record and --batch need --reference, the reference.json of the graph")
    if arguments.batch:
        return _verify_batch(arguments)
    if arguments.record:
        verdict = _verify_record(arguments.record, arguments.reference)
        wrong, text = verdict["status"] == "wrong", _record_text(verdict)
    else:
        verdict = _verify_forest(arguments)
        verdict["seconds"]["code"] = code_seconds()
        wrong, text = not verdict["ok"], _forest_text(arguments, verdict)
    print(json_text(verdict) if arguments.json else text)
    return 1 if wrong else 0


def _verify_record(record: Path, reference: Path) -> dict[str, Any]:
    from mst.bench.records.verify import verify_record

    return {"record": str(record), **verify_record(record, reference)}


def _verify_batch(arguments: argparse.Namespace) -> int:
    """Prove the measurements of a batch that have no proof; a wrong forest is noted in its proof, and is no error."""
    from mst import config
    from mst.bench.planning.batches import write_index
    from mst.bench.records.schema import read_json
    from mst.bench.records.store import proof_path
    from mst.errors import ConfigError

    if arguments.index is None:
        raise ConfigError("--batch needs --index, the file that lists the proved records")
    records, runs = config.load().records, read_json(arguments.batch, "runs")["runs"]
    for record in (records / run for run in runs):
        if not proof_path(record).is_file():
            print(_record_text(_verify_record(record, arguments.reference)), flush=True)
    write_index(arguments.index, records, runs)
    return 0


def _verify_forest(arguments: argparse.Namespace) -> dict[str, Any]:
    from mst.errors import ConfigError

    if not arguments.graph or not arguments.forest:
        raise ConfigError("give a graph file and a forest file, or --record and --reference")
    if str(arguments.graph) == str(arguments.forest) == "-":
        raise ConfigError("only one of the two files can be standard input: name the other")
    # Forests in Parquet are compared as a stream.
    if any(reads_in_parts(file, None, arguments.memory) for file in (arguments.graph, arguments.forest)):
        return _verify_in_parts(arguments)
    refuse_without(arguments, "memory", "threads")
    return _verify_files(arguments)


def _verify_files(arguments: argparse.Namespace) -> dict[str, Any]:
    from mst import formats
    from mst.formats.forest_file import match
    from mst.proof import prove

    started = perf_counter()
    with step(f"reading {arguments.graph}") as working:
        raw = formats.read_raw(arguments.graph, format=arguments.format)
        working.update(f"reading {arguments.forest}")
        forest = formats.read_raw(arguments.forest, format=arguments.format)
        read = perf_counter()
        working.update(f"matching {arguments.forest} with {arguments.graph}")
        matched = match(raw, forest)
        mismatches = list(matched.mismatches())
    times = {"read": read - started, "match": perf_counter() - read}
    if mismatches:
        return _refuted(_summary(mismatches), mismatches, times)
    with step(f"proving {arguments.forest}"):
        proof = prove(raw.labelled_graph(), matched.ids)
    return _verdict(proof, times)


def _verify_in_parts(arguments: argparse.Namespace) -> dict[str, Any]:
    import numpy as np

    from mst.cores import cores_for
    from mst.formats.ids import end_of, vertices_of
    from mst.streaming import prove_batches
    from mst.streaming.files import read_forest
    from mst.streaming.memory import require_memory

    width = cores_for(arguments.threads)
    started = perf_counter()
    with step(f"reading {arguments.forest}"):
        forest = read_forest(arguments.forest)
    if arguments.memory is not None:
        require_memory(arguments.memory, forest.n)
    file = _edges(arguments, width)
    times = {"read": perf_counter() - started}
    declared = f"the forest file declares {forest.n:,} vertices, the graph has"
    if file.ids is not None:
        remedy = ": keep the ids of the graph's file, as mst solve does"
        if forest.n != (end := end_of(file.ids)):
            return _refuted(f"{declared} {end:,} from 0 to its largest id{remedy}", [], times)
        u, v = (vertices_of(ends, file.ids).astype(ends.dtype, copy=False) for ends in (forest.u, forest.v))
        if len(unknown := np.concatenate([forest.u[u < 0], forest.v[v < 0]])):
            reason = f"the forest has edges to vertex {unknown[0]}, which is not in the graph{remedy}"
            return _refuted(reason, [], times)
        forest = replace(forest, n=len(file.ids), u=u, v=v)
    edges = _CountedEdges(file)
    proof = prove_batches(forest, edges, width=width, ids=file.ids)
    if proof.ok and forest.n != edges.n:
        proof = replace(proof, ok=False, reason=f"{declared} {edges.n:,}")
    return _verdict(proof, times)


def _refuted(reason: str, mismatches: list[str], times: dict[str, float]) -> dict[str, Any]:
    """Return the output for a forest that is refuted without a proof."""
    return {"ok": False, "grade": None, "reason": reason, "mismatches": mismatches, "seconds": times}


def _verdict(proof: Proof, times: dict[str, float]) -> dict[str, Any]:
    """Return the output for a proof, with the seconds of the steps before; a failed proof has no grade."""
    spent = {**times, "prove": proof.seconds}
    return asdict(proof) | {"grade": proof.grade if proof.ok else None, "seconds": spent, "mismatches": []}


def _edges(arguments: argparse.Namespace, width: int) -> EdgeFile:
    """Return the graph's edges: in parts if `mst solve` would read them in parts, else all at once."""
    from mst import formats
    from mst.streaming import open_edges
    from mst.streaming.batches import batch_of
    from mst.streaming.files import EdgeFile

    if not reads_in_parts(arguments.graph, arguments.format, arguments.memory):
        raw = formats.read_raw(arguments.graph, format=arguments.format)
        graph = raw.graph()
        batch = batch_of((graph.u, graph.v, graph.w), str(arguments.graph))
        return EdgeFile(arguments.graph, raw.n, graph.m, lambda start: iter([batch.after(start)]), ids=raw.ids)
    return open_edges(arguments.graph, format=arguments.format, width=width, memory=arguments.memory)


class _CountedEdges:
    """The edges of a file; once all of them have been read, `n` is the number of its vertices."""

    def __init__(self, file: EdgeFile):
        self._file, self.n = file, (file.least_n or 0) if file.n is None else file.n

    def __iter__(self) -> Iterator[Batch]:
        for batch in self._file.batches(0):
            if self._file.n is None and len(batch.w):
                self.n = max(self.n, 1 + int(max(batch.u.max(), batch.v.max())))
            yield batch


def _summary(mismatches: list[str]) -> str:
    """Return the first mismatches, one per line, and the number of further ones."""
    lines = mismatches[:_MISMATCHES_SHOWN]
    if more := len(mismatches) - len(lines):
        lines.append(f"and {more:,} more: --json lists them all")
    return "\n".join(lines)


def _forest_text(arguments: argparse.Namespace, verdict: dict[str, Any]) -> str:
    if not verdict["ok"]:
        return (
            f"{arguments.forest} is not the minimum spanning forest of {arguments.graph}:\n{verdict['reason']}"
        )
    words = {
        "read": "read in",
        "match": "matched in",
        "prove": "proved in",
        "code": "of which compiling or loading code",
    }
    times = ", ".join(f"{words[part]} {seconds(taken)}" for part, taken in verdict["seconds"].items())
    return (
        f"{arguments.forest} is the minimum spanning forest of {arguments.graph}:\n"
        f"{counted(verdict['forest_edges'], 'edge')}, {counted(verdict['components'], 'component')}, "
        f"weight {verdict['weight']}; {times}"
    )


def _record_text(verdict: dict[str, Any]) -> str:
    shown = {key: value for key, value in verdict.items() if value not in (None, {}, "")}
    return "\n".join(f"{key}: {value}" for key, value in shown.items())
