"""The catalogue of graphs: what they are, where they come from, and how one becomes a canonical file.

An entry of ``config/graphs.yaml`` names either *sources* (raw files with official addresses) or a *generator*
with its parameters and seed. `materialise` brings an entry into a folder as ``graph.arrow``, and beside it
``manifest.json``, written last, which the rest of the workflow reads in place of the graph.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import lzma
import os
import shutil
import tarfile
import tempfile
import time
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from mst import resources
from mst.download import Fetched, NotFetched, Sources, Wanted, basename, write_atomically
from mst.errors import ConfigError, FormatError, InputError, UnavailableError, nearest
from mst.registry import Facts

if TYPE_CHECKING:
    from mst.graph import Graph

# Raised when the conversion itself changes what a graph file holds, so that old files are made again.
RECIPE_VERSION = 1

FAMILIES = (
    "road",
    "grid",
    "mesh",
    "random",
    "rmat",
    "dense",
    "structured",
    "social",
    "web",
    "communication",
    "collaboration",
    "citation",
    "internet",
    "co-purchase",
    "geometric",
    "infrastructure",
    "known-answer",
)

Number = int | float
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Address = Annotated[str, Field(pattern=r"^https?://\S+$")]


class _Strict(BaseModel):
    """A model that refuses unknown keys and names the nearest known one."""

    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_inf_nan="strings")

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, data: Any) -> Any:
        if isinstance(data, dict):
            for key in data:
                if key not in cls.model_fields:
                    known = ", ".join(cls.model_fields)
                    raise ValueError(
                        f"unknown key {key!r}{nearest(str(key), cls.model_fields)}; known: {known}"
                    )
        return data


class Weights(_Strict):
    """Weights that are made: a hash of (seed, smaller end, larger end) in a range.

    Attributes
    ----------
    dtype : str
        int32, int64, float32 or float64.
    low, high : number
        The range; both ends belong to it for integers.
    distinct : bool
        No two edges weigh the same.
    """

    dtype: Literal["int32", "int64", "float32", "float64"] = "int32"
    low: Number = 1
    high: Number = 2**24 - 1
    distinct: bool = False

    @model_validator(mode="after")
    def _ordered(self) -> Weights:
        if self.low > self.high:
            raise ValueError(f"weights: low = {self.low} is above high = {self.high}")
        return self


class Source(_Strict):
    """One raw file: the same bytes at every address.

    Attributes
    ----------
    format : str, optional
        A format of `mst.formats`; without it the content decides.
    address : tuple of str
        Official addresses.
    mirror_names : tuple of str
        Names under which a mirror may hold it, besides the addresses' base names.
    member : str, optional
        The file inside a tar or zip archive.
    sha256 : str, optional
        As published with the official addresses.
    origin : str, optional
        How a file that has no official address came to be.
    """

    format: str | None = None
    address: tuple[Address, ...] = ()
    mirror_names: tuple[str, ...] = ()
    member: str | None = None
    sha256: Sha256 | None = None
    origin: str | None = None

    @model_validator(mode="after")
    def _somewhere(self) -> Source:
        if not self.address and not self.mirror_names:
            raise ValueError("a source needs an address or mirror_names")
        return self

    def wanted(self, graph: str) -> Wanted:
        """Return what to ask `Sources` for."""
        return Wanted(graph, self.address, self.mirror_names, self.sha256)


class Published(_Strict):
    """What somebody published of the graph; each count says by its name what it counts.

    Attributes
    ----------
    by : str
        A key of the catalogue's citations.
    n : int
        Vertices.
    rows : int
        Lines or entries of the file, before anything is merged.
    edges : int
        Undirected edges without loops and parallels.
    arcs : int
        Both directions of those edges: twice `edges`.
    components : int
        Connected components, isolated vertices included.
    average_degree : str
        As printed: the digits say how far it was rounded.
    maximum_degree : int
    """

    by: str
    n: int | None = None
    rows: int | None = None
    edges: int | None = None
    arcs: int | None = None
    components: int | None = None
    average_degree: str | None = Field(None, pattern=r"^\d+(\.\d+)?$")
    maximum_degree: int | None = None


class Entry(_Strict):
    """A graph of the catalogue."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]*$")
    title: str
    family: str
    citation: tuple[str, ...]
    sources: tuple[Source, ...] = ()
    generator: str | None = None
    parameters: dict[str, bool | int | float | str | list[int] | list[float]] = {}
    seed: int = 1
    weights: Weights | None = None
    published: tuple[Published, ...] = ()
    known_weight: Number | None = None
    known_weight_by: str | None = None
    note: str | None = None

    @model_validator(mode="after")
    def _one_origin(self) -> Entry:
        if bool(self.sources) == bool(self.generator):
            raise ValueError("give either sources or a generator")
        if self.generator and self.weights is None:
            raise ValueError("a generated graph needs weights")
        if self.parameters and not self.generator:
            raise ValueError("parameters belong to a generator")
        if self.family not in FAMILIES:
            raise ValueError(f"unknown family {self.family!r}{nearest(self.family, FAMILIES)}")
        return self

    @property
    def recipe(self) -> str:
        """8 hex digits over all that decides the data; titles, citations and mirrors do not count."""
        what: dict[str, Any] = {"version": RECIPE_VERSION, "weights": _plain(self.weights)}
        if self.generator:
            what |= {"generator": self.generator, "parameters": self.parameters, "seed": self.seed}
        else:
            what["seed"] = self.seed if self.weights else None
            what["sources"] = [
                {
                    "names": [basename(a) for a in source.address] or list(source.mirror_names),
                    "format": source.format,
                    "member": source.member,
                    "sha256": source.sha256,
                }
                for source in self.sources
            ]
        return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:8]


