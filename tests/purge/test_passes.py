"""Nothing that passes read of a purged document is left, and what they read of others stays."""

import io
import shutil
from pathlib import Path

import pytest
from rich.console import Console

from lightrag_dagster import KnowledgeBase
from lightrag_dagster.cli.purge import run_purge
from lightrag_dagster.core.identity import document_id
from lightrag_dagster.errors import StoreError
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.purge.documents import find_gone, noted
from lightrag_dagster.purge.purge import purge, purging
from lightrag_dagster.settings import Settings
from lightrag_dagster.storage.database.responses import ResponseStore
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots.snapshots import list_snapshots
from lightrag_dagster.storage.tables.source_tables import SourceTables
from tests.loopback import Answer, Loopback
from tests.passes import EVENTS, WORKS, answer, facts_of, is_of_pass, model_settings, with_passes, write_schemas
from tests.support import FLOOD, RIVER, build, write_source
from tests.traces import places

SECRET = "Jonas Feld leads the office. Zephyrine keeps the quipu."
HIDDEN = "Jonas Feld closed Station 14. Ottoline keeps the xylophone."
WORDS = ("quipu", "xylophone", document_id("notes", "secret.md"))


@pytest.fixture
def reading(tmp_path: Path, loopback: Loopback) -> Settings:
    """Settings with two passes, of a home whose SECRET and HIDDEN documents are gone since the last run."""
    settings = model_settings(tmp_path, loopback, documents={"accept_deletes": True})
    made = with_passes(settings, tmp_path / "readings", works=WORKS, events=EVENTS)
    write_source(made, "notes", {"river.md": RIVER, "flood.md": FLOOD, "secret.md": SECRET})
    write_source(made, "hidden", {"all.txt": HIDDEN})
    build(made)
    write_source(made, "notes", {"river.md": RIVER, "flood.md": FLOOD})
    shutil.rmtree(made.sources / "hidden")
    return made


def purge_all(settings: Settings) -> None:
    situation = Situation.looking(settings)
    gone = find_gone(situation, ["notes/secret.md", "hidden"])
    with purging(situation.recipes, gone) as under_lock, noted(under_lock.home, gone):
        purge(under_lock, gone)


@pytest.mark.long
def test_readings_facts_and_responses_of_a_purged_document_are_gone_and_others_stay(
    reading: Settings, tmp_path: Path, loopback: Loopback
) -> None:
    build(reading)
    home, tables = Home.of(reading), SourceTables(Home.of(reading))
    kept = tables.read("facts@works", "notes")
    assert {*places(home, WORDS)} == {*WORDS}
    with ResponseStore(home.responses) as store:
        before = store.count()

    purge_all(reading)

    assert places(home, WORDS) == {}
    assert not [*(home.root / "tables").glob("*@*/hidden/*")]
    assert tables.read("facts@works", "notes") == kept
    with ResponseStore(home.responses) as store:
        assert before - store.count() >= 6  # two documents, each in three readings
    loopback.requests.clear()
    again = shutil.copytree(home.root, tmp_path / "again")
    shutil.rmtree(again / "tables")
    shutil.rmtree(again / "accepted")
    build(reading.changed(home=again))  # every answer about the others is still stored
    assert not [one for one in loopback.requests if "messages" in one.body]


@pytest.mark.long  # the one before has passes quickly, test_of_scopes.py has scopes
def test_a_purge_reaches_scopes_and_leaves_what_they_need(
    reading: Settings, tmp_path: Path, loopback: Loopback
) -> None:
    scoped = reading.changed(scopes={"some": {"sources": ("notes", "hidden")}, "river": {"paths": ("river*",)}})
    build(scoped)
    home = Home.of(scoped)
    purge_all(scoped)
    assert places(home, WORDS) == {}
    loopback.requests.clear()
    assert build(scoped).published is None
    for scope in ("some", "river"):
        with KnowledgeBase.open(scoped.home, scope=scope, settings=scoped) as knowledge:
            assert knowledge.sql("FROM merged_facts").num_rows
            assert len(list_snapshots(Home.of(scoped.within(scope)))) == 1
    assert not loopback.requests


