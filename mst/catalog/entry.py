"""Models of a catalogue entry and its parts."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, model_validator

from mst.catalog.locations import Wanted, basename, expanded, uncompressed
from mst.errors import InputError
from mst.yaml_models import StrictModel

if TYPE_CHECKING:
    from mst.weights import WeightSpec

# Raised when the conversion itself changes the content of graph files, so that old files are made again.
RECIPE_VERSION = 1

Family = Literal[
    "road",
    "grid",
    "mesh",
    "random",
    "rmat",
    "dense",
    "structured",
    "scale-free",
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
]

Number = int | float
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Address = Annotated[str, Field(pattern=r"^https?://\S+$")]


class Weights(StrictModel):
    """Generated weights: a hash of (seed, smaller end, larger end) in a range.

    Attributes
    ----------
    dtype : str
        int32, int64, float32 or float64.
    low, high : number
        The range; integers include both ends, floats leave out the upper one.
    distinct : bool
        No two edges weigh the same.
    rule : str
        hash; or ecl, the weights that ECL-MST's artifact gives to files without any (`mst.weights.ecl_weights`):
        the other keys do not apply to it.
    order : str
        random; ascending, descending or local (nearly ascending) by row.
    """

    dtype: Literal["int32", "int64", "float32", "float64"] = "int32"
    low: Number = 1
    high: Number = 2**24 - 1
    distinct: bool = False
    order: Literal["random", "ascending", "descending", "local"] = "random"
    rule: Literal["hash", "ecl"] = "hash"

    @model_validator(mode="after")
    def _check_weights(self) -> Weights:
        if self.rule == "ecl" and (others := self.model_fields_set - {"rule"}):
            raise ValueError(f"rule: ecl determines the weights: leave out {', '.join(sorted(others))}")
        try:
            self.spec()
        except InputError as error:
            raise ValueError(str(error)) from None
        return self

    def spec(self) -> WeightSpec:
        """Return the specification that `mst.weights` takes."""
        from mst.weights import WeightSpec

        return WeightSpec(self.dtype, self.low, self.high, self.distinct, self.order)


class Source(StrictModel, strict=False):
    """One raw file: the same bytes at every address.

    Attributes
    ----------
    path : str, optional
        A file of this machine, ``~`` expanded, relative to the folder that `mst` and Snakemake are called in; read
        where it is, and again when it has changed.
    format : str, optional
        A format of `mst.formats`; without it the content decides.
    address : tuple of str
        Official addresses.
    mirror_names : tuple of str
        Names under which a mirror may hold it, besides the addresses' base names.
    member : str, optional
        The file inside a tar or zip archive; a mirror may hold it unpacked.
    sha256 : str, optional
        As published with the official addresses.
    origin : str, optional
        Where a file without an official address comes from.
    """

    path: str | None = Field(None, min_length=1)
    format: str | None = None
    address: tuple[Address, ...] = ()
    mirror_names: tuple[str, ...] = ()
    member: str | None = None
    sha256: Sha256 | None = None
    origin: str | None = None

    @model_validator(mode="after")
    def _check_location(self) -> Source:
        if not self.path and not self.address and not self.mirror_names:
            raise ValueError("a source needs a path, an address or mirror_names")
        return self

    @property
    def own_file(self) -> Path | None:
        """The location of `path` on this machine."""
        return expanded(self.path).absolute() if self.path else None

    def wanted(self, graph: str) -> Wanted:
        """Return the raw file to request from `Sources`."""
        inner = (basename(self.member),) if self.member else ()
        return Wanted(graph, self.address, self.mirror_names + inner, self.sha256, self.own_file)

    def inside(self, name: str) -> str | None:
        """Return the member to take out of a file called `name`; None if that is the member itself."""
        if self.member is None or uncompressed(name) == uncompressed(basename(self.member)):
            return None
        return self.member


class Published(StrictModel):
    """Published counts of a graph.

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
        As printed: the digits show how it was rounded.
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


class Entry(StrictModel, strict=False):
    """A graph of the catalogue."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]*$")
    title: str
    family: Family
    citation: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()
    generator: str | None = None
    parameters: dict[str, bool | int | float | str | list[int] | list[float]] = Field({})
    seed: int = Field(1, strict=True)
    weights: Weights | None = None
    published: tuple[Published, ...] = ()
    known_weight: Number | None = None
    known_weight_by: str | None = None
    note: str | None = None

    @model_validator(mode="after")
    def _check_origin(self) -> Entry:
        if bool(self.sources) == bool(self.generator):
            raise ValueError("give either sources or a generator")
        if self.generator and self.weights is None:
            raise ValueError("a generated graph needs weights")
        if self.parameters and not self.generator:
            raise ValueError("parameters need a generator")
        return self

    @property
    def is_own(self) -> bool:
        """Whether all its sources are files of this machine."""
        return all(source.path for source in self.sources)

    @property
    def own_files(self) -> tuple[Path, ...]:
        """Files of this machine that are there and that the graph may be made of."""
        named = (source.own_file for source in self.sources)
        return tuple(file for file in named if file and file.is_file())

    def has_changed_since(self, made: Path) -> bool:
        """Return whether a file of this machine that the graph is made of is newer than the file `made`."""
        return any(file.stat().st_mtime > made.stat().st_mtime for file in self.own_files)

    @property
    def stated(self) -> dict[str, int]:
        """The published n, m, components and maximum_degree, as far as there are any; the last publication decides.

        Where only the rows of a DIMACS file are published, m is half of them, since each row is one direction of an
        edge; this m counts parallel edges, too.

        Examples
        --------
        >>> from mst import catalog
        >>> catalog.load()["USA-road-d.BAY"].stated
        {'n': 321270, 'm': 400086}
        """
        is_dimacs = any(source.format == "dimacs" for source in self.sources)
        found: dict[str, int] = {}
        for each in self.published:
            m, arcs = each.edges, each.arcs or (each.rows if is_dimacs else None)
            if m is None and arcs is not None:
                m = arcs // 2
            known = {"n": each.n, "m": m, "components": each.components, "maximum_degree": each.maximum_degree}
            found |= {name: value for name, value in known.items() if value is not None}
        return found

    @property
    def recipe(self) -> str:
        """8 hex digits over everything that decides the data; titles, citations and mirrors do not count."""
        decisive: dict[str, Any] = {
            "version": RECIPE_VERSION,
            "weights": self.weights and _decisive(self.weights),
        }
        if self.generator:
            decisive |= {"generator": self.generator, "parameters": self.parameters, "seed": self.seed}
        else:
            decisive["seed"] = self.seed if self.weights else None
            decisive["sources"] = [
                {
                    "names": [source.path] if source.path else _names(source),
                    "format": source.format,
                    "member": source.member,
                    "sha256": source.sha256,
                }
                for source in self.sources
            ]
        return hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()[:8]


def _names(source: Source) -> list[str]:
    return [basename(a) for a in source.address] or list(source.mirror_names)


def _decisive(weights: Weights) -> dict[str, Any]:
    """Return the keys of weights, without keys that were added later and have their defaults."""
    later = {"order": "random", "rule": "hash"}
    return {key: value for key, value in weights.model_dump(mode="json").items() if later.get(key) != value}
