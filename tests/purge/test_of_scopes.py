"""A purge reaches the homes of scopes."""

from pathlib import Path

import pytest

from lightrag_dagster.errors import StoreError
from lightrag_dagster.pipeline.backup import back_up, restore
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.scope_tables import fill
from lightrag_dagster.pipeline.scopes import pending_scopes
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.purge.purge import purge, purging
from lightrag_dagster.settings import Settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locking import building
from lightrag_dagster.storage.snapshots.readers import mark_read
from lightrag_dagster.storage.snapshots.snapshots import rollback
from tests.cli.test_cli import command
from tests.support import FLOOD, OFFICE, RIVER, build, published, write_source
from tests.traces import places

SECRET = "Zephyrine Quollmark leads the xylomancy bureau in Bergen."
WORDS = ("xylomancy", "quollmark", "secret.md")
GONE = {"notes": {"secret.md"}}


@pytest.fixture
def scoped(settings: Settings) -> Settings:
    """Settings of a home whose scopes each show a document that is there no more; one of them published it."""
    rules = {"notes": {"sources": ("notes",)}, "secret": {"paths": ("secret.md",)}}
    found = settings.changed(documents={"accept_deletes": True}, scopes={"notes": rules["notes"]})
    write_source(found, "notes", {"river.md": RIVER, "flood.md": FLOOD, "secret.md": SECRET})
    build(found)
    found = found.changed(scopes=rules)
    fill(found.within("secret"), Home.of(found), published(found).inputs.sources)  # as a run that is killed then
    (found.sources / "notes" / "secret.md").unlink()
    build(found)
    return found


@pytest.mark.long
def test_nothing_is_left_in_any_scope(scoped: Settings) -> None:
    home = Home.of(scoped)
    assert places(home, WORDS).keys() == set(WORDS)
    with purging(Recipes.of(scoped), GONE) as situation:
        purge(situation, GONE)
    assert places(home, WORDS) == {}
    assert pending_scopes(Situation.looking(scoped)) == {}


@pytest.mark.long  # the others purge a home that was built in its place
def test_nothing_is_left_in_a_home_that_was_restored(scoped: Settings, tmp_path: Path) -> None:
    back_up(Home.of(scoped), str(tmp_path / "backup"))
    restored = scoped.changed(home=tmp_path / "restored")
    restore(str(tmp_path / "backup"), Home.of(restored))
    with pytest.raises(StoreError, match="is not up to date"), purging(Recipes.of(restored), GONE):
        pass
    build(restored)
    with purging(Recipes.of(restored), GONE) as situation:
        purge(situation, GONE)
    assert places(Home.of(restored), WORDS) == {}
    assert published(restored.within("notes")).rows["raw_documents"] == 2


@pytest.mark.long
def test_a_scope_that_is_held_is_refused(
    scoped: Settings, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home.of(scoped.within("notes"))
    first = min(home.generations.glob("gen-*"), key=lambda one: one.stat().st_mtime).name
    with building(home, 0) as lock:
        rollback(home, first, lock)
    with (
        pytest.raises(StoreError, match=f"run `--home {home.name} release` first"),
        purging(Recipes.of(scoped), GONE),
    ):
        pass
    assert command(capfd, monkeypatch, "--home", home.name, "release")[0] == 0
    with purging(Recipes.of(scoped), GONE):
        pass


@pytest.mark.long
@pytest.mark.parametrize("scope", [None, "notes"])
def test_a_snapshot_that_goes_is_open_in_no_process(scoped: Settings, scope: str | None) -> None:
    home, old = Home.of(scoped.within(scope)), published(scoped.within(scope)).snapshot_id
    told = rf"{old}/generation\.json is open in a process, .*; end the process \(`fuser` names it\)"
    reader = mark_read(home, old)
    write_source(scoped, "notes", {"river.md": RIVER, "office.txt": OFFICE})
    build(scoped)
    newest = mark_read(home, published(scoped.within(scope)).snapshot_id)
    assert newest, "which stays, and so may be open"
    assert reader
    with pytest.raises(StoreError, match=told), purging(Recipes.of(scoped), GONE):
        pass
    reader.close()
    with purging(Recipes.of(scoped), GONE) as situation:
        reader = mark_read(home, old)  # opened meanwhile
        assert reader
        with pytest.raises(StoreError, match=told):
            purge(situation, GONE)
        reader.close()
        purge(situation, GONE)
    assert places(Home.of(scoped), WORDS) == {}


@pytest.mark.long
def test_a_scope_that_cannot_be_made_is_named(settings: Settings) -> None:
    write_source(settings, "notes", {"river.md": RIVER})
    scoped = settings.changed(scopes={"notes": {"sources": ("notes",)}})
    build(scoped)
    scopes = Home.of(scoped.within("notes")).root
    (scopes / "FORMAT").write_text("nonsense")
    build(scoped)
    because = "scope notes is not up to date: .*FORMAT.*; run `lightrag-dagster run` first, mend it, or take it out"
    with pytest.raises(StoreError, match=because), purging(Recipes.of(scoped), {}):
        pass