@pytest.mark.long
def test_a_purge_waits_for_a_pass_whose_accepted_facts_are_of_documents_as_they_were(
    reading: Settings, loopback: Loopback
) -> None:
    loopback.chat = lambda body: Answer(facts_of(body, forged=["never said"] * 9)) if is_of_pass(body) else answer(body)
    write_source(reading, "notes", {"river.md": RIVER, "flood.md": FLOOD, "new.md": f"{RIVER} Mara Quill left."})
    build(reading)
    with pytest.raises(StoreError, match="what pass works read of notes may be of documents as they were; give"):
        purge_all(reading)
    build(reading.changed(extraction={"max_rejected_share": 0.95}))
    purge_all(reading.changed(extraction={"max_rejected_share": 0.95}))
    assert places(Home.of(reading), WORDS) == {}


@pytest.mark.long
def test_what_a_removed_pass_read_of_a_purged_document_goes_as_well(reading: Settings, tmp_path: Path) -> None:
    write_schemas(tmp_path / "readings", events=EVENTS)
    build(reading)
    purge_all(reading)
    assert places(Home.of(reading), WORDS) == {}
    assert not [*(Home.of(reading).root / "tables").glob("readings@works/*/*.parquet")]


@pytest.mark.long
def test_a_purge_without_a_name_tells_of_passes_that_still_have_what_was_edited_out(
    reading: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def said(settings: Settings) -> list[str]:
        monkeypatch.setattr("lightrag_dagster.cli.purge.load_settings", lambda: settings)
        run_purge(Console(file=(printed := io.StringIO()), width=200), [], yes=True)
        return [line for line in printed.getvalue().splitlines() if line.startswith("not reached: texts")]

    home, words = Home.of(reading), ["leads the office"]
    write_source(reading, "notes", {"river.md": RIVER, "flood.md": FLOOD, "secret.md": SECRET})
    write_source(reading, "hidden", {"all.txt": HIDDEN})
    build(reading)
    assert said(reading) == []
    write_source(reading, "notes", {"river.md": RIVER, "flood.md": FLOOD, "secret.md": SECRET.partition("office. ")[2]})
    offline = reading.changed(llm={"provider": "offline"})
    build(offline)
    assert said(offline) == [
        f"not reached: texts that later edits removed from notes, in what pass {name} has read of it; what it reads "
        "now is not accepted"
        for name in ("events", "works")
    ]
    assert {*places(home, words)} == {*words}
    build(reading)
    assert said(reading) == []
    assert places(home, words) == {}


@pytest.mark.long
def test_a_purge_that_waits_for_a_pass_says_what_it_may_lack(reading: Settings) -> None:
    offline = reading.changed(llm={"provider": "offline"})
    build(offline)
    step = (
        "give it a model, .* or remove its schema; run `lightrag-dagster run` until it accepts notes, then purge again"
    )
    with pytest.raises(StoreError, match=f"what pass works read of notes may be of documents as they were; {step}"):
        purge_all(offline)
    build(bare := offline.changed(readings=None))
    purge_all(bare)
    assert places(Home.of(reading), WORDS) == {}


@pytest.mark.long
def test_what_a_pass_that_was_never_accepted_read_goes_by_a_purge_and_not_before(
    reading: Settings, tmp_path: Path, loopback: Loopback
) -> None:
    loopback.chat = lambda body: Answer(facts_of(body, forged=["never said"] * 9)) if is_of_pass(body) else answer(body)
    other = WORKS.replace("Somebody", "Anyone")
    third = write_schemas(tmp_path / "third", works=WORKS, events=EVENTS, third=other)
    build(reading.changed(readings=third))
    third.joinpath("third.yaml").unlink()
    loopback.chat = answer
    build(reading)
    record = SourceTables(Home.of(reading))
    assert record.current("readings@third", "notes") is not None
    gone = find_gone(Situation.looking(reading), ["notes/secret.md", "hidden"])
    with purging(Situation.looking(reading).recipes, gone):
        pass
    assert record.current("readings@third", "notes") is not None
    with purging(Situation.looking(reading).recipes, {}) as situation:
        purge(situation, {})
    assert not [*Home.of(reading).root.glob("tables/*@third/notes/*")]
