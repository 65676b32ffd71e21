"""Shared fixtures: the mirror of real graphs, small random graphs, an isolated configuration."""

from __future__ import annotations

import fcntl
import gc
import os
import shutil
import signal
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import hypothesis
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-sync",
    "--no-first-run",
]

# Tests compare what commands write to standard error, and a busy machine needs more than two seconds for anything.
os.environ.setdefault("MST_PROGRESS", "0")

# Let waiting ranks of MPICH sleep, not spin: they would take cores from those that compile or work.
os.environ.setdefault("MPIR_CVAR_ENABLE_HEAVY_YIELD", "1")

# A shell's background jobs ignore Ctrl-C, and so would all processes that the tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Tests that need more or fewer examples than most take a multiple of the profile's number.
hypothesis.settings.register_profile("default", deadline=None, max_examples=60)
hypothesis.settings.register_profile("ci", deadline=None, max_examples=30, derandomize=True)
hypothesis.settings.register_profile("quick", deadline=None, max_examples=12, derandomize=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "default")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # Compiling makes many objects, and each collection of garbage would also look at those of all tests and modules.
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    # The longest tests first, so that workers end together; tests that run alone come last, one after the other.
    # Attacks reach all code: after the tests that compile it they load it, in place of compiling it beside them.
    items.sort(
        key=lambda item: (
            "alone" in item.keywords,
            item.path.parent.name == "nightly",
            "cluster" not in item.keywords,
            "workflow" not in item.keywords,
        )
    )


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """With several workers (``pytest -n``), run tests marked `alone` while all other workers wait."""
    if hasattr(item.config, "workerinput"):
        with _test_lock(Path(item.config.option.basetemp).parent, alone="alone" in item.keywords):
            return (yield)
    return (yield)


