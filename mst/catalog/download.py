"""Raw files from mirrors or official addresses: resumed, retried, checked, and never half there.

A *source* is one file, byte for byte, with its official addresses; a *location* is where a copy may lie: a
mirror's folder or address prefix, or an official address. Mirrors repack, so checksums belong to locations. A
published checksum must match at the official address; elsewhere the first one seen is recorded, and a later
difference refused.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import http.client
import json
import os
import random
import re
import shutil
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from mst.errors import ConfigError, UnavailableError
from mst.kernels.primitives.cache import cache_root
from mst.version import __version__

_PACKINGS = ("", ".gz", ".zst", ".bz2", ".xz")
_BLOCK = 1 << 18
_TRANSIENT = frozenset((408, 425, 429, 500, 502, 503, 504))
# An address keeps its colons; elsewhere a colon separates, as in PATH.
_MIRROR = re.compile(r"[a-z]+://(?:\[[^\]\s]*\])?[^\s:]*(?::\d+[^\s:]*)?|[^\s:]+")


@dataclass(frozen=True)
class Wanted:
    """One raw file to be had.

    Attributes
    ----------
    graph : str
        Whose file it is; checksums and raw files are kept under this name.
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


@dataclass(frozen=True)
class Fetched:
    """A raw file at hand.

    Attributes
    ----------
    path : Path
    location : str
        The folder's file or the address that it came from.
    sha256 : str
    bytes : int
    check : str
        ``"published"`` (equals the published checksum), ``"recorded"`` (equals the one seen first at this
        location) or ``"first"`` (the first one seen there).
    """

    path: Path
    location: str
    sha256: str
    bytes: int
    check: str


class NotFetched(UnavailableError):
    """No location had the file; `tried` lists each with its reason."""

    def __init__(self, graph: str, tried: list[tuple[str, str]]):
        self.tried = tried
        lines = "".join(f"\n  {location}: {reason}" for location, reason in tried)
        super().__init__(
            f"{graph} is not to be had; set MST_MIRROR to a folder that has it, or see the locations tried:"
            + (lines or "\n  none: the catalogue gives no address, and no mirror is configured")
        )


class _Refused(Exception):
    """This location does not have the file, or not the right one: try the next."""


class _Missing(_Refused):
    """This location answers, and does not have the file."""


class _Dead(_Refused):
    """The whole host or mirror is out of reach."""


class _Broken(Exception):
    """The connection broke off or the server was busy: worth another attempt."""

    def __init__(self, reason: str, wait: float = 0.0):
        super().__init__(reason)
        self.wait = wait


class _Mismatch(_Broken):
    """What is there already is not the beginning of what the server has: start again from nothing."""


