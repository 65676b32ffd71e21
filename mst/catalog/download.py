"""Raw files from mirrors or official addresses: resumed, retried and checked; incomplete files are never used.

Mirrors repack, so checksums belong to locations. A published checksum must match at the official address; elsewhere
the first one seen is recorded, with a remark if it is not the published one, and a later difference refused.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from mst.atomic import locked, write_text
from mst.cache import cache_root
from mst.catalog.locations import (
    Dead,
    DeadHosts,
    Limits,
    Missing,
    Refused,
    Wanted,
    basename,
    check_mirror,
    is_remote,
    join,
    local_path,
    split_mirrors,
    uncompressed,
)
from mst.catalog.partial import PartialFile
from mst.errors import DependencyError, UnavailableError
from mst.progress import remark

if TYPE_CHECKING:
    from mst.catalog.transport import Transport


@dataclass(frozen=True)
class Fetched:
    """A raw file on this machine.

    Attributes
    ----------
    path : Path
    location : str
        The folder's file or the address that it came from.
    sha256 : str
    bytes : int
    check : str
        ``"published"`` (equals the published checksum), ``"recorded"`` (equals the one recorded for this
        location) or ``"first"`` (the first one recorded there).
    """

    path: Path
    location: str
    sha256: str
    bytes: int
    check: str


class NotFetched(UnavailableError):
    """No location had the file; `tried` lists each with its reason, `own` says that it is a file of this machine."""

    def __init__(self, graph: str, tried: list[tuple[str, str]], *, own: bool):
        self.tried = tried
        lines = "".join(f"\n  {location}: {reason}" for location, reason in tried)
        remedy = "" if own else "; set MST_MIRROR to a folder that has it. Locations tried"
        super().__init__(
            f"{graph} is unavailable{remedy}:"
            + (lines or "\n  none: the catalogue gives no address, and no mirror is configured")
        )


class Sources:
    """Mirrors, official addresses and the cache, as places to get raw files from.

    Parameters
    ----------
    mirrors : iterable of str
        Folders or address prefixes, tried first and in this order.
    offline : bool
        Use folders and cached files only; never touch the network.
    cache : path-like, optional
        Folder of raw files and checksums; by default `mst.cache.cache_root`.
    limits : Limits, optional
        Of time and retries.
    dead_hosts : path-like, optional
        A file through which the processes of one run share the hosts that they gave up.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from mst.catalog.download import Sources
    >>> from mst.catalog.locations import Wanted
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     mirror = pathlib.Path(folder, "mirror"); mirror.mkdir()
    ...     _ = (mirror / "tiny.txt").write_text("0 1\\n")
    ...     sources = Sources([str(mirror)], offline=True, cache=pathlib.Path(folder, "cache"))
    ...     fetched = sources.fetch(Wanted("tiny", names=("tiny.txt",)))
    ...     fetched.path.read_text(), fetched.check
    ('0 1\\n', 'first')
    """

    def __init__(
        self,
        mirrors: Iterable[str] = (),
        offline: bool = False,
        cache: str | os.PathLike | None = None,
        *,
        limits: Limits | None = None,
        dead_hosts: str | os.PathLike | None = None,
    ):
        self.mirrors = tuple(str(mirror) for mirror in mirrors)
        for mirror in self.mirrors:
            check_mirror(mirror)
        self.offline = offline
        self.cache = Path(cache) if cache is not None else cache_root()
        self.limits = limits or Limits()
        self.dead_hosts = DeadHosts(dead_hosts)
        self._checksums = _Checksums(self.cache / "checksums")

    @classmethod
    def from_environment(cls, mirrors: Iterable[str] = (), offline: bool = False) -> Sources:
        """Return sources with the mirrors of ``MST_MIRROR`` in front of `mirrors`.

        ``MST_DEAD_HOSTS``, if set, names the file through which the processes of one run share the hosts
        that they gave up.
        """
        named = split_mirrors(os.environ.get("MST_MIRROR", ""))
        dead_hosts = os.environ.get("MST_DEAD_HOSTS") or None
        return cls(dict.fromkeys([*named, *map(str, mirrors)]), offline, dead_hosts=dead_hosts)

    def fetch(self, *wanted: Wanted) -> Fetched:
        """Return the first of the wanted files that some location has: this machine, the cache, a mirror, official.

        Raises
        ------
        NotFetched
            With every location tried and its reason.
        UnavailableError
            The cache cannot be written.
        """
        try:
            return self._fetch(wanted)
        except OSError as error:
            raise UnavailableError(
                f"{error.filename or self.cache} cannot be written: {error.strerror or error}; "
                "set MST_CACHE to a folder with free space, or see mst clean"
            ) from error

    def _fetch(self, wanted: tuple[Wanted, ...]) -> Fetched:
        tried: list[tuple[str, str]] = []
        for one in wanted:
            if one.path and (own := _own(one.path, one.sha256, tried)):
                return own
            if cached := self._cached(one):
                return cached
        for mirror in self.mirrors:
            if found := self._from_mirror(mirror, wanted, tried):
                return found
        for one in wanted:
            for address in one.addresses:
                try:
                    return self._from(address, one)
                except Refused as refused:
                    tried.append((address, str(refused)))
        graph = wanted[0].graph if wanted else "the file"
        raise NotFetched(graph, tried, own=all(one.path for one in wanted))

    def _from_mirror(
        self, mirror: str, wanted: tuple[Wanted, ...], tried: list[tuple[str, str]]
    ) -> Fetched | None:
        """Try every name that the files may have at a mirror; add failures to `tried`."""
        if not is_remote(mirror) and not local_path(mirror).is_dir():
            tried.append((mirror, "no such folder"))
            return None
        missing: dict[str, None] = {}
        for one, name in [(each, name) for each in wanted for name in each.known_names]:
            try:
                return self._from(join(mirror, name), one)
            except Missing:
                missing[uncompressed(name)] = None
            except Dead as dead:
                tried.append((mirror, str(dead)))
                return None
            except Refused as refused:
                tried.append((join(mirror, name), str(refused)))
        if missing:
            tried.append((mirror, f"has no {', '.join(missing)}, compressed or not"))
        return None

    def _cached(self, wanted: Wanted) -> Fetched | None:
        """Return a raw file kept by an earlier call, from any location, if it is still intact."""
        for note in sorted((self.cache / "raw" / wanted.graph).glob("*/receipt.json")):
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
                receipt = json.loads(note.read_text())
                path = note.parent / receipt["name"]
                if receipt["name"] not in wanted.known_names or not path.is_file():
                    continue
                official = receipt["location"] in wanted.addresses
                if official and wanted.sha256 and receipt["sha256"] != wanted.sha256:
                    continue
                if path.stat().st_size == receipt["bytes"] and _sha256(path) == receipt["sha256"]:
                    check = "published" if receipt["sha256"] == wanted.sha256 else "recorded"
                    return Fetched(path, receipt["location"], receipt["sha256"], receipt["bytes"], check)
        return None

    def _from(self, location: str, wanted: Wanted) -> Fetched:
        """Return the file from one location, or raise `Refused`."""
        if is_remote(location):
            if self.offline:
                raise Dead("offline")
            self.dead_hosts.refuse(location)
        elif not local_path(location).is_file():
            raise Missing("no such file")
        name = basename(location)
        key = hashlib.sha256(location.encode()).hexdigest()[:8]
        target = self.cache / "raw" / wanted.graph / key / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with locked(target.parent / "lock") as alone:
            if alone and (done := self._cached(wanted)):  # another process fetched it meanwhile
                return done
            part = PartialFile(target.with_name(name + (".part" if alone else f".part-{os.getpid()}")))
            sha256, size, check = self._whole(location, wanted, part)
            part.path.replace(target)
            part.discard()
            receipt = dict(location=location, name=name, sha256=sha256, bytes=size)
            write_text(target.parent / "receipt.json", json.dumps(receipt, indent=1) + "\n")
        if check == "first" and wanted.sha256:
            remark(
                f"{location}: sha256 {sha256} differs from that in the catalogue, {wanted.sha256}, as for a file "
                f"that was packed again; if its content differs, too, correct the catalogue and remove {target.parent}"
            )
        return Fetched(target, location, sha256, size, check)

    def _whole(self, location: str, wanted: Wanted, part: PartialFile) -> tuple[str, int, str]:
        """Bring `part` to its full length; return its checksum, its size and the check that it passed."""
        while True:
            resumed = part.size > 0
            if is_remote(location):
                self._transport.download(location, part, wanted.graph)
            else:
                _copy(local_path(location), part.path)
            sha256 = _sha256(part.path)
            try:
                return sha256, part.size, self._check(location, wanted, sha256)
            except Refused:
                part.discard()
                # The partial file of an earlier run may have been of another version: start again.
                if not resumed:
                    raise

    @cached_property
    def _transport(self) -> Transport:
        """The HTTP client, made when a download first needs it."""
        try:
            from mst.catalog.transport import Transport
        except ImportError as error:
            raise DependencyError(
                f"downloads need httpx and tenacity ({error}): pip install httpx tenacity, or put the file into a "
                "folder and set MST_MIRROR to it"
            ) from None
        return Transport(self.limits, self.dead_hosts)

    def _check(self, location: str, wanted: Wanted, sha256: str) -> str:
        """Compare a checksum with the published one, or else with the one recorded for this location."""
        if wanted.sha256 == sha256:
            return "published"
        if wanted.sha256 and location in wanted.addresses:
            raise Refused(f"sha256 {sha256} differs from the published {wanted.sha256}")
        return self._checksums.check(wanted.graph, location, sha256)

    def forget(self, graph: str, fetched: Fetched) -> None:
        """Remove an unusable raw file and its recorded checksum, so that it is fetched again.

        A file that lies outside the cache stays.
        """
        if self.cache / "raw" / graph in fetched.path.parents:
            shutil.rmtree(fetched.path.parent, ignore_errors=True)
            self._checksums.forget(graph, fetched.location)


class _Checksums:
    """The first checksum recorded at each location: one JSON file for each graph in `folder`."""

    def __init__(self, folder: Path):
        self.folder = folder

    def check(self, graph: str, location: str, sha256: str) -> str:
        """Return ``"first"`` for a new location, ``"recorded"`` for a known one; refuse another checksum there."""
        with self._opened(graph) as (file, seen):
            if (first := seen.get(location)) is None:
                self._write(file, seen | {location: sha256})
                return "first"
        if first != sha256:
            raise Refused(
                f"sha256 {sha256} differs from {first}, which was recorded at the first download; "
                f"if the change is intended, remove {file} and fetch again"
            )
        return "recorded"

    def forget(self, graph: str, location: str) -> None:
        """Remove the checksum of a location."""
        with self._opened(graph) as (file, seen):
            if seen.pop(location, None) is not None:
                self._write(file, seen)

    @contextlib.contextmanager
    def _opened(self, graph: str) -> Iterator[tuple[Path, dict[str, str]]]:
        file = self.folder / f"{graph}.json"
        self.folder.mkdir(parents=True, exist_ok=True)
        with locked(file.with_suffix(".lock")):
            try:
                seen = json.loads(file.read_text()) if file.is_file() else {}
            except ValueError:
                raise UnavailableError(
                    f"{file} is damaged: remove it; the next fetch records checksums again"
                ) from None
            yield file, seen

    @staticmethod
    def _write(file: Path, seen: dict[str, str]) -> None:
        write_text(file, json.dumps(seen, indent=1, sort_keys=True) + "\n")


def _own(path: Path, sha256: str | None, tried: list[tuple[str, str]]) -> Fetched | None:
    """Return a file of this machine, or add to `tried` why it cannot be used."""
    if not path.is_file():
        tried.append((str(path), "no such file: put it there, or correct the path in the catalogue"))
        return None
    try:
        found = _sha256(path)
    except OSError as error:
        tried.append((str(path), f"cannot be read: {error.strerror or error}"))
        return None
    if sha256 not in (None, found):
        tried.append((str(path), f"sha256 {found} differs from that in the catalogue, {sha256}"))
        return None
    return Fetched(path, str(path), found, path.stat().st_size, "published" if sha256 else "first")


def _copy(source: Path, part: Path) -> None:
    """Copy a mirror's file; the kernel shares the blocks where the file system can."""
    try:
        shutil.copyfile(source, part)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise Refused(f"cannot be read: {error.strerror}") from None


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
