"""Raw files by name, the locations of copies, and the errors of a location.

A *source* is one file, byte for byte, with its official addresses; a *location* is the place of a possible copy: a file
in a mirror's folder, a mirror's address prefix with a name, or an official address.
"""

from __future__ import annotations

import os
import re
import urllib.parse
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from mst.errors import ConfigError

_PACKINGS = ("", ".gz", ".zst", ".bz2", ".xz")
# An address keeps its colons; elsewhere a colon separates, as in PATH.
_MIRROR = re.compile(r"[a-z]+://(?:\[[^\]\s]*\])?[^\s:]*(?::\d+[^\s:]*)?|[^\s:]+")


class Refused(Exception):
    """This location does not have the file, or has a wrong one: try the next."""


class Missing(Refused):
    """This location answers, and does not have the file."""


class Dead(Refused):
    """The whole host or mirror is unreachable."""


class Limits(NamedTuple):
    """Limits on the waiting time and the attempts of a download.

    Attributes
    ----------
    timeout : float
        Seconds without an answer, or with less than 1 KiB received, after which a connection counts as dead.
    retries : int
        Attempts without progress after the first one.
    wait : float
        Seconds before the first retry; doubled each time, up to 30.
    """

    timeout: float = 20.0
    retries: int = 4
    wait: float = 1.0


@dataclass(frozen=True)
class Wanted:
    """One raw file to fetch.

    Attributes
    ----------
    graph : str
        The graph that it holds; checksums and raw files are kept under this name.
    addresses : tuple of str
        Official addresses of the same bytes.
    names : tuple of str
        Further names under which a mirror may hold it. The addresses' base names always count, and so do
        other compressions of each name.
    sha256 : str, optional
        As published with the official addresses.
    path : Path, optional
        A file of this machine, which is read where it is and may change.
    """

    graph: str
    addresses: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    sha256: str | None = None
    path: Path | None = None

    @property
    def known_names(self) -> tuple[str, ...]:
        """Every name that a mirror may use, the likeliest first."""
        own = [self.path.name] if self.path else []
        plain = own + [basename(address) for address in self.addresses] + list(self.names)
        packed = [uncompressed(name) + packing for name in plain for packing in _PACKINGS]
        return tuple(dict.fromkeys(plain + packed))


class DeadHosts:
    """Hosts that were given up in this run.

    Parameters
    ----------
    file : path-like or None
        A file through which the processes of one run share them.
    """

    def __init__(self, file: str | os.PathLike | None):
        self.file = Path(file) if file is not None else None
        self._reasons: dict[str, str] = {}

    def refuse(self, address: str) -> None:
        """Raise `Dead` when the host of `address` was given up."""
        host = urllib.parse.urlsplit(address).netloc
        if self.file is not None and self.file.is_file():
            for line in self.file.read_text().splitlines():
                name, _, reason = line.partition("\t")
                self._reasons.setdefault(name, reason)
        if host in self._reasons:
            raise Dead(f"{host} was given up in this run: {self._reasons[host]}")

    def give_up(self, address: str, reason: str) -> None:
        """Remember the host of `address` as dead."""
        host = urllib.parse.urlsplit(address).netloc
        self._reasons[host] = reason
        if self.file is not None:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            with self.file.open("a") as out:  # one short line: appended whole
                out.write(f"{host}\t{' '.join(reason.split())}\n")


def split_mirrors(text: str) -> list[str]:
    """Return the mirrors of ``MST_MIRROR``: folders and address prefixes, separated by spaces or colons.

    Examples
    --------
    >>> from mst.catalog.locations import split_mirrors
    >>> split_mirrors("/data/graphs:http://mirror:8080/graphs /scratch")
    ['/data/graphs', 'http://mirror:8080/graphs', '/scratch']
    """
    return [text] if text and Path(text).is_dir() else _MIRROR.findall(text)


def check_mirror(mirror: str) -> None:
    """Raise `ConfigError` unless `mirror` is a folder or a web address."""
    scheme = mirror.split("://", 1)[0] if "://" in mirror else "file"
    if scheme not in ("http", "https", "file"):
        raise ConfigError(f"mirror {mirror!r}: only folders, http:// and https:// can be mirrors")


def is_remote(location: str) -> bool:
    """Return whether a location is a web address."""
    return location.startswith(("http://", "https://"))


def local_path(location: str) -> Path:
    """Return the path of a location on this machine, given plainly or as ``file://``."""
    path = urllib.request.url2pathname(location.removeprefix("file://")) if "://" in location else location
    return expanded(path)


def expanded(path: str) -> Path:
    """Return a path with ``~`` expanded, if there is such a home."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def join(mirror: str, name: str) -> str:
    """Return the location of a file in a mirror."""
    return f"{mirror.rstrip('/')}/{urllib.parse.quote(name) if is_remote(mirror) else name}"


def basename(location: str) -> str:
    """Return the file name at the end of a path or address."""
    path = urllib.parse.unquote(urllib.parse.urlsplit(location).path) if is_remote(location) else location
    return path.rstrip("/").rsplit("/", 1)[-1]


def uncompressed(name: str) -> str:
    """Return a file name without the suffixes of compression."""
    for packing in _PACKINGS[1:]:
        name = name.removesuffix(packing)
    return name
