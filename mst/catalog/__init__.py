"""The catalogue of graphs: entries, their sources or generators, and the conversion to canonical files.

An entry of ``config/graphs.yaml`` names either *sources* (raw files with official addresses) or a *generator*
with its parameters and seed. `materialise` brings an entry into a folder as ``graph.arrow``, and beside it
``manifest.json``, written last, which the rest of the workflow reads in place of the graph.
"""

from mst.catalog.catalogue import Catalog, load, schema
from mst.catalog.conversion import default_folder, describe, fetch_raw, materialise, obtain
from mst.catalog.entry import Entry, Published, Source, Weights
from mst.catalog.manifest import Check, Manifest, Raw, Tried, read_manifest

__all__ = [
    "Catalog",
    "Check",
    "Entry",
    "Manifest",
    "Published",
    "Raw",
    "Source",
    "Tried",
    "Weights",
    "default_folder",
    "describe",
    "fetch_raw",
    "load",
    "materialise",
    "obtain",
    "read_manifest",
    "schema",
]
