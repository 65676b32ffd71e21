"""Mutants of forests and graphs that the proofs must refuse."""

from __future__ import annotations

import os

import proof_attack
import pytest

MUTANTS = int(10**6 * float(os.environ.get("MST_NIGHTLY", 1)))


@pytest.mark.slow
def test_some_thousand_mutants_are_refused():
    assert proof_attack.refused(proof_attack.attack(4_000, 1)) >= 4_000


@pytest.mark.nightly
@pytest.mark.timeout(6 * 3600)
def test_a_million_mutants_are_refused(capsys):
    counts = proof_attack.attack(MUTANTS, 2)
    with capsys.disabled():
        print(f"\n{proof_attack.refused(counts):,} mutants refused: {dict(counts)}")
    assert proof_attack.refused(counts) >= MUTANTS
