"""Ingestion: what is kept, what is asked about, what a backfill replaces and when; nothing is ingested twice."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from obstore.store import MemoryStore

from lightrag_dagster.core.objects import Objects
from lightrag_dagster.errors import BuilderLockedError, ProviderAccessError
from lightrag_dagster.pipeline import recipes as recipe_module
from lightrag_dagster.pipeline import shards as steps
from lightrag_dagster.pipeline.documents import read_source
from lightrag_dagster.pipeline.extractions import cost_of
from lightrag_dagster.pipeline.pending import Pending, pending, why_ingest
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.shards import report
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.schemas import EXTRACTIONS, SOURCE_TABLES
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.stages.documents.sources import chosen_sources, find_source
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locking import ingesting
from lightrag_dagster.storage.tables.acceptance import Acceptance, accepted
from lightrag_dagster.storage.tables.source_tables import SourceTables
from lightrag_dagster.testing import building
from tests.loopback import Loopback, Reply
from tests.models.models import offline_answer, role_of
from tests.readers.office.workbooks import too_large
from tests.storage import corpus
from tests.support import FLOOD, OFFICE, RIVER, write_source

Make = Callable[..., Settings]


@pytest.fixture
def make(tmp_path: Path, loopback: Loopback) -> Make:
    """Return settings of one home, asking the loopback server once a chunk, with what a test changes."""
    loopback.chat = offline_answer
    (tmp_path / "sources").mkdir()
    (tmp_path / "edited").mkdir()
    (tmp_path / "edited" / "entity_types.md").write_text("Types: person, organization, place, thing.")

    def settings(home: str = "home", *, edited: bool = False, size: int = 1200, **changes: object) -> Settings:
        llm = {"provider": "openai", "model": "gpt-4o-mini", "max_concurrency": 1, "max_retries": 0}
        return load_settings(
            home=tmp_path / home,
            sources=tmp_path / "sources",
            prompts=tmp_path / "edited" if edited else None,
            chunking={"size": size, "overlap": 4},
            extraction={"gleaning": 0},
            **({"llm": llm, "documents": {"accept_deletes": True}} | changes),
        )

    write_source(settings(), "notes", {"river.md": RIVER, "flood.txt": FLOOD})
    write_source(settings(), "office", {"office.txt": OFFICE})
    return settings


def ingest(settings: Settings, *names: str, backfill: bool = False) -> list[str]:
    """Ingest each source of which something is pending; return these."""
    recipes = Recipes.of(settings)
    tables = SourceTables(Home(settings.home), candidate=backfill)
    pending_sources = [one for one in chosen_sources(settings, names) if why_ingest(one, tables, recipes)]
    for source in pending_sources:
        ingest_all(settings, source.name, backfill=backfill)
    return [source.name for source in pending_sources]


def ingest_all(settings: Settings, name: str, *, backfill: bool = False) -> Acceptance:
    """Make every table of a source."""
    tables = SourceTables(Home(settings.home), candidate=backfill)
    return building.ingest(find_source(settings, name), tables, Recipes.of(settings))


def asked(server: Loopback) -> int:
    """Return how many chunks were asked about since the last time."""
    count = sum(role_of(one.body) == "extract" for one in server.requests if "messages" in one.body)
    server.requests.clear()
    return count


def outdated(states: Pending) -> dict[str, dict[str, int]]:
    return {name: dict(state.outdated) for name, state in states.sources.items()}


def contents(settings: Settings) -> dict[str, str]:
    """Return a hash of the rows of every table of every source."""
    tables = SourceTables(Home(settings.home))
    sources = [source.name for source in chosen_sources(settings, [])]
    return {f"{source}/{table}": tables.require(table, source).version for source in sources for table in SOURCE_TABLES}


@pytest.mark.long
def test_an_edited_prompt_waits_for_a_backfill(make: Make, loopback: Loopback) -> None:
    ingest(make())
    assert asked(loopback) == 3
    first, edited = contents(make()), make(edited=True)
    assert outdated(pending(Situation.looking(make()))) == {"notes": {}, "office": {}}
    assert outdated(pending(Situation.looking(edited))) == {"notes": {"extractions": 2}, "office": {"extractions": 1}}

    assert ingest(edited) == []
    assert asked(loopback) == 0

    # New text alone is asked about; what was renamed, or did not change, keeps its rows.
    write_source(edited, "notes", {"river.md": RIVER, "renamed.txt": FLOOD, "new.txt": "Ulla Berg visited Kessing."})
    assert ingest(edited) == ["notes"]
    assert asked(loopback) == 1
    assert outdated(pending(Situation.looking(edited)))["notes"] == {"extractions": 2}
    tables = SourceTables(Home(edited.home))
    recipes = set(tables.read("extractions", "notes")["recipe"].to_pylist())
    assert recipes == {Recipes.of(make()).extractions, Recipes.of(edited).extractions}

    assert ingest(edited, "notes", backfill=True) == ["notes"]
    assert asked(loopback) == 2
    assert outdated(pending(Situation.looking(edited))) == {"notes": {}, "office": {"extractions": 1}}
    assert ingest(edited, backfill=True) == ["office"]
    assert asked(loopback) == 1
    clean = make("clean", edited=True)
    ingest(clean)
    assert contents(edited) == contents(clean)

    # The old prompt with the old files costs nothing, and yields what there was.
    write_source(edited, "notes", {"river.md": RIVER, "flood.txt": FLOOD})
    loopback.requests.clear()
    ingest(make(), backfill=True)
    assert asked(loopback) == 0
    changed = {name for name, version in contents(make()).items() if version != first[name]}
    assert changed <= {"notes/raw_documents"}  # it holds when files were modified


@pytest.mark.long
def test_another_chunk_size_leaves_unchanged_text_alone(make: Make, loopback: Loopback) -> None:
    ingest(make())
    small = make(size=24)
    assert outdated(pending(Situation.looking(small)))["notes"] == {"chunks": 2}
    assert ingest(small) == []
    asked(loopback)

    write_source(small, "notes", {"river.md": f"{RIVER} Ulla Berg was there.", "flood.txt": FLOOD})
    ingest(small)

    rows = SourceTables(Home(small.home)).read("chunks", "notes", columns=["path"])["path"].to_pylist()
    assert rows.count("flood.txt") == 1
    assert asked(loopback) == rows.count("river.md") > 1
    ingest(small, backfill=True)
    assert asked(loopback) > 1
    clean = make("clean", size=24)
    ingest(clean)
    assert contents(small) == contents(clean)


def test_unchanged_text_keeps_its_chunks_when_older_documents_are_gone(make: Make, loopback: Loopback) -> None:
    ingest(make())
    tables = SourceTables(Home(make().home))
    before = tables.require("raw_documents", "notes").version
    small = make(size=24)
    write_source(small, "notes", {"river.md": RIVER, "flood.txt": FLOOD, "more.txt": "Ulla Berg visited Kessing."})
    read_source(chosen_sources(small, ["notes"])[0], tables, Recipes.of(small))
    tables.paths("raw_documents", "notes", before)[0].unlink()
    asked(loopback)

    ingest(small)

    assert asked(loopback) == 1
    assert tables.require("chunks", "notes").outdated(Recipes.of(small).chunks) == 2


@pytest.mark.long
def test_parsing_again_costs_no_call(make: Make, loopback: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    ingest(make())
    before = contents(make())
    loopback.requests.clear()
    monkeypatch.setitem(recipe_module._REVISIONS, "mentions", 1000)

    assert ingest(make()) == ["notes", "office"]

    assert loopback.requests == []
    assert contents(make()) == before


def test_an_interrupted_backfill_is_resumed_and_replaces_nothing_meanwhile(make: Make, loopback: Loopback) -> None:
    ingest(make())
    edited, home = make(edited=True), Home(make().home)
    before, rows = accepted(home, "notes"), contents(edited)
    loopback.requests.clear()
    loopback.fault = lambda received: Reply.error(401) if len(loopback.requests) > 1 else None
    with pytest.raises(ProviderAccessError):
        ingest(edited, "notes", backfill=True)
    loopback.fault = lambda received: None
    refused = str(loopback.requests.pop().body)
    assert (accepted(home, "notes"), contents(edited)) == (before, rows)
    state = pending(Situation.looking(edited)).sources["notes"]
    assert str(state.backfill).startswith("no process works at it, which was stopped")
    assert not state.backfill_runs
    assert str(state.unfinished_backfill).startswith("A backfill of notes is not finished: no process works at it")
    with ThreadPoolExecutor(1) as elsewhere, ingesting(home, "notes", 0):
        state = elsewhere.submit(lambda: pending(Situation.looking(edited))).result().sources["notes"]
    assert (state.backfill_runs, state.unfinished_backfill) == (True, "A backfill of notes runs now.")

    # A night in between works on the accepted rows.
    write_source(edited, "notes", {"river.md": RIVER, "flood.txt": FLOOD, "new.txt": "Ulla Berg visited Kessing."})
    assert ingest(edited) == ["notes"]
    assert accepted(home, "notes") != before
    assert outdated(pending(Situation.looking(edited)))["notes"] == {"extractions": 2}

    assert ingest(edited, "notes", backfill=True) == ["notes"]

    bodies = [str(one.body) for one in loopback.requests]
    assert refused in bodies
    assert len(set(bodies)) == len(bodies) == 3
    state = pending(Situation.looking(edited)).sources["notes"]
    assert (state.outdated, state.backfill, state.rejected) == ({}, None, None)


@pytest.mark.long
def test_a_backfill_that_fails_too_much_replaces_nothing(make: Make, loopback: Loopback) -> None:
    ingest(make())
    edited, home = make(edited=True), Home(make().home)
    before, rows = accepted(home, "notes"), contents(edited)
    loopback.fault = lambda received: Reply.error(429)

    acceptance = ingest_all(edited, "notes", backfill=True)

    assert not acceptance.accepted
    assert (accepted(home, "notes"), contents(edited)) == (before, rows)
    state = pending(Situation.looking(edited)).sources["notes"]
    assert (state.rejected, state.ingest) == (None, None)
    assert "2 of 2 chunks of source 'notes' failed (100.0%)" in str(state.backfill)


@pytest.mark.long
def test_new_modification_times_change_nothing(make: Make) -> None:
    ingest(make())
    before = contents(make())
    for path in make().sources.rglob("*.*"):
        os.utime(path, (1_000_000_000, 1_000_000_000))
    assert ingest(make()) == ["notes", "office"]
    assert contents(make()) == before
    assert ingest(make()) == []


def test_types_that_cannot_be_read_are_skipped(make: Make) -> None:
    files: dict[str, str | bytes] = {f"{number}.bin": bytes(range(256)) for number in range(9)}
    write_source(make(), "notes", {"river.md": RIVER} | files)
    assert ingest_all(make(), "notes").accepted
    assert pending(Situation.looking(make())).sources["notes"].documents == {"processed": 1, "skipped": 9}


def test_reasons_name_the_documents(make: Make, loopback: Loopback) -> None:
    write_source(make(), "notes", {"river.md": RIVER, "b.txt": b"\xff\xfe\x00\xd8", "c.txt": b"\xc3\x28"})
    acceptance = ingest_all(make(), "notes")
    assert acceptance.reason is not None
    assert acceptance.reason.startswith("2 of 3 documents of source 'notes' failed (66.7%), more than the 20.0%")
    assert "; b.txt: " in acceptance.reason
    assert "; c.txt: not valid UTF-8" in acceptance.reason

    loopback.fault = lambda received: Reply.error(429)
    reason = ingest_all(make(), "office").reason
    assert reason is not None
    assert "1 of 1 chunks of source 'office' failed (100.0%)" in reason
    assert "; office.txt: " in reason


INGEST = """
from lightrag_dagster.models.providers import open_chat_model
from lightrag_dagster.pipeline.chunks import chunk_source
from lightrag_dagster.pipeline.documents import read_source
from lightrag_dagster.pipeline.extractions import extract_source
from lightrag_dagster.pipeline.mentions import parse_and_accept
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.settings import load_settings
from lightrag_dagster.stages.documents.sources import chosen_sources, find_source
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables.source_tables import SourceTables