class Sources:
    """Where raw files come from, and what is known of those places in this run.

    Parameters
    ----------
    mirrors : iterable of str
        Folders or address prefixes, asked first and in this order.
    offline : bool
        Use folders and what is cached already; never touch the network.
    cache : path-like, optional
        Folder of raw files and checksums; by default `mst.kernels.primitives.cache.cache_root`.
    progress : bool, optional
        Show progress on standard error; by default only on a terminal.
    timeout : float
        Seconds without an answer, or with less than 1 KiB received, after which a connection counts as dead.
    retries : int
        Attempts without progress after the first one.
    wait : float
        Seconds before the first retry; doubled each time, up to 30.
    dead_hosts : path-like, optional
        A file through which the processes of one run tell each other which hosts they gave up.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from mst.catalog.download import Sources, Wanted
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
        progress: bool | None = None,
        timeout: float = 20.0,
        retries: int = 4,
        wait: float = 1.0,
        dead_hosts: str | os.PathLike | None = None,
    ):
        self.mirrors = tuple(str(mirror) for mirror in mirrors)
        for mirror in self.mirrors:
            _check_scheme(mirror)
        self.offline = offline
        self.cache = Path(cache) if cache is not None else cache_root()
        self.progress = sys.stderr.isatty() if progress is None else progress
        self.timeout, self.retries, self.wait = timeout, retries, wait
        self._dead_hosts = Path(dead_hosts) if dead_hosts is not None else None
        self._given_up: dict[str, str] = {}
        self._opener = urllib.request.build_opener(_Redirects(self))

    @classmethod
    def from_environment(cls, mirrors: Iterable[str] = (), offline: bool = False, **options: Any) -> Sources:
        """Return sources with the mirrors of ``MST_MIRROR`` in front of `mirrors`.

        ``MST_DEAD_HOSTS``, if set, names the file through which the processes of one run share the hosts
        that they gave up.
        """
        options.setdefault("dead_hosts", os.environ.get("MST_DEAD_HOSTS") or None)
        named = split_mirrors(os.environ.get("MST_MIRROR", ""))
        return cls(dict.fromkeys([*named, *map(str, mirrors)]), offline, **options)

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
                "set MST_CACHE to a folder with room, or see mst clean"
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
                except _Refused as refused:
                    tried.append((address, str(refused)))
        raise NotFetched(wanted[0].graph if wanted else "the file", tried)

    def _from_mirror(
        self, mirror: str, wanted: tuple[Wanted, ...], tried: list[tuple[str, str]]
    ) -> Fetched | None:
        """Ask a mirror for every name that the files may have there; add to `tried` what went wrong."""
        if not _remote(mirror) and not _folder(mirror).is_dir():
            tried.append((mirror, "no such folder"))
            return None
        missing: dict[str, None] = {}
        for one, name in [(each, name) for each in wanted for name in each.known_names]:
            try:
                return self._from(_join(mirror, name), one)
            except _Missing:
                missing[uncompressed(name)] = None
            except _Dead as dead:
                tried.append((mirror, str(dead)))
                return None
            except _Refused as refused:
                tried.append((_join(mirror, name), str(refused)))
        if missing:
            tried.append((mirror, f"has no {', '.join(missing)}, compressed or not"))
        return None

    def _cached(self, wanted: Wanted) -> Fetched | None:
        """Return a raw file kept by an earlier call, from whatever location, if it is still intact."""
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
        """Return the file from one location, or raise `_Refused`."""
        if _remote(location):
            if self.offline:
                raise _Dead("offline")
            self.refuse_dead(location)
        elif not _folder(location).is_file():
            raise _Missing("no such file")
        name = basename(location)
        key = hashlib.sha256(location.encode()).hexdigest()[:8]
        target = self.cache / "raw" / wanted.graph / key / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with _one_process(target.parent / "lock") as alone:
            if alone and (done := self._cached(wanted)):  # another process fetched it meanwhile
                return done
            part = target.with_name(name + (".part" if alone else f".part-{os.getpid()}"))
            for fresh in (False, True):
                resumed = part.exists() and not fresh
                if not resumed:
                    _discard(part)
                if _remote(location):
                    self._download(location, part, wanted.graph)
                else:
                    _copy(_folder(location), part)
                sha256, size = _sha256(part), part.stat().st_size
                try:
                    check = self._checked(location, wanted, sha256)
                    break
                except _Refused:
                    _discard(part)
                    # What an earlier run left may have been another version: once more from the start.
                    if not resumed:
                        raise
            part.replace(target)
            _discard(part)
            receipt = dict(location=location, name=name, sha256=sha256, bytes=size)
            write_atomically(target.parent / "receipt.json", json.dumps(receipt, indent=1) + "\n")
        return Fetched(target, location, sha256, size, check)

    def _checked(self, location: str, wanted: Wanted, sha256: str) -> str:
        """Compare a checksum with the published one or the one seen first here; record a first one."""
        if wanted.sha256 == sha256:
            return "published"
        if wanted.sha256 and location in wanted.addresses:
            raise _Refused(f"sha256 {sha256} is not the published {wanted.sha256}")
        note = self.cache / "checksums" / f"{wanted.graph}.json"
        note.parent.mkdir(parents=True, exist_ok=True)
        with _one_process(note.with_suffix(".lock")):
            seen = _read_checksums(note)
            if (first := seen.get(location)) is None:
                seen[location] = sha256
                write_atomically(note, json.dumps(seen, indent=1, sort_keys=True) + "\n")
                return "first"
        if first != sha256:
            raise _Refused(
                f"sha256 {sha256} differs from {first}, seen there first; "
                f"if the change is meant, remove {note} and fetch again"
            )
        return "recorded"

    def forget(self, graph: str, fetched: Fetched) -> None:
        """Drop a raw file that turned out useless, and what was recorded of it, so that it is fetched anew.

        Only what was fetched is dropped, never a user's own file.
        """
        if self.cache / "raw" / graph not in fetched.path.parents:
            return
        shutil.rmtree(fetched.path.parent, ignore_errors=True)
        note = self.cache / "checksums" / f"{graph}.json"
        if note.is_file():
            with _one_process(note.with_suffix(".lock")):
                seen = _read_checksums(note)
                if seen.pop(fetched.location, None) is not None:
                    write_atomically(note, json.dumps(seen, indent=1, sort_keys=True) + "\n")

    def _download(self, address: str, part: Path, label: str) -> None:
        """Bring `part` to its full length, resuming and retrying, or raise `_Refused`."""
        furthest = part.stat().st_size if part.exists() else 0
        idle = 0
        while True:
            try:
                self._receive(address, part, label)
                return
            except _Broken as broken:
                reached = part.stat().st_size if part.exists() else 0
                # A server that sends a little and breaks off each time must not hold us forever.
                idle = 0 if reached >= furthest + (1 << 20) else idle + 1
                furthest = max(furthest, reached)
                if idle > self.retries:
                    self._give_up(address, str(broken))
                    raise _Refused(f"{broken}, {idle} times in a row") from None
                pause = min(self.wait * 2 ** max(idle - 1, 0), 30.0) * random.uniform(0.75, 1.25)
                time.sleep(max(pause, min(broken.wait, 30.0)))

    def _receive(self, address: str, part: Path, label: str) -> None:
        """One request: append to `part` what is missing."""
        known = _read_note(part)
        have = part.stat().st_size if part.exists() else 0
        if have and known.get("total") == have:
            return
        with self._open(address, have, known) as response:
            try:
                start, total = _span(response, have, known)
            except _Mismatch:
                _discard(part)
                raise
            note = dict(
                total=total, etag=response.headers.get("ETag"), modified=response.headers.get("Last-Modified")
            )
            write_atomically(_note(part), json.dumps(note))
            with part.open("r+b" if part.exists() else "wb") as out:
                out.truncate(start)
                out.seek(start)
                done = self._pour(response, out, label, start, total)
                out.flush()
                os.fsync(out.fileno())
        if total is not None and done < total:
            raise _Broken(f"broke off after {done:,} of {total:,} bytes")
        if done == 0:
            raise _Refused("answered with an empty file")

    def _open(self, address: str, have: int, known: dict) -> http.client.HTTPResponse:
        request = _Request(address, headers={"User-Agent": f"mst/{__version__}"})
        if have:
            request.add_header("Range", f"bytes={have}-")
            # Without If-Range, a file that changed since would be glued to the old one's beginning.
            etag = known.get("etag") or ""
            validator = etag if etag and not etag.startswith("W/") else known.get("modified")
            if validator:
                request.add_header("If-Range", validator)
        try:
            response = self._opener.open(request, timeout=self.timeout)
        except urllib.error.HTTPError as error:
            with error:
                if error.code == 416 and have:
                    return _RangeRefused(error)  # type: ignore[return-value]
                reason = f"HTTP {error.code} {error.reason}"
                if error.code in _TRANSIENT:
                    after = error.headers.get("Retry-After") or ""
                    raise _Broken(reason, float(after) if after.isdigit() else 0.0) from None
                raise (_Missing if error.code in (404, 410) else _Refused)(reason) from None
        except (http.client.RemoteDisconnected, ConnectionResetError, http.client.BadStatusLine) as error:
            raise _Broken(f"closed without an answer ({error})") from None
        except (OSError, http.client.HTTPException) as error:
            cause = getattr(error, "reason", None) or error
            if isinstance(cause, ConnectionResetError | http.client.RemoteDisconnected):
                raise _Broken(f"closed without an answer ({cause})") from None
            self._give_up(request.hops[-1], str(cause))
            raise _Dead(f"dead connection: {cause}") from None
        kind = response.headers.get_content_type()
        if kind == "text/html" and not basename(address).endswith((".html", ".htm")):
            response.close()
            raise _Refused("answered with a web page, not with the file")
        return response

    def _pour(self, response: Any, out: BinaryIO, label: str, done: int, total: int | None) -> int:
        """Copy what arrives; a connection that stalls or trickles below 1 KiB per timeout is broken."""
        meter = _Meter(label, done, total) if self.progress else None
        window, gained = time.monotonic(), 0
        try:
            while block := _next_block(response, done):
                out.write(block)
                done += len(block)
                gained += len(block)
                if meter:
                    meter.show(done)
                if time.monotonic() - window > self.timeout:
                    if gained < 1024:
                        raise _Broken(f"stalled after {done:,} bytes")
                    window, gained = time.monotonic(), 0
            return done
        finally:
            if meter:
                meter.end(done)

    def refuse_dead(self, address: str) -> None:
        """Raise `_Refused` when the host of `address` was given up in this run."""
        host = urllib.parse.urlsplit(address).netloc
        if self._dead_hosts is not None and self._dead_hosts.is_file():
            for line in self._dead_hosts.read_text().splitlines():
                name, _, reason = line.partition("\t")
                self._given_up.setdefault(name, reason)
        if host in self._given_up:
            raise _Dead(f"{host} was given up in this run: {self._given_up[host]}")

    def _give_up(self, address: str, reason: str) -> None:
        host = urllib.parse.urlsplit(address).netloc
        self._given_up[host] = reason
        if self._dead_hosts is not None:
            self._dead_hosts.parent.mkdir(parents=True, exist_ok=True)
            with self._dead_hosts.open("a") as out:  # one short line: appended whole
                out.write(f"{host}\t{' '.join(reason.split())}\n")


class _Request(urllib.request.Request):
    """A request that remembers where it was sent on to, so that the right host is given up."""

    def __init__(self, address: str, **options: Any):
        super().__init__(address, **options)
        self.hops = [address]


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects between web addresses only, and not to a host that was given up."""

    def __init__(self, sources: Sources):
        self.sources = sources

    def redirect_request(self, req, fp, code, msg, headers, newurl):
        if urllib.parse.urlsplit(newurl).scheme not in ("http", "https"):
            raise _Refused(f"redirects to {newurl}, which is no web address")
        self.sources.refuse_dead(newurl)
        req.hops.append(newurl)
        onward = super().redirect_request(req, fp, code, msg, headers, newurl)
        if onward is not None:
            onward.hops = req.hops  # type: ignore[attr-defined]
        return onward


