"""Write the software bill of materials of what is installed by default: CycloneDX, beside the lock that it describes.

Names and versions are those of ``requirements.txt``, which holds the hashes; licences are those that the installed
packages declare. A licence is written as an SPDX expression.
"""

from __future__ import annotations

import importlib.metadata
import json
import re
from pathlib import Path

HERE = Path(__file__).resolve().parent
LOCK = HERE / "requirements.txt"
OUT = HERE / "sbom.cdx.json"

# Packages whose metadata have no SPDX expression and no classifier that names one licence.
BY_NAME = {
    "conda-inject": "MIT",
    "docutils": "BSD-2-Clause AND LicenseRef-Public-Domain",  # its one file under the GPL is for Emacs, not installed
    "greenlet": "MIT AND PSF-2.0",
    "mpich": "mpich2",
    "packaging": "Apache-2.0 OR BSD-2-Clause",
    "pyreadline3": "BSD-3-Clause",  # on Windows only
    "snakemake-interface-common": "MIT",
    "snakemake-interface-logger-plugins": "MIT",
    "snakemake-interface-report-plugins": "MIT",
    "snakemake-interface-scheduler-plugins": "MIT",
    "snakemake-interface-storage-plugins": "MIT",
}
BY_CLASSIFIER = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}
BY_TEXT = {
    "apache license, version 2.0": "Apache-2.0",
    "apache 2.0": "Apache-2.0",
    "bsd": "BSD-3-Clause",
    "bsd license": "BSD-3-Clause",
    "bsd 2-clause license": "BSD-2-Clause",
    "bsd 3-clause license": "BSD-3-Clause",
    "mit": "MIT",
    "mit license": "MIT",
}


def pins(lock: Path) -> list[tuple[str, str]]:
    """Return the names and versions that a lock pins; some have a version for each Python."""
    return re.findall(r"^([A-Za-z0-9_.-]+)==(\S+)", lock.read_text(), re.MULTILINE)


def licence(name: str) -> str | None:
    """Return the SPDX expression of an installed package's licence; None where it is not installed or says none."""
    if name in BY_NAME:
        return BY_NAME[name]
    try:
        metadata = importlib.metadata.metadata(name)
    except importlib.metadata.PackageNotFoundError:
        return None
    if expression := metadata.get("License-Expression"):
        return expression
    classifiers = [
        c.rpartition(" :: ")[2] for c in metadata.get_all("Classifier") or [] if c.startswith("License")
    ]
    found = [BY_CLASSIFIER.get(c, c) for c in classifiers if c != "DFSG approved"]
    text = (metadata.get("License") or "").strip()
    return found[0] if len(found) == 1 else BY_TEXT.get(text.lower(), text or None)


def document(components: list[tuple[str, str, str | None]]) -> dict:
    """Return the bill of materials of packages, given by name, version and licence."""
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": "mst", "licenses": [{"expression": "MIT"}]}},
        "components": [
            {
                "type": "library",
                "bom-ref": f"pkg:pypi/{name}@{version}",
                "name": name,
                "version": version,
                "purl": f"pkg:pypi/{name}@{version}",
                **({"licenses": [{"expression": spdx}]} if spdx else {}),
            }
            for name, version, spdx in components
        ],
    }


if __name__ == "__main__":
    packages = [(name, version, licence(name)) for name, version in pins(LOCK)]
    OUT.write_text(json.dumps(document(packages), indent=1) + "\n")
