"""The examples of the gallery and of examples/ run, and say what is true."""

from __future__ import annotations

import doctest
import os
import re
from pathlib import Path

import numpy as np
import pytest
from scripts import module_at, run_python

import mst

pytest.importorskip("matplotlib", reason="the gallery draws pictures")
pytest.importorskip("scipy", reason="the gallery uses SciPy")

ROOT = Path(__file__).resolve().parent.parent


gallery = module_at(ROOT / "docs/gallery.py")
clustering = module_at(ROOT / "examples/clustering.py")


@pytest.mark.parametrize(
    "picture",
    [pytest.param(name, marks=[pytest.mark.slow] * (i > 0)) for i, name in enumerate(gallery.examples())],
)
def test_example_draws_its_picture(picture, tmp_path):
    from PIL import Image

    # In a fresh process: the example of a large table counts the memory that its process has taken.
    code = "import sys, pathlib, gallery; gallery.draw(sys.argv[1], pathlib.Path(sys.argv[2]))"
    run_python(code, picture, tmp_path, PYTHONPATH=os.pathsep.join([str(ROOT / "docs"), str(ROOT)]))
    drawn, shown = Image.open(tmp_path / "gallery" / picture), Image.open(ROOT / "docs/gallery" / picture)
    assert drawn.size == shown.size, f"run python docs/gallery.py: {picture} is not up to date"


def test_page_shows_the_picture_of_each_of_six_examples():
    page = (ROOT / "docs/gallery.md").read_text()
    shown = re.findall(r"^!\[.{20,}\]\(gallery/([\w.]+)\)$", page, re.MULTILINE)
    assert shown == list(gallery.examples()) and len(shown) == len(re.findall("^## ", page, re.MULTILINE)) == 6
    assert {file.name for file in (ROOT / "docs/gallery").iterdir()} == set(shown)
    assert all(code.count("gallery/") == 1 for code in gallery.examples().values())


def test_examples_of_clustering(capsys):
    assert doctest.testmod(clustering).failed == 0
    clustering.main()
    assert capsys.readouterr().out.startswith("4 clusters of [405, 417, 304, 312] points")


def points(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centers = rng.random((5, 2)) * 10
    clusters = centers[rng.integers(0, 5, 90)] + rng.normal(0, 0.5, (90, 2))
    return np.round(np.concatenate((clusters, rng.uniform(-2, 12, (15, 2)))), 3)


def renamed(labels) -> list[int]:
    """Return labels with clusters numbered in the order of their first points."""
    names: dict[int, int] = {}
    return [label if label < 0 else names.setdefault(label, len(names)) for label in labels.tolist()]


EXPECTED = {  # by scikit-learn 1.9.1, a dot for noise
    (
        5,
        1,
    ): "01230.43251331343644433332420250411102121.201342140044513140240024405061002233614260213356.....3.3.4333..",
    (
        8,
        2,
    ): "01230.43211331343044433332420210411102121.201342140044113140240024401001002233014200213310.....3.3.4333..",
}


@pytest.mark.parametrize(("smallest", "samples"), EXPECTED)
def test_labels_are_those_that_scikit_learn_gave(smallest, samples):
    labels = clustering.hdbscan(points(0), smallest, samples)
    assert "".join("." if label < 0 else str(label) for label in labels) == EXPECTED[smallest, samples]


def test_labels_are_scikit_learns():
    HDBSCAN = pytest.importorskip("sklearn.cluster").HDBSCAN
    without_ties = 0
    for seed in range(10):
        for smallest, samples in ((5, 1), (8, 2), (5, 5), (20, 6)):
            X = points(seed)
            theirs = HDBSCAN(min_cluster_size=smallest, min_samples=samples, copy=True).fit(X)
            hierarchy = np.stack(
                [theirs._single_linkage_tree_[c] for c in theirs._single_linkage_tree_.dtype.names], 1
            )
            ours = mst.from_points(X, min_samples=samples).linkage()
            assert np.allclose(ours[:, 2], hierarchy[:, 2], rtol=1e-12)
            assert clustering.cut(hierarchy, smallest).tolist() == renamed(theirs.labels_)
            if (np.diff(ours[:, 2]) > 0).all():
                without_ties += 1
                assert clustering.hdbscan(X, smallest, samples).tolist() == renamed(theirs.labels_)
    assert without_ties >= 10
