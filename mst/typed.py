"""Typed models over YAML: unknown keys are refused with the nearest known one, errors name file and place."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from mst.errors import ConfigError, nearest


class StrictModel(BaseModel):
    """A model that refuses unknown keys and cannot be changed."""

    model_config = ConfigDict(extra="forbid", frozen=True)


Model = TypeVar("Model", bound=BaseModel)


def read_yaml(path: Path) -> Any:
    """Read one YAML file; what is not YAML is refused with its line."""
    try:
        with path.open() as file:
            return yaml.load(file, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or error}") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or error
        raise ConfigError(f"{path}{line}: not YAML: {problem}") from None


def parse(model: type[Model], value: Any, where: str) -> Model:
    """Return `value` as `model`, or raise `ConfigError` that names `where`, the key and what was expected."""
    if not isinstance(value, dict):
        raise ConfigError(f"{where}: expected a mapping of keys to values, got {type(value).__name__}")
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise ConfigError("\n".join(f"{where}: {_explain(model, e)}" for e in error.errors()[:3])) from None


def _explain(model: type[BaseModel], error: Any) -> str:
    place = ".".join(str(part) for part in error["loc"])
    if error["type"] == "extra_forbidden":
        known = _known_keys(model, error["loc"][:-1])
        return (
            f"unknown key {place!r}{nearest(str(error['loc'][-1]), known)}; known: {', '.join(sorted(known))}"
        )
    message = error["msg"].removeprefix("Value error, ")
    return f"{place or 'value'}: {message} (got {error['input']!r:.80})"


def _known_keys(model: type[BaseModel], path: tuple) -> set[str]:
    """Follow `path` through nested models; unions are searched for every model that they name."""
    models = [model]
    for part in path:
        if isinstance(part, str):
            found = [m.model_fields[part].annotation for m in models if part in m.model_fields]
            models = [inner for annotation in found for inner in _models_in(annotation)] or models
    return {name for m in models for name in m.model_fields}


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [inner for part in getattr(annotation, "__args__", ()) for inner in _models_in(part)]
