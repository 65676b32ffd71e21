"""Any program on disk as an algorithm: write its input, run it, and read its output (see `mst.programs`)."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mst import formats
from mst.algorithms.peers._simple import simple_edges
from mst.errors import MSTError, shorten
from mst.graph import Graph
from mst.programs import UNITS, Program


@dataclass(frozen=True)
class Problem:
    """A graph on disk and the command that solves it; the folder is deleted with the problem."""

    graph: Graph
    folder: tempfile.TemporaryDirectory
    words: list[str]
    instrumented: list[str]
    environment: dict[str, str]
    output: Path


@dataclass(frozen=True)
class Answer:
    """The text of the program's standard output and, if it wrote one, of its output file."""

    printed: str
    written: str | None


class Command:
    """The functions of an algorithm (see `mst.registry`) that runs a program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        if program.seconds:
            self.timed_solve = self._timed_solve
        if program.instrumented and program.phases:
            self.phases = self._phases
        elif program.phases:
            self.printed_phases = self._seconds_of_phases

    def prepare(self, graph: Graph, *, width: int, shared: str | None = None, **options: Any) -> Problem:
        """Write the graph and fill in the command; processes with the same `shared` folder write the graph once."""
        program = self.program
        folder = tempfile.TemporaryDirectory(prefix="mst-program-")
        suffix = next(iter(formats.FORMATS[program.format].suffixes), "")
        file, output = Path(shared or folder.name, f"graph{suffix}"), Path(folder.name, "forest")
        if not file.is_file():
            given = graph
            if program.simple:
                edges = simple_edges(graph)
                given = Graph(graph.n, edges.u, edges.v, edges.w, name=graph.name)
            formats.write(file, given, format=program.format)
        values = {"graph": str(file), "output": str(output), "width": width, **options}
        words = [word.format_map(values) for word in program.command]
        instrumented = [word.format_map(values) for word in program.instrumented] or words
        environment = {name: text.format_map(values) for name, text in program.environment.items()}
        return Problem(graph, folder, words, instrumented, environment, output)

    def solve(self, problem: Problem) -> Answer:
        return self._run(problem, problem.words)

    def _run(self, problem: Problem, words: list[str]) -> Answer:
        problem.output.unlink(missing_ok=True)
        done = subprocess.run(
            words,
            env={**os.environ, **problem.environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
        )
        printed = done.stdout.decode(errors="replace")
        if done.returncode:
            message = (done.stderr.decode(errors="replace") + printed).strip().splitlines() or [""]
            raise MSTError(f"{words[0]} ended with code {done.returncode}: {shorten(message[-1], 200)}")
        written = problem.output.read_text(errors="replace") if problem.output.is_file() else None
        return Answer(printed, written)

    def _timed_solve(self, problem: Problem) -> tuple[Answer, float]:
        answer = self.solve(problem)
        return answer, float(self._found("seconds", answer)) * UNITS[self.program.unit]

    def collect(self, problem: Problem, answer: Answer) -> np.ndarray | None:
        """Return the forest's edge ids, or None if the program reports only a total."""
        if self.program.edges is None:
            return None
        text = answer.printed if answer.written is None else answer.written
        pattern = re.compile(self.program.edges, re.MULTILINE)
        found = [(int(edge["u"]), int(edge["v"])) for edge in pattern.finditer(text)]
        ends = np.array(found, np.int64).reshape(-1, 2) - self.program.first_vertex
        inside = ((ends >= 0) & (ends < problem.graph.n)).all(axis=1)
        ids = np.full(len(ends), -1)
        ids[inside] = simple_edges(problem.graph).edge_ids(ends[inside, 0], ends[inside, 1])
        if (ids < 0).any():
            a, b = found[int(np.argmax(ids < 0))]
            raise MSTError(f"{self.program.name} lists the edge {a}–{b}, which the graph does not have")
        return ids

    def weight(self, problem: Problem, answer: Answer) -> str:
        """Return the total weight in the form in which the program printed it."""
        return self._found("total", answer)

    def counters(self, problem: Problem, answer: Answer) -> dict[str, Any]:
        """Return whose clock gave the time, and the numbers printed by the program or its instrumented build."""
        clock = "program" if self.program.seconds else "process"
        if self.program.counters and problem.instrumented != problem.words:
            answer = self._run(problem, problem.instrumented)
        return {"clock": clock, **self._numbers("counters", answer)}

    def _phases(self, problem: Problem) -> dict[str, float]:
        """Run the program again and return the seconds of each phase that it prints."""
        return self._seconds_of_phases(problem, self._run(problem, problem.instrumented))

    def _seconds_of_phases(self, problem: Problem, answer: Answer) -> dict[str, float]:
        spent = self._numbers("phases", answer)
        return {name: number * UNITS[self.program.unit] for name, number in spent.items()}

    def _numbers(self, key: str, answer: Answer) -> dict[str, float]:
        patterns = getattr(self.program, key)
        found = {name: self._match(f"{key}.{name}", pattern, answer) for name, pattern in patterns.items()}
        return {name: int(text) if text.isdigit() else float(text) for name, text in found.items()}

    def _found(self, key: str, answer: Answer) -> str:
        return self._match(key, getattr(self.program, key), answer)

    def _match(self, key: str, pattern: str, answer: Answer) -> str:
        found = re.search(pattern, answer.printed, re.MULTILINE)
        if found is None:
            last = (answer.printed.strip().splitlines() or [""])[-1]
            raise MSTError(
                f"{self.program.name} printed nothing that {key}: {pattern!r} matches; "
                f"its last line: {shorten(last, 200)}"
            )
        return found[1]
