"""The servers of the tests: whoever gets one finds it as if nobody had used it, in whatever order the tests run."""

import os
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from tests.buckets import S3Server, pointing_to_buckets
from tests.conftest import API_KEY, pointing_to
from tests.loopback import Loopback, Reply
from tests.loopback_batches import Fate


def test_a_loopback_server_forgets_how_it_was_left(request: pytest.FixtureRequest) -> None:
    server: Loopback = request.getfixturevalue("_server")
    with pointing_to(server):
        assert os.environ["OPENAI_API_KEY"] == API_KEY
        server.fault = lambda received: Reply.error(401, "invalid_api_key")
        server.script.append(Reply.error(500))
        server.chat = lambda body: "left behind"
        server.batches.files["file-0"] = b"left behind"
        server.batches.spoil = lambda batch: Fate("failed")
        with pytest.raises(HTTPError):
            urlopen(f"{server.url}/models")
    with pointing_to(server):
        assert not server.requests
        assert not server.batches.files
        with urlopen(f"{server.url}/models") as reply:
            assert reply.status == 200


def test_an_s3_server_forgets_how_it_was_left(request: pytest.FixtureRequest) -> None:
    server: S3Server = request.getfixturevalue("_buckets")
    with pointing_to_buckets(server):
        assert os.environ["AWS_ENDPOINT_URL"] == server.url
        server.failing = lambda environ: True
        with pytest.raises(HTTPError):
            server.new_bucket()
    assert "AWS_ENDPOINT_URL" not in os.environ
    with pointing_to_buckets(server):
        assert not server.requests
        server.new_bucket()


@pytest.fixture(scope="module")
def seen() -> dict[str, str]:
    """Return the environment that fixtures of modules see."""
    return dict(os.environ)


def test_what_a_module_shares_is_made_without_anybodys_settings(seen: dict[str, str]) -> None:
    left = [name for name in seen if name.startswith(("LIGHTRAG_", "OPENAI_", "DAGSTER_", "AWS_", "GOOGLE_"))]
    assert left == [], {name: seen[name] for name in left}
