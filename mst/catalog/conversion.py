"""From a catalogue entry to a canonical graph: fetch or generate, make simple, weigh, write, describe."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mst.atomic import write_text
from mst.cache import cache_root
from mst.catalog.download import Fetched, NotFetched, Sources
from mst.catalog.entry import Entry, Source, Weights
from mst.catalog.locations import basename
from mst.catalog.manifest import Check, Manifest, Raw, Tried, read_manifest
from mst.errors import ConfigError, FormatError, InputError, writing

if TYPE_CHECKING:
    from mst.formats import RawGraph
    from mst.graph import Graph


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
        As written. For an unavailable graph only a manifest is written, with status ``unavailable``, the reason
        and every location tried; the caller decides whether that is an error.

    Raises
    ------
    FormatError
        The raw file does not conform to its format; no folder is left.
    InputError
        The folder cannot be written, or a generator refuses its parameters.
    """
    folder, clock = Path(folder), _Clock()
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        # No manifest may ever describe another graph: it is removed first and written last.
        (folder / "manifest.json").unlink(missing_ok=True)
        (folder / "graph.arrow").unlink(missing_ok=True)
    try:
        with _naming(entry):
            graph, origin = _generated(entry, clock) if entry.generator else _fetched(entry, sources, clock)
        manifest = _written(entry, graph, origin, folder / "graph.arrow", clock)
    except NotFetched as absent:
        manifest = _unavailable(entry, absent, clock)
    except BaseException:
        with suppress(OSError):
            folder.rmdir()
        raise
    with writing(folder):
        text = manifest.model_dump_json(indent=1, exclude_none=True)
        write_text(folder / "manifest.json", text + "\n")
    return manifest


@contextmanager
def _naming(entry: Entry) -> Iterator[None]:
    """Make errors about the keys of an entry name the entry; errors about a raw file name that already."""
    try:
        yield
    except FormatError:
        raise
    except (ConfigError, InputError) as error:
        raise type(error)(f"graph {entry.name!r} of the catalogue: {error}") from None


def _unavailable(entry: Entry, absent: NotFetched, clock: _Clock) -> Manifest:
    return Manifest(
        name=entry.name,
        family=entry.family,
        recipe=entry.recipe,
        status="unavailable",
        reason=": ".join(absent.tried[0]) if entry.is_own else "no location has it",
        tried=tuple(Tried(location=location, reason=reason) for location, reason in absent.tried),
        seconds=clock.seconds,
    )


def _written(entry: Entry, graph: Graph, origin: dict[str, Any], file: Path, clock: _Clock) -> Manifest:
    """Describe a graph and write it; return the manifest."""
    from mst.formats.canonical import write_canonical

    with clock("describe"):
        known = origin | describe(graph)
    with clock("write"), writing(file):
        digest = write_canonical(file, graph, _metadata(entry, known))["digest"]
    return Manifest(
        name=entry.name,
        family=entry.family,
        recipe=entry.recipe,
        status="ok",
        digest=digest,
        bytes=file.stat().st_size,
        seconds=clock.seconds,
        checks=tuple(_checks(entry, known)),
        **known,
    )


def default_folder(entry: Entry) -> Path:
    """Return the folder in which `obtain` keeps a graph by default: in the cache, by name and recipe."""
    return cache_root() / "graphs" / f"{entry.name}-{entry.recipe}"


def obtain(
    entry: Entry, folder: str | os.PathLike | None = None, *, sources: Sources, again: bool = False
) -> tuple[Path, Manifest]:
    """Return a graph's folder and manifest, made only if they do not exist already.

    Parameters
    ----------
    entry : Entry
    folder : path-like, optional
        By default `default_folder`.
    sources : Sources
    again : bool
        Make it even if it exists already.
    """
    folder = Path(folder) if folder is not None else default_folder(entry)
    if not again and (manifest := _kept(entry, folder)):
        return folder, manifest
    return folder, materialise(entry, folder, sources=sources)


def _kept(entry: Entry, folder: Path) -> Manifest | None:
    """Return the manifest in `folder` if it describes this version of the graph and the graph exists."""
    try:
        manifest = read_manifest(folder)
        made = (folder / "graph.arrow").stat()
        newer = entry.has_changed_since(folder / "graph.arrow")
    except (InputError, OSError):
        return None
    kept = manifest.status == "ok" and manifest.recipe == entry.recipe and manifest.bytes == made.st_size
    return manifest if kept and not newer else None


def fetch_raw(entry: Entry, sources: Sources) -> tuple[Source, Fetched]:
    """Return the entry's raw file and the source that it belongs to; raise `NotFetched` if no location has it."""
    wanted = [source.wanted(entry.name) for source in entry.sources]
    fetched = sources.fetch(*wanted)
    name = basename(fetched.location)
    return next(source for source, one in zip(entry.sources, wanted) if name in one.known_names), fetched


