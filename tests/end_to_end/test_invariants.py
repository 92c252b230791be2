"""DESIGN §5: I2 in its plain form, I4, I5, I6 and plain cases of I1.

The first run, the one without a change and the one with a bad source go through Dagster, the others do without.
"""

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from lightrag_dagster.orchestration.runner import Outcome
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.storage.home import Home
from tests.support import FLOOD, OFFICE, RIVER, build, published, run, snapshot_contents, write_source

Files = dict[str, str | bytes]


@pytest.fixture(scope="module")
def first_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Settings, Outcome]:
    """A home of two sources that the first run published, to be copied, and the outcome of that run."""
    folder = tmp_path_factory.mktemp("both")
    settings = load_settings(home=folder / "home", sources=folder / "sources")
    write_source(settings, "notes", {"river.md": RIVER, "flood.txt": FLOOD})
    write_source(settings, "office", {"office.txt": OFFICE})
    return settings, run(settings)


def copy_to(settings: Settings, published_home: Settings) -> None:
    shutil.copytree(published_home.home, settings.home)
    shutil.copytree(published_home.sources, settings.sources, dirs_exist_ok=True)


@pytest.mark.long
def test_run_publishes_every_source(first_run: tuple[Settings, Outcome]) -> None:
    settings, outcome = first_run
    assert outcome.ingested == ["notes", "office"]
    assert outcome.failed == {}
    manifest = published(settings)
    assert sorted(manifest.inputs.sources) == ["notes", "office"]
    assert manifest.rows["raw_documents"] == 3
    assert manifest.rows["entities"] > 5


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A published home of one source, to be copied."""
    folder = tmp_path_factory.mktemp("notes")
    settings = load_settings(home=folder / "home", sources=folder / "sources")
    write_source(settings, "notes", {"river.md": RIVER, "flood.txt": FLOOD})
    build(settings)
    return settings


@pytest.mark.long
def test_second_run_does_nothing(notes: Settings) -> None:
    before, stored = published(notes), _stored(notes)

    outcome = run(notes)

    assert outcome.ingested == []
    assert outcome.published is None
    assert published(notes) == before
    assert _stored(notes) == stored


def _add(settings: Settings) -> None:
    write_source(settings, "notes", {"river.md": RIVER, "flood.txt": FLOOD, "new/office.txt": OFFICE})


def _edit(settings: Settings) -> None:
    write_source(settings, "notes", {"river.md": RIVER.replace("2019", "2020"), "flood.txt": FLOOD})


def _delete(settings: Settings) -> None:
    write_source(settings, "notes", {"river.md": RIVER})


def _move_and_copy(settings: Settings) -> None:
    """Rename a file, duplicate the other one, and share that with another source."""
    write_source(settings, "notes", {"deeper/river.md": RIVER, "flood.txt": FLOOD, "again.txt": FLOOD})
    write_source(settings, "archive", {"flood.txt": FLOOD})


@pytest.mark.long  # the history of test_parity.py does all of it
@pytest.mark.parametrize("change", [_add, _edit, _delete, _move_and_copy])
def test_a_change_equals_a_clean_build(
    notes: Settings, settings: Settings, tmp_path: Path, change: Callable[[Settings], None]
) -> None:
    copy_to(settings, notes)
    settings = settings.model_copy(update={"documents": settings.documents.model_copy(update={"accept_deletes": True})})
    first = published(settings).snapshot_id

    change(settings)
    build(settings)

    clean = settings.model_copy(update={"home": tmp_path / "clean"})
    build(clean)
    assert published(settings).snapshot_id != first
    assert snapshot_contents(settings) == snapshot_contents(clean)


@pytest.mark.long
def test_a_source_that_is_gone_leaves_the_knowledge_base(
    first_run: tuple[Settings, Outcome], settings: Settings, tmp_path: Path
) -> None:
    copy_to(settings, first_run[0])
    shutil.rmtree(settings.sources / "office")
    build(settings.changed(documents={"accept_deletes": True}))

    clean = settings.model_copy(update={"home": tmp_path / "clean"})
    build(clean)
    assert snapshot_contents(settings) == snapshot_contents(clean)
    assert sorted(published(settings).inputs.sources) == ["notes"]


@pytest.mark.long  # test_rollback.py holds it too
def test_going_back_republishes_the_same_snapshot(notes: Settings, settings: Settings) -> None:
    copy_to(settings, notes)
    river = settings.sources / "notes" / "river.md"
    modified = river.stat().st_mtime_ns  # seconds as a float lose some
    first = published(settings)
    _edit(settings)
    build(settings)
    second = published(settings)

    river.write_text(RIVER)
    os.utime(river, ns=(modified, modified))
    build(settings)

    assert second.snapshot_id != first.snapshot_id
    assert published(settings).snapshot_id == first.snapshot_id


@pytest.mark.long
def test_one_bad_document_costs_itself_alone(settings: Settings) -> None:
    good: Files = {f"{index}.txt": f"{RIVER} Note {index}." for index in range(9)}
    write_source(settings, "notes", good | {"broken.txt": b"\xff\xfe\x00\xd8broken"})

    outcome = build(settings)

    assert outcome.failed == {}
    assert published(settings).rows["raw_documents"] == 10
    assert published(settings).rows["chunks"] == 9


@pytest.mark.long  # test_silence.py holds it too
def test_one_bad_source_costs_itself_alone(first_run: tuple[Settings, Outcome], settings: Settings) -> None:
    copy_to(settings, first_run[0])
    _edit(settings)
    write_source(settings, "office", {"unrelated.txt": "Nothing of the office is left here, and Ulla Berg knows why."})

    outcome = run(settings)

    assert list(outcome.failed) == ["office"]
    assert "--accept-deletes" in outcome.failed["office"]
    assert outcome.ingested == ["notes"]
    manifest = published(settings)
    assert sorted(manifest.inputs.sources) == ["notes", "office"]
    assert outcome.published == manifest


def _stored(settings: Settings) -> int:
    """Return how many answers are stored; the offline embedder's vectors are not."""
    assert not Path(str(Home(settings.home).vectors)).exists()
    with closing(sqlite3.connect(f"file:{Home(settings.home).responses}?mode=ro", uri=True)) as connection:
        return int(connection.execute("SELECT count(*) FROM responses").fetchone()[0])
