"""What steps hand on, on a disk and through a bucket in memory; workers are this process under another name."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest
from obstore.store import MemoryStore
from pydantic import SecretStr

from lightrag_dagster.core.objects import Objects
from lightrag_dagster.errors import StoreError
from lightrag_dagster.settings import load_settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots import generations
from lightrag_dagster.storage.snapshots.scratch import BucketScratch, Scratch, open_scratch


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A home in a bucket in memory."""
    store = MemoryStore()
    monkeypatch.setattr(Objects, "open", classmethod(lambda cls, uri: cls(uri, store)))
    monkeypatch.setenv("LIGHTRAG_CACHE__FOLDER", str(tmp_path / "of workers"))
    settings = load_settings(home=f"s3://{uuid4().hex}/home", cache={"folder": tmp_path / "of the builder"})
    return Home.of(settings.changed(database=SecretStr("postgresql://db/name")))


@pytest.fixture
def scratch(home: Home) -> Iterator[BucketScratch]:
    with open_scratch(home, shares_disk=False) as opened:
        assert isinstance(opened, BucketScratch)
        yield opened


def worker_of(scratch: BucketScratch) -> BucketScratch:
    """Return the scratch as another process has it."""
    return replace(scratch, home=replace(scratch.home, root=Path("/on/another/machine/0")))


def write(scratch: Scratch, name: str, text: str) -> None:
    with scratch.step([]):
        path = scratch.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


def test_a_step_reads_what_others_wrote_and_keeps_nothing_else(scratch: BucketScratch, tmp_path: Path) -> None:
    write(scratch, "chosen", "1")
    write(scratch, "dealt/bucket=0", "2")
    worker = worker_of(scratch)
    assert worker.folder.is_relative_to(tmp_path / "of workers")
    for name, text in (("chosen", "1"), ("dealt/bucket=0", "2")):
        with worker.step([worker.folder / name]):
            assert (worker.folder / name).read_text() == text
            assert [path for path in worker.folder.rglob("*") if path.is_file()] == [worker.folder / name]
    assert worker.files("dealt") == [worker.folder / "dealt/bucket=0"]
    write(worker, "group", "3")
    with scratch.step([scratch.folder / "group"]):
        assert (scratch.folder / "group").read_text() == "3"


def test_what_a_failed_step_wrote_is_not_handed_on(scratch: BucketScratch) -> None:
    def fail() -> None:
        with scratch.step([]):
            (scratch.folder / "chosen").write_text("half")
            raise ValueError("no such rows")

    with pytest.raises(ValueError, match="no such rows"):
        fail()
    worker = worker_of(scratch)
    gone = r"/chosen is gone; another builder may have started meanwhile; run again"
    with pytest.raises(StoreError, match=gone), worker.step([worker.folder / "chosen"]):
        pass


def test_nothing_is_left_by_a_merge_that_ends_and_by_one_that_was_killed(home: Home) -> None:
    with open_scratch(home, shares_disk=False) as one:
        write(one, "chosen", "1")
    assert Objects.open(str(home.bucket)).list("") == {}
    with open_scratch(home, shares_disk=False) as killed:
        write(killed, "chosen", "1")
        generations.remove_leftovers(home)
        assert Objects.open(str(home.bucket)).list("") == {}
        assert not home.scratch.exists()


@pytest.mark.parametrize("shares_disk", [True, False])
def test_of_a_home_on_disk_it_is_a_folder(tmp_path: Path, shares_disk: bool) -> None:
    with open_scratch(Home(tmp_path), shares_disk=shares_disk) as scratch:
        write(scratch, "dealt/chosen", "1")
        assert scratch.files("dealt") == [scratch.folder / "dealt/chosen"]
        assert scratch.inputs([tmp_path / "tables/1.parquet"]) == [tmp_path / "tables/1.parquet"]
    assert list((tmp_path / "generations").iterdir()) == []