class _RangeRefused:
    """A 416 in the shape of a response: no byte is missing, or what we have is not the server's file."""

    def __init__(self, error: urllib.error.HTTPError):
        self.headers, self.status = error.headers, 416

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def read1(self, _size: int) -> bytes:
        return b""


class _Meter:
    """Progress on standard error: a line that rewrites itself on a terminal, else one every 10 s."""

    def __init__(self, label: str, start: int, total: int | None):
        self.label, self.start, self.total = label, start, total
        self.began = self.shown = time.monotonic()
        self.live = sys.stderr.isatty()

    def show(self, done: int) -> None:
        if time.monotonic() - self.shown > (0.2 if self.live else 10.0):
            self._print(done, "\r" if self.live else "\n")

    def end(self, done: int) -> None:
        self._print(done, "\n")

    def _print(self, done: int, ending: str) -> None:
        self.shown = time.monotonic()
        rate = (done - self.start) / max(self.shown - self.began, 1e-6)
        of = f" of {self.total / 1e6:,.1f}" if self.total else ""
        line = f"{self.label}: {done / 1e6:,.1f}{of} MB, {rate / 1e6:,.1f} MB/s"
        print(f"{line:<70}", end=ending, file=sys.stderr, flush=True)


def split_mirrors(text: str) -> list[str]:
    """Return the mirrors of ``MST_MIRROR``: folders and address prefixes, separated by spaces or colons.

    Examples
    --------
    >>> from mst.catalog.download import split_mirrors
    >>> split_mirrors("/data/graphs:http://mirror:8080/graphs /scratch")
    ['/data/graphs', 'http://mirror:8080/graphs', '/scratch']
    """
    return [text] if Path(text).is_dir() and text else _MIRROR.findall(text)