settings = load_settings()
home, recipes = Home.of(settings), Recipes.of(settings)
tables = SourceTables(home)
read_source(chosen_sources(settings, ["notes"])[0], tables, recipes)
chunk_source("notes", tables, recipes)
extract_source("notes", tables, recipes, lambda: open_chat_model(settings.llm, home, "extract"))
assert parse_and_accept("notes", tables, recipes)[1].accepted
"""
"""What `ingest_all` does, without what this module imports."""


@pytest.mark.long  # the next test shows that one waits for the other
def test_two_processes_do_not_ask_twice(make: Make, loopback: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "HOME": make().home,
        "SOURCES": make().sources,
        "LLM__PROVIDER": "openai",
        "LLM__MODEL": "gpt-4o-mini",
        "EXTRACTION__GLEANING": 0,
    }.items():
        monkeypatch.setenv(f"LIGHTRAG_{name}", str(value))
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen([sys.executable, "-c", INGEST], env=environment) as other:
        while not loopback.requests and other.poll() is None:
            time.sleep(0.02)
        assert ingest_all(load_settings(), "notes").accepted
    assert other.returncode == 0
    bodies = [str(one.body) for one in loopback.requests if "messages" in one.body]
    assert len(set(bodies)) == len(bodies) == 2


def test_a_step_waits_for_another_ingestion_of_the_source(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "STEP_SECONDS", 0.1)
    settings, release, held = make(), threading.Event(), threading.Event()

    def hold() -> None:
        with ingesting(Home(settings.home), "notes", 1):
            held.set()
            release.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        assert held.wait(60)
        ingest_all(settings, "office")
        with pytest.raises(BuilderLockedError, match=rf"process {os.getpid()} on .* is ingesting source 'notes'"):
            ingest_all(settings, "notes")
    finally:
        release.set()
        thread.join()
    assert ingest_all(settings, "notes").accepted


@pytest.mark.long
def test_a_document_is_switched_off_and_on_again_for_nothing(make: Make, loopback: Loopback) -> None:
    settings = make(documents={})  # and it counts as no deletion
    ingest(settings)
    first, tables = contents(settings), SourceTables(Home(settings.home))
    asked(loopback)

    write_source(settings, "notes", {"river.md": f"---\ndraft: true\n---\n{RIVER}", "flood.txt": FLOOD})
    assert ingest(settings) == ["notes"]
    rows = {row["path"]: row for row in tables.read("raw_documents", "notes").to_pylist()}
    assert (rows["river.md"]["status"], rows["flood.txt"]["status"]) == ("disabled", "processed")
    assert set(tables.read("chunks", "notes")["path"].to_pylist()) == {"flood.txt"}

    # Front matter alone changes no text, so nothing is asked.
    write_source(
        settings, "notes", {"river.md": f"---\ndraft: false\ntags: [rivers]\n---\n{RIVER}", "flood.txt": FLOOD}
    )
    assert ingest(settings) == ["notes"]
    assert asked(loopback) == 0
    assert {name: version for name, version in contents(settings).items() if first[name] != version}.keys() == {
        "notes/raw_documents"
    }


@pytest.mark.long
def test_hostile_files_cost_only_themselves(make: Make) -> None:
    samples = Path(__file__).parents[1] / "readers/samples"
    names = ("damaged/truncated.docx", "damaged/encrypted.pdf", "fpdf2.pdf", "plain.eml")
    files = {Path(name).name: (samples / name).read_bytes() for name in names} | {"too-large.xlsx": too_large()}
    write_source(make(), "notes", files)
    acceptance = ingest_all(
        make(documents={"max_failed_share": 0.6, "accept_deletes": True, "max_memory_mb": 512}), "notes"
    )
    assert acceptance.accepted
    tables = SourceTables(Home(make().home))
    rows = {row["path"]: row for row in tables.read("raw_documents", "notes").to_pylist()}
    assert {path for path, row in rows.items() if row["status"] == "failed"} == {
        "too-large.xlsx",
        "truncated.docx",
        "encrypted.pdf",
    }
    chunks = tables.read("chunks", "notes").to_pylist()
    pages = {(row["path"], row["page"], row["page_end"]) for row in chunks}
    assert pages == {("fpdf2.pdf", 1, 2), ("plain.eml", None, None)}


def test_costs_are_read_from_files_that_workers_elsewhere_have_put_into_the_bucket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = MemoryStore()
    monkeypatch.setattr(Objects, "open", classmethod(lambda cls, uri: cls(uri, store)))
    here, there = (
        Home(tmp_path / name, bucket=f"s3://bucket/{tmp_path.name}", cached_bytes=1e9) for name in ("here", "there")
    )
    shards = ([{"chunk_id": f"chunk-{first}{n}", "cost_usd": 0.25} for n in range(6)] for first in ("0", "f"))
    stored = [SourceTables(there).store("extractions", "notes", corpus.rows(EXTRACTIONS, one)) for one in shards]
    version = SourceTables(here).record("extractions", "notes", stored, inputs={}, recipe="")
    assert cost_of(SourceTables(here), version) == 3.0
    first = report(version, stored).first
    assert first["chunk_id"].to_pylist() == [f"chunk-0{n}" for n in range(5)]
