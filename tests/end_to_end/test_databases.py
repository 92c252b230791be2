"""A knowledge base with Postgres is the one with SQLite, also after a kill, and leaves no database in the home."""

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import SecretStr

from lightrag_dagster.plan.plan import make_plan
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.storage.database.responses import ResponseStore
from lightrag_dagster.storage.database.vectors import VectorStore
from lightrag_dagster.storage.home import Home
from tests.storage.test_locking import hold
from tests.support import FLOOD, OFFICE, RIVER, build, snapshot_contents, write_source

ROOT = Path(__file__).parents[2]
WRITES = 230
"""A build makes more writes than this, so that a kill at any of them falls inside."""


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> tuple[Settings, dict[str, object]]:
    """A home with SQLite, and what its snapshot holds."""
    folder = tmp_path_factory.mktemp("sqlite")
    settings = load_settings(home=folder / "home", sources=folder / "sources")
    write_source(settings, "notes", {"river.md": RIVER, "flood.txt": FLOOD})
    write_source(settings, "office", {"office.txt": OFFICE})
    build(settings, graph=True)
    return settings, snapshot_contents(settings)


@pytest.mark.long
def test_the_same_bytes_with_either_database_and_nothing_is_asked_twice(
    expected: tuple[Settings, dict[str, object]], tmp_path: Path, postgres: SecretStr
) -> None:
    settings = expected[0].changed(home=tmp_path / "home", database=postgres)
    build(settings, graph=True)
    assert snapshot_contents(settings) == expected[1]
    assert [*settings.home.rglob("*.sqlite"), *settings.home.rglob("*.lock")] == []
    assert _stored(settings) == _stored(expected[0])
    once = Ledger(Home.of(settings).ledger).by_purpose()
    assert once == Ledger(Home.of(expected[0]).ledger).by_purpose()
    assert build(settings, graph=True).published is None
    assert Ledger(Home.of(settings).ledger).by_purpose() == once


@pytest.mark.long  # test_crashes.py kills one with SQLite
@pytest.mark.parametrize("seed", range(20))
def test_a_build_that_was_killed_is_completed_by_the_next_one(
    expected: tuple[Settings, dict[str, object]], tmp_path: Path, postgres: SecretStr, seed: int
) -> None:
    settings = expected[0].changed(home=tmp_path / "home", database=postgres)
    step, moment = random.Random(seed).randint(1, WRITES), random.Random(seed).choice(["before", "during", "after"])
    arguments = [str(settings.home), str(settings.sources), str(step), moment, "build"]
    killed = subprocess.run(
        [sys.executable, "-m", "tests.end_to_end.victim", *arguments],
        env=os.environ | {"LIGHTRAG_DATABASE": postgres.get_secret_value()},
        cwd=ROOT, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert build(settings, graph=True).failed == {}
    assert snapshot_contents(settings) == expected[1]
    assert _stored(settings) == _stored(expected[0])


@pytest.mark.long  # a whole run
def test_a_plan_waits_for_no_builder(
    expected: tuple[Settings, dict[str, object]], tmp_path: Path, postgres: SecretStr
) -> None:
    settings = expected[0].changed(home=tmp_path / "home", sources=tmp_path / "sources", database=postgres)
    write_source(settings, "notes", {"river.md": RIVER, "flood.txt": FLOOD})
    build(settings, graph=True)
    write_source(settings, "notes", {"river.md": RIVER})
    before = Ledger(Home.of(settings).ledger).by_purpose()
    with hold(Home.of(settings)) as holder:
        (planned,) = make_plan(settings).sources
        holder.communicate("")
    assert planned.problem
    assert Ledger(Home.of(settings).ledger).by_purpose() == before


def _stored(settings: Settings) -> tuple[int, int]:
    home = Home.of(settings)
    with ResponseStore(home.responses) as responses, VectorStore(home.vectors) as vectors:
        return responses.count(), vectors.count()
