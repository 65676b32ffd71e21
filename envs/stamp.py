"""Write the digest of each lock into the conda files that install it: a changed lock makes a new environment."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

HERE = Path(__file__).resolve().parent
LOCK = re.compile(r"^# lock: (\S+) \S+$", re.MULTILINE)


def stamped(text: str) -> str:
    """Return a conda file's text with the current digests of its locks."""
    return LOCK.sub(lambda m: f"# lock: {m[1]} {hashlib.sha256((HERE / m[1]).read_bytes()).hexdigest()}", text)


if __name__ == "__main__":
    for file in HERE.glob("*.yaml"):
        file.write_text(stamped(file.read_text()))
