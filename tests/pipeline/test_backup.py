"""Backup and restore between folders; `tests.end_to_end.test_moves` has buckets, Postgres and kills."""

import re
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest
from pydantic import SecretStr

from lightrag_dagster.curation.desk.taking import take, undo
from lightrag_dagster.curation.rules.decisions import Decision
from lightrag_dagster.curation.rules.reading import in_force, taken
from lightrag_dagster.errors import BuilderLockedError, SettingsError, StoreError
from lightrag_dagster.models.batch.ledger import PREPARED, BatchLedger
from lightrag_dagster.pipeline.backup import back_up, restore
from lightrag_dagster.pipeline.pending import pending
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.spending.account import Account
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.storage.files import atomic
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locking import building, ingesting, using_batches
from lightrag_dagster.storage.snapshots.generations import VIEWS, Generation
from lightrag_dagster.storage.snapshots.snapshots import list_snapshots, pin, pinned_snapshots, rollback
from lightrag_dagster.storage.snapshots.verify import find_damage
from lightrag_dagster.storage.tables.acceptance import accepted
from tests.loopback import Loopback
from tests.models.batch.test_ledger import batch
from tests.passes import model_settings
from tests.storage.test_locking import hold
from tests.support import FLOOD, OFFICE, RIVER, build, first_build, published, snapshot_contents, write_source


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A home with two snapshots; the first has a name and is held, and a source has a name that is no name of files."""
    folder = tmp_path_factory.mktemp("original")
    settings = load_settings(home=folder / "home", sources=folder / "sources")
    write_source(settings, "größe 100%", {"river.md": RIVER})
    build(settings)
    first = published(settings).snapshot_id
    write_source(settings, "größe 100%", {"river.md": RIVER, "flood.txt": FLOOD})
    build(settings)
    home = Home.of(settings)
    with building(home, 0) as lock:
        pin(home, "audit", first)
        rollback(home, first, lock)
    with BatchLedger(home.batches) as ledger:
        ledger.add(batch("one", PREPARED), ["asked"])
    atomic.write_text(home.batch_files / "one.jsonl", "requests")
    Ledger(home.ledger).reserve("one", Account("run", "notes"), 0.25)
    take(settings, [Decision(action="apart", names=("Bergen", name), reason="a test") for name in ("Oslo", "Berge")])
    undo(settings, [1])
    back_up(home, str(folder / "backup"), 0)
    return settings


@pytest.fixture(scope="module")
def backup(original: Settings) -> str:
    """The folder of a backup of it."""
    return str(original.home.parent / "backup")


@pytest.fixture
def empty(original: Settings, tmp_path: Path) -> Settings:
    """Settings of an empty home, with the same sources."""
    return original.changed(home=tmp_path / "empty")


def test_what_comes_back_is_the_same_and_needs_no_work(original: Settings, backup: str, empty: Settings) -> None:
    before, home = Home.of(original), Home.of(empty)
    copied = restore(backup, home, 0)
    assert copied.snapshot_id == published(original).snapshot_id == published(empty).snapshot_id
    assert copied.damaged == []
    assert copied.files > 20
    assert copied.size > 10_000
    assert list_snapshots(home) == list_snapshots(before)
    assert pinned_snapshots(home) == pinned_snapshots(before)
    assert snapshot_contents(empty) == snapshot_contents(original)
    for one in list_snapshots(home):
        assert find_damage(home, one.snapshot_id, verify=True) == []
        views = Generation(home, one.snapshot_id).path(VIEWS)
        with duckdb.connect(views, read_only=True) as connection:
            rows = connection.sql("SELECT count(*) FROM raw_documents").fetchall()
            assert rows == [(one.rows["raw_documents"],)]
    assert home.views.samefile(Generation(home, published(empty).snapshot_id).path(VIEWS))
    with BatchLedger(home.batches) as ledger:
        assert [one.name for one in ledger.batches()] == ["one"]
        assert ledger.keys_of(ledger.batches()[0]) == {"asked"}
    assert (home.batch_files / "one.jsonl").read_text() == "requests"
    assert Ledger(home.ledger).by_purpose() == Ledger(before.ledger).by_purpose()
    assert [one.undone for one in taken(home)] == [True, False]
    assert taken(home) == taken(before)
    assert in_force(empty) == in_force(original)
    assert take(empty, [Decision(action="apart", names=("Bergen", "Berg"))]) == [3], "no number is given twice"
    (limit,) = Ledger(home.ledger).limits(Account("run", max_cost_per_day_usd=1))
    assert limit.spent == 0.25
    assert build(empty).published is None


def test_sources_named_as_files_of_a_home_come_back(tmp_path: Path) -> None:
    settings = load_settings(home=tmp_path / "home", sources=tmp_path / "sources")
    for name, text in (("exports", RIVER), ("files", FLOOD), ("views", OFFICE)):
        write_source(settings, name, {"text.md": text})
    first_build(settings)
    back_up(Home.of(settings), str(tmp_path / "backup"), 0)
    restored = Home(tmp_path / "restored")
    restore(str(tmp_path / "backup"), restored, 0)
    for name in ("exports", "files", "views"):
        assert accepted(restored, name) == accepted(Home.of(settings), name) is not None


@pytest.mark.long
def test_scopes_are_made_again_after_a_restore_and_nothing_is_bought(tmp_path: Path, loopback: Loopback) -> None:
    options: dict[str, Any] = {
        "embedding": {"provider": "openai", "dimensions": 64},
        "merging": {"summary_min_descriptions": 2},
    }
    settings = model_settings(tmp_path, loopback, scopes={"shown": {"paths": ("river*", "flood*")}}, **options)
    write_source(settings, "notes", {"river.md": RIVER, "flood.md": FLOOD, "office.md": OFFICE})
    build(settings)
    back_up(Home.of(settings), str(tmp_path / "backup"), 0)
    assert not [*(tmp_path / "backup").glob("**/scopes/**")]
    restored = settings.changed(home=tmp_path / "restored")
    restore(str(tmp_path / "backup"), Home.of(restored), 0)
    assert list(pending(Situation.looking(restored)).scopes) == ["shown"]
    asked = len(loopback.requests)
    assert build(restored).rejected == {}
    assert len(loopback.requests) == asked
    before, after = published(settings.within("shown")), published(restored.within("shown"))
    assert (after.snapshot_id, after.rows) == (before.snapshot_id, before.rows)


@pytest.mark.long
def test_the_next_snapshot_of_what_came_back_asks_about_new_text_alone(
    original: Settings, backup: str, empty: Settings, tmp_path: Path
) -> None:
    restore(backup, Home.of(empty), 0)
    shutil.copytree(original.sources, tmp_path / "sources")
    settings = empty.changed(sources=tmp_path / "sources")
    write_source(settings, "office", {"office.txt": OFFICE})
    ledger = Ledger(Home.of(settings).ledger)
    before = ledger.by_purpose()["extract"].calls
    assert build(settings).published is not None
    assert ledger.by_purpose()["extract"].calls - before <= 2
    assert len(list_snapshots(Home.of(settings))) == 3


@pytest.mark.long
def test_a_home_or_place_that_is_not_empty_is_left_alone(original: Settings, backup: str, empty: Settings) -> None:
    with pytest.raises(StoreError, match=r"backup is not empty; nothing was changed, choose an empty place"):
        back_up(Home.of(original), backup, 0)
    with pytest.raises(StoreError, match=r"home is not empty; nothing was changed"):
        restore(backup, Home.of(original), 0)
    home = Home.of(empty)
    Ledger(home.ledger).release_other_batches(set())
    restore(backup, home, 0)
    shutil.rmtree(home.root / "tables")
    with pytest.raises(StoreError, match="is not empty"):
        restore(backup, home, 0)


@pytest.mark.parametrize("other", ["precious.txt", "photos/one.jpg", "records/FORMAT.txt"])
def test_files_of_others_keep_a_backup_away(original: Settings, tmp_path: Path, other: str) -> None:
    file = tmp_path / "there" / other
    file.parent.mkdir(parents=True)
    file.write_text("hi")
    with pytest.raises(StoreError, match=r"there is not empty; nothing was changed, choose an empty place"):
        back_up(Home.of(original), str(tmp_path / "there"), 0)
    assert [path for path in (tmp_path / "there").rglob("*") if path.is_file()] == [file]


@pytest.mark.parametrize("inner", [".", "inner", "tables/../inner"])
def test_a_backup_into_the_home_is_refused(original: Settings, inner: str) -> None:
    with pytest.raises(StoreError, match="is in the home; choose an empty place elsewhere"):
        back_up(Home.of(original), str(original.home / inner), 0)
    assert not (original.home / "inner").exists()


def test_a_backup_needs_a_place(original: Settings) -> None:
    with pytest.raises(SettingsError, match="the place of a backup has no name"):
        back_up(Home.of(original), "", 0)
    assert list(Path().iterdir()) == []


def test_a_home_is_no_backup_and_has_one_made(original: Settings, empty: Settings) -> None:
    said = f"there is no backup in {original.home}; `lightrag-dagster --home {original.home} backup PLACE` makes one"
    with pytest.raises(StoreError, match=re.escape(said)):
        restore(str(original.home), Home.of(empty), 0)


def test_a_backup_that_ends_early_says_that_the_copies_stay(original: Settings, tmp_path: Path) -> None:
    home = Home.of(original)
    (tmp_path / "backup" / "records").mkdir(parents=True)
    (tmp_path / "backup" / "records" / "FORMAT").write_text(f'{{"format": 1, "copying": "{home.name}"}}')
    (tmp_path / "backup" / "database").write_text("in the way")
    stays = f"; what was copied stays in {tmp_path}/backup, and the same command completes it"
    with pytest.raises(StoreError, match=rf"cannot write .*: File exists{re.escape(stays)}$"):
        back_up(home, str(tmp_path / "backup"), 0)
    assert list((tmp_path / "backup" / "tables").rglob("*.parquet"))
    (tmp_path / "backup" / "database").unlink()
    assert back_up(home, str(tmp_path / "backup"), 0).files


def test_a_backup_that_was_not_finished_is_continued(original: Settings, tmp_path: Path) -> None:
    home, other = Home.of(original), tmp_path / "other"
    (other / "records").mkdir(parents=True)
    (other / "records" / "FORMAT").write_text(f'{{"format": 1, "copying": "{home.name}"}}')
    (other / "tables").mkdir()
    (other / "tables" / "half.parquet").write_text("of a table that is gone")
    back_up(home, str(other), 0)
    assert not (other / "tables" / "half.parquet").exists()
    assert "copying" not in (other / "records" / "FORMAT").read_text()


def test_answers_alone_are_not_mixed_with_those_of_a_backup(backup: str, empty: Settings) -> None:
    Ledger(Home.of(empty).ledger).reserve("other", Account("run", "notes"), 1)
    with pytest.raises(StoreError, match=r"the database of .* is not empty; nothing was changed"):
        restore(backup, Home.of(empty), 0)


def test_a_database_that_another_home_has_signed_stays_its_own(
    backup: str, empty: Settings, tmp_path: Path, postgres: SecretStr
) -> None:
    with building(Home(tmp_path / "other", postgres), 0):
        pass
    home = Home.of(empty.changed(database=postgres))
    with pytest.raises(StoreError, match=r"is the database of the home \S+/other; give \S+/empty a database"):
        restore(backup, home, 0)
    assert not home.format.exists()


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (None, r"there is no backup in .*backup; name the place of one$"),
        (
            '{"format": 1, "copying": "/x"}',
            r"was not finished; run `lightrag-dagster --home /x backup .*/backup` again",
        ),
        ("{", r"records/FORMAT is damaged; use another backup$"),
        ('{"format": 9}', r"has format 9, and this package reads formats up to 1; upgrade"),
    ],
    ids=["none", "unfinished", "damaged", "newer"],
)
def test_what_is_no_whole_backup_of_a_known_format_touches_nothing(
    backup: str, empty: Settings, tmp_path: Path, record: str | None, message: str
) -> None:
    other = shutil.copytree(backup, tmp_path / "backup")
    (other / "records" / "FORMAT").unlink()
    if record is not None:
        (other / "records" / "FORMAT").write_text(record)
    with pytest.raises(StoreError, match=message):
        restore(str(other), Home.of(empty), 0)
    assert not Home.of(empty).root.exists()


@pytest.mark.long
@pytest.mark.parametrize("content", [None, pytest.param(b"damaged", marks=pytest.mark.long)])
def test_a_restore_from_a_damaged_backup_is_unfinished_and_continues_when_it_is_whole(
    original: Settings, backup: str, empty: Settings, tmp_path: Path, content: bytes | None
) -> None:
    other = shutil.copytree(backup, tmp_path / "backup")
    responses = other / "database" / "responses.parquet"
    whole = responses.read_bytes()
    responses.unlink() if content is None else responses.write_bytes(content)
    with pytest.raises(StoreError, match=r"responses\.parquet (is missing|is damaged)"):
        restore(str(other), Home.of(empty), 0)
    with pytest.raises(StoreError, match=r"was not finished; run `lightrag-dagster restore .*/backup` again"):
        build(empty)
    with pytest.raises(StoreError, match=r"empty has an unfinished copy of .*; nothing was changed"):
        restore(backup, Home.of(empty), 0)
    responses.write_bytes(whole)
    restore(str(other), Home.of(empty), 0)
    assert snapshot_contents(empty) == snapshot_contents(original)
    assert build(empty).published is None


@pytest.mark.parametrize("name", ["manifest.json", "files.json", "PUBLISHED"])
def test_a_damaged_record_is_copied_as_it_is(original: Settings, empty: Settings, tmp_path: Path, name: str) -> None:
    home, again, other = Home(tmp_path / "home"), Home.of(empty), str(tmp_path / "backup")
    shutil.copytree(original.home, home.root, symlinks=True)
    (later,) = {one.snapshot_id for one in list_snapshots(home)} - {published(original).snapshot_id}
    record = home.published if name == "PUBLISHED" else home.generation(later) / name
    record.write_text("{")

    held = published(original).snapshot_id if record != home.published else None
    for copied in (back_up(home, other, 0), restore(other, again, 0)):
        assert copied.snapshot_id == held
        assert [again.root / one for one in copied.damaged] == [again.root / record.relative_to(home.root)]
    assert (again.root / record.relative_to(home.root)).read_text() == "{"
    if held:
        assert find_damage(again, held, verify=True) == []


@pytest.mark.long
def test_nothing_is_built_meanwhile_but_a_source_may_be_ingested(original: Settings, tmp_path: Path) -> None:
    home = Home.of(original)
    with hold(home) as holder:
        with pytest.raises(BuilderLockedError, match="is building"):
            back_up(home, str(tmp_path / "backup"), 0)
        holder.communicate("")
    with ingesting(home, "office", 0), using_batches(home, 0):
        assert back_up(home, str(tmp_path / "backup"), 0).snapshot_id == published(original).snapshot_id


def test_a_home_that_is_not_there_is_named_and_not_made(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"there is nothing in .*nowhere; set LIGHTRAG_HOME"):
        back_up(Home(tmp_path / "nowhere"), str(tmp_path / "backup"), 0)
    assert list(tmp_path.iterdir()) == []