class Catalog(Mapping[str, Entry]):
    """Entries by name, in the order of the file; `citations` holds the texts behind the keys."""

    def __init__(self, entries: Mapping[str, Entry], citations: Mapping[str, str], file: Path):
        self._entries, self.citations, self.file = dict(entries), dict(citations), file

    def __getitem__(self, name: str) -> Entry:
        try:
            return self._entries[name]
        except KeyError:
            raise ConfigError(
                f"no graph {name!r} in {self.file}{nearest(name, self._entries)}; "
                "`mst info` without a name lists them all"
            ) from None

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


class _File(_Strict):
    """The whole file ``config/graphs.yaml``."""

    citations: dict[str, str]
    graphs: dict[str, Any]


def load(path: str | os.PathLike | None = None) -> Catalog:
    """Read and check a catalogue.

    Parameters
    ----------
    path : path-like, optional
        By default the catalogue that comes with `mst`.

    Raises
    ------
    ConfigError
        With the file, the entry and the key; unknown keys with the nearest known one.

    Examples
    --------
    >>> from mst import catalog
    >>> catalog.load()["USA-road-d.NY"].family
    'road'
    """
    file = Path(path) if path is not None else resources.path("config/graphs.yaml")
    content = _read_yaml(file)
    try:
        whole = _File.model_validate(content)
    except ValidationError as error:
        raise ConfigError(f"{file}: {_first(error)}") from None
    entries = {}
    for name, body in whole.graphs.items():
        if not isinstance(body, dict):
            raise ConfigError(f"{file}: graph {name!r} must be a mapping of keys, got {body!r}")
        try:
            entry = Entry.model_validate({"name": name, **body})
        except ValidationError as error:
            raise ConfigError(f"{file}: graph {name!r}: {_first(error)}") from None
        for key in (*entry.citation, *(published.by for published in entry.published)):
            if key not in whole.citations:
                raise ConfigError(f"{file}: graph {name!r}: no citation {key!r}{nearest(key, whole.citations)}")
        entries[name] = entry
    return Catalog(entries, whole.citations, file)


def schema() -> dict[str, Any]:
    """Return the JSON schema of ``config/graphs.yaml``."""
    entry = Entry.model_json_schema(ref_template="#/$defs/{model}")
    definitions = entry.pop("$defs", {})
    del entry["properties"]["name"]
    entry["required"].remove("name")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "mst catalogue of graphs",
        "type": "object",
        "properties": {
            "citations": {"type": "object", "additionalProperties": {"type": "string"}},
            "graphs": {"type": "object", "additionalProperties": entry},
        },
        "required": ["citations", "graphs"],
        "additionalProperties": False,
        "$defs": definitions,
    }


class Check(_Strict):
    """A published number beside the one found."""

    by: str
    quantity: str
    published: Number | str
    found: Number | str
    agrees: bool


