"""Pictures of the page: families, and the road forest on the map."""

from __future__ import annotations

import gzip
import io
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from mst import Graph, catalog, resources
from mst.errors import FormatError
from mst.reporting.charts import pictures
from mst.reporting.charts.axes import label_ratios, readable
from mst.reporting.charts.style import setup
from mst.reporting.page import roadmap


def test_every_family_of_the_catalogue_has_its_picture():
    families = {entry.family for entry in catalog.load().values()}
    assert families <= set(pictures.PICTURES)
    found = pictures.symbols([*sorted(families), "unheard-of"])
    assert set(found) == families
    for words, symbol in found.values():
        assert words and ElementTree.fromstring(symbol).tag == "symbol"


def test_committed_pictures_equal_those_that_the_code_draws():
    for family in ("dense", "grid"):
        committed = resources.path(f"report/pictures/{family}.svg").read_text()
        assert pictures.draw(pictures.PICTURES[family]) == committed


def decoded(png: bytes) -> np.ndarray:
    """The palette indices of a PNG of four bits a pixel."""
    assert (png[24], png[25]) == (4, 3), "bits a pixel, with a palette"
    return np.asarray(Image.open(io.BytesIO(png)))


@pytest.mark.parametrize("width", [6, 7])
def test_png_holds_the_shades(width):
    shades = np.arange(5 * width, dtype=np.uint8).reshape(5, width) % roadmap.LEVELS
    assert np.array_equal(decoded(roadmap.png(shades)), shades)


def test_roads_are_drawn_at_their_coordinates():
    # An L: north to south at the west end, then east along the southern edge.
    places = np.array([[0.0, 0.5], [0.0, 0.0], [0.5, 0.0]])
    graph = Graph(3, [0, 1], [1, 2], [1.0, 1.0])
    shades = roadmap.shade(places, graph, np.array([0, 1]), side=60)
    dark = shades > 0
    assert dark[2:-3, 2].mean() > 0.9 and dark[-3, 2:-3].mean() > 0.9
    assert not dark[:-6, 6:].any()


def coordinates(n: int) -> str:
    return "c comment\np aux sp co 3\n" + "".join(
        f"v {i + 1} {-73_000_000 + i} {40_000_000 + i}\n" for i in range(n)
    )


def test_coordinates_are_read_packed_or_not(tmp_path):
    plain, packed = tmp_path / "g.co", tmp_path / "g.co.gz"
    plain.write_text(coordinates(3))
    packed.write_bytes(gzip.compress(coordinates(3).encode()))
    expected = [[-73.0, 40.0], [-72.999999, 40.000001], [-72.999998, 40.000002]]
    for file in (plain, packed):
        assert roadmap.read_coordinates(file, 3) == pytest.approx(np.array(expected))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (coordinates(2), "has 2 places"),
        ("nothing\n", "not a DIMACS file"),
        ("c\nv 1 2 x\n", "not a DIMACS file"),
    ],
)
def test_malformed_coordinates_are_refused_with_their_file(tmp_path, text, said):
    file = tmp_path / "g.co"
    file.write_text(text)
    with pytest.raises(FormatError, match=said):
        roadmap.read_coordinates(file, 3)


def test_map_is_left_out_with_a_reason(tmp_path):
    raw = {"location": "/x/USA-road-d.NY.gr.gz", "format": "dimacs", "ids": "as in the file, from 0"}
    manifest = {"name": "USA-road-d.NY", "m": 2, "raw": raw}
    file = tmp_path / "manifest.json"
    none = roadmap.roads({file: manifest}, [tmp_path])
    assert not none.png and "USA-road-d.NY.co is in no mirror folder" in none.reason
    (tmp_path / "USA-road-d.NY.co").write_text(coordinates(3))
    assert "not kept here" in roadmap.roads({file: manifest}, [tmp_path]).reason
    assert roadmap.roads({file: {"name": "g", "m": 2, "raw": {"format": "edges"}}}, [tmp_path]) is None


def test_map_is_drawn_from_graph_and_coordinates(tmp_path):
    from mst.formats.canonical import write_canonical

    graph = Graph(3, [0, 1, 0], [1, 2, 2], [1.0, 2.0, 3.0])
    write_canonical(tmp_path / "graph.arrow", graph, {"name": "USA-road-d.X"})
    (tmp_path / "USA-road-d.X.co.gz").write_bytes(gzip.compress(coordinates(3).encode()))
    raw = {"location": "/x/USA-road-d.X.gr", "format": "dimacs", "ids": "as in the file, from 0"}
    drawn = roadmap.roads(
        {tmp_path / "manifest.json": {"name": "USA-road-d.X", "m": 3, "raw": raw}}, [tmp_path]
    )
    assert drawn.edges == 2 and decoded(drawn.png).shape == (drawn.height, drawn.width)
    (tmp_path / "USA-road-d.X.co.gz").write_bytes(b"\x1f\x8bbroken")
    broken = roadmap.roads(
        {tmp_path / "manifest.json": {"name": "USA-road-d.X", "m": 3, "raw": raw}}, [tmp_path]
    )
    assert not broken.png and "not a DIMACS file" in broken.reason


@pytest.mark.parametrize("label", [readable, label_ratios])
@pytest.mark.parametrize(
    "low,high", [(1e-6, 10.0), (0.011, 0.98), (0.6, 1.07), (0.98, 1.4), (2.2, 4.4), (0.995, 1.01), (1.0, 128.0)]
)
def test_logarithmic_axis_has_three_labels(label, low, high):
    figure, axes = (plt := setup()).subplots()
    axes.set_yscale("log", base=2 if label is label_ratios else 10)
    axes.set_ylim(low, high)
    label(axes.yaxis)
    figure.draw_without_rendering()
    plt.close(figure)
    seen = [
        tick.label1.get_text()
        for tick in axes.yaxis.get_major_ticks()
        if low <= tick.get_loc() <= high and tick.label1.get_text()
    ]
    assert 3 <= len(set(seen)) == len(seen) <= 12
