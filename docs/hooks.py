"""Pages of the site that are generated when it is built: the command line, the list of design notes, the style."""

from __future__ import annotations

import importlib
import os
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from pygments.formatters import HtmlFormatter

from mst import cli

DOCS = Path(__file__).parent


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """List all further pages under "Design", so that a new design note is one new file."""
    listed = repr(config.nav)
    files = sorted(DOCS.rglob("*.md"), key=lambda file: (len(file.parts), file))
    pages = [file.relative_to(DOCS).as_posix() for file in files]
    (design,) = (pages for section in config.nav or [] for name, pages in section.items() if name == "Design")
    design.extend(page for page in pages if repr(page) not in listed)
    return config


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the generated files."""
    files.append(File.generated(config, "reference/command-line.md", content=command_line()))
    files.append(File.generated(config, "assets/site.css", content=style()))
    return files


def command_line() -> str:
    """Return the page of all commands: the help that each prints."""
    os.environ["COLUMNS"] = "100"  # argparse breaks its lines there
    page = ["# Command line", "", "```text", cli.overview(cli.commands()), "```"]
    for name, (module, _) in cli.commands().items():
        text = cli.parser(name, importlib.import_module(f"mst.commands.{module}")).format_help()
        page += ["", f"## mst {name}", "", "```text", text.rstrip(), "```"]
    return "\n".join(page) + "\n"


def style() -> str:
    """Return the style sheet: the colours of code on light and dark pages, and pages as narrow as a telephone."""
    light = HtmlFormatter(style="friendly").get_style_defs('[data-bs-theme="light"] .highlight')
    dark = HtmlFormatter(style="github-dark").get_style_defs('[data-bs-theme="dark"] .highlight')
    narrow = (
        "h1, h2, h3, h4, p code, li code { overflow-wrap: anywhere }\n"
        "table { display: block; overflow-x: auto }\nth code { white-space: nowrap }\n"
    )
    return "\n".join((light, dark, narrow))
