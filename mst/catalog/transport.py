"""One address to one partial file over HTTP: resumed, retried, within time limits."""

from __future__ import annotations

import os
import random
import re
import ssl
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any, BinaryIO

import httpx
from tenacity import RetryCallState, Retrying, retry_if_exception_type

from mst.catalog.locations import Dead, DeadHosts, Limits, Missing, Refused, basename
from mst.catalog.partial import PartialFile
from mst.progress import step
from mst.units import decimal_size
from mst.version import __version__

_TRANSIENT = frozenset((408, 425, 429, 500, 502, 503, 504))
_LONGEST_WAIT = 30.0
_PROGRESS = 1 << 20
"""Bytes that an attempt must gain to count as progress: a server may send a little and break off, again and again."""


class Broken(Exception):
    """The connection broke off or the server was busy: worth another attempt, after `wait` seconds."""

    def __init__(self, reason: str, wait: float = 0.0):
        super().__init__(reason)
        self.wait = wait


class Mismatch(Broken):
    """The partial file is not the beginning of the server's file: start again with an empty one."""


class Transport:
    """Downloads over one HTTP client.

    Parameters
    ----------
    limits : Limits
    dead_hosts : DeadHosts
        Checked before every request, redirects included; unreachable hosts are added.
    """

    def __init__(self, limits: Limits, dead_hosts: DeadHosts):
        self.limits, self.dead_hosts = limits, dead_hosts
        self._client = httpx.Client(
            # With compressed transfers, ranges and lengths would not be those of the file.
            headers={"User-Agent": f"mst/{__version__}", "Accept-Encoding": "identity"},
            timeout=limits.timeout,
            verify=ssl.create_default_context(),  # the system's certificates, not the client's own
            follow_redirects=True,
            max_redirects=10,
            event_hooks={"request": [self._check_hop]},
        )

    def download(self, address: str, part: PartialFile, label: str) -> None:
        """Bring `part` to its full length, resuming and retrying.

        Parameters
        ----------
        address : str
            ``http://`` or ``https://``.
        part : PartialFile
        label : str
            Stands before the progress.

        Raises
        ------
        Refused
            With the reason; `Missing` where the server answers that it has no such file, `Dead` where it is
            unreachable.
        OSError
            `part` cannot be written.
        """
        patience = _Patience(part, self.limits)
        retrying = Retrying(
            retry=retry_if_exception_type(Broken),
            after=patience.count,
            wait=patience.pause,
            stop=patience.exhausted,
            reraise=True,
        )
        try:
            retrying(self._receive, address, part, label)
        except Broken as broken:
            self.dead_hosts.give_up(address, str(broken))
            raise Refused(f"{broken}, {patience.idle} times in a row") from None

    def _check_hop(self, request: httpx.Request) -> None:
        """Refuse a request, redirected or not, that leaves the web or goes to a dead host."""
        if request.url.scheme not in ("http", "https"):
            raise Refused(f"redirects to {request.url}, which is not a web address")
        self.dead_hosts.refuse(str(request.url))

    def _receive(self, address: str, part: PartialFile, label: str) -> None:
        """Make one request and append the missing bytes to `part`."""
        have, known = part.size, part.known
        if have and known.get("total") == have:
            return
        with self._answer(address, have, known) as response:
            try:
                start, total = _span(response, have, known)
            except Mismatch:
                part.discard()
                raise
            part.describe(total, response.headers.get("ETag"), response.headers.get("Last-Modified"))
            if response.status_code == 416:
                return
            with part.open_at(start) as out:
                done = self._copy_body(response, out, label, start, total)
                out.flush()
                os.fsync(out.fileno())
        if done == 0:
            raise Refused("returned an empty file")

    @contextmanager
    def _answer(self, address: str, have: int, known: Mapping[str, Any]) -> Iterator[httpx.Response]:
        """Yield the answer to a request for all bytes after the first `have`, its body unread."""
        headers = {}
        if have:
            headers["Range"] = f"bytes={have}-"
            # Without If-Range, a file that changed since would continue the old one's beginning.
            etag = known.get("etag") or ""
            validator = etag if etag and not etag.startswith("W/") else known.get("modified")
            if validator and validator.isascii():  # the client sends no other
                headers["If-Range"] = validator
        try:
            request = self._client.build_request("GET", address, headers=headers)
            response = self._client.send(request, stream=True)
        except httpx.TooManyRedirects:
            raise Refused(f"redirects more than {self._client.max_redirects} times") from None
        except (httpx.InvalidURL, UnicodeError) as error:
            raise Refused(f"not a web address: {error}") from None
        except (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError) as error:
            raise Broken(f"closed the connection without an answer ({error})") from None
        except httpx.TransportError as error:
            reason = str(error) or type(error).__name__
            self.dead_hosts.give_up(str(error.request.url), reason)
            raise Dead(f"dead connection: {reason}") from None
        with closing(response):
            _check_status(response, resuming=have > 0)
            kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
            if kind == "text/html" and not basename(address).endswith((".html", ".htm")):
                raise Refused("returned a web page instead of the file")
            yield response

    def _copy_body(
        self, response: httpx.Response, out: BinaryIO, label: str, start: int, total: int | None
    ) -> int:
        """Copy a body to `out`; one that stalls, or brings less than 1 KiB per timeout, is broken.

        Returns
        -------
        int
            Bytes of the file received so far.
        """
        done, of = start, f" of {decimal_size(total)}" if total else ""
        window, gained = time.monotonic(), 0
        try:
            with step(label, total=total and total - start) as shown:
                for block in response.iter_raw():
                    out.write(block)
                    done += len(block)
                    gained += len(block)
                    shown.update(f"{label}: {decimal_size(done)}{of}", done=done - start)
                    if time.monotonic() - window > self.limits.timeout:
                        if gained < 1024:
                            raise Broken(f"stalled after {done:,} bytes")
                        window, gained = time.monotonic(), 0
        except httpx.TimeoutException:
            raise Broken(f"stalled after {done:,} bytes") from None
        except httpx.TransportError as error:
            raise Broken(f"broke off after {done:,} bytes ({error})") from None
        if total is not None and done < total:
            raise Broken(f"broke off after {done:,} of {total:,} bytes")
        return done


