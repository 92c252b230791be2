"""Files of a web server, and where it may lead."""

import threading
import time
import zipfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

import pytest
from pydantic import ValidationError

from lightrag_dagster.errors import SourceError
from lightrag_dagster.pipeline.documents import read_source
from lightrag_dagster.pipeline.pending import why_ingest
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.settings import Settings, SourceSettings
from lightrag_dagster.stages.documents.connectors import web
from lightrag_dagster.stages.documents.connectors.factory import choose_origin
from lightrag_dagster.stages.documents.connectors.filesystem import FileSystem
from lightrag_dagster.stages.documents.connectors.hosts import Hosts, RefusedHostError
from lightrag_dagster.stages.documents.connectors.origin import Origin
from lightrag_dagster.stages.documents.connectors.partitions import Partitioned
from lightrag_dagster.stages.documents.connectors.web import Web
from lightrag_dagster.stages.documents.listing import list_files
from lightrag_dagster.stages.documents.sources import Source, find_source
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables.source_tables import SourceTables
from tests.support import FLOOD, OFFICE, RIVER

LONG_AGO = formatdate(1_600_000_000, usegmt=True)


class Page(NamedTuple):
    """What a path answers."""

    body: str | bytes = ""
    status: int = 200
    location: str = ""
    modified: str | None = LONG_AGO