class Tried(_Strict):
    """A location that did not have the file, and why."""

    location: str
    reason: str


class Raw(_Strict):
    """The raw file that a graph was read from.

    Attributes
    ----------
    location : str
        The mirror's file or the official address.
    sha256 : str
    bytes : int
    check : str
        ``published``, ``recorded`` or ``first``: see `mst.download.Fetched`.
    format : str
    member : str, optional
        The file inside an archive.
    rows : int
        Edge entries in the file.
    ids : str
        What became of the file's vertex ids.
    remarks : tuple of str
        What the reader assumed.
    """

    location: str
    sha256: Sha256
    bytes: int
    check: Literal["published", "recorded", "first"]
    format: str
    member: str | None = None
    rows: int
    ids: str
    remarks: tuple[str, ...] = ()


class Manifest(_Strict):
    """What is known of a canonical graph without opening it; the JSON file beside it.

    Attributes
    ----------
    status : str
        ``ok``, or ``unavailable`` with `reason` and `tried`; then the counts are None and there is no graph.
    m : int
        Undirected edges.
    weight_min, weight_max : number, optional
        None for a graph without edges.
    merged : dict of str to int
        What making it simple took away, as `mst.simplify.MergeCounts`.
    digest : str
        Of the canonical graph's content: equal digests are equal graphs.
    bytes : int
        Size of the canonical file.
    seconds : dict of str to float
        Wall time by part.
    checks : tuple of Check
        Every published number that can be compared.
    """

    version: Literal[1] = 1
    name: str
    family: str
    recipe: str
    status: Literal["ok", "unavailable"]
    reason: str | None = None
    tried: tuple[Tried, ...] = ()
    n: int | None = None
    m: int | None = None
    components: int | None = None
    average_degree: float | None = None
    maximum_degree: int | None = None
    weight_dtype: str | None = None
    weight_min: Number | None = None
    weight_max: Number | None = None
    weights: str | None = None
    merged: dict[str, int] = {}
    raw: Raw | None = None
    generator: dict[str, Any] | None = None
    digest: str | None = None
    bytes: int | None = None
    seconds: dict[str, float] = {}
    checks: tuple[Check, ...] = ()

    @property
    def mismatches(self) -> tuple[Check, ...]:
        """The published numbers that the graph does not have."""
        return tuple(check for check in self.checks if not check.agrees)

    def facts(self) -> Facts:
        """Return what algorithms are asked with before they get the graph.

        Raises
        ------
        UnavailableError
            There is no graph.
        """
        from mst.registry import Facts

        if self.n is None or self.m is None or self.weight_dtype is None:
            raise UnavailableError(f"{self.name} is not to be had: {self.reason}")
        return Facts(
            n=self.n,
            m=self.m,
            weight_dtype=self.weight_dtype,
            components=self.components,
            weight_min=self.weight_min,
            weight_max=self.weight_max,
            loops=0,
            parallel=0,
        )


def read_manifest(path: str | os.PathLike) -> Manifest:
    """Read the manifest at `path`, or in the folder `path`."""
    file = Path(path)
    if file.is_dir():
        file = file / "manifest.json"
    try:
        return Manifest.model_validate_json(file.read_bytes())
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}") from None
    except ValidationError as error:
        raise FormatError(file, f"not a manifest of this version of mst: {_first(error)}") from None


def materialise(entry: Entry, folder: str | os.PathLike, *, sources: Sources) -> Manifest:
    """Bring a graph into `folder`: fetch or generate, make simple, weigh, write, describe.

    Parameters
    ----------
    entry : Entry
    folder : path-like
        Gets ``graph.arrow`` and, last, ``manifest.json``.
    sources : Sources

    Returns
    -------
    Manifest
        As written. Of a graph that is not to be had, only a manifest is written: with status ``unavailable``,
        the reason, and what was tried. Whether that is an error is the caller's affair.

    Raises
    ------
    FormatError
        The raw file is not what its format promises; nothing is left in the folder.
    """
    from mst.formats.canonical import write_canonical

    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    graph_file, manifest_file = folder / "graph.arrow", folder / "manifest.json"
    manifest_file.unlink(missing_ok=True)  # no manifest may ever describe another graph
    graph_file.unlink(missing_ok=True)
    known: dict[str, Any] = dict(name=entry.name, family=entry.family, recipe=entry.recipe)
    clock = _Clock()
    try:
        graph, more = _generated(entry, clock) if entry.generator else _fetched(entry, sources, clock)
    except NotFetched as absent:
        manifest = Manifest(
            **known,
            status="unavailable",
            reason="no location has it",
            tried=tuple(Tried(location=location, reason=reason) for location, reason in absent.tried),
            seconds=clock.seconds,
        )
    else:
        with clock("describe"):
            known |= more | _described(graph)
        with clock("write"):
            written = write_canonical(graph_file, graph, _metadata(entry, known))
        manifest = Manifest(
            **known,
            status="ok",
            digest=written["digest"],
            bytes=graph_file.stat().st_size,
            seconds=clock.seconds,
            checks=_checks(entry, known),
        )
    write_atomically(manifest_file, manifest.model_dump_json(indent=1, exclude_none=True) + "\n")
    return manifest


