"""A run finds a damaged snapshot and builds it again without asking a model."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from lightrag_dagster.cli.progress import display
from lightrag_dagster.orchestration.runner import Outcome, bring_up_to_date
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots.verify import find_damage
from tests.conftest import pointing_to
from tests.loopback import Loopback
from tests.models.models import offline_answer
from tests.support import FLOOD, RIVER, build, published, snapshot_contents, write_source


def settings_in(folder: Path, server: Loopback) -> Settings:
    server.chat = offline_answer
    return load_settings(
        home=folder / "home",
        sources=folder / "sources",
        llm={"provider": "openai", "model": "gpt-4o-mini"},
        embedding={"provider": "openai", "dimensions": server.dimensions},
    )


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, _server: Loopback) -> Path:
    """The folder of a published home and its sources, to be copied."""
    folder = tmp_path_factory.mktemp("damage")
    with pointing_to(_server):
        settings = settings_in(folder, _server)
        write_source(settings, "notes", {"river.md": RIVER, "flood.txt": FLOOD})
        build(settings)
    return folder


@pytest.fixture
def settings(built: Path, tmp_path: Path, loopback: Loopback) -> Settings:
    shutil.copytree(built, tmp_path, dirs_exist_ok=True)
    return settings_in(tmp_path, loopback)


def verified(settings: Settings, *, verify: bool) -> Outcome:
    with display(Console(quiet=True)) as shown:
        return bring_up_to_date(settings, [], shown, verify=verify)


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def remove_vectors(home: Path) -> None:
    for folder in home.glob("lance/entity_vectors-*.lance"):
        shutil.rmtree(folder)


def truncate_table(home: Path) -> None:
    (path,) = home.glob("generations/*/entities.parquet")
    path.write_bytes(path.read_bytes()[:100])


def flip_extractions(home: Path) -> None:
    (path,) = home.glob("tables/extractions/notes/*.parquet")
    flip(path)


@pytest.mark.long
@pytest.mark.parametrize("damage", [flip_extractions, remove_vectors, truncate_table])
def test_a_damaged_snapshot_is_built_again(
    settings: Settings, loopback: Loopback, damage: Callable[[Path], None]
) -> None:
    home = Home(settings.home)
    before, snapshot_id = snapshot_contents(settings), published(settings).snapshot_id
    damage(settings.home)
    asked = len(loopback.requests)

    outcome = verified(settings, verify=damage is flip_extractions)

    assert len(outcome.damaged) >= 1
    assert outcome.published is not None
    assert outcome.published.snapshot_id == snapshot_id
    assert len(loopback.requests) == asked
    assert snapshot_contents(settings) == before
    assert find_damage(home, snapshot_id, verify=True) == []
    assert verified(settings, verify=True).damaged == []
