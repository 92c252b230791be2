"""Killed while batches are prepared, submitted, awaited or collected, and run again, nothing is submitted twice."""

import random
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from lightrag_dagster.settings import Settings, load_settings
from tests.conftest import pointing_to
from tests.kills import run_and_kill
from tests.loopback import Loopback, Received
from tests.loopback_batches import Fate
from tests.models.batch.impatient import shorten
from tests.models.models import offline_answer
from tests.support import FLOOD, OFFICE, RIVER, run, snapshot_contents, write_source

# Small chunks and batches make many calls.
CONFIGURATION = {
    "chunking": {"size": 24, "overlap": 4},
    "llm": {"provider": "openai", "model": "gpt-4o-mini", "mode": "batch"},
    "embedding": {"provider": "openai", "dimensions": 64},
}


class Scene(NamedTuple):
    """What an undisturbed run leads to, and how many calls to files and batches it makes."""

    folder: Path
    contents: dict[str, Any]
    calls: int


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory, _server: Loopback) -> Scene:
    folder = tmp_path_factory.mktemp("batches-bought-once")
    (folder / "lightrag.yaml").write_text(yaml.safe_dump(CONFIGURATION))
    with pointing_to(_server) as monkeypatch:
        settings = _settings(monkeypatch, folder, folder / "undisturbed", _server)
        write_source(settings, "notes", {"river.md": RIVER, "flood.txt": FLOOD, "office.txt": OFFICE})
        _finish(settings)
    return Scene(folder, snapshot_contents(settings), sum(map(_is_of_batches, _server.requests)))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(6))
def test_nothing_is_submitted_twice(
    scene: Scene, loopback: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    settings = _settings(monkeypatch, scene.folder, tmp_path / "home", loopback)
    chance = random.Random(seed)
    number, later = chance.randint(1, scene.calls), chance.choice([0.0, 0.003, 0.01, 0.03])
    options = ["--home", str(settings.home), "--sources", str(settings.sources)]

    run_and_kill(loopback, ["tests.models.batch.impatient", *options, "run", "--wait"], number, later, _is_of_batches)
    _finish(settings)

    submitted = Counter(loopback.batches.asked())
    assert [key for key, times in submitted.items() if times > 1] == []
    assert not [one for one in loopback.requests if one.path.endswith("/chat/completions") and _extracts(one)]
    assert snapshot_contents(settings) == scene.contents


def _settings(monkeypatch: pytest.MonkeyPatch, folder: Path, home: Path, server: Loopback) -> Settings:
    shorten(monkeypatch)
    monkeypatch.setenv("LIGHTRAG_CONFIG", str(folder / "lightrag.yaml"))
    server.chat, server.dimensions = offline_answer, 64
    server.batches.spoil = lambda batch: Fate(looks=1)
    return load_settings(home=home, sources=folder / "sources")


def _finish(settings: Settings) -> None:
    for _ in range(12):
        outcome = run(settings)
        assert outcome.failed == {}
        if not outcome.waiting:
            return
    raise AssertionError(f"still waiting: {outcome.waiting}")


def _is_of_batches(received: Received) -> bool:
    return received.path.startswith(("/v1/files", "/v1/batches"))


def _extracts(received: Received) -> bool:
    return "<|COMPLETE|>" in received.body["messages"][0]["content"]
