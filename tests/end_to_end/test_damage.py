"""A run finds a damaged snapshot and builds it again without asking a model."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from lightrag_dagster.cli.progress import display
from lightrag_dagster.runner import Outcome, bring_up_to_date
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.storage.damage import find_damage
from lightrag_dagster.storage.home import Home
from tests.loopback import Loopback
from tests.models.models import offline_answer
from tests.support import FLOOD, RIVER, build, published, snapshot_contents, write_source


@pytest.fixture
def settings(settings: Settings, loopback: Loopback) -> Settings:
    loopback.chat = offline_answer
    return load_settings(
        home=settings.home,
        sources=settings.sources,
        llm={"provider": "openai"},
        embedding={"provider": "openai", "dimensions": loopback.dimensions},
    )


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


@pytest.mark.parametrize("damage", [remove_vectors, truncate_table, flip_extractions])
def test_a_damaged_snapshot_is_built_again(
    settings: Settings, loopback: Loopback, damage: Callable[[Path], None]
) -> None:
    home = Home(settings.home)
    write_source(settings, "notes", {"river.md": RIVER, "flood.txt": FLOOD})
    build(settings)
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
