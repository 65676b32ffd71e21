"""Facts of machines, the software on them, and graphs: their source, and the edges merged to make each simple."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mst.bench.records.store import Record
from mst.catalog.manifest import Check
from mst.units import counted

_KEPT = ("name", "family", "n", "m", "components", "average_degree", "maximum_degree", "weights")
_MERGED = {"loops": "loop", "reciprocal": "back arc", "parallel": "parallel edge"}


def machine_facts(records: Iterable[Record]) -> list[dict[str, Any]]:
    """Return one mapping per machine name: hardware, kernel, governor and every version used there."""
    found: dict[str, dict[str, Any]] = {}
    for record in records:
        m = record.measurement
        facts = found.setdefault(
            record.run.machine,
            {"name": record.run.machine, **m["machine"], "records": 0, "versions": {}, "conditions": {}},
        )
        facts["records"] += 1
        for name, version in m["versions"].items():
            if version is not None:
                facts["versions"].setdefault(name, set()).add(str(version))
        for name in ("kernel", "governor"):
            if value := m["conditions"].get(name):
                facts["conditions"].setdefault(name, set()).add(str(value))
    for facts in found.values():
        for group in ("versions", "conditions"):
            facts[group] = {name: sorted(values) for name, values in sorted(facts[group].items())}
    return list(found.values())


def gpus_in_words(names: Iterable[str] | None) -> str:
    """Return the GPUs of a machine.

    >>> gpus_in_words(["NVIDIA H200", "NVIDIA H200"])
    '2 × NVIDIA H200'
    """
    numbers = Counter(names or ())
    return ", ".join(f"{number} × {gpu}" if number > 1 else gpu for gpu, number in numbers.items())


def graph_rows(manifests: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a row for each available graph, the smallest first; graphs of several machines have one row."""
    there = {(m["name"], m.get("digest")): m for m in reversed(manifests) if m["status"] == "ok"}
    return [_row(m) for m in sorted(there.values(), key=lambda m: (m.get("m") or 0, m["name"]))]


def missing_graphs(manifests: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a row for each unavailable graph, with the locations that were tried."""
    absent = [m for m in manifests if m["status"] != "ok"]
    return [
        {
            "name": m["name"],
            "reason": m.get("reason") or "",
            "tried": [(t["location"], t["reason"]) for t in m.get("tried") or ()],
        }
        for m in sorted(absent, key=lambda m: m["name"])
    ]


def _row(manifest: Mapping[str, Any]) -> dict[str, Any]:
    raw = manifest.get("raw") or {}
    low, high = manifest.get("weight_min"), manifest.get("weight_max")
    average = manifest.get("average_degree")
    checks = manifest.get("checks") or ()
    return {
        **{key: manifest.get(key) for key in _KEPT},
        "average_degree_text": f"{average:.2f}" if average is not None else "",
        "weights_text": f"{manifest.get('weight_dtype')}, {low:,} … {high:,}" if low is not None else "",
        "source_text": _source(manifest, raw),
        "merged_text": merged(manifest.get("merged") or {}),
        "sha256": raw.get("sha256"),
        "checks": len(checks),
        "wrong": [str(check) for check in map(Check.model_validate, checks) if not check.agrees],
    }


def merged(counts: Mapping[str, int]) -> str:
    """Return the numbers of edges that making a graph simple removed.

    >>> merged({"loops": 0, "reciprocal": 365050, "parallel": 3746})
    '365,050 back arcs, 3,746 parallel edges'
    """
    return ", ".join(counted(number, _MERGED.get(kind, kind)) for kind, number in counts.items() if number)


def _source(manifest: Mapping[str, Any], raw: Mapping[str, Any]) -> str:
    generator = manifest.get("generator")
    if generator:
        given = ", ".join(f"{key}={value}" for key, value in (generator.get("parameters") or {}).items())
        # Bundles of before the first release name the generator under "family".
        name = generator.get("name", generator.get("family"))
        return f"generated: {name}({given}), seed {generator.get('seed')}"
    location = str(raw.get("location", "")).rsplit("/", 1)[-1]
    return f"{location} ({raw['format']})" if location else ""
