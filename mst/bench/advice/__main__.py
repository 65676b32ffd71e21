"""Writes the table of advice: candidates side by side over sizes, densities, degrees and weights, on this machine.

``python -m mst.bench.advice --folder DIR --within 400 --check 150`` measures for 400 seconds, the most informative
cases first, and writes ``DIR/advice.json`` from all cases in ``DIR/cases.jsonl`` after each; cases in that file are
not measured again. Then it measures, for 150 seconds, generators, seeds and weights that are not behind the table
(``DIR/checks.jsonl``), and prints in how many cases the choice is within 20 % of the best, the cost of choosing
included; the table keeps that count. ``--folder DIR`` alone measures nothing: it rebuilds the table from the folder's
cases and judges it, on any machine. ``--table FILE`` judges another table. The GPU is used where CuPy finds one.

A time is that of a whole call with compiled code: from an edge list in host memory to edge ids in host memory, or, at
the place ``device``, both on the device.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from mst.advice import Table
from mst.bench.advice.calls import Session, warm_up
from mst.bench.advice.cases import LARGEST, training, unseen
from mst.bench.advice.cells import Measured, UsableHardware, cells, good, judge, report
from mst.bench.machine import this_machine, usable_cores
from mst.solver import usable_gpu


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, write, and check; return 1 if two candidates disagree on a forest."""
    started = time.perf_counter()
    parser = argparse.ArgumentParser(prog="mst.bench.advice", description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, required=True, help="cases.jsonl, advice.json, checks.jsonl")
    parser.add_argument("--within", type=float, default=0, metavar="SECONDS", help="time for measuring")
    parser.add_argument("--check", type=float, default=0, metavar="SECONDS", help="time for checking")
    parser.add_argument("--table", type=Path, help="check this table, not the folder's")
    parser.add_argument("--most", type=int, default=LARGEST, help="largest number of edges")
    parser.add_argument("--cores", type=int, default=usable_cores())
    chosen = parser.parse_args(arguments)
    chosen.folder.mkdir(parents=True, exist_ok=True)
    hardware = UsableHardware(chosen.cores, gpu_here())
    own = chosen.folder / "advice.json"
    here = in_words(hardware)
    machine = json.loads(own.read_text())["machine"] if own.is_file() else here
    print(machine, flush=True)
    if chosen.within or chosen.check:
        if machine != here:
            parser.error(f"{chosen.folder} has cases of another machine than {here}")
        warm_up(hardware)
    wrong: list[str] = []
    if chosen.table is None:
        session = Session(chosen.folder / "cases.jsonl", hardware, chosen.within, started)
        for _ in session.take(training(chosen.most)):
            write_table(own, made_of(session.measured, machine))
        write_table(own, made_of(session.measured, machine))
        wrong += session.wrong
    data = json.loads((chosen.table or own).read_text())
    checks = Session(chosen.folder / "checks.jsonl", hardware, chosen.check, time.perf_counter())
    table = Table(data)
    for _ in checks.take(unseen(chosen.most), table):
        pass
    wrong += checks.wrong
    if checks.measured:
        measured_with = UsableHardware.of(checks.measured)
        verdicts = judge(table, checks.measured, measured_with)
        text = report(verdicts, measured_with)
        (chosen.folder / "check.txt").write_text(text + "\n")
        print(text)
        if chosen.table is None:
            write_table(own, {**data, "checked": dict(good=good(verdicts), cases=len(verdicts))})
    return int(bool(wrong))


def in_words(hardware: UsableHardware) -> str:
    """Return the name of this machine in the table."""
    machine = this_machine()
    gpu = f", {machine.gpus[0]}" if hardware.gpu and machine.gpus else ""
    return f"{machine.cpu}, {hardware.cores} cores{gpu}"


def made_of(measured: Sequence[Measured], machine: str) -> dict[str, Any]:
    """Return the table of these cases."""
    return dict(machine=machine, cells=cells(measured, UsableHardware.of(measured)))


def write_table(file: Path, data: Mapping[str, Any]) -> None:
    """Write a table, a line for each cell, so that two tables can be compared line by line."""
    head = "".join(f" {json.dumps(key)}: {json.dumps(data[key])},\n" for key in data if key != "cells")
    lines = ",\n".join(f"  {json.dumps(cell)}" for cell in data["cells"])
    file.write_text(f'{{\n{head} "cells": [\n{lines}\n ]\n}}\n')


def gpu_here() -> bool:
    """Whether CuPy finds a GPU."""
    with suppress(ImportError):
        importlib.import_module("cupy")
    return usable_gpu()


if __name__ == "__main__":
    sys.exit(main())
