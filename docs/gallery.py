"""Draws the pictures of the gallery: ``python docs/gallery.py`` runs the blocks of gallery.md in this folder."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

import matplotlib

DOCS = Path(__file__).parent
_BLOCK = re.compile(
    r"<!-- gallery: (?P<picture>[\w.]+) -->\n```python\n(?P<code>.*?)^```$", re.DOTALL | re.MULTILINE
)


def examples() -> dict[str, str]:
    """Return the code of each example by the name of its picture."""
    return {found["picture"]: found["code"] for found in _BLOCK.finditer((DOCS / "gallery.md").read_text())}


def draw(picture: str, folder: Path) -> None:
    """Run one example; it writes ``gallery/<picture>`` in a folder."""
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    (folder / "gallery").mkdir(exist_ok=True)
    with contextlib.chdir(folder):
        try:
            exec(compile(examples()[picture], picture, "exec"), {})
        finally:
            plt.close("all")


def _shrink(file: Path) -> None:
    """Save a picture again with 64 colours."""
    from PIL import Image

    Image.open(file).convert("RGB").quantize(64).save(file, optimize=True)


if __name__ == "__main__":
    for name in examples():
        draw(name, DOCS)
        _shrink(DOCS / "gallery" / name)
        print(f"{name}: {(DOCS / 'gallery' / name).stat().st_size:,} bytes")
