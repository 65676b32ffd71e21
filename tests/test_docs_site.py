"""The site of `make docs`: it builds without a warning, needs no network, and lists every public name and command."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from test_docstrings import called_by_users

from mst import errors
from mst.cli import commands

pytest.importorskip("mkdocs", reason="the site's tools are not installed: envs/requirements-dev.txt")
pytest.importorskip("mkdocstrings", reason="the site's tools are not installed: envs/requirements-dev.txt")

ROOT = Path(__file__).resolve().parent.parent
# The attributes by which a tag loads another file.
LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}


def build(project: Path, folder: Path) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    return subprocess.run(
        command,
        cwd=project,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))},
        capture_output=True,
        text=True,
        timeout=240,
    )


class Page(HTMLParser):
    """The ids, the links and the loaded files of a page."""

    def __init__(self, file: Path):
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(file.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value for name, value in attrs if value}
        self.ids.update(found[name] for name in ("id", "name") if name in found)
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if LOADED.get(tag) in found:
            self.loaded.append(found[LOADED[tag]])


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = build(ROOT, folder)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site) -> dict[Path, Page]:
    return {file: Page(file) for file in sorted(site.rglob("*.html"))}


def test_pages_load_nothing_from_another_host(site, pages):
    assert len(pages) > 10
    foreign = {(file.name, a) for file, page in pages.items() for a in page.loaded if urlsplit(a).netloc}
    styles = [
        (file.name, address)
        for file in site.rglob("*.css")
        for address in re.findall(r"(?:url\(|@import )[\"']?(\w+://[^\"')]+|//[^\"')]+)", file.read_text())
    ]
    assert not foreign and not styles


def test_links_and_their_anchors_exist(pages):
    broken = []
    for file, page in pages.items():
        for link in page.links + page.loaded:
            parts = urlsplit(link)
            # The page of a missing address serves at any depth, so its links begin at the root of the server.
            if parts.scheme or parts.netloc or file.name == "404.html":
                continue
            target = (file.parent / parts.path).resolve() if parts.path else file
            known = pages[target].ids if target in pages else None
            if not target.exists() or (parts.fragment and known is not None and parts.fragment not in known):
                broken.append((file.name, link))
    assert not broken


def test_reference_has_every_public_name(site, pages):
    listed = pages[site / "reference/library.html"].ids
    raised = [f"mst.errors.{error.__name__}" for error in (errors.MSTError, *errors.MSTError.__subclasses__())]
    # `mst.csgraph` is a second name of a function of `mst.interop.scipy`.
    public = {n.replace("mst.csgraph.", "mst.interop.scipy.") for n in called_by_users()}
    assert not ({"mst.Graph", "mst.Forest", *public, *raised} - listed)


def test_examples_of_the_reference_are_code(site):
    # An example without the heading "Examples" would become a quotation.
    assert "<blockquote>" not in (site / "reference/library.html").read_text()


def test_reference_has_every_command_and_option(site, pages):
    text = (site / "reference/command-line.html").read_text()
    assert {f"mst-{name}" for name in commands()} <= pages[site / "reference/command-line.html"].ids
    assert "--algorithm ID" in text and "--configfile FILE" in text


@pytest.mark.slow
def test_broken_links_fail(tmp_path):
    without_reference = (
        (ROOT / "mkdocs.yml").read_text().replace("mkdocstrings:", "mkdocstrings:\n      enabled: false")
    )
    (tmp_path / "mkdocs.yml").write_text(without_reference)
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    assert build(tmp_path, tmp_path / "site").returncode == 0
    links = ["missing.md", "papers.md#missing", "../README.md", "/papers.html"]
    with (tmp_path / "docs/index.md").open("a") as page:
        page.writelines(f"\n[a broken link]({link})\n" for link in links)
    done = build(tmp_path, tmp_path / "site")
    assert done.returncode != 0
    warnings = [line for line in done.stderr.splitlines() if line.startswith("WARNING")]
    assert all(any(f"'{link}'" in line for line in warnings) for link in links), done.stderr