def basename(location: str) -> str:
    """Return the file name at the end of a path or address."""
    path = urllib.parse.unquote(urllib.parse.urlsplit(location).path) if _remote(location) else location
    return path.rstrip("/").rsplit("/", 1)[-1]


def uncompressed(name: str) -> str:
    """Return a file name without the suffixes of compression."""
    for packing in _PACKINGS[1:]:
        name = name.removesuffix(packing)
    return name


def write_atomically(path: Path, text: str) -> None:
    """Write a small file so that no reader ever sees half of it."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{random.getrandbits(32):08x}")
    try:
        with temporary.open("w") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _next_block(response: Any, done: int) -> bytes:
    """Return what one read of the socket gives: a larger one would wait through many timeouts."""
    try:
        return response.read1(_BLOCK)
    except TimeoutError:
        raise _Broken(f"stalled after {done:,} bytes") from None
    except (OSError, http.client.HTTPException) as error:
        raise _Broken(f"broke off after {done:,} bytes ({error})") from None


def _span(response: Any, have: int, known: dict) -> tuple[int, int | None]:
    """Return where this answer's body starts in the file, and the file's full length if it is told."""
    told = (response.headers.get("Content-Range") or "").strip()
    if response.status == 206:
        found = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", told)
        if not found or int(found[1]) != have:
            raise _Mismatch("sent another range than asked for")
        total = None if found[2] == "*" else int(found[2])
        if known.get("total") not in (None, total):
            raise _Mismatch("has a file of another length than before")
        return have, total
    if response.status == 416:
        if told != f"bytes */{have}":
            raise _Mismatch("has no such range")
        return have, have
    if response.status != 200:
        raise _Refused(f"HTTP {response.status}")
    length = response.headers.get("Content-Length") or ""
    return 0, int(length) if length.isdigit() else None


def _own(path: Path, sha256: str | None, tried: list[tuple[str, str]]) -> Fetched | None:
    """Return a file of this machine, or add to `tried` why it is not to be had."""
    if not path.is_file():
        tried.append((str(path), "no such file"))
        return None
    try:
        found = _sha256(path)
    except OSError as error:
        tried.append((str(path), f"cannot be read: {error.strerror or error}"))
        return None
    if sha256 not in (None, found):
        tried.append((str(path), f"sha256 {found} is not the {sha256} of the catalogue"))
        return None
    return Fetched(path, str(path), found, path.stat().st_size, "published" if sha256 else "first")


def _remote(location: str) -> bool:
    return location.startswith(("http://", "https://"))


def _folder(location: str) -> Path:
    path = urllib.request.url2pathname(location.removeprefix("file://")) if "://" in location else location
    return Path(path).expanduser()


def _check_scheme(mirror: str) -> None:
    scheme = mirror.split("://", 1)[0] if "://" in mirror else "file"
    if scheme not in ("http", "https", "file"):
        raise ConfigError(f"mirror {mirror!r}: only folders, http:// and https:// can be mirrors")


def _join(mirror: str, name: str) -> str:
    return f"{mirror.rstrip('/')}/{urllib.parse.quote(name) if _remote(mirror) else name}"


def _copy(source: Path, part: Path) -> None:
    """Copy a mirror's file; the kernel shares the blocks where the file system can."""
    try:
        shutil.copyfile(source, part)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise _Refused(f"cannot be read: {error.strerror}") from None


def _note(part: Path) -> Path:
    return part.with_name(part.name + ".json")


def _read_note(part: Path) -> dict:
    try:
        return json.loads(_note(part).read_text())
    except (OSError, ValueError):
        return {}


def _read_checksums(note: Path) -> dict[str, str]:
    try:
        return json.loads(note.read_text()) if note.is_file() else {}
    except ValueError:
        raise UnavailableError(f"{note} is damaged: remove it; the next fetch records checksums anew") from None


def _discard(part: Path) -> None:
    part.unlink(missing_ok=True)
    _note(part).unlink(missing_ok=True)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextlib.contextmanager
def _one_process(lock: Path) -> Iterator[bool]:
    """Hold `lock`; yield False where the file system knows no locks."""
    with lock.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX)  # released with the file, also when the process dies
        except OSError:
            yield False
        else:
            yield True