@contextmanager
def _test_lock(folder: Path, *, alone: bool) -> Iterator[None]:
    """Hold the readers-writer lock of all workers: exclusively if `alone`, else shared.

    A worker holds the queue's lock until it has the main lock: otherwise new readers could starve a writer.
    """
    with (folder / "queue").open("a") as queue, (folder / "lock").open("a") as lock:
        fcntl.flock(queue, fcntl.LOCK_EX)
        fcntl.flock(lock, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        fcntl.flock(queue, fcntl.LOCK_UN)
        try:
            yield
        finally:
            # Closing the file is not enough: a process that the test forked may still have it open.
            fcntl.flock(lock, fcntl.LOCK_UN)


@pytest.fixture(scope="session")
def mirror() -> Path:
    """Folder of real graph files; skips the test where there is none."""
    named = os.environ.get("MST_MIRROR")
    folder = Path(named) if named else ROOT.parent / "shared" / "graphs"
    if not (folder / "MANIFEST.csv").is_file():
        pytest.skip("no mirror of real graphs: set MST_MIRROR to a folder that has them")
    return folder.resolve()


@pytest.fixture
def rng(request) -> np.random.Generator:
    """A generator seeded by the test's name, so that every test is repeatable alone."""
    return np.random.default_rng(list(request.node.name.encode()))


@pytest.fixture
def own_cache(tmp_path, monkeypatch) -> Path:
    """A folder of caches with no graph; its machine code and fingerprints are those of all tests."""
    from mst.cache import cache_root

    folder = tmp_path / "own-cache"
    folder.mkdir()
    for part in ("numba", "fingerprints"):
        (cache_root() / part).mkdir(parents=True, exist_ok=True)
        (folder / part).symlink_to((cache_root() / part).resolve())
    monkeypatch.setenv("MST_CACHE", str(folder))
    return folder


@pytest.fixture
def add_algorithm(tmp_path, monkeypatch) -> Iterator[Callable[..., Path]]:
    """A function that writes the file of an algorithm, which is there for the time of a test."""
    from mst import algorithm_files, registry

    monkeypatch.setenv(registry.EXTRA_FOLDERS, str(tmp_path))
    caches = registry.algorithms, algorithm_files.skip_function

    def add(text: str, name: str = "mine.py") -> Path:
        (tmp_path / name).write_text(textwrap.dedent(text))
        for cache in caches:
            cache.cache_clear()
        return tmp_path / name

    yield add
    for cache in caches:
        cache.cache_clear()


@pytest.fixture(scope="session")
def report(request, tmp_path_factory) -> Path:
    """A folder with records, table.parquet, table.csv, report.html and figures/; the first worker makes it for all."""
    own = tmp_path_factory.getbasetemp()
    root = (own.parent if hasattr(request.config, "workerinput") else own) / "report"
    with root.with_suffix(".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (root / "report.html").is_file():
            _make_report(root)
    return root


def _make_report(root: Path) -> None:
    import fake_records

    from mst.reporting.page.build import write_report
    from mst.reporting.table import write_table

    made = fake_records.write_experiment(root, graphs=fake_records.GRAPHS[:3])
    write_table([made["records"]], made["plan"], root / "table.parquet", root / "table.csv")
    write_report(
        table=root / "table.parquet",
        graphs=made["manifests"],
        config=made["config"],
        out=root / "report.html",
        records=[made["records"]],
    )


@pytest.fixture(scope="module")
def rows(report):
    """The rows of that folder's table, prepared for the page."""
    import pandas as pd

    from mst.reporting.data import prepared_rows

    return prepared_rows(pd.read_parquet(report / "table.parquet"), "kruskal")


@pytest.fixture(scope="session")
def origin(tmp_path_factory) -> Path:
    """Results of three machines on two graphs."""
    import fake_records
    from bundles import GRAPHS

    results = tmp_path_factory.mktemp("origin")
    made = fake_records.write_experiment(results, graphs=GRAPHS)
    # Manifests lie below a folder of their recipe.
    for file in made["manifests"]:
        target = results / "graphs" / file.parent.name / "0a1b2c3d" / "manifest.json"
        target.parent.mkdir(parents=True)
        file.rename(target)
    return results


@pytest.fixture(scope="session")
def bundle(origin) -> Path:
    from bundles import MACHINE

    from mst.bench.records.bundle import export_bundle

    out = origin / "box.mst.zip"
    export_bundle(MACHINE, results=origin, out=out)
    return out


@pytest.fixture(scope="session")
def emulator_folder(tmp_path_factory) -> Path:
    """A folder for CUDA kernels that are compiled for the emulator."""
    if shutil.which("g++") is None:
        pytest.skip("the emulator needs g++")
    return tmp_path_factory.mktemp("emulator")


@pytest.fixture(scope="session")
def cupy():
    """CuPy, where a CUDA device answers."""
    module = pytest.importorskip("cupy", reason="needs CuPy")
    try:
        module.cuda.runtime.getDevice()
    except Exception as error:
        pytest.skip(f"no CUDA device answers: {error}")
    return module


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine: apt-get install chromium")
    pytest.importorskip("playwright")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield launched
        launched.close()


@pytest.fixture
def open_page(browser, report):
    """Return a function that opens a page at a width, theme and hash; fail on any error or outside request."""
    problems: list[str] = []
    pages: list = []

    def opened(width: int, theme: str = "light", address: str = "", name: str = ""):
        page = browser.new_page(viewport={"width": width, "height": 844}, color_scheme=theme)
        page.on("pageerror", lambda error: problems.append(f"page error: {error}"))
        page.on("console", lambda m: problems.append(m.text) if m.type == "error" else None)
        page.on(
            "request",
            lambda r: None if r.url.startswith(("file:", "blob:", "data:")) else problems.append(r.url),
        )
        pages.append(page)
        uri = (report / "report" / f"{name}.html" if name else report / "report.html").as_uri()
        page.goto(address if address.startswith("file:") else uri + address)
        return page

    yield opened
    for page in pages:
        page.close()
    assert not problems