def fetch_raw(entry: Entry, sources: Sources) -> tuple[Source, Fetched]:
    """Return the entry's raw file and the source that it is; raise `NotFetched` if no location has it."""
    wanted = [source.wanted(entry.name) for source in entry.sources]
    fetched = sources.fetch(*wanted)
    name = basename(fetched.location)
    index = next(i for i, one in enumerate(wanted) if name in one.known_names)
    return entry.sources[index], fetched


def _fetched(entry: Entry, sources: Sources, clock: _Clock) -> tuple[Graph, dict[str, Any]]:
    from mst.formats import read_raw
    from mst.graph import Graph
    from mst.simplify import simplify

    with clock("fetch"):
        source, fetched = fetch_raw(entry, sources)
    with clock("read"), _member(fetched.path, source.member) as path:
        raw = read_raw(path, format=source.format)
    if raw.w is None and entry.weights is None:
        raise ConfigError(f"{entry.name}: {fetched.location} has no weights; give the entry weights")
    with clock("simplify"):
        graph, merged = simplify(raw.graph(name=entry.name))
    if entry.weights is not None:
        with clock("weigh"):
            w = _hashed(graph, entry.weights, entry.seed)
            graph = Graph(graph.n, graph.u, graph.v, w, name=entry.name, trusted=True)
    described = Raw(
        location=fetched.location,
        sha256=fetched.sha256,
        bytes=fetched.bytes,
        check=fetched.check,  # type: ignore[arg-type]
        format=raw.format,
        member=source.member,
        rows=raw.notes.rows,
        ids=_ids(raw),
        remarks=raw.notes.remarks,
    )
    return graph, dict(raw=described, merged=asdict(merged), weights=_origin_of_weights(entry))


def _generated(entry: Entry, clock: _Clock) -> tuple[Graph, dict[str, Any]]:
    from mst.generators import generate

    assert entry.generator is not None and entry.weights is not None
    with clock("generate"):
        graph = generate(
            entry.generator, seed=entry.seed, weights=_weight_spec(entry.weights), **entry.parameters
        )
    recipe = dict(family=entry.generator, parameters=entry.parameters, seed=entry.seed)
    return graph, dict(generator=recipe, weights=_origin_of_weights(entry))


def _hashed(graph: Graph, weights: Weights, seed: int) -> Any:
    from mst.weights import hash_weights

    return hash_weights(graph.u, graph.v, seed=seed, spec=_weight_spec(weights))


def _weight_spec(weights: Weights) -> Any:
    from mst.weights import WeightSpec

    return WeightSpec(weights.dtype, weights.low, weights.high, weights.distinct)


def _origin_of_weights(entry: Entry) -> str:
    if entry.weights is None:
        return "from the file"
    made = entry.weights
    distinct = ", distinct" if made.distinct else ""
    return f"made: {made.dtype} in [{made.low}, {made.high}]{distinct}, seed {entry.seed}"


def _described(graph: Graph) -> dict[str, Any]:
    from mst.kernels.components import count_components, degrees

    degree = degrees(graph.n, graph.u, graph.v)
    return dict(
        n=graph.n,
        m=graph.m,
        components=int(count_components(graph.n, graph.u, graph.v)),
        average_degree=2 * graph.m / graph.n if graph.n else 0.0,
        maximum_degree=int(degree.max()) if graph.n else 0,
        weight_dtype=graph.w.dtype.name,
        weight_min=graph.w.min().item() if graph.m else None,
        weight_max=graph.w.max().item() if graph.m else None,
    )