class Server:
    """A web server on loopback, and the paths that it was asked for."""

    def __init__(self) -> None:
        self.pages: dict[str, Page] = {}
        self.asked: list[str] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.asked.append(self.path)
                page = server.pages.get(self.path, Page(status=404))
                data = page.body.encode() if isinstance(page.body, str) else page.body
                self.send_response(page.status)
                if page.location:
                    self.send_header("Location", page.location)
                if page.modified:
                    self.send_header("Last-Modified", page.modified)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                if self.command == "GET":
                    self.wfile.write(data)

            def do_HEAD(self) -> None:
                self.do_GET()

            def log_message(self, *arguments: object) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        self.port = self._server.server_port
        self.url = f"http://127.0.0.1:{self.port}"

    def close(self) -> None:
        """End it."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """The server that a source names; a request that fails is repeated at once."""
    monkeypatch.setattr(web, "_LONGEST_WAIT_SECONDS", 0.001)
    with closing(Server()) as one:
        yield one


@pytest.fixture
def inner() -> Iterator[Server]:
    """A server of the inner network, which nobody named."""
    with closing(Server()) as one:
        one.pages["/latest/iam.md"] = Page("A secret role.")
        yield one


def found(origin: Origin) -> dict[str, bytes]:
    """Return path → content of all documents that are not refused."""
    return {one.path: origin.read(one, 1_000_000) for one in list_files(Source("s", origin)) if one.refused is None}


def test_files_of_a_web_server_are_named(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    server.pages = {"/docs/a%20b.md": Page(RIVER), "/docs/c.md": Page(OFFICE), "/docs/no.md": Page("no")}
    origin = Web(f"{server.url}/docs", ("a b.md", "c.md", "missing.md", "c.md.access", ".hidden.md"))
    assert found(origin) == {"a b.md": RIVER.encode(), "c.md": OFFICE.encode()}
    listed = {one.path: one for one in origin.files()}
    assert sorted(listed) == ["a b.md", "c.md"]
    one = listed["c.md"]
    assert (one.size, one.modified_at.timestamp(), one.stamp_is_stable) == (len(OFFICE), 1_600_000_000, True)
    assert one.stamp == f"{len(OFFICE)}-1600000000.0"  # as stamps of earlier versions of the package are
    assert origin.read(one, 5) == OFFICE.encode()[:5]
    (said,) = caplog.messages  # once, although it was listed twice
    assert said == f"{server.url}/docs: 1 of its files in include, such as missing.md, are not there"


def test_an_address_may_be_as_a_browser_has_it(server: Server) -> None:
    server.pages = {"/docs/a%20b.md": Page(RIVER), "/docs/%C3%BC.md": Page(OFFICE)}
    one = choose_origin("s", SourceSettings(uri=f"{server.url}/docs/a%20b.md"))
    assert found(one) == {"a b.md": RIVER.encode()}
    named = choose_origin("s", SourceSettings(uri=f"{server.url}/docs", include=("a%20b.md", "%C3%BC.md")))
    assert found(named) == {"a%20b.md": RIVER.encode(), "%C3%BC.md": OFFICE.encode()}
    server.pages = {"/C%23/a.md": Page(RIVER), "/C": Page("Another page.")}
    assert found(choose_origin("s", SourceSettings(uri=f"{server.url}/C#/a.md"))) == {"a.md": RIVER.encode()}


@pytest.mark.parametrize(
    "modified",
    [None, "yesterday", f"Mon, {'9' * 20} Jan 2024 10:00:00 GMT", formatdate(time.time() + 3600, usegmt=True)],
    ids=["none", "no date", "no day", "in an hour"],  # a time would give each process of xdist another name
)
def test_a_file_whose_time_says_nothing_is_read_again(server: Server, modified: str | None) -> None:
    server.pages["/a.md"] = Page(RIVER, modified=modified)
    (listed,) = Web(server.url, ("a.md",)).files()
    assert not listed.stamp_is_stable


def test_a_file_that_changed_within_the_last_minute_is_read_by_the_next_run(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.pages["/a.md"] = Page(RIVER, modified=formatdate(time.time() - 30, usegmt=True))
    (early,) = Web(server.url, ("a.md",)).files()
    monkeypatch.setattr(web, "_WEAK", timedelta(seconds=10))  # as if a minute had passed
    (late,) = Web(server.url, ("a.md",)).files()
    assert (early.stamp_is_stable, late.stamp_is_stable) == (False, True)
    assert early.stamp != late.stamp


def test_a_backfill_finds_a_change_with_the_same_size_and_time(server: Server, settings: Settings) -> None:
    server.pages["/a.md"] = Page("It costs 10 EUR.")
    named = {"web": SourceSettings(uri=f"{server.url}/a.md")}
    source = find_source(settings := settings.model_copy(update={"named_sources": named}), "web")
    recipes, tables = Recipes.of(settings), SourceTables(Home(settings.home))
    read_source(source, tables, recipes)
    server.pages["/a.md"] = Page("It costs 20 EUR.")
    assert "raw_documents" not in str(why_ingest(source, tables, recipes))
    tables = SourceTables(tables.home, candidate=True)
    assert "raw_documents" in str(why_ingest(source, tables, recipes))
    read_source(source, tables, recipes)
    assert tables.read("raw_documents", "web")["content"].to_pylist() == ["It costs 20 EUR."]
    assert "raw_documents" not in str(why_ingest(source, tables, recipes)), "one reading is enough"


@contextmanager
def expected(reason: str) -> Iterator[None]:
    with pytest.raises(OSError, match=reason) as caught:
        yield
    assert caught.value.strerror


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        (Page(status=403), "the server answered 403 Forbidden"),
        (Page(status=404), "it is not there any more"),
        (Page(status=503), "the server answered 503"),
        (Page(status=302, location="/a.md"), "it is redirected more than 5 times"),
        (Page(status=302, location="file:///etc/passwd"), "it is redirected to a file: address"),
        (Page(status=302, location="ftp://127.0.0.1/a.md"), "it is redirected to a ftp: address"),
        (Page(status=302, location="http://[::1"), "the request failed"),
    ],
)
def test_why_a_file_cannot_be_read(server: Server, page: Page, reason: str) -> None:
    server.pages["/a.md"] = Page(RIVER)
    origin = Web(server.url, ("a.md",))
    (listed,) = origin.files()
    server.pages["/a.md"] = page
    with expected(reason):
        origin.read(listed, 10)


def by_day(uri: str, *days: str, **settings: object) -> Source:
    """Return a source of partitions on the web."""
    named = SourceSettings.model_validate({"uri": uri, "asset": "crawl/pages", **settings})
    return Source("pages", Partitioned("pages", named, dict.fromkeys(days, "1")))


@pytest.mark.parametrize(
    ("place", "include"), [("{partition}.md", {}), ("{partition}", {"include": ["a.md"]})], ids=["page", "folder"]
)
def test_a_partition_whose_page_is_missing_costs_itself(server: Server, place: str, include: dict[str, object]) -> None:
    days = ["1", "2", "3", "4"]
    uri, pages = f"{server.url}/{place}", {day: f"/{day}/a.md" if include else f"/{day}.md" for day in days}
    server.pages = {page: Page(RIVER) for page in pages.values()}
    web._client.cache_clear()
    origin = by_day(uri, *days, **include).origin
    assert list(found(origin).values()) == [RIVER.encode()] * 4
    assert web._client.cache_info().currsize == 1, "partitions share connections"
    del server.pages[pages["4"]]
    server.pages[pages["2"]] = Page(status=503)
    refused = {one.path: one.refused or "" for one in list_files(by_day(uri, *days, **include)) if one.refused}
    assert refused["4"].startswith(f"partition '4': {server.url}{pages['4']} is not there; ")
    assert refused["2"].startswith(f"partition '2': {server.url}{pages['2']}: the server answered 503")


def test_archives_that_are_missing_are_counted_too(server: Server) -> None:
    said = rf"partition '2': {server.url}/2.zip is not there; 1 more cannot be read, such as '3'; nothing was"
    with pytest.raises(SourceError, match=said):
        list(list_files(by_day(f"zip::{server.url}/{{partition}}.zip", "2", "3")))


def test_a_single_page_that_is_missing_withholds_its_source(server: Server) -> None:
    server.pages["/a.md"] = Page(RIVER)
    assert found(choose_origin("docs", SourceSettings(uri=f"{server.url}/a.md"))) == {"a.md": RIVER.encode()}
    gone = Source("docs", choose_origin("docs", SourceSettings(uri=f"{server.url}/b.md")))
    with pytest.raises(SourceError, match=rf"source 'docs': .* cannot be listed: {server.url}/b.md is not there"):
        list(list_files(gone))


def test_a_request_that_fails_for_a_while_is_repeated(server: Server) -> None:
    server.pages["/a.md"] = Page(status=503)
    origin = Web(server.url, ("a.md",))

    def mend() -> None:
        while len(server.asked) < 3:
            time.sleep(0.001)
        server.pages["/a.md"] = Page(RIVER)

    threading.Thread(target=mend).start()
    (listed,) = origin.files()
    assert origin.read(listed, 1_000_000) == RIVER.encode()


def test_a_web_server_that_does_not_answer_cannot_be_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "_LONGEST_WAIT_SECONDS", 0.001)
    origin = Web("http://127.0.0.1:9/docs", ("a.md", "b.md"))
    with expected("127.0.0.1:9/docs: the request failed"):
        list(origin.files())


def test_a_redirect_is_followed_on_the_same_host(server: Server) -> None:
    server.pages = {
        "/docs/a.md": Page(status=301, location="/moved/a.md"),
        "/moved/a.md": Page(status=302, location=f"{server.url}/b.md"),
        "/b.md": Page(RIVER),
    }
    assert found(Web(f"{server.url}/docs", ("a.md",))) == {"a.md": RIVER.encode()}


@pytest.mark.parametrize("way", ["at once", "by its own host"])
def test_a_redirect_to_another_host_is_not_followed(
    server: Server, inner: Server, settings: Settings, way: str
) -> None:
    away = Page(status=302, location=f"{inner.url}/latest/iam.md")
    server.pages = {"/docs/b.md": Page(FLOOD), "/docs/a.md": Page(status=307, location="/on.md"), "/on.md": away}
    if way == "at once":
        server.pages["/docs/a.md"] = away
    uri, names = f"{server.url}/docs", ["a.md", "b.md"]
    source = SourceSettings.model_validate({"uri": uri, "include": names})
    settings = settings.model_copy(update={"named_sources": {"web": source}})
    tables = SourceTables(Home(settings.home))
    read_source(find_source(settings, "web"), tables, Recipes.of(settings))
    rows = {row["path"]: row for row in tables.read("raw_documents", "web").to_pylist()}
    assert (rows["a.md"]["status"], rows["b.md"]["status"]) == ("failed", "processed")
    assert f"http://127.0.0.1:{inner.port}, which is not the source's own host" in rows["a.md"]["error"]
    assert inner.asked == []

    named = source.model_copy(update={"follow_hosts": (f"127.0.0.1:{inner.port}",)})
    settings = settings.model_copy(update={"named_sources": {"web": named}})
    assert found(find_source(settings, "web").origin)["a.md"] == b"A secret role."


def test_an_archive_on_the_web_is_not_led_elsewhere_either(server: Server, inner: Server, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a.md", RIVER)
    inner.pages["/a.zip"] = Page((tmp_path / "a.zip").read_bytes())
    server.pages["/a.zip"] = Page(status=302, location=f"{inner.url}/a.zip")
    origin = FileSystem(f"zip::{server.url}/a.zip")
    with expected(f"redirected to http://127.0.0.1:{inner.port}, which is not"):
        list(origin.files())
    assert inner.asked == []
    origin = FileSystem(f"zip::{server.url}/a.zip", follow_hosts=(f"127.0.0.1:{inner.port}",))
    with expected("support range requests"):  # which this server does not, so that it was asked
        list(origin.files())


def test_references_that_a_file_makes_are_not_read() -> None:
    with expected("reference: reads what a file names"):
        list(FileSystem("reference::https://host/refs.json").files())


@pytest.mark.parametrize(
    ("uri", "others", "url", "allowed"),
    [
        ("http://host/docs", (), ("http", "host", None), True),
        ("http://host/docs", (), ("http", "HOST.", 80), True),
        ("http://host:8080/docs", (), ("http", "host", 8080), True),
        ("http://host:8080/docs", (), ("https", "host", None), True),
        ("http://host:8080/docs", (), ("http", "host", None), False),
        ("http://host/docs", (), ("http", "host", 8080), False),
        ("https://host/docs", (), ("http", "host", None), False),
        ("https://host/docs", (), ("https", "host", 8443), False),
        ("https://host/docs", (), ("https", "host.example", None), False),
        ("https://host/docs", (), ("https", "127.0.0.1", None), False),
        ("https://host/docs", (), ("file", "host", None), False),
        ("https://straße.example", (), ("https", "xn--strae-oqa.example", None), True),
        ("https://host", ("cdn.example",), ("https", "cdn.example", None), True),
        ("https://host", ("cdn.example",), ("https", "cdn.example", 8443), False),
        ("https://host", ("cdn.example:8443",), ("https", "cdn.example", 8443), True),
        ("https://host", ("cdn.example:8443",), ("https", "cdn.example", None), False),
        ("https://host", ("[::1]:8443",), ("https", "::1", 8443), True),
        ("https://host", ("cdn.example",), ("https", "evil.cdn.example", None), False),
    ],
)
def test_which_hosts_are_asked(
    uri: str, others: tuple[str, ...], url: tuple[str, str, int | None], allowed: bool
) -> None:
    hosts = Hosts(uri, others)
    if allowed:
        hosts.check(*url)
    else:
        with pytest.raises(RefusedHostError, match="it is redirected to"):
            hosts.check(*url)


@pytest.mark.parametrize("host", ["", "https://cdn.example", "cdn.example/docs", "*.example", "me@host", "a b", "a:b"])
def test_what_is_no_host_is_a_setting_that_cannot_be_used(host: str) -> None:
    with pytest.raises(ValidationError, match="follow_hosts"):
        SourceSettings(uri="https://host/a.md", follow_hosts=(host,))


def test_hosts_are_for_the_web_alone() -> None:
    with pytest.raises(ValidationError, match="follow_hosts is for a uri on the web"):
        SourceSettings(uri="/srv/wiki", follow_hosts=("host",))
    assert SourceSettings(uri="zip::https://host/a.zip", follow_hosts=("cdn",)).follow_hosts == ("cdn",)


def test_a_url_that_is_none_is_one_line() -> None:
    (listed,) = list_files(Source("s", Web("http://host:x", ("a.md",))))
    with expected("it is not a URL"):
        Web("http://host:x", ("a.md",)).read(listed, 1)
