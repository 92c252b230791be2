"""Sources that are gone are withheld until that is accepted, whatever else is lost."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from lightrag_dagster.errors import SourceError, StoreError
from lightrag_dagster.pipeline import inputs, merge
from lightrag_dagster.pipeline.ingest import source_to_read
from lightrag_dagster.pipeline.pending import pending
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.plan.plan import make_plan
from lightrag_dagster.settings import RetentionSettings, Settings, load_settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locking import ingesting
from lightrag_dagster.storage.manifests import GenerationInputs
from lightrag_dagster.storage.snapshots.gc import collect_garbage
from lightrag_dagster.storage.snapshots.generations import Generation
from lightrag_dagster.storage.snapshots.repair import find_published_damage
from lightrag_dagster.storage.tables.acceptance import accepted
from lightrag_dagster.storage.tables.source_tables import SourceTables
from lightrag_dagster.testing.building import ingest, publish
from tests.support import FLOOD, OFFICE, RIVER, build, first_build, published, run, write_source


@pytest.fixture
def tickets_gone(settings: Settings) -> Settings:
    """Settings of two published sources, of which one is gone."""
    for source in ("notes", "tickets"):
        write_source(settings, source, {"river.md": f"{RIVER} It is in {source}."})
    first_build(settings)
    (settings.sources / "tickets").rename(settings.sources.parent / "away")
    return settings


def test_a_source_that_is_gone_is_withheld_until_that_is_accepted(tickets_gone: Settings) -> None:
    first = published(tickets_gone)
    reason = "source 'tickets' is gone, with its 1 document. The last accepted version stays published. If this is "
    assert pending(Situation.looking(tickets_gone)).rejected["tickets"].startswith(reason)
    (plan,) = [one for one in make_plan(tickets_gone).sources if one.source == "tickets"]
    assert str(plan.problem).startswith(reason)
    withheld = build(tickets_gone)
    assert (list(withheld.rejected), withheld.published, withheld.states.warnings) == (["tickets"], None, [])

    # Other sources are published with it, as it was.
    write_source(tickets_gone, "notes", {"river.md": f"{RIVER} It is in notes, and Priya Nair lives in Oslo."})
    assert list(build(tickets_gone).rejected) == ["tickets"]
    now = published(tickets_gone)
    assert now.snapshot_id != first.snapshot_id
    assert now.inputs.sources["tickets"] == first.inputs.sources["tickets"]

    build(tickets_gone.changed(documents={"accept_deletes": True}))
    assert list(published(tickets_gone).inputs.sources) == ["notes"]
    assert pending(Situation.looking(tickets_gone)).rejected == {}


def test_a_source_of_which_nothing_was_accepted_yet_makes_no_snapshot(settings: Settings) -> None:
    write_source(settings, "notes", {"river.md": RIVER})
    first_build(settings)
    first = published(settings)
    write_source(settings, "letters", {"office.pdf": "%PDF-1.7, and no more"})
    assert list(build(settings).rejected) == ["letters"]
    assert published(settings) == first


@pytest.mark.long
def test_only_a_source_that_is_listed_is_removed(tickets_gone: Settings) -> None:
    other = tickets_gone.changed(documents={"accept_deletes": ["notes"]})
    assert list(build(other).rejected) == ["tickets"]
    build(tickets_gone.changed(documents={"accept_deletes": ["tickets"]}))
    assert list(published(tickets_gone).inputs.sources) == ["notes"]


def test_a_partition_whose_source_is_gone_says_so(tickets_gone: Settings) -> None:
    with pytest.raises(SourceError, match="'tickets' is gone, with its 1 document"):
        source_to_read(tickets_gone, "tickets")
    with pytest.raises(SourceError, match="no such source: letters"):
        source_to_read(tickets_gone, "letters")


@pytest.mark.long  # the others name it too
def test_a_source_that_is_gone_can_be_named(tickets_gone: Settings) -> None:
    withheld = run(tickets_gone, "tickets")
    assert (list(withheld.rejected), withheld.published) == (["tickets"], None)
    assert run(tickets_gone, "notes").rejected == {}
    (plan,) = make_plan(tickets_gone, ["tickets"], backfill=True).sources
    assert str(plan.problem).startswith("source 'tickets' is gone")
    assert [one.source for one in make_plan(tickets_gone, ["notes"]).sources] == ["notes"]
    removed = run(tickets_gone.changed(documents={"accept_deletes": ["tickets"]}), "tickets")
    assert (removed.rejected, list(published(tickets_gone).inputs.sources)) == ({}, ["notes"])
    with pytest.raises(SourceError, match="no such source: tickets"):
        run(tickets_gone, "tickets")


@pytest.mark.long
def test_the_last_source_that_is_gone_is_withheld_and_removed_like_any_other(settings: Settings) -> None:
    folder = write_source(settings, "notes", {"river.md": RIVER})
    first_build(settings)
    shutil.rmtree(folder)
    assert list(run(settings).rejected) == ["notes"]
    (plan,) = make_plan(settings).sources
    assert str(plan.problem).startswith("source 'notes' is gone")
    run(settings.changed(documents={"accept_deletes": True}))
    assert published(settings).rows["raw_documents"] == 0
    with pytest.raises(SourceError, match="holds no source"):
        run(settings)


@pytest.mark.long
def test_a_source_that_is_there_is_meant_before_one_that_is_gone(settings: Settings) -> None:
    composed, apart = "caf\u00e9", "cafe\u0301"
    write_source(settings, composed, {"river.md": RIVER})
    build(settings)
    (settings.sources / composed).rename(settings.sources / apart)
    assert list(run(settings, apart).ingested) == [apart]
    assert run(settings.changed(documents={"accept_deletes": [apart]}), apart).rejected == {}
    assert list(published(settings).inputs.sources) == [apart]


@pytest.mark.long
def test_a_run_that_lets_a_source_go_can_be_repeated(tickets_gone: Settings) -> None:
    Home.of(tickets_gone).accepted("tickets").unlink()  # killed after that, before the publication
    accepting = tickets_gone.changed(documents={"accept_deletes": ["tickets"]})
    assert run(accepting, "tickets").rejected == {}
    assert list(published(tickets_gone).inputs.sources) == ["notes"]


def damage(settings: Settings) -> None:
    """Remove a merged table of the published snapshot, which the next `run` repairs."""
    Generation(Home.of(settings), published(settings).snapshot_id).path("entities.parquet").unlink()


@pytest.mark.long
def test_a_source_that_is_gone_is_withheld_although_its_only_snapshot_is_repaired(tickets_gone: Settings) -> None:
    damage(tickets_gone)
    outcome = run(tickets_gone)
    assert (len(outcome.damaged), list(outcome.rejected)) == (1, ["tickets"])
    assert list(published(tickets_gone).inputs.sources) == ["notes", "tickets"]


@pytest.mark.long
def test_a_source_that_is_gone_is_withheld_although_the_record_of_its_documents_is_lost(tickets_gone: Settings) -> None:
    (Home.of(tickets_gone).source_table("raw_documents", "tickets") / "current.json").unlink()
    write_source(tickets_gone, "notes", {"river.md": f"{RIVER} Priya Nair lives in Oslo."})
    assert "'tickets' is gone, with its 1 document. " in run(tickets_gone).rejected["tickets"]
    assert list(published(tickets_gone).inputs.sources) == ["notes", "tickets"]


@pytest.mark.long
def test_a_table_of_a_source_that_is_gone_cannot_be_made_again(
    tickets_gone: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    run(tickets_gone)  # which builds its graph
    home, first = Home.of(tickets_gone), published(tickets_gone)
    (path,) = SourceTables(home).paths("chunks", "tickets", first.inputs.sources["tickets"]["chunks"])
    path.unlink()
    outcome = run(tickets_gone)
    assert (outcome.damaged, list(outcome.rejected), published(tickets_gone)) == ([], ["tickets"], first)
    said = "and the snapshot stays as it is, since no run makes this again: source tickets is gone; bring it back, or "
    assert f"{path} is missing, {said}put the file back from a backup" in caplog.text
    write_source(tickets_gone, "notes", {"river.md": f"{RIVER} Priya Nair lives in Oslo."})
    with pytest.raises(StoreError, match="the table chunks of tickets has lost a file, and its source is gone; bring"):
        run(tickets_gone)
    assert published(tickets_gone) == first
    run(tickets_gone.changed(documents={"accept_deletes": ["tickets"]}), "tickets")
    assert list(published(tickets_gone).inputs.sources) == ["notes"]


@pytest.mark.long
def test_a_source_that_was_removed_stays_gone_whatever_is_repaired(tickets_gone: Settings) -> None:
    build(tickets_gone.changed(documents={"accept_deletes": True}))
    damage(tickets_gone)
    outcome = run(tickets_gone)
    assert (len(outcome.damaged), outcome.rejected) == (1, {})
    assert list(published(tickets_gone).inputs.sources) == ["notes"]


@pytest.mark.long
def test_a_source_that_was_removed_and_comes_back_with_less_has_no_more_than_that(tickets_gone: Settings) -> None:
    away = tickets_gone.sources.parent / "away"
    (tickets_gone.sources / "tickets").mkdir()
    away.joinpath("river.md").rename(tickets_gone.sources / "tickets" / "river.md")
    write_source(tickets_gone, "tickets", {"flood.md": FLOOD})
    build(tickets_gone)
    shutil.rmtree(tickets_gone.sources / "tickets")
    build(tickets_gone.changed(documents={"accept_deletes": True}))
    write_source(tickets_gone, "tickets", {"flood.md": FLOOD})
    assert run(tickets_gone).rejected == {}
    rows = SourceTables(Home.of(tickets_gone)).read("raw_documents", "tickets")
    assert rows["path"].to_pylist() == ["flood.md"]
    assert published(tickets_gone).rows["raw_documents"] == 2


@pytest.mark.long
def test_a_source_that_was_removed_is_named_until_it_comes_back(tickets_gone: Settings) -> None:
    accepting = tickets_gone.changed(documents={"accept_deletes": True})
    assert pending(Situation.looking(accepting)).warnings == [
        "tickets is no longer a source: its 1 document leaves with the next run"
    ]
    gone = "tickets is no longer a source: its 1 document is no longer in the knowledge base"
    assert build(accepting).states.warnings == [gone]
    (tickets_gone.sources.parent / "away").rename(tickets_gone.sources / "tickets")
    assert pending(Situation.looking(tickets_gone)).warnings == []


@pytest.mark.parametrize("ingested", [False, True])
def test_a_merge_leaves_what_another_process_reads_or_accepts_meanwhile(
    tickets_gone: Settings, monkeypatch: pytest.MonkeyPatch, *, ingested: bool
) -> None:
    write_source(tickets_gone, "fresh", {"flood.md": FLOOD})
    home, recipes, next_inputs = Home.of(tickets_gone), Recipes.of(tickets_gone), inputs.next_inputs
    fresh = Situation.looking(tickets_gone).sources["fresh"]

    def slowly(situation: Situation, *, backfill: bool) -> GenerationInputs:
        found = next_inputs(situation, backfill=backfill)
        with ThreadPoolExecutor() as another:
            assert another.submit(ingest, fresh, SourceTables(home), recipes).result().accepted
        return found

    accepting = Recipes.of(tickets_gone.changed(documents={"accept_deletes": True}))
    with monkeypatch.context() as meanwhile, ExitStack() as locks:
        meanwhile.setattr(merge, "next_inputs", slowly)
        if ingested:
            holding = locks.enter_context(ThreadPoolExecutor(1))
            lock = ingesting(home, "tickets")
            holding.submit(lock.__enter__).result()
        publish(accepting)
        if ingested:
            holding.submit(lock.__exit__, None, None, None).result()
    assert accepted(home, "fresh")
    assert SourceTables(home).current("chunks", "fresh")
    assert bool(accepted(home, "tickets")) == ingested
    build(accepting.settings)
    assert list(published(tickets_gone).inputs.sources) == ["fresh", "notes"]


@pytest.mark.long
def test_a_lost_file_of_a_version_that_no_run_makes_again_leaves_the_snapshot(
    tickets_gone: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    settings, home = tickets_gone.changed(documents={"accept_deletes": True}), Home.of(tickets_gone)
    build(settings)
    first = published(settings)
    unreadable: dict[str, str | bytes] = {f"{number}.md": b"\x00\x01\xff" for number in range(5)}
    write_source(settings, "notes", {"new.md": FLOOD, **unreadable})
    assert "notes" in run(settings).rejected
    (path,) = SourceTables(home).paths("chunks", "notes", first.inputs.sources["notes"]["chunks"])
    path.unlink()
    assert run(settings).damaged == []
    assert f"{path} is missing, and the snapshot stays as it is, since no run makes this again: " in caplog.text
    write_source(settings, "office", {"office.md": OFFICE})
    with pytest.raises(StoreError, match="the table chunks of notes has lost a file, and what was read"):
        run(settings)
    assert published(settings) == first

    write_source(settings, "notes", {"new.md": FLOOD})
    run(settings)
    assert list(published(settings).inputs.sources) == ["notes", "office"]
    assert find_published_damage(home) == []


@pytest.mark.long
def test_the_facts_in_columns_of_a_source_that_left_the_settings_stay_with_its_documents(settings: Settings) -> None:
    write_source(settings, "notes", {"river.md": RIVER})
    (settings.sources.parent / "staff.csv").write_text("id,text,city\n1,Ida,Rome\n")
    stated = [{"subject": "text", "relation": "lives in", "object": "city"}]
    of_rows = {"uri": str(settings.sources.parent / "staff.csv"), "rows": {"facts": stated}}
    places = {"home": settings.home, "sources": settings.sources}
    build(load_settings(**places, named_sources={"staff": of_rows}))
    versions = published(settings).inputs.sources["staff"]
    assert "facts@columns" in versions

    write_source(settings, "notes", {"river.md": f"{RIVER} It rained."})
    assert list(build(load_settings(**places)).rejected) == ["staff"]
    assert published(settings).inputs.sources["staff"] == versions
    assert SourceTables(Home.of(settings)).current("facts@columns", "staff") is not None

    # Back, with an entry that states nothing in columns, it leaves them out; gone again, they do not come back.
    build(load_settings(**places, named_sources={"staff": of_rows | {"rows": {}}}))
    assert "facts@columns" not in published(settings).inputs.sources["staff"]


def test_nothing_is_kept_of_the_listing_of_a_source_that_was_removed(tickets_gone: Settings) -> None:
    home = Home.of(tickets_gone)
    assert [*home.source_table("stamps", "tickets").glob("*.parquet")]
    build(tickets_gone.changed(documents={"accept_deletes": True}))
    assert not [*home.root.glob("tables/*/tickets/*.json")]
    collect_garbage(home, RetentionSettings(snapshots=1, grace_days=0), dry_run=False)
    assert not [*home.root.glob("tables/*/tickets/*.parquet")]
