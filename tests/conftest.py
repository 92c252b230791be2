"""Fixtures for all tests: an environment without anybody's settings, and a server to talk to."""

import os
from collections.abc import Iterator

import pytest

from tests.loopback import Loopback, serving

API_KEY = "sk-test-SECRET0123456789"


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("LIGHTRAG_", "OPENAI_")):
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def _server() -> Iterator[Loopback]:
    with serving() as server:
        yield server


@pytest.fixture
def loopback(_server: Loopback, monkeypatch: pytest.MonkeyPatch) -> Loopback:
    """Serve the OpenAI API, and point the environment to it, with a key that must show up nowhere."""
    _server.reset()
    monkeypatch.setenv("OPENAI_BASE_URL", _server.url)
    monkeypatch.setenv("OPENAI_API_KEY", API_KEY)
    return _server
