"""Fixtures for all tests: a folder of their own, nobody's settings, and a server to talk to."""

import gc
import os
import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from importlib import import_module
from pathlib import Path

import dagster as dg
import hypothesis
import pytest
import typer.main
import typer.testing
from pydantic import SecretStr

from lightrag_dagster.settings import EmbeddingSettings, Settings, load_settings
from lightrag_dagster.storage.database.address import Address
from lightrag_dagster.storage.database.engine import postgres_engine
from lightrag_dagster.storage.home import Home
from tests import gold
from tests.buckets import GoogleService, S3Server, S3Service, pointing_to_buckets, serving_buckets, serving_google
from tests.dagster_databases import kept_between_uses
from tests.loopback import Loopback, serving
from tests.once import made_once, shared_folder
from tests.postgres import PostgresServer, new_schema, serving_postgres
from tests.query.facts.home import build_home
from tests.query.published import publish_sources
from tests.seaweed import serving_seaweed
from tests.storage.years import History, Years

# A busy machine makes a quick example slow; and the same tree passes or fails whenever it is tested.
hypothesis.settings.register_profile("few", max_examples=12, deadline=None, derandomize=True)
hypothesis.settings.register_profile("many", max_examples=200, deadline=None, derandomize=True)
hypothesis.settings.load_profile("few")

API_KEY = "sk-test-SECRET0123456789"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that shuffles."""
    parser.addoption(
        "--shuffle", type=int, metavar="SEED", help="run the files, and the tests of each, in random order"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with tests of whole runs, so that none of them is the last one that everything waits for; or shuffle."""
    seed = config.getoption("shuffle")
    if seed is not None:
        chance = random.Random(seed)
        place = {file: chance.random() for file in dict.fromkeys(item.path for item in items)}
        items.sort(key=lambda item: (place[item.path], chance.random()))
        return
    whole = ("tests/assets/", "tests/cli/", "tests/end_to_end/", "tests/engines/", "tests/test_")
    items.sort(key=lambda item: not item.nodeid.startswith(whole))


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Import all tests in another order than the other workers, so that each finds what the others have compiled."""
    worker = getattr(session.config, "workerinput", None)
    if worker is None or session.config.args != session.config.getini("testpaths"):
        return
    folder = Path(__file__).parent
    files = sorted(folder.rglob("test_*.py"))
    first = len(files) * int(worker["workerid"].removeprefix("gw")) // worker["workercount"]
    for file in files[first:] + files[:first]:
        with suppress(Exception, pytest.skip.Exception):  # it is raised again where it is collected, and told
            import_module(".".join(file.relative_to(folder.parent).with_suffix("").parts))


# Importing makes half a million objects and hardly any garbage: the collector need not look at them again and again.
gc.disable()


def pytest_collection_finish() -> None:
    """Leave modules alone, and collect what tests leave."""
    gc.freeze()
    gc.set_threshold(50_000)
    gc.enable()


def pytest_unconfigure() -> None:
    """Leave all alone, since the process ends."""
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _quick_dagster() -> Iterator[None]:
    with kept_between_uses():
        yield


@pytest.fixture(scope="session", autouse=True)
def _quick_commands() -> Iterator[None]:
    """Make the command line once: Typer makes all fifty commands at each call, a third of a quick one."""
    made = cache(typer.main.get_command)
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(typer.main, "get_command", made)
        monkeypatch.setattr(typer.testing, "_get_command", made)
        yield


@pytest.fixture
def uncollected() -> Iterator[None]:
    """Collect no garbage in a test that reaches the limit of recursion, where finalizers of others' objects fail."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture(autouse=True)
def _clean_environment(tmp_path: Path) -> Iterator[None]:
    """Keep settings away from each test, and those that it leaves behind from the next one."""
    before = dict(os.environ)
    with pytest.MonkeyPatch.context() as monkeypatch:
        _leave_settings(monkeypatch, tmp_path)
        yield
    if os.environ != before:
        for name in os.environ.keys() - before.keys():
            del os.environ[name]
        os.environ.update(before)


@pytest.fixture(scope="session", autouse=True)
def _nobodys_settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep settings away from what modules share, as `_clean_environment` does from each test."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        _leave_settings(monkeypatch, tmp_path_factory.mktemp("nobody"))
        yield


