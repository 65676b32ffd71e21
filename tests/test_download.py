"""Fetching: mirrors, resuming, retries, checksums, against servers on the loopback that misbehave."""

from __future__ import annotations

import errno
import hashlib
import http.server
import json
import multiprocessing
import re
import socket
import sys
import threading
import time
from pathlib import Path

import pytest

from mst.catalog.download import Fetched, NotFetched, Sources
from mst.catalog.locations import Limits, Wanted, basename, split_mirrors
from mst.errors import ConfigError, DependencyError, UnavailableError

BODY = bytes(range(256)) * 8192  # 2 MiB
SHA256 = hashlib.sha256(BODY).hexdigest()


class Server:
    """A server on the loopback whose behaviour is a function of the request and its number."""

    def __init__(self, behave):
        self.requests: list[dict] = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            timeout = 10

            def do_GET(self):
                outer.requests.append({"path": self.path, **{k.lower(): v for k, v in self.headers.items()}})
                try:
                    behave(self, len(outer.requests))
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

            def log_message(self, *_):
                pass

        self.httpd = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.httpd.daemon_threads = True
        self.thread = threading.Thread(target=self.httpd.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()
        self.host = f"127.0.0.1:{self.httpd.server_address[1]}"

    def address(self, name="file.gr.gz") -> str:
        return f"http://{self.host}/data/{name}"

    def close(self):
        self.httpd.shutdown()
        self.httpd.server_close()


def send(handler, body=BODY, *, status=200, length=None, **headers):
    handler.send_response(status)
    handler.send_header("Content-Length", str(len(body) if length is None else length))
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(body)


def send_range(handler, body=BODY, *, upto=None, etag='"v1"'):
    """Serve the file as a good server does, ranges and validators included, breaking off after `upto`."""
    wanted = re.fullmatch(r"bytes=(\d+)-", handler.headers.get("Range", ""))
    if wanted and handler.headers.get("If-Range", etag) == etag:
        start = int(wanted[1])
        if start >= len(body):
            send(handler, b"", status=416, Content_Range=f"bytes */{len(body)}")
            return
        handler.send_response(206)
        handler.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
    else:
        start = 0
        handler.send_response(200)
    handler.send_header("Content-Length", str(len(body) - start))
    handler.send_header("ETag", etag)
    handler.end_headers()
    handler.wfile.write(body[start:][:upto])


@pytest.fixture
def serve(monkeypatch):
    """Start servers that are closed after the test; the loopback is never reached through a proxy."""
    monkeypatch.setenv("no_proxy", "127.0.0.1,localhost")
    servers = []

    def start(behave=lambda handler, _: send_range(handler)) -> Server:
        servers.append(Server(behave))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


@pytest.fixture
def sources(tmp_path):
    def make(mirrors=(), **options):
        quick = dict(timeout=2.0, retries=2, wait=0.005)
        limits = Limits(**{name: options.pop(name, value) for name, value in quick.items()})
        return Sources(mirrors, **{"cache": tmp_path / "cache", **options}, limits=limits)

    return make


@pytest.fixture
def folder(tmp_path) -> Path:
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    return mirror


def wanted(*servers: Server, sha256=SHA256, names=()) -> Wanted:
    return Wanted("road", tuple(server.address() for server in servers), tuple(names), sha256)


def leftovers(cache: Path) -> list[str]:
    """Names of files that pretend to be whole, or were forgotten."""
    return sorted(p.name for p in (cache / "raw").rglob("*") if p.is_file() and p.name != "lock")


def check_whole(fetched: Fetched, server: Server, check="published"):
    assert fetched.path.read_bytes() == BODY
    assert (fetched.location, fetched.sha256, fetched.bytes, fetched.check) == (
        server.address(),
        SHA256,
        len(BODY),
        check,
    )


def test_kept_file_is_used_only_for_its_name_and_for_the_published_checksum_of_its_address(serve, sources):
    bodies = {"/data/a.gz": b"old", "/data/b.gz": b"b"}
    server = serve(lambda handler, _: send(handler, bodies[handler.path]))
    a, b = (Wanted("road", (server.address(name),)) for name in ("a.gz", "b.gz"))
    for one, body in ((a, b"old"), (b, b"b"), (a, b"old")):
        assert sources().fetch(one).path.read_bytes() == body
    assert len(server.requests) == 2
    bodies["/data/a.gz"] = BODY
    assert sources().fetch(Wanted("road", a.addresses, (), SHA256)).check == "published"


def test_kept_file_of_a_mirror_may_have_been_packed_again(sources, folder):
    (folder / "road.gz").write_bytes(b"packed again")
    one = Wanted("road", (), ("road.gz",), SHA256)
    assert sources([str(folder)]).fetch(one).check == "first"
    (folder / "road.gz").unlink()
    assert sources([str(folder)]).fetch(one).check == "recorded"


def test_forgotten_file_is_checked_anew_and_other_locations_keep_their_checksums(sources, folder):
    names = "a.gz", "b.gz"
    for name in names:
        (folder / name).write_text(name)
    here, (a, b) = sources([str(folder)]), (Wanted("road", (), (name,)) for name in names)
    kept, forgotten = here.fetch(a), here.fetch(b)
    for name in names:
        (folder / name).write_text("changed")
    here.forget("road", forgotten)
    assert here.fetch(b).check == "first"
    kept.path.unlink()
    with pytest.raises(NotFetched, match="recorded at the first download"):
        here.fetch(a)


def test_remedy_is_named_unless_all_files_are_of_this_machine(sources, tmp_path):
    own, other = Wanted("road", path=tmp_path / "none"), Wanted("road", names=("road.gz",))
    for wanted, named in (((own,), False), ((own, other), True)):
        with pytest.raises(NotFetched) as caught:
            sources().fetch(*wanted)
        assert ("set MST_MIRROR" in str(caught.value)) is named


def test_fetches_and_keeps_only_the_file_and_its_receipt(serve, sources, tmp_path):
    server = serve()
    check_whole(sources().fetch(wanted(server)), server)
    assert leftovers(tmp_path / "cache") == ["file.gr.gz", "receipt.json"]
    assert server.requests[0]["user-agent"].startswith("mst/")


def test_second_fetch_makes_no_request(serve, sources):
    server = serve()
    sources().fetch(wanted(server))
    check_whole(sources().fetch(wanted(server)), server)
    check_whole(sources(offline=True).fetch(wanted(server)), server)
    assert len(server.requests) == 1


def test_a_damaged_cached_file_is_fetched_again(serve, sources):
    server = serve()
    fetched = sources().fetch(wanted(server))
    fetched.path.write_bytes(BODY[:-1] + b"\0")
    check_whole(sources().fetch(wanted(server)), server)
    assert len(server.requests) == 2


def test_resumes_where_the_connection_broke_off(serve, sources):
    half = len(BODY) // 2
    server = serve(lambda h, number: send_range(h, upto=half if number == 1 else None))
    check_whole(sources().fetch(wanted(server)), server)
    assert [r.get("range") for r in server.requests] == [None, f"bytes={half}-"]
    assert server.requests[1]["if-range"] == '"v1"'


def test_a_validator_that_cannot_be_sent_is_left_out(serve, sources):
    server = serve(lambda h, number: send_range(h, upto=1000 if number == 1 else None, etag='"v²"'))
    check_whole(sources().fetch(wanted(server)), server)
    assert server.requests[1]["range"] == "bytes=1000-" and "if-range" not in server.requests[1]


def test_a_partial_file_of_an_earlier_process_is_resumed(serve, sources, tmp_path):
    broken = [True]
    server = serve(lambda h, _: send_range(h, upto=1000 if broken[0] else None))
    with pytest.raises(NotFetched, match="broke off after"):
        sources(retries=0).fetch(wanted(server))
    assert [name for name in leftovers(tmp_path / "cache") if not name.startswith("file.gr.gz.part")] == []
    broken[0] = False
    check_whole(sources().fetch(wanted(server)), server)
    assert server.requests[-1]["range"] == "bytes=1000-"


def test_a_server_that_ignores_ranges_is_read_from_the_start(serve, sources):
    server = serve(lambda h, number: send(h, BODY[:1000] if number == 1 else BODY, length=len(BODY)))
    check_whole(sources().fetch(wanted(server)), server)
    assert "range" in server.requests[1]


def test_file_changed_between_requests_is_fetched_whole(serve, sources):
    old = b"old" * 100_000

    def behave(handler, number):
        if number == 1:
            send_range(handler, old, upto=5000, etag='"old"')
        else:
            send_range(handler)

    server = serve(behave)
    check_whole(sources().fetch(wanted(server)), server)
    assert server.requests[1]["if-range"] == '"old"'


def test_a_changed_file_without_validators_is_noticed_by_its_length(serve, sources):
    def behave(handler, number):
        if number == 1:
            send(handler, b"x" * 5000, length=9000)
        elif "Range" in handler.headers:
            start = int(handler.headers["Range"][6:-1])
            total = f"bytes {start}-{len(BODY) - 1}/{len(BODY)}"
            send(handler, BODY[start:], status=206, Content_Range=total)
        else:
            send(handler)

    server = serve(behave)
    check_whole(sources().fetch(wanted(server)), server)
    assert [("range" in r) for r in server.requests] == [False, True, False]


def test_a_stale_beginning_with_the_same_length_is_noticed_by_its_checksum(serve, sources):
    first = [True]

    def behave(handler, _):
        if first[0]:
            send(handler, b"x" * 5000, length=len(BODY))
        else:
            send_range(handler, etag="")

    server = serve(behave)
    with pytest.raises(NotFetched):
        sources(retries=0).fetch(wanted(server))
    first[0] = False
    check_whole(sources().fetch(wanted(server)), server)
    assert [("range" in r) for r in server.requests] == [False, True, False]


@pytest.mark.parametrize("stated", [f"bytes 0-{len(BODY) - 1}/{len(BODY)}", f"bytes 5000-5001/{'9' * 5000}"])
def test_wrong_range_restarts_the_download(serve, sources, stated):
    def behave(handler, number):
        if number == 1:
            send(handler, BODY[:5000], length=len(BODY))
        elif number == 2:
            send(handler, BODY, status=206, Content_Range=stated)
        else:
            send(handler)

    server = serve(behave)
    check_whole(sources().fetch(wanted(server)), server)
    assert len(server.requests) == 3


def test_a_complete_part_is_accepted_without_its_bytes(serve, sources):
    def behave(handler, number):
        # No length is sent: the client cannot know that it has everything before a 416 says so.
        if number == 1:
            handler.send_response(200)
            handler.send_header("Transfer-Encoding", "chunked")
            handler.end_headers()
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(BODY), BODY))  # the last chunk never comes
            handler.close_connection = True
        else:
            send_range(handler)

    server = serve(behave)
    check_whole(sources().fetch(wanted(server)), server)


