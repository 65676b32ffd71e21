"""Names that become parts of paths pass one check, wherever they come from."""

from __future__ import annotations

import json

import pytest
from scripts import run_mst

from mst import config
from mst.algorithm_files import read_literal
from mst.bench.records.bundle import export_bundle
from mst.bench.records.store import Run
from mst.errors import ConfigError, MSTError
from mst.names import path_part

HOSTILE = (
    "",
    ".",
    "..",
    "../../evil",
    "/etc",
    "a/b",
    "a\\b",
    "-x",
    ".hidden",
    "a\n",
    "a\0b",
    "<!--<script>",
    "é" * 9,
    "x" * 300,
)


@pytest.mark.parametrize("name", HOSTILE)
def test_name_that_leads_elsewhere_is_refused_in_every_place(name, tmp_path):
    with pytest.raises(ConfigError, match="name"):
        path_part(name, "graph")
    with pytest.raises(MSTError):
        config.from_mapping({"machine": name, "experiment": {"title": "x"}})
    with pytest.raises(ConfigError):
        export_bundle(name, results=tmp_path, out=tmp_path / "x.mst.zip")
    usual = dict(machine="box", graph="g", algorithm="a", options="default", width=1, fingerprint="0" * 12)
    for key in usual.keys() - {"width"}:
        with pytest.raises(ConfigError, match=key):
            Run(**{**usual, key: name})
    if name:
        with pytest.raises(ConfigError, match="layout"):
            Run(**usual, layout=name)


@pytest.mark.parametrize("name", HOSTILE[:-2])
def test_algorithm_file_with_a_hostile_id_is_refused(name, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(f"ALGORITHM = dict(id={name!r}, paradigm='sequential', title='x')\n")
    with pytest.raises(ConfigError, match=r"mine\.py, line 1: algorithm name"):
        read_literal(file)


@pytest.mark.parametrize("name", ["../../../evil", "/tmp/evil", "<!--<script>"])
def test_hostile_machine_of_the_environment_writes_nothing(name, tmp_path):
    document = {
        "results": str(tmp_path / "a/b/results"),
        "experiment": {"title": "x", "graphs": [], "runs": []},
    }
    environment = {"MST_MACHINE": name, config.ENVIRONMENT: json.dumps(document)}
    done = run_mst("run", "kruskal", "grid-16", **environment)
    assert done.returncode == 2 and "$MST_MACHINE: machine name" in done.stderr
    assert "Traceback" not in done.stderr and not list(tmp_path.rglob("*"))