def _leave_settings(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    for name in list(os.environ):
        if name.startswith(("LIGHTRAG_", "OPENAI_", "DAGSTER_", "AWS_", "GOOGLE_")):
            monkeypatch.delenv(name)
    # The servers of the tests speak plain HTTP, and reading all certificates costs every client 40 ms.
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.setenv("SSL_CERT_DIR", str(folder))
    monkeypatch.chdir(folder)


@pytest.fixture(scope="session", autouse=True)
def _no_syncing() -> Iterator[None]:
    """Save the wait for the disk: only a loss of power could tell, and no test causes one."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(os, "fsync", lambda descriptor: None)
        yield


def _copy_of(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    return Path(shutil.copytree(made_once(shared_folder(factory) / name, make), factory.mktemp(name) / "copy"))


@pytest.fixture(scope="session")
def published_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of a small snapshot; `tests.query.published` says what is in it. To be read only."""
    folder = tmp_path_factory.mktemp("published")  # no copy, whose files would be others to a run
    settings = load_settings(home=folder / "home", sources=folder / "sources")
    publish_sources(settings, graph=True)
    return settings.home


@pytest.fixture(scope="session")
def facts_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of a snapshot with facts; `tests.query.facts.home` says what is in it. To be read only."""
    return _copy_of(tmp_path_factory, "facts", build_home) / "home"


@pytest.fixture(scope="session")
def _gold_home(tmp_path_factory: pytest.TempPathFactory, _server: Loopback) -> Path:
    with pointing_to(_server):
        return _copy_of(tmp_path_factory, "gold", partial(gold.build_home, server=_server))


@pytest.fixture
def gold_home(_gold_home: Path, tmp_path: Path, loopback: Loopback) -> Path:
    """The folder of a home by a model that loses some names; `tests/gold.py` says what is in it."""
    loopback.chat = gold.reads_with(gold.RATES)
    shutil.copytree(_gold_home, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.fixture(scope="session")
def _history(tmp_path_factory: pytest.TempPathFactory) -> History:
    folder = shared_folder(tmp_path_factory) / "years"
    folder.mkdir(exist_ok=True)
    return History(folder)


@pytest.fixture
def years(_history: History, tmp_path: Path) -> Years:
    """Homes with some snapshots of the same source, to be changed by one test."""
    return lambda number: _history.copy(number, tmp_path)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings of an empty home with no sources yet, offline."""
    (tmp_path / "sources").mkdir()
    return load_settings(home=tmp_path / "home", sources=tmp_path / "sources")


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    """A Dagster instance that lives as long as the test."""
    with dg.DagsterInstance.ephemeral() as ephemeral:
        yield ephemeral


@pytest.fixture(scope="session")
def _server() -> Iterator[Loopback]:
    with serving() as server:
        yield server


@contextmanager
def pointing_to(server: Loopback) -> Iterator[pytest.MonkeyPatch]:
    """Point the environment to a server that forgot what others did to it, with a key that must show up nowhere."""
    from lightrag_dagster.models import openai_client

    server.reset()
    openai_client.unanswered.clear()
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", API_KEY)
        yield monkeypatch


@pytest.fixture
def loopback(_server: Loopback, _clean_environment: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    """Serve the OpenAI API, and point the environment to it; embedders try once, which no setting says."""
    monkeypatch.setattr(EmbeddingSettings, "max_retries", 0)
    with pointing_to(_server):
        yield _server


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A Postgres server that lives as long as the session."""
    with serving_postgres() as server:
        yield server


@pytest.fixture(scope="session")
def _buckets() -> Iterator[S3Server]:
    with serving_buckets() as server:
        yield server


@pytest.fixture
def buckets(_buckets: S3Server, _clean_environment: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Server]:
    """An S3 server, to which the environment points."""
    monkeypatch.delenv("SSL_CERT_DIR")  # obstore refuses to work without any certificate
    with pointing_to_buckets(_buckets):
        yield _buckets


@pytest.fixture(scope="session")
def _seaweed() -> Iterator[S3Service]:
    with serving_seaweed() as service:
        yield service


@pytest.fixture
def seaweed(_seaweed: S3Service, _clean_environment: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Service]:
    """SeaweedFS, to which the environment points; for tests that are marked `long`."""
    monkeypatch.delenv("SSL_CERT_DIR")
    with pointing_to_buckets(_seaweed):
        yield _seaweed


@pytest.fixture(scope="session")
def _google() -> Iterator[GoogleService]:
    with serving_google() as service:
        yield service


@pytest.fixture
def google(
    _google: GoogleService, _clean_environment: None, monkeypatch: pytest.MonkeyPatch
) -> Iterator[GoogleService]:
    """A server of Google Cloud Storage's interface, to which the environment points."""
    monkeypatch.delenv("SSL_CERT_DIR")
    with pointing_to_buckets(_google):
        yield _google


@pytest.fixture
def postgres(postgres_server: PostgresServer) -> Iterator[SecretStr]:
    """The URL of an empty Postgres database."""
    url = postgres_server.url(new_schema())
    yield SecretStr(url)
    postgres_engine(url).dispose()


@pytest.fixture(params=["SQLite", "Postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Address:
    """An empty database of either kind."""
    if request.param == "SQLite":
        return tmp_path / "new" / "folder" / "store.sqlite"
    url: SecretStr = request.getfixturevalue("postgres")
    return url


@pytest.fixture(params=["SQLite", "Postgres"])
def any_home(request: pytest.FixtureRequest, tmp_path: Path) -> Home:
    """An empty home with a database of either kind."""
    return Home(tmp_path / "new" / "home", request.getfixturevalue("postgres") if request.param == "Postgres" else None)
