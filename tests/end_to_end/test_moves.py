"""A home moves from a disk to a bucket with Postgres and back, also when the move is killed."""

import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import SecretStr

from lightrag_dagster import KnowledgeBase
from lightrag_dagster.curation.desk.taking import take
from lightrag_dagster.curation.rules.decisions import Decision
from lightrag_dagster.curation.rules.reading import in_force
from lightrag_dagster.errors import StoreError
from lightrag_dagster.pipeline.backup import back_up, restore
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots.repair import find_published_damage
from tests.buckets import S3Server
from tests.support import FLOOD, build, published, snapshot_contents, write_source

QUESTION = "Who maintains the gauge at Halden Weir?"
_KILLED = """
import os, signal, sys
from pathlib import Path
from lightrag_dagster.pipeline.backup import back_up, restore
from lightrag_dagster.settings import load_settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.backup_files import Contents

store, stored = Contents._store, []

def store_or_die(files, name, content):
    stored.append(name)
    if sys.argv[1] in (name, str(len(stored))):
        os.kill(os.getpid(), signal.SIGKILL)
    store(files, name, content)

Contents._store = store_or_die
home = Home.of(load_settings())
back_up(home, sys.argv[3], 0) if sys.argv[2] == "backup" else restore(sys.argv[3], home, 0)
"""


@pytest.fixture
def disk(published_home: Path) -> Settings:
    """A home on a disk."""
    return load_settings(home=published_home, sources=published_home.parent / "sources")


@pytest.fixture
def in_bucket(disk: Settings, buckets: S3Server, postgres: SecretStr, tmp_path: Path) -> Settings:
    """Settings of an empty home in a bucket."""
    return disk.changed(home=Path(buckets.new_bucket()), database=postgres, cache={"folder": tmp_path / "cache"})


def killed(settings: Settings, at: str, command: str, where: str) -> None:
    """Run a command that kills itself when it stores the file of that name, or the file of that number."""
    database = settings.database.get_secret_value() if settings.database else ""
    settled = {"HOME": str(settings.home), "CACHE__FOLDER": str(settings.cache.folder), "DATABASE": database}
    ended = subprocess.run(
        [sys.executable, "-c", _KILLED, at, command, where],
        env=os.environ | {f"LIGHTRAG_{name}": value for name, value in settled.items()},
        cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert ended.returncode == -signal.SIGKILL, ended.stderr


def check_unpublished(settings: Settings) -> None:
    for use in (lambda: KnowledgeBase.open(settings=settings), lambda: build(settings, graph=True)):
        with pytest.raises(StoreError, match=r"was not finished; run `lightrag-dagster restore .*` again"):
            use()


def check_same(settings: Settings, expected: Settings) -> None:
    """Check that a home answers as another one, and that a run has nothing to do and asks nothing."""
    asked = Ledger(Home.of(settings).ledger).by_purpose()
    assert build(settings, graph=True).published is None
    assert find_published_damage(Home.of(settings), verify=True) == []
    assert published(settings) == published(expected)
    assert asked == Ledger(Home.of(settings).ledger).by_purpose()
    with KnowledgeBase.open(settings=settings) as one, KnowledgeBase.open(settings=expected) as other:
        assert one.context(QUESTION) == other.context(QUESTION)
        assert one.cypher("MATCH (n) RETURN count(n) AS n") == other.cypher("MATCH (n) RETURN count(n) AS n")


@pytest.mark.long
def test_from_a_disk_to_a_bucket_with_postgres_and_back(
    disk: Settings, in_bucket: Settings, buckets: S3Server, tmp_path: Path
) -> None:
    backup, back = str(tmp_path / "backup"), disk.changed(home=tmp_path / "back")
    disk = disk.changed(home=shutil.copytree(disk.home, tmp_path / "home"))  # other tests read what it is given
    take(disk, [Decision(action="rename", names=("Marta Lindqvist",), into="M. Lindqvist")])
    build(disk, graph=True)
    there = back_up(Home.of(disk), backup, 0)
    killed(in_bucket, "PUBLISHED", "restore", backup)
    check_unpublished(in_bucket)
    assert restore(backup, Home.of(in_bucket), 0) == there
    check_same(in_bucket, disk)
    uri = buckets.new_bucket()
    assert back_up(Home.of(in_bucket), uri, 0)[2:] == there[2:]
    restore(uri, Home.of(back), 0)
    check_same(back, disk)
    assert in_force(back) == in_force(in_bucket) == in_force(disk)
    assert snapshot_contents(back) == snapshot_contents(disk)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(12))
def test_a_backup_that_was_killed_is_none_and_is_made_by_the_same_command(
    disk: Settings, buckets: S3Server, tmp_path: Path, seed: int
) -> None:
    where = buckets.new_bucket() if seed % 2 else str(tmp_path / "backup")
    files = back_up(Home.of(disk), str(tmp_path / "whole"), 0).files
    killed(disk, str(random.Random(seed).randint(2, files + 10)), "backup", where)
    back = disk.changed(home=tmp_path / "back")
    with pytest.raises(StoreError, match=r"was not finished; run `lightrag-dagster --home .* backup .*` again"):
        restore(where, Home.of(back), 0)
    back_up(Home.of(disk), where, 0)
    restore(where, Home.of(back), 0)
    check_same(back, disk)
    assert snapshot_contents(back) == snapshot_contents(disk)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(12))
def test_a_restore_that_was_killed_is_completed_by_the_same_command(
    disk: Settings, in_bucket: Settings, tmp_path: Path, seed: int
) -> None:
    settings = in_bucket if seed % 2 else disk.changed(home=tmp_path / "back")
    backup = str(tmp_path / "backup")
    files = back_up(Home.of(disk), backup, 0).files
    killed(settings, str(random.Random(seed).randint(2, files + 10)), "restore", backup)
    check_unpublished(settings)
    restore(backup, Home.of(settings), 0)
    check_same(settings, disk)
    # And it goes on from there.
    settings = settings.changed(sources=shutil.copytree(disk.sources, tmp_path / "sources"))
    write_source(settings, "more", {"flood.md": FLOOD})
    assert build(settings, graph=True).published is not None
    clean = settings.changed(home=tmp_path / "clean", database=None)
    build(clean, graph=True)
    assert published(settings).snapshot_id == published(clean).snapshot_id
    assert find_published_damage(Home.of(settings), verify=True) == []
