"""Facts of the machines behind a set of records, and versions of the software that computed them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mst.bench.records.store import load_records


def machine_facts(records_folders: Iterable[Path]) -> list[dict[str, Any]]:
    """Return one mapping per machine name: hardware, kernel, governor and every version used there."""
    found: dict[str, dict[str, Any]] = {}
    for folder in records_folders:
        for record in load_records(Path(folder)):
            m = record.measurement
            facts = found.setdefault(
                record.run.machine,
                {"name": record.run.machine, **m["machine"], "records": 0, "versions": {}, "conditions": {}},
            )
            facts["records"] += 1
            for name, version in (m.get("versions") or {}).items():
                facts["versions"].setdefault(name, set()).add(str(version))
            for name in ("kernel", "governor"):
                if value := (m.get("conditions") or {}).get(name):
                    facts["conditions"].setdefault(name, set()).add(str(value))
    for facts in found.values():
        for group in ("versions", "conditions"):
            facts[group] = {name: sorted(values) for name, values in sorted(facts[group].items())}
    return list(found.values())
