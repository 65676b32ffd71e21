"""The file ``config/graphs.yaml``: entries by name, checked, and the JSON schema of the file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from mst import resources
from mst.catalog.entry import Entry
from mst.errors import ConfigError, nearest
from mst.yaml_models import StrictModel, parse, read_yaml


class Catalog(Mapping[str, Entry]):
    """Entries by name, in the order of the file."""

    def __init__(self, entries: Mapping[str, Entry], file: Path):
        self._entries, self.file = dict(entries), file

    def __getitem__(self, name: str) -> Entry:
        if name in self._entries:
            return self._entries[name]
        remedy = "`mst list graphs` shows them all"
        if Path(name).is_file():
            remedy = f"to measure algorithms on this file, add an entry with sources: [{{path: {name}}}]"
        raise ConfigError(f"no graph {name!r} in {self.file}{nearest(name, self._entries)}; {remedy}")

    def matching(self, patterns: Iterable[str]) -> list[Entry]:
        """Return the entries of these names or patterns (``*`` and ``?``), each once.

        Raises
        ------
        ConfigError
            A name or pattern fits no entry.
        """
        found: dict[str, Entry] = {}
        for pattern in patterns:
            names = [name for name in self if fnmatchcase(name, pattern)] or [pattern]
            found |= {name: self[name] for name in names}
        return list(found.values())

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


class _File(StrictModel):
    """The whole file ``config/graphs.yaml``."""

    citations: dict[str, str]
    graphs: dict[str, dict[str, Any]]


def load(path: str | os.PathLike | None = None) -> Catalog:
    """Read and check a catalogue.

    Parameters
    ----------
    path : path-like, optional
        By default the catalogue that comes with `mst`.

    Raises
    ------
    ConfigError
        With the file, the entry and the key; unknown keys with the nearest known one.

    Examples
    --------
    >>> from mst import catalog
    >>> catalog.load()["USA-road-d.NY"].family
    'road'
    """
    file = Path(path) if path is not None else resources.path("config/graphs.yaml")
    whole = parse(_File, read_yaml(file), str(file))
    entries = {}
    for name, body in whole.graphs.items():
        entry = parse(Entry, {"name": name, **body}, f"{file}: graph {name!r}", file=file, at=("graphs", name))
        for key in (*entry.citation, *(published.by for published in entry.published)):
            if key not in whole.citations:
                raise ConfigError(f"{file}: graph {name!r}: no citation {key!r}{nearest(key, whole.citations)}")
        entries[name] = entry
    return Catalog(entries, file)


def schema() -> dict[str, Any]:
    """Return the JSON schema of ``config/graphs.yaml``."""
    entry = Entry.model_json_schema(ref_template="#/$defs/{model}")
    definitions = entry.pop("$defs", {})
    del entry["properties"]["name"]
    entry["required"].remove("name")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "mst catalogue of graphs",
        "type": "object",
        "properties": {
            "citations": {"type": "object", "additionalProperties": {"type": "string"}},
            "graphs": {"type": "object", "additionalProperties": entry},
        },
        "required": ["citations", "graphs"],
        "additionalProperties": False,
        "$defs": definitions,
    }
