"""Mutants of graph files: no traceback, and no two readings of one content that differ."""

from __future__ import annotations

import multiprocessing
import os
import secrets
import time
from collections import Counter
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait

import parser_attack
import pytest

MUTANTS = int(10**7 * float(os.environ.get("MST_NIGHTLY", 1)))
CORES = len(os.sched_getaffinity(0))
# A process begins a new part after so many files: hypothesis remembers every example of one test.
FILES = 25
SECONDS = 60


@pytest.mark.slow
def test_some_thousand_mutants_of_graph_files():
    assert parser_attack.attack(16, seed=1)["read"] > 200


@pytest.mark.nightly
@pytest.mark.timeout(12 * 3600)
def test_ten_million_mutants_of_graph_files(capsys):
    counts = Counter()
    started = printed = time.monotonic()
    with ProcessPoolExecutor(CORES, multiprocessing.get_context("spawn")) as pool:
        running = {pool.submit(parser_attack.attack, FILES, secrets.randbits(64)) for _ in range(CORES)}
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for part in done:
                counts += part.result()
                if counts.total() < MUTANTS:
                    running.add(pool.submit(parser_attack.attack, FILES, secrets.randbits(64)))
            now = time.monotonic()
            if now - printed > SECONDS or not running:
                printed = now
                with capsys.disabled():
                    rate = counts.total() / (now - started)
                    print(f"{counts.total():,} mutants, {rate:,.0f} a second: {dict(counts)}", flush=True)