def test_a_server_that_stalls_is_given_up(serve, sources):
    release = threading.Event()

    def behave(handler, _):
        send(handler, BODY[:100], length=len(BODY))
        handler.wfile.flush()
        release.wait(5)

    server = serve(behave)
    began = time.monotonic()
    with pytest.raises(NotFetched, match="stalled after 100 bytes"):
        sources(timeout=0.2, retries=1).fetch(wanted(server))
    assert time.monotonic() - began < 4
    release.set()


def test_trickling_connection_counts_as_stalled(serve, sources):
    stop = threading.Event()

    def behave(handler, _):
        send(handler, b"", length=len(BODY))
        for byte in BODY[:200]:
            handler.wfile.write(bytes([byte]))
            handler.wfile.flush()
            if stop.wait(0.05):
                return

    server = serve(behave)
    with pytest.raises(NotFetched, match="stalled"):
        sources(timeout=0.3, retries=0).fetch(wanted(server))
    stop.set()


def test_no_answer_at_all_gives_the_host_up_at_once(serve, sources):
    release = threading.Event()
    server = serve(lambda h, _: release.wait(5))
    both = Wanted("road", (server.address("a"), server.address("b")), sha256=SHA256)
    with pytest.raises(NotFetched) as caught:
        sources(timeout=0.2).fetch(both)
    release.set()
    assert len(server.requests) == 1
    assert [reason for _, reason in caught.value.tried] == [
        "dead connection: timed out",
        f"{server.host} was given up in this run: timed out",
    ]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_a_dead_host_is_tried_once_in_a_run(sources, tmp_path, monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    address = f"http://127.0.0.1:{free_port()}/file"
    shared = sources(dead_hosts=tmp_path / "run" / "dead-hosts")
    with pytest.raises(NotFetched, match="dead connection"):
        shared.fetch(Wanted("road", (address,)))
    with pytest.raises(NotFetched, match="was given up in this run"):
        shared.fetch(Wanted("other", (address,)))
    another_process = sources(dead_hosts=tmp_path / "run" / "dead-hosts")
    with pytest.raises(NotFetched, match="was given up in this run"):
        another_process.fetch(Wanted("other", (address,)))
    with pytest.raises(NotFetched, match="dead connection"):
        sources(dead_hosts=tmp_path / "later").fetch(Wanted("other", (address,)))


def test_the_next_address_is_tried(serve, sources):
    gone = serve(lambda h, _: send(h, b"no", status=404))
    good = serve()
    check_whole(sources().fetch(wanted(gone, good)), good)
    assert len(gone.requests) == 1


@pytest.mark.parametrize(("status", "after"), [(429, "0"), (500, "²"), (503, "soon")])
def test_a_busy_server_is_retried(serve, sources, status, after):
    server = serve(lambda h, n: send(h, b"", status=status, Retry_After=after) if n < 3 else send_range(h))
    check_whole(sources().fetch(wanted(server)), server)
    assert len(server.requests) == 3


@pytest.mark.parametrize("status", [403, 404, 410])
def test_refusal_is_not_retried_and_the_host_stays_alive(serve, sources, status):
    server = serve(lambda h, n: send(h, b"", status=status) if n == 1 else send_range(h))
    asked = sources()
    with pytest.raises(NotFetched, match=f"HTTP {status}"):
        asked.fetch(wanted(server))
    assert len(server.requests) == 1
    check_whole(asked.fetch(wanted(server)), server)


def test_a_connection_closed_without_an_answer_is_tried_again(serve, sources):
    def behave(handler, number):
        if number == 1:
            handler.connection.shutdown(socket.SHUT_RDWR)
        else:
            send_range(handler)

    server = serve(behave)
    check_whole(sources().fetch(wanted(server)), server)


def test_redirects_are_followed(serve, sources):
    target = serve()
    server = serve(lambda h, _: send(h, b"", status=302, Location=target.address()))
    check_whole(sources().fetch(wanted(server)), server)


def test_a_redirect_in_circles_ends(serve, sources):
    server = serve(lambda h, _: send(h, b"", status=302, Location=h.path))
    with pytest.raises(NotFetched, match="redirects more than 10 times"):
        sources().fetch(wanted(server))


@pytest.mark.parametrize(
    "target, reason",
    [
        ("file:///etc/passwd", "redirects to file:.*, which is not a web address"),
        ("ftp://127.0.0.1/file", "redirects to ftp:.*, which is not a web address"),
        ("http://xn--/file", "not a web address"),
    ],
)
def test_redirect_to_another_scheme_is_refused(serve, sources, target, reason):
    server = serve(lambda h, _: send(h, b"", status=302, Location=target))
    with pytest.raises(NotFetched, match=reason):
        sources().fetch(wanted(server))


def test_a_redirect_to_a_dead_host_gives_that_host_up(serve, sources):
    dead = f"127.0.0.1:{free_port()}"
    server = serve(lambda h, _: send(h, b"", status=302, Location=f"http://{dead}/file"))
    asked = sources()
    with pytest.raises(NotFetched, match="dead connection"):
        asked.fetch(wanted(server))
    with pytest.raises(NotFetched, match=f"{dead} was given up"):
        asked.fetch(wanted(server))
    assert len(server.requests) == 2


def test_a_wrong_checksum_is_refused_and_nothing_stays(serve, sources, tmp_path):
    liar = serve(lambda h, _: send(h, BODY[::-1]))
    with pytest.raises(NotFetched, match=f"differs from the published {SHA256}"):
        sources().fetch(wanted(liar))
    assert leftovers(tmp_path / "cache") == []
    good = serve()
    check_whole(sources().fetch(wanted(liar, good)), good)


def test_the_first_checksum_seen_is_kept_and_a_later_difference_refused(serve, sources, tmp_path):
    bodies = [BODY, BODY, BODY + b"changed"]
    server = serve(lambda h, number: send(h, bodies[number - 1]))
    one = wanted(server, sha256=None)
    check_whole(sources().fetch(one), server, "first")
    (tmp_path / "cache" / "raw").rename(tmp_path / "cache" / "elsewhere")
    check_whole(sources().fetch(one), server, "recorded")
    (tmp_path / "cache" / "raw").rename(tmp_path / "cache" / "elsewhere2")
    with pytest.raises(NotFetched, match=r"differs from \w+, which was recorded at the first download"):
        sources().fetch(one)
    note = json.loads((tmp_path / "cache" / "checksums" / "road.json").read_text())
    assert note == {server.address(): SHA256}


def test_checksums_belong_to_their_location_and_another_than_the_published_is_reported_once(
    serve, sources, folder, capsys
):
    (folder / "file.gr.gz").write_bytes(b"packed otherwise")
    server = serve()
    repacked = sources([str(folder)]).fetch(wanted(server))
    assert (repacked.check, repacked.location) == ("first", str(folder / "file.gr.gz"))
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1 and said[0].startswith(
        f"{folder}/file.gr.gz: sha256 {repacked.sha256} differs from that in the catalogue, {SHA256}"
    )
    assert said[0].endswith(f"remove {repacked.path.parent}")
    sources([str(folder)]).fetch(wanted(server))
    assert capsys.readouterr().err == "" and server.requests == []


def test_a_longer_body_than_announced_is_cut_by_the_announcement(serve, sources):
    server = serve(lambda h, _: send(h, BODY + b"more", length=len(BODY)))
    check_whole(sources().fetch(wanted(server)), server)


@pytest.mark.parametrize("status, reason", [(200, "an empty file"), (204, "HTTP 204")])
def test_empty_answer_is_refused(serve, sources, tmp_path, status, reason):
    server = serve(lambda h, _: send(h, b"", status=status))
    with pytest.raises(NotFetched, match=reason):
        sources().fetch(wanted(server, sha256=None))
    assert not [name for name in leftovers(tmp_path / "cache") if "part" not in name]


def test_a_cache_that_cannot_be_written_is_named(serve, sources, tmp_path):
    (tmp_path / "cache").write_text("a file where a folder should be")
    with pytest.raises(UnavailableError, match=r"cache.* cannot be written: .*; set MST_CACHE"):
        sources().fetch(wanted(serve()))


def test_full_disk_is_reported_and_not_retried(serve, sources, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("mst.catalog.download.os.fsync", full)
    server = serve()
    with pytest.raises(UnavailableError, match="No space left on device; set MST_CACHE"):
        sources().fetch(wanted(server))
    assert len(server.requests) == 1


def test_web_page_is_refused(serve, sources):
    page = serve(lambda h, _: send(h, b"<html>moved</html>", Content_Type="text/html"))
    with pytest.raises(NotFetched, match="returned a web page"):
        sources().fetch(wanted(page, sha256=None))


def test_missing_http_client_is_named_with_its_remedy_and_folders_still_work(
    serve, sources, folder, monkeypatch
):
    monkeypatch.setitem(sys.modules, "httpx", None)
    monkeypatch.delitem(sys.modules, "mst.catalog.transport", raising=False)
    server = serve()
    with pytest.raises(DependencyError, match="pip install httpx tenacity"):
        sources().fetch(wanted(server))
    (folder / "file.gr.gz").write_bytes(BODY)
    assert sources([str(folder)]).fetch(wanted(server)).check == "published"


def test_mirrors_come_first_and_in_order(serve, sources, folder, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    (folder / "file.gr.gz").write_bytes(BODY)
    server = serve()
    fetched = sources([str(empty), str(folder)]).fetch(wanted(server))
    assert fetched.location == str(folder / "file.gr.gz")
    assert fetched.check == "published"
    assert server.requests == []


@pytest.mark.parametrize("name", ["file.gr", "file.gr.gz", "file.gr.xz", "other name.gr.gz", "other name.gr"])
def test_mirrors_may_pack_and_name_otherwise(serve, sources, folder, name):
    (folder / name).write_bytes(BODY)
    server = serve(lambda h, _: send(h, b"", status=404))
    fetched = sources([str(folder)]).fetch(wanted(server, sha256=None, names=["other name.gr.gz"]))
    assert fetched.path.name == name
    web = serve(
        lambda h, _: send_range(h) if h.path == f"/m/{name.replace(' ', '%20')}" else send(h, status=404)
    )
    other = sources([f"http://{web.host}/m"], cache=folder / "cache2")
    assert other.fetch(wanted(server, sha256=None, names=["other name.gr.gz"])).path.read_bytes() == BODY


def test_several_sources_are_tried_in_order(sources, folder):
    (folder / "second.mtx").write_bytes(BODY)
    one, two = Wanted("road", names=("first.gr",)), Wanted("road", names=("second.mtx",))
    assert sources([str(folder)]).fetch(one, two).path.name == "second.mtx"


def test_offline_touches_no_network(serve, sources, folder):
    server = serve()
    with pytest.raises(NotFetched) as caught:
        sources([str(folder), f"http://{server.host}"], offline=True).fetch(wanted(server))
    assert server.requests == []
    assert caught.value.tried[1:] == [(f"http://{server.host}", "offline"), (server.address(), "offline")]
    (folder / "file.gr.gz").write_bytes(BODY)
    assert sources([str(folder)], offline=True).fetch(wanted(server)).bytes == len(BODY)


def test_the_error_lists_every_location_with_its_reason(serve, sources, folder):
    server = serve(lambda h, _: send(h, b"", status=404))
    with pytest.raises(NotFetched) as caught:
        sources([str(folder)]).fetch(wanted(server, names=["alias.gr"]))
    assert caught.value.tried == [
        (str(folder), "has no file.gr, alias.gr, compressed or not"),
        (server.address(), "HTTP 404 Not Found"),
    ]
    assert "road is unavailable" in str(caught.value) and "MST_MIRROR" in str(caught.value)


@pytest.mark.parametrize("gone", ["/no-such-folder", "~no-such-user/graphs"])
def test_dead_mirror_is_tried_once_and_missing_folder_is_reported(sources, gone, monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    dead = f"http://127.0.0.1:{free_port()}/graphs"
    with pytest.raises(NotFetched) as caught:
        sources([dead, gone]).fetch(Wanted("road", names=("a.gr", "b.gr")))
    (mirror, reason), folder = caught.value.tried
    assert mirror == dead and reason.startswith("dead connection")
    assert folder == (gone, "no such folder")


def test_damaged_checksum_file_is_an_error(serve, sources, tmp_path):
    (tmp_path / "cache" / "checksums").mkdir(parents=True)
    (tmp_path / "cache" / "checksums" / "road.json").write_text("{")
    with pytest.raises(UnavailableError, match=r"road\.json is damaged: remove it"):
        sources().fetch(wanted(serve(), sha256=None))


def test_error_without_any_location_says_that_none_is_configured(sources):
    with pytest.raises(NotFetched, match="gives no address, and no mirror is configured"):
        sources().fetch(Wanted("road", names=("file",)))


def test_unreadable_mirror_file_is_skipped(sources, folder, serve):
    (folder / "file.gr.gz").mkdir()
    server = serve()
    check_whole(sources([str(folder)]).fetch(wanted(server)), server)


def _fetch_in_process(address, cache, results):
    sources = Sources(cache=cache, limits=Limits(timeout=5.0))
    results.put(sources.fetch(Wanted("road", (address,), sha256=SHA256)).path.read_bytes() == BODY)


def test_concurrent_processes_share_one_download(serve, tmp_path):
    def slowly(handler, _):
        time.sleep(0.3)
        send_range(handler)

    server = serve(slowly)
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    workers = [
        context.Process(target=_fetch_in_process, args=(server.address(), tmp_path / "cache", results))
        for _ in range(3)
    ]
    for worker in workers:
        worker.start()
    assert [results.get(timeout=60) for _ in workers] == [True] * 3
    for worker in workers:
        worker.join(10)
    assert len(server.requests) == 1
    assert leftovers(tmp_path / "cache") == ["file.gr.gz", "receipt.json"]


def test_partial_files_are_per_process_without_file_locks(serve, sources, tmp_path, monkeypatch):
    def no_locks(*_):
        raise OSError("no locks here")

    monkeypatch.setattr("fcntl.flock", no_locks)
    server = serve()
    check_whole(sources().fetch(wanted(server)), server)
    assert leftovers(tmp_path / "cache") == ["file.gr.gz", "receipt.json"]


def test_progress_shows_the_size_and_counts_from_where_a_download_resumes(serve, sources, monkeypatch):
    last = {}
    monkeypatch.setattr("mst.progress.Step.update", lambda step, text, done: last.update({step: (text, done)}))
    server = serve(lambda h, n: send_range(h, upto=len(BODY) // 2 if n == 1 else None))
    sources().fetch(wanted(server))
    (first, at_first), (second, at_second) = last.items()
    assert (first.total, at_first) == (len(BODY), ("road: 1.0 MB of 2.1 MB", len(BODY) // 2))
    assert (second.total, at_second) == (len(BODY) // 2, ("road: 2.1 MB of 2.1 MB", len(BODY) // 2))


@pytest.mark.parametrize(
    "text, mirrors",
    [
        ("", []),
        ("/a/b", ["/a/b"]),
        ("/a:/b", ["/a", "/b"]),
        ("/a  https://h/x", ["/a", "https://h/x"]),
        ("http://h:8080/x:/a", ["http://h:8080/x", "/a"]),
        ("http://h:8080:/a:relative/b", ["http://h:8080", "/a", "relative/b"]),
        ("https://[::1]:80/x:file:///a", ["https://[::1]:80/x", "file:///a"]),
    ],
)
def test_mirrors_of_the_environment(text, mirrors):
    assert split_mirrors(text) == mirrors


def test_the_environment_comes_before_the_configuration(monkeypatch, tmp_path):
    monkeypatch.setenv("MST_MIRROR", "/first:/second")
    monkeypatch.setenv("MST_DEAD_HOSTS", str(tmp_path / "dead"))
    made = Sources.from_environment(["/third", "/first"])
    assert made.mirrors == ("/first", "/second", "/third")
    assert made.dead_hosts.file == tmp_path / "dead"


def test_a_folder_with_a_space_is_one_mirror(tmp_path):
    spaced = tmp_path / "my graphs"
    spaced.mkdir()
    assert split_mirrors(str(spaced)) == [str(spaced)]


def test_a_mirror_of_another_scheme_is_refused():
    with pytest.raises(ConfigError, match="only folders, http:// and https://"):
        Sources(["ftp://host/graphs"])


def test_base_names_of_addresses():
    assert basename("https://h/a%20b/c%2Bd.gz?version=2#x") == "c+d.gz"
    assert basename("/data/x.gr") == "x.gr"
