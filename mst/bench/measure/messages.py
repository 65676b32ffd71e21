"""Messages between the runner, its fork servers and their templates: one JSON object per line."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Emit = Callable[..., None]  # reports an event of a run: its name, and its values as keywords


@dataclass(frozen=True)
class RunSpec:
    """The inputs of a run's processes: all options, the canonical graph, and a folder for temporary files.

    `measure` has the fields of `mst.bench.planning.experiment.Measure`; a process leaves the forest's edge ids in
    `ids_file`, an empty name if they are not kept.
    """

    algorithm: str
    options: dict[str, Any]
    width: int
    graph_file: str
    scratch: str
    measure: dict[str, Any]
    ids_file: str = ""


def send(descriptor: int, **message: Any) -> None:
    """Write a whole message to a pipe or file."""
    line = (json.dumps(message) + "\n").encode()
    while line:
        line = line[os.write(descriptor, line) :]


class MessageReader:
    """Reads messages from a pipe as they arrive."""

    def __init__(self, descriptor: int):
        self.descriptor = descriptor
        self._rest = b""

    def read(self) -> list[dict[str, Any]] | None:
        """Wait for messages and return the complete ones, perhaps none; None if no more will come."""
        chunk = os.read(self.descriptor, 1 << 16)
        if not chunk:
            return None
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        return [json.loads(line) for line in lines]
