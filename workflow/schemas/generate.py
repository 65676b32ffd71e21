"""Write the schemas of this folder from the typed models of the configuration."""

from __future__ import annotations

from pathlib import Path

import yaml

from mst.bench.planning.experiment import Experiment
from mst.bench.planning.site import HardwareProfile
from mst.config import Config

HERE = Path(__file__).resolve().parent
MODELS = {"config": Config, "paper": Experiment, "machine": HardwareProfile}
HEAD = "# Generated from the typed models by `make schemas`; do not edit.\n"


def schemas() -> dict[Path, str]:
    """Return the text of each schema by its file."""
    texts = {}
    for name, model in MODELS.items():
        schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **model.model_json_schema()}
        text = yaml.safe_dump(schema, sort_keys=False, width=110, allow_unicode=True)
        texts[HERE / f"{name}.schema.yaml"] = HEAD + text
    return texts


if __name__ == "__main__":
    for file, text in schemas().items():
        file.write_text(text)
