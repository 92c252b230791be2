"""Killed while it talks to a provider, and run again, a run buys no answer and no vector a second time."""

import json
import random
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from lightrag_dagster.core.identity import embedding_key
from lightrag_dagster.core.protocols import ChatRequest, Message
from lightrag_dagster.models.cached import response_key
from lightrag_dagster.models.providers import chat_identity, embedder_identity
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.storage.database.responses import ResponseStore
from lightrag_dagster.storage.database.vectors import VectorStore
from lightrag_dagster.storage.home import Home
from tests.conftest import pointing_to
from tests.kills import run_and_kill
from tests.loopback import Loopback, Received
from tests.models.models import asks_for_facts, offline_answer, role_of
from tests.support import FLOOD, OFFICE, RIVER, build, published, run, snapshot_contents, write_source

THROUGH_DAGSTER = range(3, 26)
KINDS = ("extract", "facts", "summarise", "embed")
# Small chunks and batches make many requests; two descriptions are enough for a summary.
CONFIGURATION = {
    "chunking": {"size": 24, "overlap": 4},
    "llm": {"provider": "openai", "model": "gpt-4o-mini", "max_concurrency": 4},
    "embedding": {"provider": "openai", "dimensions": 64, "batch_size": 2, "max_concurrency": 2},
    "merging": {"summary_min_descriptions": 2},
}

SCHEMA = """\
types: [person, place]
relations:
  maintains: {from: person, to: place}
"""
FACT = {"words": "Halden Weir", "subject": "Marta", "subject_type": "person", "relation": "maintains"}
FACT |= {"object": "Halden Weir", "object_type": "place", "value": "", "when": ""}


class Scene(NamedTuple):
    """What an undisturbed run leads to, and how many requests of each kind it makes."""

    folder: Path
    contents: dict[str, Any]
    requests: Counter[str]


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory, _server: Loopback) -> Scene:
    folder = tmp_path_factory.mktemp("bought-once")
    (folder / "readings").mkdir()
    (folder / "readings" / "weirs.yaml").write_text(SCHEMA)
    configuration = CONFIGURATION | {"readings": str(folder / "readings"), "extraction": {"max_rejected_share": 1.0}}
    (folder / "lightrag.yaml").write_text(yaml.safe_dump(configuration))
    with pointing_to(_server) as monkeypatch:
        settings = _settings(monkeypatch, folder, folder / "undisturbed", _server)
        write_source(settings, "notes", {"river.md": RIVER, "flood.txt": FLOOD})
        write_source(settings, "office", {"office.txt": OFFICE})
        build(settings, graph=True)
    assert published(settings).rows["merged_facts"] == 1
    return Scene(folder, snapshot_contents(settings), Counter(map(_kind, _server.requests)))


def _settings(monkeypatch: pytest.MonkeyPatch, folder: Path, home: Path, server: Loopback) -> Settings:
    monkeypatch.setenv("LIGHTRAG_CONFIG", str(folder / "lightrag.yaml"))
    server.chat, server.dimensions, server.delay = _answer, 64, 0.005
    return load_settings(home=home, sources=folder / "sources")


@pytest.mark.long
@pytest.mark.parametrize("seed", range(26))
def test_nothing_that_arrived_is_bought_again(
    scene: Scene, loopback: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    settings = _settings(monkeypatch, scene.folder, tmp_path / "home", loopback)
    way = "run" if seed in THROUGH_DAGSTER else "build"
    chance, kind = random.Random(seed), KINDS[seed % len(KINDS)]
    number, later = chance.randint(1, scene.requests[kind]), chance.choice([0.0, 0.003, 0.01, 0.03])
    victim = ["tests.end_to_end.victim", str(settings.home), str(settings.sources), "0", "after", way]

    run_and_kill(loopback, victim, number, later, lambda received: _kind(received) == kind)
    before, kept = len(loopback.requests), _stored(settings, loopback.requests)

    outcome = run(settings) if way == "run" else build(settings, graph=True)

    assert outcome.failed == {}
    assert kept or seed % len(KINDS) == 0
    assert not kept & set(_keys(settings, loopback.requests[before:]))
    assert snapshot_contents(settings) == scene.contents


def _kind(received: Received) -> str:
    if received.path.endswith("/embeddings"):
        return "embed"
    return "facts" if asks_for_facts(received.body) else role_of(received.body)


def _answer(body: dict[str, Any]) -> str:
    return json.dumps({"facts": [FACT]}) if asks_for_facts(body) else offline_answer(body)


def _keys(settings: Settings, requests: Iterable[Received]) -> list[str]:
    """Return under which keys the answers to requests are, or would be, stored."""
    keys = []
    for received in requests:
        if _kind(received) == "embed":
            identity = embedder_identity(settings.embedding)
            keys += [embedding_key(identity, text) for text in received.body["input"]]
        else:
            messages = tuple(Message(each["role"], each["content"]) for each in received.body["messages"])
            role = "extract" if _kind(received) == "facts" else role_of(received.body)
            request = ChatRequest(role, messages, json_answer=_kind(received) == "facts")
            keys.append(response_key(chat_identity(settings.llm), request))
    return keys


def _stored(settings: Settings, requests: Iterable[Received]) -> set[str]:
    """Return which of the requests' answers are in the stores."""
    home, keys = Home(settings.home), _keys(settings, requests)
    with ResponseStore(home.responses) as responses, VectorStore(home.vectors) as vectors:
        return set(responses.get_many(keys)) | set(vectors.get_many(keys))
