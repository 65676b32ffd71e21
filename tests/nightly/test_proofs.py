"""Mutants of forests and graphs that the proofs must refuse."""

from __future__ import annotations

import os

import proof_attack
import pytest

SHARE = float(os.environ.get("MST_NIGHTLY", 1))


@pytest.mark.parametrize(
    "mutants",
    [
        pytest.param(4000, marks=pytest.mark.slow),
        pytest.param(int(10**6 * SHARE), marks=[pytest.mark.nightly, pytest.mark.timeout(6 * 3600)]),
    ],
)
def test_mutants_are_refused(mutants):
    counts = proof_attack.attack(mutants, mutants)
    print(f"\n{proof_attack.refused(counts):,} mutants refused: {dict(counts)}")
    assert proof_attack.refused(counts) >= mutants