def _fetched(entry: Entry, sources: Sources, clock: _Clock) -> tuple[Graph, dict[str, Any]]:
    from mst.simplify import simplify

    with clock("fetch"):
        source, fetched = fetch_raw(entry, sources)
    with clock("read"):
        raw = _read(entry, source, fetched, sources)
    if raw.w is None and entry.weights is None:
        raise ConfigError(f"{fetched.location} has no weights; add weights to its entry")
    described = Raw(
        location=fetched.location,
        sha256=fetched.sha256,
        bytes=fetched.bytes,
        check=fetched.check,  # type: ignore[arg-type]
        format=raw.format,
        member=source.inside(fetched.path.name),
        rows=raw.summary.rows,
        ids=_ids(raw),
        remarks=raw.summary.remarks,
    )
    with clock("simplify"):
        multigraph = raw.graph(name=entry.name)
        del raw  # raw rows and simple graph need not be in memory together
        graph, merged = simplify(multigraph)
        del multigraph
    if entry.weights is not None:
        with clock("weigh"):
            graph = _weighed(graph, entry.weights, entry.seed)
    return graph, dict(raw=described, merged=asdict(merged), weights=_origin_of_weights(entry))


def _read(entry: Entry, source: Source, fetched: Fetched, sources: Sources) -> RawGraph:
    """Read a raw file; an unreadable one is removed from the cache, and the error names its location."""
    from mst.formats import read_raw

    member = source.inside(fetched.path.name)
    try:
        return read_raw(fetched.path, format=source.format, member=member)
    except FormatError as error:
        sources.forget(entry.name, fetched)
        place = f"{fetched.location} ({member})" if member else fetched.location
        error.args = (str(error).replace(str(fetched.path), place),)
        raise


def _generated(entry: Entry, clock: _Clock) -> tuple[Graph, dict[str, Any]]:
    from mst.generators import generate

    assert entry.generator is not None and entry.weights is not None
    with clock("generate"):
        parameters: dict[str, Any] = dict(entry.parameters)
        graph = generate(
            entry.generator, seed=entry.seed, weights=entry.weights.spec(), name=entry.name, **parameters
        )
        if entry.weights.rule != "hash":
            graph = _weighed(graph, entry.weights, entry.seed)
    made = dict(name=entry.generator, parameters=entry.parameters, seed=entry.seed)
    return graph, dict(generator=made, weights=_origin_of_weights(entry))


def _weighed(graph: Graph, weights: Weights, seed: int) -> Graph:
    """Return the graph with generated weights in place of its own."""
    from mst.graph import Graph
    from mst.weights import ecl_weights, hash_weights

    if weights.rule == "ecl":
        w = ecl_weights(graph.u, graph.v, graph.n)
    else:
        w = hash_weights(graph.u, graph.v, seed=seed, spec=weights.spec())
    return Graph(graph.n, graph.u, graph.v, w, name=graph.name, trusted=True)


def _origin_of_weights(entry: Entry) -> str:
    if entry.weights is None:
        return "from the file"
    made = entry.weights
    if made.rule == "ecl":
        return "made: |1 + (u·v) mod n| in 32 bits, as ECL-MST's artifact does"
    distinct = ", distinct" if made.distinct else ""
    order = "" if made.order == "random" else f", {made.order} by row"
    return f"made: {made.dtype} in [{made.low}, {made.high}]{distinct}{order}, seed {entry.seed}"


def describe(graph: Graph) -> dict[str, Any]:
    """Return n, m, components, degrees and weight range of a graph, under the names of `Manifest`."""
    from mst.kernels.graph.degrees import degrees
    from mst.kernels.union_find.connectivity import count_components

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


def _checks(entry: Entry, known: dict[str, Any]) -> Iterator[Check]:
    """Yield every published number that can be compared, with the one found."""
    raw: Raw | None = known.get("raw")
    # Rows count the lines of the first source's file: other sources list the same graph differently.
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
    for published in entry.published:
        for quantity, actual in found.items():
            stated = getattr(published, quantity)
            if stated is None or actual is None:
                continue
            if quantity == "average_degree":
                decimals = len(stated.partition(".")[2])
                actual = f"{actual:.{decimals}f}"
            agrees = actual == stated
            yield Check(by=published.by, quantity=quantity, published=stated, found=actual, agrees=agrees)


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


def _ids(raw: RawGraph) -> str:
    if raw.original_ids is None:
        return f"those of the file less {raw.base}" if raw.base else "as in the file, from 0"
    used = raw.original_ids[raw.original_ids >= 0]
    if used.size == 0:
        return "no edge names a vertex"
    return f"{used.size:,} ids compacted in ascending order, from {used[0]} to {used[-1]}"


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