def _checks(entry: Entry, known: dict[str, Any]) -> tuple[Check, ...]:
    raw: Raw | None = known.get("raw")
    # Rows count the lines of the first source's file: other sources pack the same graph otherwise.
    rows = None
    if raw is not None and basename(raw.location) in entry.sources[0].wanted(entry.name).known_names:
        rows = raw.rows
    found = {
        "n": known["n"],
        "rows": rows,
        "edges": known["m"],
        "arcs": 2 * known["m"],
        "components": known["components"],
        "average_degree": known["average_degree"],
        "maximum_degree": known["maximum_degree"],
    }
    checks = []
    for published in entry.published:
        for quantity, actual in found.items():
            stated = getattr(published, quantity)
            if stated is None or actual is None:
                continue
            if quantity == "average_degree":
                actual = _rounded_like(actual, stated)
            agrees = actual == stated
            checks.append(
                Check(by=published.by, quantity=quantity, published=stated, found=actual, agrees=agrees)
            )
    return tuple(checks)


def _rounded_like(value: float, printed: str) -> str:
    """Return `value` with as many decimals as `printed`."""
    return f"{value:.{len(printed.partition('.')[2])}f}"


def _metadata(entry: Entry, known: dict[str, Any]) -> dict[str, Any]:
    raw: Raw | None = known.get("raw")
    return {
        "name": entry.name,
        "recipe": entry.recipe,
        "source": raw.location if raw else None,
        "raw_sha256": raw.sha256 if raw else None,
        "generator": known.get("generator"),
        "weights": known["weights"],
        "seed": entry.seed if entry.weights else None,
    }


def _ids(raw: Any) -> str:
    if raw.original_ids is None:
        return "as in the file, from 0"
    used = raw.original_ids[raw.original_ids >= 0]
    if used.size == 0:
        return "no edge names a vertex"
    return f"{used.size:,} ids compacted in ascending order, from {used[0]} to {used[-1]}"


@contextmanager
def _member(path: Path, member: str | None) -> Iterator[Path]:
    """Yield the file itself, or the named member of an archive, unpacked for as long as it is read."""
    if member is None:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="mst-", dir=path.parent) as scratch:
        target = Path(scratch, basename(member))
        unpack = _from_zip if zipfile.is_zipfile(path) else _from_tar
        try:
            unpack(path, member, target)
        except _BROKEN_ARCHIVE as error:
            raise FormatError(path, f"an archive that holds {member} ({error})") from None
        yield target


_BROKEN_ARCHIVE = (
    KeyError,
    EOFError,
    zlib.error,
    gzip.BadGzipFile,
    lzma.LZMAError,
    tarfile.TarError,
    zipfile.BadZipFile,
)


def _from_zip(archive: Path, member: str, target: Path) -> None:
    with zipfile.ZipFile(archive) as opened, opened.open(member) as packed, target.open("wb") as out:
        shutil.copyfileobj(packed, out, 1 << 20)


def _from_tar(archive: Path, member: str, target: Path) -> None:
    with tarfile.open(archive) as opened, target.open("wb") as out:
        packed = opened.extractfile(member)
        if packed is None:
            raise KeyError(f"{member} is no file")
        shutil.copyfileobj(packed, out, 1 << 20)


class _Clock:
    """Wall seconds by part."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, part: str) -> Iterator[None]:
        began = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[part] = round(time.perf_counter() - began, 6)


def _plain(model: BaseModel | None) -> Any:
    return None if model is None else model.model_dump(mode="json")


class _UniqueKeys(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Refuses a key given twice, of which YAML would silently keep the last."""

    def construct_mapping(self, node, deep=False):
        seen = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"key {key!r} is given twice", key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


def _read_yaml(file: Path) -> Any:
    try:
        return yaml.load(file.read_bytes(), Loader=_UniqueKeys)
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{file}, line {mark.line + 1}" if mark else str(file)
        raise ConfigError(f"{where}: {getattr(error, 'problem', None) or error}") from None


def _first(error: ValidationError) -> str:
    """Return pydantic's first complaint in one line: where, what."""
    found = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in found["loc"])
    message = found["msg"].removeprefix("Value error, ")
    return f"{where}: {message}" if where else message