class _Patience:
    """Decides when to try again, by how far the file has grown."""

    def __init__(self, part: PartialFile, limits: Limits):
        self.part, self.limits = part, limits
        self.furthest, self.idle = part.size, 0

    def count(self, _: RetryCallState) -> None:
        """Count an attempt without progress, or restart the count."""
        reached = self.part.size
        self.idle = 0 if reached >= self.furthest + _PROGRESS else self.idle + 1
        self.furthest = max(self.furthest, reached)

    def pause(self, state: RetryCallState) -> float:
        """Return seconds until the next attempt: doubled each time, and no less than the server's Retry-After."""
        error = state.outcome.exception() if state.outcome else None
        asked = error.wait if isinstance(error, Broken) else 0.0
        doubled = min(self.limits.wait * 2 ** max(self.idle - 1, 0), _LONGEST_WAIT)
        return max(doubled * random.uniform(0.75, 1.25), min(asked, _LONGEST_WAIT))

    def exhausted(self, _: RetryCallState) -> bool:
        """Return whether to give up."""
        return self.idle > self.limits.retries


def _check_status(response: httpx.Response, *, resuming: bool) -> None:
    """Raise unless the answer brings the file, or states that nothing is missing."""
    status = response.status_code
    if status in (200, 206) or (status == 416 and resuming):
        return
    reason = f"HTTP {status} {response.reason_phrase}".rstrip()
    if status in _TRANSIENT:
        after = response.headers.get("Retry-After", "")
        raise Broken(reason, float(after) if after.isdecimal() else 0.0)
    if status in (404, 410):
        raise Missing(reason)
    raise Refused(reason)


def _span(response: httpx.Response, have: int, known: Mapping[str, Any]) -> tuple[int, int | None]:
    """Return the offset of this answer's body in the file, and the file's full length if the answer states it."""
    stated = response.headers.get("Content-Range", "").strip()
    if response.status_code == 206:
        found = re.fullmatch(r"bytes (\d{1,18})-\d+/(\d{1,18}|\*)", stated)
        if not found or int(found[1]) != have:
            raise Mismatch("sent a range that was not requested")
        total = None if found[2] == "*" else int(found[2])
        if known.get("total") not in (None, total):
            raise Mismatch("now has a file of a different length")
        return have, total
    if response.status_code == 416:
        if stated != f"bytes */{have}":
            raise Mismatch("does not have the requested range")
        return have, have
    length = response.headers.get("Content-Length", "")
    return 0, int(length) if length.isdigit() else None
