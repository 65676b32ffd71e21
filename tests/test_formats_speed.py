"""Speed and memory of readers: at least 40 MB/s of text on one core, in at most four times the memory of the result."""

from __future__ import annotations

import time

import numpy as np
import pytest
from scripts import run_python

from mst import Graph
from mst.formats import read_raw, write

MEGABYTES_PER_SECOND = 40
TIMES_THE_RESULT = 4
EDGES = 1_500_000


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """One large file per reader of text, and some binary ones."""
    rng = np.random.default_rng(0)
    n = EDGES // 5
    u = rng.integers(0, n, EDGES, dtype=np.int32)
    v = (u + rng.integers(1, n, EDGES, dtype=np.int32)) % n
    whole = Graph(n, u, v, rng.integers(0, 10**6, EDGES, dtype=np.int32))
    fractions = Graph(n, u, v, rng.random(EDGES))
    folder = tmp_path_factory.mktemp("large")
    made = {}
    for format, graph in (
        ("dimacs", whole),
        ("edges", fractions),
        ("metis", whole),
        ("gbbs", whole),
        ("ecl", whole),
        ("galois", whole),
    ):
        made[format] = folder / format
        write(made[format], graph, format=format)
    return made


@pytest.mark.alone
def test_text_is_read_at_forty_megabytes_a_second(files):
    """All formats in one test: before each test that is alone, other workers wait for each other's ends."""
    speeds = {}
    for format in ("dimacs", "edges", "metis", "gbbs"):
        read_raw(files[format])
        fastest = float("inf")
        for _ in range(3):
            started = time.process_time()
            assert read_raw(files[format]).m == EDGES
            fastest = min(fastest, time.process_time() - started)
        speeds[format] = files[format].stat().st_size / 1e6 / fastest
    assert min(speeds.values()) > MEGABYTES_PER_SECOND, speeds


@pytest.mark.slow
@pytest.mark.parametrize("format", ["dimacs", "edges", "metis", "gbbs", "ecl", "galois"])
def test_memory_stays_below_four_times_the_result(files, format):
    """Measure the peak of a new process that reads the file again, when nothing is left to compile."""
    code = (
        "import sys\n"
        "from mst.bench.measure.samples import peak, reset_peak\n"
        "from mst.formats import read_raw\n"
        "read_raw(sys.argv[2], format=sys.argv[1])\n"
        "before = reset_peak()\n"
        "raw = read_raw(sys.argv[2], format=sys.argv[1])\n"
        "print(peak() - before, raw.u.nbytes + raw.v.nbytes + raw.w.nbytes)\n"
    )
    grown, size = map(int, run_python(code, format, files[format]).stdout.split())
    assert size < grown < TIMES_THE_RESULT * size
