"""The reference forest of a graph with its proof, and the proofs of measurements against it."""

from __future__ import annotations

import json
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from mst import registry
from mst.bench.records.schema import PROOF_VERSION, read_json
from mst.bench.records.store import ids_path, load_ids, proof_path, read_measurement, write_json
from mst.errors import InputError, MSTError
from mst.execute import implementation_of
from mst.forest import Forest
from mst.formats.canonical import read_canonical
from mst.proof import Proof, check_forest, check_weight, prove

REFERENCE_ALGORITHM = "kruskal"


def make_reference(graph_file: Path, manifest: dict[str, Any], out: Path) -> dict[str, Any]:
    """Compute Kruskal's forest, prove that it is the minimum spanning forest, write ``reference.json``.

    Where the proof fails, nothing is written (`MSTError`): nothing may be compared with this forest.
    """
    graph = read_canonical(graph_file)
    algorithm = registry.get(REFERENCE_ALGORITHM)
    implementation = implementation_of(algorithm)
    problem = implementation.ready(graph, options=algorithm.resolve()).problem
    started = perf_counter()
    ids = implementation.collect_edges(problem, implementation.solve(problem))
    forest = Forest(graph, ids, algorithm.id)
    solved = perf_counter()
    proof = prove(graph, forest.edge_ids)
    if not proof.ok:
        raise MSTError(f"{graph_file}: the forest of {algorithm.id} is not the minimum one: {proof.reason}")
    reference = {
        "schema": 1,
        "graph": manifest["name"],
        "graph_digest": manifest["digest"],
        "algorithm": algorithm.id,
        "source_fingerprint": algorithm.source_fingerprint(),
        "digest": forest.digest,
        "edges": len(forest),
        "components": forest.components,
        "weight": str(forest.weight),
        "proof": {"ok": True, "grade": "proved", "seconds": round(perf_counter() - solved, 4)},
        "seconds": round(solved - started, 4),
    }
    write_json(out, reference)
    return reference


class Verdict(NamedTuple):
    """The part of a proof that depends on the measurement.

    Its status is ``ok``, ``wrong`` or ``unproved``; the grade says how much was checked, as in `mst.proof.Proof`, and
    the reason why the status is not ``ok``.
    """

    status: str
    grade: str | None = None
    reason: str | None = None

    @classmethod
    def of(cls, proof: Proof) -> Verdict:
        """Return the verdict of a proof."""
        return cls("ok", proof.grade) if proof.ok else cls("wrong", reason=proof.reason)


def verify_record(record: Path, reference_file: Path) -> dict[str, Any]:
    """Prove a measurement against the reference of its graph, from `make_reference`; write the proof beside it."""
    measurement = read_measurement(record)
    reference = read_json(reference_file, "graph_digest", "digest")
    started = perf_counter()
    verdict = _judge(measurement, reference, record, reference_file)
    proof = {
        "schema": PROOF_VERSION,
        "record": record.name.removesuffix(".json"),
        **verdict._asdict(),
        "reference_digest": reference["digest"],
        "seconds": round(perf_counter() - started, 4),
    }
    write_json(proof_path(record), proof)
    return proof


def prove_again(tree: Path, results: Path) -> None:
    """Repeat the proofs of unpacked records below `tree` against the references below `results`.

    A proof that cannot be repeated is marked as claimed. A bundle has no edge ids, so a forest that breaks ties
    differently is proved by its total.
    """
    references = {}
    for file in results.glob("graphs/*/*/reference.json"):
        reference = read_json(file)
        if digest := reference.get("graph_digest"):  # that of an unavailable graph has none
            references[digest] = file, reference
    for path in tree.glob("records/*/*/*/*/w*/*.proof.json"):
        record = path.with_name(path.name.replace(".proof.json", ".json"))
        proof, measurement = json.loads(path.read_text()), json.loads(record.read_text())
        if proof["status"] != "ok":
            continue
        proof["claimed"] = True
        if found := references.get(measurement["graph"]["digest"]):
            file, reference = found
            verdict = _judge(measurement, reference, record, file)
            if verdict.status == "unproved" and measurement["run"]["exact"]:
                verdict = _judge_total(measurement["forest"], reference)
            if verdict.status != "unproved":
                proof |= verdict._asdict() | {"reference_digest": reference["digest"], "claimed": False}
        write_json(path, proof)


def _judge(
    measurement: dict[str, Any], reference: dict[str, Any], record: Path, reference_file: Path
) -> Verdict:
    run, forest = measurement["run"], measurement["forest"]
    if measurement["status"] != "ok":
        return Verdict("unproved", reason=f"the run ended as {measurement['status']}")
    measured, proved = measurement["graph"]["digest"], reference["graph_digest"]
    if measured != proved:
        reason = f"measured on graph {measured[:12]}, but the reference is of {proved[:12]}"
        return Verdict("unproved", reason=reason)
    if forest["digest"] is None:
        return _judge_total(forest, reference)
    if forest["digest"] == reference["digest"]:
        return Verdict("ok", "identical")
    if run["exact"] and run["ties"] == "order":
        reason = (
            "its edge ids differ from the reference: "
            f"{forest['edges']} edges of weight {forest['weight']}, but "
            f"the minimum spanning forest has {reference['edges']} of {reference['weight']}"
        )
        return Verdict("wrong", reason=reason)
    return _judge_edges(run, reference, record, reference_file)


def _judge_total(forest: dict[str, Any], reference: dict[str, Any]) -> Verdict:
    """Check a total that a program printed without its edges."""
    return Verdict.of(check_weight(forest["weight"], _weight(reference), forest_edges=reference["edges"]))


def _judge_edges(run: dict[str, Any], reference: dict[str, Any], record: Path, reference_file: Path) -> Verdict:
    """Check a forest that may break ties differently, or may be heavier within a bound."""
    if not ids_path(record).is_file():
        return Verdict("unproved", reason=f"its edge ids are missing: {ids_path(record)}")
    try:
        ids = load_ids(record)
    except InputError as error:
        return Verdict("wrong", reason=str(error))
    graph = read_canonical(reference_file.with_name("graph.arrow"))
    epsilon = 0.0 if run["exact"] else float(run["all_options"]["epsilon"])
    return Verdict.of(check_forest(graph, ids, reference_weight=_weight(reference), epsilon=epsilon))


def _weight(reference: dict[str, Any]) -> int | float:
    """Return the total weight of a reference: an int for integer weights."""
    text = reference["weight"]
    return int(text) if text.lstrip("-").isdigit() else float(text)
