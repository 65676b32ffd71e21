"""Mutants of graph files: no traceback, and no two readings of one content that differ."""

from __future__ import annotations

import os
import time
from collections import Counter
from pathlib import Path

import parser_attack
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.database import DirectoryBasedExampleDatabase

MUTANTS = int(10**7 * float(os.environ.get("MST_NIGHTLY", 1)))
# Mutants that failed are kept here, and tried first the next time.
CORPUS = DirectoryBasedExampleDatabase(Path(__file__).parents[2] / ".hypothesis" / "parsers")


def attack(folder: Path, mutants: int) -> Counter:
    """Check that many mutants; return how many were read as graphs and how many refused."""
    counts: Counter = Counter()

    @settings(
        max_examples=mutants,
        deadline=None,
        database=CORPUS,
        phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(parser_attack.mutants(folder))
    def readings_agree(mutant):
        counts["read" if parser_attack.check(folder / "mutant", *mutant) else "refused"] += 1

    readings_agree()
    return counts


@pytest.mark.slow
@pytest.mark.alone
def test_some_thousand_mutants_of_graph_files(tmp_path):
    assert attack(tmp_path, 2_000)["read"] > 200


@pytest.mark.nightly
@pytest.mark.timeout(12 * 3600)
def test_ten_million_mutants_of_graph_files(tmp_path, capsys):
    counts, started = Counter(), time.monotonic()
    while counts.total() < MUTANTS:  # in parts: hypothesis remembers every example of one test
        counts += attack(tmp_path, min(50_000, MUTANTS - counts.total()))
    with capsys.disabled():
        rate = counts.total() / (time.monotonic() - started)
        print(f"\n{counts.total():,} mutants, {rate:,.0f} a second: {dict(counts)}")
