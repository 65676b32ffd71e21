"""Strict models, and reading them from YAML files, with errors that state the place and the most similar key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from mst.errors import ConfigError, nearest, reading

_MOST_MISTAKES = 3
_DEEPEST, _MOST_NODES = 64, 100_000
_ALLOWED = {
    "int": "a whole number",
    "float": "a number, such as 10 or 1.0e+3",
    "bool": "true or false",
    "string_type": "text",
    "string_pattern_mismatch": "text of the pattern {pattern}",
    "string_too_short": "text that is not empty",
    "list": "a list",
    "tuple": "a list",
    "dict": "a mapping of keys to values",
    "model": "a mapping of keys to values",
    "too_short": "non-empty",
    "greater_than": "above {gt:g}",
    "greater_than_equal": "at least {ge:g}",
}
"""The allowed values, by pydantic's type of error, or by its part before the first underscore."""
_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class StrictModel(BaseModel):
    """An immutable model that refuses unknown keys and converts no values.

    Declare models with tuples, which are lists in YAML, with ``strict=False``.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, ser_json_inf_nan="strings")


Model = TypeVar("Model", bound=BaseModel)


def read_yaml(path: Path) -> Any:
    """Return the content of a YAML file.

    Raises
    ------
    ConfigError
        The file cannot be read, is not YAML, gives a key twice or a number of base 60, or has too many levels or, by
        aliases, too many values. The message has the file and the line.
    """
    with reading(path, ConfigError):
        content = path.read_bytes()
    try:
        _refuse_expansion(content)
        loader = _LOADER(content)
        root = loader.get_single_node()
        if root is None:
            return None
        _refuse_surprises(root)
        return loader.construct_document(root)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        raise ConfigError(f"{path}{line}: {_problem(error, content, mark)}") from None
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        # PyYAML raises these for impossible dates and numbers.
        raise ConfigError(f"{path}: a value cannot be read: {error}") from None


def _problem(error: yaml.YAMLError, content: bytes, mark: yaml.Mark | None) -> str:
    """Return the error at `mark`, with the remedy, and the character there, which PyYAML does not name."""
    problem = str(getattr(error, "problem", None) or error)
    lines = content.decode(errors="replace").split("\n")
    seen = "".join(lines[mark.line : mark.line + 1])[mark.column :] if mark else ""
    if seen.startswith("\t"):
        return "a tab, which YAML does not allow here: indent with spaces"
    if seen and "cannot start any token" in problem:
        return f"no value can begin with {seen[0]!r}: put it in quotes"
    if "unknown escape character" in problem:
        return (
            "in double quotes, a backslash begins an escape: use single quotes, in which it stands for itself"
        )
    return problem


def _refuse_expansion(content: bytes) -> None:
    """Refuse nesting that would overflow the stack, and aliases that stand for more than 100,000 values."""
    sizes: dict[str, int] = {}  # values under each anchor; 0 while its value is not complete
    open_nodes: list[tuple[str, int]] = []
    total = 0
    for event in yaml.parse(content, Loader=_LOADER):
        problem, anchor = "", getattr(event, "anchor", None) or ""
        if isinstance(event, yaml.AliasEvent):
            size = sizes.get(anchor, 1)
            if size == 0:
                problem = f"alias {anchor!r} is used inside the value that it stands for"
            total += size
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = open_nodes.pop()
            sizes[anchor] = total - before
        elif isinstance(event, yaml.NodeEvent):
            opens = isinstance(event, yaml.CollectionStartEvent)
            if opens:
                open_nodes.append((anchor, total))
            sizes[anchor] = 0 if opens else 1
            total += 1
        if len(open_nodes) > _DEEPEST:
            problem = f"nested deeper than {_DEEPEST} levels: use fewer"
        elif total > _MOST_NODES:
            problem = f"more than {_MOST_NODES:,} values: use fewer, or fewer aliases"
        if problem:
            mark: Any = event.start_mark
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=mark)


def _refuse_surprises(root: yaml.Node) -> None:
    """Raise an error for a repeated key, of which YAML keeps the last, and for 1:30, which YAML reads as 90."""
    pending, visited = [root], set()
    while pending:
        node = pending.pop()
        if isinstance(node, yaml.ScalarNode):
            if ":" in node.value and node.tag in _NUMBERS:
                raise yaml.MarkedYAMLError(
                    problem=f"{node.value} is a number of base 60 in YAML: write one of base 10, or quotes around it",
                    problem_mark=node.start_mark,
                )
            continue
        if id(node) in visited:
            continue
        visited.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            pending += node.value
            continue
        seen = set()
        for key, value in node.value:
            pending.append(value)
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    raise yaml.MarkedYAMLError(
                        problem=f"key {key.value!r} is given twice", problem_mark=key.start_mark
                    )
                seen.add(key.value)


def parse(
    model: type[Model],
    value: Any,
    where: str,
    *,
    file: Path | None = None,
    at: Sequence[str] = (),
    merged: Sequence[Path] = (),
    strict: bool | None = None,
) -> Model:
    """Return `value` as an instance of `model`.

    Parameters
    ----------
    model : type
        A pydantic model.
    value : dict
    where : str
        The file, and possibly a place in it, for error messages.
    file : Path, optional
        The YAML file, if `where` is more than its path.
    at : sequence of str
        The keys under which `file` has `value`.
    merged : sequence of Path
        The YAML files that `value` was merged from, each overriding those before; errors name the file with the
        mistake instead of `where`.
    strict : bool, optional
        If False, text that spells a number or a truth value is converted, as on a command line.

    Raises
    ------
    ConfigError
        `value` does not match the model; the message states `where`, the line, the key, and the expected value.

    Examples
    --------
    >>> from mst.yaml_models import StrictModel, parse
    >>> class Point(StrictModel):
    ...     x: int
    >>> parse(Point, {"x": "one"}, "points.yaml")
    Traceback (most recent call last):
    mst.errors.ConfigError: points.yaml: x: must be a whole number (got 'one')
    """
    if not isinstance(value, dict):
        raise ConfigError(f"{where}: expected a mapping of keys to values, got {value!r:.80}")
    try:
        return model.model_validate(value, strict=strict)
    except ValidationError as error:
        name, lines = str(file or where), []
        for one in _first(error):
            place = place_in(merged, one["loc"])
            if not place:
                place = where.replace(name, name + _line(Path(name), (*at, *one["loc"]))[1], 1)
            lines.append(f"{place}: {_explain(model, one, value)}")
        raise ConfigError("\n".join(lines)) from None


def place_in(merged: Sequence[Path], keys: Sequence[str | int]) -> str:
    """Return the file and the line with these keys, of YAML files that each override those before.

    The file is the one that has most of the keys; the text is empty if no file has any.
    """
    found = [(*_line(each, keys), str(each)) for each in reversed(merged)]
    depth, line, source = max(found, key=itemgetter(0), default=(0, "", ""))
    return source + line if depth else ""


def mistakes(error: ValidationError, model: type[BaseModel]) -> list[str]:
    """Return the first mistakes that pydantic found in the input of `model`, each as a line with place and problem."""
    return [_explain(model, one) for one in _first(error)]


def _first(error: ValidationError) -> list[Any]:
    found = error.errors(include_url=False)
    # A missing key is often an unknown one, misspelt.
    unknown = [one for one in found if one["type"] == "extra_forbidden"]
    return list((unknown or found)[:_MOST_MISTAKES])


def _line(file: Path, place: Sequence[str | int]) -> tuple[int, str]:
    """Return how many parts of `place` a YAML file has, and the line of the innermost as text, empty if none."""
    depth, line = 0, ""
    try:
        node = _LOADER(file.read_bytes()).get_single_node()
    except (OSError, ValueError, yaml.YAMLError):
        return depth, line
    for part in place:
        found = {}
        if isinstance(node, yaml.MappingNode):
            found = {key.value: (key, value) for key, value in node.value if isinstance(key, yaml.ScalarNode)}
        elif isinstance(node, yaml.SequenceNode):
            found = {str(number): (value, value) for number, value in enumerate(node.value)}
        if str(part) in found:  # a key may be a number
            named, node = found[str(part)]
            depth, line = depth + 1, f", line {named.start_mark.line + 1}"
    return depth, line


def _explain(model: type[BaseModel], error: Any, value: Any = None) -> str:
    place: list[str | int] = list(error["loc"])
    if error["type"] == "extra_forbidden":
        key = place.pop()
        known = _known_keys(model, tuple(place))
        problem = f"unknown key {key!r}{nearest(str(key), known)}; known: {', '.join(sorted(known))}"
    elif error["type"] == "missing":
        return f"{'.'.join(map(str, place))} is missing"
    else:
        kind, message = error["type"], error["msg"].removeprefix("Value error, ")
        if allowed := _ALLOWED.get(kind) or _ALLOWED.get(kind.partition("_")[0]):
            message = f"must be {allowed.format(**error.get('ctx', {}))}"
        problem = message.replace("Input should be", "must be", 1)
        if not isinstance(error["input"], dict):
            problem += f" (got {error['input']!r:.80})"
    keys = ".".join(map(str, place if value is None else _keys_of(value, place)))
    return f"{keys}: {problem}" if keys else problem


def _keys_of(value: Any, place: Sequence[str | int]) -> Iterator[str | int]:
    """Yield the parts of `place` that are keys of `value`: pydantic adds names for the alternatives of a union."""
    for part in place:
        try:
            value = value[part]
        except (TypeError, LookupError):
            continue
        yield part


def _known_keys(model: type[BaseModel], path: tuple) -> set[str]:
    """Return the keys of the models at the end of a path through nested models and unions of models."""
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
